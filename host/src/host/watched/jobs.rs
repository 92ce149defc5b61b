//! What takes its time, beside the supervisor: looks, loads, openings.

use std::future::Future;
use std::io;
use std::sync::Arc;

use futures_util::future::join_all;
use tokio_util::task::AbortOnDropHandle;

use super::super::opener::{Opener, Prepared};
use crate::dispatch::Mounted;
use crate::error::{CallError, SqsError};
use crate::reload::folder::{self, Look};
use crate::reload::load::{Known, Loaded, Loader};
use crate::reload::machine::{How, Refusal};
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
        loaded: Result<Loaded, Refusal>,
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

/// Loads a plugin's files.
pub(super) async fn load(loader: Arc<Loader>, stem: Stem, of: Stamp, known: Option<Known>) -> Done {
    let loading = {
        let stem = stem.clone();
        async move { loader.load(&stem, of, known).await }
    };
    let loaded = guarded(loading).await.unwrap_or_else(|panic| {
        Err(Refusal {
            unfinished: false,
            digest: None,
            content: None,
            reason: format!("loading it panicked; please report this: {panic}"),
        })
    });
    Done::Loaded { stem, of, loaded }
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
) -> Result<T, tokio::task::JoinError> {
    AbortOnDropHandle::new(tokio::spawn(work)).await
}
