//! What becomes of one plugin as its files change. Pure: events and the time go in, actions come
//! out.
//!
//! Invariants: a stamp is loaded once it has been the same for the settle time, and what was loaded
//! of another stamp than the present one is never taken (rule 8.2), so of several changes the last
//! one is live in the end (rule 8.5). At most one load and one taking are under way. What serves is
//! touched by a taking and by a removal, and by nothing else. One content is refused once.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio::time::Instant;

use super::stamp::Stamp;
use crate::limits::{REPLACED_WITHIN, SETTLED_FOR};
use crate::plugin::Digest;

/// The content of a plugin's files: what decides whether anything has changed (rule 8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// Of the `.wasm`.
    pub(crate) wasm: Digest,
    /// Of the mount file, where there is one.
    pub(crate) toml: Option<Digest>,
}

/// Why what was found is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Whether it looks like a file that is still being written: nothing is said of it before it
    /// has stood still for a while.
    pub(crate) unfinished: bool,
    /// The digest of the `.wasm`, where it could be read.
    pub(crate) digest: Option<Digest>,
    /// The content, where all of it could be read.
    pub(crate) content: Option<Content>,
    /// What is wrong and what to do.
    pub(crate) reason: Arc<str>,
}

impl Refusal {
    /// Whether whoever has heard of `self` need not hear of `other`.
    fn covers(&self, other: &Refusal) -> bool {
        match (self.content, other.content) {
            (Some(known), Some(again)) => known == again,
            _ => self.digest == other.digest && self.reason == other.reason,
        }
    }
}

/// What happens.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A look at the folder: the plugin's files as they are, or none.
    Seen(Option<Stamp>),
    /// A load of the files with this stamp has ended.
    Loaded {
        of: Stamp,
        result: Result<Content, Refusal>,
    },
    /// The taking has ended: the version is live, or its queues cannot be opened.
    Taken(Result<(), Refusal>),
    /// What may make a refused plugin a good one has changed outside its files.
    TryAgain,
}

/// How a version comes to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// Nothing served before it.
    Open,
    /// Other code.
    Swap,
    /// The same code, mounted otherwise.
    Remount,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Load the files. [`Event::Loaded`] follows.
    Load(Stamp),
    /// Throw away what was loaded.
    Discard,
    /// Open what is not open, then let this version serve. [`Event::Taken`] follows.
    Take { how: How, version: u64 },
    /// Say what is refused.
    Report(Refusal),
    /// The files are as they are served again, after a refusal.
    Restored,
    /// The plugin is gone: drain its subscriptions and end them (rule 8.4).
    Remove,
}

/// A version that serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// Counted from 1 for each plugin.
    pub(crate) number: u64,
    pub(crate) content: Content,
}

/// How a plugin's files stand.
#[derive(Clone, Debug)]
enum Files {
    /// Not there.
    Absent,
    /// Not there any more, perhaps for a moment.
    Gone { since: Instant },
    /// There, and the same for not long enough. With `again`, a load of this very stamp has found it
    /// unfinished: the next one has the last word.
    Settling { seen: Seen, again: bool },
    /// Being loaded, as they were at `of`.
    Loading { of: Stamp, now: Option<Seen> },
    /// Loaded, and on the way to serve.
    Taking {
        of: Stamp,
        version: Version,
        now: Option<Seen>,
    },
    /// Served as they are, or refused as they are.
    Known { stamp: Stamp },
}

/// The files as looks have seen them since a time.
#[derive(Clone, Copy, Debug)]
struct Seen {
    stamp: Stamp,
    since: Instant,
}

/// One plugin of the folder.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    files: Files,
    serving: Option<Version>,
    refused: Option<Refusal>,
    versions: u64,
}

impl Machine {
    /// A plugin that nobody has seen yet.
    pub(crate) fn new() -> Self {
        Self {
            files: Files::Absent,
            serving: None,
            refused: None,
            versions: 0,
        }
    }

    /// A plugin that was loaded, or refused, when the host started.
    pub(crate) fn started(stamp: Stamp, loaded: Result<Content, Refusal>) -> Self {
        let (serving, refused) = match loaded {
            Ok(content) => (Some(Version { number: 1, content }), None),
            Err(refusal) => (None, Some(refusal)),
        };
        Self {
            files: Files::Known { stamp },
            versions: u64::from(serving.is_some()),
            serving,
            refused,
        }
    }

    /// What serves.
    pub(crate) fn serving(&self) -> Option<Version> {
        self.serving
    }

    /// Why the files as they are do not serve, where that is known.
    pub(crate) fn refused(&self) -> Option<&Refusal> {
        self.refused.as_ref()
    }

    /// A word for how its files stand.
    pub(crate) fn files(&self) -> &'static str {
        match self.files {
            Files::Absent => "absent",
            Files::Gone { .. } => "gone",
            Files::Settling { .. } => "settling",
            Files::Loading { .. } => "loading",
            Files::Taking { .. } => "opening",
            Files::Known { .. } => "known",
        }
    }

    /// Whether there is nothing to remember of it: it is not there, and never served.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self.files, Files::Absent) && self.versions == 0
    }

    /// When the folder must be looked at again at the latest.
    pub(crate) fn wake(&self) -> Option<Instant> {
        match &self.files {
            Files::Settling { seen, again } => Some(self.settled_at(*seen, *again)),
            Files::Gone { since } => Some(*since + REPLACED_WITHIN),
            _ => None,
        }
    }

    /// When files that do not change are to be loaded. A mount file that is gone for a moment was
    /// replaced, as a plugin is.
    fn settled_at(&self, seen: Seen, again: bool) -> Instant {
        let mounted = self.serving.is_some_and(|v| v.content.toml.is_some());
        let unmounted = mounted && seen.stamp.toml.is_none();
        let long = again || unmounted;
        seen.since + if long { REPLACED_WITHIN } else { SETTLED_FOR }
    }

    /// Takes an event, and answers what is to be done, in order.
    pub(crate) fn step(&mut self, now: Instant, event: Event) -> Vec<Action> {
        match event {
            Event::Seen(Some(stamp)) => self.there(now, stamp),
            Event::Seen(None) => self.not_there(now),
            Event::Loaded { of, result } => self.loaded(now, of, result),
            Event::Taken(result) => self.taken(now, result),
            Event::TryAgain => {
                if let (Files::Known { stamp }, Some(_)) = (&self.files, &self.refused) {
                    self.settle(*stamp, now);
                }
                Vec::new()
            }
        }
    }

    fn settle(&mut self, stamp: Stamp, since: Instant) {
        let seen = Seen { stamp, since };
        self.files = Files::Settling { seen, again: false };
    }

    fn there(&mut self, now: Instant, stamp: Stamp) -> Vec<Action> {
        match &mut self.files {
            Files::Known { stamp: known } if *known == stamp => {}
            Files::Settling { seen, again } if seen.stamp == stamp => {
                let (seen, again) = (*seen, *again);
                if now >= self.settled_at(seen, again) {
                    self.files = Files::Loading {
                        of: stamp,
                        now: Some(seen),
                    };
                    return vec![Action::Load(stamp)];
                }
            }
            Files::Loading { now: seen, .. } | Files::Taking { now: seen, .. } => match seen {
                Some(seen) if seen.stamp == stamp => {}
                _ => *seen = Some(Seen { stamp, since: now }),
            },
            _ => self.settle(stamp, now),
        }
        Vec::new()
    }

    fn not_there(&mut self, now: Instant) -> Vec<Action> {
        match &mut self.files {
            Files::Absent => {}
            Files::Gone { since } if now < *since + REPLACED_WITHIN => {}
            Files::Gone { .. } => {
                self.files = Files::Absent;
                self.refused = None;
                if self.serving.take().is_some() {
                    return vec![Action::Remove];
                }
            }
            Files::Loading { now: seen, .. } | Files::Taking { now: seen, .. } => *seen = None,
            Files::Settling { .. } | Files::Known { .. } => self.files = Files::Gone { since: now },
        }
        Vec::new()
    }

    fn loaded(&mut self, now: Instant, of: Stamp, result: Result<Content, Refusal>) -> Vec<Action> {
        let Files::Loading {
            of: asked,
            now: seen,
        } = &self.files
        else {
            return vec![Action::Discard];
        };
        let (asked, seen) = (*asked, *seen);
        let seen = match seen {
            Some(seen) if seen.stamp == of && asked == of => seen,
            // Newer ones are there, or none.
            _ => {
                self.rest(now, seen, None);
                return vec![Action::Discard];
            }
        };
        match result {
            Ok(content) if self.serving.is_some_and(|v| v.content == content) => {
                self.files = Files::Known { stamp: of };
                let restored = self.refused.take().map(|_| Action::Restored);
                std::iter::once(Action::Discard).chain(restored).collect()
            }
            Ok(content) => {
                let how = match self.serving {
                    None => How::Open,
                    Some(old) if old.content.wasm == content.wasm => How::Remount,
                    Some(_) => How::Swap,
                };
                let number = self.versions + 1;
                self.files = Files::Taking {
                    of,
                    version: Version { number, content },
                    now: Some(seen),
                };
                vec![Action::Take {
                    how,
                    version: number,
                }]
            }
            Err(refusal) if refusal.unfinished && now < seen.since + REPLACED_WITHIN => {
                self.files = Files::Settling { seen, again: true };
                Vec::new()
            }
            Err(refusal) => {
                self.files = Files::Known { stamp: of };
                self.refuse(refusal)
            }
        }
    }

    fn taken(&mut self, now: Instant, result: Result<(), Refusal>) -> Vec<Action> {
        let Files::Taking {
            of,
            version,
            now: seen,
        } = self.files
        else {
            return Vec::new();
        };
        self.rest(now, seen, Some(of));
        match result {
            Ok(()) => {
                self.serving = Some(version);
                self.versions = version.number;
                self.refused = None;
                Vec::new()
            }
            Err(refusal) => self.refuse(refusal),
        }
    }

    /// After a load or a taking: what was `done` is known, and anything newer has to settle.
    fn rest(&mut self, now: Instant, seen: Option<Seen>, done: Option<Stamp>) {
        match seen {
            None => self.files = Files::Gone { since: now },
            Some(seen) if Some(seen.stamp) == done => {
                self.files = Files::Known { stamp: seen.stamp };
            }
            Some(seen) => self.settle(seen.stamp, seen.since),
        }
    }

    fn refuse(&mut self, refusal: Refusal) -> Vec<Action> {
        let known = self
            .refused
            .as_ref()
            .is_some_and(|old| old.covers(&refusal));
        self.refused = Some(refusal.clone());
        if known {
            Vec::new()
        } else {
            vec![Action::Report(refusal)]
        }
    }
}
