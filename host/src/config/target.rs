//! Where a message can go: a queue of SQS or a topic of SNS (SPEC 1.10, 6.1).

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::queue::{QueueRef, QueueRefError, check_place};
use crate::limits;

/// What tells the name of a topic from the name of a queue.
const BY_NAME: &str = "sns:";
/// The suffix that makes a topic a FIFO topic.
const FIFO: &str = ".fifo";

/// The name of a topic, as SNS takes it: 1 to 256 of `[A-Za-z0-9_-]`, a `.fifo` suffix counted in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicName(String);

impl TopicName {
    /// Takes a name that is one already. Unlike a queue's it is never mapped: a topic that another
    /// service publishes to is found by its very name or not at all.
    fn exact(text: &str) -> Result<Self, TargetRefError> {
        let stem = text.strip_suffix(FIFO).unwrap_or(text);
        let is_name_char = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        match stem.chars().find(|c| !is_name_char(*c)) {
            Some(c) => Err(TargetRefError::TopicNameChar(c)),
            None if stem.is_empty() => Err(TargetRefError::TopicNameEmpty),
            None if text.len() > limits::MAX_TOPIC_NAME => {
                Err(TargetRefError::TopicNameLong(text.len()))
            }
            None => Ok(Self(text.to_owned())),
        }
    }

    /// The name as SNS spells it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the name is that of a FIFO topic.
    pub fn is_fifo(&self) -> bool {
        self.0.ends_with(FIFO)
    }
}

impl fmt::Display for TopicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A topic, by name or by ARN.
///
/// Where only a topic can stand, a name may be written bare; it is shown with `sns:` before it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TopicRef {
    /// By name, in partition, region and account of the queue that it is used with (SPEC 6.1).
    Name(TopicName),
    /// By ARN, which is used as it is.
    Arn {
        /// `aws`, `aws-cn`, `aws-us-gov`.
        partition: String,
        /// The region.
        region: String,
        /// The account: 12 digits.
        account: String,
        /// The name.
        name: TopicName,
    },
}

impl TopicRef {
    /// The name of the topic.
    pub fn name(&self) -> &TopicName {
        match self {
            Self::Name(name) | Self::Arn { name, .. } => name,
        }
    }

    /// The region, where the ARN says it.
    pub fn region(&self) -> Option<&str> {
        match self {
            Self::Name(_) => None,
            Self::Arn { region, .. } => Some(region),
        }
    }
}

impl FromStr for TopicRef {
    type Err = TargetRefError;

    fn from_str(text: &str) -> Result<Self, TargetRefError> {
        if text.starts_with("arn:") {
            return arn(text);
        }
        TopicName::exact(text.strip_prefix(BY_NAME).unwrap_or(text)).map(Self::Name)
    }
}

fn arn(text: &str) -> Result<TopicRef, TargetRefError> {
    let wrong = TargetRefError::TopicArn;
    let parts: Vec<&str> = text.split(':').collect();
    let (partition, region, account, name) = match parts[..] {
        [_, partition, "sns", region, account, name] => (partition, region, account, name),
        [_, _, "sns", _, _, _, _] => return Err(wrong("it is the ARN of a subscription")),
        [_, _, "sns", ..] | [_] | [_, _] => return Err(wrong("it does not have six parts")),
        [_, _, service, ..] => return Err(TargetRefError::Service(service.to_owned())),
        [] => return Err(wrong("it is empty")),
    };
    check_place(partition, region, account).map_err(wrong)?;
    Ok(TopicRef::Arn {
        partition: partition.to_owned(),
        region: region.to_owned(),
        account: account.to_owned(),
        name: TopicName::exact(name)?,
    })
}

impl fmt::Display for TopicRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "{BY_NAME}{name}"),
            Self::Arn {
                partition,
                region,
                account,
                name,
            } => write!(f, "arn:{partition}:sns:{region}:{account}:{name}"),
        }
    }
}

impl Serialize for TopicRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Where a message can go. `arn:PARTITION:sns:REGION:ACCOUNT:NAME` and `sns:NAME` are topics,
/// everything else is a queue as [`QueueRef`] reads it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TargetRef {
    /// A queue.
    Queue(QueueRef),
    /// A topic.
    Topic(TopicRef),
}

impl TargetRef {
    /// The name of the queue or topic.
    pub fn name(&self) -> &str {
        match self {
            Self::Queue(queue) => queue.name().as_str(),
            Self::Topic(topic) => topic.name().as_str(),
        }
    }

    /// Whether it is a FIFO queue or a FIFO topic.
    pub fn is_fifo(&self) -> bool {
        match self {
            Self::Queue(queue) => queue.name().is_fifo(),
            Self::Topic(topic) => topic.name().is_fifo(),
        }
    }

    /// The target as its name alone names it.
    pub fn by_name(&self) -> Self {
        match self {
            Self::Queue(queue) => QueueRef::Name(queue.name().clone()).into(),
            Self::Topic(topic) => TopicRef::Name(topic.name().clone()).into(),
        }
    }

    /// The region, where the way the target is named says it.
    pub fn region(&self) -> Option<&str> {
        match self {
            Self::Queue(queue) => queue.region(),
            Self::Topic(topic) => topic.region(),
        }
    }
}

impl From<QueueRef> for TargetRef {
    fn from(queue: QueueRef) -> Self {
        Self::Queue(queue)
    }
}

impl From<TopicRef> for TargetRef {
    fn from(topic: TopicRef) -> Self {
        Self::Topic(topic)
    }
}

impl FromStr for TargetRef {
    type Err = TargetRefError;

    fn from_str(text: &str) -> Result<Self, TargetRefError> {
        if text.starts_with(BY_NAME) {
            return text.parse().map(Self::Topic);
        }
        match text.parse::<QueueRef>() {
            Ok(queue) => Ok(Self::Queue(queue)),
            Err(QueueRefError::Topic) => arn(text).map(Self::Topic),
            Err(QueueRefError::Service(service)) => Err(TargetRefError::Service(service)),
            Err(error) => Err(error.into()),
        }
    }
}

impl fmt::Display for TargetRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue(queue) => queue.fmt(f),
            Self::Topic(topic) => topic.fmt(f),
        }
    }
}

impl Serialize for TargetRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Why a text names no target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetRefError {
    /// It is read as a queue, and is none.
    #[error(transparent)]
    Queue(#[from] QueueRefError),
    /// Nothing is left to name a topic.
    #[error("the name of the topic is empty; write sns:NAME or the topic's ARN")]
    TopicNameEmpty,
    /// More characters than SNS takes.
    #[error(
        "the name of the topic has {0} characters and SNS takes {max}; write a shorter one",
        max = limits::MAX_TOPIC_NAME
    )]
    TopicNameLong(usize),
    /// A character that no topic of SNS can have.
    #[error(
        "the name of the topic holds {0:?}; SNS takes letters, digits, '-' and '_', and .fifo at \
         the end"
    )]
    TopicNameChar(char),
    /// An ARN of another shape than a topic's.
    #[error("{0}; the ARN of a topic is arn:PARTITION:sns:REGION:ACCOUNT:NAME")]
    TopicArn(&'static str),
    /// The ARN of something else.
    #[error(
        "this is the ARN of something of {0:?}; a message goes to a queue of \"sqs\" or a topic of \
         \"sns\""
    )]
    Service(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    // SPEC 1.10, 6.1
    #[test]
    fn an_sns_arn_and_an_sns_name_are_topics_and_everything_else_is_a_queue() {
        for (given, name, topic, fifo, region) in [
            ("orders", "orders", false, false, None),
            ("orders.fifo", "orders.fifo", false, true, None),
            ("snstopic", "snstopic", false, false, None),
            ("sns:orders", "orders", true, false, None),
            ("sns:orders.fifo", "orders.fifo", true, true, None),
            (
                "arn:aws-cn:sns:cn-north-1:123456789012:orders.fifo",
                "orders.fifo",
                true,
                true,
                Some("cn-north-1"),
            ),
            (
                "arn:aws:sqs:eu-west-1:123456789012:orders",
                "orders",
                false,
                false,
                Some("eu-west-1"),
            ),
        ] {
            let target: TargetRef = given.parse().unwrap_or_else(|e| panic!("{given}: {e}"));
            assert_eq!(target.name(), name, "{given}");
            assert_eq!(matches!(target, TargetRef::Topic(_)), topic, "{given}");
            assert_eq!(target.is_fifo(), fifo, "{given}");
            assert_eq!(target.region(), region, "{given}");
            assert_eq!(target.to_string(), given);
        }
    }

    // SPEC 1.10
    #[test]
    fn a_text_that_names_no_target_is_refused_with_what_is_wrong() {
        for (given, what) in [
            ("", "name of the queue is empty"),
            ("sns:", "name of the topic is empty"),
            ("sns:.fifo", "name of the topic is empty"),
            ("sns:or.ders", "'.'"),
            ("sns:or ders", "' '"),
            (&format!("sns:{}", "x".repeat(257)), "257 characters"),
            ("arn:aws:sns:eu-west-1:orders", "six parts"),
            ("arn:aws:sns:eu-west-1:123456789012:a:b", "a subscription"),
            ("arn:aws:sns:eu-west-1:1234:orders", "12 digits"),
            ("arn::sns:eu-west-1:123456789012:orders", "partition"),
            ("arn:aws:sns::123456789012:orders", "region"),
            ("arn:aws:sns:eu-west-1:123456789012:", "empty"),
            ("arn:aws:sqs:eu-west-1:orders", "six parts"),
            ("arn:aws:lambda:eu-west-1:123456789012:function:f", "lambda"),
        ] {
            let error = given.parse::<TargetRef>().unwrap_err().to_string();
            assert!(error.contains(what), "{given}: {error}");
        }
        let longest = format!("sns:{}.fifo", "x".repeat(251));
        assert!(longest.parse::<TargetRef>().is_ok());
    }

    // SPEC 6.7
    #[test]
    fn where_only_a_topic_can_stand_its_name_may_be_bare() {
        for given in ["orders", "sns:orders"] {
            let topic: TopicRef = given.parse().unwrap();
            assert_eq!(topic.to_string(), "sns:orders");
        }
        for (given, what) in [
            ("arn:aws:sqs:eu-west-1:123456789012:orders", "sqs"),
            ("arn:aws", "six parts"),
            ("https://host/1/orders", "':'"),
        ] {
            let error = given.parse::<TopicRef>().unwrap_err().to_string();
            assert!(error.contains(what), "{given}: {error}");
        }
    }
}
