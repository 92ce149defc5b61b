//! Answers a batch with one outcome too many, or with as many as the first body says, which may be
//! right.
//!
//! It is written against the bare contract, so that nothing in between can put the length right.

use queuelet_guest::bindings::batch::exports::queuelet::handler::batch::Guest as Batch;
use queuelet_guest::bindings::shared::exports::queuelet::handler::descriptor::Guest as Descriptor;
use queuelet_guest::bindings::types::{Failure, Message, Outcome};

/// The handler. It is public so that it counts as used where nothing exports it.
pub struct WrongLength;

impl Descriptor for WrongLength {
    fn settings() -> Vec<(String, String)> {
        Vec::new()
    }
}

impl Batch for WrongLength {
    fn handle(messages: Vec<Message>) -> Vec<Result<Outcome, Failure>> {
        let told = messages
            .first()
            .and_then(|first| str::from_utf8(&first.body).ok()?.parse().ok());
        let length = told.unwrap_or(messages.len() + 1);
        (0..length).map(|_| Ok(Outcome::Ack)).collect()
    }
}

#[cfg(target_family = "wasm")]
mod exports {
    use super::WrongLength;

    queuelet_guest::bindings::shared::export_descriptor!(WrongLength);
    queuelet_guest::bindings::batch::export_batch!(WrongLength);
}
