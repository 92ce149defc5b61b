//! What time it is, for the engine.
//!
//! Deadlines must run on the clock that the timers run on, or a timer that fires finds nothing due
//! yet; and they must not stand still or start over when the wall clock is set back. So the time
//! here is where the wall clock stood at the start, and what the timers' clock counted since. Only a
//! machine that slept makes the two differ by much, as the timers' clock sleeps along: then the time
//! leaps forward to the wall clock, as it would have passed on AWS.

use super::engine::time::Time;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

/// How far the wall clock must have run ahead for it to be a sleep of the machine, in milliseconds.
const LEAP: u64 = 10_000;

/// Tells the time.
#[derive(Debug)]
pub(crate) struct Clock {
    origin: Instant,
    /// The time at the origin, with the leaps made since.
    offset: AtomicU64,
}

impl Clock {
    /// A clock that starts at the wall clock's time.
    pub(crate) fn new() -> Self {
        Self {
            origin: Instant::now(),
            offset: AtomicU64::new(wall()),
        }
    }

    /// The time now. It never goes back.
    pub(crate) fn now(&self) -> Time {
        let counted = u64::try_from(self.origin.elapsed().as_millis()).unwrap_or(u64::MAX);
        let offset = self.offset.load(Ordering::Relaxed);
        let leapt = leap(offset, counted, wall());
        if leapt > offset {
            self.offset.fetch_max(leapt, Ordering::Relaxed);
        }
        Time::from_millis(leapt.saturating_add(counted))
    }
}

/// The offset to go on with, when the timers' clock has counted `counted` since the origin and the
/// wall clock reads `wall`.
fn leap(offset: u64, counted: u64, wall: u64) -> u64 {
    let ahead = wall.saturating_sub(counted);
    if ahead > offset.saturating_add(LEAP) {
        ahead
    } else {
        offset
    }
}

fn wall() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_leaps_after_a_sleep_of_the_machine_and_never_goes_back() {
        let started = 10_000_000;
        // Counted, the wall clock, the time that is told.
        let table = [
            (5_000, started + 5_000, started + 5_000),
            (5_000, started + 14_000, started + 5_000),
            (5_000, started + 3_600_000, started + 3_600_000),
            (5_000, started - 3_600_000, started + 5_000),
            (5_000, 0, started + 5_000),
        ];
        for (counted, wall, told) in table {
            assert_eq!(
                leap(started, counted, wall) + counted,
                told,
                "{counted} {wall}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_runs_with_the_timers() {
        let clock = Clock::new();
        let before = clock.now();
        tokio::time::advance(std::time::Duration::from_secs(30)).await;
        assert_eq!(clock.now(), before.plus_seconds(30));
    }
}
