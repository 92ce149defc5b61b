//! How a queue is named: by its name, its URL or its ARN (SPEC 1.1, 1.2).

mod parse;

use std::fmt;

use serde::{Serialize, Serializer};

pub(super) use parse::{check_place, is_account, is_region};

use crate::limits;

/// The suffix that makes a queue a FIFO queue.
const FIFO: &str = ".fifo";

/// The name of a queue, as SQS takes it: 1 to 80 of `[A-Za-z0-9_-]`, a `.fifo` suffix counted in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct QueueName(String);

impl QueueName {
    /// Makes a name that SQS takes: every other character becomes `-`, and a `.fifo` suffix stays.
    ///
    /// # Errors
    ///
    /// A name that is empty or, the suffix included, longer than 80 characters.
    pub fn mapped(text: &str) -> Result<Self, QueueRefError> {
        let (stem, suffix) = split_fifo(text);
        let stem: String = if stem.trim().is_empty() {
            String::new()
        } else {
            stem.chars()
                .map(|c| if is_name_char(c) { c } else { '-' })
                .collect()
        };
        Self::checked(stem, suffix)
    }

    /// Takes a name that must be one already, because it stands in a URL or an ARN.
    fn exact(text: &str) -> Result<Self, QueueRefError> {
        let (stem, suffix) = split_fifo(text);
        match stem.chars().find(|c| !is_name_char(*c)) {
            Some(c) => Err(QueueRefError::NameChar(c)),
            None => Self::checked(stem.to_owned(), suffix),
        }
    }

    fn checked(stem: String, suffix: &str) -> Result<Self, QueueRefError> {
        let length = stem.len() + suffix.len();
        if stem.is_empty() {
            Err(QueueRefError::NameEmpty)
        } else if length > limits::MAX_QUEUE_NAME {
            Err(QueueRefError::NameLong(length))
        } else {
            Ok(QueueName(stem + suffix))
        }
    }

    /// The name as SQS spells it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the name is that of a FIFO queue.
    pub fn is_fifo(&self) -> bool {
        self.0.ends_with(FIFO)
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn split_fifo(text: &str) -> (&str, &str) {
    match text.strip_suffix(FIFO) {
        Some(stem) => (stem, FIFO),
        None => (text, ""),
    }
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// A queue, named in one of the three ways that SQS knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum QueueRef {
    /// By name, in the account of the host's credentials: GetQueueUrl resolves it.
    Name(QueueName),
    /// By URL, which is used as it is.
    Url {
        /// The URL.
        url: String,
        /// The last segment of its path.
        name: QueueName,
        /// The region that the host of the URL says; none for a host that is not AWS's.
        region: Option<String>,
    },
    /// By ARN.
    Arn {
        /// `aws`, `aws-cn`, `aws-us-gov`.
        partition: String,
        /// The region.
        region: String,
        /// The account: 12 digits.
        account: String,
        /// The name.
        name: QueueName,
    },
}

impl QueueRef {
    /// The name of the queue.
    pub fn name(&self) -> &QueueName {
        match self {
            QueueRef::Name(name) | QueueRef::Url { name, .. } | QueueRef::Arn { name, .. } => name,
        }
    }

    /// The region, where the way the queue is named says it. It wins over every `region` setting.
    pub fn region(&self) -> Option<&str> {
        match self {
            QueueRef::Name(_) => None,
            QueueRef::Url { region, .. } => region.as_deref(),
            QueueRef::Arn { region, .. } => Some(region),
        }
    }

    /// The account, where the way the queue is named says it. On a host that is not AWS's it may
    /// be any word.
    pub fn account(&self) -> Option<&str> {
        match self {
            QueueRef::Name(_) => None,
            QueueRef::Url { url, .. } => url.rsplit('/').nth(1),
            QueueRef::Arn { account, .. } => Some(account),
        }
    }
}

impl fmt::Display for QueueRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueRef::Name(name) => write!(f, "{name}"),
            QueueRef::Url { url, .. } => f.write_str(url),
            QueueRef::Arn {
                partition,
                region,
                account,
                name,
            } => write!(f, "arn:{partition}:sqs:{region}:{account}:{name}"),
        }
    }
}

impl Serialize for QueueRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Why a text names no queue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueRefError {
    /// Nothing is left to name.
    #[error("the name of the queue is empty; write a name, a URL or an ARN")]
    NameEmpty,
    /// More characters than SQS takes.
    #[error(
        "the name of the queue has {0} characters and SQS takes {max}; write a shorter one",
        max = limits::MAX_QUEUE_NAME
    )]
    NameLong(usize),
    /// A character that no queue of SQS can have, where the name is not ours to map.
    #[error(
        "the name of the queue holds {0:?}, which no queue of SQS can; copy the URL or ARN again"
    )]
    NameChar(char),
    /// A URL of another shape than a queue's.
    #[error("{0}; the URL of a queue is https://HOST/ACCOUNT/NAME")]
    Url(&'static str),
    /// An ARN of another shape than a queue's.
    #[error("{0}; the ARN of a queue is arn:PARTITION:sqs:REGION:ACCOUNT:NAME")]
    Arn(&'static str),
    /// The ARN of a topic.
    #[error("this is the ARN of an SNS topic, not of a queue")]
    Topic,
    /// The ARN of something else.
    #[error("this is the ARN of something of {0:?}, not of a queue of \"sqs\"")]
    Service(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    // SPEC 1.2
    #[test]
    fn a_name_is_mapped_to_what_sqs_takes() {
        for (given, name) in [
            ("orders", "orders"),
            ("Orders_2-a", "Orders_2-a"),
            ("orders.v2", "orders-v2"),
            ("orders v2.fifo", "orders-v2.fifo"),
            ("aufträge", "auftr-ge"),
            ("a:b/c", "a-b-c"),
            (&"x".repeat(80), &"x".repeat(80)),
        ] {
            assert_eq!(QueueName::mapped(given).unwrap().as_str(), name, "{given}");
        }
    }

    // SPEC 1.2
    #[test]
    fn a_name_that_is_empty_or_over_80_characters_is_refused() {
        for (given, error) in [
            ("", QueueRefError::NameEmpty),
            ("  ", QueueRefError::NameEmpty),
            (".fifo", QueueRefError::NameEmpty),
            (&"x".repeat(81), QueueRefError::NameLong(81)),
            (
                &format!("{}.fifo", "x".repeat(76)),
                QueueRefError::NameLong(81),
            ),
        ] {
            assert_eq!(QueueName::mapped(given), Err(error), "{given:?}");
        }
    }
}
