//! The versions of one plugin: the live one, which one atomic store replaces (rule 8.3).

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use tokio::sync::watch;

use crate::config::PluginSettings;
use crate::dispatch::{Live, Serving};
use crate::plugin::Plugin;
use crate::reload::load::Known;
use crate::reload::machine::Content;

/// Which mount of a plugin something is of: the same from one version to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MountId(pub(super) u64);

/// A version that serves.
pub(super) struct Version {
    pub(super) number: u64,
    pub(super) content: Content,
    pub(super) plugin: Arc<Plugin>,
    pub(super) settings: PluginSettings,
    pub(super) size: u64,
    /// Since when it serves.
    pub(super) since: SystemTime,
    /// How long loading it took.
    pub(super) took: Duration,
    /// What each of its mounts is handled by.
    pub(super) mounts: Vec<(MountId, Serving)>,
}

impl Version {
    /// What a mount of it is handled by.
    pub(super) fn of(&self, mount: MountId) -> Option<&Serving> {
        let mut mounts = self.mounts.iter();
        mounts.find(|(id, _)| *id == mount).map(|(_, of)| of)
    }

    /// What a load compares with.
    pub(super) fn known(&self) -> Known {
        Known {
            content: self.content,
            plugin: Arc::clone(&self.plugin),
        }
    }
}

/// Where a plugin's live version is; none before the first and after a removal.
#[derive(Default)]
pub(super) struct Slot {
    live: ArcSwapOption<Version>,
    /// The number of the one that was made live last.
    number: watch::Sender<u64>,
}

impl Slot {
    pub(super) fn load(&self) -> Guard<Option<Arc<Version>>> {
        self.live.load()
    }

    pub(super) fn load_full(&self) -> Option<Arc<Version>> {
        self.live.load_full()
    }

    /// Makes a version live, and tells whoever waits for another.
    pub(super) fn store(&self, version: Arc<Version>) {
        let number = version.number;
        self.live.store(Some(version));
        self.number.send_replace(number);
    }

    /// Takes the live version away.
    pub(super) fn take(&self) -> Option<Arc<Version>> {
        self.live.swap(None)
    }
}

/// What one subscription sees of its plugin's versions.
pub(super) struct LiveMount {
    slot: Arc<Slot>,
    mount: MountId,
    /// What serves it where the live version has no such mount any more: a call may be just about to
    /// begin when a mount is taken away.
    last: ArcSwap<Serving>,
}

impl LiveMount {
    /// Of a mount that the version to come begins with.
    pub(super) fn new(slot: Arc<Slot>, mount: MountId, first: Serving) -> Self {
        Self {
            slot,
            mount,
            last: ArcSwap::from_pointee(first),
        }
    }

    /// Which mount it is of.
    pub(super) fn mount(&self) -> MountId {
        self.mount
    }

    /// Lets go of the versions before the live one.
    pub(super) fn refresh(&self) {
        if let Some(serving) = self.live() {
            self.last.store(Arc::new(serving));
        }
    }

    fn live(&self) -> Option<Serving> {
        self.slot.load().as_ref()?.of(self.mount).cloned()
    }
}

impl Live for LiveMount {
    fn now(&self) -> Serving {
        self.live()
            .unwrap_or_else(|| Serving::clone(&self.last.load()))
    }

    fn versions(&self) -> watch::Receiver<u64> {
        self.slot.number.subscribe()
    }
}
