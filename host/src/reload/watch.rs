//! Asks the system to tell when something changes in the plugins folder. All it ever says is "look
//! now": what has changed, a look finds out (rule 8.1).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;
use tracing::warn;

/// Watches a folder, not its files: those come and go.
pub(crate) struct Watch {
    folder: PathBuf,
    /// Device and inode of the folder that is watched: after it was replaced, what is watched is the
    /// old one.
    watched: Option<(u64, u64)>,
    watcher: Option<RecommendedWatcher>,
    changed: Arc<Notify>,
    said: bool,
}

impl Watch {
    /// A watch of `folder`, which begins with the first look.
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            watched: None,
            watcher: None,
            changed: Arc::default(),
            said: false,
        }
    }

    /// Whether the system tells of changes.
    pub(crate) fn is_told(&self) -> bool {
        self.watcher.is_some()
    }

    /// Ends once something has changed since the last time that this ended. However much has
    /// changed, it ends once.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Watches the folder that a look has seen, where it is not watched yet.
    pub(crate) fn follow(&mut self, place: Option<(u64, u64)>) {
        if place.is_none() || self.watched == place {
            return;
        }
        // Asked once for each folder: what is refused now is refused a second later too.
        self.watched = place;
        self.watcher = match self.start() {
            Ok(watcher) => {
                // What changed between the look and the watch was not told.
                self.changed.notify_one();
                Some(watcher)
            }
            Err(error) => {
                if !self.said {
                    warn!(
                        folder = %self.folder.display(),
                        "the system does not tell of changes in the plugins folder, so it is looked \
                         at all the time: {error}"
                    );
                    self.said = true;
                }
                None
            }
        };
    }

    fn start(&self) -> notify::Result<RecommendedWatcher> {
        let changed = Arc::clone(&self.changed);
        let mut watcher =
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                // An error may be of events that were lost.
                if event.map_or(true, |event| changes(&event)) {
                    changed.notify_one();
                }
            })?;
        watcher.watch(&self.folder, RecursiveMode::NonRecursive)?;
        Ok(watcher)
    }
}

/// Whether an event is more than somebody's reading, such as our own look.
fn changes(event: &notify::Event) -> bool {
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => event.need_rescan(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::folder::look;
    use super::*;

    // Rule 8.1: our own looks do not tell us to look.
    #[test]
    fn reading_is_no_change() {
        use notify::event::{CreateKind, Flag, ModifyKind, RemoveKind};
        for (kind, is) in [
            (EventKind::Access(AccessKind::Open(AccessMode::Any)), false),
            (
                EventKind::Access(AccessKind::Close(AccessMode::Read)),
                false,
            ),
            (
                EventKind::Access(AccessKind::Close(AccessMode::Write)),
                true,
            ),
            (EventKind::Create(CreateKind::File), true),
            (EventKind::Modify(ModifyKind::Any), true),
            (EventKind::Remove(RemoveKind::File), true),
            (EventKind::Other, true),
        ] {
            assert_eq!(changes(&notify::Event::new(kind)), is, "{kind:?}");
        }
        let open = EventKind::Access(AccessKind::Open(AccessMode::Any));
        assert!(changes(&notify::Event::new(open).set_flag(Flag::Rescan)));
    }

    // Rule 8.1.
    #[tokio::test]
    async fn a_change_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let mut watch = Watch::new(folder.path());
        watch.follow(look(folder.path()).unwrap().place());
        if !watch.is_told() {
            println!("not tested: the system tells of no changes here");
            return;
        }
        watch.changed().await;
        fs::write(folder.path().join("a.wasm"), "x").unwrap();
        watch.changed().await;
    }

    // Rule 8.1: a folder that was replaced is another one, and the new one is watched.
    #[tokio::test]
    async fn a_folder_that_is_replaced_is_watched_again() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("plugins");
        fs::create_dir(&folder).unwrap();
        let mut watch = Watch::new(&folder);
        watch.follow(look(&folder).unwrap().place());
        fs::rename(&folder, parent.path().join("old")).unwrap();
        fs::create_dir(&folder).unwrap();
        watch.follow(look(&folder).unwrap().place());
        if watch.is_told() {
            watch.changed().await;
            fs::write(folder.join("a.wasm"), "x").unwrap();
            watch.changed().await;
        }
    }
}
