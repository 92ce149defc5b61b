//! What takes its time, beside the supervisor: looks, loads, openings.

use std::future::Future;
use std::io;
use std::sync::Arc;

use futures_util::future::join_all;
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;

use super::super::opener::{Opener, Prepared};
use crate::config::HostConfig;
use crate::dispatch::Mounted;
use crate::error::{CallError, SqsError};
use crate::reload::folder::{self, Look};
use crate::reload::load::{Candidate, Checked, Known, Loaded, Loader, check};
use crate::reload::machine::{Content, How, Refusal};
use crate::reload::stamp::{FileStamp, Stamp, Stem};
use crate::sqs::Opening;

/// What has been done.
pub(super) enum Done {
    /// The folder was looked at, and the list of pins.
    Looked {
        look: io::Result<Look>,
        pins: Option<FileStamp>,
    },
    /// A plugin's files were loaded.
    Loaded {
        stem: Stem,
        of: Stamp,
        loaded: Result<Load, Refusal>,
    },
    /// The queues were opened that a version needs and that are not open.
    Opened {
        stem: Stem,
        how: How,
        version: u64,
        opened: Vec<Result<Mounted, Opening>>,
    },
}

/// Looks at the folder.
pub(super) async fn look(loader: Arc<Loader>) -> Done {
    let looked = tokio::task::spawn_blocking(move || {
        let pins = loader.pins().and_then(folder::stamp);
        (folder::look(loader.folder()), pins)
    });
    let (look, pins) = looked
        .await
        .unwrap_or_else(|panic| (Err(io::Error::other(panic)), None));
    Done::Looked { look, pins }
}

/// A load that found something new has its mounts checked too.
pub(super) enum Load {
    Same(Content),
    New(Box<Candidate>, Checked),
}

/// Loads a plugin's files, and checks its mounts.
pub(super) async fn load(
    loader: Arc<Loader>,
    config: Arc<HostConfig>,
    stem: Stem,
    of: Stamp,
    known: Option<Known>,
) -> Done {
    let loading = {
        let stem = stem.clone();
        async move {
            let candidate = match loader.load(&stem, of, known).await? {
                Loaded::Same(content) => return Ok(Load::Same(content)),
                Loaded::New(candidate) => candidate,
            };
            let checking = tokio::task::spawn_blocking(move || {
                let checked = check(&config, &candidate)?;
                Ok(Load::New(candidate, checked))
            });
            checking.await.unwrap_or_else(|panic| Err(panicked(panic)))
        }
    };
    let loaded = guarded(loading).await;
    Done::Loaded {
        stem,
        of,
        loaded: loaded.unwrap_or_else(|panic| Err(panicked(panic))),
    }
}

fn panicked(panic: JoinError) -> Refusal {
    Refusal {
        unfinished: false,
        digest: None,
        content: None,
        reason: format!("loading it panicked; please report this: {panic}").into(),
    }
}

/// Opens queues, each tried once.
pub(super) async fn open(
    opener: Arc<Opener>,
    stem: Stem,
    how: How,
    version: u64,
    prepared: Vec<Arc<Prepared>>,
) -> Done {
    let opened = join_all(prepared.into_iter().map(|prepared| {
        let (opener, queue) = (Arc::clone(&opener), prepared.subscription.queue.to_string());
        async move {
            let opened = guarded(async move { opener.first(&prepared).await }).await;
            opened.unwrap_or_else(|panic| {
                let message = format!("opening it panicked; please report this: {panic}");
                let cause = Arc::new(CallError::no_answer("GetQueueUrl", message));
                Err(Opening::NotYet(SqsError::Queue { queue, cause }))
            })
        }
    }));
    Done::Opened {
        stem,
        how,
        version,
        opened: opened.await,
    }
}

/// Whoever waits for an answer gets one, whatever happens.
async fn guarded<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, JoinError> {
    AbortOnDropHandle::new(tokio::spawn(work)).await
}
