//! What happens to a plugin's files and versions, each a line of the log.

use std::path::Path;
use std::time::Duration;

use tracing::{error, info};

use crate::plugin::Digest;

/// Something that happened to a plugin.
#[derive(Debug)]
#[non_exhaustive]
pub enum PluginEvent<'a> {
    /// A version serves, and none did before it.
    Loaded {
        /// Which one, counted from 1.
        version: u64,
        /// Of its file.
        digest: Digest,
        /// How long its file is.
        size: u64,
        /// How long loading it took.
        took: Duration,
        /// The version of the contract that it was built for.
        contract: &'a str,
    },
    /// A version serves in the place of another.
    Replaced {
        /// Which one.
        version: u64,
        /// Of its file.
        digest: Digest,
        /// The one that served before it.
        old_version: u64,
        /// Of that one's file.
        old_digest: Digest,
        /// How long its file is.
        size: u64,
        /// How long loading it took.
        took: Duration,
        /// The version of the contract that it was built for.
        contract: &'a str,
    },
    /// The same code serves by another mount file.
    Remounted {
        /// Which version it is with it.
        version: u64,
        /// Of its file.
        digest: Digest,
        /// Whether there is a mount file still.
        has_file: bool,
    },
    /// What was found is not taken.
    Refused {
        /// What is not taken: its file, or its mount file.
        file: &'a Path,
        /// Of its file, where it could be read.
        digest: Option<Digest>,
        /// What is wrong and what to do.
        reason: &'a str,
        /// What serves on: its version and its digest.
        serving: Option<(u64, Digest)>,
    },
    /// After a refusal the files are as they are served again.
    Restored {
        /// The version that serves.
        version: u64,
        /// Of its file.
        digest: Digest,
    },
    /// Its file is gone, so its subscriptions end.
    Removed {
        /// The version that served.
        version: u64,
        /// Of its file.
        digest: Digest,
    },
    /// A subscription begins.
    Mounted {
        /// On which queue.
        queue: &'a str,
    },
    /// A subscription takes the place of one with other settings of the queue, once its queue is open.
    MountedAnew {
        /// On which queue.
        queue: &'a str,
    },
    /// A subscription takes the place of one on another queue, once its own is open.
    Moved {
        /// On which queue.
        queue: &'a str,
        /// On which queue the other is.
        from: &'a str,
    },
    /// A subscription ends, for its mount is gone.
    Unmounted {
        /// On which queue.
        queue: &'a str,
    },
    /// The last of a removed plugin's subscriptions has ended.
    Gone,
}

impl PluginEvent<'_> {
    /// Writes the log line.
    pub fn emit(&self, plugin: &str) {
        match self {
            Self::Loaded {
                version,
                digest,
                size,
                took,
                contract,
            } => info!(plugin, version, %digest, size, ?took, contract, "loaded"),
            Self::Replaced {
                version,
                digest,
                old_version,
                old_digest,
                size,
                took,
                contract,
            } => info!(
                plugin,
                version,
                %digest,
                old_version,
                %old_digest,
                size,
                ?took,
                contract,
                "replaced"
            ),
            Self::Remounted {
                version,
                digest,
                has_file,
            } => info!(
                plugin,
                version,
                %digest,
                "{}",
                if *has_file {
                    "mounted by another mount file"
                } else {
                    "mounted by its descriptor alone: its mount file is gone"
                }
            ),
            Self::Refused {
                file,
                digest,
                reason,
                serving,
            } => {
                let digest_shown = digest.map_or(String::new(), |d| format!(" ({})", d.short()));
                let next = match serving {
                    Some((version, digest)) => {
                        format!("version {version} ({}) keeps serving", digest.short())
                    }
                    None => "nothing is served".to_owned(),
                };
                error!(
                    plugin,
                    digest = digest.map(tracing::field::display),
                    "refused: {}{digest_shown}: {reason}; {next}",
                    file.display()
                );
            }
            Self::Restored { version, digest } => info!(
                plugin,
                version,
                %digest,
                "the files are those of the version that serves again"
            ),
            Self::Removed { version, digest } => info!(
                plugin,
                version,
                %digest,
                "removed: its subscriptions end, and handlers in flight have the drain time"
            ),
            Self::Mounted { queue } => info!(plugin, queue, "mounted"),
            Self::MountedAnew { queue } => info!(
                plugin,
                queue,
                "mounted anew: once this is ready, the subscription before handles what it holds and \
                 what its open long poll brings, by its own settings of the queue, and ends"
            ),
            Self::Moved { queue, from } => info!(
                plugin,
                queue,
                from,
                "mounted on another queue: until that is open, the queue before is read; then what \
                 is held of it, and what its open long poll brings, is handled"
            ),
            Self::Unmounted { queue } => info!(plugin, queue, "unmounted"),
            Self::Gone => info!(plugin, "gone"),
        }
    }
}
