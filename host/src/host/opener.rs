//! Opening the queues of subscriptions, again and again where it must be.

use std::sync::Arc;

use crate::Shutdown;
use crate::backoff::Backoff;
use crate::config::{QueueRef, SqsSubscription, TargetRef};
use crate::dispatch::{Live, Mounted};
use crate::error::{CallError, ErrorClass, SqsError};
use crate::limits::{CALL_TIMEOUT, OPERATOR_BACKOFF_MAX, RECEIVE_BACKOFF, RECEIVE_BACKOFF_MAX};
use crate::observe::{Event, Observer};
use crate::sqs::{
    Connection, OpenQueue, Opening, Publisher, Subscription, Targets, TopicHome, open,
    subscribe_queue_to_topic,
};

/// One subscription of a host, before its queue is open.
pub(crate) struct Prepared {
    pub(crate) subscription: Arc<SqsSubscription>,
    pub(crate) live: Arc<dyn Live>,
    pub(crate) observer: Observer,
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
pub(crate) struct Opener {
    pub(crate) connection: Arc<Connection>,
    pub(crate) create_missing: bool,
}

impl Opener {
    async fn open(&self, prepared: &Prepared) -> Result<Mounted, Opening> {
        let Prepared {
            subscription,
            live,
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
            live: Arc::clone(live),
            api,
            finished: connection.finished(&queue.url),
            queue,
            publisher,
            dead_letter,
            observer: observer.clone(),
        })
    }

    /// The first try, which the other subscriptions wait for: so not for long.
    pub(crate) async fn first(&self, prepared: &Prepared) -> Result<Mounted, Opening> {
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
    pub(crate) async fn until_open(
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
                () = shutdown.no_more() => return None,
                () = tokio::time::sleep(backoff.next_random()) => {}
            }
            result = tokio::select! {
                () = shutdown.no_more() => return None,
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
