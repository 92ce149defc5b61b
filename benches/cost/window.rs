//! The part of a run that is measured: from one deleted message to another, so that neither the
//! start nor the end of a subscription is in it.

use std::ops::Range;
use std::sync::Mutex;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::allocator::{self, Allocated};

/// What a message costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// How many allocations, those that a list grows by included.
    pub allocations: f64,
    /// How many bytes are asked for by them.
    pub bytes: f64,
    /// The CPU time of the whole process, in microseconds.
    pub cpu: f64,
}

/// Between which messages is measured.
pub(super) struct Window {
    between: Range<usize>,
    /// Whether to remember who allocates.
    remembers: bool,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    begun: Option<Reading>,
    ended: Option<Reading>,
}

#[derive(Clone, Copy)]
struct Reading {
    allocated: Allocated,
    cpu: Duration,
    messages: usize,
}

impl Window {
    pub(super) fn new(between: Range<usize>, remembers: bool) -> Self {
        Self {
            between,
            remembers,
            seen: Mutex::default(),
        }
    }

    /// Messages have been deleted: so many there were before, so many there are now.
    pub(super) fn passes(&self, before: usize, now: usize) {
        let crosses = |place: usize| before < place && place <= now;
        if crosses(self.between.start) {
            let mut seen = self.seen.lock().expect("nobody panics with it");
            seen.begun = Some(Reading::at(now));
            allocator::remember(self.remembers);
            allocator::count(true);
        }
        if crosses(self.between.end) {
            allocator::count(false);
            allocator::remember(false);
            let mut seen = self.seen.lock().expect("nobody panics with it");
            seen.ended = Some(Reading::at(now));
        }
    }

    /// How many messages were measured, and what each cost.
    ///
    /// # Panics
    /// Where it is not over.
    pub(super) fn cost(&self) -> (usize, Cost) {
        let seen = self.seen.lock().expect("nobody panics with it");
        let (begun, ended) = (seen.begun.expect("it began"), seen.ended.expect("it ended"));
        let messages = ended.messages - begun.messages;
        let each = |total: u64| total as f64 / messages as f64;
        let cost = Cost {
            allocations: each(ended.allocated.allocations - begun.allocated.allocations),
            bytes: each(ended.allocated.bytes - begun.allocated.bytes),
            cpu: (ended.cpu - begun.cpu).as_secs_f64() * 1e6 / messages as f64,
        };
        (messages, cost)
    }
}

impl Reading {
    fn at(messages: usize) -> Self {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        Self {
            allocated: Allocated::now(),
            cpu: Duration::try_from(cpu).unwrap_or_default(),
            messages,
        }
    }
}
