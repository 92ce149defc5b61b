//! queuelet: a native host for Amazon SQS consumers whose handlers are WebAssembly components.
//!
//! The way of a message is the way the modules lie: a [`plugin`] is loaded, a subscription is
//! opened ([`host`]), the pump receives and the lease is kept ([`sqs`]), a handler is called and
//! its outcome decided ([`dispatch`]), the message is settled and its reply published ([`sqs`]).
//! [`config`] is what an operator may write, [`observe`] what the host says of its work, [`admin`]
//! how it is for whoever asks, and [`local`] an SQS inside the process.

mod accept;
pub mod admin;
mod backoff;
pub mod build;
pub mod cli;
pub mod config;
pub mod dispatch;
pub mod error;
mod file;
pub mod handler;
pub mod host;
pub mod limits;
mod line;
pub mod local;
pub mod observe;
pub mod plugin;
mod reload;
mod shown;
mod shutdown;
pub mod sqs;

pub use shutdown::Shutdown;

pub use error::{CallError, ErrorClass, Remedy, SqsError};
