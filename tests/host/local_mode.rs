//! Local mode: what it creates, what its queues are like, and what a snapshot keeps of them.

use aws_sdk_sqs::types::QueueAttributeName as Name;

use crate::folder::Folder;
use crate::process::{Process, queuelet};
use crate::sns::Sns;
use crate::sqs::Sqs;

// Rules 10.1, 10.2 and 10.4.
#[tokio::test]
async fn run_local_creates_every_queue_and_topic_that_mounts_name() {
    let folder = Folder::new()
        .and(
            "echo",
            "orders",
            "queue = \"orders\"\nreply = \"sns:events\"\nmax_attempts = 3\n\
             dead_letter = \"orders-dead\"\nsubscribe = [\"incoming\"]",
        )
        .and(
            "publishes",
            "billing",
            "queue = \"billing.fifo\"\nreply = \"invoices.fifo\"\ndestinations = [\"audit\"]",
        );
    let (host, endpoint) = Process::run_local(&folder).await;
    for queue in ["orders", "billing.fifo"] {
        host.logs_of(queue, "ready", 1).await;
    }
    let (sqs, sns) = (Sqs::at(&endpoint), Sns::at(&endpoint));
    for queue in [
        "orders",
        "orders-dead",
        "billing.fifo",
        "invoices.fifo",
        "audit",
    ] {
        let attributes = sqs.attributes(queue).await;
        let is = |name| attributes.get(&name).map(String::as_str);
        assert_eq!(is(Name::VisibilityTimeout), Some("30"), "{queue}");
        assert_eq!(is(Name::MessageRetentionPeriod), Some("345600"), "{queue}");
        let fifo = queue.ends_with(".fifo").then_some("true");
        assert_eq!(is(Name::FifoQueue), fifo, "{queue}");
    }
    let policy = sqs.document("orders", Name::RedrivePolicy).await;
    assert_eq!(policy["maxReceiveCount"], 3);
    let listed = sns.client.list_topics().send().await;
    let listed = listed.expect("it is asked").topics.unwrap_or_default();
    let mut topics: Vec<_> = listed
        .into_iter()
        .filter_map(|topic| topic.topic_arn)
        .collect();
    topics.sort_unstable();
    assert_eq!(topics, [sns.arn("events"), sns.arn("incoming")]);

    sns.publish("incoming", "one").await;
    host.logs_of("orders", "deleted", 1).await;
}

// Rule 10.1.
#[tokio::test]
async fn a_snapshot_keeps_queues_messages_and_topics_from_one_run_to_the_next() {
    let folder = Folder::new();
    let file = folder.file("state.json");
    let file = file.to_str().expect("it is text");
    let local = || {
        let args = ["local", "--listen", "127.0.0.1:0", "--snapshot", file];
        Process::start(queuelet(&args))
    };
    let mut first = local();
    let endpoint = first.first_line().await;
    let (sqs, sns) = (Sqs::at(&endpoint), Sns::at(&endpoint));
    sqs.create(&["jobs"]).await;
    sns.create("news").await;
    sns.subscribe("news", &sqs.arn("jobs"), true).await;
    let id = sqs.send("jobs", "kept").await;
    first.terminate();
    assert_eq!(first.ended().await, Some(0));

    let second = local();
    let endpoint = second.first_line().await;
    let (sqs, sns) = (Sqs::at(&endpoint), Sns::at(&endpoint));
    let kept = sqs.receive_all("jobs", 1).await;
    assert_eq!(kept[0].message_id(), Some(&*id));
    sns.publish("news", "and on").await;
    let more = sqs.receive_all("jobs", 1).await;
    assert_eq!(more[0].body(), Some("and on"));
}
