//! Hands received messages to workers: in the order of the receive, and of each group of a FIFO
//! queue one at a time.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, mpsc};

use super::lines::Lines;
use crate::handler::{GroupId, HandlerKind, MessageId};
use crate::sqs::Delivery;

/// What the workers of one subscription take from.
///
/// Invariant: with W workers at most W + 19 messages are held: W in handlers, 9 of a receive that
/// was taken apart here, and the 10 that the channel, or the receive under way, has (rule 2.3). On a
/// FIFO queue more may wait here for their groups; the pump's slots keep the sum.
pub(super) struct Feed {
    kind: HandlerKind,
    /// Whether groups have an order. A group on a standard queue changes nothing (rule 5.12).
    fifo: bool,
    lines: Mutex<Lines<Delivery>>,
    /// Something can be handed out that could not before.
    freed: Notify,
    channel: tokio::sync::Mutex<mpsc::Receiver<Vec<Delivery>>>,
}

impl Feed {
    pub(super) fn new(
        kind: HandlerKind,
        fifo: bool,
        channel: mpsc::Receiver<Vec<Delivery>>,
    ) -> Self {
        Self {
            kind,
            fifo,
            lines: Mutex::new(Lines::new()),
            freed: Notify::new(),
            channel: tokio::sync::Mutex::new(channel),
        }
    }

    fn lines(&self) -> MutexGuard<'_, Lines<Delivery>> {
        // A panic under the lock leaves a list that is whole.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether messages of a group have an order here.
    pub(super) fn has_order(&self) -> bool {
        self.fifo
    }

    /// The group that orders a message here.
    pub(super) fn group<'a>(&self, delivery: &'a Delivery) -> Option<&'a GroupId> {
        delivery.message.group_id.as_ref().filter(|_| self.fifo)
    }

    /// The next call's messages: one, or a whole batch, never none (rules 5.8, 5.9). `None` once
    /// the pump has ended and everything was handed out.
    ///
    /// Cancel safe: a future that is dropped has taken nothing.
    pub(super) async fn next(&self) -> Option<Vec<Delivery>> {
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            // Registered before the look, or what is freed might fall between the two.
            freed.as_mut().enable();
            if let Some(next) = self.lines().next() {
                return Some(next);
            }
            tokio::select! {
                fetched = self.fetch() => match fetched {
                    Fetched::Next(next) => return Some(next),
                    Fetched::Added => {}
                    Fetched::Over if self.lines().is_empty() => return None,
                    Fetched::Over => freed.await,
                },
                () = &mut freed => {}
            }
        }
    }

    /// Takes a receive apart, where still nothing can be handed out once it is this worker's turn to:
    /// what another has fetched meanwhile comes first, or each idle worker would fetch a receive.
    async fn fetch(&self) -> Fetched {
        let mut channel = self.channel.lock().await;
        if let Some(next) = self.lines().next() {
            return Fetched::Next(next);
        }
        match channel.recv().await {
            Some(batch) => {
                // Under the lock, so that whoever has it next sees them.
                self.add(batch);
                Fetched::Added
            }
            None => Fetched::Over,
        }
    }

    fn add(&self, batch: Vec<Delivery>) {
        let batch = batch
            .into_iter()
            .map(|delivery| (self.group(&delivery).cloned(), delivery));
        {
            let mut lines = self.lines();
            match self.kind {
                HandlerKind::Batch => lines.add(batch.collect()),
                HandlerKind::Single => batch.for_each(|one| lines.add(vec![one])),
            }
        }
        self.freed.notify_waiters();
    }

    /// Marks that a call for these messages is under way, until the turn is finished or dropped.
    pub(super) fn turn(&self, deliveries: &[Delivery]) -> Turn<'_> {
        let groups = deliveries.iter().filter_map(|one| self.group(one));
        Turn {
            feed: self,
            groups: groups.cloned().collect(),
            messages: deliveries
                .iter()
                .filter_map(|one| one.message.id.clone())
                .collect(),
        }
    }

    fn finish(
        &self,
        groups: &HashSet<GroupId>,
        left: &HashSet<GroupId>,
        messages: &HashSet<MessageId>,
    ) -> Vec<Delivery> {
        if groups.is_empty() {
            return Vec::new();
        }
        let came_back = |one: &Delivery| {
            let id = one.message.id.as_ref();
            id.is_some_and(|id| messages.contains(id))
        };
        let tail = self.lines().finish(groups, left, came_back);
        self.freed.notify_waiters();
        tail
    }

    /// Whatever has not been handed out, one receive at a time, until the pump has ended.
    pub(super) async fn rest(&self) -> Option<Vec<Delivery>> {
        let waiting = self.lines().take_all();
        if !waiting.is_empty() {
            return Some(waiting);
        }
        self.channel.lock().await.recv().await
    }
}

/// What a worker that found nothing to hand out has of the channel.
enum Fetched {
    /// What another worker fetched.
    Next(Vec<Delivery>),
    /// Something was added.
    Added,
    /// There is nothing more to come.
    Over,
}

/// A call that is under way: its groups have no other.
pub(super) struct Turn<'a> {
    feed: &'a Feed,
    groups: HashSet<GroupId>,
    messages: HashSet<MessageId>,
}

impl Turn<'_> {
    /// The call has ended and its messages are settled. Answers what has to be released: the
    /// messages that wait behind one that is `left` on the queue.
    pub(super) fn finish(mut self, left: &HashSet<GroupId>) -> Vec<Delivery> {
        let groups = std::mem::take(&mut self.groups);
        self.feed.finish(&groups, left, &self.messages)
    }
}

impl Drop for Turn<'_> {
    /// A turn that was not finished ended in a fault of ours. What waits behind its messages comes
    /// back by itself, after them.
    fn drop(&mut self) {
        let groups = std::mem::take(&mut self.groups);
        drop(self.feed.finish(&groups, &groups, &self.messages));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::observe::Observer;
    use crate::sqs::scripted::{Scripted, message};
    use crate::sqs::{LeaseKeeper, QueueUrl};

    // Rule 2.3: a receive is fetched for whoever is idle, not one for each of them.
    #[tokio::test]
    async fn idle_workers_share_what_one_of_them_fetches() {
        let api = Scripted::new();
        let leases = LeaseKeeper::new(api, QueueUrl::new("http://sqs/q"), Observer::of_a_test());
        let delivery = |id: &str| {
            let (message, visibility) = (message(id).message, Duration::from_secs(30));
            let lease = leases.hold("handle".into(), message.id.clone(), visibility);
            Delivery::new(message, lease.expect("it is not here yet"))
        };
        // Which of two ways an idle worker looks at first is random.
        for n in 0..50 {
            let (sender, channel) = mpsc::channel(2);
            let feed = Feed::new(HandlerKind::Single, false, channel);
            let fetches = async {
                tokio::task::yield_now().await;
                for receive in ["a", "b"] {
                    let ids = (0..3).map(|place| format!("{receive} {n} {place}"));
                    sender
                        .try_send(ids.map(|id| delivery(&id)).collect())
                        .unwrap();
                }
            };
            let (first, second, ()) = tokio::join!(feed.next(), feed.next(), fetches);
            assert!(first.is_some() && second.is_some());
            assert_eq!(
                sender.capacity(),
                1,
                "the second receive is not fetched yet"
            );
        }
    }
}
