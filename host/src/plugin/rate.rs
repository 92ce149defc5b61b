//! How many log lines a plugin may write (rule 9.4).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::limits::GUEST_LINES;

/// How often it is said that lines were left out.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// The lines of all instances of one version of a plugin. What is over the rate is left out, and one
/// line a second says how many were.
pub(super) struct Lines {
    plugin: Arc<str>,
    /// Shortened.
    digest: Arc<str>,
    rate: Mutex<Rate>,
}

impl Lines {
    pub(super) fn new(plugin: Arc<str>, digest: Arc<str>) -> Self {
        Self {
            plugin,
            digest,
            rate: Mutex::default(),
        }
    }

    /// Whether one more line may be written now.
    pub(super) fn may_write(&self) -> bool {
        let (may, left_out) = self.with(|rate, now| (rate.take(now), rate.told(now)));
        self.tell(left_out);
        may
    }

    /// Says of lines that were left out since it was said last, if that was long enough ago.
    pub(super) fn tell_in_time(&self) {
        let left_out = self.with(|rate, now| rate.told(now));
        self.tell(left_out);
    }

    fn with<T>(&self, look: impl FnOnce(&mut Rate, Instant) -> T) -> T {
        let mut rate = self.rate.lock().unwrap_or_else(PoisonError::into_inner);
        look(&mut rate, Instant::now())
    }

    fn tell(&self, left_out: u64) {
        if left_out > 0 {
            let (plugin, digest) = (&*self.plugin, &*self.digest);
            tracing::warn!(
                plugin,
                digest,
                left_out,
                "log lines were left out: a plugin may write {GUEST_LINES} a second"
            );
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let left_out = self.with(|rate, _| std::mem::take(&mut rate.left_out));
        self.tell(left_out);
    }
}

/// A bucket that holds a second's lines and fills up in a second.
#[derive(Debug, Default)]
struct Rate {
    /// When the bucket is full again.
    full: Option<Instant>,
    /// How many lines were left out that nobody was told of.
    left_out: u64,
    /// When it was told last.
    told: Option<Instant>,
}

impl Rate {
    /// Takes a line out of the bucket, if there is one.
    fn take(&mut self, now: Instant) -> bool {
        let a_line = Duration::from_secs(1) / GUEST_LINES;
        let full = self.full.map_or(now, |full| full.max(now)) + a_line;
        if full - now > Duration::from_secs(1) {
            self.left_out += 1;
            return false;
        }
        self.full = Some(full);
        true
    }

    /// How many lines somebody is to be told of now.
    fn told(&mut self, now: Instant) -> u64 {
        let due = self.told.is_none_or(|told| now - told >= TOLD_EVERY);
        if self.left_out == 0 || !due {
            return 0;
        }
        self.told = Some(now);
        std::mem::take(&mut self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rule 9.4.
    #[test]
    fn a_second_has_so_many_lines_and_what_is_over_them_is_left_out() {
        let (mut rate, start) = (Rate::default(), Instant::now());
        let many = 3 * GUEST_LINES;
        let mut written = |now| (0..many).filter(|_| rate.take(now)).count();
        assert_eq!(written(start), GUEST_LINES as usize);
        assert_eq!(written(start), 0);
        let half = start + Duration::from_millis(500);
        assert_eq!(written(half), GUEST_LINES as usize / 2);
        let later = start + Duration::from_secs(3600);
        assert_eq!(written(later), GUEST_LINES as usize);
    }

    // Rule 9.4.
    #[test]
    fn how_many_were_left_out_is_said_once_a_second() {
        let (mut rate, start) = (Rate::default(), Instant::now());
        assert_eq!(rate.told(start), 0);
        let mut told = Vec::new();
        for ms in 0..3000 {
            let now = start + Duration::from_millis(ms);
            for _ in 0..10 {
                rate.take(now);
            }
            match rate.told(now) {
                0 => {}
                lines => told.push(lines),
            }
        }
        // At the first that is left out, and then each second; the rest at the end.
        assert_eq!(told.len(), 3);
        let expected = 30_000 - 1_000 - 3_000;
        let all = told.iter().sum::<u64>() + rate.left_out;
        assert!(all.abs_diff(expected) <= 10, "{told:?}");
    }
}
