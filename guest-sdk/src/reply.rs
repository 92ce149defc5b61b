//! What a handler has the host send.

use std::time::Duration;

use serde::Serialize;

use crate::answer::milliseconds;
use crate::bindings::types;
use crate::{Failure, Header, HeaderValue};

/// A message that the host sends before it deletes the one that was handled.
///
/// A handler returns one, or a `Vec` of them, sent in order; an empty `Vec` is an ack. They go to
/// the queue or topic that the mount, or else the descriptor, names as `reply`. Where none is named,
/// or one reply cannot be sent, the message is retried with back-off; replies that were sent before
/// that one are then sent again, which a FIFO target does not deliver twice within SQS's five
/// minutes. [`publish()`](crate::publish()) sends one while the handler runs.
///
/// ```
/// use std::time::Duration;
/// use queuelet_guest::Reply;
///
/// let reply = Reply::json(&[1, 2, 3])
///     .header("kind", "numbers")
///     .group_id("tenant-7")
///     .delay(Duration::from_secs(30));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a reply is sent only if the handler returns it or publishes it"]
pub struct Reply {
    /// An encoder's error waits here until the host is answered, so that a handler need not deal
    /// with it.
    body: Result<Vec<u8>, String>,
    headers: Vec<Header>,
    destination: Option<String>,
    group_id: Option<String>,
    deduplication_id: Option<String>,
    delay: Option<Duration>,
}

impl Reply {
    /// A reply with this body. SQS has no empty messages, and the host refuses an empty body. SQS
    /// takes text alone: a body that is not UTF-8, or has control characters other than tabs and
    /// line breaks, travels base64 with a header that says so, and a host that receives it decodes
    /// it again.
    pub fn new(body: impl Into<Vec<u8>>) -> Self {
        Self::of(Ok(body.into()))
    }

    /// A reply with this value as JSON. A value that cannot be encoded makes the handler fail.
    pub fn json(value: &(impl Serialize + ?Sized)) -> Self {
        Self::of(
            serde_json::to_vec(value)
                .map_err(|error| format!("the reply cannot be encoded as JSON: {error}")),
        )
    }

    fn of(body: Result<Vec<u8>, String>) -> Self {
        Self {
            body,
            headers: Vec::new(),
            destination: None,
            group_id: None,
            deduplication_id: None,
            delay: None,
        }
    }

    /// One header more; SQS takes ten. `partition-key` is not sent as one: on a FIFO target it is
    /// the message group where [`group_id`](Self::group_id) says none, and elsewhere it is left out,
    /// so that the headers of a message can be handed on.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<HeaderValue>) -> Self {
        self.headers.push(Header {
            name: name.into(),
            value: value.into(),
            label: None,
        });
        self
    }

    /// One header more, with the label of a custom data type: `int` of `Number.int`.
    pub fn labelled_header(mut self, header: Header) -> Self {
        self.headers.push(header);
        self
    }

    /// Where it goes, if not where the subscription's `reply` setting says: a queue, by name, URL or
    /// ARN, or a topic, by ARN or as `sns:NAME`. The subscription must grant it, by
    /// [`destinations`](crate::SqsQueue::destinations), and the host refuses what it does not.
    pub fn to(mut self, destination: impl Into<String>) -> Self {
        self.destination = Some(destination.into());
        self
    }

    /// The message group: of a FIFO target, which keeps its messages in order, or, on a standard
    /// queue, the tenant that a fair queue is fair to. On a FIFO target a reply without one, and
    /// without a `partition-key`, takes the subscription's `reply_group`, else the group of the
    /// message that was handled, else `default`.
    pub fn group_id(mut self, id: impl Into<String>) -> Self {
        self.group_id = Some(id.into());
        self
    }

    /// The deduplication id, which FIFO targets alone take; on another the host refuses the reply.
    /// Without one the host derives it from the message that was handled and the reply's place, so
    /// that a message that is handled twice within five minutes replies once; for
    /// [`publish()`](crate::publish()) from what is sent and where, instead of its place.
    pub fn deduplication_id(mut self, id: impl Into<String>) -> Self {
        self.deduplication_id = Some(id.into());
        self
    }

    /// How long SQS keeps it back: up to 15 minutes, rounded up to whole seconds. The host refuses
    /// more, and a delay on a topic or a FIFO queue, which have none.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    pub(crate) fn into_wire(self) -> Result<types::Reply, Failure> {
        Ok(types::Reply {
            body: self.body.map_err(Failure::error)?,
            headers: self.headers,
            destination: self.destination,
            group_id: self.group_id,
            deduplication_id: self.deduplication_id,
            delay: self.delay.map(milliseconds),
        })
    }
}

/// What a handler with `reply` may return: whatever serialises, as one reply in JSON, or a
/// [`Reply`]. A `Vec<Reply>` is understood too, though it cannot stand here: for all that Rust
/// knows, serde might serialise it one day.
#[diagnostic::on_unimplemented(
    message = "a handler with `reply` cannot return `{Self}`",
    label = "this is not a reply",
    note = "return a type that implements `serde::Serialize`, a `Reply` or a `Vec<Reply>`, or a `Result` of one of \
            them with `HandlerOutcome` as its error, for the messages that get no reply"
)]
pub trait IntoReplies {
    /// The replies, in the order they are sent in.
    fn into_replies(self) -> Vec<Reply>;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize> IntoReplies for T {
    fn into_replies(self) -> Vec<Reply> {
        vec![Reply::json(&self)]
    }
}

impl IntoReplies for Reply {
    fn into_replies(self) -> Vec<Reply> {
        vec![self]
    }
}
