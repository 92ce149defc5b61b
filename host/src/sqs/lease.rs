//! Leases: what keeps a message invisible while it is held.
//!
//! One [`LeaseKeeper`] a queue sends every extension of it. A [`Lease`] is a message's place in it;
//! dropping one ends the extending, so a message that nobody settles comes back by itself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::api::{QueueUrl, SqsApi};
use super::keeper::{AfterFailure, Extension, Keeper, LeaseId};
use crate::error::CallError;
use crate::handler::{MessageId, ReceiptHandle};
use crate::limits::MAX_BATCH;
use crate::observe::{Event, Observer};

/// Sends the extensions of one queue's leases.
pub struct LeaseKeeper {
    api: Arc<dyn SqsApi>,
    queue: QueueUrl,
    observer: Observer,
    leases: Mutex<Keeper>,
    /// A lease was taken, or something is due sooner than it was.
    changed: Notify,
    /// Extensions were answered.
    answered: Notify,
}

impl LeaseKeeper {
    /// A keeper with no leases. [`LeaseKeeper::run`] must be driven for it to send anything.
    pub fn new(api: Arc<dyn SqsApi>, queue: QueueUrl, observer: Observer) -> Arc<Self> {
        Arc::new(Self {
            api,
            queue,
            observer,
            leases: Mutex::default(),
            changed: Notify::new(),
            answered: Notify::new(),
        })
    }

    fn leases(&self) -> MutexGuard<'_, Keeper> {
        // A panic under the lock leaves a heap and a map that are each whole.
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the lease of a message that was received just now (rule 3.6).
    pub fn hold(
        self: &Arc<Self>,
        handle: ReceiptHandle,
        message: Option<MessageId>,
        visibility: Duration,
    ) -> Lease {
        let id = self
            .leases()
            .hold(Instant::now(), handle.clone(), message, visibility);
        self.changed.notify_one();
        Lease {
            keeper: Arc::clone(self),
            id,
            handle,
        }
    }

    /// How many leases are held.
    pub fn held(&self) -> usize {
        self.leases().len()
    }

    /// Sends extensions as they fall due, for ever: drop the future to end it.
    ///
    /// A slow call holds up no other: each runs as a task of a set that ends with this future.
    pub async fn run(self: Arc<Self>) {
        let mut calls = JoinSet::new();
        loop {
            let now = Instant::now();
            let (due, next) = {
                let mut leases = self.leases();
                (leases.take_due(now), leases.next_due())
            };
            for chunk in due.chunks(MAX_BATCH.into()) {
                let (keeper, chunk) = (Arc::clone(&self), chunk.to_vec());
                calls.spawn(async move { keeper.extend(chunk).await });
            }
            tokio::select! {
                () = self.changed.notified() => {}
                () = sleep_until(next) => {}
                Some(_) = calls.join_next() => {}
            }
        }
    }

    async fn extend(&self, extensions: Vec<Extension>) {
        let sent = Instant::now();
        let results = match extensions.as_slice() {
            [one] => vec![
                self.api
                    .change_visibility(&self.queue, &one.handle, one.visibility)
                    .await,
            ],
            several => {
                let entries: Vec<_> = several
                    .iter()
                    .map(|e| (e.handle.clone(), e.visibility))
                    .collect();
                match self
                    .api
                    .change_visibility_batch(&self.queue, &entries)
                    .await
                {
                    Ok(results) => results,
                    Err(error) => vec![Err(error); several.len()],
                }
            }
        };
        for (extension, result) in extensions.iter().zip(results) {
            self.answer(extension, sent, result);
        }
        self.answered.notify_waiters();
        self.changed.notify_one();
    }

    fn answer(&self, extension: &Extension, sent: Instant, result: Result<(), CallError>) {
        let id = extension.id;
        let (message, event) = {
            let mut leases = self.leases();
            let message = leases.message(id);
            let event = match &result {
                Ok(()) if leases.extended(id, sent, extension.visibility) => {
                    Some(Event::LeaseEnds {
                        visibility: extension.visibility,
                    })
                }
                Ok(()) => Some(Event::Extended),
                Err(error) => match leases.failed(id, Instant::now(), error.class) {
                    AfterFailure::Again => Some(Event::ExtensionFailed { error }),
                    AfterFailure::Lost => Some(Event::LeaseLost { error }),
                    AfterFailure::Gone => None,
                },
            };
            (message, event)
        };
        if let Some(event) = event {
            self.observer.emit(message.as_ref(), event);
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// A message's lease: while it lives the message stays invisible.
pub struct Lease {
    keeper: Arc<LeaseKeeper>,
    id: LeaseId,
    handle: ReceiptHandle,
}

impl Lease {
    /// The receipt handle that settles the message.
    pub fn handle(&self) -> &ReceiptHandle {
        &self.handle
    }

    /// Stops extending, and waits until an extension that is under way has been answered, so that
    /// none follows a settlement (rule 4.5).
    pub async fn pause(&self) {
        loop {
            let answered = self.keeper.answered.notified();
            tokio::pin!(answered);
            // Registered before the look, or the answer might fall between the two.
            answered.as_mut().enable();
            if self.keeper.leases().pause(self.id) {
                return;
            }
            answered.await;
        }
    }

    /// Extends again after a settlement that failed.
    pub fn resume(&self) {
        self.keeper.leases().resume(self.id, Instant::now());
        self.keeper.changed.notify_one();
    }

    /// When the message comes back if nothing is done.
    pub fn expires(&self) -> Instant {
        let expires = self.keeper.leases().expires(self.id);
        expires.unwrap_or_else(Instant::now)
    }

    /// Whether the message may have been handed to another consumer already.
    pub fn is_over(&self) -> bool {
        self.expires() <= Instant::now()
    }

    /// The end of the twelve hours that SQS hides the message at most.
    pub fn window_end(&self) -> Instant {
        let end = self.keeper.leases().window_end(self.id);
        end.unwrap_or_else(Instant::now)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.keeper.leases().release(self.id);
    }
}
