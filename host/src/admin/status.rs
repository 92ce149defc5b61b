//! The status of a host as a document. Its shape only grows: names stay, and readers pass over what
//! they do not know.

use std::collections::BTreeMap;
use std::time::SystemTime;

use humantime::format_rfc3339_millis;
use serde::{Deserialize, Serialize};

use super::readiness::{has_substitute, is_substitute, not_ready, why_not};
use super::view::Glance;
use crate::handler::Reason;
use crate::host::{MountStanding, PluginStanding, RefusalStanding, VersionStanding};
use crate::observe::{CircuitState, Count};

/// How a host is. Times are RFC 3339 in UTC, by the host's clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The host's own version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// When this was so.
    pub now: String,
    /// Since when it is up.
    pub since: String,
    /// For how long that is.
    pub uptime_seconds: f64,
    /// What it does.
    pub state: HostState,
    /// Whether nothing of it is not ready: what `/readyz` answers by.
    pub ready: bool,
    /// What is not ready, a line for each.
    pub not_ready: Vec<String>,
    /// The instances of plugins.
    pub instances: InstancesStatus,
    /// Every plugin of the folder by name, those that are refused included.
    pub plugins: Vec<PluginStatus>,
}

/// What a host does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HostState {
    /// It opens its queues.
    Starting,
    /// It receives.
    Running,
    /// It was told to stop: it receives no more, and ends what it holds.
    Draining,
}

impl HostState {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Draining => "draining",
        }
    }
}

/// The instances of all plugins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstancesStatus {
    /// How many there are.
    pub live: usize,
    /// How many there may be.
    pub max: usize,
    /// Those of each plugin.
    pub plugins: Vec<InstancesOf>,
}

/// The instances of one plugin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstancesOf {
    /// The plugin.
    pub plugin: String,
    /// How many answer a call.
    pub busy: usize,
    /// How many idle until the next call.
    pub warm: usize,
    /// How many calls wait for a place.
    pub waiting: usize,
}

/// A plugin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PluginStatus {
    /// Its name: its file's, without `.wasm`.
    pub name: String,
    /// Its file.
    pub file: String,
    /// How its files stand: `absent`, `gone`, `settling`, `loading`, `opening` or `known`.
    pub files: String,
    /// The version that serves, where one does.
    pub serving: Option<VersionStatus>,
    /// Why the files as they are do not serve, where they were refused.
    pub refused: Option<RefusalStatus>,
    /// Its subscriptions, those that are ending included.
    pub mounts: Vec<MountStatus>,
}

/// A version that serves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersionStatus {
    /// Counted from 1 for each plugin.
    pub version: u64,
    /// The SHA-256 of its `.wasm`.
    pub digest: String,
    /// The SHA-256 of its mount file, where there is one.
    pub mount_digest: Option<String>,
    /// The version of the contract that it was built for.
    pub contract: String,
    /// `single` or `batch`.
    pub kind: String,
    /// How many bytes its `.wasm` has.
    pub size: u64,
    /// Since when it serves.
    pub since: String,
    /// How long loading it took, in milliseconds.
    pub load_ms: f64,
}

/// What was refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RefusalStatus {
    /// The SHA-256 of the `.wasm`, where it could be read.
    pub digest: Option<String>,
    /// What is wrong and what to do.
    pub reason: String,
    /// Since when.
    pub since: String,
}

/// A subscription.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MountStatus {
    /// The queue's name.
    pub queue: String,
    /// The queue as its mount names it: its name, URL or ARN.
    pub queue_ref: String,
    /// Which mount of its plugin it is, counted from 1.
    pub mount: usize,
    /// The queue's region: the one that the mount says, else the one that it was found in.
    pub region: Option<String>,
    /// How many messages, or batches, are handled at once.
    pub workers: usize,
    /// The most messages that a receive asks for.
    pub receive: u8,
    /// Where replies go.
    pub reply: Option<String>,
    /// Where messages go that cannot be handled, as the mount says.
    pub dead_letter: Option<String>,
    /// Whether it can receive.
    pub ready: bool,
    /// Why it cannot.
    pub why: Option<String>,
    /// Its circuit.
    pub circuit: CircuitStatus,
    /// Whether another takes its place, or none: it receives no more and only ends what it holds, or
    /// receives on until the other is ready.
    pub ending: bool,
    /// Of one that is ending: whether it receives on until the one that takes its place is ready.
    #[serde(default)]
    pub until_next: bool,
    /// Of one that is not ready: whether the one whose place it takes receives on until it is. The two
    /// have the same counts.
    #[serde(default)]
    pub covered: bool,
    /// What was counted, by the names that the metrics have between `queuelet_` and `_total`.
    pub counts: BTreeMap<String, u64>,
    /// How many handlings failed, by reason.
    pub failed: BTreeMap<String, u64>,
}

/// A circuit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CircuitStatus {
    /// `closed`, `open` or `half-open`.
    pub state: String,
    /// Until when it is open.
    pub until: Option<String>,
    /// Why the last message failed, while it is open.
    #[serde(default)]
    pub reason: Option<String>,
}

impl Status {
    pub(super) fn of(glance: &Glance) -> Self {
        let not_ready = not_ready(glance);
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            now: time(glance.now),
            since: time(glance.since),
            uptime_seconds: glance.uptime.as_secs_f64(),
            state: glance.state,
            ready: not_ready.is_empty(),
            not_ready,
            instances: InstancesStatus::of(glance),
            plugins: glance.plugins.iter().map(PluginStatus::of).collect(),
        }
    }
}

impl InstancesStatus {
    fn of(glance: &Glance) -> Self {
        let plugins = glance.usage.iter().map(|usage| InstancesOf {
            plugin: usage.plugin.clone(),
            busy: usage.busy,
            warm: usage.warm,
            waiting: usage.waiting,
        });
        Self {
            live: glance.usage.iter().map(|of| of.busy + of.warm).sum(),
            max: glance.max_instances.get(),
            plugins: plugins.collect(),
        }
    }
}

impl PluginStatus {
    fn of(plugin: &PluginStanding) -> Self {
        Self {
            name: plugin.name.to_string(),
            file: plugin.file.display().to_string(),
            files: plugin.files.to_owned(),
            serving: plugin.serving.as_ref().map(VersionStatus::of),
            refused: plugin.refused.as_ref().map(RefusalStatus::of),
            mounts: plugin
                .mounts
                .iter()
                .map(|mount| MountStatus::of(plugin, mount))
                .collect(),
        }
    }
}

impl VersionStatus {
    fn of(version: &VersionStanding) -> Self {
        Self {
            version: version.number,
            digest: version.digest.to_string(),
            mount_digest: version.mount_digest.map(|digest| digest.to_string()),
            contract: version.contract.clone(),
            kind: version.kind.to_string(),
            size: version.size,
            since: time(version.since),
            load_ms: version.took.as_secs_f64() * 1e3,
        }
    }
}

impl RefusalStatus {
    fn of(refusal: &RefusalStanding) -> Self {
        Self {
            digest: refusal.digest.map(|digest| digest.to_string()),
            reason: refusal.reason.to_string(),
            since: time(refusal.since),
        }
    }
}

impl MountStatus {
    fn of(plugin: &PluginStanding, mount: &MountStanding) -> Self {
        let subscription = &mount.subscription;
        let why = why_not(&mount.readiness.now());
        let is_ready = why.is_none();
        let region = subscription.region.as_deref();
        let region = region.or_else(|| mount.readiness.region());
        let count = |count: Count| (count.name().to_owned(), mount.counters.get(count));
        let failed = |reason: Reason| {
            let failures = mount.counters.failures(reason);
            (reason.as_str().to_owned(), failures)
        };
        Self {
            queue: subscription.queue.name().to_string(),
            queue_ref: subscription.queue.to_string(),
            mount: subscription.mount + 1,
            region: region.map(str::to_owned),
            workers: subscription.workers.get(),
            receive: subscription.receive.get(),
            reply: subscription.reply.as_ref().map(ToString::to_string),
            dead_letter: subscription.dead_letter.as_ref().map(ToString::to_string),
            ready: is_ready,
            why,
            circuit: CircuitStatus::of(mount.circuit.now()),
            ending: mount.is_ending,
            until_next: is_substitute(plugin, mount),
            covered: !mount.is_ending && !is_ready && has_substitute(plugin, mount),
            counts: Count::ALL.into_iter().map(count).collect(),
            failed: Reason::ALL.into_iter().map(failed).collect(),
        }
    }
}

impl CircuitStatus {
    fn of(circuit: CircuitState) -> Self {
        let open = match circuit {
            CircuitState::Open { until, reason } => Some((until, reason)),
            _ => None,
        };
        Self {
            state: circuit.as_str().to_owned(),
            until: open.map(|(until, _)| time(until)),
            reason: open.map(|(_, reason)| reason.as_str().to_owned()),
        }
    }
}

fn time(time: SystemTime) -> String {
    format_rfc3339_millis(time).to_string()
}
