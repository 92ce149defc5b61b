//! The only place that knows SQS: receive, lease, settle, publish, errors.
//!
//! Everything goes through [`SqsApi`], the dozen calls that the host uses, and [`SnsApi`], the few of
//! SNS's. [`AwsSqs`] and [`AwsSns`] carry them out with the AWS SDK, against AWS and against local
//! mode alike.

mod api;
mod batcher;
mod called;
mod classify;
mod client;
mod connection;
mod entries;
mod gate;
mod iam;
mod keeper;
mod lease;
mod memory;
mod message;
mod notification;
mod open;
mod pace;
mod payload;
mod policy;
mod probe;
mod publish;
mod pump;
mod redrive;
mod reread;
#[cfg(test)]
pub(crate) mod scripted;
mod settle;
mod sns;
mod subscribe;
mod trouble;
#[cfg(test)]
mod wire;

pub use api::{Called, Outgoing, QueueAttributes, QueueUrl, Receive, Received, SqsApi};
pub use batcher::{AtWork, Batcher};
pub use client::AwsSqs;
pub use connection::Connection;
pub use gate::{Gate, Pass, Trial, TrialId};
pub use iam::policy as iam_policy;
pub use lease::{Lease, LeaseKeeper};
pub use memory::Finished;
pub use message::{PARTITION_KEY, RECEIVE_COUNT};
pub use notification::unwrap_sns;
pub use open::{OpenQueue, Opening, QueueState, open, resolve};
pub use pace::Pace;
pub(crate) use payload::is_marked;
pub use probe::{Probe, Verdict, probe};
pub use publish::{Publisher, Target, Targets};
pub use pump::{Delivery, Intake, Pump, Slots};
pub use redrive::{Redrive, RedrivePolicy};
pub use reread::keep_reading;
pub use settle::{Settled, Settler, release_all};
pub use sns::{AwsSns, SnsApi, Subscription, TopicArn, TopicAttributes, TopicHome};
pub use subscribe::{Subscribed, subscribe_queue_to_topic};
