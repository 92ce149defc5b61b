//! What SQS and SNS take: refused by the rule before it is sent, or encoded by it.

use aws_sdk_sqs::types::QueueAttributeName;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::folder::Folder;
use crate::forwarder::Forwarder;
use crate::process::Process;
use crate::sqs::Counted;

/// Takes away what the descriptor of `guest-replies` lists.
const NOWHERE_ELSE: &str = "destinations = []";

/// JSON that SQS takes, whatever it says.
fn ascii(value: &Value) -> String {
    let mut text = String::new();
    for c in value.to_string().chars() {
        match u32::from(c) {
            0..0x80 => text.push(c),
            code => text.push_str(&format!("\\u{code:04x}")),
        }
    }
    text
}

/// Has `guest-replies` reply with each of these, and asserts that each is refused in these words
/// and its message kept, and that a reply that is right still arrives.
async fn assert_refused(target: &str, cases: &[(Value, &str)]) {
    let local = Counted::with(&["source", "plain", "ordered.fifo", "seen"]).await;
    local.sns.create("topic").await;
    local
        .sns
        .subscribe("topic", &local.sqs.arn("seen"), true)
        .await;
    let mount = format!(
        "queue = \"source\"\nreply = \"{target}\"\nworkers = 4\nretry_delay = \"1m\"\n{NOWHERE_ELSE}"
    );
    let folder = Folder::with("replies", &mount);
    let host = Process::run(&folder, &local.endpoint, &[]);
    for (reply, says) in cases {
        let id = local.sqs.send("source", &ascii(reply)).await;
        let refused = host
            .logs("a reply that is refused", 1, |line| {
                line.field("id") == id && line.message().starts_with("what was to be sent was not")
            })
            .await;
        assert!(refused[0].message().contains(says), "{says}: {refused:?}");
    }
    host.logs_of("source", "put back", cases.len()).await;
    let arrives = match target {
        "sns:topic" => "seen",
        queue => queue,
    };
    assert_eq!(local.sqs.held(arrives).await.all(), 0, "refused before");
    assert_eq!(local.deletes("source"), 0);

    local.sqs.send("source", r#"{"body":"right"}"#).await;
    let arrived = local.sqs.receive_all(arrives, 1).await;
    assert_eq!(arrived[0].body(), Some("right"));
    host.logs_of("source", "deleted", 1).await;
    assert_eq!(local.sqs.held("source").await.all(), cases.len());
}

fn headers(count: usize) -> Value {
    (0..count)
        .map(|n| json!([format!("header-{n}"), "x"]))
        .collect()
}

// Rules 6.3, 6.5 and 5.5.
#[tokio::test]
async fn what_a_queue_does_not_take_is_refused_by_name_and_its_message_kept() {
    let cases = [
        (json!({"body": "x", "headers": headers(11)}), "11"),
        (json!({"body": "x", "headers": [["AWS.x", "y"]]}), "AWS.x"),
        (
            json!({"body": "x", "headers": [["amazon.x", "y"]]}),
            "amazon.x",
        ),
        (json!({"body": "x", "headers": [["kind", ""]]}), "kind"),
        (
            json!({"body": "x", "headers": [["two..dots", "y"]]}),
            "two..dots",
        ),
        (json!({"body": ""}), "empty"),
        (json!({"body": "x", "group": "g".repeat(129)}), "128"),
        (
            json!({"body": "x", "deduplication": "d"}),
            "not a FIFO queue",
        ),
        (json!({"body": "x", "delay": 901}), "900"),
        (json!({"body": "x", "to": "elsewhere"}), "destinations"),
        // A marker for the encoding is the eleventh.
        (json!({"body": "\u{FFFF}", "headers": headers(10)}), "10"),
    ];
    assert_refused("plain", &cases).await;
}

// Rules 6.3 to 6.5.
#[tokio::test]
async fn what_a_fifo_queue_does_not_take_is_refused_by_name_and_its_message_kept() {
    let cases = [
        (json!({"body": "x", "group": "g".repeat(129)}), "128"),
        (json!({"body": "x", "group": "a group"}), "a group"),
        (
            json!({"body": "x", "deduplication": "d".repeat(129)}),
            "128",
        ),
        (json!({"body": "x", "delay": 1}), "delay"),
    ];
    assert_refused("ordered.fifo", &cases).await;
}

// Rule 6.3: a topic takes 256 KiB where it does not say otherwise.
#[tokio::test]
async fn three_hundred_kib_are_too_much_for_a_topic_and_their_message_is_kept() {
    let size = 300 * 1024;
    let large = json!({"body": "x", "times": size});
    assert_refused("sns:topic", &[(large, &size.to_string())]).await;
}

// Rule 6.3: a queue's own limit is the one that counts.
#[tokio::test]
async fn a_reply_is_measured_against_the_limit_of_its_own_target() {
    let local = Counted::with(&["source"]).await;
    let small = (QueueAttributeName::MaximumMessageSize, "2048".to_owned());
    local.sqs.create_with("replies", &[small]).await;
    let mount = "queue = \"source\"\nreply = \"replies\"\nretry_delay = \"1m\"";
    let folder = Folder::with("replies", &format!("{mount}\n{NOWHERE_ELSE}"));
    let host = Process::run(&folder, &local.endpoint, &[]);
    local
        .sqs
        .send("source", r#"{"body":"x","times":2049}"#)
        .await;
    let refused = host
        .logs("a reply that is refused", 1, |line| {
            line.message().starts_with("what was to be sent was not")
        })
        .await;
    assert!(refused[0].message().contains("2048"), "{refused:?}");
    local
        .sqs
        .send("source", r#"{"body":"x","times":2048}"#)
        .await;
    local.sqs.receive_all("replies", 1).await;
    host.logs_of("source", "deleted", 1).await;
    assert_eq!(local.deletes("source"), 1);
}

// Rules 6.2 and 3.5: from one handler to the next, through SQS.
#[tokio::test]
async fn a_body_that_is_no_text_of_sqss_travels_base64_and_arrives_as_it_was() {
    let local = Counted::with(&["source", "middle", "replies"]).await;
    let forwarder = Forwarder::to(Some(&local.endpoint)).await;
    let first = format!("queue = \"source\"\nreply = \"middle\"\n{NOWHERE_ELSE}");
    let folder = Folder::new().and("replies", "first", &first).and(
        "echo",
        "second",
        "queue = \"middle\"\nreply = \"replies\"",
    );
    let _host = Process::run(&folder, &forwarder.endpoint, &[]);
    let body = "a\u{FFFF}b\u{1}c";
    let order = json!({"body": body, "headers": [["kind", "odd"]]});
    local.sqs.send("source", &ascii(&order)).await;

    let replies = local.sqs.receive_all("replies", 2).await;
    // It has the odd characters too, and so comes base64 itself.
    let seen = replies.iter().find_map(|reply| {
        let seen = STANDARD.decode(reply.body()?).ok()?;
        let seen: Value = serde_json::from_slice(&seen).ok()?;
        seen["headers"].is_array().then_some(seen)
    });
    let seen = seen.expect("one reply is what the second handler saw");
    assert_eq!(seen["body"], json!(body.as_bytes()));
    let headers = seen["headers"].as_array().expect("it is a list").iter();
    let names: Vec<_> = headers.map(|header| header["name"].clone()).collect();
    assert_eq!(names, ["kind", "sqs-receive-count"], "no marker");

    let sent = &forwarder.requests("SendMessage", "middle")[0];
    let marker = &sent["MessageAttributes"]["queuelet-payload-encoding"];
    assert_eq!(marker["StringValue"], "base64", "{sent}");
    local.sqs.emptied("middle").await;
    local.sqs.emptied("source").await;
}

// Rule 3.5: the marker of the service that queuelet stands in for is honoured too.
#[tokio::test]
async fn a_body_that_comes_base64_is_decoded_by_either_marker() {
    let local = Counted::with(&["jobs"]).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    // {"do":"ack"}
    let body = "eyJkbyI6ImFjayJ9";
    for marker in ["queuelet-payload-encoding", "ruststream-payload-encoding"] {
        local
            .sqs
            .send_with("jobs", body, &[(marker, "base64")])
            .await;
    }
    host.logs_of("jobs", "deleted", 2).await;
    assert_eq!(host.of("jobs", "handling").len(), 2);
}

// Rules 3.5 and 5.6.
#[tokio::test]
async fn a_marked_body_that_is_not_base64_never_reaches_the_handler_and_is_retried() {
    for guest in ["outcome", "outcome-batch"] {
        let local = Counted::with(&["jobs"]).await;
        let marker = [("queuelet-payload-encoding", "base64")];
        let id = local
            .sqs
            .send_with("jobs", r#"{"do":"ack"}"#, &marker)
            .await;
        let mount = "queue = \"jobs\"\nretry_delay = \"0s\"\nretry_jitter = 0";
        let folder = Folder::with(guest, mount);
        let host = Process::run(&folder, &local.endpoint, &[]);
        let failures = host.failures("jobs", 2).await;
        for failure in &failures[..2] {
            assert_eq!(failure.field("reason"), "decode", "{failure:?}");
            assert_eq!(failure.field("id"), id);
            // The host's words: the handler would have acked it.
            assert!(
                failure.message().contains("is base64, and it is not"),
                "{failure:?}"
            );
        }
        assert_eq!(local.deletes("jobs"), 0);
    }
}
