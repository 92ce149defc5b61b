//! An SQS that answers what a test tells it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_sqs::types::BatchResultErrorEntry;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::api::{Called, Outgoing, QueueAttributes, QueueUrl, Receive, Received, SqsApi};
use super::classify::class_of_code;
use super::entries::by_position;
use crate::error::{CallError, ErrorClass};
use crate::handler::{MessageId, ReceiptHandle, SqsMessage};

/// A call that was made, in a form that tests can compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    Delete(String),
    DeleteBatch(Vec<String>),
    Visibility(String, Duration),
    VisibilityBatch(Vec<(String, Duration)>),
    Send(String),
    SendBatch(Vec<String>),
    Create(String),
    SetAttributes(Vec<(String, String)>),
}

/// The calls that a test can script beside receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum On {
    Delete,
    Visibility,
    Send,
    QueueUrl,
    Create,
    Attributes,
    SetAttributes,
}

/// What SQS says to one call.
#[derive(Clone, Debug)]
pub(crate) enum Say {
    /// Yes.
    Done,
    /// Yes, after a while.
    Late(Duration),
    /// No, and what class of failure that is.
    Class(ErrorClass),
    /// No, by SQS's code and message: the host's own classifier says what that is.
    Code(&'static str, &'static str),
    /// Nothing, for ever.
    Hang,
}

/// What SQS says of one entry of a batch call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {
    Done,
    Failed {
        code: &'static str,
        sender_fault: bool,
    },
    /// It is in neither list of the answer.
    Silent,
}

#[derive(Default)]
struct Script {
    receives: VecDeque<Result<Vec<Received>, Say>>,
    asked: Vec<Receive>,
    began: Vec<Instant>,
    made: Vec<Made>,
    sent: Vec<(QueueUrl, Outgoing)>,
    /// The attributes of the queues that were created.
    created: Vec<Vec<(String, String)>>,
    says: HashMap<On, VecDeque<Say>>,
    entries: HashMap<On, VecDeque<Vec<Entry>>>,
    attributes: QueueAttributes,
    reads: usize,
}

/// A call without a script: a receive waits out its long poll and is empty, everything else
/// succeeds.
pub(crate) struct Scripted {
    script: Mutex<Script>,
    told: Notify,
}

/// A message with this id, and `handle of id` as its handle.
pub(crate) fn message(id: &str) -> Received {
    message_under(id, &format!("handle of {id}"))
}

/// A message with this id under this handle: another receive of it.
pub(crate) fn message_under(id: &str, handle: &str) -> Received {
    Received {
        handle: Some(handle.into()),
        message: SqsMessage {
            body: "body".into(),
            id: Some(id.into()),
            receive_count: Some(1),
            ..SqsMessage::default()
        },
    }
}

pub(crate) fn error(operation: &'static str, class: ErrorClass) -> CallError {
    CallError {
        operation,
        class,
        code: None,
        message: "as the test says".into(),
    }
}

impl Scripted {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            script: Mutex::default(),
            told: Notify::new(),
        })
    }

    fn script(&self) -> std::sync::MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    pub(crate) fn will_receive(&self, messages: Vec<Received>) {
        self.script().receives.push_back(Ok(messages));
        self.told.notify_one();
    }

    pub(crate) fn will_fail_to_receive(&self, class: ErrorClass) {
        self.will_answer_a_receive(Say::Class(class));
    }

    /// The next receive brings no messages but this.
    pub(crate) fn will_answer_a_receive(&self, say: Say) {
        self.script().receives.push_back(Err(say));
        self.told.notify_one();
    }

    /// Forgets what receives were to be answered.
    pub(crate) fn forget_receives(&self) {
        self.script().receives.clear();
    }

    /// What the next call that has no answer yet is answered.
    pub(crate) fn will_say(&self, on: On, say: Say) {
        self.script().says.entry(on).or_default().push_back(say);
    }

    /// What the next batch call is answered, entry by entry.
    pub(crate) fn will_say_of_entries(&self, on: On, entries: Vec<Entry>) {
        self.script()
            .entries
            .entry(on)
            .or_default()
            .push_back(entries);
    }

    pub(crate) fn will_fail_to_delete(&self, class: ErrorClass) {
        self.will_say(On::Delete, Say::Class(class));
    }

    pub(crate) fn will_fail_to_change_visibility(&self, class: ErrorClass) {
        self.will_say(On::Visibility, Say::Class(class));
    }

    pub(crate) fn will_fail_to_send(&self, class: ErrorClass) {
        self.will_say(On::Send, Say::Class(class));
    }

    /// Forgets what calls of this kind were to be answered: they succeed from now on.
    pub(crate) fn will_do(&self, on: On) {
        self.script().says.remove(&on);
    }

    /// What the queue's attributes are from now on. Without this it sends none.
    pub(crate) fn has_attributes(&self, attributes: QueueAttributes) {
        self.script().attributes = attributes;
    }

    /// How many receives were started.
    pub(crate) fn receives(&self) -> usize {
        self.script().asked.len()
    }

    /// How many messages each receive asked for.
    pub(crate) fn asked(&self) -> Vec<u8> {
        self.script().asked.iter().map(|r| r.max).collect()
    }

    /// The attempt id of each receive.
    pub(crate) fn attempts(&self) -> Vec<Option<String>> {
        let script = self.script();
        script.asked.iter().map(|r| r.attempt.clone()).collect()
    }

    /// When each receive was started.
    pub(crate) fn began(&self) -> Vec<Instant> {
        self.script().began.clone()
    }

    /// How often the queue's attributes were read.
    pub(crate) fn reads(&self) -> usize {
        self.script().reads
    }

    /// What was sent, by whichever call, failed entries left out.
    pub(crate) fn sent(&self) -> Vec<(QueueUrl, Outgoing)> {
        self.script().sent.clone()
    }

    /// The attributes of each queue that was created.
    pub(crate) fn created(&self) -> Vec<Vec<(String, String)>> {
        self.script().created.clone()
    }

    /// The other calls, in the order they were made.
    pub(crate) fn made(&self) -> Vec<Made> {
        self.script().made.clone()
    }

    async fn answer(&self, operation: &'static str, on: On) -> Result<(), CallError> {
        let next = self.script().says.entry(on).or_default().pop_front();
        say(operation, next.unwrap_or(Say::Done)).await
    }

    async fn make(&self, operation: &'static str, on: On, made: Made) -> Result<(), CallError> {
        self.script().made.push(made);
        self.answer(operation, on).await
    }

    /// A batch call: told entry by entry, or as a whole like any other call.
    async fn make_batch(
        &self,
        operation: &'static str,
        on: On,
        made: Made,
        size: usize,
    ) -> Result<Vec<Result<(), CallError>>, CallError> {
        let entries = self.script().entries.entry(on).or_default().pop_front();
        let Some(entries) = entries else {
            self.make(operation, on, made).await?;
            return Ok(vec![Ok(()); size]);
        };
        self.script().made.push(made);
        assert_eq!(entries.len(), size, "the script has other entries");
        let (mut done, mut failed) = (Vec::new(), Vec::new());
        for (position, entry) in entries.into_iter().enumerate() {
            let id = position.to_string();
            match entry {
                Entry::Done => done.push(id),
                Entry::Silent => {}
                Entry::Failed { code, sender_fault } => failed.push(
                    BatchResultErrorEntry::builder()
                        .id(id)
                        .code(code)
                        .sender_fault(sender_fault)
                        .build()
                        .unwrap(),
                ),
            }
        }
        let done = done.iter().map(String::as_str);
        Ok(by_position(operation, size, done, failed))
    }
}

async fn say(operation: &'static str, say: Say) -> Result<(), CallError> {
    match say {
        Say::Done => Ok(()),
        Say::Late(after) => {
            tokio::time::sleep(after).await;
            Ok(())
        }
        Say::Class(class) => Err(error(operation, class)),
        Say::Code(code, message) => Err(CallError {
            operation,
            class: class_of_code(code, message),
            code: Some(code.into()),
            message: format!("{code}: {message}"),
        }),
        Say::Hang => std::future::pending().await,
    }
}

impl SqsApi for Scripted {
    fn receive(&self, receive: Receive) -> Called<'_, Vec<Received>> {
        let wait = receive.wait;
        {
            let mut script = self.script();
            script.asked.push(receive);
            script.began.push(Instant::now());
        }
        Box::pin(async move {
            let next = async {
                loop {
                    if let Some(next) = self.script().receives.pop_front() {
                        return next;
                    }
                    self.told.notified().await;
                }
            };
            match tokio::time::timeout(wait, next).await {
                Ok(Ok(messages)) => Ok(messages),
                Ok(Err(answer)) => say("ReceiveMessage", answer).await.map(|()| Vec::new()),
                Err(_) => Ok(Vec::new()),
            }
        })
    }

    fn delete<'a>(&'a self, _: &'a QueueUrl, handle: &'a ReceiptHandle) -> Called<'a, ()> {
        let made = Made::Delete(handle.to_string());
        Box::pin(self.make("DeleteMessage", On::Delete, made))
    }

    fn delete_batch<'a>(
        &'a self,
        _: &'a QueueUrl,
        handles: &'a [ReceiptHandle],
    ) -> Called<'a, Vec<Result<(), CallError>>> {
        let made = Made::DeleteBatch(handles.iter().map(ToString::to_string).collect());
        Box::pin(self.make_batch("DeleteMessageBatch", On::Delete, made, handles.len()))
    }

    fn change_visibility<'a>(
        &'a self,
        _: &'a QueueUrl,
        handle: &'a ReceiptHandle,
        visibility: Duration,
    ) -> Called<'a, ()> {
        let made = Made::Visibility(handle.to_string(), visibility);
        Box::pin(self.make("ChangeMessageVisibility", On::Visibility, made))
    }

    fn change_visibility_batch<'a>(
        &'a self,
        _: &'a QueueUrl,
        entries: &'a [(ReceiptHandle, Duration)],
    ) -> Called<'a, Vec<Result<(), CallError>>> {
        const OPERATION: &str = "ChangeMessageVisibilityBatch";
        let list = entries.iter().map(|(h, v)| (h.to_string(), *v)).collect();
        let made = Made::VisibilityBatch(list);
        Box::pin(self.make_batch(OPERATION, On::Visibility, made, entries.len()))
    }

    fn send<'a>(&'a self, queue: &'a QueueUrl, message: &'a Outgoing) -> Called<'a, MessageId> {
        let made = Made::Send(message.body.clone());
        Box::pin(async move {
            self.make("SendMessage", On::Send, made).await?;
            self.script().sent.push((queue.clone(), message.clone()));
            Ok("sent".into())
        })
    }

    fn send_batch<'a>(
        &'a self,
        queue: &'a QueueUrl,
        messages: &'a [Outgoing],
    ) -> Called<'a, Vec<Result<MessageId, CallError>>> {
        let made = Made::SendBatch(messages.iter().map(|m| m.body.clone()).collect());
        Box::pin(async move {
            let (operation, size) = ("SendMessageBatch", messages.len());
            let results = self.make_batch(operation, On::Send, made, size).await?;
            let results = messages.iter().zip(results).map(|(message, result)| {
                result?;
                self.script().sent.push((queue.clone(), message.clone()));
                Ok("sent".into())
            });
            Ok(results.collect())
        })
    }

    fn queue_url<'a>(&'a self, name: &'a str, _: Option<&'a str>) -> Called<'a, QueueUrl> {
        Box::pin(async move {
            self.answer("GetQueueUrl", On::QueueUrl).await?;
            Ok(QueueUrl::new(format!("http://sqs/{name}")))
        })
    }

    fn create_queue<'a>(
        &'a self,
        name: &'a str,
        attributes: &'a [(&'a str, &'a str)],
    ) -> Called<'a, QueueUrl> {
        Box::pin(async move {
            let made = Made::Create(name.to_owned());
            self.make("CreateQueue", On::Create, made).await?;
            self.script().created.push(owned(attributes));
            Ok(QueueUrl::new(format!("http://sqs/{name}")))
        })
    }

    fn queue_attributes<'a>(&'a self, _: &'a QueueUrl) -> Called<'a, QueueAttributes> {
        Box::pin(async move {
            self.script().reads += 1;
            self.answer("GetQueueAttributes", On::Attributes).await?;
            Ok(self.script().attributes.clone())
        })
    }

    fn set_queue_attributes<'a>(
        &'a self,
        _: &'a QueueUrl,
        attributes: &'a [(&'a str, &'a str)],
    ) -> Called<'a, ()> {
        let made = Made::SetAttributes(owned(attributes));
        Box::pin(self.make("SetQueueAttributes", On::SetAttributes, made))
    }
}

fn owned(attributes: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = attributes.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}
