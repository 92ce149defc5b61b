//! Publishing while a handler runs (rule 6.6).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::ids::{self, Fingerprint};
use super::{Publisher, Target};
use crate::error::code::name_of;
use crate::error::{ErrorClass, SqsError};
use crate::handler::{
    GroupId, Handling, MessageId, Publish, PublishError, Reply, SqsMessage, Voice,
};
use crate::observe::Event;

/// What one call of a handler publishes with.
pub(super) struct CallPublisher {
    publisher: Arc<Publisher>,
    voice: Arc<dyn Voice>,
    /// What derived deduplication ids begin with.
    root: String,
    /// The message that is handled, where it is one.
    message: Option<MessageId>,
    /// The group of the messages that are handled, where they have one in common.
    group: Option<GroupId>,
    /// How often each fingerprint has been published by this call.
    published: Mutex<HashMap<Fingerprint, usize>>,
}

impl CallPublisher {
    pub(super) fn new(
        publisher: Arc<Publisher>,
        sources: &[Arc<SqsMessage>],
        voice: Arc<dyn Voice>,
    ) -> Self {
        let first = sources.first();
        let group = first.and_then(|message| message.group_id.clone());
        let is_common = sources.iter().all(|message| message.group_id == group);
        Self {
            publisher,
            voice,
            root: ids::root(sources.iter().map(|message| message.id.as_ref())),
            message: match sources {
                [one] => one.id.clone(),
                _ => None,
            },
            group: group.filter(|_| is_common),
            published: Mutex::default(),
        }
    }

    /// The deduplication id of the next message with this fingerprint.
    fn derived(&self, fingerprint: Fingerprint) -> String {
        let mut published = self
            .published
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let nth = published.entry(fingerprint).or_default();
        let id = ids::of_published(&self.root, &fingerprint, *nth);
        *nth += 1;
        id
    }
}

impl Publish for CallPublisher {
    fn publish(&self, message: Reply) -> Handling<Result<MessageId, PublishError>> {
        let publisher = Arc::clone(&self.publisher);
        let (group, source) = (self.group.clone(), self.message.clone());
        let voice = Arc::clone(&self.voice);
        let target = match publisher.target_of(&message) {
            Ok(target) => target,
            Err(error) => {
                let failed = Event::PublishFailed {
                    error: &error,
                    voice: &*self.voice,
                };
                publisher.observer.emit(source.as_ref(), failed);
                return Box::pin(std::future::ready(Err(error.into())));
            }
        };
        let name = target.named().to_string();
        let derived = self.derived(ids::fingerprint(&name, &message));
        Box::pin(async move {
            let sent = publisher.publish(target, message, group.as_ref(), derived);
            let sent = sent.await;
            let event = match &sent {
                Ok(_) => Event::Published {
                    target: &name,
                    voice: &*voice,
                },
                Err(error) => Event::PublishFailed {
                    error,
                    voice: &*voice,
                },
            };
            publisher.observer.emit(source.as_ref(), event);
            sent.map_err(PublishError::from)
        })
    }
}

impl Publisher {
    async fn publish(
        &self,
        target: Arc<Target>,
        message: Reply,
        group: Option<&GroupId>,
        derived: String,
    ) -> Result<MessageId, SqsError> {
        let (to, message) = self.prepare(target, message, group, derived).await?;
        let sent = to.open.send_one(&message).await;
        sent.map_err(|error| to.target.failed(error))
    }
}

impl From<SqsError> for PublishError {
    fn from(error: SqsError) -> Self {
        let code = match error.call().map(|call| (&call.code, call.class)) {
            Some((Some(code), _)) => name_of(code).to_owned(),
            Some((None, class)) if class != ErrorClass::Refused => class.to_string(),
            _ => "invalid".to_owned(),
        };
        Self {
            code,
            retry: error.class().is_some_and(ErrorClass::passes),
            message: error.to_string(),
        }
    }
}
