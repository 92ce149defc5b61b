//! The one table of settings: what each is called, what it takes, and who may set it.
//!
//! A mount file, a descriptor and `[defaults]` are all read by this table, so that a name means
//! the same wherever it is written.

use std::time::Duration;

use super::problem::Class;
use crate::limits;

/// A setting of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    /// `queue`
    Queue,
    /// `region`
    Region,
    /// `wait`
    Wait,
    /// `visibility`
    Visibility,
    /// `batch`
    Batch,
    /// `receive`
    Receive,
    /// `workers`
    Workers,
    /// `prefetch`
    Prefetch,
    /// `create_if_missing`
    CreateIfMissing,
    /// `max_attempts`
    MaxAttempts,
    /// `dead_letter`
    DeadLetter,
    /// `reply`
    Reply,
    /// `reply_group`
    ReplyGroup,
    /// `destinations`
    Destinations,
    /// `subscribe`
    Subscribe,
    /// `unwrap_sns`
    UnwrapSns,
    /// `settle`
    Settle,
    /// `role_arn`
    RoleArn,
    /// `timeout`
    Timeout,
    /// `enabled`
    Enabled,
    /// `retry_delay`
    RetryDelay,
    /// `retry_max_delay`
    RetryMaxDelay,
    /// `retry_jitter`
    RetryJitter,
}

/// What a setting takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A name, a URL or an ARN of a queue.
    Queue,
    /// A queue, or a topic: `sns:NAME` or an ARN.
    Target,
    /// Any number of targets.
    Targets,
    /// Any number of topics.
    Topics,
    /// A message group.
    Group,
    /// The ARN of a role of IAM.
    Role,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A region of AWS.
    Region,
    /// A length of time, its bounds included.
    Duration {
        /// The shortest.
        least: Duration,
        /// The longest.
        most: Duration,
        /// Whether SQS counts it in whole seconds, so that a fraction is rounded up. The bounds
        /// hold before the rounding.
        whole_seconds: bool,
    },
    /// A whole number, its bounds included.
    Whole {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
        /// Whether more than that works as the most, with a warning.
        more_is_most: bool,
    },
    /// A number from 0 to 1.
    Fraction,
    /// `true` or `false`.
    Flag,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Which one.
    pub name: Name,
    /// How it is spelled.
    pub key: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Whether `[defaults]` of `queuelet.toml` may set it.
    pub host_wide: bool,
    /// What it is, and what sets its bounds.
    pub doc: &'static str,
}

const TWELVE_HOURS: Duration = limits::MAX_VISIBILITY;

/// The least of a length of time that may be as short as it likes, but not nothing.
const MORE_THAN_NOTHING: Duration = Duration::from_nanos(1);

/// Every setting that this version serves.
pub static SETTINGS: [Setting; 23] = [
    Setting {
        name: Name::Queue,
        key: "queue",
        kind: Kind::Queue,
        host_wide: false,
        doc: "the queue that is read",
    },
    Setting {
        name: Name::Region,
        key: "region",
        kind: Kind::Region,
        host_wide: false,
        doc: "the region of the queue; the one of a URL or an ARN wins",
    },
    Setting {
        name: Name::Wait,
        key: "wait",
        kind: Kind::Duration {
            least: Duration::ZERO,
            most: limits::MAX_WAIT,
            whole_seconds: true,
        },
        host_wide: true,
        doc: "how long a receive waits for a message; the long poll of SQS ends after 20 seconds",
    },
    Setting {
        name: Name::Visibility,
        key: "visibility",
        kind: Kind::Duration {
            least: limits::MIN_VISIBILITY,
            most: limits::MAX_VISIBILITY,
            whole_seconds: true,
        },
        host_wide: true,
        doc: "how long a received message stays hidden: at least 1 second, or it would be handed \
              out again while it is handled, and at most the 12 hours that SQS hides one",
    },
    Setting {
        name: Name::Batch,
        key: "batch",
        kind: Kind::Whole {
            least: 1,
            most: limits::MAX_BATCH as u64,
            more_is_most: true,
        },
        host_wide: true,
        doc: "the most messages of one call of a batch handler; a receive of SQS brings 10 at most",
    },
    Setting {
        name: Name::Receive,
        key: "receive",
        kind: Kind::Whole {
            least: 1,
            most: limits::MAX_BATCH as u64,
            more_is_most: false,
        },
        host_wide: true,
        doc: "the most messages of one receive for a handler that takes one at a time; \
              a receive of SQS brings 10 at most",
    },
    Setting {
        name: Name::Workers,
        key: "workers",
        kind: Kind::Whole {
            least: 1,
            most: limits::MAX_WORKERS as u64,
            more_is_most: false,
        },
        host_wide: true,
        doc: "how many messages, or batches, are handled at once",
    },
    Setting {
        name: Name::Prefetch,
        key: "prefetch",
        kind: Kind::Flag,
        host_wide: true,
        doc: "whether a receive may bring more messages than there are free workers",
    },
    Setting {
        name: Name::CreateIfMissing,
        key: "create_if_missing",
        kind: Kind::Flag,
        host_wide: true,
        doc: "whether a queue or a topic that is not there is created",
    },
    Setting {
        name: Name::MaxAttempts,
        key: "max_attempts",
        kind: Kind::Whole {
            least: 1,
            most: limits::MAX_RECEIVE_COUNT as u64,
            more_is_most: false,
        },
        host_wide: false,
        doc: "how often a message is handed out before SQS moves it to the dead-letter queue; a \
              redrive policy of SQS takes 1 to 1,000",
    },
    Setting {
        name: Name::DeadLetter,
        key: "dead_letter",
        kind: Kind::Queue,
        host_wide: false,
        doc: "the queue that messages go to which cannot be handled",
    },
    Setting {
        name: Name::Reply,
        key: "reply",
        kind: Kind::Target,
        host_wide: false,
        doc: "the queue or the topic that replies go to",
    },
    Setting {
        name: Name::ReplyGroup,
        key: "reply_group",
        kind: Kind::Group,
        host_wide: false,
        doc: "the message group of replies to a FIFO target that name none",
    },
    Setting {
        name: Name::Destinations,
        key: "destinations",
        kind: Kind::Targets,
        host_wide: false,
        doc: "the queues and topics that the handler may publish to while it works",
    },
    Setting {
        name: Name::Subscribe,
        key: "subscribe",
        kind: Kind::Topics,
        host_wide: false,
        doc: "the topics that the queue is subscribed to, with raw message delivery",
    },
    Setting {
        name: Name::UnwrapSns,
        key: "unwrap_sns",
        kind: Kind::Flag,
        host_wide: true,
        doc: "whether a notification of SNS that did not come raw is taken out of its envelope",
    },
    Setting {
        name: Name::Settle,
        key: "settle",
        kind: Kind::Word(&["each", "batched"]),
        host_wide: true,
        doc: "whether each message is settled by a call of its own, or up to ten share one",
    },
    Setting {
        name: Name::RoleArn,
        key: "role_arn",
        kind: Kind::Role,
        host_wide: true,
        doc: "the role that is assumed for every call of the mount",
    },
    Setting {
        name: Name::Timeout,
        key: "timeout",
        kind: Kind::Duration {
            least: MORE_THAN_NOTHING,
            // Nothing can be held longer, so more would limit nothing.
            most: TWELVE_HOURS,
            whole_seconds: false,
        },
        host_wide: true,
        doc: "how long one call of the handler may take; no message is held for over 12 hours",
    },
    Setting {
        name: Name::Enabled,
        key: "enabled",
        kind: Kind::Flag,
        host_wide: false,
        doc: "whether the mount is served at all",
    },
    Setting {
        name: Name::RetryDelay,
        key: "retry_delay",
        kind: Kind::Duration {
            least: Duration::ZERO,
            most: TWELVE_HOURS,
            whole_seconds: false,
        },
        host_wide: true,
        doc: "the delay after a first failure; SQS hides a message for 12 hours at most",
    },
    Setting {
        name: Name::RetryMaxDelay,
        key: "retry_max_delay",
        kind: Kind::Duration {
            least: Duration::ZERO,
            most: TWELVE_HOURS,
            whole_seconds: false,
        },
        host_wide: true,
        doc: "what the delay after a failure grows to; SQS hides a message for 12 hours at most",
    },
    Setting {
        name: Name::RetryJitter,
        key: "retry_jitter",
        kind: Kind::Fraction,
        host_wide: true,
        doc: "how much of a retry delay is random: 0 for none, 1 for all of it",
    },
];

/// Settings that are designed and that a later version serves. They are known here so that none
/// is passed over in silence.
pub(super) const LATER: [&str; 2] = ["instances", "on_lost_lease"];

impl Name {
    /// The row of this setting.
    pub fn setting(self) -> &'static Setting {
        // The table is in the order of the names, which a test holds it to.
        &SETTINGS[self as usize]
    }

    /// How it is spelled.
    pub fn key(self) -> &'static str {
        self.setting().key
    }
}

impl Setting {
    /// The row of that spelling.
    pub fn of(key: &str) -> Option<&'static Setting> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }

    /// Which error a value is that cannot be taken (SPEC 1.2 to 1.6).
    pub(super) fn class(&self) -> Class {
        match self.name {
            Name::Queue
            | Name::DeadLetter
            | Name::Reply
            | Name::ReplyGroup
            | Name::Destinations
            | Name::Subscribe
            | Name::Region
            | Name::Wait
            | Name::Visibility
            | Name::Batch
            | Name::Receive => Class::InvalidQueue,
            _ => Class::Config,
        }
    }
}

impl Kind {
    /// Whether it takes any number of values.
    pub fn is_list(&self) -> bool {
        matches!(self, Kind::Targets | Kind::Topics)
    }

    /// What may be written, in words.
    pub fn allowed(&self) -> String {
        match self {
            Kind::Queue => "a name, a URL or an ARN of an SQS queue".to_owned(),
            Kind::Target => {
                "a name, a URL or an ARN of an SQS queue, or sns:NAME or an ARN of an SNS topic"
                    .to_owned()
            }
            Kind::Targets => "a list of queues and topics".to_owned(),
            Kind::Topics => "a list of SNS topics, each sns:NAME or an ARN".to_owned(),
            Kind::Group => format!(
                "1 to {} letters, digits and punctuation",
                limits::MAX_GROUP_ID
            ),
            Kind::Role => "arn:aws:iam::ACCOUNT:role/NAME".to_owned(),
            Kind::Word(words) => words.join(" or "),
            Kind::Region => "a region such as eu-west-1".to_owned(),
            Kind::Duration { least, most, .. } if *least == MORE_THAN_NOTHING => {
                format!("more than 0s, up to {}", humantime::format_duration(*most))
            }
            Kind::Duration { least, most, .. } => format!(
                "{} to {}",
                humantime::format_duration(*least),
                humantime::format_duration(*most)
            ),
            Kind::Whole { least, most, .. } => format!("{least} to {most}"),
            Kind::Fraction => "0 to 1".to_owned(),
            Kind::Flag => "true or false".to_owned(),
        }
    }
}

/// How much alike two names are, from 0 to 1, where the one may have been meant by the other. It
/// lets a slip of the pen or a longer name through (`awz`, `wait_time_seconds`), and keeps off what
/// shares a few letters by chance (`log` and `mount`).
const NEAR: f64 = 0.82;

/// The key of `keys` that reads most like `given`, where one is near it.
pub(super) fn nearest<'a>(given: &str, keys: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_lowercase();
    // Of two that read alike the first one wins, whatever the order of comparison.
    keys.into_iter()
        .map(|key| (strsim::jaro_winkler(&given, key), key))
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .filter(|(alike, _)| *alike >= NEAR)
        .map(|(_, key)| key)
}

/// Names in a row, for one who wrote none of them.
pub(super) fn listed<'a>(keys: impl IntoIterator<Item = &'a str>) -> String {
    keys.into_iter().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_names() {
        for (index, setting) in SETTINGS.iter().enumerate() {
            assert_eq!(setting.name as usize, index, "{}", setting.key);
            assert!(!LATER.contains(&setting.key), "{}", setting.key);
        }
    }

    // SPEC 1.12
    #[test]
    fn the_nearest_key_is_the_one_that_was_meant() {
        for (given, key) in [
            ("que", "queue"),
            ("Queue", "queue"),
            ("visibility_timeout", "visibility"),
            ("visiblity", "visibility"),
            ("worker", "workers"),
            ("wait_time", "wait"),
            ("create-if-missing", "create_if_missing"),
            ("retry_max", "retry_max_delay"),
            ("time_out", "timeout"),
            ("max_atempts", "max_attempts"),
        ] {
            let keys = SETTINGS.iter().map(|setting| setting.key).chain(LATER);
            assert_eq!(nearest(given, keys), Some(key), "{given}");
        }
    }

    // SPEC 1.12
    #[test]
    fn a_key_that_is_like_none_has_no_nearest() {
        for given in [
            "log",
            "dlq",
            "name",
            "topic",
            "concurrency",
            "max_receive_count",
            "",
        ] {
            let keys = SETTINGS.iter().map(|setting| setting.key).chain(LATER);
            assert_eq!(nearest(given, keys.chain(["mount"])), None, "{given}");
        }
    }

    // SPEC 1.12
    #[test]
    fn the_page_of_settings_names_each_and_no_other() {
        let page = include_str!("../../../docs/settings.md");
        let named: Vec<_> = page
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
            .map(|(key, _)| key)
            .collect();
        let mut known: Vec<_> = SETTINGS.iter().map(|setting| setting.key).collect();
        known.sort_unstable();
        let mut sorted = named.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, known);
    }
}
