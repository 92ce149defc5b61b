//! An SQS that costs nothing: it has its messages before it is asked, and its answers are of no size.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use queuelet::handler::{Header, HeaderValue, MessageId, ReceiptHandle, SqsMessage};
use queuelet::sqs::{Called, Outgoing, QueueAttributes, QueueUrl, Receive, Received, SqsApi};
use queuelet::{CallError, Shutdown};

use super::allocator::aside;
use super::window::Window;

/// How many messages a receive brings.
const A_RECEIVE: usize = 10;

/// A queue of messages that are there from the beginning. Once the last of them is deleted it stops
/// whoever reads it.
pub(super) struct InMemory {
    receives: Mutex<VecDeque<Vec<Received>>>,
    messages: usize,
    deleted: AtomicUsize,
    window: Window,
    shutdown: Shutdown,
}

impl InMemory {
    /// A queue of so many messages, each with this body.
    pub(super) fn new(messages: usize, body: &str, window: Window, shutdown: Shutdown) -> Self {
        let all: Vec<_> = (0..messages).map(|n| received(n, body)).collect();
        let mut all = all.into_iter();
        let receives = std::iter::from_fn(|| {
            let receive: Vec<_> = all.by_ref().take(A_RECEIVE).collect();
            (!receive.is_empty()).then_some(receive)
        });
        Self {
            receives: Mutex::new(receives.collect()),
            messages,
            deleted: AtomicUsize::new(0),
            window,
            shutdown,
        }
    }

    fn receives(&self) -> MutexGuard<'_, VecDeque<Vec<Received>>> {
        self.receives.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the window saw.
    pub(super) fn window(&self) -> &Window {
        &self.window
    }

    /// How many messages have been deleted.
    pub(super) fn deleted(&self) -> usize {
        self.deleted.load(Relaxed)
    }

    fn delete_some(&self, messages: usize) {
        let before = self.deleted.fetch_add(messages, Relaxed);
        self.window.passes(before, before + messages);
        if before + messages == self.messages {
            aside(|| self.shutdown.stop.cancel());
        }
    }
}

/// A message as SQS sends them: 256 bytes, four attributes, and what SQS says of it.
fn received(n: usize, body: &str) -> Received {
    let text = |name: String, value: &str| Header {
        name,
        value: HeaderValue::Text(value.into()),
        label: None,
    };
    let mut headers: Vec<_> = (0..4)
        .map(|n| text(format!("header-{n}"), "a value of some length"))
        .collect();
    headers.push(Header {
        name: "sqs-receive-count".into(),
        value: HeaderValue::Number("1".into()),
        label: None,
    });
    let system = [
        ("ApproximateFirstReceiveTimestamp", "1700000000456"),
        ("ApproximateReceiveCount", "1"),
        ("SenderId", "AIDAIENQZJOLO23YVJ4VO"),
        ("SentTimestamp", "1700000000123"),
    ];
    let handle = format!("AQEB{n:0>20}{}", "wEs2aB7".repeat(40));
    Received {
        handle: Some(handle.into()),
        message: SqsMessage {
            body: body.to_owned().into(),
            headers,
            id: Some(format!("9b2c9c7e-3f1d-4c5e-8a55-{n:0>12}").into()),
            receive_count: Some(1),
            sent_at: Some(1_700_000_000_123),
            first_received_at: Some(1_700_000_000_456),
            system_attributes: system
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
            ..SqsMessage::default()
        },
    }
}

/// An answer that takes no time and no room: a box of it is none.
struct Done;

impl Future for Done {
    type Output = Result<(), CallError>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(()))
    }
}

impl SqsApi for InMemory {
    fn receive(&self, _: Receive) -> Called<'_, Vec<Received>> {
        aside(|| match self.receives().pop_front() {
            Some(messages) => Box::pin(std::future::ready(Ok(messages))) as Called<'_, _>,
            None => Box::pin(async {
                self.shutdown.stop.cancelled().await;
                Ok(Vec::new())
            }),
        })
    }

    fn delete<'a>(&'a self, _: &'a QueueUrl, _: &'a ReceiptHandle) -> Called<'a, ()> {
        self.delete_some(1);
        Box::pin(Done)
    }

    fn delete_batch<'a>(
        &'a self,
        _: &'a QueueUrl,
        handles: &'a [ReceiptHandle],
    ) -> Called<'a, Vec<Result<(), CallError>>> {
        self.delete_some(handles.len());
        let done = || vec![Ok(()); handles.len()];
        aside(|| Box::pin(std::future::ready(Ok(done()))) as Called<'_, _>)
    }

    fn change_visibility<'a>(
        &'a self,
        _: &'a QueueUrl,
        _: &'a ReceiptHandle,
        _: Duration,
    ) -> Called<'a, ()> {
        Box::pin(Done)
    }

    fn change_visibility_batch<'a>(
        &'a self,
        _: &'a QueueUrl,
        entries: &'a [(ReceiptHandle, Duration)],
    ) -> Called<'a, Vec<Result<(), CallError>>> {
        let done = || vec![Ok(()); entries.len()];
        aside(|| Box::pin(std::future::ready(Ok(done()))) as Called<'_, _>)
    }

    fn send<'a>(&'a self, _: &'a QueueUrl, _: &'a Outgoing) -> Called<'a, MessageId> {
        aside(|| Box::pin(std::future::ready(Ok("sent".into()))) as Called<'_, _>)
    }

    fn send_batch<'a>(
        &'a self,
        _: &'a QueueUrl,
        messages: &'a [Outgoing],
    ) -> Called<'a, Vec<Result<MessageId, CallError>>> {
        let sent = || messages.iter().map(|_| Ok("sent".into())).collect();
        aside(|| Box::pin(std::future::ready(Ok(sent()))) as Called<'_, _>)
    }

    fn queue_url<'a>(&'a self, _: &'a str, _: Option<&'a str>) -> Called<'a, QueueUrl> {
        Box::pin(std::future::ready(Ok(QueueUrl::new("http://sqs/q"))))
    }

    fn create_queue<'a>(
        &'a self,
        name: &'a str,
        _: &'a [(&'a str, &'a str)],
    ) -> Called<'a, QueueUrl> {
        self.queue_url(name, None)
    }

    fn queue_attributes<'a>(&'a self, _: &'a QueueUrl) -> Called<'a, QueueAttributes> {
        Box::pin(std::future::ready(Ok(QueueAttributes::default())))
    }

    fn set_queue_attributes<'a>(
        &'a self,
        _: &'a QueueUrl,
        _: &'a [(&'a str, &'a str)],
    ) -> Called<'a, ()> {
        Box::pin(Done)
    }
}
