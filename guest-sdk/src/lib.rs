//! Write queuelet handlers: Amazon SQS consumers that are WebAssembly components.
//!
//! A handler is a function. Its attribute says which queue it reads; what it returns says what
//! becomes of the message.
//!
//! ```
//! use std::time::Duration;
//! use queuelet_guest::{HandlerOutcome, SqsQueue, subscriber};
//!
//! #[derive(serde::Deserialize)]
//! struct Report {
//!     title: String,
//! }
//!
//! #[subscriber(SqsQueue::new("reports").visibility(Duration::from_secs(2)))]
//! fn publish_report(report: &Report) -> HandlerOutcome {
//!     if report.title.is_empty() { HandlerOutcome::drop() } else { HandlerOutcome::ack() }
//! }
//! ```
//!
//! The crate has `crate-type = ["cdylib"]` and is built with `cargo build --target wasm32-wasip2`;
//! the `.wasm` file goes to the host's `plugins/`. The same can be written by hand: implement
//! [`Handle`] or [`HandleBatch`], and [`export!`] it.
//!
//! # What a handler takes
//!
//! | parameter | what it is handed |
//! |---|---|
//! | `T` or `&T` | the body, read from JSON by serde; `Order<'_>` borrows from the body |
//! | `&[u8]` or `Vec<u8>` | the body as it came; the slice costs no copy |
//! | `&Message` | the whole message, undecoded |
//! | `&[T]` or `Vec<T>`, with `single` in the attribute | the body, a JSON list |
//! | one of these, and `&Context` | and its headers, ids, times and queue |
//! | `&[T]` or `Vec<T>` | a batch, each body read from JSON |
//! | `&[Delivery<T>]`, `&[Message]` | a batch, each with its context, or undecoded |
//!
//! A batch is what one receive brought: 1 to 10 messages. SQS does not wait to fill it, so on a
//! quiet queue it is often one message.
//!
//! A body that does not decode is a failure of kind decode, with serde's word on where and why. The
//! handler is not called for it; the other messages of a batch are handed over without it.
//!
//! # What a handler returns
//!
//! See [`IntoAnswer`] and, for batches, [`IntoAnswers`]. A panic is a failure too: it is logged
//! with its place, and the message is handed out again.
//!
//! What it returns as a [`Reply`] is sent once it has returned. A handler that must know that a
//! message is out before it goes on sends it with [`publish()`].
//!
//! # Memory
//!
//! A host that serves from several threads gets little out of them while its guests grow their
//! memory, since that is a matter for the kernel. So it pays to begin with enough: with
//! `-C link-arg=--initial-memory=4194304` among the `rustflags` of the target `wasm32-wasip2`, a
//! message of the largest size is decoded and answered without growing. What is not touched costs
//! nothing.

// The macros name this crate as their users do, in its own tests too.
extern crate self as queuelet_guest;

#[doc(hidden)]
pub mod bindings;

mod answer;
mod executor;
mod export;
mod handle;
mod input;
pub mod log;
mod message;
mod outcome;
mod panics;
mod publish;
mod queue;
mod reply;

pub use answer::{Answer, IntoAnswer, IntoAnswers, IntoOutcome};
pub use handle::{Handle, HandleBatch};
pub use input::{BatchElement, Body, Delivery, FromMessage};
pub use message::{Context, Header, HeaderValue, Message, UnreadableHeader};
pub use outcome::{Failure, FailureKind, HandlerOutcome};
pub use publish::{PublishError, publish};
pub use queue::SqsQueue;
pub use queuelet_guest_macros::subscriber;
pub use reply::{IntoReplies, Reply};

/// What the macros expand to. It is no part of the API.
#[doc(hidden)]
pub mod __private;

/// The handlers that the README shows compile.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
