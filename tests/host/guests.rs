//! The guests and the example plugins, built once per run of the tests.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

/// What components are built for.
const TARGET: &str = "wasm32-wasip2";

/// The packages, by the short names that tests use for them.
const PACKAGES: [(&str, &str); 13] = [
    ("audit", "audit"),
    ("echo", "guest-echo"),
    ("exits", "guest-exits"),
    ("grows", "guest-grows"),
    ("loops", "guest-loops"),
    ("outcome", "guest-outcome"),
    ("outcome-batch", "guest-outcome-batch"),
    ("panics", "guest-panics"),
    ("prints", "guest-prints"),
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
    add_target(&tree);
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(&tree)
        .args(["build", "--profile", "plugin", "--target", TARGET])
        .args(["--message-format", "json-render-diagnostics"]);
    for (_, package) in PACKAGES {
        cargo.args(["--package", package]);
    }
    let built = cargo
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo starts");
    assert!(
        built.status.success(),
        "the guests did not build; if the target is what is missing: rustup target add {TARGET}"
    );
    let artifacts: Vec<Value> = String::from_utf8_lossy(&built.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    PACKAGES
        .into_iter()
        .map(|(name, package)| {
            let file = artifacts.iter().find_map(|a| component(a, package));
            (
                name,
                file.unwrap_or_else(|| panic!("cargo built no component of {package}")),
            )
        })
        .collect()
}

/// The `.wasm` file of one of cargo's messages, if it is about `package`.
fn component(artifact: &Value, package: &str) -> Option<PathBuf> {
    let target = artifact["target"]["name"].as_str()?;
    if artifact["reason"] != "compiler-artifact" || target.replace('_', "-") != package {
        return None;
    }
    let files = artifact["filenames"].as_array()?;
    files
        .iter()
        .filter_map(|file| file.as_str().map(PathBuf::from))
        .find(|file| file.extension().is_some_and(|e| e == "wasm"))
}

/// Adds the target where rustup is and lacks it. Where that fails the build says what is missing.
fn add_target(tree: &Path) {
    let rustup = |args: &[&str]| {
        let mut command = Command::new("rustup");
        command.current_dir(tree).args(args).stdin(Stdio::null());
        command.output()
    };
    if let Ok(installed) = rustup(&["target", "list", "--installed"]) {
        let list = String::from_utf8_lossy(&installed.stdout);
        if !list.lines().any(|line| line.trim() == TARGET) {
            let _ = rustup(&["target", "add", TARGET]);
        }
    }
}
