//! A worker: takes messages, calls the handler, settles what it answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;

use super::feed::Feed;
use super::outcome::{Settlement, answers_for, judge, retry_delay, settlement};
use super::subscription::Shutdown;
use crate::config::SqsSubscription;
use crate::handler::{Answer, Call, Handler, HandlerKind};
use crate::limits::LAST_CALLS;
use crate::observe::{Event, Observer};
use crate::sqs::{Delivery, Publisher, QueueState, Settled, Settler, release_all};

/// What the workers of one subscription share.
pub(super) struct Worker {
    pub(super) subscription: Arc<SqsSubscription>,
    pub(super) handler: Arc<dyn Handler>,
    pub(super) feed: Arc<Feed>,
    pub(super) settler: Settler,
    pub(super) publisher: Option<Arc<Publisher>>,
    pub(super) state: Arc<QueueState>,
    pub(super) observer: Observer,
    pub(super) shutdown: Shutdown,
    /// Messages whose handler the drain deadline interrupted.
    pub(super) left: Arc<AtomicUsize>,
}

impl Worker {
    /// Works until the service stops or the pump has ended.
    pub(super) async fn run(self: Arc<Self>) {
        loop {
            let next = tokio::select! {
                biased;
                () = self.shutdown.stop.cancelled() => return,
                next = self.feed.next() => next,
            };
            let Some(deliveries) = next else { return };
            self.work(deliveries).await;
        }
    }

    async fn work(&self, deliveries: Vec<Delivery>) {
        let answers = tokio::select! {
            answers = self.call(&deliveries) => answers,
            () = self.shutdown.deadline.cancelled() => {
                self.interrupted(deliveries).await;
                return;
            }
        };
        let settling = join_all(
            deliveries
                .iter()
                .zip(&answers)
                .map(|(delivery, answer)| self.settle(delivery, answer)),
        );
        tokio::select! {
            _ = settling => {}
            // Settlements that are still tried when the deadline has passed get a last moment.
            () = self.shutdown.past_deadline() => {
                self.left.fetch_add(deliveries.len(), Relaxed);
            }
        }
    }

    /// Calls the handler and answers one answer per message.
    async fn call(&self, deliveries: &[Delivery]) -> Vec<Answer> {
        for delivery in deliveries {
            let message = &delivery.message;
            self.observer.emit(
                message.id.as_ref(),
                Event::Handling {
                    receive_count: message.receive_count,
                },
            );
        }
        let call = Call {
            queue: Arc::clone(&self.observer.source().queue),
            timeout: self.subscription.timeout,
        };
        let begun = Instant::now();
        let answers = match (self.handler.kind(), deliveries) {
            (HandlerKind::Single, [one]) => {
                vec![self.handler.handle(call, Arc::clone(&one.message)).await]
            }
            (_, several) => {
                let messages = several.iter().map(|d| Arc::clone(&d.message)).collect();
                answers_for(
                    several.len(),
                    self.handler.handle_batch(call, messages).await,
                )
            }
        };
        let took = begun.elapsed();
        let has_target = self.publisher.is_some();
        deliveries
            .iter()
            .zip(answers)
            .map(|(delivery, answer)| {
                let answer = judge(answer, has_target);
                let id = delivery.message.id.as_ref();
                self.observer.emit(
                    id,
                    Event::Handled {
                        answer: &answer,
                        took,
                    },
                );
                answer
            })
            .collect()
    }

    async fn settle(&self, delivery: &Delivery, answer: &Answer) -> Settled {
        let message = &delivery.message;
        let decided = settlement(
            answer,
            message.receive_count,
            self.state.max_receive_count(),
            &self.subscription.retry,
            rand::random(),
        );
        match decided {
            Settlement::Delete => self.settler.delete(delivery).await,
            Settlement::PutBack(delay) => self.settler.put_back(delivery, delay).await,
            Settlement::Reply(replies) => {
                let sent = match &self.publisher {
                    Some(publisher) => publisher
                        .send_all(message.id.as_ref(), replies)
                        .await
                        .is_ok(),
                    // `judge` lets no reply through where there is no target.
                    None => false,
                };
                if sent {
                    self.observer.emit(message.id.as_ref(), Event::Replied);
                    self.settler.delete(delivery).await
                } else {
                    // Rule 5.5: never deleted while its reply is not out.
                    let delay = retry_delay(
                        &self.subscription.retry,
                        message.receive_count,
                        rand::random(),
                    );
                    self.settler.put_back(delivery, delay).await
                }
            }
        }
    }

    async fn interrupted(&self, deliveries: Vec<Delivery>) {
        self.left.fetch_add(deliveries.len(), Relaxed);
        for delivery in &deliveries {
            self.observer
                .emit(delivery.message.id.as_ref(), Event::Interrupted);
        }
        let released = release_all(&self.settler, deliveries);
        // Not released in time, they come back when their visibility lapses.
        let _ = tokio::time::timeout(LAST_CALLS, released).await;
    }
}

impl Shutdown {
    /// A moment after the deadline: what still has to go out then has had its chance.
    async fn past_deadline(&self) {
        self.deadline.cancelled().await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
