//! What a pump does about receives that fail: pure, the time is passed in.

use std::time::Duration;

use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::error::{CallError, ErrorClass, Remedy};
use crate::limits::{
    ATTEMPT_ID_FOR, OPERATOR_BACKOFF_MAX, RECEIVE_BACKOFF, RECEIVE_BACKOFF_MAX, RECEIVE_GRACE,
    RECEIVE_LATEST,
};

/// Whether SQS said anything, if only no. After that a receive is another one (rule 2.1).
pub(super) fn is_answer(error: &CallError) -> bool {
    error.code.is_some() || error.class != ErrorClass::Network
}

/// The pause after a receive that took this long and failed. One that hung has had its pause: the
/// next poll starts within the wait and ten seconds.
pub(super) fn pause_after(pause: Duration, took: Duration, wait: Duration) -> Duration {
    if took < wait + RECEIVE_GRACE {
        return pause;
    }
    pause.min((wait + RECEIVE_LATEST).saturating_sub(took))
}

/// The ReceiveRequestAttemptId of a FIFO queue's receives.
#[derive(Default)]
pub(super) struct Attempt {
    /// Of a receive that has had no answer.
    open: Option<Open>,
}

struct Open {
    id: String,
    /// When it was first used.
    since: Instant,
    /// How many messages it asked for.
    max: u8,
}

impl Attempt {
    /// The id of the receive that starts now and asks for `max` messages. SQS knows one for five
    /// minutes; after that, after any answer, and of a receive that asks for another number it is
    /// another: one that is repeated brings what it brought the first time.
    pub(super) fn id(&mut self, now: Instant, max: u8) -> String {
        if let Some(open) = &self.open
            && now < open.since + ATTEMPT_ID_FOR
            && max == open.max
        {
            return open.id.clone();
        }
        let id = format!("{:032x}", rand::random::<u128>());
        self.open = Some(Open {
            id: id.clone(),
            since: now,
            max,
        });
        id
    }

    pub(super) fn answered(&mut self) {
        self.open = None;
    }
}

/// The state of receives that fail: what is wrong, and how long to wait.
pub(super) struct Trouble {
    now: Option<(ErrorClass, Remedy)>,
    /// What kept the queue from being created.
    pub(super) creating: Option<Remedy>,
    backoff: Backoff,
}

impl Trouble {
    pub(super) fn new() -> Self {
        Self {
            now: None,
            creating: None,
            backoff: Backoff::new(RECEIVE_BACKOFF, RECEIVE_BACKOFF_MAX),
        }
    }

    /// Another failure: whether it is the same trouble as before, and the wait.
    pub(super) fn next(&mut self, class: ErrorClass, remedy: Remedy) -> (bool, Duration) {
        let passed = self.now.map(|(class, _)| class.passes());
        if passed != Some(class.passes()) {
            self.backoff.reset_to(if class.passes() {
                RECEIVE_BACKOFF_MAX
            } else {
                OPERATOR_BACKOFF_MAX
            });
        }
        let still = self.now == Some((class, remedy));
        self.now = Some((class, remedy));
        (still, self.backoff.next_random())
    }

    /// A receive succeeded: what the trouble was, if there had been any.
    pub(super) fn over(&mut self) -> Option<ErrorClass> {
        self.creating = None;
        self.now.take().map(|(class, _)| class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    // Rule 2.1: SQS knows an attempt id for five minutes.
    #[test]
    fn an_attempt_id_is_repeated_for_five_minutes_at_most() {
        let start = Instant::now();
        let mut attempt = Attempt::default();
        let id = attempt.id(start, 10);
        assert_eq!(attempt.id(start + ATTEMPT_ID_FOR - SECOND, 10), id);
        assert_ne!(attempt.id(start + ATTEMPT_ID_FOR, 10), id);
    }

    // Rules 2.1 and 5.12: a receive of one message is not a repeated receive of ten.
    #[test]
    fn a_receive_that_asks_for_another_number_is_another() {
        let start = Instant::now();
        let mut attempt = Attempt::default();
        let id = attempt.id(start, 10);
        assert_ne!(attempt.id(start, 1), id);
    }

    // Rule 2.4: one line a change of what is to be done, whatever the class.
    #[test]
    fn another_remedy_is_another_trouble_and_the_back_off_goes_on() {
        let mut trouble = Trouble::new();
        let denied = ErrorClass::Denied;
        assert!(!trouble.next(denied, Remedy::Permission).0);
        assert!(trouble.next(denied, Remedy::Permission).0);
        for _ in 0..10 {
            trouble.next(denied, Remedy::Permission);
        }
        let (still, pause) = trouble.next(denied, Remedy::Renew);
        assert!(!still && pause >= SECOND * 30, "{pause:?}");
        let (still, pause) = trouble.next(ErrorClass::Network, Remedy::None);
        assert!(!still && pause <= RECEIVE_BACKOFF);
        assert_eq!(trouble.over(), Some(ErrorClass::Network));
        assert_eq!(trouble.over(), None);
    }

    // Rule 2.4: 100 ms doubling to 20 s where it passes by itself, to 60 s where a person mends it.
    #[test]
    fn the_back_off_of_a_trouble_grows_to_what_its_class_allows() {
        for (class, longest) in [
            (ErrorClass::Throttled, 20),
            (ErrorClass::Network, 20),
            (ErrorClass::Denied, 60),
            (ErrorClass::Missing, 60),
        ] {
            let mut trouble = Trouble::new();
            let first = trouble.next(class, Remedy::None).1;
            assert!(first <= RECEIVE_BACKOFF, "{class}: {first:?}");
            let pauses: Vec<_> = (0..20)
                .map(|_| trouble.next(class, Remedy::None).1)
                .collect();
            assert!(pauses.iter().all(|pause| *pause <= SECOND * longest));
            let last = pauses[pauses.len() - 1];
            assert!(last >= SECOND * longest / 2, "{class}: {last:?}");
        }
    }

    // Rule 2.1: one that hung has waited already; one that was refused at once has not.
    #[test]
    fn the_pause_after_a_receive_that_hung_ends_within_ten_seconds_of_its_wait() {
        let (pause, wait) = (SECOND * 20, SECOND * 20);
        assert_eq!(pause_after(pause, SECOND, wait), pause);
        assert_eq!(pause_after(pause, SECOND * 25, wait), SECOND * 5);
        assert_eq!(pause_after(SECOND, SECOND * 26, wait), SECOND);
        assert_eq!(pause_after(pause, SECOND * 40, wait), Duration::ZERO);
    }
}
