//! What a handler is handed: a body, and all that came with it.

use std::cell::OnceCell;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use crate::bindings::{self, types};
pub use types::{Header, HeaderValue};

/// One message, as one receive brought it.
///
/// A handler that takes `&Message` is handed the body as it came, undecoded.
#[derive(Debug, Clone, Default)]
pub struct Message {
    body: Vec<u8>,
    context: Context,
}

/// All that came with a body: headers, ids, times, and the queue it was received from.
///
/// A handler gets at it through a second parameter, `&Context`; one for batches through
/// [`Delivery`](crate::Delivery).
#[derive(Debug, Clone, Default)]
pub struct Context {
    headers: Vec<Header>,
    id: Option<String>,
    receive_count: Option<u32>,
    group_id: Option<String>,
    deduplication_id: Option<String>,
    sequence_number: Option<String>,
    sent_at: Option<u64>,
    first_received_at: Option<u64>,
    system_attributes: Vec<(String, String)>,
    /// Asked of the host by the first who wants to know.
    queue: OnceCell<String>,
}

impl Message {
    /// A message with this body and nothing else. The host makes the real ones; this is for tests
    /// of a handler.
    ///
    /// ```
    /// use queuelet_guest::{HeaderValue, Message};
    ///
    /// let message = Message::new(r#"{"id":7}"#)
    ///     .with_queue("orders")
    ///     .with_receive_count(2)
    ///     .with_header("tenant", HeaderValue::Text("north".into()));
    /// assert_eq!(message.context().queue(), "orders");
    /// assert_eq!(message.context().text("tenant"), Some("north"));
    /// ```
    pub fn new(body: impl Into<Vec<u8>>) -> Self {
        Self {
            body: body.into(),
            context: Context::default(),
        }
    }

    /// The same message, received from this queue.
    pub fn with_queue(mut self, name: impl Into<String>) -> Self {
        self.context.queue = OnceCell::from(name.into());
        self
    }

    /// The same message with this id.
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.context.id = Some(id.into());
        self
    }

    /// The same message, received for the nth time.
    pub fn with_receive_count(mut self, count: u32) -> Self {
        self.context.receive_count = Some(count);
        self
    }

    /// The same message in this message group.
    pub fn with_group_id(mut self, id: impl Into<String>) -> Self {
        self.context.group_id = Some(id.into());
        self
    }

    /// The same message with one header more.
    pub fn with_header(mut self, name: impl Into<String>, value: HeaderValue) -> Self {
        self.context.headers.push(Header {
            name: name.into(),
            value,
            label: None,
        });
        self
    }

    /// The body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// All but the body.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The body and the rest, each on its own.
    pub fn into_parts(self) -> (Vec<u8>, Context) {
        (self.body, self.context)
    }

    pub(crate) fn take_context(&mut self) -> Context {
        std::mem::take(&mut self.context)
    }
}

impl Context {
    /// The name of the queue that the message was received from.
    ///
    /// Outside a component there is no host to ask, and it is empty unless [`Message::with_queue`]
    /// said it.
    pub fn queue(&self) -> &str {
        self.queue.get_or_init(queue_of_the_call)
    }

    /// The id that SQS gave the message when it was sent. It stays the same over receives.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// How often the message has been received, this time included.
    pub fn receive_count(&self) -> Option<u32> {
        self.receive_count
    }

    /// The message group: of a FIFO queue, or the tenant of a fair queue.
    pub fn group_id(&self) -> Option<&str> {
        self.group_id.as_deref()
    }

    /// The deduplication id of a message of a FIFO queue.
    pub fn deduplication_id(&self) -> Option<&str> {
        self.deduplication_id.as_deref()
    }

    /// The sequence number of a message of a FIFO queue: 20 digits, too many for a `u64`.
    pub fn sequence_number(&self) -> Option<&str> {
        self.sequence_number.as_deref()
    }

    /// When the message was sent, to the millisecond.
    pub fn sent_at(&self) -> Option<SystemTime> {
        self.sent_at.and_then(moment)
    }

    /// When the message was first received, to the millisecond.
    pub fn first_received_at(&self) -> Option<SystemTime> {
        self.first_received_at.and_then(moment)
    }

    /// Every header: the message attributes, and what the host adds (`partition-key`, where the
    /// message has a group, and `sqs-receive-count`).
    pub fn headers(&self) -> &[Header] {
        &self.headers
    }

    /// The value of a header, by its exact name.
    pub fn header(&self, name: &str) -> Option<&HeaderValue> {
        self.headers
            .iter()
            .find(|header| header.name == name)
            .map(|header| &header.value)
    }

    /// A header's text, or the digits of a number. Absent too where the header holds bytes.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.header(name)?.as_text()
    }

    /// A header's bytes. Absent too where the header holds text or a number.
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.header(name)?.as_bytes()
    }

    /// A header's text or number, read as a `T`.
    ///
    /// # Errors
    ///
    /// An [`UnreadableHeader`] where the header is missing, holds bytes, or does not read as a `T`.
    /// A handler may end with it: it says which header it was, and what was in it.
    ///
    /// ```
    /// # use queuelet_guest::{HeaderValue, Message};
    /// let message = Message::new("").with_header("weight", HeaderValue::Number("12".into()));
    /// assert_eq!(message.context().parse::<u32>("weight").unwrap(), 12);
    /// let error = message.context().parse::<bool>("weight").unwrap_err();
    /// assert!(error.to_string().contains("`weight`"));
    /// ```
    pub fn parse<T>(&self, name: &str) -> Result<T, UnreadableHeader>
    where
        T: FromStr<Err: fmt::Display>,
    {
        let unreadable = |reason: String| UnreadableHeader {
            name: name.to_owned(),
            reason,
        };
        let value = self
            .header(name)
            .ok_or_else(|| unreadable("is missing".to_owned()))?;
        let text = value
            .as_text()
            .ok_or_else(|| unreadable("holds bytes, not text".to_owned()))?;
        text.parse()
            .map_err(|error| unreadable(format!("is {text:?}: {error}")))
    }

    /// Every system attribute as SQS sent it, by name, those that a method above gives included.
    pub fn system_attributes(&self) -> &[(String, String)] {
        &self.system_attributes
    }

    /// One system attribute, by SQS's name for it (`SenderId`, `AWSTraceHeader`).
    pub fn system_attribute(&self, name: &str) -> Option<&str> {
        self.system_attributes
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

/// A header that a handler asked for, and that is not there or is not what it asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableHeader {
    name: String,
    reason: String,
}

impl fmt::Display for UnreadableHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "header `{}` {}", self.name, self.reason)
    }
}

impl std::error::Error for UnreadableHeader {}

impl HeaderValue {
    /// The text, or the digits of a number.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Number(text) => Some(text),
            Self::Bytes(_) => None,
        }
    }

    /// The bytes of a binary value.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Text(_) | Self::Number(_) => None,
        }
    }
}

impl From<&str> for HeaderValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for HeaderValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<u8>> for HeaderValue {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<i64> for HeaderValue {
    fn from(number: i64) -> Self {
        Self::Number(number.to_string())
    }
}

impl From<types::Message> for Message {
    fn from(message: types::Message) -> Self {
        Self {
            body: message.body,
            context: Context {
                headers: message.headers,
                id: message.id,
                receive_count: message.receive_count,
                group_id: message.group_id,
                deduplication_id: message.deduplication_id,
                sequence_number: message.sequence_number,
                sent_at: message.sent_at,
                first_received_at: message.first_received_at,
                system_attributes: message.system_attributes,
                queue: OnceCell::new(),
            },
        }
    }
}

fn moment(milliseconds: u64) -> Option<SystemTime> {
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(milliseconds))
}

fn queue_of_the_call() -> String {
    if cfg!(target_family = "wasm") {
        bindings::context::queue()
    } else {
        String::new()
    }
}
