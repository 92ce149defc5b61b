//! The attributes of a topic that its owner may set, and what they may be.

use super::Pairs;
use crate::local::sns::limits;
use crate::local::sns::refusal::Refusal;

/// For which endpoints, and how, a topic may log deliveries. Kept and given back: nothing is logged.
const FEEDBACK_ENDPOINTS: &[&str] = &["HTTP", "Firehose", "Lambda", "Application", "SQS"];
const FEEDBACK: &[&str] = &[
    "SuccessFeedbackRoleArn",
    "SuccessFeedbackSampleRate",
    "FailureFeedbackRoleArn",
];

/// What an attribute is unless it is set.
pub(super) fn default_of(name: &str) -> Option<&'static str> {
    match name {
        "FifoTopic" | "ContentBasedDeduplication" => Some("false"),
        "FifoThroughputScope" => Some("Topic"),
        "SignatureVersion" => Some("1"),
        "TracingConfig" => Some("PassThrough"),
        "DisplayName" => Some(""),
        _ => None,
    }
}

/// Sets one attribute of a topic that is FIFO or is not. An empty value takes away one that can be
/// absent. `FifoTopic` is for the one who makes the topic to look at.
///
/// # Errors
/// `InvalidParameter` for a name nobody knows, with `unknown` for its message, and for a value that
/// SNS would not take.
pub(super) fn set(
    settings: &mut Pairs,
    fifo: bool,
    name: &str,
    value: &str,
    unknown: &str,
) -> Result<(), Refusal> {
    let invalid = |reason: &str| {
        Err(Refusal::invalid(format!(
            "Attributes Reason: {name}: Invalid value [{value}]. {reason}"
        )))
    };
    match name {
        "ContentBasedDeduplication" | "FifoThroughputScope" | "ArchivePolicy" if !fifo => {
            return Err(Refusal::invalid(unknown));
        }
        "ContentBasedDeduplication" if !matches!(value, "true" | "false") => {
            return invalid("Must be true or false.");
        }
        "FifoThroughputScope" if !matches!(value, "Topic" | "MessageGroup") => {
            return invalid("Must be Topic or MessageGroup.");
        }
        "SignatureVersion" if !matches!(value, "1" | "2") => return invalid("Must be 1 or 2."),
        "TracingConfig" if !matches!(value, "PassThrough" | "Active") => {
            return invalid("Must be PassThrough or Active.");
        }
        "DisplayName" if value.chars().count() > limits::LINE_CHARS => {
            return invalid("Must have at most 100 characters.");
        }
        "Policy" | "DeliveryPolicy" | "ArchivePolicy"
            if !value.is_empty() && !is_json_object(value) =>
        {
            return invalid("Must be a JSON object.");
        }
        "ContentBasedDeduplication"
        | "FifoThroughputScope"
        | "SignatureVersion"
        | "TracingConfig"
        | "DisplayName"
        | "Policy"
        | "DeliveryPolicy"
        | "ArchivePolicy"
        | "KmsMasterKeyId" => {}
        _ if is_feedback(name) => {}
        _ => return Err(Refusal::invalid(unknown)),
    }
    if value.is_empty() {
        settings.remove(name);
    } else {
        settings.insert(name.to_owned(), value.to_owned());
    }
    Ok(())
}

fn is_feedback(name: &str) -> bool {
    FEEDBACK_ENDPOINTS.iter().any(|endpoint| {
        name.strip_prefix(endpoint)
            .is_some_and(|rest| FEEDBACK.contains(&rest))
    })
}

fn is_json_object(text: &str) -> bool {
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).is_ok()
}
