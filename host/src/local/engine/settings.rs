//! The attributes of a queue that its owner may set: what they may be, and what they are unless set.

use super::limits;
use super::redrive::{AllowPolicy, RedrivePolicy};
use super::refusal::{Kind, Refusal, between};
use std::ops::RangeInclusive;

/// Names of the settable attributes, in the order a listing gives them.
pub(crate) const NAMES: &[&str] = &[
    "VisibilityTimeout",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "DelaySeconds",
    "ReceiveMessageWaitTimeSeconds",
    "Policy",
    "RedrivePolicy",
    "RedriveAllowPolicy",
    "KmsMasterKeyId",
    "KmsDataKeyReusePeriodSeconds",
    "SqsManagedSseEnabled",
];

/// Attributes that only FIFO queues have.
const FIFO_NAMES: &[&str] = &[
    "FifoQueue",
    "ContentBasedDeduplication",
    "DeduplicationScope",
    "FifoThroughputLimit",
];

/// What the owner of a queue decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Seconds a received message is hidden, unless the receive says otherwise.
    pub(crate) visibility: u32,
    /// Bytes a message may have, attributes included.
    pub(crate) message_bytes: u32,
    /// Seconds a message is kept from its sending on.
    pub(crate) retention: u32,
    /// Seconds a message is hidden after sending, unless it says otherwise itself.
    pub(crate) delay: u32,
    /// Seconds a receive waits for a message, unless it says otherwise itself.
    pub(crate) wait: u32,
    /// Where messages go that were received too often.
    pub(crate) redrive: Option<RedrivePolicy>,
    /// Which queues may name this one as their dead-letter queue.
    pub(crate) redrive_allow: Option<AllowPolicy>,
    /// Kept and given back; nobody is kept out here.
    policy: Option<String>,
    /// The three of encryption are kept and given back: nothing here leaves the process's memory.
    kms_key: Option<String>,
    kms_reuse: u32,
    managed_sse: bool,
}

impl Default for Settings {
    // SPEC 10.2: a new queue has the defaults of SQS, not handier ones.
    fn default() -> Self {
        Self {
            visibility: limits::DEFAULT_VISIBILITY,
            message_bytes: *limits::MESSAGE_BYTES.end(),
            retention: limits::DEFAULT_RETENTION,
            delay: 0,
            wait: 0,
            redrive: None,
            redrive_allow: None,
            policy: None,
            kms_key: None,
            kms_reuse: limits::DEFAULT_KMS_REUSE,
            managed_sse: true,
        }
    }
}

impl Settings {
    /// Sets one attribute. An empty value takes away an attribute that can be absent.
    ///
    /// # Errors
    /// `InvalidAttributeName` for a name nobody knows, `InvalidAttributeValue` for a number out of
    /// range, `InvalidParameterValue` for a policy that cannot be read.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), Refusal> {
        match name {
            "VisibilityTimeout" => {
                self.visibility = number(name, value, &limits::VISIBILITY_SECONDS)?
            }
            "MaximumMessageSize" => {
                self.message_bytes = number(name, value, &limits::MESSAGE_BYTES)?
            }
            "MessageRetentionPeriod" => {
                self.retention = number(name, value, &limits::RETENTION_SECONDS)?;
            }
            "DelaySeconds" => self.delay = number(name, value, &limits::DELAY_SECONDS)?,
            "ReceiveMessageWaitTimeSeconds" => {
                self.wait = number(name, value, &limits::WAIT_SECONDS)?
            }
            "Policy" => self.policy = optional(value, |text| json(name, text))?,
            "RedrivePolicy" => self.redrive = optional(value, RedrivePolicy::parse)?,
            "RedriveAllowPolicy" => self.redrive_allow = optional(value, AllowPolicy::parse)?,
            "KmsMasterKeyId" => self.kms_key = optional(value, |text| Ok(text.to_owned()))?,
            "KmsDataKeyReusePeriodSeconds" => {
                self.kms_reuse = number(name, value, &limits::KMS_REUSE_SECONDS)?;
            }
            "SqsManagedSseEnabled" => self.managed_sse = boolean(name, value)?,
            _ if FIFO_NAMES.contains(&name) => {
                return Err(Refusal::new(
                    Kind::UnsupportedOperation,
                    format!("Attribute {name}: this server has no FIFO queues."),
                ));
            }
            _ => return Err(unknown(name)),
        }
        Ok(())
    }

    /// The value of an attribute, or nothing if it is not set.
    ///
    /// # Errors
    /// `InvalidAttributeName` for a name nobody knows.
    pub(crate) fn get(&self, name: &str) -> Result<Option<String>, Refusal> {
        Ok(match name {
            "VisibilityTimeout" => Some(self.visibility.to_string()),
            "MaximumMessageSize" => Some(self.message_bytes.to_string()),
            "MessageRetentionPeriod" => Some(self.retention.to_string()),
            "DelaySeconds" => Some(self.delay.to_string()),
            "ReceiveMessageWaitTimeSeconds" => Some(self.wait.to_string()),
            "Policy" => self.policy.clone(),
            "RedrivePolicy" => self.redrive.as_ref().map(RedrivePolicy::to_json),
            "RedriveAllowPolicy" => self.redrive_allow.as_ref().map(AllowPolicy::to_json),
            "KmsMasterKeyId" => self.kms_key.clone(),
            "KmsDataKeyReusePeriodSeconds" => {
                self.kms_key.as_ref().map(|_| self.kms_reuse.to_string())
            }
            "SqsManagedSseEnabled" => Some(self.managed_sse.to_string()),
            _ if FIFO_NAMES.contains(&name) => None,
            _ => return Err(unknown(name)),
        })
    }
}

fn unknown(name: &str) -> Refusal {
    Refusal::new(
        Kind::InvalidAttributeName,
        format!("Unknown Attribute {name}."),
    )
}

fn number(name: &str, value: &str, range: &RangeInclusive<u32>) -> Result<u32, Refusal> {
    match value.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(invalid(name, value, &between(range))),
    }
}

fn boolean(name: &str, value: &str) -> Result<bool, Refusal> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(invalid(name, value, "Must be true or false")),
    }
}

fn optional<T>(
    value: &str,
    parse: impl FnOnce(&str) -> Result<T, Refusal>,
) -> Result<Option<T>, Refusal> {
    if value.is_empty() {
        Ok(None)
    } else {
        parse(value).map(Some)
    }
}

fn json(name: &str, text: &str) -> Result<String, Refusal> {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(invalid(name, text, &format!("Not JSON: {error}"))),
    }
}

fn invalid(name: &str, value: &str, reason: &str) -> Refusal {
    Refusal::new(
        Kind::InvalidAttributeValue,
        format!("Invalid value \"{value}\" for the attribute {name}. Reason: {reason}."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    // SPEC 10.2
    #[test]
    fn a_new_queue_has_the_defaults_of_sqs() {
        let settings = Settings::default();
        let expected = [
            ("VisibilityTimeout", Some("30")),
            ("MaximumMessageSize", Some("1048576")),
            ("MessageRetentionPeriod", Some("345600")),
            ("DelaySeconds", Some("0")),
            ("ReceiveMessageWaitTimeSeconds", Some("0")),
            ("RedrivePolicy", None),
        ];
        for (name, value) in expected {
            assert_eq!(settings.get(name).unwrap().as_deref(), value, "{name}");
        }
    }

    #[test]
    fn a_number_is_taken_at_the_ends_of_its_range_and_refused_beyond() {
        let table = [
            ("VisibilityTimeout", "0", true),
            ("VisibilityTimeout", "43200", true),
            ("VisibilityTimeout", "43201", false),
            ("VisibilityTimeout", "-1", false),
            ("DelaySeconds", "900", true),
            ("DelaySeconds", "901", false),
            ("MaximumMessageSize", "1023", false),
            ("MaximumMessageSize", "1024", true),
            ("MaximumMessageSize", "1048577", false),
            ("MessageRetentionPeriod", "59", false),
            ("MessageRetentionPeriod", "60", true),
            ("ReceiveMessageWaitTimeSeconds", "21", false),
            ("ReceiveMessageWaitTimeSeconds", "two", false),
        ];
        for (name, value, taken) in table {
            let outcome = Settings::default().set(name, value);
            assert_eq!(outcome.is_ok(), taken, "{name}={value}");
            if let Err(refusal) = outcome {
                assert_eq!(refusal.kind, Kind::InvalidAttributeValue);
                assert!(refusal.message.contains(name) && refusal.message.contains(value));
            }
        }
    }

    #[test]
    fn an_unknown_attribute_and_a_fifo_attribute_are_told_apart() {
        let mut settings = Settings::default();
        let kind = |outcome: Result<(), Refusal>| outcome.unwrap_err().kind;
        assert_eq!(
            kind(settings.set("Visibility", "1")),
            Kind::InvalidAttributeName
        );
        assert_eq!(
            kind(settings.set("FifoQueue", "true")),
            Kind::UnsupportedOperation
        );
    }

    #[test]
    fn an_empty_value_takes_a_policy_away() {
        let mut settings = Settings::default();
        settings
            .set("Policy", r#"{"Version":"2012-10-17"}"#)
            .unwrap();
        assert!(settings.get("Policy").unwrap().is_some());
        settings.set("Policy", "").unwrap();
        assert_eq!(settings, Settings::default());
    }
}
