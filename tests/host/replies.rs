//! Replies: sent before the message is deleted, and the message kept where they cannot be.

use crate::folder::Folder;
use crate::process::Process;
use crate::sqs::Counted;
use crate::{until, when};

/// Waits until the reply of a message of `source` could not be sent so often.
async fn not_sent(host: &Process, count: usize) {
    host.logs("a reply that is not sent", count, |line| {
        line.field("queue") == "source" && line.message().starts_with("what was to be sent was not")
    })
    .await;
}

// Rule 5.5.
#[tokio::test]
async fn a_reply_is_sent_and_then_its_message_is_deleted() {
    let local = Counted::with(&["source", "replies"]).await;
    let folder = Folder::with("echo", "queue = \"source\"\nreply = \"replies\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    local.sqs.send_all("source", vec!["one"; 20]).await;
    local.sqs.receive_all("replies", 20).await;
    let deleted = host.logs_of("source", "deleted", 20).await;
    let log = host.log();
    let place = |id: &str, message: &str| {
        let mut lines = log.iter();
        lines.position(|line| line.field("id") == id && line.message() == message)
    };
    for line in deleted {
        let id = line.field("id");
        assert!(place(id, "reply sent").is_some());
        assert!(place(id, "reply sent") < place(id, "deleted"));
    }
    assert_eq!(local.count("SendMessage", "replies"), 20);
    assert_eq!(local.sqs.held("source").await.all(), 0);
}

// Rule 1.10.
#[tokio::test]
async fn a_reply_without_a_target_is_an_error_that_says_what_to_set() {
    let local = Counted::with(&["source"]).await;
    let folder = Folder::with("echo", "queue = \"source\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    local.sqs.send("source", "one").await;
    let failure = &host.failures("source", 1).await[0];
    assert_eq!(failure.field("reason"), "error");
    assert!(failure.message().contains("set `reply`"), "{failure:?}");
    let again = host.logs_of("source", "handling", 2).await;
    assert_eq!(again[1].receive_count(), 2);
    assert_eq!(local.deletes("source"), 0);
}

// Rules 5.5 and 6.3.
#[tokio::test]
async fn a_reply_that_sqs_does_not_take_keeps_the_message() {
    let local = Counted::with(&["source", "replies"]).await;
    let folder = Folder::with("echo", "queue = \"source\"\nreply = \"replies\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    local.sqs.send("source", "empty").await;
    not_sent(&host, 2).await;
    let put_back = host.logs_of("source", "put back", 1).await;
    assert_eq!(put_back[0].field("delay"), "1s", "with back-off");
    assert_eq!(local.deletes("source"), 0);
    assert_eq!(local.count("SendMessage", "replies"), 0, "refused before");
    assert_eq!(local.sqs.held("source").await.all(), 1);
    local.sqs.send("source", "one").await;
    local.sqs.receive_all("replies", 1).await;
}

// Rules 5.5 and 6.1: the target is resolved once, and again where it turns out to be gone.
#[tokio::test]
async fn a_reply_whose_target_is_gone_keeps_the_message_until_the_target_is_back() {
    let local = Counted::with(&["source", "replies"]).await;
    let folder = Folder::with("echo", "queue = \"source\"\nreply = \"replies\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    host.logs_of("source", "ready", 1).await;
    local.sqs.delete("replies").await;
    let id = local.sqs.send("source", "one").await;
    not_sent(&host, 2).await;
    assert_eq!(local.deletes("source"), 0);

    local.sqs.create(&["replies"]).await;
    local.sqs.receive_all("replies", 1).await;
    let deleted = host.logs_of("source", "deleted", 1).await;
    assert_eq!(deleted[0].field("id"), id);
    local.sqs.emptied("source").await;
}

// Rules 5.5 and 2.4: what has nowhere to reply to would only burn receives.
#[tokio::test]
async fn nothing_is_received_while_the_target_of_replies_is_missing() {
    let local = Counted::with(&["source"]).await;
    local.sqs.send("source", "one").await;
    let folder = Folder::with("echo", "queue = \"source\"\nreply = \"replies\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    host.logs("not ready", 1, |line| {
        line.message().starts_with("not ready") && line.message().contains("replies")
    })
    .await;
    until("another try", async || {
        when(local.count("GetQueueUrl", "replies") > 2)
    })
    .await;
    assert_eq!(local.count("ReceiveMessage", "source"), 0);
    local.sqs.create(&["replies"]).await;
    local.sqs.receive_all("replies", 1).await;
    local.sqs.emptied("source").await;
}
