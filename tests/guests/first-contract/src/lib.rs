//! Acks what comes, by the contract as it was first: `wit/` beside this file is never changed.
//!
//! It has no SDK, so that it stays as old as it is.

// Generated code: its documentation is that of the contract.
#![allow(missing_docs, unreachable_pub)]

wit_bindgen::generate!({ path: "wit", world: "single-handler" });

use exports::queuelet::handler::{descriptor, single};
use queuelet::handler::types::{Failure, Message, Outcome};
use queuelet::handler::{context, log};

struct Old;

impl descriptor::Guest for Old {
    fn settings() -> Vec<(String, String)> {
        vec![("queue".into(), "old".into())]
    }
}

impl single::Guest for Old {
    fn handle(message: Message) -> Result<Outcome, Failure> {
        let line = format!("{} bytes from {}", message.body.len(), context::queue());
        log::emit(log::Level::Info, &line, &[]);
        Ok(Outcome::Ack)
    }
}

// The names of the exports are for wasm-ld alone; other linkers refuse them.
#[cfg(target_family = "wasm")]
export!(Old);
