//! A queue or a topic that messages go to: where it is, what it takes, and the calls that send.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tokio::sync::Mutex;

use super::check::{Refusal, Takes};
use crate::config::{QueueRef, TargetRef, TopicRef};
use crate::error::code::name_of;
use crate::error::{CallError, ErrorClass, SqsError};
use crate::handler::MessageId;
use crate::limits::{DEFAULT_TOPIC_MESSAGE, MAX_QUEUE_MESSAGE};
use crate::sqs::api::{Outgoing, QueueAttributes, QueueUrl, SqsApi};
use crate::sqs::open::resolve;
use crate::sqs::sns::{SnsApi, TopicArn, TopicAttributes, TopicHome, create_topic, topic_arn};

/// A queue or a topic that messages go to.
pub struct Target {
    named: TargetRef,
    way: Way,
    /// Whether it is created where it is missing.
    create: bool,
    /// Resolved once (rule 6.1), and again only where it turns out to be gone or to have changed.
    open: Mutex<Option<Arc<Open>>>,
    /// Whether it has to be resolved again.
    stale: AtomicBool,
}

/// How a target is reached.
enum Way {
    Queue {
        api: Arc<dyn SqsApi>,
        queue: QueueRef,
        endpoint: Option<String>,
    },
    Topic {
        api: Arc<dyn SnsApi>,
        topic: TopicRef,
        home: Option<TopicHome>,
    },
}

/// A target that is resolved.
pub(super) struct Open {
    address: Address,
    pub(super) takes: Takes,
}

enum Address {
    Queue(Arc<dyn SqsApi>, QueueUrl),
    Topic(Arc<dyn SnsApi>, TopicArn),
}

impl Target {
    /// A queue, not resolved yet. `create` makes it where it is missing; `endpoint` stands in for
    /// the host and port of a URL that SQS returns (rule 1.1).
    pub fn queue(
        api: Arc<dyn SqsApi>,
        queue: QueueRef,
        create: bool,
        endpoint: Option<String>,
    ) -> Self {
        Self {
            named: queue.clone().into(),
            way: Way::Queue {
                api,
                queue,
                endpoint,
            },
            create,
            open: Mutex::default(),
            stale: AtomicBool::new(false),
        }
    }

    /// A topic, not resolved yet. One that is named by its name alone is at `home`, the place of
    /// the queue that it is used with (rule 6.1); `create` makes it where it is missing.
    pub fn topic(
        api: Arc<dyn SnsApi>,
        topic: TopicRef,
        create: bool,
        home: Option<TopicHome>,
    ) -> Self {
        Self {
            named: topic.clone().into(),
            way: Way::Topic { api, topic, home },
            create,
            open: Mutex::default(),
            stale: AtomicBool::new(false),
        }
    }

    /// The target as it is named.
    pub fn named(&self) -> &TargetRef {
        &self.named
    }

    /// Whether a handler that names `destination` means this target: as the operator names it, or
    /// by its name alone.
    pub(super) fn is_meant_by(&self, destination: &TargetRef) -> bool {
        match (destination, &self.named) {
            (TargetRef::Queue(QueueRef::Name(name)), TargetRef::Queue(queue)) => {
                queue.name() == name
            }
            (TargetRef::Topic(TopicRef::Name(name)), TargetRef::Topic(topic)) => {
                topic.name() == name
            }
            (destination, named) => destination == named,
        }
    }

    /// Where the target is and what it takes.
    ///
    /// # Errors
    /// Where it cannot be resolved, read or created.
    pub(super) async fn open(&self) -> Result<Arc<Open>, SqsError> {
        let mut cached = self.open.lock().await;
        if self.stale.swap(false, Relaxed) {
            *cached = None;
        }
        if let Some(open) = &*cached {
            return Ok(Arc::clone(open));
        }
        let open = Arc::new(self.resolve().await?);
        *cached = Some(Arc::clone(&open));
        Ok(open)
    }

    /// Resolves it again at the next [`Target::open`].
    pub(super) fn forget(&self) {
        self.stale.store(true, Relaxed);
    }

    async fn resolve(&self) -> Result<Open, SqsError> {
        let (address, maximum_size) = match &self.way {
            Way::Queue {
                api,
                queue,
                endpoint,
            } => {
                let url = resolve(&**api, queue, self.create, endpoint.as_deref()).await?;
                let size = |read: QueueAttributes| read.maximum_message_size;
                let attributes = api.queue_attributes(&url).await;
                let size = self.size(attributes.map(size), MAX_QUEUE_MESSAGE)?;
                (Address::Queue(Arc::clone(api), url), size)
            }
            Way::Topic { api, topic, home } => {
                let (arn, attributes) = self.topic_of(&**api, topic, home.as_ref()).await?;
                let size = attributes.map(|read| read.maximum_message_size);
                let size = self.size(size, DEFAULT_TOPIC_MESSAGE)?;
                (Address::Topic(Arc::clone(api), arn), size)
            }
        };
        Ok(Open {
            address,
            takes: Takes {
                fifo: self.named.is_fifo(),
                topic: matches!(self.named, TargetRef::Topic(_)),
                maximum_size,
            },
        })
    }

    /// The size that a target says or is known to have. One that may be sent to but not read is
    /// left to AWS's judgement (rule 6.3).
    fn size(
        &self,
        read: Result<Option<usize>, CallError>,
        default: usize,
    ) -> Result<Option<usize>, SqsError> {
        match read {
            Ok(size) => Ok(Some(size.unwrap_or(default))),
            Err(error) if error.class == ErrorClass::Denied => Ok(None),
            Err(error) => Err(self.error(error)),
        }
    }

    /// A topic that is named by its ARN is there; one by its name is created where it is not.
    async fn topic_of(
        &self,
        api: &dyn SnsApi,
        topic: &TopicRef,
        home: Option<&TopicHome>,
    ) -> Result<(TopicArn, Result<TopicAttributes, CallError>), SqsError> {
        let arn = topic_arn(topic, home).map_err(|error| self.error(error))?;
        let attributes = api.topic_attributes(&arn).await;
        match (topic, attributes) {
            (TopicRef::Name(_), Err(error))
                if error.class == ErrorClass::Missing && self.create =>
            {
                create_topic(api, topic, &arn).await?;
                Ok((arn, Ok(TopicAttributes::default())))
            }
            (_, attributes) => Ok((arn, attributes)),
        }
    }

    /// What SQS or SNS did not take, as the library's error. A target that is gone is looked for
    /// again at the next message.
    pub(super) fn failed(&self, cause: CallError) -> SqsError {
        if cause.class == ErrorClass::Missing {
            self.forget();
        }
        self.error(cause)
    }

    /// What went wrong with this target, as the library's error.
    pub(super) fn error(&self, cause: CallError) -> SqsError {
        SqsError::Publish {
            target: self.named.to_string(),
            cause: Arc::new(cause),
        }
    }

    /// What was not even tried.
    pub(super) fn refused(&self, refusal: Refusal) -> SqsError {
        match refusal {
            Refusal::NotFifo(message) => SqsError::NotFifo {
                target: self.named.to_string(),
                message,
            },
            Refusal::Size(message) | Refusal::Invalid(message) => self.error(CallError {
                operation: match self.way {
                    Way::Queue { .. } => "SendMessage",
                    Way::Topic { .. } => "Publish",
                },
                class: ErrorClass::Refused,
                code: None,
                message,
            }),
        }
    }
}

impl Open {
    /// How many bytes one call carries in all.
    pub(super) fn room(&self) -> usize {
        match self.address {
            Address::Queue(..) => MAX_QUEUE_MESSAGE,
            // A PublishBatch is bound by the topic's own size.
            Address::Topic(..) => self.takes.maximum_size.unwrap_or(DEFAULT_TOPIC_MESSAGE),
        }
    }

    /// Sends messages that one call carries. One result each, in order.
    pub(super) async fn send(&self, messages: &[Outgoing]) -> Vec<Result<MessageId, CallError>> {
        if let [one] = messages {
            return vec![self.send_one(one).await];
        }
        let answer = match &self.address {
            Address::Queue(api, url) => api.send_batch(url, messages).await,
            Address::Topic(api, arn) => api.publish_batch(arn, messages).await,
        };
        match answer {
            Ok(results) => results,
            // A limit that is lower than the one we know, which each alone may keep.
            Err(error) if is_too_long(&error) => {
                let mut results = Vec::new();
                for message in messages {
                    results.push(self.send_one(message).await);
                }
                results
            }
            Err(error) => messages.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    /// Sends one message.
    pub(super) async fn send_one(&self, message: &Outgoing) -> Result<MessageId, CallError> {
        match &self.address {
            Address::Queue(api, url) => api.send(url, message).await,
            Address::Topic(api, arn) => api.publish(arn, message).await,
        }
    }
}

fn is_too_long(error: &CallError) -> bool {
    error.code.as_deref().map(name_of) == Some("BatchRequestTooLong")
}
