//! A host of a plugins folder, which is watched while it runs (rules 8.1 to 8.5): the one owner of
//! every plugin's versions and subscriptions.

mod apply;
mod entry;
mod jobs;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};
use tracing::{error, info};

use super::opener::Opener;
use super::plugins::Plugins;
use super::roster::Roster;
use super::{HostOptions, Report};
use crate::Shutdown;
use crate::config::HostConfig;
use crate::error::SqsError;
use crate::limits::{LOOK_ALONE_EVERY, LOOK_EVERY, LOOK_PAUSE};
use crate::observe::PluginEvent;
use crate::reload::folder::Look;
use crate::reload::load::{Candidate, Checked, Loader};
use crate::reload::machine::{Action, Content, Event, Machine};
use crate::reload::stamp::{FileStamp, Stamp, Stem};
use crate::reload::watch::Watch;
use crate::sqs::Connection;
use entry::{Coming, Entry, RunId};
use jobs::{Done, Load};

/// Runs the plugins of a folder against one SQS, as they are and as they change.
pub struct WatchedHost {
    connection: Arc<Connection>,
    options: HostOptions,
    config: HostConfig,
    skips_bad: bool,
    plugins: Plugins,
    roster: Roster,
}

impl WatchedHost {
    /// A host of what was loaded from a folder. Nothing is asked of SQS yet. With `skips_bad` it
    /// starts without what is refused (rule 7.2).
    pub fn new(
        connection: Arc<Connection>,
        options: HostOptions,
        config: HostConfig,
        skips_bad: bool,
        plugins: Plugins,
    ) -> Self {
        Self {
            connection,
            options,
            config,
            skips_bad,
            plugins,
            roster: Roster::default(),
        }
    }

    /// How its plugins stand, now and as they change. It is empty until the host runs.
    pub fn roster(&self) -> Roster {
        self.roster.clone()
    }

    /// Opens every queue, then receives, handles and settles until `shutdown.stop`, while plugins
    /// come, change and go; handlers in flight then have the drain time. `ready` is called once
    /// every queue has been tried and before any message is received.
    ///
    /// # Errors
    /// As [`Host::run`](super::Host::run) does, where what is bad is not skipped.
    pub async fn run(
        self,
        shutdown: Shutdown,
        ready: impl FnOnce(),
    ) -> Result<Report, Vec<SqsError>> {
        let Plugins { loader, found, .. } = self.plugins;
        let opener = Arc::new(Opener {
            connection: self.connection,
            create_missing: self.options.create_missing,
        });
        let mut supervisor = Supervisor {
            watch: Watch::new(loader.folder()),
            loader: Arc::new(loader.while_serving()),
            config: Arc::new(self.config),
            options: self.options,
            opener,
            shutdown: shutdown.clone(),
            entries: BTreeMap::new(),
            looking: Looking::new(),
            loads: VecDeque::new(),
            is_loading: false,
            jobs: JoinSet::new(),
            tasks: JoinSet::new(),
            ids: 0,
            left: 0,
            roster: self.roster,
        };
        let opened = tokio::select! {
            opened = supervisor.open(found, self.skips_bad) => opened?,
            () = shutdown.stop.cancelled() => return Ok(Report::default()),
        };
        ready();
        supervisor.serve(opened);
        supervisor.show();
        supervisor.roster.begin();
        supervisor.run().await;
        Ok(Report {
            left: supervisor.left,
        })
    }
}

/// When the folder is looked at.
struct Looking {
    /// Something says that there is something to see.
    is_wanted: bool,
    is_under_way: bool,
    /// When the last look ended.
    last: Instant,
    /// Whether the last look failed.
    failed: bool,
    /// The list of pins as the last look saw it.
    pins: Option<FileStamp>,
}

impl Looking {
    fn new() -> Self {
        Self {
            is_wanted: true,
            is_under_way: false,
            last: Instant::now(),
            failed: false,
            pins: None,
        }
    }
}

/// The one owner of versions and subscriptions.
struct Supervisor {
    loader: Arc<Loader>,
    watch: Watch,
    config: Arc<HostConfig>,
    options: HostOptions,
    opener: Arc<Opener>,
    shutdown: Shutdown,
    entries: BTreeMap<Stem, Entry>,
    looking: Looking,
    /// What is to be loaded, one at a time.
    loads: VecDeque<(Stem, Stamp)>,
    is_loading: bool,
    /// Looks, loads and openings.
    jobs: JoinSet<Done>,
    /// Subscriptions.
    tasks: JoinSet<(Stem, RunId, usize)>,
    ids: u64,
    /// How many messages were interrupted.
    left: usize,
    /// Where it is said how plugins stand.
    roster: Roster,
}

impl Supervisor {
    /// Serves until the stop, then until every subscription has ended.
    async fn run(&mut self) {
        let stop = self.shutdown.stop.clone();
        loop {
            self.begin();
            self.show();
            let wake = self.wake();
            let waits = !self.looking.is_under_way;
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(done) = self.jobs.join_next() => {
                    if let Ok(done) = done {
                        self.done(done);
                    }
                }
                Some(ended) = self.tasks.join_next() => self.ended(ended),
                () = self.watch.changed() => self.looking.is_wanted = true,
                () = sleep_until(wake), if waits => self.looking.is_wanted = true,
            }
        }
        // What is loaded or opened now serves no more.
        self.jobs.abort_all();
        while let Some(ended) = self.tasks.join_next().await {
            self.ended(ended);
            self.show();
        }
    }

    /// Says how the plugins stand.
    fn show(&self) {
        let entries = self.entries.iter();
        let standing = entries.map(|(stem, entry)| entry.standing(self.loader.file(stem)));
        self.roster.set(standing.collect());
    }

    /// Starts what is due.
    fn begin(&mut self) {
        let rested = Instant::now() >= self.looking.last + LOOK_PAUSE;
        if self.looking.is_wanted && !self.looking.is_under_way && rested {
            self.looking.is_wanted = false;
            self.looking.is_under_way = true;
            self.jobs.spawn(jobs::look(Arc::clone(&self.loader)));
        }
        if !self.is_loading
            && let Some((stem, stamp)) = self.loads.pop_front()
        {
            self.is_loading = true;
            let entry = self.entries.get(&stem);
            let known = entry.and_then(|entry| Some(entry.slot.load().as_ref()?.known()));
            let loader = Arc::clone(&self.loader);
            let config = Arc::clone(&self.config);
            self.jobs
                .spawn(jobs::load(loader, config, stem, stamp, known));
        }
    }

    /// When to look at the latest.
    fn wake(&self) -> Instant {
        let every = if self.watch.is_told() {
            LOOK_EVERY
        } else {
            LOOK_ALONE_EVERY
        };
        let last = self.looking.last;
        if self.looking.is_wanted {
            return last + LOOK_PAUSE;
        }
        let machines = self.entries.values().map(|entry| &entry.machine);
        let due = machines.filter_map(Machine::wake).min();
        let wake = due.map_or(last + every, |due| due.min(last + every));
        wake.max(last + LOOK_PAUSE)
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Looked { look, pins } => {
                self.looking.is_under_way = false;
                self.looking.last = Instant::now();
                match look {
                    Ok(look) => self.seen(look, pins),
                    Err(error) => self.not_seen(&error),
                }
            }
            Done::Loaded { stem, of, loaded } => {
                self.is_loading = false;
                let result = loaded.map(|loaded| match loaded {
                    Load::Same(content) => content,
                    Load::New(candidate, checked) => self.keep(&stem, candidate, checked),
                });
                self.step(&stem, Event::Loaded { of, result });
            }
            Done::Opened {
                stem,
                how,
                version,
                opened,
            } => {
                let result = self.opened(&stem, how, version, opened);
                self.step(&stem, Event::Taken(result));
            }
        }
    }

    /// Keeps a candidate for its taking.
    fn keep(&mut self, stem: &Stem, candidate: Box<Candidate>, checked: Checked) -> Content {
        let Checked { mounts, notes } = checked;
        let content = candidate.content;
        if let Some(entry) = self.entries.get_mut(stem) {
            entry.coming = Some(Coming {
                candidate,
                mounts,
                notes,
                planned: Vec::new(),
            });
        }
        content
    }

    fn seen(&mut self, look: Look, pins: Option<FileStamp>) {
        if std::mem::take(&mut self.looking.failed) {
            info!(folder = %self.loader.folder().display(), "the plugins folder can be read again");
        }
        self.watch.follow(look.place());
        let other_pins = pins != self.looking.pins;
        self.looking.pins = pins;
        for stem in look.plugins.keys() {
            if !self.entries.contains_key(stem) {
                let entry = Entry::new(stem, Machine::new());
                self.entries.insert(stem.clone(), entry);
            }
        }
        let stems: Vec<_> = self.entries.keys().cloned().collect();
        for stem in stems {
            if other_pins {
                self.step(&stem, Event::TryAgain);
            }
            let stamp = look.plugins.get(&stem).copied();
            self.step(&stem, Event::Seen(stamp));
        }
        self.entries
            .retain(|_, entry| !entry.machine.is_nothing() || !entry.runs.is_empty());
    }

    /// A folder that cannot be read says nothing of its files: what serves goes on.
    fn not_seen(&mut self, error: &std::io::Error) {
        if !std::mem::replace(&mut self.looking.failed, true) {
            error!(
                folder = %self.loader.folder().display(),
                "the plugins folder cannot be read, so what serves goes on as it is: {error}"
            );
        }
    }

    fn step(&mut self, stem: &Stem, event: Event) {
        let Some(entry) = self.entries.get_mut(stem) else {
            return;
        };
        let actions = entry.machine.step(Instant::now(), event);
        for action in actions {
            self.act(stem, action);
        }
    }

    fn act(&mut self, stem: &Stem, action: Action) {
        let file = self.loader.file(stem);
        let Some(entry) = self.entries.get_mut(stem) else {
            return;
        };
        match action {
            Action::Load(stamp) => self.loads.push_back((stem.clone(), stamp)),
            Action::Discard => entry.coming = None,
            Action::Take { how, version } => self.take(stem, how, version),
            Action::Report(refusal) => entry.say_refused(&file, &refusal),
            Action::Restored => {
                if let Some(serving) = entry.machine.serving() {
                    let (version, digest) = (serving.number, serving.content.wasm);
                    PluginEvent::Restored { version, digest }.emit(&entry.name);
                }
            }
            Action::Remove => entry.remove(),
        }
    }

    fn ended(&mut self, ended: Result<(Stem, RunId, usize), JoinError>) {
        match ended {
            Ok((stem, run, left)) => {
                self.left += left;
                if let Some(entry) = self.entries.get_mut(&stem) {
                    entry.ended(run);
                }
            }
            Err(panic) => {
                error!("a subscription ended by a fault of ours; please report this: {panic}");
            }
        }
    }
}
