//! What a handler says becomes of a message.

use std::fmt;
use std::time::Duration;

/// What becomes of a message.
///
/// A reply is not among them: a handler that replies returns a [`Reply`](crate::Reply) or a value
/// to be sent, and `Result<_, HandlerOutcome>` where it replies to some messages and does something
/// else with others.
///
/// ```
/// use std::time::Duration;
/// use queuelet_guest::HandlerOutcome;
///
/// fn outcome(amount: i64, provider_is_busy: bool) -> HandlerOutcome {
///     if amount == 0 {
///         return HandlerOutcome::drop();
///     }
///     if provider_is_busy {
///         return HandlerOutcome::retry_after(Duration::from_secs(5));
///     }
///     HandlerOutcome::ack()
/// }
/// assert_eq!(outcome(0, true), HandlerOutcome::Drop);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "an outcome does nothing unless the handler returns it"]
pub enum HandlerOutcome {
    /// It is done: the host deletes it.
    Ack,
    /// It is not wanted: the host deletes it, or leaves it to the dead-letter queue where this
    /// receive is the last that the queue's redrive policy allows.
    Drop,
    /// The host hands it out again, at once.
    Retry,
    /// The host hands it out again after this long; a fraction of a second is rounded up, and what
    /// goes beyond the 12 h that SQS hides a message is cut off.
    RetryAfter(Duration),
    /// The handler gives up on it, with this reason: the host sends it to the subscription's
    /// dead-letter queue, with its headers and the reason as header `queuelet-dead-letter-reason`,
    /// and deletes it.
    ///
    /// The dead-letter queue is the one that [`SqsQueue::dead_letter`](crate::SqsQueue::dead_letter)
    /// or the mount file names. Without one the host logs the reason and retries the message with
    /// back-off, as one whose handler failed.
    DeadLetter(String),
    /// The handler failed: the host logs it and hands the message out again with back-off.
    Fail(Failure),
}

/// A failure: what a log line about it says. The message is never deleted for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// What happened.
    pub message: String,
}

/// The kind of a failure, as metrics count it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureKind {
    /// The work could not be done.
    Error,
    /// The body is not what the handler reads.
    Decode,
    /// Another kind, as one lower-case word. A host that does not know the word, and this version
    /// knows none, logs it and counts it as [`FailureKind::Error`].
    Other(String),
}

impl HandlerOutcome {
    /// [`HandlerOutcome::Ack`].
    pub fn ack() -> Self {
        Self::Ack
    }

    /// [`HandlerOutcome::Drop`].
    pub fn drop() -> Self {
        Self::Drop
    }

    /// [`HandlerOutcome::Retry`].
    pub fn retry() -> Self {
        Self::Retry
    }

    /// [`HandlerOutcome::RetryAfter`].
    pub fn retry_after(delay: Duration) -> Self {
        Self::RetryAfter(delay)
    }

    /// [`HandlerOutcome::DeadLetter`].
    pub fn dead_letter(reason: impl Into<String>) -> Self {
        Self::DeadLetter(reason.into())
    }

    /// A [`HandlerOutcome::Fail`] of kind [`FailureKind::Error`]. It takes whatever displays, an
    /// error above all.
    pub fn fail(message: impl fmt::Display) -> Self {
        Self::Fail(Failure::error(message))
    }
}

impl Failure {
    /// A failure of kind [`FailureKind::Error`].
    pub fn error(message: impl fmt::Display) -> Self {
        // The alternate form is where `anyhow` and its like show the causes.
        Self {
            kind: FailureKind::Error,
            message: format!("{message:#}"),
        }
    }

    /// A failure of kind [`FailureKind::Decode`], for a handler that reads its bodies itself.
    pub fn decode(message: impl fmt::Display) -> Self {
        Self {
            kind: FailureKind::Decode,
            message: format!("{message:#}"),
        }
    }
}

impl From<Failure> for HandlerOutcome {
    fn from(failure: Failure) -> Self {
        Self::Fail(failure)
    }
}
