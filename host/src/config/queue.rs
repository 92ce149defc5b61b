//! How a queue is named: by its name, its URL or its ARN (SPEC 1.1, 1.2).

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

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
    #[error("this is the ARN of something in `{0}`, not of a queue in `sqs`")]
    Service(String),
}

impl FromStr for QueueRef {
    type Err = QueueRefError;

    fn from_str(text: &str) -> Result<Self, QueueRefError> {
        if text.contains("://") {
            url(text)
        } else if text.starts_with("arn:") {
            arn(text)
        } else {
            QueueName::mapped(text).map(QueueRef::Name)
        }
    }
}

fn url(text: &str) -> Result<QueueRef, QueueRefError> {
    let wrong = QueueRefError::Url;
    let (scheme, rest) = text.split_once("://").ok_or(wrong("it has no scheme"))?;
    if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
        return Err(wrong("the scheme is neither http nor https"));
    }
    if text.contains(['?', '#']) {
        return Err(wrong("it has a query or a fragment"));
    }
    let mut parts = rest.split('/');
    let (Some(authority), Some(account), Some(name), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(wrong("the path is not an account and a name"));
    };
    if authority.contains('@') {
        return Err(wrong("it holds credentials"));
    }
    if !is_authority(authority) {
        return Err(wrong("the host is not one"));
    }
    let region = aws_region(authority);
    if region.is_some() && !is_account(account) {
        return Err(wrong("the account is not 12 digits"));
    }
    // What is not AWS may have another word there.
    if account.is_empty() || !account.chars().all(is_name_char) {
        return Err(wrong("the account is not one"));
    }
    Ok(QueueRef::Url {
        url: text.to_owned(),
        name: QueueName::exact(name)?,
        region,
    })
}

/// Whether this is `HOST` or `HOST:PORT`.
fn is_authority(authority: &str) -> bool {
    // The last colon, and none of those inside the brackets of an IPv6 address.
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let bracketed = host.starts_with('[') && host.ends_with(']');
    let host_char = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_') || bracketed && "[:]".contains(c)
    };
    !host.is_empty()
        && host.chars().all(host_char)
        && port.is_none_or(|port| port.parse::<u16>().is_ok())
}

/// The region that a host of AWS's says. The legacy forms are those of URLs that were written
/// down years ago and that SQS still serves.
fn aws_region(authority: &str) -> Option<String> {
    let host = authority.to_ascii_lowercase();
    let host = host
        .strip_suffix(":443")
        .or_else(|| host.strip_suffix(":80"))
        .unwrap_or(&host);
    if host == "queue.amazonaws.com" {
        return Some("us-east-1".to_owned());
    }
    let stem = host
        .strip_suffix(".amazonaws.com")
        .or_else(|| host.strip_suffix(".amazonaws.com.cn"))?;
    let region = stem
        .strip_prefix("sqs.")
        .or_else(|| stem.strip_prefix("sqs-fips."))
        .or_else(|| stem.strip_suffix(".queue"))?;
    is_region(region).then(|| region.to_owned())
}

fn arn(text: &str) -> Result<QueueRef, QueueRefError> {
    let wrong = QueueRefError::Arn;
    let parts: Vec<&str> = text.split(':').collect();
    // The service first: an ARN of another has its own number of parts.
    match parts.get(2) {
        Some(&"sns") => return Err(QueueRefError::Topic),
        Some(&"sqs") | None => {}
        Some(service) => return Err(QueueRefError::Service((*service).to_owned())),
    }
    let [_, partition, _, region, account, name] = parts[..] else {
        return Err(wrong("it does not have six parts"));
    };
    if !is_region(partition) {
        return Err(wrong("the partition is not one"));
    }
    if !is_region(region) {
        return Err(wrong("the region is not one"));
    }
    if !is_account(account) {
        return Err(wrong("the account is not 12 digits"));
    }
    Ok(QueueRef::Arn {
        partition: partition.to_owned(),
        region: region.to_owned(),
        account: account.to_owned(),
        name: QueueName::exact(name)?,
    })
}

/// Whether a text has the letters of a region (`eu-west-1`), or of a partition. Which regions
/// there are is AWS's to say.
pub(super) fn is_region(text: &str) -> bool {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(word)
}

fn is_account(text: &str) -> bool {
    text.len() == 12 && text.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> QueueRef {
        text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
    }

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
            assert_eq!(parsed(given).name().as_str(), name, "{given}");
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
            assert_eq!(given.parse::<QueueRef>(), Err(error), "{given:?}");
        }
    }

    // SPEC 1.1
    #[test]
    fn the_region_of_a_url_is_known_where_the_host_is_awss() {
        for (host, region) in [
            ("sqs.eu-west-1.amazonaws.com", Some("eu-west-1")),
            ("SQS.EU-West-1.amazonaws.com", Some("eu-west-1")),
            ("sqs.cn-north-1.amazonaws.com.cn", Some("cn-north-1")),
            ("sqs-fips.us-east-2.amazonaws.com", Some("us-east-2")),
            ("sqs.us-east-1.amazonaws.com:443", Some("us-east-1")),
            ("eu-central-1.queue.amazonaws.com", Some("eu-central-1")),
            ("queue.amazonaws.com", Some("us-east-1")),
            ("localhost:4566", None),
            ("[::1]:9324", None),
            ("sqs.eu-west-1.amazonaws.com.example.org", None),
        ] {
            let url = format!("https://{host}/123456789012/orders");
            let queue = parsed(&url);
            assert_eq!(queue.region(), region, "{host}");
            assert_eq!(queue.account(), Some("123456789012"), "{host}");
            assert_eq!(queue.name().as_str(), "orders", "{host}");
            assert_eq!(queue.to_string(), url);
        }
    }

    // SPEC 1.1
    #[test]
    fn a_url_that_is_no_queues_is_refused_with_what_is_wrong() {
        for (given, what) in [
            ("ftp://host/123456789012/orders", "scheme"),
            ("https://sqs.eu-west-1.amazonaws.com", "path"),
            ("https://sqs.eu-west-1.amazonaws.com/orders", "path"),
            ("https://host/1/orders/more", "path"),
            ("https://host/1/orders?x=1", "query"),
            ("https://me:secret@host/1/orders", "credentials"),
            ("https:///1/orders", "host"),
            ("https://host:port/1/orders", "host"),
            ("https://sqs.eu-west-1.amazonaws.com/12/orders", "12 digits"),
            ("https://host//orders", "account"),
            ("https://host/1/", "empty"),
            ("https://host/1/or.ders", "'.'"),
        ] {
            let error = given.parse::<QueueRef>().unwrap_err().to_string();
            assert!(error.contains(what), "{given}: {error}");
        }
    }

    // SPEC 1.1
    #[test]
    fn an_arn_says_region_account_and_name() {
        let queue = parsed("arn:aws-cn:sqs:cn-north-1:123456789012:orders");
        assert_eq!(queue.region(), Some("cn-north-1"));
        assert_eq!(queue.account(), Some("123456789012"));
        assert_eq!(queue.name().as_str(), "orders");
        assert_eq!(
            queue.to_string(),
            "arn:aws-cn:sqs:cn-north-1:123456789012:orders"
        );
    }

    // SPEC 1.1
    #[test]
    fn an_arn_that_is_no_queues_is_refused_with_what_is_wrong() {
        for (given, what) in [
            ("arn:aws:sqs:eu-west-1:orders", "six parts"),
            ("arn:aws:sqs:eu-west-1:123456789012:a:b", "six parts"),
            ("arn:aws", "six parts"),
            ("arn::sqs:eu-west-1:123456789012:orders", "partition"),
            ("arn:aws:sqs::123456789012:orders", "region"),
            ("arn:aws:sqs:eu-west-1:1234:orders", "12 digits"),
            ("arn:aws:sqs:eu-west-1:123456789012:", "empty"),
            ("arn:aws:sqs:eu-west-1:123456789012:or ders", "' '"),
            ("arn:aws:sns:eu-west-1:123456789012:orders", "topic"),
            ("arn:aws:lambda:eu-west-1:123456789012:function:f", "lambda"),
        ] {
            let error = given.parse::<QueueRef>().unwrap_err().to_string();
            assert!(error.contains(what), "{given}: {error}");
        }
    }
}
