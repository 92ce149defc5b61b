//! Where events go: [`Observer::emit`] writes an event's log line, moves its count, and shows it to
//! the taps, so that the loops of the host have no formatting in them.

use std::sync::Arc;

use tracing::{debug, error, info, warn};

use super::circuit::CircuitWatch;
use super::event::{Event, Source};
use super::metrics::{Count, Counters, Snapshot};
use super::readiness::Readiness;
use crate::handler::{MessageId, Outcome};
use crate::line::words;

/// Sees every event of every subscription.
pub type Tap = Arc<dyn Fn(&Source, Option<&MessageId>, &Event<'_>) + Send + Sync>;

/// Takes the events of one subscription.
#[derive(Clone)]
pub struct Observer {
    source: Arc<Source>,
    counters: Arc<Counters>,
    readiness: Arc<Readiness>,
    circuit: Arc<CircuitWatch>,
    tap: Option<Tap>,
}

impl Observer {
    /// An observer of `source`. `tap` sees each event after it was logged and counted.
    pub fn new(source: Source, tap: Option<Tap>) -> Self {
        Self {
            source: Arc::new(source),
            counters: Arc::default(),
            readiness: Arc::default(),
            circuit: Arc::default(),
            tap,
        }
    }

    /// An observer of the subscription that takes this one's place: its counts go on, and it becomes
    /// ready by itself, with its circuit closed.
    pub fn of_successor(&self) -> Self {
        Self {
            readiness: Arc::default(),
            circuit: Arc::default(),
            ..self.clone()
        }
    }

    /// Where the events come from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The counts.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// Whether the subscription can receive.
    pub fn readiness(&self) -> &Arc<Readiness> {
        &self.readiness
    }

    /// Whether messages are received, as far as their handler goes (rule 8.7).
    pub fn circuit(&self) -> &Arc<CircuitWatch> {
        &self.circuit
    }

    /// Logs, counts and shows one event, of one message or of the subscription.
    pub fn emit(&self, message: Option<&MessageId>, event: Event<'_>) {
        self.log(message, &event);
        self.count(&event);
        self.readiness.note(&event);
        self.circuit.note(&event);
        if let Some(tap) = &self.tap {
            tap(&self.source, message, &event);
        }
    }

    fn count(&self, event: &Event<'_>) {
        let add = |count, n: usize| self.counters.add(count, n as u64);
        match event {
            Event::Received { messages } => add(Count::Received, *messages),
            Event::ReceiveFailed { .. } => add(Count::ReceiveFailed, 1),
            Event::Handled { answer, .. } => {
                add(Count::Handled, 1);
                match answer {
                    Ok(Outcome::Ack) => add(Count::Acked, 1),
                    Ok(Outcome::Drop) => add(Count::Dropped, 1),
                    Ok(Outcome::Retry | Outcome::RetryAfter(_)) => add(Count::Retried, 1),
                    Ok(Outcome::Reply(_) | Outcome::DeadLetter(_)) => {}
                    Err(failure) => self.counters.add_failure(failure.reason),
                }
            }
            Event::ReplySent { .. } => add(Count::RepliesSent, 1),
            Event::ReplyFailed { .. } => add(Count::RepliesFailed, 1),
            Event::Published { .. } => add(Count::Published, 1),
            Event::PublishFailed { .. } => add(Count::PublishFailed, 1),
            Event::Replied => add(Count::Replied, 1),
            Event::DeadLettered { .. } => add(Count::DeadLettered, 1),
            Event::Deleted => add(Count::Deleted, 1),
            Event::Released { messages } => add(Count::Released, *messages),
            Event::Interrupted => add(Count::Interrupted, 1),
            Event::Extended | Event::LeaseEnds { .. } => add(Count::Extended, 1),
            Event::ExtensionFailed { .. } => add(Count::ExtensionFailed, 1),
            Event::LeaseLost { .. } => add(Count::LeaseLost, 1),
            Event::Abandoned => add(Count::Abandoned, 1),
            Event::CircuitOpened { .. } => add(Count::CircuitOpened, 1),
            Event::SettleFailed { .. } => add(Count::SettleFailed, 1),
            Event::Panicked { .. } => add(Count::Panicked, 1),
            Event::HeldAlready => add(Count::HeldAlready, 1),
            Event::FinishedAlready => add(Count::FinishedAlready, 1),
            Event::Ready { .. }
            | Event::NotReady { .. }
            | Event::NoHandle
            | Event::ReceiveRecovered
            | Event::Created
            | Event::NotCreated { .. }
            | Event::RetryNotSent
            | Event::Handling { .. }
            | Event::GivenUp { .. }
            | Event::HeldBack
            | Event::RedriveWritten { .. }
            | Event::RedriveNotWritten { .. }
            | Event::SubscribedTo { .. }
            | Event::NotBegun
            | Event::PutBack { .. }
            | Event::DelayShortened { .. }
            | Event::SettleRetried { .. }
            | Event::CircuitProbes
            | Event::CircuitClosed { .. }
            | Event::VisibilityChanged { .. }
            | Event::Ended => {}
        }
    }

    fn log(&self, message: Option<&MessageId>, event: &Event<'_>) {
        let (plugin, queue) = (&*self.source.plugin, &*self.source.queue);
        let id = message.map_or("-", MessageId::as_str);
        // One spelling of the fields that every line has.
        macro_rules! line {
            ($level:ident, $($rest:tt)*) => {
                $level!(plugin, queue, $($rest)*)
            };
        }
        match event {
            Event::Ready {
                url,
                region,
                visibility,
            } => {
                line!(
                    info,
                    url,
                    region = region.unwrap_or("-"),
                    ?visibility,
                    "ready"
                )
            }
            Event::NotReady { error } => {
                line!(
                    warn,
                    "not ready; tried until it is: {error}{}",
                    error.remedy().advice()
                )
            }
            Event::Received { messages } => line!(debug, messages, "received"),
            Event::NoHandle => {
                line!(
                    error,
                    id,
                    "SQS sent a message without a receipt handle; it is skipped"
                )
            }
            Event::ReceiveFailed {
                error,
                still: false,
                pause,
            } => line!(
                warn,
                ?pause,
                "receive failed; tried until it works: {error}{}",
                error.remedy().advice()
            ),
            Event::ReceiveFailed {
                error,
                still: true,
                pause,
            } => {
                line!(debug, ?pause, "receive still fails: {error}")
            }
            Event::ReceiveRecovered => line!(info, "receives again"),
            Event::Created => line!(info, "the queue was missing; it is created"),
            Event::NotCreated { error, still } => {
                let advice = error.remedy().advice();
                if *still {
                    line!(debug, "the queue still cannot be created: {error}")
                } else {
                    line!(
                        warn,
                        "the queue is missing and cannot be created; tried until it can: \
                         {error}{advice}"
                    )
                }
            }
            Event::HeldAlready => line!(
                debug,
                id,
                "received again while it is here: settled with its newest handle"
            ),
            Event::FinishedAlready => line!(
                info,
                id,
                "received again though it was finished: deleted without another handling"
            ),
            Event::Handling { receive_count } => {
                line!(
                    debug,
                    id,
                    receive_count = receive_count.unwrap_or(0),
                    "handling"
                )
            }
            Event::Handled {
                answer: Ok(outcome),
                took,
                ..
            } => line!(debug, id, ?took, outcome = name(outcome), "handled"),
            Event::Handled {
                answer: Err(failure),
                took,
                receive_count,
                again_after,
            } => line!(
                warn,
                id,
                reason = failure.reason.as_str(),
                receive_count = receive_count.unwrap_or(0),
                again_after = again_after.map(tracing::field::debug),
                ?took,
                "handler failed: {}",
                words(&failure.to_string())
            ),
            Event::NotBegun => line!(
                warn,
                id,
                "the lease ended before a handler was free, so the message is not handled here"
            ),
            Event::GivenUp {
                max_receive_count,
                is_past: false,
            } => line!(
                warn,
                id,
                max_receive_count,
                "that was the message's last receive: SQS moves it to the dead-letter queue"
            ),
            Event::GivenUp {
                max_receive_count,
                is_past: true,
            } => line!(
                warn,
                id,
                max_receive_count,
                "the message was received more often than its redrive policy allows: the \
                 dead-letter queue does not take it; see whether it is there"
            ),
            Event::ReplySent { target } => line!(debug, id, to = target, "reply sent"),
            Event::ReplyFailed { error, voice } => {
                line!(
                    warn,
                    id,
                    "what was to be sent was not, so the message is retried: {}",
                    voice.words(&error.to_string())
                )
            }
            // A call may publish, and fail to, without end.
            Event::Published { target, voice } => {
                if tracing::enabled!(tracing::Level::DEBUG) && voice.may_say() {
                    line!(debug, id, to = target, "published");
                }
            }
            Event::PublishFailed { error, voice } => {
                if voice.may_say() {
                    line!(
                        warn,
                        id,
                        "not published, which the handler is told: {}",
                        voice.words(&error.to_string())
                    );
                }
            }
            Event::Replied => line!(debug, id, "replied"),
            Event::DeadLettered { reason } => {
                line!(
                    info,
                    id,
                    "given up, and sent to the dead-letter queue: {}",
                    words(reason)
                )
            }
            Event::HeldBack => line!(
                debug,
                id,
                "put back too: a message before it in its group stays on the queue"
            ),
            Event::RedriveWritten { old, new } => line!(
                info,
                old = old.unwrap_or("none"),
                new,
                "redrive policy written"
            ),
            Event::RedriveNotWritten { error } => line!(
                error,
                "the queue was created anew and its redrive policy is not written, so nothing goes \
                 to the dead-letter queue until the next start: {error}"
            ),
            Event::SubscribedTo {
                topic,
                policy_written,
                pending: false,
            } => line!(info, topic, policy_written, "subscribed"),
            Event::SubscribedTo {
                topic,
                policy_written,
                pending: true,
            } => line!(
                warn,
                topic,
                policy_written,
                "subscribed, but nothing comes until the queue's owner confirms it"
            ),
            Event::Deleted => line!(debug, id, "deleted"),
            Event::PutBack { delay } => line!(debug, id, ?delay, "put back"),
            Event::DelayShortened { asked, given } => line!(
                warn,
                id,
                ?asked,
                ?given,
                "SQS hides a message for twelve hours at most: the delay is shortened"
            ),
            Event::RetryNotSent => line!(
                debug,
                id,
                "the lease is lost, so the message comes back by itself"
            ),
            Event::SettleRetried { error } => line!(debug, id, "settled again: {error}"),
            Event::SettleFailed { error } => line!(
                warn,
                id,
                "not settled; the message comes back when its visibility lapses: {error}"
            ),
            Event::Released { messages } => line!(info, messages, "released"),
            Event::Interrupted => {
                line!(
                    warn,
                    id,
                    "the drain deadline interrupted the handler; the message is released"
                )
            }
            Event::Extended => line!(debug, id, "extended"),
            Event::LeaseEnds { visibility } => line!(
                warn,
                id,
                ?visibility,
                "SQS hides a message for twelve hours at most: this was the last extension"
            ),
            Event::ExtensionFailed { error } => {
                line!(debug, id, "extension failed, tried again: {error}")
            }
            Event::LeaseLost { error } => {
                line!(
                    warn,
                    id,
                    "lease lost; the message may be handled elsewhere too: {error}"
                )
            }
            Event::Abandoned => line!(
                warn,
                id,
                "the lease is lost, so the handler is stopped; the message comes back by itself"
            ),
            Event::CircuitOpened {
                pause,
                failures,
                reason,
            } => line!(
                warn,
                failures,
                reason = reason.as_str(),
                ?pause,
                "the circuit is open: so many messages failed in a row that nothing is received \
                 for a while; see why they fail, a new version closes it at once"
            ),
            Event::CircuitProbes => line!(info, "the circuit is half-open: one message is tried"),
            Event::CircuitClosed { why } => line!(info, "the circuit is closed: {why}"),
            Event::VisibilityChanged { old, new } => {
                line!(
                    info,
                    ?old,
                    ?new,
                    "the queue's visibility timeout has changed"
                )
            }
            Event::Ended => {
                let Snapshot {
                    received,
                    handled,
                    deleted,
                    replied,
                    failed,
                } = self.counters.snapshot();
                line!(info, received, handled, deleted, replied, failed, "ended");
            }
            Event::Panicked { task, message } => {
                line!(
                    error,
                    task,
                    "a task of the host panicked and is started again: {message}"
                )
            }
        }
    }
}

#[cfg(test)]
impl Observer {
    /// Of plugin `p` on queue `q`, with no tap.
    pub(crate) fn of_a_test() -> Self {
        let source = Source {
            plugin: "p".into(),
            queue: "q".into(),
        };
        Self::new(source, None)
    }
}

/// The outcome's name in log lines.
fn name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Ack => "ack",
        Outcome::Drop => "drop",
        Outcome::Retry => "retry",
        Outcome::RetryAfter(_) => "retry-after",
        Outcome::DeadLetter(_) => "dead-letter",
        Outcome::Reply(_) => "reply",
    }
}
