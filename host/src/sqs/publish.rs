//! Sending replies to a queue.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use super::api::{QueueUrl, Send, SqsApi};
use super::message::PARTITION_KEY;
use super::open::resolve;
use crate::config::QueueRef;
use crate::error::{CallError, ErrorClass, SqsError};
use crate::handler::{MessageId, Reply};
use crate::limits::MAX_DELAY;
use crate::observe::{Event, Observer};

/// Sends the replies of one subscription to its target.
pub struct Publisher {
    api: Arc<dyn SqsApi>,
    target: QueueRef,
    create: bool,
    endpoint: Option<String>,
    observer: Observer,
    /// Resolved once (rule 6.1), and again only where the queue turns out to be gone.
    url: Mutex<Option<QueueUrl>>,
}

impl Publisher {
    /// A publisher to `target`, which is not resolved yet. `create` makes a target that is missing.
    pub fn new(
        api: Arc<dyn SqsApi>,
        target: QueueRef,
        create: bool,
        endpoint: Option<String>,
        observer: Observer,
    ) -> Self {
        Self {
            api,
            target,
            create,
            endpoint,
            observer,
            url: Mutex::new(None),
        }
    }

    /// The target's URL.
    ///
    /// # Errors
    /// Where it cannot be resolved or created.
    pub async fn resolve(&self) -> Result<QueueUrl, SqsError> {
        let mut cached = self.url.lock().await;
        if let Some(url) = &*cached {
            return Ok(url.clone());
        }
        let url = resolve(
            &*self.api,
            &self.target,
            self.create,
            self.endpoint.as_deref(),
        )
        .await?;
        Ok(cached.insert(url).clone())
    }

    /// Sends the replies of a message in order, up to the first that cannot be sent (rule 5.5). None
    /// is sent unless all can be, as far as can be told before: what went out before a refusal would
    /// go out again with each retry.
    ///
    /// # Errors
    /// Where the target cannot be resolved, a reply is none that SQS takes, or one could not be sent.
    pub async fn send_all(
        &self,
        message: Option<&MessageId>,
        replies: Vec<Reply>,
    ) -> Result<(), SqsError> {
        let sent = self.try_send_all(message, replies).await;
        if let Err(error) = &sent {
            self.observer.emit(message, Event::ReplyFailed { error });
        }
        sent
    }

    async fn try_send_all(
        &self,
        message: Option<&MessageId>,
        replies: Vec<Reply>,
    ) -> Result<(), SqsError> {
        let url = self.resolve().await?;
        let sends: Vec<Send> = replies
            .into_iter()
            .map(|reply| self.message(url.clone(), reply))
            .collect::<Result<_, _>>()?;
        let target = self.target.name().as_str();
        for send in sends {
            if let Err(error) = self.api.send(send).await {
                if error.class == ErrorClass::Missing {
                    *self.url.lock().await = None;
                }
                return Err(self.error(error));
            }
            self.observer.emit(message, Event::ReplySent { target });
        }
        Ok(())
    }

    /// The message of a reply, once it is sure that SQS can take it.
    fn message(&self, queue: QueueUrl, reply: Reply) -> Result<Send, SqsError> {
        if let Some(other) = &reply.destination
            && !self.is_target(other)
        {
            return Err(self.refused(format!(
                "the reply names the destination {other:?}, which this subscription does not \
                 grant: it sends to {} alone",
                self.target
            )));
        }
        if reply.deduplication_id.is_some() {
            return Err(SqsError::NotFifo {
                target: self.target.to_string(),
                message: "the reply carries a deduplication id".into(),
            });
        }
        if reply.body.is_empty() {
            return Err(self.refused("the reply has an empty body, which SQS does not take".into()));
        }
        let delay = reply.delay.unwrap_or(Duration::ZERO);
        if delay > MAX_DELAY {
            return Err(self.refused(format!(
                "the reply has a delay of {delay:?}; SQS takes 0 to {MAX_DELAY:?}"
            )));
        }
        let body = std::str::from_utf8(&reply.body)
            .ok()
            .filter(|text| text.chars().all(is_sqs_text))
            .ok_or_else(|| {
                self.refused(
                    "the reply's body is not text that SQS takes (UTF-8 without control \
                     characters other than tab and line breaks)"
                        .into(),
                )
            })?
            .to_owned();
        Ok(Send {
            queue,
            body,
            headers: reply
                .headers
                .into_iter()
                .filter(|header| header.name != PARTITION_KEY)
                .collect(),
            group_id: reply.group_id,
            deduplication_id: None,
            delay: reply.delay,
        })
    }

    /// Whether a handler that names `destination` means this publisher's target.
    fn is_target(&self, destination: &str) -> bool {
        destination.parse::<QueueRef>().is_ok_and(|named| {
            named == self.target || named.to_string() == self.target.name().as_str()
        })
    }

    fn refused(&self, message: String) -> SqsError {
        self.error(CallError {
            operation: "SendMessage",
            class: ErrorClass::Refused,
            code: None,
            message,
        })
    }

    fn error(&self, cause: CallError) -> SqsError {
        SqsError::Publish {
            target: self.target.to_string(),
            cause: Arc::new(cause),
        }
    }
}

/// The characters that SQS takes in a body (rule 6.2).
fn is_sqs_text(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}
