//! What a handler is handed and what it answers: the host's own types, which know neither SQS's
//! client nor wasmtime. `sqs` makes messages and carries out outcomes, `plugin` calls guests,
//! `dispatch` stands between.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::line;

use bytes::Bytes;
use serde::Serialize;

/// Makes a text newtype, so that one kind of id cannot be passed for another.
macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The text as SQS sent it.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl<T: Into<Arc<str>>> From<T> for $name {
            fn from(text: T) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// The id that SQS gave a message when it was sent. It stays the same over receives.
    MessageId
}
text_id! {
    /// The handle of one receive of a message: what deletes it or changes its visibility. A later
    /// receive of the same message has another one.
    ReceiptHandle
}
text_id! {
    /// A message group.
    GroupId
}

/// Whether a plugin takes one message at a time or what one receive brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HandlerKind {
    /// One message a call: exports `queuelet:handler/single`.
    Single,
    /// 1 to 10 messages a call: exports `queuelet:handler/batch`.
    Batch,
}

impl fmt::Display for HandlerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Single => "single",
            Self::Batch => "batch",
        })
    }
}

/// The value of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderValue {
    /// SQS's data type `String`.
    Text(String),
    /// SQS's data type `Number`: text, because it has up to 38 digits.
    Number(String),
    /// SQS's data type `Binary`.
    Bytes(Bytes),
}

/// A header: a message attribute, or a value that the host adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The name.
    pub name: String,
    /// The value.
    pub value: HeaderValue,
    /// The custom label of the data type: `int` of `Number.int`.
    pub label: Option<String>,
}

/// One message, as one receive brought it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqsMessage {
    /// The body.
    pub body: Bytes,
    /// The message attributes by name, and the headers that the host adds.
    pub headers: Vec<Header>,
    /// The message's id.
    pub id: Option<MessageId>,
    /// How often it has been received, this time included.
    pub receive_count: Option<u32>,
    /// Its message group.
    pub group_id: Option<GroupId>,
    /// Its deduplication id.
    pub deduplication_id: Option<String>,
    /// Its sequence number: 20 digits.
    pub sequence_number: Option<String>,
    /// When it was sent: milliseconds since 1970-01-01T00:00:00Z.
    pub sent_at: Option<u64>,
    /// When it was first received: milliseconds since 1970-01-01T00:00:00Z.
    pub first_received_at: Option<u64>,
    /// Every system attribute as SQS sent it, by name.
    pub system_attributes: Vec<(String, String)>,
    /// Why the body is not what its sender meant (rule 3.5). Such a message fails with
    /// [`Reason::Decode`] and this text, and no handler is called with it; its body is as SQS sent
    /// it.
    pub undecodable: Option<String>,
}

impl SqsMessage {
    /// The id, or `-` where SQS sent none: for log lines.
    pub fn id_or_dash(&self) -> &str {
        self.id.as_ref().map_or("-", MessageId::as_str)
    }
}

/// A message that the host sends for a handler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The body.
    pub body: Bytes,
    /// Sent as message attributes.
    pub headers: Vec<Header>,
    /// Where to, if not to the subscription's `reply` target.
    pub destination: Option<String>,
    /// The message group.
    pub group_id: Option<String>,
    /// The deduplication id.
    pub deduplication_id: Option<String>,
    /// How long SQS keeps it back.
    pub delay: Option<Duration>,
}

/// What becomes of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done: delete it.
    Ack,
    /// Not wanted: delete it, or leave it to the dead-letter queue on its last receive.
    Drop,
    /// Again, at once.
    Retry,
    /// Again, after this long.
    RetryAfter(Duration),
    /// To the dead-letter queue now, for this reason.
    DeadLetter(String),
    /// Send these in order, then delete it.
    Reply(Vec<Reply>),
}

/// Why a handler failed: the one word of logs and metrics (rule 5.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// The handler said so.
    Error,
    /// The body is not what the handler reads.
    Decode,
    /// The guest trapped.
    Trap,
    /// The guest asked for more memory than it may have.
    Memory,
    /// The handler passed its time limit.
    Timeout,
    /// The guest ended itself.
    Exit,
    /// The answer is not one that the contract allows.
    Answer,
}

impl Reason {
    /// Every reason, in the order of their places in a table.
    pub const ALL: [Reason; 7] = [
        Self::Error,
        Self::Decode,
        Self::Trap,
        Self::Memory,
        Self::Timeout,
        Self::Exit,
        Self::Answer,
    ];

    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Decode => "decode",
            Self::Trap => "trap",
            Self::Memory => "memory",
            Self::Timeout => "timeout",
            Self::Exit => "exit",
            Self::Answer => "answer",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failure of a handler. The message is retried with back-off.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}: {message}")]
pub struct Failure {
    /// The word for it.
    pub reason: Reason,
    /// What happened.
    pub message: String,
}

impl Failure {
    /// A failure for `reason`.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }
}

/// What a handler answered for one message.
pub type Answer = Result<Outcome, Failure>;

/// What a call of a handler is about, beside its messages.
#[derive(Clone, Debug)]
pub struct Call {
    /// The name of the queue that the messages came from.
    pub queue: Arc<str>,
    /// How long the handler may take.
    pub timeout: Option<Duration>,
    /// What the handler publishes with while it runs; none where nobody granted it a destination.
    pub publish: Option<Arc<dyn Publish>>,
}

/// The future of a call. Dropping it interrupts the handler.
pub type Handling<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Publishing while a handler runs (rule 6.6). One object serves one call of a handler.
pub trait Publish: Send + Sync {
    /// Sends one message to its destination, or to the `reply` target where it names none. What
    /// was sent stays sent, whatever becomes of the call. The future is to be polled on the I/O
    /// runtime, which no handler holds up (rule 4.2).
    fn publish(&self, message: Reply) -> Handling<Result<MessageId, PublishError>>;
}

impl fmt::Debug for dyn Publish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Publish")
    }
}

/// A message that could not be published while its handler ran.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct PublishError {
    /// `not-granted`, `invalid`, or AWS's own code.
    pub code: String,
    /// What was wrong, and what to do.
    pub message: String,
    /// Whether the same message may go out a little later, with nobody mending anything.
    pub retry: bool,
}

/// How the host speaks of what a handler said (rules 9.1 and 9.4): its errors quote the handler.
pub trait Voice: Send + Sync {
    /// `text` as it may stand in a line of the log: without the handler's secrets, on one line, and
    /// no longer than one.
    fn words(&self, text: &str) -> String;

    /// Whether one more line of what a handler can cause without end may be written now. One that
    /// may not counts as left out.
    fn may_say(&self) -> bool;
}

impl fmt::Debug for dyn Voice + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Voice")
    }
}

/// Of a handler that has no secrets, and that nobody need be kept from.
pub(crate) struct Plain;

impl Voice for Plain {
    fn words(&self, text: &str) -> String {
        line::words(text)
    }

    fn may_say(&self) -> bool {
        true
    }
}

/// Something that handles messages: a plugin, or in tests a closure.
///
/// `dispatch` calls the method that [`Handler::kind`] names and no other.
pub trait Handler: Send + Sync + 'static {
    /// Which of the two calls it takes.
    fn kind(&self) -> HandlerKind;

    /// How the host speaks of it.
    fn voice(&self) -> Arc<dyn Voice> {
        Arc::new(Plain)
    }

    /// Handles one message.
    fn handle(&self, call: Call, message: Arc<SqsMessage>) -> Handling<Answer>;

    /// Handles a batch that is not empty. `Err` is a failure of the whole call; the list may have
    /// any length, the caller checks it.
    fn handle_batch(
        &self,
        call: Call,
        messages: Vec<Arc<SqsMessage>>,
    ) -> Handling<Result<Vec<Answer>, Failure>>;
}
