//! What becomes of a message, by what its handler answers.

use crate::folder::Folder;
use crate::process::{Line, Process};
use crate::sqs::Counted;

/// A host whose handlers do what these messages say, one at a time, on the queue `jobs`.
async fn obeying(orders: &[&str]) -> (Counted, Process, Folder) {
    let local = Counted::with(&["jobs"]).await;
    local
        .sqs
        .send_all("jobs", orders.iter().map(|order| order.to_string()))
        .await;
    let folder = Folder::with("outcome", "queue = \"jobs\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    (local, host, folder)
}

// Rules 5.1 and 5.2.
#[tokio::test]
async fn ack_and_drop_delete_the_message() {
    let (local, host, _folder) = obeying(&[r#"{"do":"ack"}"#, r#"{"do":"drop"}"#]).await;
    host.logs_of("jobs", "deleted", 2).await;
    let handled = host.of("jobs", "handled");
    let outcomes: Vec<_> = handled.iter().map(|line| line.field("outcome")).collect();
    assert_eq!(outcomes, ["ack", "drop"]);
    assert_eq!(local.deletes("jobs"), 2);
    assert_eq!(local.count("ChangeMessageVisibility", "jobs"), 0);
    assert_eq!(local.sqs.held("jobs").await.all(), 0);
}

// Rule 5.2: SQS moves it to the dead-letter queue instead of losing it.
#[tokio::test]
async fn a_drop_on_the_last_receive_is_left_to_the_dead_letter_queue() {
    let local = Counted::with(&["dead"]).await;
    local.sqs.create_redriving("jobs", "dead", 1).await;
    let id = local.sqs.send("jobs", r#"{"do":"drop"}"#).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    let moved = local.sqs.receive_all("dead", 1).await;
    assert_eq!(moved[0].message_id(), Some(&*id));
    assert_eq!(local.deletes("jobs"), 0);
    assert_eq!(host.of("jobs", "handling").len(), 1);
}

// Rule 5.2: and a drop before the last receive is a delete.
#[tokio::test]
async fn a_drop_before_the_last_receive_is_deleted() {
    let local = Counted::with(&["dead"]).await;
    local.sqs.create_redriving("jobs", "dead", 2).await;
    local.sqs.send("jobs", r#"{"do":"drop"}"#).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"");
    let _host = Process::run(&folder, &local.endpoint, &[]);
    local.sqs.emptied("jobs").await;
    assert_eq!(local.deletes("jobs"), 1);
    assert_eq!(local.sqs.held("dead").await.all(), 0);
}

// Rule 5.3.
#[tokio::test]
async fn retry_hands_the_message_out_again_at_once() {
    let (local, host, _folder) = obeying(&[r#"{"do":"retry"}"#]).await;
    let handling = host.logs_of("jobs", "handling", 3).await;
    let counts: Vec<_> = handling.iter().map(Line::receive_count).collect();
    assert_eq!(counts[..3], [1, 2, 3]);
    let put_back = host.logs_of("jobs", "put back", 2).await;
    assert!(put_back.iter().all(|line| line.field("delay") == "0ns"));
    assert!(host.failures("jobs", 0).await.is_empty());
    assert_eq!(local.deletes("jobs"), 0);
}

// Rule 5.4.
#[tokio::test]
async fn retry_after_hands_it_out_after_that_long_rounded_up() {
    let (local, host, _folder) = obeying(&[r#"{"do":"retry-after","ms":1500}"#]).await;
    let handling = host.logs_of("jobs", "handling", 2).await;
    assert_eq!(handling[1].receive_count(), 2);
    let apart = handling[1].at() - handling[0].at();
    assert!(apart > 1.95, "it came back after {apart} s");
    assert_eq!(host.of("jobs", "put back")[0].field("delay"), "2s");
    assert_eq!(local.deletes("jobs"), 0);
}

// Rule 5.14.
#[tokio::test]
async fn a_handler_that_gives_up_without_a_dead_letter_queue_fails_with_an_error() {
    let (local, host, _folder) = obeying(&[r#"{"do":"dead-letter"}"#]).await;
    let failure = &host.failures("jobs", 1).await[0];
    assert_eq!(failure.field("reason"), "error");
    for word in ["told to", "dead-letter queue"] {
        assert!(failure.message().contains(word), "{failure:?}");
    }
    let put_back = host.logs_of("jobs", "put back", 1).await;
    assert_eq!(put_back[0].field("delay"), "1s");
    assert_eq!(local.deletes("jobs"), 0);
}

// Rule 5.9: one call, one outcome per message in order, each settled by a call of its own.
#[tokio::test]
async fn each_message_of_a_batch_has_the_outcome_that_stands_at_its_place() {
    let local = Counted::with(&["jobs"]).await;
    let orders = [
        r#"{"do":"ack"}"#,
        r#"{"do":"retry-after","ms":60000}"#,
        r#"{"do":"drop"}"#,
        "no order at all",
        r#"{"do":"fail"}"#,
        r#"{"do":"dead-letter"}"#,
        r#"{"do":"ack"}"#,
        r#"{"do":"retry"}"#,
    ];
    let ids = local.sqs.send_all("jobs", orders).await;
    // What failed is not to come back while the test looks.
    let mount = "queue = \"jobs\"\nretry_delay = \"1m\"";
    let folder = Folder::with("outcome-batch", mount);
    let host = Process::run(&folder, &local.endpoint, &[]);

    host.logs_of("jobs", "deleted", 3).await;
    host.logs_of("jobs", "put back", 5).await;
    let first = |id: &str, message: &str| {
        let lines =
            host.lines(|line| line.field("id") == id && line.message().starts_with(message));
        lines.into_iter().next()
    };
    for (position, outcome) in [
        (0, "ack"),
        (1, "retry-after"),
        (2, "drop"),
        (6, "ack"),
        (7, "retry"),
    ] {
        let handled = first(&ids[position], "handled").expect("it was handled");
        assert_eq!(handled.field("outcome"), outcome, "at {position}");
    }
    for (position, reason) in [(3, "decode"), (4, "error"), (5, "error")] {
        let failed = first(&ids[position], "handler failed").expect("it failed");
        assert_eq!(failed.field("reason"), reason, "at {position}");
    }
    for position in [0, 2, 6] {
        assert!(first(&ids[position], "deleted").is_some(), "at {position}");
    }
    let delay = first(&ids[1], "put back").map(|line| line.field("delay").to_owned());
    assert_eq!(delay.as_deref(), Some("60s"));
    let delay = first(&ids[7], "put back").map(|line| line.field("delay").to_owned());
    assert_eq!(delay.as_deref(), Some("0ns"));
    // The second call has the one that came back at once, and nobody else.
    host.logs("a second handling", 2, |line| {
        line.field("id") == ids[7] && line.message() == "handling"
    })
    .await;
    let again = host.lines(|line| line.message() == "handling" && line.receive_count() > 1);
    assert!(again.iter().all(|line| line.field("id") == ids[7]));
    assert_eq!(local.deletes("jobs"), 3);
    assert_eq!(local.sqs.held("jobs").await.all(), 5);
}
