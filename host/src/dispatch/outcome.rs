//! What becomes of a message, by what its handler answered. Pure: tables in, decisions out.

use std::collections::HashSet;
use std::time::Duration;

use crate::backoff::doubled;
use crate::config::RetryPolicy;
use crate::handler::{
    Answer, Failure, GroupId, Header, HeaderValue, Outcome, Reason, Reply, SqsMessage,
};
use crate::limits::{MAX_HEADERS, MAX_REASON};
use crate::sqs::{PARTITION_KEY, RECEIVE_COUNT, is_marked};

/// What is to be done with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// Delete it.
    Delete,
    /// Put it back, to be received again after this long.
    PutBack(Duration),
    /// Send these in order, then delete it.
    Reply(Vec<Reply>),
    /// Send it to the dead-letter queue with this reason, then delete it.
    DeadLetter(String),
}

/// A message of a call, as far as its group's order goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct InGroup<'a> {
    /// Its group, on a FIFO queue.
    pub(super) group: Option<&'a GroupId>,
    /// Whether SQS moves it to the dead-letter queue if it is put back.
    pub(super) is_last: bool,
}

impl InGroup<'_> {
    /// Whether what follows in its group has to come after it, once it is settled so. What is moved
    /// to the dead-letter queue is out of the way, and releasing what follows would only burn the
    /// receives of that.
    pub(super) fn stays(&self, settlement: &Settlement) -> bool {
        matches!(settlement, Settlement::PutBack(_)) && !self.is_last
    }
}

/// Rule 5.12 within one call: after the first message of a group that stays on the queue, those of
/// its group stay too, to come back after it. Answers the places that were changed.
pub(super) fn hold_back(messages: &[InGroup<'_>], settlements: &mut [Settlement]) -> Vec<usize> {
    let mut left = HashSet::new();
    let mut held = Vec::new();
    for (place, (message, settlement)) in messages.iter().zip(settlements).enumerate() {
        let Some(group) = message.group else { continue };
        if left.contains(group) {
            if !matches!(settlement, Settlement::PutBack(_)) {
                held.push(place);
            }
            *settlement = Settlement::PutBack(Duration::ZERO);
        } else if message.stays(settlement) {
            left.insert(group);
        }
    }
    held
}

/// An answer as the subscription can take it. What it cannot is a failure that says what to set.
/// `may_reply` says whether a reply has somewhere to go.
pub fn judge(answer: Answer, may_reply: impl Fn(&Reply) -> bool, has_dead_letter: bool) -> Answer {
    match answer? {
        Outcome::Reply(replies) if replies.is_empty() => Ok(Outcome::Ack),
        Outcome::Reply(replies) if !replies.iter().all(may_reply) => Err(Failure::new(
            Reason::Error,
            "the handler replies, but the subscription has no target: set `reply` to a queue or a \
             topic in the mount file or the descriptor",
        )),
        Outcome::DeadLetter(reason) if !has_dead_letter => Err(Failure::new(
            Reason::Error,
            format!(
                "the handler gives the message up ({reason}), but the subscription has no \
                 dead-letter queue: it is retried; set `dead_letter` and `max_attempts` in the \
                 mount file or the descriptor"
            ),
        )),
        outcome => Ok(outcome),
    }
}

/// What to do with a message that was received `receive_count` times, of a queue whose redrive
/// policy allows `max_receive_count`. `random` is from 0 to 1.
pub fn settlement(
    answer: &Answer,
    receive_count: Option<u32>,
    max_receive_count: Option<u32>,
    retry: &RetryPolicy,
    random: f64,
) -> Settlement {
    match answer {
        Ok(Outcome::Ack) => Settlement::Delete,
        // The next receive would be one too many, so SQS moves the message to the dead-letter
        // queue instead of handing it out (rule 5.2). Where it was handed out all the same, that
        // queue takes nothing now, and a message that comes at once would come at once for ever.
        Ok(Outcome::Drop) if is_last(receive_count, max_receive_count) => {
            Settlement::PutBack(Duration::ZERO)
        }
        Ok(Outcome::Drop) if is_past_last(receive_count, max_receive_count) => {
            Settlement::PutBack(retry_delay(retry, receive_count, random))
        }
        Ok(Outcome::Drop) => Settlement::Delete,
        Ok(Outcome::Retry) => Settlement::PutBack(Duration::ZERO),
        Ok(Outcome::RetryAfter(delay)) => Settlement::PutBack(*delay),
        Ok(Outcome::Reply(replies)) => Settlement::Reply(replies.clone()),
        Ok(Outcome::DeadLetter(reason)) => Settlement::DeadLetter(reason.clone()),
        Err(_) => Settlement::PutBack(retry_delay(retry, receive_count, random)),
    }
}

/// The header of a dead letter that says why its handler gave it up.
const DEAD_LETTER_REASON: &str = "queuelet-dead-letter-reason";

/// A message as it goes to the dead-letter queue: its body and headers, its group on a FIFO queue,
/// and the reason (rule 5.14). Where SQS has no room for another header the reason is left out,
/// for without it the message can be kept.
pub(super) fn dead_letter(message: &SqsMessage, reason: &str) -> Reply {
    // What the host added is no attribute of the message.
    let own = message.headers.iter().filter(|header| {
        ![PARTITION_KEY, RECEIVE_COUNT, DEAD_LETTER_REASON].contains(&header.name.as_str())
    });
    let mut headers: Vec<_> = own.cloned().collect();
    let reason: String = reason.trim().chars().take(MAX_REASON).collect();
    let room = MAX_HEADERS - usize::from(is_marked(&message.body));
    if headers.len() < room && !reason.is_empty() {
        headers.push(Header {
            name: DEAD_LETTER_REASON.into(),
            value: HeaderValue::Text(reason),
            label: None,
        });
    }
    Reply {
        body: message.body.clone(),
        headers,
        group_id: message.group_id.as_ref().map(ToString::to_string),
        ..Reply::default()
    }
}

/// Whether SQS will not hand the message out again: the next receive would be one too many.
pub(super) fn is_last(receive_count: Option<u32>, max_receive_count: Option<u32>) -> bool {
    receive_count.is_some() && receive_count == max_receive_count
}

/// Whether SQS has handed the message out more often than its redrive policy allows: the dead-letter
/// queue is missing, or cannot be written.
pub(super) fn is_past_last(receive_count: Option<u32>, max_receive_count: Option<u32>) -> bool {
    matches!((receive_count, max_receive_count), (Some(count), Some(max)) if count > max)
}

/// How long a failed message waits: the policy's delay, doubled with each receive after the first,
/// less up to its jitter (rule 5.6).
pub fn retry_delay(retry: &RetryPolicy, receive_count: Option<u32>, random: f64) -> Duration {
    let earlier = receive_count.unwrap_or(1).saturating_sub(1);
    let full = doubled(retry.delay, earlier, retry.max_delay);
    full.mul_f64(1.0 - retry.jitter.clamp(0.0, 1.0) * random.clamp(0.0, 1.0))
}

/// One answer per message of a batch (rule 5.9). A call that failed failed for each; a list of the
/// wrong length is no answer at all.
pub fn answers_for(messages: usize, answered: Result<Vec<Answer>, Failure>) -> Vec<Answer> {
    match answered {
        Ok(answers) if answers.len() == messages => answers,
        Ok(answers) => {
            let wrong = Failure::new(
                Reason::Answer,
                format!(
                    "the batch had {messages} messages and the answer has {} results",
                    answers.len()
                ),
            );
            vec![Err(wrong); messages]
        }
        Err(failure) => vec![Err(failure); messages],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    const POLICY: RetryPolicy = RetryPolicy {
        delay: secs(1),
        max_delay: secs(300),
        jitter: 0.5,
    };

    fn failed() -> Answer {
        Err(Failure::new(Reason::Trap, "unreachable"))
    }

    // Rules 5.1 to 5.6, and 5.14.
    #[test]
    fn each_outcome_has_its_settlement() {
        let reply = vec![Reply::default()];
        let table: [(Answer, Settlement); 7] = [
            (Ok(Outcome::Ack), Settlement::Delete),
            (Ok(Outcome::Drop), Settlement::Delete),
            (Ok(Outcome::Retry), Settlement::PutBack(secs(0))),
            (
                Ok(Outcome::RetryAfter(secs(7))),
                Settlement::PutBack(secs(7)),
            ),
            (Ok(Outcome::Reply(reply.clone())), Settlement::Reply(reply)),
            (
                Ok(Outcome::DeadLetter("broken".into())),
                Settlement::DeadLetter("broken".into()),
            ),
            (failed(), Settlement::PutBack(secs(1))),
        ];
        for (answer, want) in table {
            assert_eq!(
                settlement(&answer, Some(1), None, &POLICY, 0.0),
                want,
                "{answer:?}"
            );
        }
    }

    // Rule 5.2.
    #[test]
    fn a_drop_on_the_last_receive_is_left_to_the_dead_letter_queue() {
        let drop = Ok(Outcome::Drop);
        for (count, max, want) in [
            (Some(1), Some(3), Settlement::Delete),
            (Some(3), Some(3), Settlement::PutBack(secs(0))),
            (Some(4), Some(3), Settlement::PutBack(secs(8))),
            (Some(3), None, Settlement::Delete),
            (None, Some(3), Settlement::Delete),
        ] {
            assert_eq!(
                settlement(&drop, count, max, &POLICY, 0.0),
                want,
                "{count:?} of {max:?}"
            );
        }
    }

    // Rule 5.6: 1 s doubling with the receive count to 5 min.
    #[test]
    fn a_failure_waits_longer_with_each_receive() {
        let delays: Vec<_> = (1..=11)
            .map(|count| retry_delay(&POLICY, Some(count), 0.0).as_secs())
            .collect();
        assert_eq!(delays, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(
            retry_delay(&POLICY, Some(3), 1.0),
            secs(2),
            "half is jitter"
        );
        assert_eq!(retry_delay(&POLICY, None, 0.0), secs(1));
    }

    // Rule 5.9.
    #[test]
    fn a_list_of_the_wrong_length_is_a_malformed_answer_for_every_message() {
        for n in [0, 2, 4] {
            let answers = answers_for(3, Ok(vec![Ok(Outcome::Ack); n]));
            assert_eq!(answers.len(), 3);
            for answer in answers {
                assert_eq!(answer.unwrap_err().reason, Reason::Answer, "{n} results");
            }
        }
        assert_eq!(
            answers_for(2, Err(Failure::new(Reason::Trap, "x"))).len(),
            2
        );
    }

    // Rule 1.10.
    #[test]
    fn a_reply_without_a_target_is_a_failure_that_says_what_to_set() {
        let reply = || Ok(Outcome::Reply(vec![Reply::default()]));
        assert!(judge(reply(), |_| true, false).is_ok());
        let failure = judge(reply(), |_| false, true).unwrap_err();
        assert!(failure.message.contains("`reply`"), "{failure}");
        let none = Ok(Outcome::Reply(vec![]));
        assert_eq!(judge(none, |_| false, false), Ok(Outcome::Ack));
    }

    // Rule 5.14.
    #[test]
    fn a_message_given_up_without_a_dead_letter_queue_has_failed() {
        let given_up = || Ok(Outcome::DeadLetter("broken".into()));
        assert!(judge(given_up(), |_| false, true).is_ok());
        let failure = judge(given_up(), |_| true, false).unwrap_err();
        assert_eq!(failure.reason, Reason::Error);
        assert!(failure.message.contains("`dead_letter`"), "{failure}");
        assert!(failure.message.contains("broken"), "{failure}");
    }

    // Rule 5.12: what SQS moves to the dead-letter queue is in nobody's way.
    #[test]
    fn a_message_on_its_last_receive_holds_nobody_back() {
        let a = GroupId::from("A");
        let of = |is_last| InGroup {
            group: Some(&a),
            is_last,
        };
        let mut settlements = [Settlement::PutBack(secs(1)), Settlement::Delete];
        assert!(hold_back(&[of(true), of(true)], &mut settlements).is_empty());
        assert_eq!(settlements[1], Settlement::Delete);
        assert_eq!(hold_back(&[of(false), of(false)], &mut settlements), [1]);
    }

    // Rule 5.12: [A1 fails, B1, A2, B2] in one call.
    #[test]
    fn what_comes_after_a_message_that_stays_stays_too() {
        let (a, b) = (GroupId::from("A"), GroupId::from("B"));
        let groups = [Some(&a), Some(&b), Some(&a), Some(&b), None, Some(&a)];
        let groups = groups.map(|group| InGroup {
            group,
            is_last: false,
        });
        let mut settlements = [
            Settlement::PutBack(secs(1)),
            Settlement::Delete,
            Settlement::Reply(vec![]),
            Settlement::Delete,
            Settlement::PutBack(secs(9)),
            Settlement::PutBack(secs(7)),
        ];
        assert_eq!(hold_back(&groups, &mut settlements), [2]);
        assert_eq!(
            settlements,
            [
                Settlement::PutBack(secs(1)),
                Settlement::Delete,
                Settlement::PutBack(secs(0)),
                Settlement::Delete,
                Settlement::PutBack(secs(9)),
                Settlement::PutBack(secs(0)),
            ]
        );
    }

    // Rules 5.14 and 6.3: the mark of a body that travels base64 takes the last place.
    #[test]
    fn a_dead_letter_has_its_reason_only_where_there_is_room_for_it() {
        let header = |n: usize| Header {
            name: format!("h{n}"),
            value: HeaderValue::Text("v".into()),
            label: None,
        };
        let has_reason = |body: &'static [u8], headers: usize| {
            let message = SqsMessage {
                body: body.into(),
                headers: (0..headers).map(header).collect(),
                ..SqsMessage::default()
            };
            let letter = dead_letter(&message, "no such order");
            letter.headers.iter().any(|h| h.name == DEAD_LETTER_REASON)
        };
        assert!(has_reason(b"text", 9) && !has_reason(b"text", 10));
        assert!(has_reason(b"\0", 8) && !has_reason(b"\0", 9));
    }
}
