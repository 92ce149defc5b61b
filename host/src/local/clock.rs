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
        let ahead = wall().saturating_sub(counted);
        let mut offset = self.offset.load(Ordering::Relaxed);
        if ahead > offset.saturating_add(LEAP) {
            offset = self.offset.fetch_max(ahead, Ordering::Relaxed).max(ahead);
        }
        Time::from_millis(offset.saturating_add(counted))
    }
}

fn wall() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
