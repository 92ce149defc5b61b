//! What the benchmarks share: guests built from `tests/guests`, and messages to hand them.

pub mod cost;

use std::path::Path;
use std::sync::Arc;

use queuelet::build::build;
use queuelet::handler::{Call, Header, HeaderValue, SqsMessage};
use queuelet::plugin::{Guests, Plugin, load};

/// Builds and loads a guest.
///
/// # Panics
/// Where it does not build or load.
pub async fn guest(guests: &Arc<Guests>, package: &str) -> Plugin {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let file = build(&tree, &[package])
        .expect("the guest builds")
        .remove(0);
    load(guests, &file).await.expect("the guest loads")
}

/// A message of 256 bytes and four headers, that `guest-outcome` acks.
pub fn message() -> Arc<SqsMessage> {
    let header = |n: u8| Header {
        name: format!("header-{n}"),
        value: HeaderValue::Text("a value of some length".into()),
        label: None,
    };
    Arc::new(SqsMessage {
        body: body().into(),
        headers: (0..4).map(header).collect(),
        id: Some("9b2c9c7e-3f1d-4c5e-8a55-2f5b1f0d6c11".into()),
        receive_count: Some(1),
        ..SqsMessage::default()
    })
}

/// A body of 256 bytes that `guest-outcome` acks.
pub fn body() -> String {
    let padding = "x".repeat(230);
    format!(r#"{{"do":"ack","pad":"{padding}"}}"#)
}

/// A call from a queue, with no time limit.
pub fn call() -> Call {
    Call {
        queue: "bench".into(),
        timeout: None,
        publish: None,
    }
}
