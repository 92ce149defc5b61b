//! Traps when it is asked for its descriptor.

// Generated code: its documentation is that of the contract.
#![allow(missing_docs, unreachable_pub)]

wit_bindgen::generate!({ path: "../first-contract/wit", world: "single-handler" });

use exports::queuelet::handler::{descriptor, single};
use queuelet::handler::types::{Failure, Message, Outcome};

struct Broken;

impl descriptor::Guest for Broken {
    fn settings() -> Vec<(String, String)> {
        panic!("told to")
    }
}

impl single::Guest for Broken {
    fn handle(_: Message) -> Result<Outcome, Failure> {
        Ok(Outcome::Ack)
    }
}

// The names of the exports are for wasm-ld alone; other linkers refuse them.
#[cfg(target_family = "wasm")]
export!(Broken);
