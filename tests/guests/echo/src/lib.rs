//! Replies with the body and the headers of the message, and with every field of it as JSON.
//!
//! The first reply is the message over again; the second is what the guest saw of it. A body of
//! `one` leaves the second away, and one of `empty` gets a reply that SQS does not take.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use queuelet_guest::{Context, Header, HeaderValue, Message, Reply, SqsQueue, subscriber};
use serde_json::{Value, json};

/// What the host adds to a received message's headers, and would add again.
const OF_THE_HOST: [&str; 2] = ["partition-key", "sqs-receive-count"];

/// How many messages this instance has seen.
static SEEN: AtomicU32 = AtomicU32::new(0);

#[subscriber(SqsQueue, reply)]
async fn echo(message: &Message) -> Vec<Reply> {
    let context = message.context();
    let again = context
        .headers()
        .iter()
        .filter(|header| !OF_THE_HOST.contains(&header.name.as_str()))
        .fold(Reply::new(message.body()), |reply, header| {
            reply.labelled_header(header.clone())
        });
    match message.body() {
        b"one" => return vec![again],
        b"empty" => return vec![Reply::new([])],
        _ => {}
    }
    vec![again, Reply::json(&seen(message.body(), context))]
}

fn seen(body: &[u8], context: &Context) -> Value {
    json!({
        "messages_of_this_instance": SEEN.fetch_add(1, Relaxed) + 1,
        "environment": std::env::vars().collect::<Vec<_>>(),
        "arguments": std::env::args().collect::<Vec<_>>(),
        "folder": std::fs::read_dir("/").map(|_| ()).map_err(|error| error.to_string()),
        "queue": context.queue(),
        "body": body,
        "text": str::from_utf8(body).ok(),
        "headers": context.headers().iter().map(header).collect::<Vec<_>>(),
        "id": context.id(),
        "receive_count": context.receive_count(),
        "group_id": context.group_id(),
        "deduplication_id": context.deduplication_id(),
        "sequence_number": context.sequence_number(),
        "sent_at": context.sent_at().map(milliseconds),
        "first_received_at": context.first_received_at().map(milliseconds),
        "system_attributes": context.system_attributes(),
    })
}

fn header(header: &Header) -> Value {
    let (kind, value) = match &header.value {
        HeaderValue::Text(text) => ("text", json!(text)),
        HeaderValue::Number(digits) => ("number", json!(digits)),
        HeaderValue::Bytes(bytes) => ("bytes", json!(bytes)),
    };
    json!({ "name": header.name, "kind": kind, "value": value, "label": header.label })
}

fn milliseconds(moment: SystemTime) -> u64 {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
