//! Messages that SQS hands out again: one that is finished is not handled again, and one that is
//! being handled not beside itself.

use crate::folder::Folder;
use crate::forwarder::{Forwarder, Trouble};
use crate::process::Process;
use crate::sqs::Counted;

/// A host of `outcome` on `jobs` behind a forwarder.
async fn forwarded(mount: &str) -> (Counted, Forwarder, Process, Folder) {
    let local = Counted::with(&["jobs"]).await;
    let forwarder = Forwarder::to(Some(&local.endpoint)).await;
    let folder = Folder::with("outcome", &format!("queue = \"jobs\"\n{mount}"));
    let host = Process::run(&folder, &forwarder.endpoint, &[]);
    (local, forwarder, host, folder)
}

// Rule 5.11.
#[tokio::test]
async fn a_message_whose_delete_failed_is_deleted_without_a_second_handling() {
    for order in [r#"{"do":"ack"}"#, r#"{"do":"drop"}"#] {
        let (local, forwarder, host, _folder) = forwarded("visibility = \"1s\"").await;
        let denied = Trouble::Forbidden("AccessDenied", "not authorized: sqs:deletemessage");
        forwarder.trouble("DeleteMessage", "jobs", usize::MAX, denied);
        let id = local.sqs.send("jobs", order).await;
        host.logs("a settlement that is given up", 1, |line| {
            line.message().starts_with("not settled")
        })
        .await;
        forwarder.mend();
        let again = host
            .logs("that it was finished", 1, |line| {
                line.message()
                    .starts_with("received again though it was finished")
            })
            .await;
        assert_eq!(again[0].field("id"), id);
        local.sqs.emptied("jobs").await;
        assert_eq!(host.of("jobs", "handling").len(), 1, "{order}");
    }
}

// Rules 5.11 and 5.5: a reply is not sent again either.
#[tokio::test]
async fn a_message_that_was_replied_to_is_not_replied_to_again() {
    let local = Counted::with(&["source", "replies"]).await;
    let forwarder = Forwarder::to(Some(&local.endpoint)).await;
    let denied = Trouble::Forbidden("AccessDenied", "not authorized: sqs:deletemessage");
    forwarder.trouble("DeleteMessage", "source", usize::MAX, denied);
    let mount = "queue = \"source\"\nreply = \"replies\"\nvisibility = \"1s\"";
    let folder = Folder::with("echo", mount);
    let host = Process::run(&folder, &forwarder.endpoint, &[]);
    local.sqs.send("source", "one").await;
    host.logs("a settlement that is given up", 1, |line| {
        line.message().starts_with("not settled")
    })
    .await;
    forwarder.mend();
    local.sqs.emptied("source").await;
    assert_eq!(host.of("source", "handling").len(), 1);
    assert_eq!(local.sqs.held("replies").await.all(), 1);
}

// Rule 5.13.
#[tokio::test]
async fn a_message_that_comes_again_while_it_is_handled_is_not_handled_beside_that() {
    // Extensions that do nothing, so that it is visible again after a second.
    let (local, forwarder, host, _folder) = forwarded("visibility = \"1s\"\nworkers = 4").await;
    forwarder.trouble(
        "ChangeMessageVisibility",
        "jobs",
        usize::MAX,
        Trouble::Pretend,
    );
    local.sqs.send("jobs", r#"{"do":"sleep","ms":3000}"#).await;
    host.logs("a message that is here already", 1, |line| {
        line.message()
            .starts_with("received again while it is here")
    })
    .await;
    forwarder.mend();
    host.logs_of("jobs", "deleted", 1).await;
    local.sqs.emptied("jobs").await;
    assert_eq!(host.of("jobs", "handling").len(), 1);
    let deletes = forwarder.requests("DeleteMessage", "jobs");
    let handles: Vec<_> = deletes.iter().map(|call| &call["ReceiptHandle"]).collect();
    assert_eq!(handles.len(), 1, "by the newest handle alone: {handles:?}");
}
