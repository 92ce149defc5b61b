//! From what a handler returns to what the host is told.

use std::fmt;
use std::time::Duration;

use crate::bindings::types;
use crate::{Failure, FailureKind, HandlerOutcome, Reply};

/// What the host is told about one message. A handler has no need to make one.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer(pub(crate) Result<types::Outcome, types::Failure>);

/// What a handler of single messages may return.
///
/// | returned | what becomes of the message |
/// |---|---|
/// | `()` | ack |
/// | [`HandlerOutcome`] | what it says |
/// | [`Reply`], `Option<Reply>`, `Vec<Reply>` | what there is to send is sent, then it is deleted |
/// | `Result<R, HandlerOutcome>` | as `R`, which is one of the above, or what the error says |
/// | `Result<R, E>`, where `E` displays | as `R`, or a failure with the error's text |
///
/// With `reply` in the attribute of [`#[subscriber]`](crate::subscriber), `R` is whatever
/// serialises.
#[diagnostic::on_unimplemented(
    message = "a handler cannot return `{Self}`",
    label = "not what a handler may return",
    note = "a handler of single messages returns `()`, `HandlerOutcome`, `Reply`, `Option<Reply>`, `Vec<Reply>`, or a \
            `Result` of one \
            of them",
    note = "to send a value as a reply, say where to: `#[subscriber(…, reply(\"queue\"))]`, or `reply` alone where the \
            mount says it"
)]
pub trait IntoAnswer {
    /// What the host is told.
    fn into_answer(self) -> Answer;
}

/// What a handler of batches may return: one outcome for every message (`()`, [`HandlerOutcome`],
/// or a `Result` whose error fails them all), or a `Vec` with one for each, in order, of the types
/// that [`IntoAnswer`] names.
#[diagnostic::on_unimplemented(
    message = "a handler of batches cannot return `{Self}`",
    label = "not what a handler of batches may return",
    note = "a handler of batches returns one `HandlerOutcome` for all messages, which cannot be a reply, or a `Vec` \
            with one for each, in order"
)]
pub trait IntoAnswers {
    /// What the host is told about each of `count` messages. A list of another length is malformed,
    /// and the host says so.
    fn into_answers(self, count: usize) -> Vec<Answer>;
}

/// The error of a handler: a [`HandlerOutcome`], a [`Failure`], or whatever displays.
#[diagnostic::on_unimplemented(
    message = "a handler cannot fail with `{Self}`",
    note = "the error of a handler is a `HandlerOutcome`, a `Failure`, or a type that implements `Display`"
)]
pub trait IntoOutcome {
    /// What becomes of the message.
    fn into_outcome(self) -> HandlerOutcome;
}

impl IntoOutcome for HandlerOutcome {
    fn into_outcome(self) -> HandlerOutcome {
        self
    }
}

impl IntoOutcome for Failure {
    fn into_outcome(self) -> HandlerOutcome {
        HandlerOutcome::Fail(self)
    }
}

#[diagnostic::do_not_recommend]
impl<E: fmt::Display> IntoOutcome for E {
    fn into_outcome(self) -> HandlerOutcome {
        HandlerOutcome::fail(self)
    }
}

impl IntoAnswer for Answer {
    fn into_answer(self) -> Answer {
        self
    }
}

impl IntoAnswer for () {
    fn into_answer(self) -> Answer {
        Answer(Ok(types::Outcome::Ack))
    }
}

impl IntoAnswer for HandlerOutcome {
    fn into_answer(self) -> Answer {
        Answer(match self {
            Self::Ack => Ok(types::Outcome::Ack),
            Self::Drop => Ok(types::Outcome::Drop),
            Self::Retry => Ok(types::Outcome::Retry),
            Self::RetryAfter(delay) => Ok(types::Outcome::RetryAfter(milliseconds(delay))),
            Self::DeadLetter(reason) => Ok(types::Outcome::DeadLetter(reason)),
            Self::Fail(failure) => Err(failure.into()),
        })
    }
}

impl IntoAnswer for Reply {
    fn into_answer(self) -> Answer {
        vec![self].into_answer()
    }
}

impl IntoAnswer for Vec<Reply> {
    fn into_answer(self) -> Answer {
        if self.is_empty() {
            return ().into_answer();
        }
        let replies: Result<Vec<_>, Failure> = self.into_iter().map(Reply::into_wire).collect();
        Answer(
            replies
                .map(types::Outcome::Reply)
                .map_err(types::Failure::from),
        )
    }
}

impl IntoAnswer for Option<Reply> {
    fn into_answer(self) -> Answer {
        self.map_or_else(|| ().into_answer(), Reply::into_answer)
    }
}

impl<R: IntoAnswer, E: IntoOutcome> IntoAnswer for Result<R, E> {
    fn into_answer(self) -> Answer {
        match self {
            Ok(returned) => returned.into_answer(),
            Err(error) => error.into_outcome().into_answer(),
        }
    }
}

impl IntoAnswers for () {
    fn into_answers(self, count: usize) -> Vec<Answer> {
        vec![self.into_answer(); count]
    }
}

impl IntoAnswers for HandlerOutcome {
    fn into_answers(self, count: usize) -> Vec<Answer> {
        vec![self.into_answer(); count]
    }
}

impl<R: IntoAnswer> IntoAnswers for Vec<R> {
    fn into_answers(self, _: usize) -> Vec<Answer> {
        self.into_iter().map(R::into_answer).collect()
    }
}

impl<R: IntoAnswers, E: IntoOutcome> IntoAnswers for Result<R, E> {
    fn into_answers(self, count: usize) -> Vec<Answer> {
        match self {
            Ok(returned) => returned.into_answers(count),
            Err(error) => error.into_outcome().into_answers(count),
        }
    }
}

impl From<Failure> for types::Failure {
    fn from(failure: Failure) -> Self {
        Self {
            kind: match failure.kind {
                FailureKind::Error => types::FailureKind::Error,
                FailureKind::Decode => types::FailureKind::Decode,
                FailureKind::Other(word) => types::FailureKind::Other(word),
            },
            message: failure.message,
        }
    }
}

/// A length of time as the contract counts it. A fraction is rounded up, as the host rounds: a
/// delay is never shorter than was asked for.
pub(crate) fn milliseconds(length: Duration) -> u64 {
    u64::try_from(length.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
