//! Plugins that change while the host runs: every way to change them, and what becomes of messages
//! meanwhile.

mod mounts;
mod ways;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use queuelet::plugin::Digest;

use crate::folder::Folder;
use crate::guests;
use crate::process::{Line, Process};
use crate::sqs::Counted;

/// A guest as its `n`th version: the same code, and a custom section that says which it is.
pub(crate) fn version(guest: &str, n: u8) -> Vec<u8> {
    let code = fs::read(guests::wasm(guest)).expect("the guest can be read");
    // Section 0: three bytes, a name of one of them.
    [code.as_slice(), &[0, 3, 1, b'v', n]].concat()
}

/// The digest of a file's content, as a guest's log lines have it.
fn short(content: &[u8]) -> String {
    Digest::of(content).short()
}

/// Puts a file in its place whole.
pub(crate) fn put(path: &Path, content: impl AsRef<[u8]>) {
    let part = path.with_extension("part");
    fs::write(&part, content).expect("the folder can be written");
    fs::rename(&part, path).expect("it can be renamed");
}

/// Waits until a version of this content serves; answers the lines that said so.
async fn live(host: &Process, content: &[u8], count: usize) -> Vec<Line> {
    let digest = Digest::of(content).to_string();
    let says = ["loaded", "replaced", "mounted by another mount file"];
    host.logs(&format!("version {digest} live"), count, |line| {
        line.field("digest") == digest && says.contains(&line.message())
    })
    .await
}

/// Which version began and which ended each message, by the message's id.
fn witnessed(host: &Process) -> BTreeMap<String, Vec<(String, String)>> {
    let mut seen: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for line in host.lines(|line| ["began", "done"].contains(&line.message())) {
        let what = (line.message().to_owned(), line.field("digest").to_owned());
        seen.entry(line.field("id").to_owned())
            .or_default()
            .push(what);
    }
    seen
}

/// Asserts that each of these messages was received once, handled once, and by one version from its
/// beginning to its end.
async fn assert_each_once(host: &Process, sent: &[String]) {
    // A line may come after the call that it tells of.
    host.logs("the end of each message", sent.len(), |line| {
        line.message() == "done"
    })
    .await;
    let witnessed = witnessed(host);
    assert_eq!(witnessed.len(), sent.len());
    for id in sent {
        let of = &witnessed[id];
        let words: Vec<_> = of.iter().map(|(word, _)| word.as_str()).collect();
        assert_eq!(words, ["began", "done"], "{id}");
        assert_eq!(of[0].1, of[1].1, "{id} ended on the version it began on");
    }
    let handling = host.lines(|line| line.message() == "handling");
    assert_eq!(handling.len(), sent.len());
    for line in handling {
        assert_eq!(line.receive_count(), 1, "{}", line.text);
    }
}

/// A host of one witness, in its first version, on the queue `jobs`.
async fn witness(local: &Counted, mount: &str) -> (Folder, Process) {
    let folder = Folder::new()
        .write("witness.wasm", version("witness", 1))
        .write("witness.toml", mount);
    let host = Process::run(&folder, &local.endpoint, &[]);
    host.logs_of("jobs", "ready", 1).await;
    (folder, host)
}
