//! SQS in trouble: what it refuses, when it refuses it, and when it is not there.

use crate::folder::Folder;
use crate::forwarder::{Forwarder, Trouble};
use crate::process::Process;
use crate::sqs::Counted;
use crate::{until, when};

const ACK: &str = r#"{"do":"ack"}"#;

/// A host that reaches the queues `jobs` and `steady` through a forwarder.
struct Rig {
    local: Counted,
    forwarder: Forwarder,
    folder: Folder,
}

impl Rig {
    async fn new(mount: &str) -> Self {
        let local = Counted::with(&["jobs", "steady"]).await;
        Self {
            forwarder: Forwarder::to(Some(&local.endpoint)).await,
            local,
            folder: Folder::new()
                .and("outcome", "jobs", &format!("queue = \"jobs\"\n{mount}"))
                .and("outcome", "steady", "queue = \"steady\""),
        }
    }

    fn run(&self) -> Process {
        Process::run(&self.folder, &self.forwarder.endpoint, &[])
    }
}

/// Asserts that each message of a queue so far was handled once.
fn assert_once(host: &Process, queue: &str, messages: usize) {
    assert_eq!(host.of(queue, "handling").len(), messages);
    assert_eq!(host.of(queue, "deleted").len(), messages);
}

// Rules 7.2 and 2.4.
#[tokio::test]
async fn a_queue_that_is_denied_at_the_start_is_not_ready_and_holds_up_no_other() {
    let rig = Rig::new("").await;
    let denied = Trouble::Code("AccessDeniedException");
    rig.forwarder
        .trouble("GetQueueUrl", "jobs", usize::MAX, denied);
    let host = rig.run();
    let said = host
        .logs("a line of the denied queue", 1, |line| {
            line.field("queue") == "jobs" && line.message().starts_with("not ready")
        })
        .await;
    assert_eq!(said[0].field("level"), "WARN");
    rig.local.sqs.send("steady", ACK).await;
    host.logs_of("steady", "deleted", 1).await;

    rig.forwarder.mend();
    rig.local.sqs.send("jobs", ACK).await;
    host.logs_of("jobs", "deleted", 1).await;
    let said = host.lines(|line| line.message().starts_with("not ready"));
    assert_eq!(said.len(), 1, "once a change of state: {said:?}");
}

// Rule 2.4: no error ends the pump, and a trouble is said once, with its end.
#[tokio::test]
async fn receives_go_on_after_every_error() {
    for trouble in [
        Trouble::Code("ThrottlingException"),
        Trouble::Code("AccessDeniedException"),
        Trouble::Code("InternalError"),
        Trouble::Code("SomethingNew"),
        Trouble::Cut,
    ] {
        let rig = Rig::new("wait = \"1s\"").await;
        rig.forwarder.trouble("ReceiveMessage", "jobs", 4, trouble);
        let host = rig.run();
        rig.local.sqs.send_all("jobs", vec![ACK; 3]).await;
        host.logs_of("jobs", "deleted", 3).await;
        assert_once(&host, "jobs", 3);
        let said = host.lines(|line| line.message().starts_with("receive failed"));
        assert_eq!(said.len(), 1, "{trouble:?}: {said:?}");
        let still = host.lines(|line| line.message().starts_with("receive still fails"));
        assert_eq!(still.len(), 3, "{trouble:?}: {still:?}");
        assert_eq!(host.of("jobs", "receives again").len(), 1);
    }
}

// Rule 5.7.
#[tokio::test]
async fn a_delete_that_fails_is_tried_again_and_the_message_is_handled_once() {
    for trouble in [
        Trouble::Code("ThrottlingException"),
        Trouble::Code("InternalError"),
        Trouble::Cut,
    ] {
        let rig = Rig::new("").await;
        rig.forwarder.trouble("DeleteMessage", "jobs", 3, trouble);
        let host = rig.run();
        rig.local.sqs.send("jobs", ACK).await;
        host.logs_of("jobs", "deleted", 1).await;
        assert_once(&host, "jobs", 1);
        assert_eq!(rig.forwarder.requests("DeleteMessage", "jobs").len(), 4);
        assert_eq!(rig.local.deletes("jobs"), 1);
        assert_eq!(rig.local.sqs.held("jobs").await.all(), 0);
    }
}

// Rule 5.7: a settlement that stays refused is given up, and the loop moves on.
#[tokio::test]
async fn a_delete_that_stays_refused_is_given_up_and_the_next_message_is_handled() {
    let rig = Rig::new("visibility = \"2s\"").await;
    let denied = Trouble::Code("AccessDeniedException");
    rig.forwarder
        .trouble("DeleteMessage", "jobs", usize::MAX, denied);
    let host = rig.run();
    let first = rig.local.sqs.send("jobs", ACK).await;
    let given_up = host
        .logs("a settlement that is given up", 1, |line| {
            line.message().starts_with("not settled")
        })
        .await;
    assert_eq!(given_up[0].field("id"), first);
    rig.forwarder.mend();
    let second = rig.local.sqs.send("jobs", ACK).await;
    let deleted = host.logs_of("jobs", "deleted", 1).await;
    assert!(
        [&first, &second]
            .iter()
            .any(|id| *id == deleted[0].field("id"))
    );
    rig.local.sqs.emptied("jobs").await;
}

// Rule 4.4: a failed extension is tried again inside the half period that is left.
#[tokio::test]
async fn an_extension_that_fails_is_tried_again_before_the_lease_ends() {
    let rig = Rig::new("visibility = \"2s\"").await;
    let throttled = Trouble::Code("ThrottlingException");
    rig.forwarder
        .trouble("ChangeMessageVisibility", "jobs", 2, throttled);
    let host = rig.run();
    rig.local
        .sqs
        .send("jobs", r#"{"do":"sleep","ms":4000}"#)
        .await;
    host.logs_of("jobs", "deleted", 1).await;
    assert_once(&host, "jobs", 1);
    let failed = host.lines(|line| line.message().starts_with("extension failed"));
    assert_eq!(failed.len(), 2, "{failed:?}");
    assert_eq!(host.of("jobs", "handling")[0].receive_count(), 1);
}

// Rule 4.4: one warning, extending stops, and the ack is still tried as a delete.
#[tokio::test]
async fn a_lost_lease_is_warned_of_once_and_its_ack_still_tried() {
    for code in ["ReceiptHandleIsInvalid", "MessageNotInflight"] {
        let rig = Rig::new("visibility = \"2s\"").await;
        let lost = Trouble::Code(code);
        rig.forwarder
            .trouble("ChangeMessageVisibility", "jobs", usize::MAX, lost);
        let host = rig.run();
        // It ends before the time-out does, so that nobody else is handed the message.
        rig.local
            .sqs
            .send("jobs", r#"{"do":"sleep","ms":1500}"#)
            .await;
        host.logs_of("jobs", "deleted", 1).await;
        let lost = host.lines(|line| line.message().starts_with("lease lost"));
        assert_eq!(lost.len(), 1, "{code}: {lost:?}");
        let extensions = rig.forwarder.requests("ChangeMessageVisibility", "jobs");
        assert_eq!(extensions.len(), 1, "{code}");
        assert_eq!(rig.local.deletes("jobs"), 1);
    }
}

// Rule 4.4: where the mount says so its handler is stopped, and nothing is said of its message.
#[tokio::test]
async fn a_handler_whose_lease_is_lost_is_stopped_where_its_mount_says_so() {
    let mount = "visibility = \"2s\"\non_lost_lease = \"interrupt\"";
    let rig = Rig::new(mount).await;
    let lost = Trouble::Code("ReceiptHandleIsInvalid");
    rig.forwarder
        .trouble("ChangeMessageVisibility", "jobs", 1, lost);
    let host = rig.run();
    let order = r#"{"do":"sleep","ms":600000}"#;
    let sent = rig.local.sqs.send("jobs", order).await;
    let stopped = host
        .logs("a handler that is stopped", 1, |line| {
            line.message().starts_with("the lease is lost, so")
        })
        .await;
    assert_eq!(stopped[0].field("id"), sent);
    // The message comes back by itself, and its next handler is left alone.
    host.logs_of("jobs", "handling", 2).await;
    let again = rig.forwarder.requests("ChangeMessageVisibility", "jobs");
    until("an extension", async || {
        let now = rig.forwarder.requests("ChangeMessageVisibility", "jobs");
        when(now.len() > again.len() + 1)
    })
    .await;
    assert_eq!(host.of("jobs", "handling").len(), 2);
    assert_eq!(rig.local.deletes("jobs"), 0);
}

// Rules 4.5 and 5.7: while a delete that failed waits for its next try, the lease is kept.
#[tokio::test]
async fn extending_goes_on_between_the_tries_of_a_delete_and_ends_with_it() {
    let rig = Rig::new("visibility = \"1s\"").await;
    rig.forwarder
        .trouble("DeleteMessage", "jobs", 5, Trouble::Code("InternalError"));
    let host = rig.run();
    rig.local.sqs.send("jobs", ACK).await;
    host.logs_of("jobs", "deleted", 1).await;
    assert_once(&host, "jobs", 1);
    let actions = rig.forwarder.actions("jobs");
    let first = |action: &str| actions.iter().position(|is| is == action);
    let last = |action: &str| actions.iter().rposition(|is| is == action);
    let extended = last("ChangeMessageVisibility").expect("it took over half a second");
    assert!(first("DeleteMessage") < Some(extended), "{actions:?}");
    assert!(last("DeleteMessage") > Some(extended), "{actions:?}");
}

// Rule 5.5: a reply that passes in the end is sent, and its message deleted, once.
#[tokio::test]
async fn a_reply_that_is_throttled_is_tried_again_before_its_message_is_deleted() {
    let local = Counted::with(&["source", "replies"]).await;
    let forwarder = Forwarder::to(Some(&local.endpoint)).await;
    let throttled = Trouble::Code("ThrottlingException");
    forwarder.trouble("SendMessage", "replies", 1, throttled);
    let folder = Folder::with("echo", "queue = \"source\"\nreply = \"replies\"");
    let host = Process::run(&folder, &forwarder.endpoint, &[]);
    local.sqs.send("source", "one").await;
    host.logs_of("source", "deleted", 1).await;
    assert_eq!(forwarder.requests("SendMessage", "replies").len(), 2);
    assert_eq!(local.count("SendMessage", "replies"), 1);
    assert_eq!(local.deletes("source"), 1);
}
