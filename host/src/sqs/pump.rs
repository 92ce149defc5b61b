//! The pump: one ReceiveMessage at a time, into a channel that holds one batch.
//!
//! Invariants: a receive starts only once the channel has room, so the pump is never more than one
//! receive ahead of the handlers (rule 2.3); an error never ends it (rule 2.4); the lease of a
//! message starts before the message waits for anything (rule 3.6).

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::api::{QueueUrl, Receive, Received, SqsApi};
use super::gate::{Gate, Pass, Trial, TrialId};
use super::lease::{Lease, LeaseKeeper};
use super::notification::unwrap_sns;
use super::open::{QueueState, resolve};
use super::pace::Pace;
use super::redrive::Redrive;
use super::reread::read_once;
use super::settle::Settler;
use super::trouble::{Attempt, Trouble, is_answer, pause_after};
use crate::Shutdown;
use crate::backoff::Backoff;
use crate::config::QueueRef;
use crate::error::{CallError, ErrorClass};
use crate::handler::SqsMessage;
use crate::limits::{
    CREATED_PAUSE, EMPTY_PAUSE, EMPTY_PAUSE_MAX, FINISHED_TOGETHER, HELD_WAIT, RECEIVE_GRACE,
    SHORT_WAIT,
};
use crate::observe::{Event, Observer};

/// A message that was received and not yet settled. Dropping it ends its lease.
pub struct Delivery {
    /// The message.
    pub message: Arc<SqsMessage>,
    /// What keeps it invisible.
    pub lease: Lease,
    /// The free worker that it was received for, where receives ask only for those: free again
    /// when the message is dropped.
    _slot: Option<OwnedSemaphorePermit>,
    /// The trial that it was received for.
    trial: Option<Trial>,
}

impl Delivery {
    /// A message under its lease.
    pub fn new(message: SqsMessage, lease: Lease) -> Self {
        Self {
            message: Arc::new(message),
            lease,
            _slot: None,
            trial: None,
        }
    }

    /// The trial that the message was received for, where it was for one (rule 8.7).
    pub fn trial(&self) -> Option<TrialId> {
        self.trial.as_ref().map(Trial::id)
    }

    /// How often the message has been received by now.
    pub fn receive_count(&self) -> Option<u32> {
        self.lease.receives().or(self.message.receive_count)
    }
}

/// Where the pump puts what it receives: never an empty batch.
pub type Intake = mpsc::Sender<Vec<Delivery>>;

/// How many messages a receive may ask for (rule 1.7).
#[derive(Clone)]
pub enum Slots {
    /// As many as a receive brings: the pump fetches ahead.
    Prefetch,
    /// Only as many as there are free workers, each worker one message.
    PerMessage(Arc<Semaphore>),
    /// Only when there is a free worker, which takes the whole batch.
    PerBatch(Arc<Semaphore>),
}

impl Slots {
    /// Waits until at least one message may be asked for. Answers how many may be, and the places
    /// taken for them.
    async fn take(&self, most: u8) -> (u8, Vec<OwnedSemaphorePermit>) {
        let (semaphore, several) = match self {
            Self::Prefetch => return (most, Vec::new()),
            Self::PerMessage(semaphore) => (semaphore, true),
            Self::PerBatch(semaphore) => (semaphore, false),
        };
        let Ok(first) = Arc::clone(semaphore).acquire_owned().await else {
            // Nobody closes it; should somebody, there are no workers to wait for.
            return (most, Vec::new());
        };
        let mut slots = vec![first];
        if !several {
            return (most, slots);
        }
        while slots.len() < usize::from(most)
            && let Ok(next) = Arc::clone(semaphore).try_acquire_owned()
        {
            slots.push(next);
        }
        (u8::try_from(slots.len()).unwrap_or(most), slots)
    }
}

/// Receives from one queue.
pub struct Pump {
    /// How to reach SQS.
    pub api: Arc<dyn SqsApi>,
    /// From where.
    pub queue: QueueUrl,
    /// The queue to create where it is missing, by how it was named; none where it is not to be
    /// created (rule 1.8).
    pub create: Option<QueueRef>,
    /// What writes the redrive policy that the mount declares on a queue that was created anew.
    pub redrive: Redrive,
    /// The long poll's wait: whole seconds, 0 to 20.
    pub wait: Duration,
    /// The most messages of one receive: 1 to 10.
    pub receive: u8,
    /// The visibility that a receive asks for; none leaves it to the queue (rule 1.5).
    pub visibility: Option<Duration>,
    /// The queue's own visibility, for leases.
    pub state: Arc<QueueState>,
    /// Takes the leases.
    pub leases: Arc<LeaseKeeper>,
    /// Deletes what was finished before, and says what that is.
    pub settler: Settler,
    /// How many messages a receive may ask for.
    pub slots: Slots,
    /// Lets receives begin; none lets all of them.
    pub gate: Option<Arc<dyn Gate>>,
    /// What the handlers of a FIFO queue ask of its receives; none for a standard queue. With it, a
    /// receive that had no answer is repeated as the same one.
    pub pace: Option<Arc<Pace>>,
    /// Whether a notification of SNS is taken out of its envelope.
    pub unwrap_sns: bool,
    /// Where events go.
    pub observer: Observer,
}

/// What became of the messages of a receive.
struct Taken {
    /// What is to be handled.
    deliveries: Vec<Delivery>,
    /// Whether any of them led to anything.
    useful: bool,
}

impl Pump {
    /// Receives until the stop, or until it is retired. A poll that is open then may finish until past
    /// the deadline, and what it brings goes into the channel like any other: to be released there
    /// (rule 7.3), or handled (rule 8.3).
    pub async fn run(&self, intake: Intake, shutdown: Shutdown) {
        let mut deleting = JoinSet::new();
        self.receive_all(&intake, &shutdown, &mut deleting).await;
        tokio::select! {
            () = async { while deleting.join_next().await.is_some() {} } => {}
            () = shutdown.over() => {}
        }
    }

    async fn receive_all(&self, intake: &Intake, shutdown: &Shutdown, deleting: &mut JoinSet<()>) {
        let mut trouble = Trouble::new();
        let mut empty = Backoff::new(EMPTY_PAUSE, EMPTY_PAUSE_MAX);
        let mut attempt = Attempt::default();
        loop {
            let room = tokio::select! {
                biased;
                () = shutdown.no_more() => return,
                room = intake.reserve() => room,
            };
            let Ok(room) = room else { return };
            let (max, slots) = tokio::select! {
                biased;
                () = shutdown.no_more() => return,
                taken = self.slots.take(self.receive) => taken,
            };
            // Last, for what it says holds now.
            let pass = tokio::select! {
                biased;
                () = shutdown.no_more() => return,
                pass = self.pass() => pass,
            };
            let (max, trial) = match pass {
                Pass::Any => (max, None),
                Pass::One(trial) => (1, Some(trial)),
            };
            let (max, open) = match &self.pace {
                Some(pace) => pace.ask(max),
                None => (max, None),
            };
            let wait = if open.is_some() {
                self.wait_of_several()
            } else {
                self.wait
            };
            let begun = Instant::now();
            let receive = Receive {
                queue: self.queue.clone(),
                max,
                wait,
                visibility: self.visibility,
                attempt: self.pace.is_some().then(|| attempt.id(begun, max)),
            };
            let received = tokio::select! {
                biased;
                received = self.receive(receive) => received,
                // Not cut at the deadline itself: SQS would hand what handlers release then to the
                // connection that nobody listens to, and hide it for its whole visibility. A poll
                // that is still open takes it, and it is released for good.
                () = shutdown.over() => return,
            };
            drop(open);
            reap(deleting);
            let took = begun.elapsed();
            let pause = match received {
                Ok(messages) => {
                    attempt.answered();
                    if let Some(class) = trouble.over() {
                        self.observer.emit(None, Event::ReceiveRecovered);
                        if class == ErrorClass::Missing {
                            self.read_again().await;
                        }
                    }
                    let Taken { deliveries, useful } = self.take(messages, slots, trial, deleting);
                    if useful {
                        empty.reset();
                    }
                    if !deliveries.is_empty() {
                        room.send(deliveries);
                    }
                    // A long poll that is not long would be repeated at once, for ever: of a
                    // server that is stopping, or of messages that cannot be used.
                    let short = wait < SHORT_WAIT || took < wait / 2;
                    (short && !useful).then(|| empty.next_random())
                }
                Err(error) => {
                    if is_answer(&error) {
                        attempt.answered();
                    }
                    let pause = self.failed(&error, &mut trouble, took);
                    tokio::select! {
                        biased;
                        () = shutdown.no_more() => return,
                        created = self.create_missing(&error, &mut trouble) => {
                            Some(if created { CREATED_PAUSE } else { pause })
                        }
                    }
                }
            };
            if let Some(pause) = pause {
                tokio::select! {
                    biased;
                    () = shutdown.no_more() => return,
                    () = tokio::time::sleep(pause) => {}
                }
            }
        }
    }

    async fn pass(&self) -> Pass {
        match &self.gate {
            Some(gate) => Arc::clone(gate).pass().await,
            None => Pass::Any,
        }
    }

    /// One receive, which ends even where its connection does not (rule 2.1). The client gives up
    /// sooner, and says more of why.
    async fn receive(&self, receive: Receive) -> Result<Vec<Received>, CallError> {
        let longest = receive.wait + RECEIVE_GRACE + Duration::from_secs(1);
        tokio::time::timeout(longest, self.api.receive(receive))
            .await
            .unwrap_or_else(|_| {
                let message = format!("no answer within {longest:?}");
                Err(CallError::no_answer("ReceiveMessage", message))
            })
    }

    /// How long a receive of several messages of a FIFO queue may wait. Who puts a message back
    /// waits for it (see [`Pace`]), so not for long while there is one that could fail.
    fn wait_of_several(&self) -> Duration {
        if self.leases.held() > 0 && self.state.max_receive_count().is_some() {
            self.wait.min(HELD_WAIT)
        } else {
            self.wait
        }
    }

    /// Starts the lease of each message. One without a receipt handle is skipped (rule 2.5), one
    /// that is here already has its lease renewed (rule 5.13), and one that was finished is deleted
    /// (rule 5.11): none of them is handed on.
    fn take(
        &self,
        messages: Vec<Received>,
        slots: Vec<OwnedSemaphorePermit>,
        mut trial: Option<Trial>,
        deleting: &mut JoinSet<()>,
    ) -> Taken {
        let visibility = self.visibility.unwrap_or_else(|| self.state.visibility());
        let mut slots = slots.into_iter();
        let mut deliveries = Vec::with_capacity(messages.len());
        let mut deleted = 0;
        for Received { handle, message } in messages {
            let id = message.id.clone();
            let Some(handle) = handle else {
                self.observer.emit(id.as_ref(), Event::NoHandle);
                continue;
            };
            let finished = id
                .as_ref()
                .is_some_and(|id| self.settler.finished().knows(id));
            // Let go where many are being deleted: it comes again, and is still remembered.
            if finished && deleting.len() >= FINISHED_TOGETHER {
                continue;
            }
            let Some(lease) = self.leases.hold(handle, id.clone(), visibility) else {
                self.observer.emit(id.as_ref(), Event::HeldAlready);
                if let (Some(id), Some(receives)) = (&id, message.receive_count) {
                    self.leases.received_again(id, receives);
                }
                continue;
            };
            let message = if self.unwrap_sns {
                unwrap_sns(message)
            } else {
                message
            };
            let mut delivery = Delivery::new(message, lease);
            if finished {
                self.observer.emit(id.as_ref(), Event::FinishedAlready);
                let settler = self.settler.clone();
                deleting.spawn(async move {
                    settler.delete(&delivery).await;
                });
                deleted += 1;
            } else {
                delivery._slot = slots.next();
                delivery.trial = trial.take();
                deliveries.push(delivery);
            }
        }
        let messages = deliveries.len();
        if messages > 0 {
            self.observer.emit(None, Event::Received { messages });
        }
        Taken {
            useful: messages + deleted > 0,
            deliveries,
        }
    }

    /// A queue that was missing is another one now, with attributes of its own (rule 1.5).
    async fn read_again(&self) {
        let (api, queue, state) = (&*self.api, &self.queue, &*self.state);
        let named = self.visibility.is_some();
        let read = read_once(api, queue, state, named, &self.observer).await;
        self.redrive
            .write(api, queue, read, state, &self.observer)
            .await;
    }

    fn failed(&self, error: &CallError, trouble: &mut Trouble, took: Duration) -> Duration {
        let (still, pause) = trouble.next(error.class, error.remedy());
        let pause = pause_after(pause, took, self.wait);
        self.observer.emit(
            None,
            Event::ReceiveFailed {
                error,
                still,
                pause,
            },
        );
        pause
    }

    /// Creates the queue again where it is missing and is to be created. Where that fails the queue
    /// is still missing at the next receive, and it is tried again.
    async fn create_missing(&self, error: &CallError, trouble: &mut Trouble) -> bool {
        let (ErrorClass::Missing, Some(queue)) = (error.class, &self.create) else {
            return false;
        };
        match resolve(&*self.api, queue, true, None).await {
            Ok(_) => {
                self.observer.emit(None, Event::Created);
                true
            }
            Err(error) => {
                let still = trouble.creating == Some(error.remedy());
                trouble.creating = Some(error.remedy());
                let error = &error;
                self.observer.emit(None, Event::NotCreated { error, still });
                false
            }
        }
    }
}

/// Takes the deletes that have ended out of the set. A panic of one is the pump's.
fn reap(deleting: &mut JoinSet<()>) {
    while let Some(ended) = deleting.try_join_next() {
        if let Err(error) = ended
            && let Ok(panic) = error.try_into_panic()
        {
            std::panic::resume_unwind(panic);
        }
    }
}
