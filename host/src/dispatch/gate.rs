//! Keeps a subscription's circuit: workers say what handlers answered, the pump asks whether it may
//! receive (rule 8.7).

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::circuit::{Answered, Ask, Breaker, Change};
use super::live::{Live, Serving};
use crate::config::Circuit as Settings;
use crate::handler::Reason;
use crate::observe::{Event, Observer};
use crate::sqs::{Delivery, Gate, Pass, Trial, TrialId};

/// The circuit of one subscription.
pub(super) struct CircuitGate {
    live: Arc<dyn Live>,
    breaker: Mutex<Breaker>,
    /// Whoever waits to pass is to ask again. Only the pump waits.
    changed: Notify,
    observer: Observer,
}

impl CircuitGate {
    /// A closed one.
    pub(super) fn new(live: Arc<dyn Live>, observer: Observer) -> Arc<Self> {
        let breaker = Breaker::new(live.now().version);
        Arc::new(Self {
            live,
            breaker: Mutex::new(breaker),
            changed: Notify::new(),
            observer,
        })
    }

    /// A version has handled a message, or has failed with it: by itself, or for what it wants to be
    /// sent cannot be.
    pub(super) fn answered(&self, serving: &Serving, delivery: &Delivery, failed: Option<Reason>) {
        let answered = Answered {
            version: serving.version,
            message: delivery.message.id.as_ref(),
            trial: delivery.trial(),
            failed,
        };
        self.decide(|breaker, now, settings| ((), breaker.answered(now, answered, settings)));
    }

    /// Decides under the lock, in which versions only go forward and events follow each other as
    /// the states do.
    fn decide<T>(
        &self,
        decide: impl FnOnce(&mut Breaker, Instant, &Settings) -> (T, Option<Change>),
    ) -> T {
        // A panic under the lock leaves a breaker that is whole.
        let mut breaker = self.breaker.lock().unwrap_or_else(PoisonError::into_inner);
        let serving = self.live.now();
        let reloaded = breaker.serves(serving.version);
        let settings = &serving.subscription.circuit;
        let (decided, change) = decide(&mut breaker, Instant::now(), settings);
        for change in [reloaded, change].into_iter().flatten() {
            self.observer.emit(None, event(change));
            self.changed.notify_one();
        }
        decided
    }
}

impl Gate for CircuitGate {
    fn pass(self: Arc<Self>) -> BoxFuture<'static, Pass> {
        Box::pin(async move {
            // Before the first look, so that no version comes in between the two.
            let mut versions = self.live.versions();
            loop {
                let until = match self.decide(|breaker, now, _| breaker.ask(now)) {
                    Ask::Any => return Pass::Any,
                    Ask::One(trial) => return Pass::One(Trial::new(self, trial)),
                    Ask::Until(at) => Some(at),
                    Ask::Answered => None,
                };
                tokio::select! {
                    () = self.changed.notified() => {}
                    () = sleep_until(until) => {}
                    () = another(&mut versions) => {}
                }
            }
        })
    }

    fn over(&self, trial: TrialId) {
        let mut breaker = self.breaker.lock().unwrap_or_else(PoisonError::into_inner);
        breaker.over(trial);
        self.changed.notify_one();
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Waits until another version is live.
async fn another(versions: &mut watch::Receiver<u64>) {
    if versions.changed().await.is_err() {
        // There will be none.
        std::future::pending::<()>().await;
    }
}

fn event(change: Change) -> Event<'static> {
    match change {
        Change::Opened {
            pause,
            failures,
            reason,
        } => Event::CircuitOpened {
            pause,
            failures,
            reason,
        },
        Change::Probes => Event::CircuitProbes,
        Change::Closed(why) => Event::CircuitClosed { why },
    }
}
