//! Looks at a host.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio_util::sync::CancellationToken;

use super::metrics;
use super::readiness::not_ready;
use super::status::{HostState, Status};
use crate::Shutdown;
use crate::host::{PluginStanding, Roster};
use crate::plugin::{Guests, Usage};

/// What there is to see of a host that runs.
#[derive(Clone)]
pub struct HostView {
    roster: Roster,
    guests: Arc<Guests>,
    stop: CancellationToken,
    since: SystemTime,
    began: Instant,
}

/// A host at one moment.
#[derive(Debug)]
pub(super) struct Glance {
    pub(super) now: SystemTime,
    pub(super) since: SystemTime,
    pub(super) uptime: Duration,
    pub(super) state: HostState,
    pub(super) max_instances: NonZeroUsize,
    pub(super) usage: Vec<Usage>,
    pub(super) plugins: Vec<PluginStanding>,
}

impl HostView {
    /// A view of the host that has this roster, whose handlers are these guests, and which this
    /// shutdown stops. It is up from now on.
    pub fn new(roster: Roster, guests: Arc<Guests>, shutdown: &Shutdown) -> Self {
        Self {
            roster,
            guests,
            stop: shutdown.stop.clone(),
            since: SystemTime::now(),
            began: Instant::now(),
        }
    }

    /// How the host is now.
    pub fn status(&self) -> Status {
        Status::of(&self.look())
    }

    /// What is not ready, a line for each; nothing where all is.
    pub fn not_ready(&self) -> Vec<String> {
        not_ready(&self.look())
    }

    /// The metrics in Prometheus's text format.
    pub fn metrics(&self) -> String {
        metrics::text(&self.look())
    }

    fn look(&self) -> Glance {
        let state = if self.stop.is_cancelled() {
            HostState::Draining
        } else if self.roster.has_begun() {
            HostState::Running
        } else {
            HostState::Starting
        };
        let mut plugins = self.roster.plugins();
        // One that was removed is remembered for its versions' numbers.
        plugins.retain(|plugin| plugin.files != "absent" || !plugin.mounts.is_empty());
        Glance {
            now: SystemTime::now(),
            since: self.since,
            uptime: self.began.elapsed(),
            state,
            max_instances: self.guests.max_instances(),
            usage: self.guests.usage(),
            plugins,
        }
    }
}
