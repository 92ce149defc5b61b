//! The engine's clock reading: a plain number, so that tests can make up any time they like.

use std::time::Duration;

/// Milliseconds since the Unix epoch, as SQS writes its timestamps.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub(crate) struct Time(u64);

impl Time {
    /// The time that lies `millis` milliseconds after the epoch.
    pub(crate) const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the epoch: how message timestamps are given.
    pub(crate) const fn millis(self) -> u64 {
        self.0
    }

    /// Whole seconds since the epoch: how queue timestamps are given.
    pub(crate) const fn seconds(self) -> u64 {
        self.0 / 1000
    }

    /// This time and `seconds` more.
    pub(crate) const fn plus_seconds(self, seconds: u32) -> Self {
        Self(self.0.saturating_add(seconds as u64 * 1000))
    }

    /// Whole seconds from `earlier` until now; zero if `earlier` lies ahead.
    pub(crate) const fn seconds_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0) / 1000
    }

    /// How long from now until `later`; zero if that has passed.
    pub(crate) const fn until(self, later: Self) -> Duration {
        Duration::from_millis(later.0.saturating_sub(self.0))
    }
}
