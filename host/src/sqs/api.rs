//! The narrow trait: what the host asks of SQS, in the host's own types.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::redrive::RedrivePolicy;
use crate::error::CallError;
use crate::handler::{Header, MessageId, ReceiptHandle, SqsMessage};

/// The future of one call.
pub type Called<'a, T> = Pin<Box<dyn Future<Output = Result<T, CallError>> + Send + 'a>>;

/// A queue's URL: how SQS names a queue in every call but the one that finds it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueueUrl(Arc<str>);

impl QueueUrl {
    /// A URL as it is.
    pub fn new(url: impl Into<Arc<str>>) -> Self {
        Self(url.into())
    }

    /// The URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// This URL on `endpoint`'s host and port, its path kept. An endpoint that is not AWS's own may
    /// be reached by another name than it knows itself by (rule 1.1).
    pub fn at_endpoint(&self, endpoint: &str) -> QueueUrl {
        let path = self
            .0
            .split_once("://")
            .and_then(|(_, rest)| rest.split_once('/'))
            .map_or("", |(_, path)| path);
        QueueUrl::new(format!("{}/{path}", endpoint.trim_end_matches('/')))
    }
}

impl fmt::Display for QueueUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One ReceiveMessage.
#[derive(Clone, Debug)]
pub struct Receive {
    /// From where.
    pub queue: QueueUrl,
    /// 1 to 10.
    pub max: u8,
    /// The long poll's wait: whole seconds, 0 to 20.
    pub wait: Duration,
    /// The visibility to ask for, or the queue's own.
    pub visibility: Option<Duration>,
    /// The ReceiveRequestAttemptId, of a FIFO queue: a receive that had no answer is repeated with
    /// the same one, and then brings what it would have brought (rule 2.1).
    pub attempt: Option<String>,
}

/// A message and the handle of this receive of it.
#[derive(Clone, Debug)]
pub struct Received {
    /// The handle, if SQS sent one.
    pub handle: Option<ReceiptHandle>,
    /// The message.
    pub message: SqsMessage,
}

/// A message as it goes out, to a queue or to a topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outgoing {
    /// The body: text that SQS takes.
    pub body: String,
    /// Sent as message attributes.
    pub headers: Vec<Header>,
    /// The message group.
    pub group_id: Option<String>,
    /// The deduplication id.
    pub deduplication_id: Option<String>,
    /// Whole seconds, 0 to 900. Topics know none.
    pub delay: Option<Duration>,
}

/// What the host reads of a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueAttributes {
    /// The queue's own visibility timeout.
    pub visibility: Option<Duration>,
    /// Its redrive policy, where it has one.
    pub redrive: Option<RedrivePolicy>,
    /// About how many messages it holds, visible, in flight and delayed.
    pub backlog: u64,
    /// Its ARN, which says partition, region and account.
    pub arn: Option<String>,
    /// Its access policy, as it is written.
    pub policy: Option<String>,
    /// How many bytes a message may have, attributes counted in.
    pub maximum_message_size: Option<usize>,
}

/// What the host asks of SQS. The calls do not retry by themselves unless they say so: who calls
/// decides.
pub trait SqsApi: Send + Sync + 'static {
    /// ReceiveMessage, with every message attribute and every system attribute. Its attempt ends
    /// after the wait and five seconds.
    fn receive(&self, receive: Receive) -> Called<'_, Vec<Received>>;

    /// DeleteMessage.
    fn delete<'a>(&'a self, queue: &'a QueueUrl, handle: &'a ReceiptHandle) -> Called<'a, ()>;

    /// DeleteMessageBatch of 1 to 10 entries. The answer has one result per entry, in order; an
    /// entry that SQS answered neither way has failed.
    fn delete_batch<'a>(
        &'a self,
        queue: &'a QueueUrl,
        handles: &'a [ReceiptHandle],
    ) -> Called<'a, Vec<Result<(), CallError>>>;

    /// ChangeMessageVisibility, to whole seconds.
    fn change_visibility<'a>(
        &'a self,
        queue: &'a QueueUrl,
        handle: &'a ReceiptHandle,
        visibility: Duration,
    ) -> Called<'a, ()>;

    /// ChangeMessageVisibilityBatch of 1 to 10 entries. The answer has one result per entry, in
    /// order; an entry that SQS answered neither way has failed.
    fn change_visibility_batch<'a>(
        &'a self,
        queue: &'a QueueUrl,
        entries: &'a [(ReceiptHandle, Duration)],
    ) -> Called<'a, Vec<Result<(), CallError>>>;

    /// SendMessage. Tries a passing failure a few times.
    fn send<'a>(&'a self, queue: &'a QueueUrl, message: &'a Outgoing) -> Called<'a, MessageId>;

    /// SendMessageBatch of 1 to 10 messages. The answer has one result per message, in order; a
    /// message that SQS answered neither way has failed. Tries a passing failure of the whole call
    /// a few times, that of one message not.
    fn send_batch<'a>(
        &'a self,
        queue: &'a QueueUrl,
        messages: &'a [Outgoing],
    ) -> Called<'a, Vec<Result<MessageId, CallError>>>;

    /// GetQueueUrl. Tries a passing failure a few times.
    fn queue_url<'a>(&'a self, name: &'a str, account: Option<&'a str>) -> Called<'a, QueueUrl>;

    /// CreateQueue with attributes by SQS's names for them; what is not named has SQS's default.
    /// Tries a passing failure a few times.
    fn create_queue<'a>(
        &'a self,
        name: &'a str,
        attributes: &'a [(&'a str, &'a str)],
    ) -> Called<'a, QueueUrl>;

    /// GetQueueAttributes. Tries a passing failure a few times.
    fn queue_attributes<'a>(&'a self, queue: &'a QueueUrl) -> Called<'a, QueueAttributes>;

    /// SetQueueAttributes, by SQS's names for them; what is not named stays as it is. Tries a
    /// passing failure a few times.
    fn set_queue_attributes<'a>(
        &'a self,
        queue: &'a QueueUrl,
        attributes: &'a [(&'a str, &'a str)],
    ) -> Called<'a, ()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rule 1.1.
    #[test]
    fn a_returned_url_moves_to_the_endpoint() {
        let url = QueueUrl::new("http://sqs.eu-west-1.localhost:4566/000000000000/orders");
        assert_eq!(
            url.at_endpoint("http://127.0.0.1:9324/").as_str(),
            "http://127.0.0.1:9324/000000000000/orders"
        );
    }
}
