//! Core modules as plugins: what compilers make that know no components.

use std::path::Path;

use crate::folder::Folder;
use crate::guests;
use crate::process::{Process, output};
use crate::sqs::Counted;

/// What the module's imports of WASI's preview 1 are called.
const PREVIEW_1: &[u8] = b"wasi_snapshot_preview1";

fn module(target: &str) -> Vec<u8> {
    let content = std::fs::read(guests::module("outcome", target)).expect("it is built");
    assert_eq!(content[..8], *b"\0asm\x01\0\0\0", "it is a core module");
    content
}

/// Has a host handle messages with the guest that was built for `target`.
async fn handles_messages(target: &str) {
    let local = Counted::with(&["jobs"]).await;
    let folder = Folder::new()
        .write("jobs.wasm", module(target))
        .write("jobs.toml", "queue = \"jobs\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    let bodies = [r#"{"do":"ack"}"#, r#"{"do":"drop"}"#, "no order"];
    local.sqs.send_all("jobs", bodies).await;
    host.logs_of("jobs", "deleted", 2).await;
    let failures = host.failures("jobs", 1).await;
    assert_eq!(failures[0].field("reason"), "decode", "{failures:?}");
}

async fn inspected(file: &Path) -> serde_json::Value {
    let file = file.to_str().expect("it is text");
    output(&["inspect", "--json", file]).await.json()
}

// Rule 8.2.
#[tokio::test]
async fn a_core_module_for_unknown_unknown_is_a_plugin() {
    handles_messages("wasm32-unknown-unknown").await;
}

// Rule 8.2.
#[tokio::test]
async fn a_core_module_for_wasip1_is_a_plugin() {
    handles_messages("wasm32-wasip1").await;
}

// Rules 8.2 and 8.5: the digest is the file's, whatever becomes of it.
#[tokio::test]
async fn inspect_says_that_a_plugin_is_a_core_module() {
    let folder = Folder::new().write("jobs.wasm", module("wasm32-wasip1"));
    let file = folder.file("jobs.wasm");
    let said = inspected(&file).await;
    assert_eq!(said["core_module"], true);
    assert_eq!(said["world"], "single-handler");
    let content = std::fs::read(&file).expect("it is there");
    assert_eq!(said["size"], content.len());
    let digest = queuelet::plugin::Digest::of(&content);
    assert_eq!(said["digest"], digest.to_string());
    assert_eq!(
        inspected(guests::wasm("outcome")).await["core_module"],
        false
    );

    let for_people = output(&["inspect", file.to_str().expect("it is text")]).await;
    assert!(for_people.stdout.contains("core module"), "{for_people:?}");
}

// Rule 8.2.
#[tokio::test]
async fn a_core_module_that_imports_what_nobody_gives_is_refused_by_its_name() {
    let mut content = module("wasm32-wasip1");
    let places: Vec<_> = (0..content.len() - PREVIEW_1.len())
        .filter(|at| content[*at..].starts_with(PREVIEW_1))
        .collect();
    assert!(!places.is_empty(), "it imports of preview 1");
    for at in places {
        content[at + PREVIEW_1.len() - 1] = b'9';
    }
    let folder = Folder::new().write("jobs.wasm", content);
    let file = folder.file("jobs.wasm");
    output(&["inspect", file.to_str().expect("it is text")])
        .await
        .assert_refused(&["core module", "wasi_snapshot_preview9", "jobs.wasm"]);
}
