//! Plugins that keep failing, and what is received for them meanwhile.

use crate::folder::Folder;
use crate::process::{Line, Process};
use crate::reload::{put, version};
use crate::sqs::Counted;
use crate::{until, when};

const ACK: &str = r#"{"do":"ack"}"#;

/// What was said of a queue's circuit.
fn said(host: &Process) -> Vec<Line> {
    host.lines(|line| line.message().starts_with("the circuit is "))
}

async fn says(host: &Process, beginning: &str) -> Line {
    let mut lines = host
        .logs(beginning, 1, |line| line.message().starts_with(beginning))
        .await;
    lines.remove(0)
}

/// Waits until whatever was open to SQS has ended: three receives of another queue have.
async fn receives_ended(local: &Counted) {
    let before = local.count("ReceiveMessage", "steady");
    until("three receives", async || {
        when(local.count("ReceiveMessage", "steady") > before + 3)
    })
    .await;
}

// Rules 8.7 and 8.3: messages burn no receives on a plugin that is broken, and its neighbours go on.
#[tokio::test]
async fn a_plugin_that_keeps_failing_is_fed_no_more_until_another_version_serves() {
    let local = Counted::with(&["jobs", "steady"]).await;
    let mount = "queue = \"jobs\"\nwait = \"1s\"\nretry_delay = \"1s\"\nretry_max_delay = \"1s\"\n\
                 circuit_after = 3\ncircuit_pause = \"1h\"\ncircuit_max_pause = \"1h\"";
    let folder = Folder::new()
        .write("broken.wasm", version("traps", 1))
        .write("broken.toml", mount)
        .and("outcome", "steady", "queue = \"steady\"\nwait = \"1s\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    local.sqs.send_all("jobs", vec![ACK; 3]).await;
    let opened = says(&host, "the circuit is open").await;
    assert_eq!(opened.field("level"), "WARN");
    assert_eq!(opened.field("plugin"), "broken");
    assert_eq!(opened.field("reason"), "trap");
    assert_eq!(opened.fields["failures"], 3);

    receives_ended(&local).await;
    let received = local.count("ReceiveMessage", "jobs");
    let sent = local.sqs.send_all("jobs", vec![ACK; 12]).await;
    local.sqs.send("steady", ACK).await;
    host.logs_of("steady", "deleted", 1).await;
    receives_ended(&local).await;
    assert_eq!(local.count("ReceiveMessage", "jobs"), received);
    assert_eq!(local.sqs.held("jobs").await.visible, 15);

    put(&folder.file("broken.wasm"), version("outcome", 1));
    says(&host, "the circuit is closed: another version serves").await;
    local.sqs.emptied("jobs").await;
    for line in host.of("jobs", "handling") {
        let spared = sent.iter().any(|id| id == line.field("id"));
        assert!(line.receive_count() == 1 || !spared, "{}", line.text);
    }
    assert_eq!(said(&host).len(), 2, "{:?}", said(&host));
}

// Rule 8.7.
#[tokio::test]
async fn a_circuit_whose_probe_is_handled_closes_by_itself() {
    let local = Counted::with(&["jobs"]).await;
    // They come back long after the receive that is open when the circuit opens.
    let mount = "queue = \"jobs\"\nwait = \"1s\"\nretry_delay = \"5s\"\nretry_jitter = 0\n\
                 circuit_after = 2\ncircuit_pause = \"1s\"";
    let folder = Folder::with("outcome", mount);
    let orders = vec![r#"{"do":"fail-until","receive":2}"#; 2];
    local.sqs.send_all("jobs", orders).await;
    let host = Process::run(&folder, &local.endpoint, &[]);
    local.sqs.emptied("jobs").await;
    host.logs_of("jobs", "deleted", 2).await;
    let lines = said(&host);
    let words: Vec<_> = lines
        .iter()
        .map(|line| line.message().split([':', ';']).next().unwrap_or_default())
        .collect();
    let expected = [
        "the circuit is open",
        "the circuit is half-open",
        "the circuit is closed",
    ];
    assert_eq!(words, expected);
    assert!(lines[2].message().ends_with("a message was handled"));
}

// Rules 8.7 and 7.3: an open circuit holds up no stop.
#[tokio::test]
async fn a_host_whose_circuit_is_open_stops_at_once() {
    let local = Counted::with(&["jobs"]).await;
    let mount = "queue = \"jobs\"\nwait = \"1s\"\ncircuit_after = 1\ncircuit_pause = \"1h\"\n\
                 circuit_max_pause = \"1h\"";
    let folder = Folder::with("traps", mount);
    let mut host = Process::run(&folder, &local.endpoint, &[]);
    local.sqs.send("jobs", "x").await;
    says(&host, "the circuit is open").await;
    host.terminate();
    assert_eq!(host.ended().await, Some(0));
}
