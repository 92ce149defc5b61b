//! The traits that a handler is, and what happens between the host's call and theirs.

use std::future::Future;

use crate::answer::{Answer, IntoAnswer, IntoAnswers};
use crate::executor::{self, Stuck};
use crate::input::{BatchElement, FromMessage};
use crate::{Context, Failure, HandlerOutcome, Message, log};

/// A handler that takes one message at a time, read as a `T` (see [`FromMessage`]).
///
/// [`export!`](crate::export) makes a component of it. [`#[subscriber]`](crate::subscriber) writes
/// both for a plain function.
///
/// ```
/// use queuelet_guest::{Context, Handle, HandlerOutcome, SqsQueue};
///
/// #[derive(serde::Deserialize)]
/// struct Report {
///     pages: u32,
/// }
///
/// struct Reports;
///
/// impl Handle<Report> for Reports {
///     type Output = HandlerOutcome;
///
///     async fn handle(&self, report: Report, _: &Context) -> HandlerOutcome {
///         if report.pages == 0 { HandlerOutcome::drop() } else { HandlerOutcome::ack() }
///     }
/// }
///
/// queuelet_guest::export!(Reports, SqsQueue::new("reports"));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not handle messages one at a time",
    note = "implement `queuelet_guest::Handle` for it; a handler of batches is exported with `export_batch!`"
)]
pub trait Handle<T> {
    /// What it returns.
    type Output: IntoAnswer;

    /// Handles one message. Written as an `async fn`, whether or not it awaits: it is driven to its
    /// end within the call, and a future that waits for what cannot come within the call fails.
    fn handle(&self, input: T, context: &Context) -> impl Future<Output = Self::Output>;
}

/// A handler that takes what one receive brought as one call, each message read as a `T` (see
/// [`BatchElement`]).
///
/// A batch is 1 to 10 messages. SQS does not wait to fill it, so on a quiet queue it is often one.
/// Messages that do not decode are not among the batch; they fail on their own. A batch is never
/// empty: where no message decodes there is no call.
///
/// ```
/// use queuelet_guest::{Delivery, HandleBatch, HandlerOutcome, SqsQueue};
///
/// struct Payments;
///
/// impl HandleBatch<Delivery<u64>> for Payments {
///     type Output = Vec<HandlerOutcome>;
///
///     async fn handle_batch(&self, batch: Vec<Delivery<u64>>) -> Vec<HandlerOutcome> {
///         batch
///             .iter()
///             .map(|amount| match amount.value {
///                 0 => HandlerOutcome::drop(),
///                 _ => HandlerOutcome::ack(),
///             })
///             .collect()
///     }
/// }
///
/// queuelet_guest::export_batch!(Payments, SqsQueue::new("payments"));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not handle batches",
    note = "implement `queuelet_guest::HandleBatch` for it; a handler of single messages is exported with `export!`"
)]
pub trait HandleBatch<T> {
    /// What it returns.
    type Output: IntoAnswers;

    /// Handles one batch. Written as an `async fn`, as [`Handle::handle`] is.
    fn handle_batch(&self, batch: Vec<T>) -> impl Future<Output = Self::Output>;
}

/// Hands one message to a handler.
pub fn handle_single<'m, T, H>(handler: &H, message: &'m Message) -> Answer
where
    T: FromMessage<'m>,
    H: Handle<T>,
{
    match T::from_message(message) {
        Ok(input) => match executor::run(handler.handle(input, message.context())) {
            Ok(returned) => returned.into_answer(),
            Err(Stuck) => Failure::error(Stuck::MESSAGE).into_answer(),
        },
        Err(failure) => failure.into_answer(),
    }
}

/// Hands the messages of a batch that decode to a handler, and puts its answers and the others'
/// failures in the messages' order.
///
/// A handler that answers the wrong number of outcomes makes the list too long or too short by as
/// much, which the host takes for the malformed answer that it is.
pub fn handle_batch<'m, T, H>(handler: &H, messages: &'m mut [Message]) -> Vec<Answer>
where
    T: BatchElement<'m>,
    H: HandleBatch<T>,
{
    let received = messages.len();
    let mut batch = Vec::with_capacity(received);
    let mut failures = Vec::new();
    for (position, message) in messages.iter_mut().enumerate() {
        match T::from_message(message) {
            Ok(element) => batch.push(element),
            Err(failure) => failures.push((position, failure)),
        }
    }

    let handed = batch.len();
    let answers = if batch.is_empty() {
        Vec::new()
    } else {
        match executor::run(handler.handle_batch(batch)) {
            Ok(returned) => returned.into_answers(handed),
            Err(Stuck) => HandlerOutcome::fail(Stuck::MESSAGE).into_answers(handed),
        }
    };
    if answers.len() != handed {
        log::error!(
            "the handler answered a wrong number of outcomes",
            handed = handed,
            answered = answers.len()
        );
    }
    merge(answers, failures)
}

/// Puts each failure where its message stood. What is left over on either side goes to the end.
fn merge(answers: Vec<Answer>, failures: Vec<(usize, Failure)>) -> Vec<Answer> {
    if failures.is_empty() {
        return answers;
    }
    let mut merged = Vec::with_capacity(answers.len() + failures.len());
    let mut answers = answers.into_iter();
    for (position, failure) in failures {
        let before = position.saturating_sub(merged.len());
        merged.extend(answers.by_ref().take(before));
        merged.push(failure.into_answer());
    }
    merged.extend(answers);
    merged
}

impl IntoAnswer for Failure {
    fn into_answer(self) -> Answer {
        HandlerOutcome::Fail(self).into_answer()
    }
}

#[cfg(test)]
mod tests;
