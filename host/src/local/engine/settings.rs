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
    /// What a FIFO queue has beside; nothing in a standard queue. It is decided when the queue is
    /// made.
    pub(crate) fifo: Option<Fifo>,
    /// Kept and given back; SNS asks it, no client of the queue is kept out by it.
    pub(super) policy: Option<String>,
    /// The three of encryption are kept and given back: nothing here leaves the process's memory.
    kms_key: Option<String>,
    kms_reuse: u32,
    managed_sse: bool,
}

/// The settings of a FIFO queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fifo {
    /// A message sent without a deduplication id is known by its body.
    pub(crate) content_based: bool,
    /// Where a deduplication id counts.
    pub(crate) scope: Scope,
    /// Kept and given back: nothing is throttled here.
    limit: Limit,
}

/// Where a repetition is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scope {
    #[default]
    Queue,
    MessageGroup,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Limit {
    #[default]
    PerQueue,
    PerMessageGroupId,
}

const SCOPES: [(&str, Scope); 2] = [
    ("queue", Scope::Queue),
    ("messageGroup", Scope::MessageGroup),
];
const LIMITS: [(&str, Limit); 2] = [
    ("perQueue", Limit::PerQueue),
    ("perMessageGroupId", Limit::PerMessageGroupId),
];

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
            fifo: None,
            policy: None,
            kms_key: None,
            kms_reuse: limits::DEFAULT_KMS_REUSE,
            managed_sse: true,
        }
    }
}

impl Settings {
    /// What a new queue of this kind has.
    pub(crate) fn of_kind(fifo: bool) -> Self {
        Self {
            fifo: fifo.then(Fifo::default),
            ..Self::default()
        }
    }

    /// Whether attributes that were set one by one go together.
    ///
    /// # Errors
    /// `InvalidAttributeName` for two kinds of encryption at once, `InvalidAttributeValue` for a
    /// throughput limit that the deduplication scope does not allow.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.kms_key.is_some() && self.managed_sse {
            let message = "A queue has one kind of server-side encryption at a time: \
                           either KmsMasterKeyId or SqsManagedSseEnabled.";
            return Err(Refusal::new(Kind::InvalidAttributeName, message));
        }
        match &self.fifo {
            Some(fifo) if fifo.limit == Limit::PerMessageGroupId && fifo.scope == Scope::Queue => {
                Err(invalid(
                    "FifoThroughputLimit",
                    "perMessageGroupId",
                    "Only with a DeduplicationScope of messageGroup",
                ))
            }
            _ => Ok(()),
        }
    }

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
            "KmsMasterKeyId" => {
                self.kms_key = optional(value, |text| Ok(text.to_owned()))?;
                // A key takes the place of the encryption every queue has otherwise.
                self.managed_sse &= self.kms_key.is_none();
            }
            "KmsDataKeyReusePeriodSeconds" => {
                self.kms_reuse = number(name, value, &limits::KMS_REUSE_SECONDS)?;
            }
            "SqsManagedSseEnabled" => self.managed_sse = boolean(name, value)?,
            _ => return self.set_fifo(name, value),
        }
        Ok(())
    }

    /// Sets an attribute that only FIFO queues have.
    fn set_fifo(&mut self, name: &str, value: &str) -> Result<(), Refusal> {
        let Some(fifo) = &mut self.fifo else {
            return Err(match name {
                "DeduplicationScope" | "FifoThroughputLimit" => Refusal::new(
                    Kind::InvalidAttributeName,
                    format!("{name} can be set only where FifoQueue is true."),
                ),
                _ => unknown(name),
            });
        };
        match name {
            "FifoQueue" if value == "true" => {}
            "FifoQueue" => {
                return Err(invalid(
                    name,
                    value,
                    "The kind of a queue cannot be changed",
                ));
            }
            "ContentBasedDeduplication" => fifo.content_based = boolean(name, value)?,
            "DeduplicationScope" => fifo.scope = one_of(name, value, &SCOPES)?,
            "FifoThroughputLimit" => fifo.limit = one_of(name, value, &LIMITS)?,
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
            _ => return self.get_fifo(name),
        })
    }

    fn get_fifo(&self, name: &str) -> Result<Option<String>, Refusal> {
        let fifo = self.fifo.as_ref();
        Ok(match name {
            "FifoQueue" => fifo.map(|_| true.to_string()),
            "ContentBasedDeduplication" => fifo.map(|fifo| fifo.content_based.to_string()),
            "DeduplicationScope" => fifo.map(|fifo| name_of(fifo.scope, &SCOPES)),
            "FifoThroughputLimit" => fifo.map(|fifo| name_of(fifo.limit, &LIMITS)),
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

fn one_of<T: Copy>(name: &str, value: &str, names: &[(&str, T)]) -> Result<T, Refusal> {
    let known = names.iter().find(|(known, _)| *known == value);
    known.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<_> = names.iter().map(|(known, _)| *known).collect();
        invalid(name, value, &format!("Must be {}", known.join(" or ")))
    })
}

fn name_of<T: PartialEq>(value: T, names: &[(&str, T)]) -> String {
    let known = names.iter().find(|(_, known)| *known == value);
    known
        .map(|(name, _)| (*name).to_owned())
        .unwrap_or_default()
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
    fn the_attributes_of_a_fifo_queue_are_unknown_to_a_standard_queue() {
        let table = [
            ("FifoQueue", "true", true),
            ("FifoQueue", "false", false),
            ("ContentBasedDeduplication", "true", true),
            ("ContentBasedDeduplication", "yes", false),
            ("DeduplicationScope", "messageGroup", true),
            ("DeduplicationScope", "group", false),
            ("FifoThroughputLimit", "perQueue", true),
            ("FifoThroughputLimit", "", false),
        ];
        for (name, value, taken) in table {
            let refused = Settings::of_kind(false).set(name, value).unwrap_err();
            assert_eq!(refused.kind, Kind::InvalidAttributeName, "{name}");
            assert_eq!(Settings::of_kind(false).get(name), Ok(None), "{name}");
            let mut fifo = Settings::of_kind(true);
            assert_eq!(fifo.set(name, value).is_ok(), taken, "{name}={value}");
            if taken {
                assert_eq!(fifo.get(name), Ok(Some(value.to_owned())));
            }
        }
        let unknown = Settings::of_kind(true).set("Visibility", "1").unwrap_err();
        assert_eq!(unknown.kind, Kind::InvalidAttributeName);
    }

    #[test]
    fn a_limit_per_group_goes_with_deduplication_per_group_only() {
        let mut settings = Settings::of_kind(true);
        settings
            .set("FifoThroughputLimit", "perMessageGroupId")
            .unwrap();
        assert_eq!(
            settings.check().unwrap_err().kind,
            Kind::InvalidAttributeValue
        );
        settings.set("DeduplicationScope", "messageGroup").unwrap();
        assert_eq!(settings.check(), Ok(()));
    }

    #[test]
    fn a_queue_has_one_kind_of_encryption_at_a_time() {
        let mut settings = Settings::default();
        settings.set("KmsMasterKeyId", "alias/mine").unwrap();
        let managed = settings.get("SqsManagedSseEnabled").unwrap();
        assert_eq!(managed.as_deref(), Some("false"));
        assert_eq!(settings.check(), Ok(()));
        settings.set("SqsManagedSseEnabled", "true").unwrap();
        assert_eq!(
            settings.check().unwrap_err().kind,
            Kind::InvalidAttributeName
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
