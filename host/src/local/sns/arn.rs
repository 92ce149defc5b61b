//! The ARNs of topics and subscriptions.
//!
//! Topics and queues are known by their names alone. Region and account of an ARN are not looked at,
//! so that one written for an account on AWS works here as it stands.

use super::refusal::Refusal;
use crate::local::engine::limits;

/// The ARN of the topic `name`.
pub(crate) fn topic(name: &str) -> String {
    format!("arn:aws:sns:{}:{}:{name}", limits::REGION, limits::ACCOUNT)
}

/// The ARN of the topic's subscription `id`.
pub(crate) fn subscription(topic_name: &str, id: &str) -> String {
    format!("{}:{id}", topic(topic_name))
}

/// The topic's name in an ARN that came as the parameter `parameter`.
///
/// # Errors
/// `InvalidParameter` for what is not the ARN of a topic.
pub(crate) fn topic_name<'a>(parameter: &str, arn: &'a str) -> Result<&'a str, Refusal> {
    let parts = parts(parameter, arn)?;
    match parts[..] {
        ["arn", _, "sns", _, _, name] if !name.is_empty() => Ok(name),
        _ => Err(Refusal::invalid(format!(
            "{parameter} Reason: \"{arn}\" is not the ARN of a topic"
        ))),
    }
}

/// The names of a topic and of its subscription in the subscription's ARN.
///
/// # Errors
/// `InvalidParameter` for what is not the ARN of a subscription.
pub(crate) fn subscription_ids(arn: &str) -> Result<(&str, &str), Refusal> {
    let parts = parts("SubscriptionArn", arn)?;
    match parts[..] {
        ["arn", _, "sns", _, _, topic, id] if !topic.is_empty() && !id.is_empty() => {
            Ok((topic, id))
        }
        _ => Err(Refusal::invalid(format!(
            "SubscriptionArn Reason: \"{arn}\" is not the ARN of a subscription"
        ))),
    }
}

/// The queue's name in the ARN of an SQS queue.
pub(crate) fn queue_name(arn: &str) -> Option<&str> {
    match arn.split(':').collect::<Vec<_>>()[..] {
        ["arn", _, "sqs", _, _, name] if !name.is_empty() => Some(name),
        _ => None,
    }
}

/// Whether a queue or a topic of this name or ARN is a FIFO one.
pub(crate) fn is_fifo(name: &str) -> bool {
    name.ends_with(".fifo")
}

fn parts<'a>(parameter: &str, arn: &'a str) -> Result<Vec<&'a str>, Refusal> {
    let parts: Vec<_> = arn.split(':').collect();
    if parts.len() >= 6 {
        return Ok(parts);
    }
    Err(Refusal::invalid(format!(
        "{parameter} Reason: An ARN must have at least 6 elements, not {}",
        parts.len()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_known_by_its_name_whatever_region_and_account_its_arn_has() {
        let name = |arn| topic_name("TopicArn", arn);
        let own = topic("news");
        assert_eq!(name(&own).unwrap(), "news");
        assert_eq!(
            name("arn:aws-cn:sns:cn-north-1:123456789012:news").unwrap(),
            "news"
        );
        for bad in [
            "",
            "news",
            "arn:aws:sns:us-east-1:0:",
            "arn:aws:sqs:us-east-1:0:q",
            "arn:aws:sns:us-east-1:0:news:id",
        ] {
            assert!(name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_subscriptions_arn_is_its_topics_with_an_id_behind() {
        let arn = subscription("news", "7c1e");
        assert_eq!(subscription_ids(&arn).unwrap(), ("news", "7c1e"));
        assert!(subscription_ids(&topic("news")).is_err());
    }
}
