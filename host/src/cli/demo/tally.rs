//! Keeps count of what happens, from the host's own events, and says it as it happens.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::handler::{MessageId, Outcome};
use crate::observe::{Event, Source};

/// What happened to the messages of one queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Messages that were handled to the end and deleted.
    pub(super) handled: usize,
    /// Times that a message was put back, to be handed out again.
    pub(super) retried: usize,
    /// Messages handed to a handler although one had finished them, or still had them.
    pub(super) handled_twice: usize,
    messages: HashMap<MessageId, State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    PutBack,
    Finished,
}

impl Tally {
    /// Takes one event of one message.
    pub(super) fn take(&mut self, message: &MessageId, event: &Event<'_>) {
        match event {
            Event::Handling { .. } => {
                let before = self.messages.insert(message.clone(), State::Running);
                if matches!(before, Some(State::Running | State::Finished)) {
                    self.handled_twice += 1;
                }
            }
            Event::Handled { answer, .. } => {
                let state = match answer {
                    Ok(Outcome::Ack | Outcome::Drop | Outcome::Reply(_)) => State::Finished,
                    _ => State::PutBack,
                };
                self.messages.insert(message.clone(), state);
            }
            Event::Deleted => self.handled += 1,
            Event::PutBack { .. } => self.retried += 1,
            _ => {}
        }
    }
}

/// A line that says what happened, where it is worth a line.
pub(super) fn line(
    since: Instant,
    source: &Source,
    message: Option<&MessageId>,
    event: &Event<'_>,
) -> Option<String> {
    let what = match event {
        Event::Received { messages: 1 } => "received 1 message".to_owned(),
        Event::Received { messages } => format!("received {messages} messages"),
        Event::Handling {
            receive_count: Some(count @ 2..),
        } => format!("handling, receive {count}"),
        Event::Handling { .. } => "handling".to_owned(),
        Event::Handled {
            answer: Ok(outcome),
            took,
            ..
        } => format!("{} after {}", name(outcome), short(*took)),
        Event::Handled {
            answer: Err(failure),
            ..
        } => format!("failed, {failure}"),
        Event::Extended => "lease extended".to_owned(),
        Event::GivenUp { .. } => "its last receive: to the dead-letter queue".to_owned(),
        Event::ReplySent { target } => format!("reply sent to {target}"),
        Event::Deleted => "deleted".to_owned(),
        Event::PutBack { delay } => format!("put back for {}", short(*delay)),
        Event::Ready { .. } => "ready".to_owned(),
        _ => return None,
    };
    let id = message.map_or(String::new(), |id| id.as_str().chars().take(8).collect());
    Some(format!(
        "{:6.2}s  {:<9} {id:<8}  {what}",
        since.elapsed().as_secs_f64(),
        source.queue,
    ))
}

fn name(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Ack => "ack".into(),
        Outcome::Drop => "drop".into(),
        Outcome::Retry => "retry".into(),
        Outcome::RetryAfter(delay) => format!("retry_after({})", short(*delay)),
        Outcome::DeadLetter(reason) => format!("dead_letter({reason})"),
        Outcome::Reply(replies) => format!("reply ({})", replies.len()),
    }
}

fn short(duration: Duration) -> String {
    let ms = duration.as_millis();
    if ms < 1000 {
        format!("{ms} ms")
    } else {
        format!("{:.1} s", duration.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(events: &[Event<'_>]) -> (usize, usize, usize) {
        let mut tally = Tally::default();
        for event in events {
            tally.take(&"m".into(), event);
        }
        (tally.handled, tally.retried, tally.handled_twice)
    }

    const HANDLING: Event<'static> = Event::Handling {
        receive_count: None,
    };
    const ACKED: Event<'static> = Event::Handled {
        answer: &Ok(Outcome::Ack),
        took: Duration::ZERO,
        receive_count: None,
        again_after: None,
    };
    const RETRIED: Event<'static> = Event::Handled {
        answer: &Ok(Outcome::Retry),
        took: Duration::ZERO,
        receive_count: None,
        again_after: None,
    };
    const PUT_BACK: Event<'static> = Event::PutBack {
        delay: Duration::ZERO,
    };

    #[test]
    fn a_retry_is_no_second_handling_and_a_redelivery_is() {
        let deleted = || Event::Deleted;
        assert_eq!(
            tally(&[HANDLING, RETRIED, PUT_BACK, HANDLING, ACKED, deleted()]),
            (1, 1, 0)
        );
        assert_eq!(
            tally(&[HANDLING, ACKED, HANDLING]),
            (0, 0, 1),
            "after its end"
        );
        assert_eq!(tally(&[HANDLING, HANDLING]), (0, 0, 1), "while it runs");
    }
}
