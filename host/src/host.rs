//! The host: every subscription, from the check to the drain.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde::Serialize;
use tokio::task::JoinSet;
use tracing::{error, info, warn};

use crate::Shutdown;
use crate::backoff::Backoff;
use crate::config::{
    HostConfig, Level, MountFile, Note, PluginSettings, QueueRef, Resolved, SqsSubscription,
    TargetRef, TopicRef, mount_files_without_plugin, resolve,
};
use crate::dispatch::{self, Mounted};
use crate::error::{CallError, ErrorClass, SqsError};
use crate::file::read_text;
use crate::handler::Handler;
use crate::limits::{CALL_TIMEOUT, OPERATOR_BACKOFF_MAX, RECEIVE_BACKOFF, RECEIVE_BACKOFF_MAX};
use crate::observe::{Counters, Event, Observer, Readiness, Source, Tap};
use crate::plugin::{Guests, LoadError, Plugin, load};
use crate::sqs::{
    Connection, OpenQueue, Opening, Publisher, Subscription, Targets, TopicHome, open,
    subscribe_queue_to_topic,
};

/// The plugins of a folder, and their mounts as the folder's files say.
pub struct Plugins {
    /// Those that load, by name.
    pub loaded: Vec<Arc<Plugin>>,
    /// Files that cannot be plugins.
    pub refused: Vec<LoadError>,
    /// Mounts, problems and notes.
    pub resolved: Resolved,
}

impl Plugins {
    /// Loads every `.wasm` file of `folder` and checks every mount (rules 1.11, 7.2). No network
    /// call is made.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub async fn load_folder(
        guests: &Arc<Guests>,
        config: &HostConfig,
        folder: &Path,
    ) -> std::io::Result<Self> {
        let (mut wasm, mut toml) = (Vec::new(), Vec::new());
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            match path.extension().and_then(|e| e.to_str()) {
                Some("wasm") => wasm.push(path),
                Some("toml") => toml.push(path),
                _ => {}
            }
        }
        wasm.sort();
        toml.sort();
        let mut plugins = Self::load(guests, config, &wasm).await;
        let orphans = toml
            .iter()
            .filter(|file| !wasm.contains(&file.with_extension("wasm")))
            .map(PathBuf::as_path);
        let notes = mount_files_without_plugin(orphans);
        plugins.resolved.notes.extend(notes);
        Ok(plugins)
    }

    /// Loads these `.wasm` files, each with the mount file beside it, and checks every mount.
    pub async fn load(guests: &Arc<Guests>, config: &HostConfig, wasm: &[PathBuf]) -> Self {
        let (mut loaded, mut refused, mut settings) = (Vec::new(), Vec::new(), Vec::new());
        for file in wasm {
            match load(guests, file).await {
                Ok(plugin) => {
                    match mount_file(file) {
                        Ok(mount_file) => settings.push(PluginSettings {
                            name: plugin.name().to_owned(),
                            kind: plugin.kind(),
                            descriptor: plugin.descriptor().to_vec(),
                            mount_file,
                        }),
                        Err(error) => refused.push(error),
                    }
                    loaded.push(Arc::new(plugin));
                }
                Err(error) => refused.push(error),
            }
        }
        Self {
            loaded,
            refused,
            resolved: resolve(config, &settings),
        }
    }

    /// Whether anything keeps the service from starting.
    pub fn has_problems(&self) -> bool {
        !self.refused.is_empty() || !self.resolved.problems.is_empty()
    }

    /// Each mount with the plugin that handles its messages.
    pub fn mounts(&self) -> Vec<(SqsSubscription, Arc<dyn Handler>)> {
        let by_name = |name: &str| self.loaded.iter().find(|plugin| plugin.name() == name);
        self.resolved
            .subscriptions
            .iter()
            .filter_map(|subscription| {
                let plugin = Arc::clone(by_name(&subscription.plugin)?);
                Some((subscription.clone(), plugin as Arc<dyn Handler>))
            })
            .collect()
    }

    /// Logs what is wrong and what is worth saying.
    pub fn log(&self) {
        for refused in &self.refused {
            error!("{refused}");
        }
        for problem in &self.resolved.problems {
            error!("{problem}");
        }
        for note in &self.resolved.notes {
            log_note(note);
        }
    }
}

fn log_note(note: &Note) {
    match note.level {
        Level::Warn => warn!("{note}"),
        Level::Info => info!("{note}"),
    }
}

fn mount_file(wasm: &Path) -> Result<Option<MountFile>, LoadError> {
    let path = wasm.with_extension("toml");
    match read_text(&path) {
        Ok(text) => Ok(Some(MountFile { path, text })),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(LoadError {
            reason: format!("it cannot be read: {error}"),
            file: path,
            digest: None,
        }),
    }
}

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

/// One subscription of a host, before its queue is open.
struct Prepared {
    subscription: Arc<SqsSubscription>,
    handler: Arc<dyn Handler>,
    observer: Observer,
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
            .map(|(subscription, handler)| {
                let local = options.create_missing;
                (
                    if local {
                        by_name(subscription)
                    } else {
                        subscription
                    },
                    handler,
                )
            })
            .map(|(subscription, handler)| Prepared {
                observer: Observer::new(
                    Source {
                        plugin: subscription.plugin.as_str().into(),
                        queue: subscription.queue.name().as_str().into(),
                    },
                    options.tap.clone(),
                ),
                subscription: Arc::new(subscription),
                handler,
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

/// In local mode a queue or topic that is named by AWS's URL or ARN is the local one of its name.
fn by_name(mut subscription: SqsSubscription) -> SqsSubscription {
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
    subscription
}

/// Sets the deadline off once the drain time is up, then never ends.
async fn deadline(shutdown: Shutdown, drain: Duration) {
    shutdown.stop.cancelled().await;
    tokio::time::sleep(drain).await;
    shutdown.deadline.cancel();
    std::future::pending().await
}

/// What sends to `targets`, where there are any.
fn publisher(
    connection: &Connection,
    targets: Targets<'_>,
    observer: &Observer,
) -> Result<Option<Arc<Publisher>>, SqsError> {
    if targets.reply.is_none() && targets.destinations.is_empty() {
        return Ok(None);
    }
    let publisher = Publisher::connect(connection, targets, observer.clone())?;
    Ok(Some(Arc::new(publisher)))
}

/// Opens the queues of subscriptions.
struct Opener {
    connection: Arc<Connection>,
    create_missing: bool,
}

impl Opener {
    async fn open(&self, prepared: &Prepared) -> Result<Mounted, Opening> {
        let Prepared {
            subscription,
            handler,
            observer,
        } = prepared;
        let not_connected = |error| Opening::Refused(error);
        let connection = self
            .connection
            .as_role(subscription.role_arn.as_deref())
            .await;
        let region = subscription.region.as_deref();
        let api = connection.client(region).map_err(not_connected)?;
        let create = self.create_missing || subscription.create_if_missing;
        let endpoint = connection.endpoint();
        let queue = open(&*api, subscription, create, endpoint.as_deref(), observer).await?;
        let home = queue.arn.as_deref().and_then(TopicHome::of_queue);
        let targets = Targets {
            reply: subscription.reply.as_ref(),
            destinations: &subscription.destinations,
            reply_group: subscription.reply_group.as_deref(),
            create,
            region,
            home: home.as_ref(),
            by_name: self.create_missing,
        };
        // Declared here, or there already (rule 5.14).
        let declared = subscription.dead_letter.clone();
        let there = || queue.dead_letter.as_ref()?.parse::<QueueRef>().ok();
        let dead_letter = declared.or_else(there).map(TargetRef::Queue);
        let letters = Targets {
            reply: dead_letter.as_ref(),
            destinations: &[],
            reply_group: None,
            ..targets
        };
        let connect = |targets| publisher(&connection, targets, observer).map_err(not_connected);
        let (publisher, dead_letter) = (connect(targets)?, connect(letters)?);
        if let Some(publisher) = &publisher {
            // Messages whose replies have nowhere to go would only burn their receives.
            publisher.resolve().await.map_err(Opening::NotYet)?;
        }
        for topic in &subscription.subscribe {
            let region = topic.region().or(home.as_ref().map(TopicHome::region));
            let sns = connection
                .sns(region.or(subscription.region.as_deref()))
                .map_err(not_connected)?;
            let subscribed = subscribe_queue_to_topic(&*api, &*sns, &queue.url, topic, create)
                .await
                .map_err(Opening::NotYet)?;
            observer.emit(
                None,
                Event::SubscribedTo {
                    topic: subscribed.topic.as_str(),
                    policy_written: subscribed.policy_written,
                    pending: subscribed.subscription == Subscription::Pending,
                },
            );
        }
        Ok(Mounted {
            subscription: Arc::clone(subscription),
            handler: Arc::clone(handler),
            api,
            finished: connection.finished(&queue.url),
            queue,
            publisher,
            dead_letter,
            observer: observer.clone(),
        })
    }

    /// The first try, which the other subscriptions wait for: so not for long.
    async fn first(&self, prepared: &Prepared) -> Result<Mounted, Opening> {
        let tried = tokio::time::timeout(CALL_TIMEOUT, self.open(prepared)).await;
        tried.unwrap_or_else(|_| {
            Err(Opening::NotYet(SqsError::Queue {
                queue: prepared.subscription.queue.to_string(),
                cause: Arc::new(CallError {
                    operation: "GetQueueUrl",
                    class: ErrorClass::Network,
                    code: None,
                    message: format!("no answer within {CALL_TIMEOUT:?}"),
                }),
            }))
        })
    }

    /// Tries again until the queue is open, or the service stops (rule 2.4).
    async fn until_open(
        &self,
        prepared: &Prepared,
        first: Result<Mounted, Opening>,
        shutdown: &Shutdown,
    ) -> Option<Mounted> {
        let observer = &prepared.observer;
        let mut result = first;
        let mut backoff = Backoff::new(RECEIVE_BACKOFF, RECEIVE_BACKOFF_MAX);
        let mut said = None;
        loop {
            let error = match result {
                Ok(mounted) => {
                    self.say_ready(&mounted);
                    return Some(mounted);
                }
                Err(Opening::NotYet(error) | Opening::Refused(error)) => error,
            };
            let class = error.class();
            let trouble = Some((class, error.remedy()));
            if said != trouble {
                observer.emit(None, Event::NotReady { error: &error });
                said = trouble;
                backoff.reset_to(match class {
                    Some(class) if class.passes() => RECEIVE_BACKOFF_MAX,
                    _ => OPERATOR_BACKOFF_MAX,
                });
            }
            tokio::select! {
                () = shutdown.stop.cancelled() => return None,
                () = tokio::time::sleep(backoff.next_random()) => {}
            }
            result = tokio::select! {
                () = shutdown.stop.cancelled() => return None,
                result = self.open(prepared) => result,
            };
        }
    }

    fn say_ready(&self, mounted: &Mounted) {
        let OpenQueue { url, state, .. } = &mounted.queue;
        let region = mounted
            .subscription
            .region
            .as_deref()
            .or(self.connection.region());
        mounted.observer.emit(
            None,
            Event::Ready {
                url: url.as_str(),
                region,
                visibility: state.visibility(),
            },
        );
    }
}
