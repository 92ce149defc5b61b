//! Whether a host is ready, and what is not. Pure.
//!
//! A host is ready when every subscription that is to go on can receive. One that gives way to
//! another speaks for it until that one's queue is open. An open circuit is no lack of readiness: the
//! queue is there and so is the host, its handler is what fails, and another pod would fare no
//! better. Neither is a refused file: the version before it serves.

use std::sync::Arc;

use super::status::HostState;
use super::view::Glance;
use crate::host::{MountStanding, PluginStanding};
use crate::observe::Ready;

/// What is not ready, a line for each.
pub(super) fn not_ready(glance: &Glance) -> Vec<String> {
    match glance.state {
        HostState::Starting => vec!["the host is starting: its queues are being opened".into()],
        HostState::Draining => vec!["the host is draining: it was told to stop".into()],
        HostState::Running => glance.plugins.iter().flat_map(of_plugin).collect(),
    }
}

fn of_plugin(plugin: &PluginStanding) -> impl Iterator<Item = String> {
    let mounts = plugin.mounts.iter().filter(|mount| !mount.is_ending);
    mounts.filter_map(|mount| {
        let why = why_not(&mount.readiness.now())?;
        let queue = mount.subscription.queue.name();
        let says = || format!("{} on {queue}: {why}", plugin.name);
        (!has_substitute(plugin, mount)).then(says)
    })
}

/// Whether the subscription whose place it takes receives still. The two share their counts.
pub(super) fn has_substitute(plugin: &PluginStanding, mount: &MountStanding) -> bool {
    plugin.mounts.iter().any(|other| {
        other.is_ending
            && other.readiness.is_ready()
            && Arc::ptr_eq(&other.counters, &mount.counters)
    })
}

/// Whether it receives on only until the subscription that takes its place can.
pub(super) fn is_substitute(plugin: &PluginStanding, mount: &MountStanding) -> bool {
    mount.is_ending
        && mount.readiness.is_ready()
        && plugin.mounts.iter().any(|other| {
            !other.is_ending
                && !other.readiness.is_ready()
                && Arc::ptr_eq(&other.counters, &mount.counters)
        })
}

/// Why a subscription cannot receive, where it cannot.
pub(super) fn why_not(ready: &Ready) -> Option<String> {
    match ready {
        Ready::Yes => None,
        Ready::Opening => Some("its queue is not open yet".into()),
        Ready::No { why } => Some(why.to_string()),
        Ready::Ended => Some("it has ended".into()),
    }
}
