//! The queues and topics in a file, so that local work survives a restart.
//!
//! Invariants:
//! - the file is whole at every moment: a new one is written beside it and takes its place, so that a
//!   process killed while it writes leaves the one before;
//! - what cannot be read is never overwritten: it is an error at the start, before anything is served;
//! - state is copied under the locks, but written to the file outside of them, and writing rests for
//!   four times as long as it took, so that large queues do not slow their clients down.

use super::engine::{self, Engine};
use super::server::Shared;
use super::sns::{self, Sns};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The form of the file that is written and read here.
const FORM: u32 = 1;
/// How long writing rests at least: what changes meanwhile is written together.
const PAUSE: Duration = Duration::from_secs(1);
/// How many times as long as it took to write the next writing waits.
const REST: u32 = 4;

/// Why a snapshot is of no use.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The system does not give the file.
    #[error("the snapshot {} cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file is not a snapshot, or not a whole one.
    #[error(
        "the snapshot {} is broken: {reason}. Nothing was started and the file was left as it is: \
         mend it, move it away, or name another",
        path.display()
    )]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The system does not take the file.
    #[error("the snapshot {} cannot be written", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// A file that keeps what is in a local server, as it was read.
#[derive(Debug)]
pub struct SnapshotFile {
    keeper: Keeper,
    world: World,
}

/// What a server serves.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) queues: Engine,
    pub(crate) topics: Sns,
}

impl Default for World {
    /// Neither queues nor topics.
    fn default() -> Self {
        Self {
            queues: Engine::new(rand::random()),
            topics: Sns::default(),
        }
    }
}

/// The file's content.
#[derive(Serialize, Deserialize)]
struct Snapshot {
    /// Which form it has.
    queuelet_local: u32,
    queues: engine::Snapshot,
    #[serde(default)]
    topics: sns::Snapshot,
}

impl SnapshotFile {
    /// Reads the file, or makes one without queues and topics if there is none.
    ///
    /// # Errors
    /// That it cannot be read or is broken; and that it cannot be written, as a server would notice
    /// only when there is something to lose.
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self, SnapshotError> {
        let path = path.into();
        let opened = tokio::task::spawn_blocking(move || Self::open_blocking(path)).await;
        // A blocking task is not cancelled once it runs: it can only have panicked.
        opened.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }

    fn open_blocking(path: PathBuf) -> Result<Self, SnapshotError> {
        // Through a link, so that the file it leads to is replaced and not the link.
        let path = fs::canonicalize(&path).unwrap_or(path);
        let world = match File::open(&path) {
            Ok(file) => World::read(file).map_err(|reason| SnapshotError::Broken {
                path: path.clone(),
                reason,
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => World::default(),
            Err(source) => return Err(SnapshotError::Unreadable { path, source }),
        };
        let keeper = Keeper { path };
        keeper.write(&Snapshot {
            queuelet_local: FORM,
            queues: world.queues.to_snapshot(),
            topics: world.topics.to_snapshot(),
        })?;
        Ok(Self { keeper, world })
    }

    pub(crate) fn into_parts(self) -> (World, Keeper) {
        (self.world, self.keeper)
    }
}

impl World {
    fn read(file: File) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Form {
            queuelet_local: u32,
        }
        let broken = |error: serde_json::Error| error.to_string();
        let text = io::read_to_string(BufReader::new(file)).map_err(|error| error.to_string())?;
        // Its form comes first, so that a newer one is not called broken for what is new in it.
        let form: Form = serde_json::from_str(&text).map_err(broken)?;
        if form.queuelet_local != FORM {
            return Err(format!(
                "it has the form {}, and this version knows {FORM} only",
                form.queuelet_local
            ));
        }
        let snapshot: Snapshot = serde_json::from_str(&text).map_err(broken)?;
        Ok(Self {
            queues: Engine::from_snapshot(snapshot.queues, rand::random())?,
            topics: Sns::from_snapshot(snapshot.topics),
        })
    }
}

/// Writes the file.
#[derive(Clone, Debug)]
pub(crate) struct Keeper {
    path: PathBuf,
}

impl Keeper {
    /// Puts a new file in the place of the one there is.
    fn write(&self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        self.replace(snapshot)
            .map_err(|source| SnapshotError::Unwritable {
                path: self.path.clone(),
                source,
            })
    }

    fn replace(&self, snapshot: &Snapshot) -> io::Result<()> {
        let beside = beside(&self.path);
        let mut file = BufWriter::new(File::create(&beside)?);
        serde_json::to_writer(&mut file, snapshot)?;
        file.write_all(b"\n")?;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        // Without this a crash of the machine could leave the new name with nothing under it.
        file.sync_all()?;
        fs::rename(&beside, &self.path)
    }
}

/// Where the next file is written: in the same folder, as only there it can be renamed in one step.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    path.with_file_name(name)
}

/// A server's file, kept up to date by a task.
#[derive(Debug)]
pub(crate) struct Kept {
    task: JoinHandle<bool>,
    finish: CancellationToken,
}

impl Kept {
    /// Keeps the file from now on.
    pub(crate) fn start(keeper: Keeper, shared: Arc<Shared>) -> Self {
        let finish = CancellationToken::new();
        let task = tokio::spawn(keep(keeper, shared, finish.clone()));
        Self { task, finish }
    }

    /// Writes the file for the last time. Answers whether it was written.
    pub(crate) async fn finish(self) -> bool {
        self.finish.cancel();
        // The task ends by the token alone; its only error would be a panic, which was reported.
        self.task.await.unwrap_or(false)
    }
}

async fn keep(keeper: Keeper, shared: Arc<Shared>, finish: CancellationToken) -> bool {
    loop {
        tokio::select! {
            () = finish.cancelled() => break,
            () = shared.hub.changed() => {}
        }
        // What changes while this writes and rests is written the next time.
        let (rest, _) = save(&keeper, &shared).await;
        tokio::select! {
            () = finish.cancelled() => break,
            () = tokio::time::sleep(rest) => {}
        }
    }
    let (_, written) = save(&keeper, &shared).await;
    written
}

/// Writes what there is now, and says how long to rest then and whether it was written. A failure is logged,
/// and the next change tries again: those who use the queues shall not suffer from a full disk.
async fn save(keeper: &Keeper, shared: &Arc<Shared>) -> (Duration, bool) {
    let started = Instant::now();
    let (keeper, shared) = (keeper.clone(), shared.clone());
    let written = tokio::task::spawn_blocking(move || {
        let snapshot = Snapshot {
            queuelet_local: FORM,
            queues: shared.hub.to_snapshot(),
            topics: shared.sns.to_snapshot(),
        };
        keeper.write(&snapshot)
    });
    let written = written.await;
    if let Ok(Err(error)) = &written {
        let cause = std::error::Error::source(error).map(ToString::to_string);
        tracing::error!(cause, "local mode: {error}; the next change tries again");
    }
    let rest = PAUSE.max(started.elapsed() * REST);
    (rest, matches!(written, Ok(Ok(_))))
}
