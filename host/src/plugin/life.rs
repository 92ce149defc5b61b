//! Whether an instance that answered may answer again: the decision alone.

use tokio::time::Instant;

use crate::config::Reuse;

/// What an instance has been through.
#[derive(Clone, Copy, Debug)]
pub(super) struct Life {
    born: Instant,
    messages: u64,
    /// Its memory after its first call, in bytes.
    memory: Option<usize>,
}

/// Why an instance is not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retired {
    /// It has had as many messages as it may.
    Messages,
    /// It is too old.
    Age,
    /// Its memory grew too much.
    Growth,
}

impl Life {
    pub(super) fn begin(now: Instant) -> Self {
        Self {
            born: now,
            messages: 0,
            memory: None,
        }
    }

    /// After a call that ended well, with so many messages, and with so much memory in use at its
    /// end. What a call leaves behind counts from the first one on: that one fills the caches and
    /// the heap of any guest.
    pub(super) fn after_call(
        &mut self,
        reuse: &Reuse,
        messages: u64,
        memory: usize,
        now: Instant,
    ) -> Option<Retired> {
        self.messages = self.messages.saturating_add(messages);
        let first = *self.memory.get_or_insert(memory);
        if self.messages >= reuse.messages.get() {
            Some(Retired::Messages)
        } else if memory.saturating_sub(first) > reuse.growth {
            Some(Retired::Growth)
        } else if self.until(reuse).is_some_and(|until| until <= now) {
            Some(Retired::Age)
        } else {
            None
        }
    }

    /// When it will be too old; none where that is beyond the clock.
    pub(super) fn until(&self, reuse: &Reuse) -> Option<Instant> {
        self.born.checked_add(reuse.age)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;
    use std::time::Duration;

    use super::*;

    // Rule 9.3.
    #[tokio::test]
    async fn an_instance_is_retired_by_messages_age_or_growth_whichever_comes_first() {
        let reuse = Reuse {
            messages: NonZeroU64::new(10).expect("it is not 0"),
            age: Duration::from_secs(60),
            growth: 100,
        };
        /// Messages, memory, seconds since the instance's birth.
        type Called = (u64, usize, u64);
        // Calls; and what becomes of the instance after the last.
        let table: &[(&[Called], Option<Retired>)] = &[
            (&[(1, 5_000, 0)], None),
            (&[(9, 0, 0)], None),
            (&[(10, 0, 0)], Some(Retired::Messages)),
            // A batch counts its messages.
            (&[(4, 0, 0), (4, 0, 0), (4, 0, 0)], Some(Retired::Messages)),
            (&[(1, 0, 59)], None),
            (&[(1, 0, 60)], Some(Retired::Age)),
            // What it had after the first call is its own.
            (&[(1, 5_000, 0), (1, 5_100, 0)], None),
            (&[(1, 5_000, 0), (1, 5_101, 0)], Some(Retired::Growth)),
            (
                &[(1, 5_000, 0), (1, 5_060, 1), (1, 5_120, 2)],
                Some(Retired::Growth),
            ),
        ];
        for (calls, expected) in table {
            let born = Instant::now();
            let mut life = Life::begin(born);
            let mut fates: Vec<_> = calls
                .iter()
                .map(|(messages, memory, secs)| {
                    let now = born + Duration::from_secs(*secs);
                    life.after_call(&reuse, *messages, *memory, now)
                })
                .collect();
            assert_eq!(fates.pop(), Some(*expected), "{calls:?}");
            assert!(fates.iter().all(Option::is_none), "{calls:?}");
        }
    }
}
