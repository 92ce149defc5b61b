//! How a version comes to serve: its queues are opened first, then one store makes it live, then
//! subscriptions begin and end.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;

use super::super::by_name;
use super::super::deadline;
use super::super::mounts::{Fed, Next, plan};
use super::super::opener::{Opener, Prepared};
use super::super::plugins::{Found, Sound, log_note};
use super::super::source;
use super::super::version::{LiveMount, MountId, Version};
use super::entry::{Coming, Entry, Planned, Run, RunId};
use super::{Supervisor, jobs};
use crate::Shutdown;
use crate::config::{Note, resolve};
use crate::dispatch::{self, Mounted, Serving};
use crate::error::SqsError;
use crate::handler::Handler as _;
use crate::observe::{Observer, PluginEvent};
use crate::reload::machine::{Content, How, Machine, Refusal};
use crate::reload::stamp::Stem;
use crate::sqs::Opening;

/// What became of the queues of one plugin.
pub(super) type OpenedQueues = Vec<Result<Mounted, Opening>>;

impl Supervisor {
    /// Opens the queues of what was found at the start.
    ///
    /// # Errors
    /// What only another configuration can mend, where that is not to be skipped.
    pub(super) async fn open(
        &mut self,
        found: Vec<Found>,
        skips_bad: bool,
    ) -> Result<Vec<(Stem, OpenedQueues)>, Vec<SqsError>> {
        let mut opening = Vec::new();
        for Found {
            stem,
            stamp,
            loaded,
        } in found
        {
            let file = self.loader.file(&stem);
            match loaded {
                Ok(Sound { candidate, mounts }) => {
                    let machine = Machine::started(stamp, Ok(candidate.content));
                    let mut entry = Entry::new(&stem, machine);
                    entry.coming = Some(Coming {
                        candidate,
                        mounts,
                        notes: Vec::new(),
                        planned: Vec::new(),
                    });
                    self.entries.insert(stem.clone(), entry);
                    opening.push((stamp, self.plan(&stem, 1), stem));
                }
                Err(refusal) => {
                    let machine = Machine::started(stamp, Err(refusal.clone()));
                    let mut entry = Entry::new(&stem, machine);
                    entry.say_refused(&file, &refusal);
                    self.entries.insert(stem, entry);
                }
            }
        }
        self.show();
        let opener = &self.opener;
        let opened = join_all(opening.into_iter().map(async |(stamp, prepared, stem)| {
            let opened = join_all(prepared.iter().map(|prepared| opener.first(prepared))).await;
            (stamp, stem, opened)
        }))
        .await;
        let refused = opened.iter().flat_map(|(_, _, opened)| refused(opened));
        let refused: Vec<_> = refused.cloned().collect();
        if !refused.is_empty() && !skips_bad {
            return Err(refused);
        }
        let mut fine = Vec::new();
        for (stamp, stem, opened) in opened {
            let Some(entry) = self.entries.get_mut(&stem) else {
                continue;
            };
            match entry.refused(&opened) {
                Some(refusal) => {
                    entry.machine = Machine::started(stamp, Err(refusal.clone()));
                    entry.say_refused(&self.loader.file(&stem), &refusal);
                }
                None => fine.push((stem, opened)),
            }
        }
        Ok(fine)
    }

    /// Lets what was opened at the start serve.
    pub(super) fn serve(&mut self, opened: Vec<(Stem, OpenedQueues)>) {
        for (stem, opened) in opened {
            self.apply(&stem, How::Open, 1, opened);
        }
    }

    /// Begins to open what a version needs. [`Supervisor::opened`] follows.
    pub(super) fn take(&mut self, stem: &Stem, how: How, version: u64) {
        let prepared = self.plan(stem, version);
        let opener = Arc::clone(&self.opener);
        let opening = jobs::open(opener, stem.clone(), how, version, prepared);
        self.jobs.spawn(opening);
    }

    /// Its queues have been tried: the version serves, or is refused.
    pub(super) fn opened(
        &mut self,
        stem: &Stem,
        how: How,
        version: u64,
        opened: OpenedQueues,
    ) -> Result<(), Refusal> {
        if let Some(entry) = self.entries.get_mut(stem)
            && let Some(refusal) = entry.refused(&opened)
        {
            return Err(refusal);
        }
        for note in self.notes(stem) {
            log_note(&note);
        }
        self.apply(stem, how, version, opened);
        Ok(())
    }

    /// Decides for each mount of a version that comes what becomes of it, and answers what is to be
    /// opened.
    fn plan(&mut self, stem: &Stem, version: u64) -> Vec<Arc<Prepared>> {
        let Some(entry) = self.entries.get_mut(stem) else {
            return Vec::new();
        };
        let Some(mut coming) = entry.coming.take() else {
            return Vec::new();
        };
        let plugin = Arc::clone(&coming.candidate.plugin);
        let kind = plugin.kind();
        let mut mounts = std::mem::take(&mut coming.mounts);
        if self.options.create_missing {
            mounts
                .iter_mut()
                .for_each(|mount| by_name(&mut mount.subscription));
        }
        let running: Vec<_> = entry.staying().collect();
        let (old, new): (Vec<_>, Vec<_>) = (
            running.iter().map(|run| run.fed()).collect(),
            mounts
                .iter()
                .map(|mount| Fed {
                    subscription: &mount.subscription,
                    kind,
                })
                .collect(),
        );
        let planned = plan(&old, &new);
        coming.planned = planned
            .into_iter()
            .zip(mounts)
            .map(|(next, mount)| {
                let run = match next {
                    Next::Keep(place) | Next::Instead(place) | Next::Moved(place) => {
                        Some(running[place])
                    }
                    Next::Open => None,
                };
                self.ids += 1;
                let id = run.map_or(MountId(self.ids), |run| run.live.mount());
                let serving = Serving {
                    version,
                    handler: plugin.mounted(mount.grants),
                    subscription: Arc::new(mount.subscription),
                };
                let opens = !matches!(next, Next::Keep(_));
                let live = opens.then(|| {
                    Arc::new(LiveMount::new(Arc::clone(&entry.slot), id, serving.clone()))
                });
                let prepared = live.clone().map(|live| {
                    Arc::new(Prepared {
                        observer: match (run, next) {
                            (Some(run), Next::Instead(_)) => run.observer.of_successor(),
                            _ => Observer::new(
                                source(&serving.subscription),
                                self.options.tap.clone(),
                            ),
                        },
                        subscription: Arc::clone(&serving.subscription),
                        live,
                    })
                });
                Planned {
                    mount: id,
                    serving,
                    now: run.map(|run| run.id),
                    prepared,
                    live,
                }
            })
            .collect();
        let prepared = coming.planned.iter().filter_map(|one| one.prepared.clone());
        let prepared = prepared.collect();
        entry.coming = Some(coming);
        prepared
    }

    /// Makes a version live.
    fn apply(&mut self, stem: &Stem, how: How, number: u64, opened: OpenedQueues) {
        let Some(entry) = self.entries.get_mut(stem) else {
            return;
        };
        let Some(Coming {
            candidate, planned, ..
        }) = entry.coming.take()
        else {
            return;
        };
        let content = candidate.content;
        let old = entry.slot.load_full();
        let event = match (how, &old) {
            (How::Swap, Some(old)) => PluginEvent::Replaced {
                version: number,
                digest: content.wasm,
                old_version: old.number,
                old_digest: old.content.wasm,
                size: candidate.size,
                took: candidate.took,
                contract: candidate.plugin.contract(),
            },
            (How::Remount, Some(_)) => PluginEvent::Remounted {
                version: number,
                digest: content.wasm,
                has_file: content.toml.is_some(),
            },
            _ => PluginEvent::Loaded {
                version: number,
                digest: content.wasm,
                size: candidate.size,
                took: candidate.took,
                contract: candidate.plugin.contract(),
            },
        };
        event.emit(&entry.name);
        let mounts = planned.iter().map(|one| (one.mount, one.serving.clone()));
        let version = Version {
            number,
            content,
            plugin: Arc::clone(&candidate.plugin),
            settings: candidate.settings,
            size: candidate.size,
            since: SystemTime::now(),
            took: candidate.took,
            mounts: mounts.collect(),
        };
        entry.slot.store(Arc::new(version));

        let kind = candidate.plugin.kind();
        let mut opened = opened.into_iter();
        for run in entry.runs.iter_mut().filter(|run| !run.is_leaving) {
            if !planned.iter().any(|one| one.now == Some(run.id)) {
                let queue = run.queue();
                PluginEvent::Unmounted { queue }.emit(&entry.name);
                run.end();
            }
        }
        for one in planned {
            let Planned {
                serving,
                now,
                prepared,
                live,
                ..
            } = one;
            let running = now.and_then(|id| entry.run(id).map(|run| run.id));
            let (Some(prepared), Some(live)) = (prepared, live) else {
                if let Some(run) = running.and_then(|id| entry.run(id)) {
                    run.subscription = serving.subscription;
                }
                continue;
            };
            let Some(first) = opened.next() else { continue };
            let name = Arc::clone(&entry.name);
            let queue = serving.subscription.queue.name().as_str();
            let before = match running.and_then(|id| entry.run(id)) {
                Some(run) => {
                    let from = run.queue();
                    if from == queue {
                        PluginEvent::MountedAnew { queue }.emit(&name);
                    } else {
                        PluginEvent::Moved { queue, from }.emit(&name);
                    }
                    run.give_way()
                }
                None => {
                    PluginEvent::Mounted { queue }.emit(&name);
                    Vec::new()
                }
            };
            self.ids += 1;
            let id = RunId(self.ids);
            let shutdown = self.shutdown.child();
            self.tasks.spawn(subscription(
                (stem.clone(), id),
                Arc::clone(&self.opener),
                Arc::clone(&prepared),
                first,
                shutdown.clone(),
                before.clone(),
                self.options.drain,
            ));
            entry.runs.push(Run {
                id,
                subscription: serving.subscription,
                kind,
                live,
                observer: prepared.observer.clone(),
                shutdown,
                before,
                is_leaving: false,
            });
        }
        for run in &entry.runs {
            run.live.refresh();
        }
    }

    /// What is to be said of the mounts of a version that comes, those of other plugins on the same
    /// queues included.
    fn notes(&self, stem: &Stem) -> Vec<Note> {
        let Some(coming) = self.entries.get(stem).and_then(|e| e.coming.as_ref()) else {
            return Vec::new();
        };
        let others = self.entries.iter().filter(|(other, _)| *other != stem);
        let mut settings: Vec<_> = others
            .filter_map(|(_, entry)| Some(entry.slot.load().as_ref()?.settings.clone()))
            .collect();
        // Last, so that what is said of a queue that two read is said of this one.
        settings.push(coming.candidate.settings.clone());
        let name = Some(coming.candidate.plugin.name());
        let mut notes = coming.notes.clone();
        let all = resolve(&self.config, &settings).notes;
        notes.extend(all.into_iter().filter(|note| !coming.notes.contains(note)));
        notes.retain(|note| note.plugin.as_deref() == name);
        notes
    }
}

impl Entry {
    /// Why a version that comes cannot serve, as far as its queues show; it is thrown away then.
    fn refused(&mut self, opened: &OpenedQueues) -> Option<Refusal> {
        let reasons: Vec<_> = refused(opened).map(ToString::to_string).collect();
        if reasons.is_empty() {
            return None;
        }
        let content: Option<Content> = self.coming.take().map(|coming| coming.candidate.content);
        Some(Refusal {
            unfinished: false,
            digest: content.map(|content| content.wasm),
            content,
            reason: reasons.join("; ").into(),
        })
    }
}

fn refused(opened: &OpenedQueues) -> impl Iterator<Item = &SqsError> {
    opened.iter().filter_map(|result| match result {
        Err(Opening::Refused(error)) => Some(error),
        _ => None,
    })
}

/// Opens a queue, however long that takes, retires the subscriptions whose place it takes, and works
/// on it to the end. Handlers that are in flight at its stop have the drain time, whether it stops
/// alone or with the host.
async fn subscription(
    (stem, id): (Stem, RunId),
    opener: Arc<Opener>,
    prepared: Arc<Prepared>,
    first: Result<Mounted, Opening>,
    shutdown: Shutdown,
    before: Vec<Shutdown>,
    drain: Duration,
) -> (Stem, RunId, usize) {
    let deadline = deadline(shutdown.clone(), drain);
    let works = async {
        match opener.until_open(&prepared, first, &shutdown).await {
            Some(mounted) => {
                for before in before {
                    before.retire.cancel();
                }
                dispatch::run(mounted, shutdown.clone()).await
            }
            None => dispatch::Ended::default(),
        }
    };
    let ended = tokio::select! {
        ended = works => ended,
        () = deadline => dispatch::Ended::default(),
    };
    (stem, id, ended.left)
}
