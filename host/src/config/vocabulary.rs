//! The one table of settings: what each is called, what it takes, and who may set it.
//!
//! A mount file, a descriptor and `[defaults]` are all read by this table, so that a name means
//! the same wherever it is written.

use std::time::Duration;

use super::problem::Class;
pub use super::settings::SETTINGS;
use super::size;
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
    /// `memory`
    Memory,
    /// `cpu_time`
    CpuTime,
    /// `max_output`
    MaxOutput,
    /// `env`
    Env,
    /// `http`
    Http,
    /// `instances`
    Instances,
    /// `reuse_messages`
    ReuseMessages,
    /// `reuse_age`
    ReuseAge,
    /// `reuse_growth`
    ReuseGrowth,
    /// `on_lost_lease`
    OnLostLease,
    /// `circuit_after`
    CircuitAfter,
    /// `circuit_pause`
    CircuitPause,
    /// `circuit_max_pause`
    CircuitMaxPause,
    /// `sha256`
    Sha256,
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
    /// A number of bytes, its bounds included.
    Size {
        /// The least.
        least: usize,
        /// The most.
        most: usize,
    },
    /// A table of names and values, which are never shown.
    Env,
    /// Any number of hosts, networks and ports.
    HttpRules,
    /// Any number of SHA-256 digests.
    Digests,
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
    /// Whether it gives the plugin something, so that it is the operator's alone: a descriptor may
    /// not set it.
    pub grant: bool,
    /// What it is, and what sets its bounds.
    pub doc: &'static str,
}

/// The least of a length of time that may be as short as it likes, but not nothing.
pub(super) const MORE_THAN_NOTHING: Duration = Duration::from_nanos(1);

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
        matches!(
            self,
            Kind::Targets | Kind::Topics | Kind::HttpRules | Kind::Digests
        )
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
            Kind::Size { least, most } => {
                format!("{} to {}", size::shown(*least), size::shown(*most))
            }
            Kind::Env => {
                "a table of NAME = \"VALUE\", each value a text, env:NAME or file:/PATH".to_owned()
            }
            Kind::HttpRules => "a list of hosts, each with its port and http:// or https:// where \
                                they matter, of *.DOMAIN, addresses and networks"
                .to_owned(),
            Kind::Digests => "a list of SHA-256 digests of 64 hexadecimal digits".to_owned(),
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
            let keys = SETTINGS.iter().map(|setting| setting.key);
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
            let keys = SETTINGS.iter().map(|setting| setting.key);
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
