//! The only place that knows SQS: receive, lease, settle, publish, errors.
//!
//! Everything goes through [`SqsApi`], the dozen calls that the host uses. [`AwsSqs`] carries them
//! out with the AWS SDK, against AWS and against local mode alike.

mod api;
mod batcher;
mod classify;
mod client;
mod entries;
mod keeper;
mod lease;
mod memory;
mod message;
mod open;
mod publish;
mod pump;
mod reread;
#[cfg(test)]
pub(crate) mod scripted;
mod settle;
mod trouble;

pub use api::{Called, QueueAttributes, QueueUrl, Receive, Received, Send, SqsApi};
pub use batcher::Batcher;
pub use client::{AwsSqs, Connection};
pub use lease::{Lease, LeaseKeeper};
pub use memory::Finished;
pub use open::{OpenQueue, Opening, QueueState, open, resolve};
pub use publish::Publisher;
pub use pump::{Delivery, Intake, Pump, Slots};
pub use reread::keep_reading;
pub use settle::{Settled, Settler, release_all};
