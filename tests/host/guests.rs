//! The guests and the example plugins, built once per run of the tests.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The packages, by the short names that tests use for them.
const PACKAGES: [(&str, &str); 23] = [
    ("audit", "audit"),
    ("counts", "guest-counts"),
    ("descriptor-traps", "guest-descriptor-traps"),
    ("echo", "guest-echo"),
    ("exits", "guest-exits"),
    ("fetch", "guest-fetch"),
    ("first-contract", "guest-first-contract"),
    ("grows", "guest-grows"),
    ("hostile", "guest-hostile"),
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
    ("tells", "guest-tells"),
    ("traps", "guest-traps"),
    ("witness", "guest-witness"),
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
    let packages = PACKAGES.map(|(_, package)| package);
    let files = queuelet::build::build(&tree(), &packages).expect("the guests build");
    let names = PACKAGES.map(|(name, _)| name);
    names.into_iter().zip(files).collect()
}

/// The core module of a guest, by its short name, that is made for this target.
pub(crate) fn module(name: &str, target: &str) -> PathBuf {
    static BUILT: Mutex<Vec<(String, PathBuf)>> = Mutex::new(Vec::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let what = format!("{name} for {target}");
    if let Some((_, file)) = built.iter().find(|(built, _)| *built == what) {
        return file.clone();
    }
    let package = format!("guest-{name}");
    let files = queuelet::build::build_for(target, &tree(), &[&package]);
    let file = files.unwrap_or_else(|e| panic!("{what}: {e}")).remove(0);
    built.push((what, file.clone()));
    file
}

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
