//! Handlers that publish while they run, and replies that name where they go.

use serde_json::json;

use crate::folder::Folder;
use crate::forwarder::{Forwarder, Trouble};
use crate::process::Process;
use crate::sqs::Counted;
use crate::{until, when};

/// Waits for a line that the guest prints.
async fn printed(host: &Process, text: &str) {
    host.logs(text, 1, |line| line.message().contains(text))
        .await;
}

// Rule 6.6.
#[tokio::test]
async fn a_handler_publishes_to_a_queue_and_to_a_topic_that_it_is_granted() {
    let local = Counted::with(&["jobs", "events", "seen"]).await;
    local.sns.create("news").await;
    let seen = local.sqs.arn("seen");
    local.sns.subscribe("news", &seen, true).await;
    let mount = "queue = \"jobs\"\ndestinations = [\"events\", \"sns:news\"]";
    let folder = Folder::with("publishes", mount);
    let host = Process::run(&folder, &local.endpoint, &[]);
    for (to, arrives) in [("events", "events"), ("sns:news", "seen")] {
        let order = json!({"to": to, "body": "hello"}).to_string();
        local.sqs.send("jobs", &order).await;
        let message = local.sqs.receive_all(arrives, 1).await.remove(0);
        assert_eq!(message.body(), Some("hello"));
        let headers = message.message_attributes().expect("it has one");
        assert_eq!(headers["from"].string_value(), Some("guest-publishes"));
    }
    host.logs_of("jobs", "deleted", 2).await;
    printed(&host, "published as").await;
    local.sqs.emptied("jobs").await;
}

// Rules 6.6 and 6.4: a message that is handled again publishes nothing twice to a FIFO queue.
#[tokio::test]
async fn what_is_published_to_a_fifo_queue_twice_for_one_message_arrives_once() {
    let local = Counted::with(&["jobs", "events.fifo"]).await;
    let mount = "queue = \"jobs\"\ndestinations = [\"events.fifo\"]\nvisibility = \"1s\"\n\
                 retry_delay = \"0s\"\nretry_jitter = 0";
    let folder = Folder::with("publishes", mount);
    let host = Process::run(&folder, &local.endpoint, &[]);
    // With nowhere for a reply to go its handling fails, once it has published.
    let order = json!({"to": "events.fifo", "body": "hello", "tell": true});
    local.sqs.send("jobs", &order.to_string()).await;
    host.logs("a second failure", 2, |line| {
        line.message()
            .starts_with("handler failed: error: the handler replies")
    })
    .await;
    assert_eq!(local.sqs.held("events.fifo").await.all(), 1);
}

// Rule 6.6: the code reaches the handler, which gives its message up by it.
#[tokio::test]
async fn a_handler_that_publishes_where_it_may_not_is_told_so() {
    let local = Counted::with(&["jobs", "events", "dead"]).await;
    let mount = "queue = \"jobs\"\nmax_attempts = 5\ndead_letter = \"dead\"";
    let folder = Folder::with("publishes", mount);
    let host = Process::run(&folder, &local.endpoint, &[]);
    let order = json!({"to": "events", "body": "hello"});
    local.sqs.send("jobs", &order.to_string()).await;
    printed(&host, "not published: not-granted").await;
    let dead = local.sqs.receive_all("dead", 1).await.remove(0);
    let headers = dead.message_attributes().expect("it has one");
    let reason = headers["queuelet-dead-letter-reason"].string_value();
    let reason = reason.unwrap_or_default();
    assert!(reason.starts_with("not-granted: "), "{reason}");
    assert!(reason.contains("`destinations`"), "{reason}");
    assert_eq!(local.sqs.held("events").await.all(), 0);
}

// Rules 6.6 and 1.12: the descriptor lists it, and the operator takes it away.
#[tokio::test]
async fn a_destination_that_the_operator_took_away_is_refused() {
    let order = json!({"to": "granted", "body": "hello"}).to_string();
    let local = Counted::with(&["jobs", "granted"]).await;
    let folder = Folder::with("replies", "queue = \"jobs\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    local.sqs.send("jobs", &order).await;
    local.sqs.receive_all("granted", 1).await;
    host.logs_of("jobs", "deleted", 1).await;

    let local = Counted::with(&["jobs", "granted"]).await;
    let folder = Folder::with("replies", "queue = \"jobs\"\ndestinations = []");
    let host = Process::run(&folder, &local.endpoint, &[]);
    local.sqs.send("jobs", &order).await;
    until("the refusal", async || {
        let says = |text: &str| text.contains("may send nowhere") || text.contains("`reply`");
        when(!host.lines(|line| says(line.message())).is_empty())
    })
    .await;
    assert_eq!(local.sqs.held("granted").await.all(), 0);
    assert_eq!(local.deletes("jobs"), 0);
}

// Rules 6.6 and 5.6: what may be tried again is, by the handler's own failure.
#[tokio::test]
async fn a_handler_whose_publish_is_throttled_for_long_fails_and_is_retried() {
    let local = Counted::with(&["jobs", "events"]).await;
    let forwarder = Forwarder::to(Some(&local.endpoint)).await;
    let throttled = Trouble::Code("ThrottlingException");
    forwarder.trouble("SendMessage", "events", usize::MAX, throttled);
    let mount = "queue = \"jobs\"\ndestinations = [\"events\"]\nretry_delay = \"0s\"\n\
                 retry_jitter = 0";
    let folder = Folder::with("publishes", mount);
    let host = Process::run(&folder, &forwarder.endpoint, &[]);
    let order = json!({"to": "events", "body": "hello"});
    local.sqs.send("jobs", &order.to_string()).await;
    let failure = &host.failures("jobs", 1).await[0];
    assert!(failure.message().contains("Throttling"), "{failure:?}");
    forwarder.mend();
    local.sqs.receive_all("events", 1).await;
    host.logs_of("jobs", "deleted", 1).await;
}
