//! The `queuelet` program that whole-host runs start: as users have it, with its own allocator.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde::Deserialize;

/// Builds it and answers where it is.
///
/// It is built together with the packages and features that this program was built with: then cargo
/// settles on the same features of what both are made of, and builds nothing twice.
///
/// # Errors
/// Where cargo cannot be started, or the program does not build.
pub(crate) fn program() -> anyhow::Result<PathBuf> {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo
        .current_dir(tree)
        .args(["build", "--release", "--bin", "queuelet"])
        .args(["--package", "queuelet", "--package", "benches"])
        .args(["--message-format", "json-render-diagnostics"]);
    if cfg!(feature = "peers") {
        cargo.args(["--features", "benches/peers"]);
    }
    let built = cargo
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cargo could not be started")?;
    ensure!(built.status.success(), "the host did not build");
    let lines = String::from_utf8_lossy(&built.stdout);
    executable(&lines).context("cargo built no `queuelet`")
}

/// A line that cargo writes for each thing it has built.
#[derive(Deserialize)]
struct Artifact {
    executable: Option<PathBuf>,
}

fn executable(lines: &str) -> Option<PathBuf> {
    lines
        .lines()
        .filter_map(|line| serde_json::from_str::<Artifact>(line).ok()?.executable)
        .find(|file| file.file_stem().is_some_and(|name| name == "queuelet"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_among_cargos_lines() {
        let lines = r#"{"reason":"compiler-artifact","filenames":["libqueuelet.rlib"],"executable":null}
{"reason":"compiler-artifact","filenames":["t/benches"],"executable":"t/benches"}
{"reason":"compiler-artifact","filenames":["t/queuelet"],"executable":"t/queuelet"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(executable(lines), Some("t/queuelet".into()));
        assert_eq!(executable(r#"{"executable":"t/benches"}"#), None);
    }
}
