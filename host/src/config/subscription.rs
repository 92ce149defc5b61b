//! A mount with every setting in force.

use std::fmt;
use std::num::{NonZeroU8, NonZeroU32, NonZeroUsize};
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::problem::Place;
use super::queue::QueueRef;
use super::sandbox::{Circuit, Instances, OnLostLease, Sandbox};
use super::target::{TargetRef, TopicRef};
use crate::plugin::Digest;

/// One plugin mounted on one queue, with every setting in force.
///
/// A setting comes from the mount, else the descriptor, else `[defaults]` of `queuelet.toml`, else
/// the default that stands with the field.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SqsSubscription {
    /// The plugin: the name of its `.wasm` file.
    pub plugin: String,
    /// Which mount of its file this is, counted from 0; in a document from 1.
    #[serde(serialize_with = "from_one")]
    pub mount: usize,
    /// `queue`: what is read, by name, URL or ARN. No default. Characters that SQS does not take
    /// in a name are already mapped (SPEC 1.2).
    pub queue: QueueRef,
    /// The region of the queue: the one of its URL or ARN, else `region`. None: the host's own.
    pub region: Option<String>,
    /// `wait`: how long a receive waits for a message, 0 to 20 whole seconds. Default 20 s.
    #[serde(serialize_with = "length")]
    pub wait: Duration,
    /// `visibility`: how long a received message stays hidden, 1 s to 12 h in whole seconds.
    /// Default none: the queue's own time-out governs (SPEC 1.5).
    #[serde(serialize_with = "perhaps_length")]
    pub visibility: Option<Duration>,
    /// The most messages that a receive asks for, 1 to 10: `batch` of a batch handler, `receive`
    /// of one that takes one message at a time. Default 10.
    pub receive: NonZeroU8,
    /// `workers`: how many messages, or batches, are handled at once. Default 1, which keeps the
    /// order of the receive.
    pub workers: NonZeroUsize,
    /// `prefetch`: whether a receive may bring more messages than there are free workers. Default
    /// true.
    pub prefetch: bool,
    /// `create_if_missing`: whether a queue or a topic that is not there is created: the source,
    /// the dead-letter queue, a target. Default false (SPEC 1.8).
    pub create_if_missing: bool,
    /// `dead_letter`: the queue that messages go to which cannot be handled, of the source's type.
    /// Default none: a handler that gives a message up has then failed (SPEC 5.14).
    pub dead_letter: Option<QueueRef>,
    /// `max_attempts`: with `dead_letter` the queue's redrive policy, 1 to 1,000 receives. Default
    /// none: the policy that the queue has governs (SPEC 1.9).
    pub max_attempts: Option<NonZeroU32>,
    /// `reply`: the queue or the topic that replies go to. Default none: a reply then fails
    /// (SPEC 1.10).
    pub reply: Option<TargetRef>,
    /// `reply_group`: the message group of replies to a FIFO target that name none themselves, by
    /// their own field or their `partition-key` header. Default none: the source message's group
    /// (SPEC 6.4).
    pub reply_group: Option<String>,
    /// `destinations`: where the handler may publish to while it works, beside `reply`. Default
    /// none (SPEC 6.6).
    pub destinations: Vec<TargetRef>,
    /// `subscribe`: the topics that the queue is subscribed to on open, with raw delivery. Default
    /// none (SPEC 6.7).
    pub subscribe: Vec<TopicRef>,
    /// `unwrap_sns`: whether a notification of SNS that did not come raw is taken out of its
    /// envelope. Default false.
    pub unwrap_sns: bool,
    /// `settle`: whether calls of settling are shared. Default `each` (SPEC 5.10).
    pub settle: SettleMode,
    /// `role_arn`: the role that is assumed for every call of this mount. Default none: the host's
    /// own credentials.
    pub role_arn: Option<String>,
    /// `timeout`: how long one call of the handler may take, up to 12 h. Default none.
    #[serde(serialize_with = "perhaps_length")]
    pub timeout: Option<Duration>,
    /// `retry_delay`, `retry_max_delay`, `retry_jitter`.
    pub retry: RetryPolicy,
    /// `memory`, `cpu_time`, `max_output`, `env`, `http`: what an instance may use and reach.
    pub sandbox: Sandbox,
    /// `instances`, `reuse_messages`, `reuse_age`, `reuse_growth`: whether a call has an instance of
    /// its own.
    pub instances: Instances,
    /// `on_lost_lease`: whether a handler whose message others may receive by now goes on.
    pub on_lost_lease: OnLostLease,
    /// `circuit_after`, `circuit_pause`, `circuit_max_pause`.
    pub circuit: Circuit,
    /// `sha256`: the digests that the plugin's file may have. Default empty: any.
    pub sha256: Vec<Digest>,
    pub(super) in_force: Vec<InForce>,
}

impl SqsSubscription {
    /// Every setting as it is written, and where it comes from, in the order of the table of
    /// settings.
    pub fn explain(&self) -> &[InForce] {
        &self.in_force
    }

    /// Whether two subscriptions read the same queue the same way and send to the same targets: all
    /// that a running subscription has taken up for good. What they differ in concerns single calls,
    /// which take it from the version that is live, or says only where something is written
    /// (SPEC 8.3).
    pub fn same_queue(&self, other: &SqsSubscription) -> bool {
        // Everything that is not named here is the queue's, so that a setting of a later version is
        // that until somebody decides otherwise.
        let of_calls = SqsSubscription {
            mount: self.mount,
            timeout: self.timeout,
            retry: self.retry,
            sandbox: self.sandbox.clone(),
            instances: self.instances.clone(),
            on_lost_lease: self.on_lost_lease,
            circuit: self.circuit,
            sha256: self.sha256.clone(),
            in_force: self.in_force.clone(),
            ..other.clone()
        };
        *self == of_calls
    }

    /// Whether two subscriptions do the same, wherever their settings are written. A long poll
    /// need not be started again where they do (SPEC 8.3).
    pub fn same_settings(&self, other: &SqsSubscription) -> bool {
        let bare = |subscription: &SqsSubscription| SqsSubscription {
            in_force: Vec::new(),
            ..subscription.clone()
        };
        bare(self) == bare(other)
    }
}

/// How messages are settled (SPEC 5.10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SettleMode {
    /// Each by a call of its own.
    #[default]
    Each,
    /// Up to ten share a call, which may wait 50 ms for the others.
    Batched,
}

/// How long a message waits after a handler failed (SPEC 5.6). `delay` is never above `max_delay`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RetryPolicy {
    /// `retry_delay`: the delay after the first failure, 0 to 12 h; it doubles with the receive
    /// count. Default 1 s.
    #[serde(serialize_with = "length")]
    pub delay: Duration,
    /// `retry_max_delay`: what the delay grows to, up to 12 h. Default 5 min.
    #[serde(serialize_with = "length")]
    pub max_delay: Duration,
    /// `retry_jitter`: which part of a delay is random, 0 to 1. Default 0.5.
    pub jitter: f64,
}

/// A setting as it is written, and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InForce {
    /// How the setting is spelled.
    pub setting: &'static str,
    /// Its value, in a form that a mount file takes where it is one of a setting.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where the value of a setting comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A line of a mount file or of `queuelet.toml`, or the descriptor.
    Written(Place),
    /// Nobody set it.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Written(place) => write!(f, "{place}"),
            Origin::Default => f.write_str("default"),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn from_one<S: Serializer>(index: &usize, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(*index as u64 + 1)
}

pub(super) fn length<S: Serializer>(length: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&humantime::format_duration(*length))
}

pub(super) fn perhaps_length<S: Serializer>(
    perhaps: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match perhaps {
        Some(known) => length(known, serializer),
        None => serializer.serialize_none(),
    }
}
