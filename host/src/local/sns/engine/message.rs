//! A message as its publisher wrote it, and what SNS demands of one.

use super::attributes;
use super::topic::Topic;
use crate::local::engine::attribute::{self, Attributes};
use crate::local::engine::message::check_id;
use crate::local::sns::limits;
use crate::local::sns::refusal::Refusal;
use serde_json::{Map, Value};

/// What a publisher asks to have published.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) message: String,
    /// `json` if the message has a text for each protocol.
    pub(crate) structure: Option<String>,
    pub(crate) subject: Option<String>,
    pub(crate) attributes: Attributes,
    pub(crate) group: Option<String>,
    pub(crate) deduplication: Option<String>,
    /// The X-Ray trace header of the request.
    pub(crate) trace_header: Option<String>,
}

impl Draft {
    /// Bytes that count against the limits: the message and its attributes.
    pub(crate) fn size(&self) -> usize {
        self.message.len() + attribute::size(&self.attributes)
    }

    /// The text for queues.
    ///
    /// # Errors
    /// `InvalidParameter` for a structure that is none.
    pub(super) fn text(&self) -> Result<String, Refusal> {
        let structure = |what: &str| Refusal::invalid(format!("Message Structure - {what}"));
        match self.structure.as_deref() {
            None => Ok(self.message.clone()),
            Some("json") => {
                let mut texts: Map<String, Value> = serde_json::from_str(&self.message)
                    .map_err(|_| structure("JSON message body failed to parse"))?;
                // A text that is none counts as not there.
                let mut take = |protocol: &str| match texts.remove(protocol) {
                    Some(Value::String(text)) => Some(text),
                    _ => None,
                };
                let default = take("default")
                    .ok_or_else(|| structure("No default entry in JSON message body"))?;
                Ok(take("sqs").unwrap_or(default))
            }
            Some(_) => Err(Refusal::invalid("MessageStructure")),
        }
    }

    /// What SNS refuses a whole batch for, if one entry of it has it.
    ///
    /// # Errors
    /// `ParameterValueInvalid` for attributes, else `InvalidParameter`.
    pub(super) fn check_call(&self, fifo: bool, topic: &Topic) -> Result<(), Refusal> {
        attributes::check(&self.attributes)?;
        if fifo && self.group.is_none() {
            return Err(Refusal::invalid(
                "The MessageGroupId parameter is required for FIFO topics",
            ));
        }
        if fifo && self.deduplication.is_none() && !topic.deduplicates_by_content() {
            return Err(Refusal::invalid(
                "The topic should either have ContentBasedDeduplication enabled \
                 or MessageDeduplicationId provided explicitly",
            ));
        }
        self.text().map(drop)
    }

    /// What SNS refuses the message alone for.
    ///
    /// # Errors
    /// `InvalidParameter`.
    pub(super) fn check_message(&self, fifo: bool) -> Result<(), Refusal> {
        if self.message.is_empty() {
            return Err(Refusal::invalid("Empty message"));
        }
        if self.size() > limits::MESSAGE_BYTES {
            return Err(Refusal::invalid("Message too long"));
        }
        if !self.subject.as_deref().is_none_or(is_line) {
            return Err(Refusal::invalid("Subject"));
        }
        if !fifo && self.deduplication.is_some() {
            return Err(Refusal::invalid(
                "MessageDeduplicationId Reason: The request includes MessageDeduplicationId \
                 parameter that is not valid for this topic type",
            ));
        }
        let ids = [
            ("MessageGroupId", &self.group),
            ("MessageDeduplicationId", &self.deduplication),
        ];
        for (parameter, id) in ids {
            let id = id.as_deref();
            if id.is_some_and(|id| check_id(parameter, id).is_err()) {
                return Err(Refusal::invalid(format!(
                    "{parameter} Reason: Must be 1 to {} letters, digits and ASCII punctuation",
                    limits::ID_CHARS
                )));
            }
        }
        Ok(())
    }
}

/// One line of text, and not a long one.
fn is_line(subject: &str) -> bool {
    let chars = subject.chars().count();
    (1..=limits::LINE_CHARS).contains(&chars) && !subject.chars().any(char::is_control)
}
