//! The guests and the example plugins, built once per run of the tests.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The packages, by the short names that tests use for them.
const PACKAGES: [(&str, &str); 17] = [
    ("audit", "audit"),
    ("echo", "guest-echo"),
    ("exits", "guest-exits"),
    ("first-contract", "guest-first-contract"),
    ("grows", "guest-grows"),
    ("loops", "guest-loops"),
    ("outcome", "guest-outcome"),
    ("outcome-batch", "guest-outcome-batch"),
    ("panics", "guest-panics"),
    ("prints", "guest-prints"),
    ("publishes", "guest-publishes"),
    ("publishes-batch", "guest-publishes-batch"),
    ("replies", "guest-replies"),
    ("report", "report"),
    ("sleeps", "guest-sleeps"),
    ("traps", "guest-traps"),
    ("wrong-length", "guest-wrong-length"),
];

/// The component of a guest, by its short name.
pub(crate) fn wasm(name: &str) -> &'static Path {
    static BUILT: OnceLock<HashMap<&str, PathBuf>> = OnceLock::new();
    let built = BUILT.get_or_init(build);
    built
        .get(name)
        .unwrap_or_else(|| panic!("no guest is called {name}"))
}

fn build() -> HashMap<&'static str, PathBuf> {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let packages = PACKAGES.map(|(_, package)| package);
    let files = queuelet::build::build(&tree, &packages).expect("the guests build");
    let names = PACKAGES.map(|(name, _)| name);
    names.into_iter().zip(files).collect()
}
