//! Dead-letter policies: where messages go that were received too often, and who may send them there.

use super::limits;
use super::refusal::{Refusal, between};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The ARN of the queue `name`.
pub(crate) fn queue_arn(name: &str) -> String {
    format!("arn:aws:sqs:{}:{}:{name}", limits::REGION, limits::ACCOUNT)
}

/// The queue's name in an SQS ARN. Region and account are not looked at, so that a policy written
/// for an account on AWS works here as it stands.
pub(crate) fn queue_of_arn(arn: &str) -> Option<&str> {
    let mut parts = arn.split(':');
    let mut next = || parts.next();
    let (scheme, _partition, service) = (next()?, next()?, next()?);
    let (_region, _account, name) = (next()?, next()?, next()?);
    let whole = scheme == "arn" && service == "sqs" && !name.is_empty() && next().is_none();
    whole.then_some(name)
}

/// A queue's `RedrivePolicy`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RedrivePolicy {
    /// The ARN as it was given.
    #[serde(rename = "deadLetterTargetArn")]
    target_arn: String,
    /// How often a message is received before the next attempt moves it.
    #[serde(rename = "maxReceiveCount")]
    pub(crate) max_receive_count: u32,
}

impl RedrivePolicy {
    /// Reads the JSON of the attribute. Whether the target exists is for the caller to see.
    pub(crate) fn parse(text: &str) -> Result<Self, Refusal> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire {
            dead_letter_target_arn: Option<String>,
            max_receive_count: Option<Value>,
        }
        let invalid = |reason: String| Refusal::value("RedrivePolicy", text, reason);
        let wire: Wire = serde_json::from_str(text)
            .map_err(|e| invalid(format!("Not a policy in JSON: {e}")))?;
        let target_arn = wire
            .dead_letter_target_arn
            .ok_or_else(|| invalid("deadLetterTargetArn is missing".to_owned()))?;
        if queue_of_arn(&target_arn).is_none() {
            return Err(invalid(
                "deadLetterTargetArn is not the ARN of a queue".to_owned(),
            ));
        }
        // Consoles and templates write the count as a string, SDK users as a number: SQS takes both.
        let count = match wire.max_receive_count {
            Some(Value::Number(number)) => number.as_u64().and_then(|n| u32::try_from(n).ok()),
            Some(Value::String(digits)) => digits.parse().ok(),
            _ => None,
        };
        match count {
            Some(max_receive_count) if limits::MAX_RECEIVE_COUNT.contains(&max_receive_count) => {
                Ok(Self {
                    target_arn,
                    max_receive_count,
                })
            }
            _ => Err(invalid(format!(
                "maxReceiveCount: {}",
                between(&limits::MAX_RECEIVE_COUNT)
            ))),
        }
    }

    /// The name of the dead-letter queue.
    pub(crate) fn target(&self) -> &str {
        queue_of_arn(&self.target_arn).unwrap_or_default()
    }

    /// The attribute's JSON.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A dead-letter queue's `RedriveAllowPolicy`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AllowPolicy {
    #[serde(rename = "redrivePermission")]
    permission: Permission,
    #[serde(
        rename = "sourceQueueArns",
        default,
        skip_serializing_if = "Vec::is_empty"
    )]
    sources: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Permission {
    AllowAll,
    DenyAll,
    ByQueue,
}

impl AllowPolicy {
    /// Reads the JSON of the attribute.
    pub(crate) fn parse(text: &str) -> Result<Self, Refusal> {
        let invalid = |reason: String| Refusal::value("RedriveAllowPolicy", text, reason);
        let policy: Self = serde_json::from_str(text)
            .map_err(|e| invalid(format!("Not a policy in JSON: {e}")))?;
        let (by_queue, sources) = (
            policy.permission == Permission::ByQueue,
            policy.sources.len(),
        );
        if by_queue != (1..=10).contains(&sources) {
            return Err(invalid(
                "sourceQueueArns: 1 to 10 with byQueue, none otherwise".to_owned(),
            ));
        }
        Ok(policy)
    }

    /// Whether the queue `source` may send its dead letters here.
    pub(crate) fn allows(&self, source: &str) -> bool {
        match self.permission {
            Permission::AllowAll => true,
            Permission::DenyAll => false,
            Permission::ByQueue => self
                .sources
                .iter()
                .any(|arn| queue_of_arn(arn) == Some(source)),
        }
    }

    /// The attribute's JSON.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_receive_count_is_read_from_a_number_and_from_a_string() {
        for count in ["3", "\"3\""] {
            let text = format!(
                r#"{{"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:1:dead","maxReceiveCount":{count}}}"#
            );
            let policy = RedrivePolicy::parse(&text).unwrap();
            assert_eq!((policy.target(), policy.max_receive_count), ("dead", 3));
        }
    }

    #[test]
    fn a_policy_that_cannot_work_is_refused() {
        let arn = queue_arn("dead");
        let table = [
            "".to_owned(),
            "[]".to_owned(),
            r#"{"maxReceiveCount":3}"#.to_owned(),
            format!(r#"{{"deadLetterTargetArn":"{arn}"}}"#),
            format!(r#"{{"deadLetterTargetArn":"{arn}","maxReceiveCount":0}}"#),
            format!(r#"{{"deadLetterTargetArn":"{arn}","maxReceiveCount":1001}}"#),
            format!(r#"{{"deadLetterTargetArn":"{arn}","maxReceiveCount":1.5}}"#),
            r#"{"deadLetterTargetArn":"dead","maxReceiveCount":3}"#.to_owned(),
            r#"{"deadLetterTargetArn":"arn:aws:sns:us-east-1:0:dead","maxReceiveCount":3}"#
                .to_owned(),
        ];
        for text in table {
            assert!(RedrivePolicy::parse(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_allow_policy_names_who_may_send_dead_letters() {
        let by_queue = format!(
            r#"{{"redrivePermission":"byQueue","sourceQueueArns":["{}"]}}"#,
            queue_arn("a")
        );
        let policy = AllowPolicy::parse(&by_queue).unwrap();
        assert!(policy.allows("a") && !policy.allows("b"));
        assert_eq!(policy.to_json(), by_queue);
        assert!(
            AllowPolicy::parse(r#"{"redrivePermission":"allowAll"}"#)
                .unwrap()
                .allows("b")
        );
        assert!(
            !AllowPolicy::parse(r#"{"redrivePermission":"denyAll"}"#)
                .unwrap()
                .allows("a")
        );
        assert!(AllowPolicy::parse(r#"{"redrivePermission":"byQueue"}"#).is_err());
    }
}
