//! When a subscription stops receiving because its handler keeps failing, and when it tries again
//! (rule 8.7). Pure: times and answers in, decisions out.
//!
//! Invariants: what a version says counts only while it is the live one; while the circuit is
//! half-open at most one message is tried; a success closes the circuit however it stands.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

use crate::backoff::doubled;
use crate::config::Circuit as Settings;
use crate::handler::{MessageId, Reason};
use crate::observe::Closing;
use crate::sqs::TrialId;

/// What a receive is told that would begin now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// It may.
    Any,
    /// It may, for one message.
    One(TrialId),
    /// It waits, until then at the longest.
    Until(Instant),
    /// It waits until the message that is tried has been answered.
    Answered,
}

/// What is to be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Opened {
        pause: Duration,
        failures: u32,
        reason: Reason,
    },
    Probes,
    Closed(Closing),
}

/// What became of a message that a handler was called with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answered<'a> {
    /// The version that was called.
    pub(super) version: u64,
    pub(super) message: Option<&'a MessageId>,
    /// Of a message that is tried.
    pub(super) trial: Option<TrialId>,
    /// Why it failed, where it did (rule 5.6).
    pub(super) failed: Option<Reason>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Open {
        until: Instant,
    },
    /// One message at a time is tried: this one now.
    HalfOpen {
        trial: Option<TrialId>,
    },
}

/// The circuit of one subscription.
#[derive(Debug)]
pub(super) struct Breaker {
    /// The version that it is about.
    version: u64,
    state: State,
    /// The messages that failed since the last success, while it is closed. One that fails again and
    /// again is that message's fault, not the handler's.
    row: HashSet<MessageId>,
    /// How many messages failed since the last success, those that were tried included.
    failures: u32,
    /// How often it opened since the last success.
    openings: u32,
    trials: u64,
}

impl Breaker {
    /// A closed one, of a version that has not failed yet.
    pub(super) fn new(version: u64) -> Self {
        Self {
            version,
            state: State::Closed,
            row: HashSet::new(),
            failures: 0,
            openings: 0,
            trials: 0,
        }
    }

    /// This version is live: another one than before begins with a closed circuit.
    pub(super) fn serves(&mut self, version: u64) -> Option<Change> {
        if self.version == version {
            return None;
        }
        self.version = version;
        self.close(Closing::Reloaded)
    }

    /// What a receive is told that would begin at `now`.
    pub(super) fn ask(&mut self, now: Instant) -> (Ask, Option<Change>) {
        let change = match self.state {
            State::Closed => return (Ask::Any, None),
            State::Open { until } if now < until => return (Ask::Until(until), None),
            State::HalfOpen { trial: Some(_) } => return (Ask::Answered, None),
            State::Open { .. } => Some(Change::Probes),
            State::HalfOpen { trial: None } => None,
        };
        let trial = TrialId(self.trials);
        self.trials += 1;
        self.state = State::HalfOpen { trial: Some(trial) };
        (Ask::One(trial), change)
    }

    /// A message was answered at `now`.
    pub(super) fn answered(
        &mut self,
        now: Instant,
        answered: Answered<'_>,
        settings: &Settings,
    ) -> Option<Change> {
        if answered.version != self.version {
            return None;
        }
        let Some(reason) = answered.failed else {
            return self.close(Closing::Handled);
        };
        let opens = match self.state {
            State::Closed => {
                let message = answered.message.filter(|_| settings.after > 0)?;
                if !self.row.insert(message.clone()) {
                    return None;
                }
                self.failures += 1;
                self.failures >= settings.after
            }
            State::HalfOpen { trial: Some(trial) } if answered.trial == Some(trial) => {
                self.failures = self.failures.saturating_add(1);
                true
            }
            // Of what was received before it opened.
            State::Open { .. } | State::HalfOpen { .. } => false,
        };
        opens.then(|| self.open(now, reason, settings))
    }

    /// The trial has ended. Where its message was not answered, nothing is known yet.
    pub(super) fn over(&mut self, trial: TrialId) {
        if self.state == (State::HalfOpen { trial: Some(trial) }) {
            self.state = State::HalfOpen { trial: None };
        }
    }

    fn open(&mut self, now: Instant, reason: Reason, settings: &Settings) -> Change {
        let pause = doubled(settings.pause, self.openings, settings.max_pause);
        self.openings = self.openings.saturating_add(1);
        self.row = HashSet::new();
        self.state = State::Open { until: now + pause };
        Change::Opened {
            pause,
            failures: self.failures,
            reason,
        }
    }

    fn close(&mut self, why: Closing) -> Option<Change> {
        let was = std::mem::replace(&mut self.state, State::Closed);
        self.row.clear();
        self.failures = 0;
        self.openings = 0;
        (was != State::Closed).then_some(Change::Closed(why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn settings(after: u32) -> Settings {
        Settings {
            after,
            pause: secs(5),
            max_pause: secs(30),
        }
    }

    /// What happens to a breaker of version 1.
    #[derive(Clone, Copy, Debug)]
    enum On {
        /// This message fails.
        Fails(&'static str),
        /// This message is handled.
        Handled(&'static str),
        /// This message fails on a version that is not live.
        OfVersion(u64),
        /// This version is live.
        Serves(u64),
    }
    use On::{Fails, Handled, OfVersion, Serves};

    fn answer(
        breaker: &mut Breaker,
        now: Instant,
        on: On,
        trial: Option<TrialId>,
        settings: &Settings,
    ) -> Option<Change> {
        let (version, id, failed) = match on {
            Serves(version) => return breaker.serves(version),
            Fails(id) => (breaker.version, id, Some(Reason::Trap)),
            Handled(id) => (breaker.version, id, None),
            OfVersion(version) => (version, "other", Some(Reason::Trap)),
        };
        let answered = Answered {
            version,
            message: Some(&id.into()),
            trial,
            failed,
        };
        breaker.answered(now, answered, settings)
    }

    /// The last of a circuit's changes, after these.
    fn after(all: &[On], settings: &Settings) -> Option<Change> {
        let (mut breaker, now) = (Breaker::new(1), Instant::now());
        let mut change = None;
        for on in all {
            change = answer(&mut breaker, now, *on, None, settings).or(change);
        }
        change
    }

    // Rule 8.7: different messages, in a row, of the live version.
    #[test]
    fn a_circuit_opens_once_so_many_different_messages_failed_in_a_row() {
        let (opened, row) = (true, [Fails("a"), Fails("b"), Fails("c")]);
        for (on, after_failures, opens) in [
            (&row[..], 3, opened),
            (&row[..2], 3, !opened),
            (&row[..], 4, !opened),
            (&row[..], 0, !opened),
            (&row[..1], 1, opened),
            (
                &[Fails("a"), Fails("a"), Fails("a"), Fails("a")],
                3,
                !opened,
            ),
            (&[Fails("a"), Fails("b"), Fails("a"), Fails("c")], 3, opened),
            (
                &[Fails("a"), Fails("b"), Handled("x"), Fails("c")],
                3,
                !opened,
            ),
            (
                &[Fails("a"), Fails("b"), OfVersion(2), OfVersion(0)],
                3,
                !opened,
            ),
            (&[Fails("a"), Fails("b"), Serves(2), Fails("c")], 3, !opened),
        ] {
            let want = opens.then_some(Change::Opened {
                pause: secs(5),
                failures: after_failures,
                reason: Reason::Trap,
            });
            assert_eq!(after(on, &settings(after_failures)), want, "{on:?}");
        }
    }

    /// A breaker that has just opened, for five seconds from `now`.
    fn open(now: Instant) -> Breaker {
        let mut breaker = Breaker::new(1);
        let change = answer(&mut breaker, now, Fails("a"), None, &settings(1));
        assert!(matches!(change, Some(Change::Opened { .. })));
        breaker
    }

    // Rule 8.7: nothing is received until the pause is over, then one message at a time.
    #[test]
    fn an_open_circuit_lets_one_message_through_once_its_pause_is_over() {
        let now = Instant::now();
        let mut breaker = open(now);
        let until = Ask::Until(now + secs(5));
        assert_eq!(breaker.ask(now), (until, None));
        assert_eq!(breaker.ask(now + secs(4)), (until, None));
        let (first, second) = (TrialId(0), TrialId(1));
        let probes = (Ask::One(first), Some(Change::Probes));
        assert_eq!(breaker.ask(now + secs(5)), probes);
        assert_eq!(breaker.ask(now + secs(60)), (Ask::Answered, None));
        // Its receive was empty: that is told once, and tried again.
        breaker.over(first);
        assert_eq!(breaker.ask(now + secs(60)), (Ask::One(second), None));
        breaker.over(first);
        assert_eq!(breaker.ask(now + secs(60)), (Ask::Answered, None));
    }

    // Rule 8.7: each failed probe doubles the pause, to its longest.
    #[test]
    fn the_pause_grows_with_each_failed_probe_and_a_success_resets_it() {
        let (mut now, settings) = (Instant::now(), settings(1));
        let mut breaker = open(now);
        let mut pauses = Vec::new();
        let mut fail = |breaker: &mut Breaker, of: Duration| {
            now += of;
            let (Ask::One(trial), _) = breaker.ask(now) else {
                panic!("not half-open after {of:?}");
            };
            match answer(breaker, now, Fails("a"), Some(trial), &settings) {
                Some(Change::Opened {
                    pause, failures, ..
                }) => (pause, failures),
                change => panic!("{change:?}"),
            }
        };
        let mut pause = secs(5);
        for _ in 0..4 {
            let (next, failures) = fail(&mut breaker, pause);
            pauses.push((next.as_secs(), failures));
            pause = next;
        }
        assert_eq!(pauses, [(10, 2), (20, 3), (30, 4), (30, 5)]);

        let closed = answer(&mut breaker, now, Handled("b"), None, &settings);
        assert_eq!(closed, Some(Change::Closed(Closing::Handled)));
        assert_eq!(breaker.ask(now), (Ask::Any, None));
        let Some(Change::Opened { pause, .. }) =
            answer(&mut breaker, now, Fails("c"), None, &settings)
        else {
            panic!("it did not open");
        };
        assert_eq!(pause, secs(5));
    }

    // Rule 8.7: of what was received before it opened, a failure is nothing new.
    #[test]
    fn only_the_message_that_is_tried_opens_a_half_open_circuit_again() {
        let (now, settings) = (Instant::now(), settings(1));
        let mut breaker = open(now);
        assert_eq!(answer(&mut breaker, now, Fails("b"), None, &settings), None);
        let (Ask::One(trial), _) = breaker.ask(now + secs(5)) else {
            panic!("not half-open");
        };
        for other in [None, Some(TrialId(9))] {
            let change = answer(&mut breaker, now, Fails("b"), other, &settings);
            assert_eq!(change, None);
        }
        let change = answer(&mut breaker, now, Fails("b"), Some(trial), &settings);
        assert!(matches!(change, Some(Change::Opened { .. })), "{change:?}");
    }

    // Rule 8.7: a reload closes it, and what the version before it still says counts no more.
    #[test]
    fn another_version_begins_with_a_closed_circuit() {
        let (now, settings) = (Instant::now(), settings(1));
        for half_open in [false, true] {
            let mut breaker = open(now);
            if half_open {
                breaker.ask(now + secs(5));
            }
            assert_eq!(breaker.serves(1), None);
            assert_eq!(breaker.serves(2), Some(Change::Closed(Closing::Reloaded)));
            assert_eq!(breaker.ask(now), (Ask::Any, None));
            let trial = Some(TrialId(0));
            let change = answer(&mut breaker, now, OfVersion(1), trial, &settings);
            assert_eq!(change, None);
            assert_eq!(breaker.ask(now), (Ask::Any, None));
        }
    }
}
