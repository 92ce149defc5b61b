//! Opening a queue: its URL, and what the host must know of it before it receives.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::api::{QueueAttributes, QueueUrl, SqsApi};
use super::redrive::write_redrive;
use crate::config::{Class, Problem, QueueName, QueueRef, SqsSubscription};
use crate::error::{CallError, ErrorClass, SqsError};
use crate::observe::{Event, Observer};

/// What the host knows of an open queue, and may read again while it runs.
#[derive(Debug)]
pub struct QueueState {
    visibility_ms: AtomicU64,
    /// 0: no redrive policy.
    max_receive_count: AtomicU64,
}

impl QueueState {
    /// What was read.
    pub fn new(visibility: Duration, max_receive_count: Option<u32>) -> Self {
        let state = Self {
            visibility_ms: AtomicU64::new(0),
            max_receive_count: AtomicU64::new(0),
        };
        state.set_visibility(visibility);
        state.set_max_receive_count(max_receive_count);
        state
    }

    /// How long a received message stays hidden.
    pub fn visibility(&self) -> Duration {
        Duration::from_millis(self.visibility_ms.load(Relaxed))
    }

    /// Changes [`QueueState::visibility`], for messages received from now on.
    pub fn set_visibility(&self, visibility: Duration) {
        let ms = u64::try_from(visibility.as_millis()).unwrap_or(u64::MAX);
        self.visibility_ms.store(ms, Relaxed);
    }

    /// How many receives the queue's redrive policy allows a message; none without a policy.
    pub fn max_receive_count(&self) -> Option<u32> {
        u32::try_from(self.max_receive_count.load(Relaxed))
            .ok()
            .filter(|count| *count > 0)
    }

    /// Changes [`QueueState::max_receive_count`].
    pub fn set_max_receive_count(&self, count: Option<u32>) {
        self.max_receive_count
            .store(count.unwrap_or(0).into(), Relaxed);
    }

    /// Takes what was read again. A visibility of 0 is not taken: it would end every lease.
    pub fn take(&self, attributes: &QueueAttributes, observer: &Observer) {
        let redrive = attributes.redrive.as_ref();
        self.set_max_receive_count(redrive.map(|policy| policy.max_receive_count));
        let old = self.visibility();
        match attributes.visibility {
            Some(new) if new != old && !new.is_zero() => {
                self.set_visibility(new);
                observer.emit(None, Event::VisibilityChanged { old, new });
            }
            _ => {}
        }
    }
}

/// A queue that can be received from.
#[derive(Clone, Debug)]
pub struct OpenQueue {
    /// Its URL.
    pub url: QueueUrl,
    /// Its ARN, where SQS said it.
    pub arn: Option<String>,
    /// The ARN of the dead-letter queue that its redrive policy names.
    pub dead_letter: Option<String>,
    /// Whether what is missing was to be created.
    pub create: bool,
    /// What stood in for host and port of a URL that SQS returns.
    pub endpoint: Option<String>,
    /// What is known of it.
    pub state: Arc<QueueState>,
}

/// How an attempt to open a queue failed.
#[derive(Clone, Debug)]
pub enum Opening {
    /// Nothing but another configuration helps: the service must not start (rule 7.2).
    Refused(SqsError),
    /// It may work later: the subscription is not ready, and is tried again (rule 2.4).
    NotYet(SqsError),
}

/// Resolves and reads the queue of a subscription, and writes the redrive policy that the mount
/// declares. `create` makes a queue that is missing; `endpoint` stands in for the host and port of a
/// URL that SQS returns (rule 1.1).
///
/// # Errors
/// [`Opening`] says whether trying again can help.
pub async fn open(
    api: &dyn SqsApi,
    subscription: &SqsSubscription,
    create: bool,
    endpoint: Option<&str>,
    observer: &Observer,
) -> Result<OpenQueue, Opening> {
    let url = resolve(api, &subscription.queue, create, endpoint)
        .await
        .map_err(Opening::NotYet)?;
    let attributes = match api.queue_attributes(&url).await {
        Ok(attributes) => attributes,
        // With a visibility of its own the subscription can do without what it may not read.
        Err(error) if error.class == ErrorClass::Denied && subscription.visibility.is_some() => {
            QueueAttributes::default()
        }
        Err(error) => return Err(Opening::NotYet(queue_error(&subscription.queue, error))),
    };
    let visibility = match (subscription.visibility, attributes.visibility) {
        (Some(named), _) => named,
        (None, Some(own)) if !own.is_zero() => own,
        (None, own) => return Err(Opening::Refused(no_visibility(subscription, own).into())),
    };
    let read = (&url, &attributes);
    let redrive = write_redrive(api, subscription, read, create, endpoint, observer)
        .await
        .map_err(Opening::NotYet)?;
    let max_receive_count = redrive.as_ref().map(|policy| policy.max_receive_count);
    Ok(OpenQueue {
        url,
        arn: attributes.arn,
        dead_letter: redrive.map(|policy| policy.dead_letter),
        create,
        endpoint: endpoint.map(str::to_owned),
        state: Arc::new(QueueState::new(visibility, max_receive_count)),
    })
}

/// The URL of a queue: as it is written, or as SQS says (rule 1.1).
///
/// # Errors
/// [`SqsError::Queue`] where it cannot be found, [`SqsError::Admin`] where it cannot be created.
pub async fn resolve(
    api: &dyn SqsApi,
    queue: &QueueRef,
    create: bool,
    endpoint: Option<&str>,
) -> Result<QueueUrl, SqsError> {
    let (name, account) = match queue {
        QueueRef::Url { url, .. } => return Ok(QueueUrl::new(url.as_str())),
        QueueRef::Name(name) => (name.as_str(), None),
        QueueRef::Arn { name, account, .. } => (name.as_str(), Some(account.as_str())),
    };
    let url = match api.queue_url(name, account).await {
        Err(error) if error.class == ErrorClass::Missing && create => api
            .create_queue(name, attributes_of_new(queue.name()))
            .await
            .map_err(|error| SqsError::Admin {
                operation: "CreateQueue",
                queue: name.to_owned(),
                cause: Arc::new(error),
            })?,
        answer => answer.map_err(|error| queue_error(queue, error))?,
    };
    Ok(match endpoint {
        Some(endpoint) => url.at_endpoint(endpoint),
        None => url,
    })
}

/// What a queue is created with (rule 1.8). Messages to a FIFO queue are told apart by their content
/// where their sender does not say by what.
fn attributes_of_new(queue: &QueueName) -> &'static [(&'static str, &'static str)] {
    if queue.is_fifo() {
        &[("FifoQueue", "true"), ("ContentBasedDeduplication", "true")]
    } else {
        &[]
    }
}

fn queue_error(queue: &QueueRef, error: CallError) -> SqsError {
    SqsError::Queue {
        queue: queue.to_string(),
        cause: Arc::new(error),
    }
}

/// Rule 1.5: a queue that hides nothing hands each message out again while it is handled.
fn no_visibility(subscription: &SqsSubscription, own: Option<Duration>) -> Problem {
    let (given, message) = match own {
        Some(_) => (
            Some("0s".to_owned()),
            "the queue's own visibility timeout is 0, so every message would be handed out again \
             while it is handled: name a visibility in the mount (visibility = \"30s\"), or give \
             the queue one",
        ),
        None => (
            None,
            "SQS did not say the queue's visibility timeout: name a visibility in the mount \
             (visibility = \"30s\")",
        ),
    };
    Problem {
        class: Class::InvalidQueue,
        plugin: Some(subscription.plugin.clone()),
        queue: Some(subscription.queue.to_string()),
        setting: Some("visibility".into()),
        given,
        allowed: Some("1s to 12h".into()),
        message: message.into(),
        place: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqs::scripted::{On, Say, Scripted};

    // Rule 1.8.
    #[tokio::test]
    async fn a_missing_queue_is_created_only_where_the_mount_says_so() {
        let api = Scripted::new();
        for (name, attributes) in [
            ("orders", &[][..]),
            (
                "orders.fifo",
                &[("FifoQueue", "true"), ("ContentBasedDeduplication", "true")],
            ),
        ] {
            let queue: QueueRef = name.parse().unwrap();
            api.will_say(On::QueueUrl, Say::Class(ErrorClass::Missing));
            assert!(resolve(&*api, &queue, false, None).await.is_err());
            api.will_say(On::QueueUrl, Say::Class(ErrorClass::Missing));
            resolve(&*api, &queue, true, None).await.unwrap();
            let created = api.created().pop().unwrap();
            let created: Vec<_> = created.iter().map(|(n, v)| (&**n, &**v)).collect();
            assert_eq!(created, attributes, "{name}");
        }
    }
}
