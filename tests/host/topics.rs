//! Topics and FIFO queues as targets, and queues that are subscribed to topics.

use aws_sdk_sqs::types::{MessageSystemAttributeName, QueueAttributeName};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::folder::Folder;
use crate::forwarder::{Forwarder, Trouble};
use crate::process::{Finished, Process, queuelet};
use crate::sqs::Counted;

// Rules 1.10, 5.5, 6.1 and 6.3.
#[tokio::test]
async fn a_reply_goes_to_a_topic_and_a_queue_that_is_subscribed_gets_it_raw() {
    for target in ["sns:news", "arn:aws:sns:us-east-1:000000000000:news"] {
        let local = Counted::with(&["source", "seen"]).await;
        local.sns.create("news").await;
        let seen = local.sqs.arn("seen");
        local.sns.subscribe("news", &seen, true).await;
        let mount = format!("queue = \"source\"\nreply = \"{target}\"");
        let folder = Folder::with("echo", &mount);
        let host = Process::run(&folder, &local.endpoint, &[]);
        let attributes = [("kind", "größer")];
        local.sqs.send_with("source", "one", &attributes).await;
        let message = local.sqs.receive_all("seen", 1).await.remove(0);
        assert_eq!(message.body(), Some("one"));
        let headers = message.message_attributes().expect("it has one");
        assert_eq!(headers["kind"].string_value(), Some("größer"));
        host.logs_of("source", "deleted", 1).await;
        assert_eq!(local.total("CreateTopic"), 1, "by the test");
    }
}

// Rules 5.5 and 6.4: equal replies of two messages are two replies.
#[tokio::test]
async fn two_messages_with_equal_replies_reply_twice_to_a_fifo_queue() {
    let local = Counted::with(&["source", "replies.fifo"]).await;
    let mount = "queue = \"source\"\nreply = \"replies.fifo\"";
    let folder = Folder::with("echo", mount);
    let host = Process::run(&folder, &local.endpoint, &[]);
    local.sqs.send_all("source", ["one", "one"]).await;
    host.logs_of("source", "deleted", 2).await;
    let mut replies = local.sqs.receive("replies.fifo").await;
    replies.extend(local.sqs.receive("replies.fifo").await);
    assert_eq!(replies.len(), 2);
    for reply in replies {
        let attributes = reply.attributes().expect("all were asked for");
        let group = &attributes[&MessageSystemAttributeName::MessageGroupId];
        assert_eq!(group, "default");
    }
}

// Rule 6.4: the group of a reply, by who says it first.
#[tokio::test]
async fn a_reply_to_a_fifo_queue_has_the_group_that_is_said_first() {
    let local = Counted::with(&["source.fifo", "replies.fifo"]).await;
    for (mount, order, group) in [
        (
            "reply_group = \"mount\"",
            json!({"body": "a", "group": "own"}),
            "own",
        ),
        (
            "reply_group = \"mount\"",
            json!({"body": "b", "headers": [["partition-key", "header"]]}),
            "header",
        ),
        ("reply_group = \"mount\"", json!({"body": "c"}), "mount"),
        ("", json!({"body": "d"}), "source"),
    ] {
        let mount = format!(
            "queue = \"source.fifo\"\nreply = \"replies.fifo\"\nwait = \"0s\"\ndestinations = []\n{mount}"
        );
        let folder = Folder::with("replies", &mount);
        let mut host = Process::run(&folder, &local.endpoint, &[]);
        let body = order.to_string();
        let call = local.sqs.client.send_message();
        call.queue_url(local.sqs.url("source.fifo"))
            .message_body(&body)
            .message_group_id("source")
            .message_deduplication_id(group)
            .send()
            .await
            .expect("the message can be sent");
        let reply = local.sqs.receive_all("replies.fifo", 1).await.remove(0);
        let attributes = reply.attributes().expect("all were asked for");
        assert_eq!(
            attributes[&MessageSystemAttributeName::MessageGroupId],
            group
        );
        host.logs_of("source.fifo", "deleted", 1).await;
        host.terminate();
        assert_eq!(host.ended().await, Some(0));
    }
}

// Rules 5.5, 6.4 and 7.4: handled twice, replied to once.
#[tokio::test]
async fn a_reply_whose_host_is_killed_before_the_delete_arrives_once() {
    let local = Counted::with(&["source", "replies.fifo"]).await;
    let forwarder = Forwarder::to(Some(&local.endpoint)).await;
    forwarder.trouble("DeleteMessage", "source", usize::MAX, Trouble::Hang);
    let mount = "queue = \"source\"\nreply = \"replies.fifo\"\nvisibility = \"1s\"";
    let folder = Folder::with("echo", mount);
    let mut first = Process::run(&folder, &forwarder.endpoint, &[]);
    local.sqs.send("source", "one").await;
    first.logs_of("source", "reply sent", 1).await;
    first.signal(Signal::KILL);
    assert_eq!(first.ended().await, None);
    assert_eq!(local.deletes("source"), 0);

    let second = Process::run(&folder, &local.endpoint, &[]);
    second.logs_of("source", "deleted", 1).await;
    let handling = second.of("source", "handling");
    assert!(handling[0].receive_count() >= 2, "{handling:?}");
    assert_eq!(second.of("source", "reply sent").len(), 1);
    assert_eq!(local.sqs.held("replies.fifo").await.all(), 1);
}

// Rules 5.5 and 6.4: nobody knows whether it is out, so it is sent again, and is there once.
#[tokio::test]
async fn a_reply_whose_answer_is_lost_is_sent_again_and_arrives_once() {
    let local = Counted::with(&["source", "replies.fifo"]).await;
    let forwarder = Forwarder::to(Some(&local.endpoint)).await;
    forwarder.trouble("SendMessage", "replies.fifo", 2, Trouble::Lose);
    let mount = "queue = \"source\"\nreply = \"replies.fifo\"\nretry_delay = \"0s\"";
    let folder = Folder::with("echo", mount);
    let host = Process::run(&folder, &forwarder.endpoint, &[]);
    local.sqs.send("source", "one").await;
    host.logs_of("source", "deleted", 1).await;
    assert!(local.count("SendMessage", "replies.fifo") >= 3);
    assert_eq!(local.sqs.held("replies.fifo").await.all(), 1);
}

/// The statements of a queue's access policy.
async fn statements(local: &Counted, queue: &str) -> Vec<Value> {
    let policy = local.sqs.document(queue, QueueAttributeName::Policy).await;
    policy["Statement"].as_array().cloned().unwrap_or_default()
}

/// Gives a queue a policy that has nothing to do with topics, and answers its statement.
async fn with_a_policy_of_its_own(local: &Counted, queue: &str) -> Value {
    let statement = json!({
        "Sid": "ours",
        "Effect": "Allow",
        "Principal": {"AWS": "arn:aws:iam::123456789012:root"},
        "Action": "sqs:SendMessage",
        "Resource": local.sqs.arn(queue),
    });
    let policy = json!({"Version": "2012-10-17", "Statement": [statement]});
    let call = local.sqs.client.set_queue_attributes();
    call.queue_url(local.sqs.url(queue))
        .attributes(QueueAttributeName::Policy, policy.to_string())
        .send()
        .await
        .expect("the policy can be written");
    statement
}

/// Asserts that a queue's policy has its own statement as it was, and one more for this topic.
async fn assert_granted(local: &Counted, queue: &str, own: &Value, topic: &str) {
    let statements = statements(local, queue).await;
    assert_eq!(statements.len(), 2, "{statements:#?}");
    assert_eq!(&statements[0]["Sid"], &own["Sid"]);
    let added = statements[1].to_string();
    for word in ["sns.amazonaws.com", "SourceArn", &local.sns.arn(topic)] {
        assert!(added.contains(word), "no {word}: {added}");
    }
}

// Rule 6.7.
#[tokio::test]
async fn subscribe_subscribes_a_queue_to_a_topic_with_raw_delivery_and_writes_its_policy_once() {
    let local = Counted::with(&["seen"]).await;
    local.sns.create("news").await;
    let own = with_a_policy_of_its_own(&local, "seen").await;
    for _ in 0..2 {
        let mut command = queuelet(&["subscribe", "news", "seen"]);
        command.env("AWS_ENDPOINT_URL", &local.endpoint);
        let done = Finished::of(command.output().await);
        assert_eq!(done.code, Some(0), "{done:?}");
        assert_granted(&local, "seen", &own, "news").await;
    }
    assert_eq!(local.count("SetQueueAttributes", "seen"), 2, "ours is one");
    let subscribed = local.sns.subscriptions("news").await;
    assert_eq!(subscribed, [(local.sqs.arn("seen"), true)]);
    local.sns.publish("news", "hello").await;
    let message = local.sqs.receive_all("seen", 1).await.remove(0);
    assert_eq!(message.body(), Some("hello"));
}

// Rule 6.7.
#[tokio::test]
async fn a_mount_subscribes_its_queue_to_topics_when_it_opens() {
    let local = Counted::with(&["jobs"]).await;
    local.sns.create("news").await;
    let own = with_a_policy_of_its_own(&local, "jobs").await;
    let mount = "queue = \"jobs\"\nsubscribe = [\"news\"]\nwait = \"0s\"";
    let folder = Folder::with("outcome", mount);
    for run in 1..=2 {
        let mut host = Process::run(&folder, &local.endpoint, &[]);
        host.logs_of("jobs", "ready", 1).await;
        assert_granted(&local, "jobs", &own, "news").await;
        let subscribed = local.sns.subscriptions("news").await;
        assert_eq!(subscribed, [(local.sqs.arn("jobs"), true)]);
        local.sns.publish("news", r#"{"do":"ack"}"#).await;
        host.logs_of("jobs", "deleted", 1).await;
        host.terminate();
        assert_eq!(host.ended().await, Some(0), "run {run}");
    }
    assert_eq!(local.count("SetQueueAttributes", "jobs"), 2, "ours is one");
}

// Rule 6.7: what comes in SNS's envelope, where somebody else subscribed the queue.
#[tokio::test]
async fn a_notification_that_does_not_come_raw_is_taken_out_of_its_envelope() {
    let local = Counted::with(&["jobs"]).await;
    local.sns.create("news").await;
    let jobs = local.sqs.arn("jobs");
    local.sns.subscribe("news", &jobs, false).await;
    let mount = "queue = \"jobs\"\nunwrap_sns = true";
    let folder = Folder::with("outcome", mount);
    let host = Process::run(&folder, &local.endpoint, &[]);
    local.sns.publish("news", r#"{"do":"ack"}"#).await;
    host.logs_of("jobs", "deleted", 1).await;
    assert!(host.failures("jobs", 0).await.is_empty());
}
