//! Hands received messages to workers, in the order of the receive.

use std::collections::VecDeque;

use tokio::sync::{Mutex, mpsc};

use crate::handler::HandlerKind;
use crate::sqs::Delivery;

/// What the workers of one subscription take from.
///
/// Invariant: with W workers at most W + 19 messages are held: W in handlers, 9 of a receive that
/// was taken apart here, and the 10 that the channel, or the receive under way, has (rule 2.3).
pub(super) struct Feed {
    kind: HandlerKind,
    inner: Mutex<Inner>,
}

struct Inner {
    channel: mpsc::Receiver<Vec<Delivery>>,
    /// What is left of the receive that is being handed out.
    rest: VecDeque<Delivery>,
}

impl Feed {
    pub(super) fn new(kind: HandlerKind, channel: mpsc::Receiver<Vec<Delivery>>) -> Self {
        Self {
            kind,
            inner: Mutex::new(Inner {
                channel,
                rest: VecDeque::new(),
            }),
        }
    }

    /// The next call's messages: one, or a whole batch, never none (rules 5.8, 5.9). `None` once
    /// the pump has ended and everything was handed out.
    ///
    /// Cancel safe: a future that is dropped has taken nothing.
    pub(super) async fn next(&self) -> Option<Vec<Delivery>> {
        let mut inner = self.inner.lock().await;
        if let Some(delivery) = inner.rest.pop_front() {
            return Some(vec![delivery]);
        }
        let batch = inner.channel.recv().await?;
        if self.kind == HandlerKind::Batch {
            return Some(batch);
        }
        inner.rest = batch.into();
        inner.rest.pop_front().map(|delivery| vec![delivery])
    }

    /// Whatever has not been handed out, one receive at a time, until the pump has ended.
    pub(super) async fn rest(&self) -> Option<Vec<Delivery>> {
        let mut inner = self.inner.lock().await;
        if !inner.rest.is_empty() {
            return Some(inner.rest.drain(..).collect());
        }
        inner.channel.recv().await
    }
}
