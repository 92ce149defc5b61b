//! From a text to the queue that it names.

use std::str::FromStr;

use super::{QueueName, QueueRef, QueueRefError, is_name_char};

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
    check_place(partition, region, account).map_err(wrong)?;
    Ok(QueueRef::Arn {
        partition: partition.to_owned(),
        region: region.to_owned(),
        account: account.to_owned(),
        name: QueueName::exact(name)?,
    })
}

/// Whether a text has the letters of a region (`eu-west-1`), or of a partition. Which regions
/// there are is AWS's to say.
pub(in crate::config) fn is_region(text: &str) -> bool {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(word)
}

/// The place that an ARN names, whatever is there; what is wrong with it.
pub(in crate::config) fn check_place(
    partition: &str,
    region: &str,
    account: &str,
) -> Result<(), &'static str> {
    if !is_region(partition) {
        Err("the partition is not one")
    } else if !is_region(region) {
        Err("the region is not one")
    } else if !is_account(account) {
        Err("the account is not 12 digits")
    } else {
        Ok(())
    }
}

/// Whether a text has the form of an account's number.
pub(in crate::config) fn is_account(text: &str) -> bool {
    text.len() == 12 && text.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> QueueRef {
        text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
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
