//! Leases: what keeps a message invisible while it is held.
//!
//! One [`LeaseKeeper`] a queue sends every extension of it. A [`Lease`] is a message's place in it;
//! dropping one ends the extending, so a message that nobody settles comes back by itself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::api::{QueueUrl, SqsApi};
use super::keeper::{AfterFailure, Extension, Keeper, LeaseId, Taken};
use crate::error::CallError;
use crate::handler::{MessageId, ReceiptHandle};
use crate::limits::{CALL_TIMEOUT, EXTEND_BESIDE, MAX_BATCH};
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

    /// Starts the lease of a message that was received just now (rule 3.6). None where the message
    /// is here already: its lease goes on under the newer handle, and it is not to be handed out
    /// (rule 5.13).
    pub fn hold(
        self: &Arc<Self>,
        handle: ReceiptHandle,
        message: Option<MessageId>,
        visibility: Duration,
    ) -> Option<Lease> {
        let taken = self
            .leases()
            .hold(Instant::now(), handle, message, visibility);
        self.changed.notify_one();
        match taken {
            Taken::New(id) => Some(Lease {
                keeper: Arc::clone(self),
                id,
            }),
            Taken::Renewed => None,
        }
    }

    /// A message that is held was received once more, for the `receives`th time. Each counts against
    /// what the queue's redrive policy allows.
    pub fn received_again(&self, message: &MessageId, receives: u32) {
        self.leases().received_again(message, receives);
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
        let (sent, result) = self.send_until_answered(&extensions).await;
        let results = result.unwrap_or_else(|error| vec![Err(error); extensions.len()]);
        for (extension, result) in extensions.iter().zip(results) {
            self.answer(extension, sent, result);
        }
        self.answered.notify_waiters();
        self.changed.notify_one();
    }

    /// Sends extensions, and again beside that where no answer comes: a connection that is dead and
    /// a server that is slow look alike, and the first must not cost the lease, nor the second the
    /// answer that is on its way. Answers when the call that was answered was sent.
    async fn send_until_answered(
        &self,
        extensions: &[Extension],
    ) -> (Instant, Result<Vec<Result<(), CallError>>, CallError>) {
        let begun = Instant::now();
        let patience = extensions.iter().map(|extension| extension.patience).min();
        let patience = patience.unwrap_or(CALL_TIMEOUT);
        let mut calls = FuturesUnordered::new();
        loop {
            let sent = Instant::now();
            calls.push(async move { (sent, self.send(extensions).await) });
            let more = calls.len() < EXTEND_BESIDE;
            let impatient = async {
                let until = if more {
                    sent + patience
                } else {
                    begun + CALL_TIMEOUT
                };
                tokio::time::sleep_until(until.min(begun + CALL_TIMEOUT)).await;
            };
            tokio::select! {
                biased;
                Some(answered) = calls.next() => return answered,
                () = impatient => {}
            }
            if begun.elapsed() >= CALL_TIMEOUT {
                let message = "no answer in time";
                let error = CallError::no_answer("ChangeMessageVisibility", message);
                return (sent, Err(error));
            }
        }
    }

    /// One call for one extension, one for several.
    async fn send(
        &self,
        extensions: &[Extension],
    ) -> Result<Vec<Result<(), CallError>>, CallError> {
        if let [one] = extensions {
            let call = self
                .api
                .change_visibility(&self.queue, &one.handle, one.visibility);
            return Ok(vec![call.await]);
        }
        let entries: Vec<_> = extensions
            .iter()
            .map(|e| (e.handle.clone(), e.visibility))
            .collect();
        self.api
            .change_visibility_batch(&self.queue, &entries)
            .await
    }

    fn answer(&self, extension: &Extension, sent: Instant, result: Result<(), CallError>) {
        let now = Instant::now();
        let (message, event) = {
            let mut leases = self.leases();
            let event = match &result {
                Ok(()) if leases.extended(extension, sent, now) => Some(Event::LeaseEnds {
                    visibility: extension.visibility,
                }),
                Ok(()) => Some(Event::Extended),
                Err(error) => match leases.failed(extension, now, error.class) {
                    AfterFailure::Again => Some(Event::ExtensionFailed { error }),
                    AfterFailure::Lost => Some(Event::LeaseLost { error }),
                    AfterFailure::WindowUsed(visibility) => Some(Event::LeaseEnds { visibility }),
                    AfterFailure::Ignored | AfterFailure::Gone => None,
                },
            };
            (leases.message(extension.id), event)
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
}

impl Lease {
    /// The receipt handle that settles the message: of its newest receive. None once the message
    /// is settled.
    pub fn handle(&self) -> Option<ReceiptHandle> {
        self.keeper.leases().handle(self.id)
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
        self.is_lost() || self.expires() <= Instant::now()
    }

    /// Whether SQS said that the handle is no good any more, or the message was put back and is
    /// held by another lease by now (rule 4.4).
    pub fn is_lost(&self) -> bool {
        self.keeper.leases().is_lost(self.id)
    }

    /// Waits until the lease is lost: at once where it is.
    pub async fn lost(&self) {
        loop {
            let answered = self.keeper.answered.notified();
            tokio::pin!(answered);
            // Registered before the look, or the answer might fall between the two.
            answered.as_mut().enable();
            if self.is_lost() {
                return;
            }
            answered.await;
        }
    }

    /// Whether the message may have been visible at some moment, so that a delete that succeeded
    /// may have deleted nothing (rule 5.11).
    pub fn may_have_lapsed(&self) -> bool {
        self.keeper
            .leases()
            .may_have_lapsed(self.id, Instant::now())
    }

    /// The message is being put back to be received at once: from here another receive of it is one
    /// to be handled.
    pub fn leave(&self) {
        self.keeper.leases().leave(self.id);
    }

    /// A settlement with `handle` succeeded. `false` where the message has been received again
    /// meanwhile: it is to be settled with its newest handle too.
    pub fn finish(&self, handle: &ReceiptHandle) -> bool {
        self.keeper.leases().finish(self.id, handle)
    }

    /// How often the message has been received, where it was received again while it was held.
    pub fn receives(&self) -> Option<u32> {
        self.keeper.leases().receives(self.id)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Count;
    use crate::sqs::scripted::{On, Say, Scripted};

    const SECOND: Duration = Duration::from_secs(1);

    /// Holds a lease of two seconds for ten, of an SQS that says these of its first extensions.
    async fn keep(says: &[Say]) -> (Observer, Arc<Scripted>) {
        let api = Scripted::new();
        for say in says {
            api.will_say(On::Visibility, say.clone());
        }
        let observer = Observer::of_a_test();
        let queue = QueueUrl::new("http://sqs/q");
        let leases = LeaseKeeper::new(api.clone(), queue, observer.clone());
        tokio::spawn(Arc::clone(&leases).run());
        let lease = leases.hold("h".into(), Some("m".into()), SECOND * 2);
        let lease = lease.expect("it is new");
        for _ in 0..100 {
            tokio::time::sleep(SECOND / 10).await;
            assert!(!lease.is_over());
        }
        (observer, api)
    }

    // Rule 4.4: an extension that hangs is sent again inside the half period that is left.
    #[tokio::test(start_paused = true)]
    async fn an_extension_that_hangs_does_not_cost_the_lease() {
        let (observer, _) = keep(&[Say::Hang, Say::Done, Say::Hang]).await;
        assert_eq!(observer.counters().get(Count::LeaseLost), 0);
        assert!(observer.counters().get(Count::Extended) >= 7);
    }

    // Rule 4.4: the answer of a slow server counts, however impatient the keeper is.
    #[tokio::test(start_paused = true)]
    async fn an_extension_that_is_answered_late_is_answered() {
        let late = Say::Late(SECOND * 9 / 10);
        let (observer, api) = keep(&[late.clone(), late.clone(), late.clone(), late]).await;
        assert_eq!(observer.counters().get(Count::LeaseLost), 0);
        assert_eq!(observer.counters().get(Count::ExtensionFailed), 0);
        assert!(api.made().len() < 20, "{}", api.made().len());
    }
}
