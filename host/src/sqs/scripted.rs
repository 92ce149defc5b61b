//! An SQS that answers what a test tells it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;

use super::api::{Called, QueueAttributes, QueueUrl, Receive, Received, Send, SqsApi};
use crate::error::{CallError, ErrorClass};
use crate::handler::{MessageId, ReceiptHandle, SqsMessage};

/// A call that was made, in a form that tests can compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    Delete(String),
    Visibility(String, Duration),
    VisibilityBatch(Vec<(String, Duration)>),
    Send(String),
}

#[derive(Default)]
struct Script {
    receives: VecDeque<Result<Vec<Received>, CallError>>,
    asked: Vec<u8>,
    made: Vec<Made>,
    deletes: VecDeque<ErrorClass>,
    visibilities: VecDeque<ErrorClass>,
    sends: VecDeque<ErrorClass>,
}

/// A call without a script: a receive waits out its long poll and is empty, everything else
/// succeeds.
pub(crate) struct Scripted {
    script: Mutex<Script>,
    told: Notify,
}

/// A message with this id, and `handle of id` as its handle.
pub(crate) fn message(id: &str) -> Received {
    Received {
        handle: Some(format!("handle of {id}").into()),
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
        self.script()
            .receives
            .push_back(Err(error("ReceiveMessage", class)));
        self.told.notify_one();
    }

    pub(crate) fn will_fail_to_delete(&self, class: ErrorClass) {
        self.script().deletes.push_back(class);
    }

    pub(crate) fn will_fail_to_change_visibility(&self, class: ErrorClass) {
        self.script().visibilities.push_back(class);
    }

    pub(crate) fn will_fail_to_send(&self, class: ErrorClass) {
        self.script().sends.push_back(class);
    }

    /// How many receives were started.
    pub(crate) fn receives(&self) -> usize {
        self.script().asked.len()
    }

    /// How many messages each receive asked for.
    pub(crate) fn asked(&self) -> Vec<u8> {
        self.script().asked.clone()
    }

    /// The other calls, in the order they were made.
    pub(crate) fn made(&self) -> Vec<Made> {
        self.script().made.clone()
    }

    fn answer(&self, operation: &'static str, made: Made) -> Result<(), CallError> {
        let mut script = self.script();
        let failure = match made {
            Made::Delete(_) => script.deletes.pop_front(),
            Made::Send(_) => script.sends.pop_front(),
            Made::Visibility(..) | Made::VisibilityBatch(_) => script.visibilities.pop_front(),
        };
        script.made.push(made);
        failure.map_or(Ok(()), |class| Err(error(operation, class)))
    }
}

impl SqsApi for Scripted {
    fn receive(&self, receive: Receive) -> Called<'_, Vec<Received>> {
        self.script().asked.push(receive.max);
        Box::pin(async move {
            let next = async {
                loop {
                    if let Some(next) = self.script().receives.pop_front() {
                        return next;
                    }
                    self.told.notified().await;
                }
            };
            tokio::time::timeout(receive.wait, next)
                .await
                .unwrap_or_else(|_| Ok(Vec::new()))
        })
    }

    fn delete<'a>(&'a self, _: &'a QueueUrl, handle: &'a ReceiptHandle) -> Called<'a, ()> {
        let made = Made::Delete(handle.to_string());
        Box::pin(async move { self.answer("DeleteMessage", made) })
    }

    fn change_visibility<'a>(
        &'a self,
        _: &'a QueueUrl,
        handle: &'a ReceiptHandle,
        visibility: Duration,
    ) -> Called<'a, ()> {
        let made = Made::Visibility(handle.to_string(), visibility);
        Box::pin(async move { self.answer("ChangeMessageVisibility", made) })
    }

    fn change_visibility_batch<'a>(
        &'a self,
        _: &'a QueueUrl,
        entries: &'a [(ReceiptHandle, Duration)],
    ) -> Called<'a, Vec<Result<(), CallError>>> {
        let list = entries.iter().map(|(h, v)| (h.to_string(), *v)).collect();
        Box::pin(async move {
            self.answer("ChangeMessageVisibilityBatch", Made::VisibilityBatch(list))?;
            Ok(vec![Ok(()); entries.len()])
        })
    }

    fn send(&self, send: Send) -> Called<'_, MessageId> {
        let made = Made::Send(send.body);
        Box::pin(async move {
            self.answer("SendMessage", made)?;
            Ok("sent".into())
        })
    }

    fn queue_url<'a>(&'a self, name: &'a str, _: Option<&'a str>) -> Called<'a, QueueUrl> {
        Box::pin(async move { Ok(QueueUrl::new(format!("http://sqs/{name}"))) })
    }

    fn create_queue<'a>(
        &'a self,
        name: &'a str,
        _: &'a [(&'a str, &'a str)],
    ) -> Called<'a, QueueUrl> {
        Box::pin(async move { Ok(QueueUrl::new(format!("http://sqs/{name}"))) })
    }

    fn queue_attributes<'a>(&'a self, _: &'a QueueUrl) -> Called<'a, QueueAttributes> {
        Box::pin(async move { Ok(QueueAttributes::default()) })
    }
}
