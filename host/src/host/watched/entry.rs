//! One plugin of the folder: its machine, its versions, its subscriptions.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::super::mounts::Fed;
use super::super::opener::Prepared;
use super::super::roster::{MountStanding, PluginStanding, RefusalStanding, VersionStanding};
use super::super::version::{LiveMount, MountId, Slot};
use crate::Shutdown;
use crate::config::{Note, SqsSubscription};
use crate::dispatch::Serving;
use crate::handler::{Handler as _, HandlerKind};
use crate::observe::{Observer, PluginEvent};
use crate::reload::load::Candidate;
use crate::reload::machine::{Machine, Refusal};
use crate::reload::stamp::Stem;
use crate::reload::surroundings::Mount;
use crate::shown::Shown;

/// One subscription, from its opening to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunId(pub(super) u64);

/// A subscription that runs.
pub(super) struct Run {
    pub(super) id: RunId,
    pub(super) subscription: Arc<SqsSubscription>,
    /// What it is fed.
    pub(super) kind: HandlerKind,
    pub(super) live: Arc<LiveMount>,
    pub(super) observer: Observer,
    pub(super) shutdown: Shutdown,
    /// Those whose place it takes: they go on until its queue is open.
    pub(super) before: Vec<Shutdown>,
    /// Whether it was told to end, or to give way to another.
    pub(super) is_leaving: bool,
}

/// A mount of a version that comes.
pub(super) struct Planned {
    pub(super) mount: MountId,
    pub(super) serving: Serving,
    /// The subscription that it is for now.
    pub(super) now: Option<RunId>,
    /// What is opened for it; none where the subscription goes on.
    pub(super) prepared: Option<Arc<Prepared>>,
    /// What the subscription that is opened sees of the versions.
    pub(super) live: Option<Arc<LiveMount>>,
}

/// A version that could serve, on its way.
pub(super) struct Coming {
    pub(super) candidate: Box<Candidate>,
    pub(super) mounts: Vec<Mount>,
    pub(super) notes: Vec<Note>,
    pub(super) planned: Vec<Planned>,
}

/// A plugin.
pub(super) struct Entry {
    /// Its name in log lines.
    pub(super) name: Arc<str>,
    pub(super) machine: Machine,
    /// The live version.
    pub(super) slot: Arc<Slot>,
    pub(super) runs: Vec<Run>,
    pub(super) coming: Option<Coming>,
    /// When it was said last that it is refused.
    refused_at: Option<SystemTime>,
}

impl Entry {
    pub(super) fn new(stem: &Stem, machine: Machine) -> Self {
        Self {
            name: stem.to_string_lossy().into(),
            machine,
            slot: Arc::default(),
            runs: Vec::new(),
            coming: None,
            refused_at: None,
        }
    }

    /// The subscriptions that are to go on.
    pub(super) fn staying(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| !run.is_leaving)
    }

    pub(super) fn run(&mut self, id: RunId) -> Option<&mut Run> {
        self.runs.iter_mut().find(|run| run.id == id)
    }

    /// How it stands.
    pub(super) fn standing(&self, file: PathBuf) -> PluginStanding {
        let version = self.slot.load_full();
        let refused = self.machine.refused().zip(self.refused_at);
        // At the start the machine counts on what has yet to be opened.
        let files = match (&version, &self.coming) {
            (None, Some(_)) => "opening",
            _ => self.machine.files(),
        };
        PluginStanding {
            name: Arc::clone(&self.name),
            file,
            files,
            serving: version.map(|version| VersionStanding {
                number: version.number,
                digest: version.content.wasm,
                mount_digest: version.content.toml,
                contract: version.plugin.contract().to_owned(),
                kind: version.plugin.kind(),
                size: version.size,
                since: version.since,
                took: version.took,
            }),
            refused: refused.map(|(refusal, since)| RefusalStanding {
                digest: refusal.digest,
                reason: refusal.reason.clone(),
                since,
            }),
            mounts: self.runs.iter().map(Run::standing).collect(),
        }
    }

    /// Says what is refused, and what serves on.
    pub(super) fn say_refused(&mut self, file: &Path, refusal: &Refusal) {
        self.refused_at = Some(SystemTime::now());
        let serving = self.machine.serving();
        // The code is what serves, so it is its mount that does not.
        let mount = serving
            .is_some_and(|version| Some(version.content.wasm) == refusal.digest)
            .then(|| file.with_extension("toml"));
        // Both may hold what a stranger wrote.
        let file = mount.as_deref().unwrap_or(file).to_string_lossy();
        let file = Shown::sentence(&file).to_string();
        let reason = Shown::sentence(&refusal.reason).to_string();
        PluginEvent::Refused {
            file: Path::new(&file),
            digest: refusal.digest,
            reason: &reason,
            serving: serving.map(|version| (version.number, version.content.wasm)),
        }
        .emit(&self.name);
    }

    /// The plugin is gone: its subscriptions end, and with the last one its code (rule 8.4).
    pub(super) fn remove(&mut self) {
        if let Some(version) = self.slot.take() {
            let (version, digest) = (version.number, version.content.wasm);
            PluginEvent::Removed { version, digest }.emit(&self.name);
        }
        for run in self.runs.iter_mut().filter(|run| !run.is_leaving) {
            run.end();
        }
    }

    /// A subscription has ended.
    pub(super) fn ended(&mut self, id: RunId) {
        self.runs.retain(|run| run.id != id);
        if self.runs.is_empty() && self.slot.load().is_none() {
            PluginEvent::Gone.emit(&self.name);
        }
    }
}

impl Run {
    pub(super) fn fed(&self) -> Fed<'_> {
        Fed {
            subscription: &self.subscription,
            kind: self.kind,
        }
    }

    fn standing(&self) -> MountStanding {
        MountStanding {
            subscription: Arc::clone(&self.subscription),
            counters: Arc::clone(self.observer.counters()),
            readiness: Arc::clone(self.observer.readiness()),
            circuit: Arc::clone(self.observer.circuit()),
            is_ending: self.is_leaving,
        }
    }

    pub(super) fn queue(&self) -> &str {
        self.subscription.queue.name().as_str()
    }

    /// Ends it as a stop of the host does, and those that only waited for it to open.
    pub(super) fn end(&mut self) {
        self.is_leaving = true;
        self.shutdown.stop.cancel();
        for before in waiting(&self.before) {
            before.stop.cancel();
        }
    }

    /// It is to give way to another. Answers whom that one retires once its queue is open.
    pub(super) fn give_way(&mut self) -> Vec<Shutdown> {
        self.is_leaving = true;
        let before = waiting(&self.before).cloned();
        before.chain([self.shutdown.clone()]).collect()
    }
}

/// Those that are not retired yet.
fn waiting(before: &[Shutdown]) -> impl Iterator<Item = &Shutdown> {
    let waits = |shutdown: &&Shutdown| !shutdown.retire.is_cancelled();
    before.iter().filter(waits)
}
