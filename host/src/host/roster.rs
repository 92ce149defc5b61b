//! How the plugins of a folder stand, for whoever asks.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use crate::config::SqsSubscription;
use crate::handler::HandlerKind;
use crate::observe::{CircuitWatch, Counters, Readiness};
use crate::plugin::Digest;

/// A plugin of the folder.
#[derive(Clone, Debug)]
pub struct PluginStanding {
    /// Its name: its file's, without `.wasm`.
    pub name: Arc<str>,
    /// Its file.
    pub file: PathBuf,
    /// How its files stand: `absent`, `gone` (perhaps for a moment), `settling`, `loading`, `opening`
    /// (its queues), or `known`, where they are served as they are or refused as they are.
    pub files: &'static str,
    /// What serves, where anything does.
    pub serving: Option<VersionStanding>,
    /// Why its files as they are do not serve, where they were refused.
    pub refused: Option<RefusalStanding>,
    /// Its subscriptions, those that are ending included.
    pub mounts: Vec<MountStanding>,
}

/// A version that serves (rule 8.5).
#[derive(Clone, Debug)]
pub struct VersionStanding {
    /// Counted from 1 for each plugin.
    pub number: u64,
    /// Of its `.wasm`.
    pub digest: Digest,
    /// Of its mount file, where there is one.
    pub mount_digest: Option<Digest>,
    /// The version of the contract that it was built for.
    pub contract: String,
    /// Whether it takes one message at a time or a batch.
    pub kind: HandlerKind,
    /// How many bytes its `.wasm` has.
    pub size: u64,
    /// Since when it serves.
    pub since: SystemTime,
    /// How long loading it took.
    pub took: Duration,
}

/// What was refused.
#[derive(Clone, Debug)]
pub struct RefusalStanding {
    /// Of the `.wasm`, where it could be read.
    pub digest: Option<Digest>,
    /// What is wrong and what to do.
    pub reason: Arc<str>,
    /// Since when.
    pub since: SystemTime,
}

/// A subscription.
#[derive(Clone, Debug)]
pub struct MountStanding {
    /// Its settings.
    pub subscription: Arc<SqsSubscription>,
    /// Its counts. They go on where a subscription takes the place of another.
    pub counters: Arc<Counters>,
    /// Whether it can receive.
    pub readiness: Arc<Readiness>,
    /// Whether messages are received, as far as their handler goes (rule 8.7).
    pub circuit: Arc<CircuitWatch>,
    /// Whether it receives no more, and only ends what it holds.
    pub is_ending: bool,
}

/// How every plugin stands now.
#[derive(Clone, Debug, Default)]
pub struct Roster(Arc<Mutex<Standing>>);

#[derive(Debug, Default)]
struct Standing {
    plugins: Vec<PluginStanding>,
    has_begun: bool,
}

impl Roster {
    /// The plugins by name, those that are refused included.
    pub fn plugins(&self) -> Vec<PluginStanding> {
        self.standing().plugins.clone()
    }

    /// Whether every queue has been tried that was to be open at the start. Nothing is received
    /// before that.
    pub fn has_begun(&self) -> bool {
        self.standing().has_begun
    }

    pub(super) fn set(&self, plugins: Vec<PluginStanding>) {
        self.standing().plugins = plugins;
    }

    /// Every queue has been tried.
    pub(super) fn begin(&self) {
        self.standing().has_begun = true;
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
