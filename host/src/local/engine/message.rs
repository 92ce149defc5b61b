//! A message: what its sender wrote, which never changes, and what the queue knows about it.

use super::attribute::{self, Attributes};
use super::digest;
use super::handle::Sequence;
use super::limits;
use super::refusal::{Kind, Refusal};
use super::snapshot::{shared_content, shared_text};
use super::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// What the sender wrote, checked, with its MD5 sums. Shared, so that a receive copies no body. A
/// file has what was written alone, and reading it checks and sums again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub(crate) struct Content {
    /// The text.
    pub(crate) body: String,
    /// MD5 of the body in hex.
    #[serde(skip_serializing)]
    pub(crate) body_md5: String,
    /// The sender's attributes.
    #[serde(skip_serializing_if = "Attributes::is_empty")]
    pub(crate) attributes: Attributes,
    /// MD5 of the attributes in hex, if there are any.
    #[serde(skip_serializing)]
    pub(crate) attributes_md5: Option<String>,
    /// The X-Ray trace header sent along.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trace_header: Option<String>,
    /// MD5 of the system attributes in hex, if there are any.
    #[serde(skip_serializing)]
    pub(crate) system_md5: Option<String>,
    /// In a FIFO queue what its order is kept within; on a standard queue it says whose message it
    /// is, for fair queues, and changes nothing here.
    #[serde(with = "shared_text", skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<Arc<str>>,
}

/// A content as a file has it.
#[derive(Deserialize)]
struct Written {
    body: String,
    #[serde(default)]
    attributes: Attributes,
    trace_header: Option<String>,
    group: Option<String>,
}

impl TryFrom<Written> for Content {
    type Error = Refusal;

    fn try_from(written: Written) -> Result<Self, Refusal> {
        Self::new(
            written.body,
            written.attributes,
            written.trace_header,
            written.group,
        )
    }
}

impl Content {
    /// Checks what a sender wrote, as far as that can be done without knowing the queue.
    ///
    /// # Errors
    /// `MissingParameter` for an empty body, `InvalidMessageContents` for characters outside XML 1.0,
    /// `InvalidParameterValue` for attributes or a group id that SQS would not take.
    pub(crate) fn new(
        body: String,
        attributes: Attributes,
        trace_header: Option<String>,
        group: Option<String>,
    ) -> Result<Self, Refusal> {
        if body.is_empty() {
            return Err(Refusal::missing("MessageBody"));
        }
        attribute::check_text(&body).map_err(|c| {
            let message = format!(
                "The message body has the character U+{:04X}, which is not allowed. \
                 Allowed: U+0009, U+000A, U+000D, U+0020 to U+D7FF, U+E000 to U+FFFD, U+10000 to U+10FFFF.",
                u32::from(c)
            );
            Refusal::new(Kind::InvalidMessageContents, message)
        })?;
        attribute::check(&attributes)?;
        if let Some(group) = &group {
            check_id("MessageGroupId", group)?;
        }
        Ok(Self {
            body_md5: digest::md5_hex(body.as_bytes()),
            attributes_md5: digest::md5_of_attributes(&attributes),
            system_md5: trace_header
                .as_deref()
                .and_then(digest::md5_of_trace_header),
            body,
            attributes,
            trace_header,
            group: group.map(Into::into),
        })
    }

    /// Bytes that count against the limits: the body and the sender's attributes.
    pub(crate) fn size(&self) -> usize {
        self.body.len() + attribute::size(&self.attributes)
    }
}

/// A message on its way into a queue, whoever sends it.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    /// What the sender wrote.
    pub(crate) content: Arc<Content>,
    /// Seconds it is hidden first, if not for as long as the queue says.
    pub(crate) delay: Option<u32>,
    /// What a FIFO queue knows a repetition by; a standard queue takes none.
    pub(crate) deduplication: Option<Arc<str>>,
}

impl Outgoing {
    /// A message without a delay of its own.
    ///
    /// # Errors
    /// `InvalidParameterValue` for a deduplication id that SQS would not take.
    pub(crate) fn new(content: Content, deduplication: Option<String>) -> Result<Self, Refusal> {
        if let Some(id) = &deduplication {
            check_id("MessageDeduplicationId", id)?;
        }
        Ok(Self {
            content: Arc::new(content),
            delay: None,
            deduplication: deduplication.map(Into::into),
        })
    }
}

/// What a sender is told of its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Receipt {
    /// The message's id; of a repetition that of the first one.
    pub(crate) id: MessageId,
    /// Its place in a FIFO queue.
    pub(crate) sequence_number: Option<SequenceNumber>,
}

/// A place in a FIFO queue as clients see it: 20 digits that rise with every message, with gaps, so
/// that nobody comes to rely on the next one's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct SequenceNumber(u64);

impl SequenceNumber {
    /// The smallest number of 20 digits.
    const FIRST: u64 = 10_000_000_000_000_000_000;
    const STEP: u64 = 256;

    /// The number of a message by its place.
    pub(crate) const fn of(sequence: Sequence) -> Self {
        Self(Self::FIRST.saturating_add(sequence.0.saturating_mul(Self::STEP)))
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:020}", self.0)
    }
}

/// Letters, digits and ASCII punctuation, 1 to 128 of them: so SQS wants ids that senders make up.
pub(crate) fn check_id(parameter: &str, id: &str) -> Result<(), Refusal> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b.is_ascii_punctuation();
    if (1..=limits::SENDERS_ID_CHARS).contains(&id.len()) && id.bytes().all(allowed) {
        return Ok(());
    }
    let reason = "Must be 1 to 128 letters, digits and ASCII punctuation";
    Err(Refusal::value(parameter, id, reason))
}

/// A random UUID, written as such.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct MessageId(u128);

impl MessageId {
    /// Makes 128 random bits a version 4 UUID.
    pub(crate) const fn from_random(bits: u128) -> Self {
        const VERSION: u128 = 0xF << 76;
        const VARIANT: u128 = 0x3 << 62;
        Self(bits & !VERSION & !VARIANT | 0x4 << 76 | 0x2 << 62)
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (a, b, c) = (self.0 >> 96, self.0 >> 80 & 0xFFFF, self.0 >> 64 & 0xFFFF);
        let (d, e) = (self.0 >> 48 & 0xFFFF, self.0 & 0xFFFF_FFFF_FFFF);
        write!(f, "{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
    }
}

impl From<MessageId> for String {
    fn from(id: MessageId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for MessageId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let bits = u128::from_str_radix(&text.replace('-', ""), 16).map(Self);
        match bits {
            Ok(id) if id.to_string() == text => Ok(id),
            _ => Err(format!("{text} is not the id of a message")),
        }
    }
}

/// A message that lies in a queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Message {
    /// Stays the same when the message is moved to a dead-letter queue.
    pub(crate) id: MessageId,
    /// What the sender wrote.
    #[serde(with = "shared_content")]
    pub(crate) content: Arc<Content>,
    /// When it was sent. A move to a dead-letter queue does not make it younger.
    pub(crate) sent: Time,
    /// How often it was received, in this queue and in those it was moved from.
    pub(crate) receives: u32,
    /// When it was received for the first time.
    pub(crate) first_received: Option<Time>,
    /// What a FIFO queue knows a repetition of it by.
    #[serde(with = "shared_text", default, skip_serializing_if = "Option::is_none")]
    pub(crate) deduplication: Option<Arc<str>>,
    /// Its place, in a FIFO queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sequence_number: Option<SequenceNumber>,
    /// The ARN of the queue it was moved from as a dead letter.
    #[serde(with = "shared_text", default, skip_serializing_if = "Option::is_none")]
    pub(crate) dead_letter_source: Option<Arc<str>>,
}

/// One delivery of a message.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    /// The message as it was at this receive, which is counted in it.
    pub(crate) message: Message,
    /// What the receiver settles it with.
    pub(crate) handle: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> Result<Content, Refusal> {
        Content::new(text.to_owned(), Attributes::new(), None, None)
    }

    #[test]
    fn a_body_of_xml_characters_is_taken_and_others_are_named() {
        assert!(body("\t\n\r a\u{D7FF}\u{E000}\u{FFFD}\u{10000}\u{10FFFF}").is_ok());
        for bad in ["\0", "\u{B}", "\u{1F}", "\u{FFFE}", "\u{FFFF}"] {
            let refusal = body(&format!("a{bad}b")).unwrap_err();
            assert_eq!(refusal.kind, Kind::InvalidMessageContents, "{bad:?}");
        }
        assert!(body("a\u{B}").unwrap_err().message.contains("U+000B"));
        assert_eq!(body("").unwrap_err().kind, Kind::MissingParameter);
    }

    #[test]
    fn a_message_id_is_a_version_4_uuid() {
        let all_ones = MessageId::from_random(u128::MAX).to_string();
        assert_eq!(all_ones, "ffffffff-ffff-4fff-bfff-ffffffffffff");
        let zeros = MessageId::from_random(0).to_string();
        assert_eq!(zeros, "00000000-0000-4000-8000-000000000000");
    }
}
