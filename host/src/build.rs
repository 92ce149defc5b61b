//! Builds handler crates of a source tree to components: cargo does the work.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

/// What components are built for.
pub const TARGET: &str = "wasm32-wasip2";

/// Crates that could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// There is no cargo to be started.
    #[error("cargo could not be started: {0}")]
    Cargo(#[source] io::Error),
    /// cargo has said why on stderr.
    #[error(
        "the handlers did not build; if the target is what is missing: rustup target add {target}"
    )]
    Failed {
        /// What they were to be built for.
        target: String,
    },
    /// A crate that builds to something else.
    #[error("cargo built no component of {0}: its Cargo.toml needs crate-type = [\"cdylib\"]")]
    NoComponent(String),
}

/// Builds each of `packages` of the workspace in `tree` and answers their `.wasm` files, in the same
/// order. The target is added where rustup is and lacks it. What cargo says goes to stderr.
///
/// # Errors
/// Where cargo cannot be started, a crate does not build, or makes no component.
pub fn build(tree: &Path, packages: &[&str]) -> Result<Vec<PathBuf>, BuildError> {
    build_for(TARGET, tree, packages)
}

/// As [`build`], for another target: what that makes are core modules, which become components when
/// they are loaded.
///
/// # Errors
/// As [`build`].
pub fn build_for(target: &str, tree: &Path, packages: &[&str]) -> Result<Vec<PathBuf>, BuildError> {
    add_target(target, tree);
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo
        .current_dir(tree)
        .args(["build", "--profile", "plugin", "--target", target])
        .args(["--message-format", "json-render-diagnostics"]);
    for package in packages {
        cargo.args(["--package", package]);
    }
    let built = cargo
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(BuildError::Cargo)?;
    if !built.status.success() {
        return Err(BuildError::Failed {
            target: target.to_owned(),
        });
    }
    let lines = String::from_utf8_lossy(&built.stdout);
    packages
        .iter()
        .map(|package| {
            component(&lines, package).ok_or_else(|| BuildError::NoComponent((*package).to_owned()))
        })
        .collect()
}

/// Adds the target where rustup is and lacks it. Where that fails the build says what is missing.
fn add_target(target: &str, tree: &Path) {
    let rustup = |args: &[&str]| {
        let mut command = Command::new("rustup");
        command.current_dir(tree).args(args).stdin(Stdio::null());
        command.output()
    };
    let Ok(installed) = rustup(&["target", "list", "--installed"]) else {
        return;
    };
    let list = String::from_utf8_lossy(&installed.stdout);
    if !list.lines().any(|line| line.trim() == target) {
        let _ = rustup(&["target", "add", target]);
    }
}

/// A line that cargo writes for each thing it has built.
#[derive(Deserialize)]
struct Artifact {
    reason: String,
    target: Option<Target>,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

fn component(lines: &str, package: &str) -> Option<PathBuf> {
    // A library's target has underscores where its package has hyphens.
    let target = package.replace('-', "_");
    lines
        .lines()
        .filter_map(|line| serde_json::from_str::<Artifact>(line).ok())
        .filter(|a| a.reason == "compiler-artifact")
        .filter(|a| a.target.as_ref().is_some_and(|built| built.name == target))
        .flat_map(|a| a.filenames)
        .find(|file| file.extension().is_some_and(|e| e == "wasm"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_component_is_found_among_cargos_lines() {
        let lines = r#"{"reason":"compiler-artifact","target":{"name":"serde"},"filenames":["libserde.rlib"]}
{"reason":"compiler-artifact","target":{"name":"my_report"},"filenames":["report.d","my_report.wasm"]}
{"reason":"build-finished","success":true}"#;
        assert_eq!(component(lines, "my-report"), Some("my_report.wasm".into()));
        assert_eq!(component(lines, "orders"), None);
    }
}
