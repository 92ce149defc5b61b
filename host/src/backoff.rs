//! How long to wait before the next try.

use std::time::Duration;

/// A wait that doubles from `first` to `max`, with jitter, until it is reset.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    first: Duration,
    max: Duration,
    tries: u32,
}

impl Backoff {
    /// A back-off that has not waited yet.
    pub(crate) const fn new(first: Duration, max: Duration) -> Self {
        Self {
            first,
            max,
            tries: 0,
        }
    }

    /// The next wait. `random` is from 0 to 1, and so much of half the wait is taken away: many
    /// hosts that lost the same server do not come back to it at the same moment.
    pub(crate) fn next(&mut self, random: f64) -> Duration {
        let full = doubled(self.first, self.tries, self.max);
        self.tries = self.tries.saturating_add(1);
        full.mul_f64(1.0 - random.clamp(0.0, 1.0) / 2.0)
    }

    /// The next wait, with jitter from the thread's own generator.
    pub(crate) fn next_random(&mut self) -> Duration {
        self.next(rand::random())
    }

    /// Starts over, with another longest wait.
    pub(crate) fn reset_to(&mut self, max: Duration) {
        *self = Self::new(self.first, max);
    }

    /// Starts over.
    pub(crate) fn reset(&mut self) {
        self.tries = 0;
    }
}

/// `first` doubled `times` times, at most `max`.
pub(crate) fn doubled(first: Duration, times: u32, max: Duration) -> Duration {
    // 2^63 of the shortest duration is past every maximum there is.
    first
        .checked_mul(1u32.checked_shl(times.min(31)).unwrap_or(u32::MAX))
        .map_or(max, |full| full.min(max))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    // Rule 2.4: from 100 ms, doubling, to 20 s.
    #[test]
    fn a_wait_doubles_to_its_maximum_and_starts_over_after_a_reset() {
        let mut backoff = Backoff::new(MS(100), MS(20_000));
        let waits: Vec<_> = (0..10).map(|_| backoff.next(0.0).as_millis()).collect();
        assert_eq!(
            waits,
            [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 20_000, 20_000]
        );
        backoff.reset();
        assert_eq!(backoff.next(0.0), MS(100));
    }

    #[test]
    fn jitter_takes_away_at_most_half() {
        assert_eq!(Backoff::new(MS(100), MS(1000)).next(1.0), MS(50));
    }

    #[test]
    fn no_number_of_tries_overflows() {
        assert_eq!(doubled(MS(1000), u32::MAX, MS(300_000)), MS(300_000));
    }
}
