//! The pump: one ReceiveMessage at a time, into a channel that holds one batch.
//!
//! Invariants: a receive starts only once the channel has room, so the pump is never more than one
//! receive ahead of the handlers (rule 2.3); an error never ends it (rule 2.4); the lease of a
//! message starts before the message waits for anything (rule 3.6).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::Instant;

use super::api::{QueueUrl, Receive, Received, SqsApi};
use super::lease::{Lease, LeaseKeeper};
use super::open::QueueState;
use crate::Shutdown;
use crate::backoff::Backoff;
use crate::error::{CallError, ErrorClass};
use crate::handler::SqsMessage;
use crate::limits::{
    EMPTY_PAUSE, EMPTY_PAUSE_MAX, OPERATOR_BACKOFF_MAX, RECEIVE_BACKOFF, RECEIVE_BACKOFF_MAX,
    SHORT_WAIT,
};
use crate::observe::{Event, Observer};

/// A message that was received and not yet settled. Dropping it ends its lease.
pub struct Delivery {
    /// The message.
    pub message: Arc<SqsMessage>,
    /// What keeps it invisible.
    pub lease: Lease,
    /// The free worker that it was received for, where receives ask only for those.
    _slot: Option<OwnedSemaphorePermit>,
}

impl Delivery {
    /// A message under its lease.
    pub fn new(message: SqsMessage, lease: Lease) -> Self {
        Self {
            message: Arc::new(message),
            lease,
            _slot: None,
        }
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
    /// How many messages a receive may ask for.
    pub slots: Slots,
    /// Where events go.
    pub observer: Observer,
}

impl Pump {
    /// Receives until the stop. A poll that is open then may finish until past the deadline, and what it
    /// brings goes into the channel like any other, to be released there (rule 7.3).
    pub async fn run(&self, intake: Intake, shutdown: Shutdown) {
        let stop = &shutdown.stop;
        let mut trouble = Trouble::new();
        let mut empty = Backoff::new(EMPTY_PAUSE, EMPTY_PAUSE_MAX);
        loop {
            let room = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                room = intake.reserve() => room,
            };
            let Ok(room) = room else { return };
            let (max, slots) = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                taken = self.slots.take(self.receive) => taken,
            };
            let receive = Receive {
                queue: self.queue.clone(),
                max,
                wait: self.wait,
                visibility: self.visibility,
            };
            let begun = Instant::now();
            let received = tokio::select! {
                biased;
                received = self.api.receive(receive) => received,
                // Not cut at the deadline itself: SQS would hand what handlers release then to the
                // connection that nobody listens to, and hide it for its whole visibility. A poll
                // that is still open takes it, and it is released for good.
                () = shutdown.over() => return,
            };
            let pause = match received {
                Ok(messages) => {
                    if let Some(class) = trouble.over() {
                        self.observer.emit(None, Event::ReceiveRecovered);
                        if class == ErrorClass::Missing {
                            self.read_again().await;
                        }
                    }
                    let deliveries = self.take(messages, slots);
                    if deliveries.is_empty() {
                        // A long poll that is not long would be repeated at once, for ever: of a
                        // server that is stopping, or of messages that cannot be used.
                        let short = self.wait < SHORT_WAIT || begun.elapsed() < self.wait / 2;
                        short.then(|| empty.next_random())
                    } else {
                        empty.reset();
                        room.send(deliveries);
                        None
                    }
                }
                Err(error) => Some(self.failed(&error, &mut trouble)),
            };
            if let Some(pause) = pause {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(pause) => {}
                }
            }
        }
    }

    /// Starts the lease of each message. One without a receipt handle is skipped (rule 2.5).
    fn take(&self, messages: Vec<Received>, slots: Vec<OwnedSemaphorePermit>) -> Vec<Delivery> {
        if messages.is_empty() {
            return Vec::new();
        }
        let visibility = self.visibility.unwrap_or_else(|| self.state.visibility());
        let mut slots = slots.into_iter();
        let mut deliveries = Vec::with_capacity(messages.len());
        for Received { handle, message } in messages {
            let Some(handle) = handle else {
                self.observer.emit(message.id.as_ref(), Event::NoHandle);
                continue;
            };
            let lease = self.leases.hold(handle, message.id.clone(), visibility);
            deliveries.push(Delivery {
                message: Arc::new(message),
                lease,
                _slot: slots.next(),
            });
        }
        let messages = deliveries.len();
        self.observer.emit(None, Event::Received { messages });
        deliveries
    }

    /// A queue that was missing is another one now, with a visibility of its own (rule 1.5).
    async fn read_again(&self) {
        if let Ok(attributes) = self.api.queue_attributes(&self.queue).await {
            self.state.take(&attributes, &self.observer);
        }
    }

    fn failed(&self, error: &CallError, trouble: &mut Trouble) -> Duration {
        let (still, pause) = trouble.next(error.class);
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
}

/// The state of receives that fail: what is wrong, and how long to wait.
struct Trouble {
    class: Option<ErrorClass>,
    backoff: Backoff,
}

impl Trouble {
    fn new() -> Self {
        Self {
            class: None,
            backoff: Backoff::new(RECEIVE_BACKOFF, RECEIVE_BACKOFF_MAX),
        }
    }

    /// Another failure: whether it is the same trouble as before, and the wait.
    fn next(&mut self, class: ErrorClass) -> (bool, Duration) {
        let still = self.class == Some(class);
        if !still {
            self.backoff.reset_to(if class.passes() {
                RECEIVE_BACKOFF_MAX
            } else {
                OPERATOR_BACKOFF_MAX
            });
            self.class = Some(class);
        }
        (still, self.backoff.next_random())
    }

    /// A receive succeeded: what the trouble was, if there had been any.
    fn over(&mut self) -> Option<ErrorClass> {
        self.class.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqs::scripted::{Scripted, message};

    struct Rig {
        api: Arc<Scripted>,
        pump: Pump,
        shutdown: Shutdown,
    }

    fn rig(wait: Duration, slots: Slots) -> Rig {
        let api = Scripted::new();
        let queue = QueueUrl::new("http://sqs/q");
        let observer = Observer::of_a_test();
        let pump = Pump {
            api: api.clone(),
            queue: queue.clone(),
            wait,
            receive: 10,
            visibility: Some(Duration::from_secs(30)),
            state: Arc::new(QueueState::new(Duration::from_secs(30), None)),
            leases: LeaseKeeper::new(api.clone(), queue, observer.clone()),
            slots,
            observer,
        };
        Rig {
            api,
            pump,
            shutdown: Shutdown::default(),
        }
    }

    impl Rig {
        /// Runs the pump beside `test`, which ends it by returning.
        async fn beside<T>(
            self,
            test: impl AsyncFnOnce(&Rig, &mut mpsc::Receiver<Vec<Delivery>>) -> T,
        ) -> T {
            let (intake, mut channel) = mpsc::channel(1);
            let run = self.pump.run(intake, self.shutdown.clone());
            tokio::select! {
                out = test(&self, &mut channel) => out,
                () = run => panic!("the pump ended by itself"),
            }
        }
    }

    fn ids(batch: &[Delivery]) -> Vec<&str> {
        batch.iter().map(|d| d.message.id_or_dash()).collect()
    }

    // Rule 2.3: one batch in the channel, and no receive until it has gone.
    #[tokio::test(start_paused = true)]
    async fn a_receive_starts_only_once_the_channel_has_room() {
        let rig = rig(Duration::from_secs(20), Slots::Prefetch);
        for id in ["a", "b", "c"] {
            rig.api.will_receive(vec![message(id)]);
        }
        rig.beside(async |rig, channel| {
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert_eq!(rig.api.receives(), 1);
            assert_eq!(ids(&channel.recv().await.unwrap()), ["a"]);
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert_eq!(rig.api.receives(), 2);
        })
        .await;
    }

    // Rule 2.2: a batch is never empty, and an empty short poll is followed by a pause.
    #[tokio::test(start_paused = true)]
    async fn an_empty_poll_yields_nothing_and_a_short_one_is_not_repeated_at_once() {
        let rig = rig(Duration::ZERO, Slots::Prefetch);
        rig.beside(async |rig, channel| {
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert!(channel.try_recv().is_err());
            let receives = rig.api.receives();
            // 100 ms doubling to 5 s, each at least half of that by jitter.
            assert!(
                (12..=36).contains(&receives),
                "{receives} receives in a minute"
            );
        })
        .await;
    }

    // Rule 2.2: a server that answers a long poll at once is not asked thousands of times.
    #[tokio::test(start_paused = true)]
    async fn an_empty_answer_before_its_time_is_followed_by_a_pause_too() {
        let rig = rig(Duration::from_secs(20), Slots::Prefetch);
        for _ in 0..1000 {
            rig.api.will_receive(Vec::new());
        }
        rig.beside(async |rig, _| {
            tokio::time::sleep(Duration::from_secs(60)).await;
            let receives = rig.api.receives();
            assert!((12..=36).contains(&receives), "{receives} in a minute");
        })
        .await;
    }

    // Rule 2.4: an error never ends the pump, and a queue that comes back is picked up again.
    #[tokio::test(start_paused = true)]
    async fn the_pump_outlives_every_error() {
        let rig = rig(Duration::from_secs(20), Slots::Prefetch);
        for class in [
            ErrorClass::Throttled,
            ErrorClass::Network,
            ErrorClass::Denied,
            ErrorClass::Missing,
            ErrorClass::Refused,
        ] {
            rig.api.will_fail_to_receive(class);
        }
        rig.api.will_receive(vec![message("a")]);
        rig.beside(async |rig, channel| {
            assert_eq!(ids(&channel.recv().await.unwrap()), ["a"]);
            assert_eq!(rig.api.receives(), 6);
        })
        .await;
    }

    // Rule 2.4: access denied backs off to a minute.
    #[tokio::test(start_paused = true)]
    async fn a_denied_queue_is_asked_a_few_times_a_minute_at_most() {
        let rig = rig(Duration::from_secs(20), Slots::Prefetch);
        for _ in 0..1000 {
            rig.api.will_fail_to_receive(ErrorClass::Denied);
        }
        rig.beside(async |rig, _| {
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert!(rig.api.receives() <= 15, "{}", rig.api.receives());
        })
        .await;
    }

    // Rule 2.5.
    #[tokio::test(start_paused = true)]
    async fn a_message_without_a_receipt_handle_is_skipped() {
        let rig = rig(Duration::from_secs(20), Slots::Prefetch);
        let mut broken = message("broken");
        broken.handle = None;
        rig.api.will_receive(vec![broken.clone(), message("whole")]);
        rig.api.will_receive(vec![broken]);
        rig.api.will_receive(vec![message("last")]);
        rig.beside(async |_, channel| {
            assert_eq!(ids(&channel.recv().await.unwrap()), ["whole"]);
            assert_eq!(ids(&channel.recv().await.unwrap()), ["last"]);
        })
        .await;
    }

    // Rule 1.7: `prefetch = false`.
    #[tokio::test(start_paused = true)]
    async fn without_prefetch_a_receive_asks_only_for_free_workers() {
        let workers = Arc::new(Semaphore::new(3));
        let rig = rig(Duration::from_secs(20), Slots::PerMessage(workers.clone()));
        rig.api.will_receive(vec![message("a"), message("b")]);
        rig.beside(async |rig, channel| {
            let mut held = channel.recv().await.unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
            // One of the three was left over, so a second poll asks for one.
            assert_eq!(rig.api.asked(), [3, 1]);
            rig.api.will_receive(vec![message("c")]);
            let third = channel.recv().await.unwrap();
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert_eq!(rig.api.asked(), [3, 1], "all three are busy");
            held.pop();
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(rig.api.asked(), [3, 1, 1]);
            drop(third);
        })
        .await;
    }

    // Rule 7.3: what an open poll brings after the stop is still handed on, and nothing after it.
    #[tokio::test(start_paused = true)]
    async fn a_poll_that_is_open_at_the_stop_may_finish() {
        let rig = rig(Duration::from_secs(20), Slots::Prefetch);
        let (intake, mut channel) = mpsc::channel(1);
        let run = rig.pump.run(intake, rig.shutdown.clone());
        let script = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            rig.shutdown.stop.cancel();
            tokio::time::sleep(Duration::from_secs(1)).await;
            rig.api.will_receive(vec![message("late")]);
        };
        tokio::join!(run, script);
        assert_eq!(ids(&channel.recv().await.unwrap()), ["late"]);
        assert!(channel.recv().await.is_none());
        assert_eq!(rig.api.receives(), 1);
    }

    // Rule 3.6.
    #[tokio::test(start_paused = true)]
    async fn a_lease_starts_before_any_handler_is_free() {
        let rig = rig(Duration::from_secs(20), Slots::Prefetch);
        rig.api.will_receive(vec![message("a")]);
        rig.beside(async |rig, _| {
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(rig.pump.leases.held(), 1);
        })
        .await;
    }
}
