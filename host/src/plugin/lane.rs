//! What the calls of one plugin share, whichever of its versions and mounts they are of: its part
//! of the places and of the threads.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::places::Places;
use super::turns::{InTurns, Turns};

/// The number of a plugin, for as long as any version of it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LaneId(pub(super) u64);

/// A plugin, as far as sharing goes.
pub(super) struct Lane {
    name: Arc<str>,
    id: LaneId,
    places: Option<Arc<Places>>,
    turns: Arc<Turns>,
}

impl Lane {
    pub(super) fn id(&self) -> LaneId {
        self.id
    }

    pub(super) fn turns(&self) -> &Turns {
        &self.turns
    }

    /// `call`, polled only when it is this plugin's turn on the guests' threads.
    pub(super) fn in_turns<F: Future>(self: &Arc<Self>, call: F) -> InTurns<F> {
        Turns::taking(self, call)
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        if let Some(places) = &self.places {
            places.leave(self.id);
        }
        self.turns.leave(self.id);
    }
}

/// The plugins that there are.
pub(super) struct Lanes {
    places: Arc<Places>,
    turns: Arc<Turns>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    by_name: HashMap<Arc<str>, Weak<Lane>>,
    last: u64,
}

impl Lanes {
    pub(super) fn new(places: Arc<Places>, turns: Arc<Turns>) -> Self {
        Self {
            places,
            turns,
            known: Mutex::default(),
        }
    }

    /// The lane of the plugin of this name.
    pub(super) fn of(&self, name: &Arc<str>) -> Arc<Lane> {
        let mut known = self.known();
        if let Some(lane) = known.by_name.get(name).and_then(Weak::upgrade) {
            return lane;
        }
        known.by_name.retain(|_, lane| lane.strong_count() > 0);
        let id = known.next();
        self.places.join(id);
        let lane = self.begin(Arc::clone(name), id, Some(&self.places));
        known
            .by_name
            .insert(Arc::clone(name), Arc::downgrade(&lane));
        lane
    }

    /// A lane for what is asked of a plugin that is being loaded: it has a part of the threads, and
    /// its place is beside those of the plugins that serve.
    pub(super) fn of_probe(&self) -> Arc<Lane> {
        let id = self.known().next();
        self.begin("".into(), id, None)
    }

    /// Every plugin's lane, by name.
    pub(super) fn all(&self) -> Vec<(Arc<str>, LaneId)> {
        let known = self.known();
        let lanes = known.by_name.values().filter_map(Weak::upgrade);
        let mut all: Vec<_> = lanes
            .map(|lane| (Arc::clone(&lane.name), lane.id))
            .collect();
        drop(known);
        all.sort();
        all
    }

    fn begin(&self, name: Arc<str>, id: LaneId, places: Option<&Arc<Places>>) -> Arc<Lane> {
        self.turns.join(id);
        Arc::new(Lane {
            name,
            id,
            places: places.map(Arc::clone),
            turns: Arc::clone(&self.turns),
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn next(&mut self) -> LaneId {
        self.last += 1;
        LaneId(self.last)
    }
}
