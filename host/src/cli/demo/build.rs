//! Builds the example plugins from the source tree and puts them into `plugins/`.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use tokio::process::Command;

/// What components are built for.
const TARGET: &str = "wasm32-wasip2";

/// Builds each of `names` and answers the files in the plugins folder, in the same order.
pub(super) async fn build(names: &[&str]) -> Result<Vec<PathBuf>> {
    let tree = source_tree()?;
    add_target(&tree).await;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo
        .current_dir(&tree)
        .args(["build", "--profile", "plugin", "--target", TARGET])
        .args(["--message-format", "json-render-diagnostics"]);
    for name in names {
        cargo.args(["--package", name]);
    }
    let built = cargo
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .await
        .context("cargo could not be started")?;
    if !built.status.success() {
        bail!(
            "the example plugins did not build; if the target is what is missing: rustup target \
             add {TARGET}"
        );
    }
    let artifacts = String::from_utf8_lossy(&built.stdout);
    let mut files = Vec::new();
    for name in names {
        let made = artifact(&artifacts, name)
            .with_context(|| format!("cargo built no component of {name}"))?;
        let file = tree.join("plugins").join(format!("{name}.wasm"));
        place(&made, &file)?;
        files.push(file);
    }
    Ok(files)
}

/// The folder above or around us that holds the example plugins' sources.
fn source_tree() -> Result<PathBuf> {
    let mut starts = vec![std::env::current_dir().context("no working directory")?];
    // `cargo run` says where the crate lies, wherever it is called from.
    starts.extend(std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from));
    starts
        .iter()
        .flat_map(|start| start.ancestors())
        .find(|folder| folder.join("plugins/report/Cargo.toml").is_file())
        .map(Path::to_owned)
        .context(
            "the demo builds the example plugins from queuelet's sources: run it in a clone of \
             the repository",
        )
}

/// Adds the target where rustup is and lacks it. Where that fails the build says what is missing.
async fn add_target(tree: &Path) {
    let rustup = |args: &[&str]| {
        let mut command = Command::new("rustup");
        command.current_dir(tree).args(args).stdin(Stdio::null());
        command
    };
    let Ok(installed) = rustup(&["target", "list", "--installed"]).output().await else {
        return;
    };
    let list = String::from_utf8_lossy(&installed.stdout);
    if !list.lines().any(|line| line.trim() == TARGET) {
        let _ = rustup(&["target", "add", TARGET])
            .stdout(Stdio::null())
            .status()
            .await;
    }
}

/// The line that cargo writes for each thing it has built.
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

fn artifact(lines: &str, name: &str) -> Option<PathBuf> {
    lines
        .lines()
        .filter_map(|line| serde_json::from_str::<Artifact>(line).ok())
        .filter(|a| a.reason == "compiler-artifact")
        .filter(|a| a.target.as_ref().is_some_and(|target| target.name == name))
        .flat_map(|a| a.filenames)
        .find(|file| file.extension().is_some_and(|e| e == "wasm"))
}

/// Puts a file in its place whole: a host that watches the folder never sees half of it.
fn place(made: &Path, file: &Path) -> Result<()> {
    let part = file.with_extension("wasm.part");
    std::fs::copy(made, &part)
        .and_then(|_| std::fs::rename(&part, file))
        .with_context(|| format!("{} could not be written", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_component_is_found_among_cargos_lines() {
        let lines = r#"{"reason":"compiler-artifact","target":{"name":"serde"},"filenames":["/t/libserde.rlib"]}
{"reason":"compiler-artifact","target":{"name":"report"},"filenames":["/t/report.d","/t/report.wasm"]}
{"reason":"build-finished","success":true}"#;
        assert_eq!(artifact(lines, "report"), Some("/t/report.wasm".into()));
        assert_eq!(artifact(lines, "orders"), None);
    }
}
