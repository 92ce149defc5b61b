//! Messages from end to end: each handled once, and handed over with everything SQS sent.

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    MessageAttributeValue, MessageSystemAttributeNameForSends, MessageSystemAttributeValue,
};
use serde_json::{Value, json};

use crate::folder::Folder;
use crate::process::Process;
use crate::sqs::{Counted, Sqs};
use crate::until;

const ACK: &str = r#"{"do":"ack"}"#;
const TRACE: &str = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";

fn attribute(data_type: &str, text: &str) -> MessageAttributeValue {
    let value = MessageAttributeValue::builder().data_type(data_type);
    value.string_value(text).build().expect("the type is set")
}

fn milliseconds_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.expect("it is not 1969").as_millis()).expect("it is not year 500,000,000")
}

// Rules 10.1, 10.3 and 10.4.
#[tokio::test]
async fn run_local_handles_a_hundred_messages_of_a_plain_client_and_leaves_none() {
    let folder = Folder::with("outcome", "queue = \"jobs\"\nworkers = 4");
    let (host, endpoint) = Process::run_local(&folder).await;
    host.logs_of("jobs", "ready", 1).await;
    let sqs = Sqs::at(&endpoint);
    let sent = sqs.send_all("jobs", vec![ACK; 100]).await;
    sqs.emptied("jobs").await;
    let handled = host.logs_of("jobs", "handled", 100).await;
    let ids: BTreeSet<_> = handled.iter().map(|line| line.field("id")).collect();
    assert_eq!(ids, sent.iter().map(String::as_str).collect());
    assert_eq!(host.of("jobs", "handling").len(), 100, "each once");
}

// Rules 5.1, 5.8 and 5.10: by default each delete is a call of its own.
#[tokio::test]
async fn every_message_is_handled_once_and_deleted_by_one_call() {
    let local = Counted::with(&["jobs"]).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"\nworkers = 4");
    let host = Process::run(&folder, &local.endpoint, &[]);
    let sent = local.sqs.send_all("jobs", vec![ACK; 100]).await;
    local.sqs.emptied("jobs").await;
    host.logs_of("jobs", "deleted", 100).await;
    let handling = host.of("jobs", "handling");
    assert!(handling.iter().all(|line| line.receive_count() == 1));
    let ids: BTreeSet<_> = handling.iter().map(|line| line.field("id")).collect();
    assert_eq!((handling.len(), ids.len()), (100, sent.len()));
    assert_eq!(local.deletes("jobs"), 100);
    assert_eq!(local.count("DeleteMessageBatch", "jobs"), 0);
}

// Rule 7.5: nothing but the queue is shared.
#[tokio::test]
async fn two_hosts_read_one_queue_and_each_message_is_handled_by_one_of_them() {
    let local = Counted::with(&["jobs"]).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"");
    let hosts = [(); 2].map(|()| Process::run(&folder, &local.endpoint, &[]));
    for host in &hosts {
        host.logs_of("jobs", "ready", 1).await;
    }
    let a_while = r#"{"do":"sleep","ms":50}"#;
    let sent = local.sqs.send_all("jobs", vec![a_while; 60]).await;
    local.sqs.emptied("jobs").await;
    let handling = until("every message is begun", async || {
        let lines: Vec<_> = hosts
            .iter()
            .map(|host| host.of("jobs", "handling"))
            .collect();
        (lines.concat().len() >= sent.len()).then_some(lines)
    })
    .await;
    assert!(handling.iter().all(|lines| !lines.is_empty()), "both work");
    let handling = handling.concat();
    let ids: BTreeSet<_> = handling.iter().map(|line| line.field("id")).collect();
    assert_eq!(handling.len(), sent.len(), "each once");
    assert_eq!(ids, sent.iter().map(String::as_str).collect());
}

// Rule 1.12: two mounts of one plugin are two subscriptions.
#[tokio::test]
async fn one_plugin_serves_the_queues_of_all_its_mounts() {
    let local = Counted::with(&["eu", "us"]).await;
    let folder = Folder::with(
        "audit",
        "[[mount]]\nqueue = \"eu\"\n[[mount]]\nqueue = \"us\"",
    );
    let host = Process::run(&folder, &local.endpoint, &[]);
    for queue in ["eu", "us"] {
        let id = local.sqs.send(queue, "whatever it is").await;
        local.sqs.emptied(queue).await;
        let seen = host
            .logs("what the guest logs", 1, |line| {
                line.field("id") == id && line.message() == "seen"
            })
            .await;
        assert_eq!(seen[0].field("plugin"), "audit");
        assert_eq!(seen[0].field("queue"), queue);
        assert!(
            seen[0]
                .field("fields")
                .contains(&format!("\"queue\":\"{queue}\""))
        );
    }
}

/// What `guest-echo` says that it saw of the only message it is sent.
async fn seen(local: &Counted) -> (aws_sdk_sqs::types::Message, Value) {
    let mut replies = local.sqs.receive_all("replies", 2).await;
    local.sqs.emptied("source").await;
    let is_json = |m: &aws_sdk_sqs::types::Message| {
        let body: Option<Value> = serde_json::from_str(m.body()?).ok();
        body.filter(|body| body["headers"].is_array())
    };
    let index = usize::from(is_json(&replies[1]).is_some());
    let seen = is_json(&replies[index]).expect("one reply is what the guest saw");
    (replies.swap_remove(1 - index), seen)
}

async fn echoing() -> (Counted, Process, Folder) {
    let local = Counted::with(&["source", "replies"]).await;
    let folder = Folder::with("echo", "queue = \"source\"\nreply = \"replies\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    (local, host, folder)
}

// Rules 3.1, 3.2, 3.3, 3.4 and 5.5.
#[tokio::test]
async fn a_handler_is_handed_everything_that_sqs_knows_of_a_message() {
    let (local, _host, _folder) = echoing().await;
    let body = "zwölf \"Boxkämpfer\"\r\n\tjagen 🦊\\";
    let before = milliseconds_now();
    let trace = MessageSystemAttributeValue::builder()
        .data_type("String")
        .string_value(TRACE)
        .build()
        .expect("the type is set");
    let picture = MessageAttributeValue::builder()
        .data_type("Binary.png")
        .binary_value(Blob::new([0, 159, 255]))
        .build()
        .expect("the type is set");
    let sent = local
        .sqs
        .client
        .send_message()
        .queue_url(local.sqs.url("source"))
        .message_body(body)
        .message_attributes("kind", attribute("String", "größer"))
        .message_attributes("count", attribute("Number.int", "0070"))
        .message_attributes("picture", picture)
        .message_attributes("sqs-receive-count", attribute("String", "a lie"))
        .message_attributes("partition-key", attribute("String", "another lie"))
        .message_group_id("tenant-7")
        .message_system_attributes(MessageSystemAttributeNameForSends::AwsTraceHeader, trace)
        .send()
        .await
        .expect("the message can be sent");
    let (again, seen) = seen(&local).await;

    assert_eq!(seen["text"], body);
    assert_eq!(seen["body"], json!(body.as_bytes()));
    assert_eq!(seen["queue"], "source");
    assert_eq!(seen["id"].as_str(), sent.message_id());
    assert_eq!(seen["receive_count"], 1);
    assert_eq!(seen["group_id"], "tenant-7");
    assert_eq!(seen["deduplication_id"], Value::Null);
    assert_eq!(seen["sequence_number"], Value::Null);
    let headers = json!([
        {"name": "count", "kind": "number", "value": "0070", "label": "int"},
        {"name": "kind", "kind": "text", "value": "größer", "label": null},
        {"name": "partition-key", "kind": "text", "value": "tenant-7", "label": null},
        {"name": "picture", "kind": "bytes", "value": [0, 159, 255], "label": "png"},
        {"name": "sqs-receive-count", "kind": "number", "value": "1", "label": null},
    ]);
    assert_eq!(seen["headers"], headers);
    let raw = |name: &str| {
        let pairs = seen["system_attributes"].as_array().expect("it is a list");
        let pair = pairs.iter().find(|pair| pair[0] == name);
        pair.unwrap_or_else(|| panic!("no {name}: {seen}"))[1]
            .as_str()
            .expect("raw values are text")
    };
    assert_eq!(raw("AWSTraceHeader"), TRACE);
    assert_eq!(raw("MessageGroupId"), "tenant-7");
    assert_eq!(raw("ApproximateReceiveCount"), "1");
    assert!(!raw("SenderId").is_empty());
    for (typed, name) in [
        ("sent_at", "SentTimestamp"),
        ("first_received_at", "ApproximateFirstReceiveTimestamp"),
    ] {
        let moment = seen[typed].as_u64().expect("it is a time");
        assert_eq!(raw(name), moment.to_string());
        // The clock of local mode and ours are one; a second for its steps.
        let now = milliseconds_now();
        assert!(
            (before - 1000..=now + 1000).contains(&moment),
            "{typed} {moment}"
        );
    }

    // The first reply is the message over again.
    assert_eq!(again.body(), Some(body));
    let attributes = again.message_attributes().expect("it has some");
    let mut names: Vec<_> = attributes.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["count", "kind", "picture"]);
    assert_eq!(attributes["count"].data_type(), "Number.int");
    assert_eq!(attributes["count"].string_value(), Some("0070"));
    assert_eq!(attributes["kind"].string_value(), Some("größer"));
    assert_eq!(attributes["picture"].data_type(), "Binary.png");
    let bytes = attributes["picture"].binary_value().map(Blob::as_ref);
    assert_eq!(bytes, Some(&[0, 159, 255][..]));
}

// Rules 3.3 and 3.4: what SQS did not send is absent, and without a group the header is the user's.
#[tokio::test]
async fn a_bare_message_has_no_fields_that_sqs_did_not_send() {
    let (local, _host, _folder) = echoing().await;
    local
        .sqs
        .client
        .send_message()
        .queue_url(local.sqs.url("source"))
        .message_body("bare")
        .message_attributes("partition-key", attribute("String", "mine"))
        .send()
        .await
        .expect("the message can be sent");
    let (_, seen) = seen(&local).await;
    assert_eq!(seen["group_id"], Value::Null);
    let headers = json!([
        {"name": "partition-key", "kind": "text", "value": "mine", "label": null},
        {"name": "sqs-receive-count", "kind": "number", "value": "1", "label": null},
    ]);
    assert_eq!(seen["headers"], headers);
}

// Rule 3.3: the count is that of this receive.
#[tokio::test]
async fn the_receive_count_grows_with_each_receive() {
    let local = Counted::with(&["source", "replies"]).await;
    local.sqs.send("source", "again").await;
    let first = local.sqs.receive_all("source", 1).await;
    let call = local.sqs.client.change_message_visibility();
    call.queue_url(local.sqs.url("source"))
        .set_receipt_handle(first[0].receipt_handle.clone())
        .visibility_timeout(0)
        .send()
        .await
        .expect("it can be put back");
    let folder = Folder::with("echo", "queue = \"source\"\nreply = \"replies\"");
    let _host = Process::run(&folder, &local.endpoint, &[]);
    let (_, seen) = seen(&local).await;
    assert_eq!(seen["receive_count"], 2);
    assert_eq!(seen["headers"][0]["value"], "2");
}

// Rule 9.3.
#[tokio::test]
async fn no_instance_of_a_guest_sees_two_messages() {
    let (local, _host, _folder) = echoing().await;
    for _ in 0..3 {
        local.sqs.send("source", "again").await;
        let (_, seen) = seen(&local).await;
        assert_eq!(seen["messages_of_this_instance"], 1);
    }
}

// Rule 9.1.
#[tokio::test]
async fn a_guest_reaches_neither_files_nor_the_environment_of_the_host() {
    let (local, _host, _folder) = echoing().await;
    local.sqs.send("source", "what is there").await;
    let (_, seen) = seen(&local).await;
    assert_eq!(seen["environment"], json!([]));
    assert_eq!(seen["arguments"], json!([]));
    assert!(seen["folder"]["Err"].is_string(), "{}", seen["folder"]);
}

// Rule 3.1.
#[tokio::test]
async fn a_message_as_large_as_sqs_takes_is_handled() {
    let local = Counted::with(&["jobs"]).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    let order = r#"{"do":"ack","padding":""}"#;
    let padding = "x".repeat((1 << 20) - order.len());
    let body = order.replace(r#""""#, &format!("\"{padding}\""));
    assert_eq!(body.len(), 1 << 20);
    local.sqs.send("jobs", &body).await;
    host.logs_of("jobs", "deleted", 1).await;
    assert_eq!(local.deletes("jobs"), 1);
}

// Rule 9.4.
#[tokio::test]
async fn what_a_guest_prints_and_logs_stands_in_the_hosts_log() {
    let local = Counted::with(&["jobs"]).await;
    let folder = Folder::with("prints", "queue = \"jobs\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    let id = local.sqs.send("jobs", "hello").await;
    host.logs_of("jobs", "deleted", 1).await;
    let lines = host.lines(|line| line.field("id") == id);
    let says_with = |level: &str, text: &str, fields: &str| {
        let found = lines.iter().any(|line| {
            line.field("level") == level
                && line.message().contains(text)
                && line.field("fields") == fields
        });
        assert!(found, "no {level} line says {text:?} {fields}: {lines:#?}");
    };
    let says = |level: &str, text: &str| says_with(level, text, "");
    says("INFO", "stdout: hello");
    says("WARN", "stderr: hello");
    says("INFO", "one line in two writes");
    says("INFO", "a line without an end");
    says_with("DEBUG", "a debug line", r#"{"body":"hello"}"#);
    says_with("INFO", "an info line", r#"{"body":"hello"}"#);
    says_with("WARN", "a warn line", r#"{"body":"hello"}"#);
    says_with("ERROR", "an error line", r#"{"body":"hello","two":"2"}"#);
    let unwanted = lines
        .iter()
        .any(|line| line.message().contains("a trace line"));
    assert!(!unwanted, "a level that is off stays off");
}
