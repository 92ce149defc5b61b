//! One mount from its opening to its end: the owner of its tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use super::feed::Feed;
use super::gate::CircuitGate;
use super::live::Live;
use super::supervise::supervise;
use super::worker::Worker;
use crate::Shutdown;
use crate::config::{SettleMode, SqsSubscription};
use crate::handler::HandlerKind;
use crate::observe::{Event, Observer};
use crate::sqs::{
    Batcher, Finished, LeaseKeeper, OpenQueue, Pace, Publisher, Pump, QueueState, Redrive, Settler,
    Slots, SqsApi, keep_reading, release_all,
};

/// A mount with everything it needs to run.
pub struct Mounted {
    /// Its settings.
    pub subscription: Arc<SqsSubscription>,
    /// What handles its messages, one version after the other.
    pub live: Arc<dyn Live>,
    /// How to reach its queue.
    pub api: Arc<dyn SqsApi>,
    /// Its queue.
    pub queue: OpenQueue,
    /// The queue's messages that were finished and are perhaps not deleted.
    pub finished: Finished,
    /// Where its replies go.
    pub publisher: Option<Arc<Publisher>>,
    /// Where messages go that its handler gives up.
    pub dead_letter: Option<Arc<Publisher>>,
    /// Where its events go.
    pub observer: Observer,
}

/// How a subscription ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// How many messages the drain deadline interrupted in handlers or settlements, or could not be
    /// released.
    pub left: usize,
}

/// Receives, handles and settles until `shutdown`, or until it is retired and has handled what it
/// holds.
///
/// At the stop what was received and not handed out is released at once, while the handlers in
/// flight go on with their leases kept until the deadline (rule 7.3).
pub async fn run(mounted: Mounted, shutdown: Shutdown) -> Ended {
    let Mounted {
        subscription,
        live,
        api,
        queue:
            OpenQueue {
                url,
                state,
                create,
                endpoint,
                ..
            },
        finished,
        publisher,
        dead_letter,
        observer,
    } = mounted;
    // Later versions may be of the other kind; what is fed to them is of this one.
    let kind = live.now().handler.kind();
    let pace = subscription
        .queue
        .name()
        .is_fifo()
        .then(Arc::<Pace>::default);
    let leases = LeaseKeeper::new(Arc::clone(&api), url.clone(), observer.clone());
    let gate = CircuitGate::new(Arc::clone(&live), observer.clone());
    let slots = slots(&subscription, kind, &state);
    let (intake, channel) = mpsc::channel(1);
    let feed = Arc::new(Feed::new(kind, pace.is_some(), channel));
    let left = Arc::new(AtomicUsize::new(0));
    let settler = Settler::new(Arc::clone(&api), url.clone(), observer.clone(), finished);

    // These run to the very end: a lease is kept until its message is settled.
    let mut background = JoinSet::new();
    let settler = match subscription.settle {
        SettleMode::Each => settler,
        SettleMode::Batched => {
            let batcher = Batcher::new(Arc::clone(&api), url.clone());
            background.spawn(supervise("batcher", observer.clone(), {
                let (batcher, stop) = (Arc::clone(&batcher), shutdown.stop.clone());
                move || Arc::clone(&batcher).run(stop.clone())
            }));
            settler.batched(batcher)
        }
    };
    background.spawn(supervise("lease keeper", observer.clone(), {
        let leases = Arc::clone(&leases);
        move || Arc::clone(&leases).run()
    }));
    background.spawn(supervise("attribute reader", observer.clone(), {
        let (api, url) = (Arc::clone(&api), url.clone());
        let (state, observer) = (Arc::clone(&state), observer.clone());
        let named = subscription.visibility.is_some();
        move || {
            let (api, url) = (Arc::clone(&api), url.clone());
            keep_reading(api, url, Arc::clone(&state), named, observer.clone())
        }
    }));

    let pump = Arc::new(Pump {
        api,
        queue: url,
        create: (subscription.create_if_missing).then(|| subscription.queue.clone()),
        redrive: Redrive {
            subscription: Arc::clone(&subscription),
            create,
            endpoint,
        },
        wait: subscription.wait,
        receive: subscription.receive.get(),
        visibility: subscription.visibility,
        state: Arc::clone(&state),
        leases,
        settler: settler.clone(),
        slots,
        gate: Some(gate.clone()),
        pace: pace.clone(),
        unwrap_sns: subscription.unwrap_sns,
        observer: observer.clone(),
    });
    let worker = Arc::new(Worker {
        live,
        feed: Arc::clone(&feed),
        settler: settler.clone(),
        publisher,
        dead_letter,
        gate,
        pace,
        state,
        observer: observer.clone(),
        shutdown: shutdown.clone(),
        settling_at_most: match subscription.settle {
            SettleMode::Each => SETTLING,
            SettleMode::Batched => SETTLING_TOGETHER,
        }
        .div_ceil(subscription.workers.get()),
        left: Arc::clone(&left),
    });

    let mut tasks = JoinSet::new();
    tasks.spawn(supervise("pump", observer.clone(), {
        let shutdown = shutdown.clone();
        move || {
            let (pump, intake, shutdown) = (Arc::clone(&pump), intake.clone(), shutdown.clone());
            async move { pump.run(intake, shutdown).await }
        }
    }));
    for _ in 0..subscription.workers.get() {
        let worker = Arc::clone(&worker);
        tasks.spawn(supervise("worker", observer.clone(), move || {
            Arc::clone(&worker).run()
        }));
    }

    // Without a stop the pump and the workers end only by being retired.
    let ends = async { while tasks.join_next().await.is_some() {} };
    tokio::select! {
        () = shutdown.stop.cancelled() => {}
        () = ends => {}
    }
    // The channel closes when the pump has ended, which is when an open poll has.
    while let Some(deliveries) = feed.rest().await {
        let unreleased = tokio::select! {
            unreleased = release_all(&settler, &deliveries) => unreleased,
            () = shutdown.over() => deliveries.len(),
        };
        left.fetch_add(unreleased, Relaxed);
    }
    while tasks.join_next().await.is_some() {}
    observer.emit(None, Event::Ended);
    Ended {
        left: left.load(Relaxed),
    }
}

/// How many messages of a subscription may be settled at once while its workers go on; with more
/// workers, one of each.
const SETTLING: usize = 16;
/// The same where ten share a call.
const SETTLING_TOGETHER: usize = 64;

/// How many messages may be held beside those in handlers: the rest of one receive and another.
const HELD_AHEAD: usize = 19;

/// Rule 1.7. A queue that allows a message one receive must not have one received that no worker
/// is free for: it would be lost to the dead-letter queue unhandled.
fn slots(subscription: &SqsSubscription, kind: HandlerKind, state: &QueueState) -> Slots {
    let workers = subscription.workers.get();
    let workers = if subscription.prefetch && state.max_receive_count() != Some(1) {
        match kind {
            // Messages that wait for their groups do not fill the channel, so this bounds what is
            // held, to W + 19 (rule 2.3).
            HandlerKind::Single if subscription.queue.name().is_fifo() => workers + HELD_AHEAD,
            _ => return Slots::Prefetch,
        }
    } else {
        workers
    };
    let workers = Arc::new(Semaphore::new(workers));
    match kind {
        HandlerKind::Single => Slots::PerMessage(workers),
        HandlerKind::Batch => Slots::PerBatch(workers),
    }
}
