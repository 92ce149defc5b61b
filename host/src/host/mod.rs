//! The host: every subscription, from the check to the drain.

mod mounts;
mod opener;
mod plugins;
mod roster;
mod version;
mod watched;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde::Serialize;
use tokio::task::JoinSet;
use tracing::error;

pub use plugins::Plugins;
pub use roster::{MountStanding, PluginStanding, RefusalStanding, Roster, VersionStanding};
pub use watched::WatchedHost;

use crate::Shutdown;
use crate::config::{QueueRef, SqsSubscription, TopicRef};
use crate::dispatch::{self, Serving};
use crate::error::SqsError;
use crate::handler::Handler;
use crate::observe::{Counters, Observer, Readiness, Source, Tap};
use crate::sqs::{Connection, Opening};
use opener::{Opener, Prepared};

/// How a host works, beside what its mounts say.
#[derive(Clone)]
pub struct HostOptions {
    /// How long handlers in flight may go on after a stop.
    pub drain: Duration,
    /// Whether every queue that a mount names is created where it is missing: local mode
    /// (rule 10.4).
    pub create_missing: bool,
    /// Sees every event.
    pub tap: Option<Tap>,
}

/// How a host ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// How many messages the drain deadline interrupted.
    pub left: usize,
}

/// Runs subscriptions against one SQS.
pub struct Host {
    connection: Arc<Connection>,
    options: HostOptions,
    prepared: Vec<Prepared>,
}

impl Host {
    /// A host of these mounts. Nothing is asked of SQS yet.
    pub fn new(
        connection: Arc<Connection>,
        options: HostOptions,
        mounts: Vec<(SqsSubscription, Arc<dyn Handler>)>,
    ) -> Self {
        let prepared = mounts
            .into_iter()
            .map(|(mut subscription, handler)| {
                if options.create_missing {
                    by_name(&mut subscription);
                }
                (subscription, handler)
            })
            .map(|(subscription, handler)| {
                let subscription = Arc::new(subscription);
                Prepared {
                    observer: Observer::new(source(&subscription), options.tap.clone()),
                    live: Arc::new(Serving {
                        version: 1,
                        handler,
                        subscription: Arc::clone(&subscription),
                    }),
                    subscription,
                }
            })
            .collect();
        Self {
            connection,
            options,
            prepared,
        }
    }

    /// The counts of each subscription.
    pub fn counters(&self) -> Vec<(Source, Arc<Counters>)> {
        self.prepared
            .iter()
            .map(|p| {
                (
                    p.observer.source().clone(),
                    Arc::clone(p.observer.counters()),
                )
            })
            .collect()
    }

    /// Whether each subscription can receive, now and as it changes (rule 2.4).
    pub fn readiness(&self) -> Vec<(Source, Arc<Readiness>)> {
        let observers = self.prepared.iter().map(|p| &p.observer);
        observers
            .map(|o| (o.source().clone(), Arc::clone(o.readiness())))
            .collect()
    }

    /// Opens every queue, then receives, handles and settles until `shutdown.stop`; handlers in
    /// flight then have the drain time. `ready` is called once every queue has been tried and
    /// before any message is received.
    ///
    /// # Errors
    /// What only another configuration can mend, all of it, before any message is received
    /// (rule 7.2). A queue that cannot be reached is no such thing: it is tried again.
    pub async fn run(
        self,
        shutdown: Shutdown,
        ready: impl FnOnce(),
    ) -> Result<Report, Vec<SqsError>> {
        let Self {
            connection,
            options,
            prepared,
        } = self;
        let opener = Arc::new(Opener {
            connection,
            create_missing: options.create_missing,
        });
        let opening = join_all(prepared.iter().map(|p| opener.first(p)));
        let opened = tokio::select! {
            opened = opening => opened,
            () = shutdown.stop.cancelled() => return Ok(Report::default()),
        };
        let refused: Vec<_> = opened
            .iter()
            .filter_map(|result| match result {
                Err(Opening::Refused(error)) => Some(error.clone()),
                _ => None,
            })
            .collect();
        if !refused.is_empty() {
            return Err(refused);
        }
        ready();

        let mut subscriptions = JoinSet::new();
        for (prepared, opened) in prepared.into_iter().zip(opened) {
            let (opener, shutdown) = (Arc::clone(&opener), shutdown.clone());
            subscriptions.spawn(async move {
                let opened = opener.until_open(&prepared, opened, &shutdown).await;
                match opened {
                    Some(mounted) => dispatch::run(mounted, shutdown).await,
                    None => dispatch::Ended::default(),
                }
            });
        }
        let deadline = deadline(shutdown, options.drain);
        tokio::pin!(deadline);
        let mut report = Report::default();
        loop {
            tokio::select! {
                ended = subscriptions.join_next() => match ended {
                    Some(Ok(ended)) => report.left += ended.left,
                    Some(Err(panic)) => error!("a subscription ended by a fault of ours; please report this: {panic}"),
                    None => return Ok(report),
                },
                () = &mut deadline => {}
            }
        }
    }
}

/// Where the events of a subscription come from.
fn source(subscription: &SqsSubscription) -> Source {
    Source {
        plugin: subscription.plugin.as_str().into(),
        queue: subscription.queue.name().as_str().into(),
    }
}

/// In local mode a queue or topic that is named by AWS's URL or ARN is the local one of its name.
fn by_name(subscription: &mut SqsSubscription) {
    let queues = std::iter::once(&mut subscription.queue).chain(&mut subscription.dead_letter);
    for queue in queues {
        *queue = QueueRef::Name(queue.name().clone());
    }
    for topic in &mut subscription.subscribe {
        *topic = TopicRef::Name(topic.name().clone());
    }
    let targets = subscription.reply.iter_mut();
    for target in targets.chain(&mut subscription.destinations) {
        *target = target.by_name();
    }
}

/// Sets the deadline off once the drain time is up, then never ends.
async fn deadline(shutdown: Shutdown, drain: Duration) {
    shutdown.stop.cancelled().await;
    tokio::time::sleep(drain).await;
    shutdown.deadline.cancel();
    std::future::pending().await
}
