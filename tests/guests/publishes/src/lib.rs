//! Publishes what the body says to where it says: `{"to":"events","body":"hello"}`.
//!
//! What came of it is printed, and is the outcome: an ack, a failure where it may be tried again,
//! else the dead-letter queue with the error as the reason. With `"tell":true` the id that the
//! message was given is a reply.

use queuelet_guest::{HandlerOutcome, Reply, SqsQueue, publish, subscriber};
use serde::Deserialize;

#[derive(Deserialize)]
struct Order {
    to: String,
    body: String,
    group: Option<String>,
    deduplication: Option<String>,
    #[serde(default)]
    tell: bool,
}

#[subscriber(SqsQueue, reply)]
async fn send(order: Order) -> Result<Vec<Reply>, HandlerOutcome> {
    let mut message = Reply::new(order.body).header("from", "guest-publishes");
    if let Some(group) = order.group {
        message = message.group_id(group);
    }
    if let Some(id) = order.deduplication {
        message = message.deduplication_id(id);
    }
    match publish(order.to, message) {
        Ok(id) => {
            println!("published as {id}");
            Ok(order.tell.then(|| Reply::new(id)).into_iter().collect())
        }
        Err(error) => {
            println!("not published: {}", error.code());
            Err(if error.retry() {
                HandlerOutcome::fail(error)
            } else {
                HandlerOutcome::dead_letter(error.to_string())
            })
        }
    }
}
