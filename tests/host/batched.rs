//! `settle = "batched"`: deletes that share calls.

use std::collections::BTreeSet;

use crate::folder::Folder;
use crate::forwarder::{Forwarder, Trouble};
use crate::process::Process;
use crate::sqs::Counted;

const ACK: &str = r#"{"do":"ack"}"#;

// Rule 5.10.
#[tokio::test]
async fn two_hundred_deletes_need_a_quarter_of_the_calls_and_none_is_lost() {
    let local = Counted::with(&["jobs"]).await;
    let sent = local.sqs.send_all("jobs", vec![ACK; 200]).await;
    let mount = "queue = \"jobs\"\nworkers = 8\nsettle = \"batched\"";
    let folder = Folder::with("outcome", mount);
    let mut host = Process::run(&folder, &local.endpoint, &[]);
    local.sqs.emptied("jobs").await;
    host.terminate();
    assert_eq!(host.ended().await, Some(0));

    let single = local.deletes("jobs");
    let calls = local.count("DeleteMessageBatch", "jobs") + single;
    assert!(calls <= 50, "{calls} calls");
    let entries = local.entries("DeleteMessageBatch", "jobs") + single;
    assert_eq!(entries, 200);
    let handled = host.of("jobs", "handling");
    assert_eq!(handled.len(), 200, "each once");
    let ids: BTreeSet<_> = handled.iter().map(|line| line.field("id")).collect();
    assert_eq!(ids, sent.iter().map(String::as_str).collect());
}

// Rules 5.10 and 5.7: each entry is judged by its id.
#[tokio::test]
async fn nine_deletes_of_a_call_succeed_and_the_tenth_is_tried_again() {
    let local = Counted::with(&["jobs"]).await;
    local.sqs.send_all("jobs", vec![ACK; 10]).await;
    let forwarder = Forwarder::to(Some(&local.endpoint)).await;
    let fails = Trouble::FirstEntry("InternalError");
    forwarder.trouble("DeleteMessageBatch", "jobs", 1, fails);
    let mount = "queue = \"jobs\"\nsettle = \"batched\"";
    let folder = Folder::with("outcome-batch", mount);
    let host = Process::run(&folder, &forwarder.endpoint, &[]);
    host.logs_of("jobs", "deleted", 10).await;
    local.sqs.emptied("jobs").await;
    let again = host.lines(|line| line.message().starts_with("settled again"));
    assert_eq!(again.len(), 1, "{again:#?}");
    assert_eq!(host.of("jobs", "handling").len(), 10);
    let deleted = host.of("jobs", "deleted");
    let ids: BTreeSet<_> = deleted.iter().map(|line| line.field("id")).collect();
    assert_eq!((deleted.len(), ids.len()), (10, 10));
}

// Rules 5.10 and 7.3: what waits for others is flushed at the end.
#[tokio::test]
async fn a_host_that_stops_settles_what_it_has_finished() {
    let local = Counted::with(&["jobs"]).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"\nsettle = \"batched\"");
    let mut host = Process::run(&folder, &local.endpoint, &[]);
    local.sqs.send("jobs", r#"{"do":"sleep","ms":500}"#).await;
    host.logs_of("jobs", "handling", 1).await;
    host.terminate();
    assert_eq!(host.ended().await, Some(0));
    assert_eq!(local.sqs.held("jobs").await.all(), 0);
}
