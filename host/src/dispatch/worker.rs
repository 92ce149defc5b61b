//! A worker: takes messages, calls the handler, settles what it answers.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use tokio::time::Instant;

use super::feed::{Feed, Turn};
use super::gate::CircuitGate;
use super::live::{Live, Serving};
use super::lost::interrupted;
use super::outcome::{
    InGroup, Settlement, answers_for, dead_letter, hold_back, is_last, is_past_last, judge,
    retry_delay, settlement,
};
use crate::Shutdown;
use crate::handler::{
    Answer, Call, Failure, GroupId, HandlerKind, Outcome, Reason, Reply, SqsMessage,
};
use crate::limits::{LAST_CALLS, whole_seconds};
use crate::observe::{Event, Observer};
use crate::sqs::{AtWork, Delivery, Pace, Publisher, QueueState, Settled, Settler, release_all};

/// Whether a message is out of the way of those behind it, once its settlement has ended: deleted for
/// certain, or left to the dead-letter queue.
enum Gone {
    Yes,
    No,
}

/// How the settlement of one message goes.
#[derive(Default)]
struct Ending {
    /// Once it has ended.
    gone: OnceLock<Gone>,
    /// Whether the message is finished and only has to be deleted.
    is_finished: AtomicBool,
}

/// What the workers of one subscription share.
pub(super) struct Worker {
    /// Who is called, by which settings.
    pub(super) live: Arc<dyn Live>,
    pub(super) feed: Arc<Feed>,
    pub(super) settler: Settler,
    /// Where replies go.
    pub(super) publisher: Option<Arc<Publisher>>,
    /// Where messages go that a handler gives up.
    pub(super) dead_letter: Option<Arc<Publisher>>,
    /// What is told how handlers fare.
    pub(super) gate: Arc<CircuitGate>,
    /// What the pump of a FIFO queue is told.
    pub(super) pace: Option<Arc<Pace>>,
    pub(super) state: Arc<QueueState>,
    pub(super) observer: Observer,
    pub(super) shutdown: Shutdown,
    /// How many messages of each worker may be settled while it goes on.
    pub(super) settling_at_most: usize,
    /// Messages whose handler the drain deadline interrupted.
    pub(super) left: Arc<AtomicUsize>,
}

/// What a handler has been called with, and what follows.
struct Handled<'a> {
    turn: Turn<'a>,
    deliveries: Vec<Delivery>,
    /// Groups of which a message stays on the queue.
    left: HashSet<GroupId>,
    /// Of those groups: not handled, and to be released.
    behind: Vec<Delivery>,
    next: Next,
}

/// What is to be done with messages whose handler has ended.
enum Next {
    Settle {
        serving: Serving,
        decided: Vec<Settlement>,
        at_work: Option<AtWork>,
    },
    /// Nothing: they are another's, or never began.
    Leave,
    /// The drain deadline has come first.
    GiveBack,
}

impl Worker {
    /// Works until the service stops or the pump has ended. A message is settled while the next one
    /// is handled.
    pub(super) async fn run(self: Arc<Self>) {
        let mut settling = FuturesUnordered::new();
        let mut unsettled = 0;
        loop {
            let next = tokio::select! {
                biased;
                () = self.shutdown.stop.cancelled() => break,
                next = self.feed.next(), if unsettled <= self.settling_at_most => next,
                Some(settled) = settling.next() => {
                    unsettled -= settled;
                    continue;
                }
            };
            let Some(deliveries) = next else { break };
            let handling = self.handle(deliveries);
            tokio::pin!(handling);
            let handled = loop {
                tokio::select! {
                    biased;
                    handled = &mut handling => break handled,
                    Some(settled) = settling.next() => unsettled -= settled,
                }
            };
            unsettled += handled.deliveries.len();
            settling.push(self.finish(handled));
        }
        while settling.next().await.is_some() {}
    }

    /// Calls the handler with messages, and decides what becomes of them.
    async fn handle(&self, deliveries: Vec<Delivery>) -> Handled<'_> {
        let turn = self.feed.turn(&deliveries);
        let mut left = HashSet::new();
        // Rule 4.4: what may be with another consumer by now is not handled here too.
        let mut behind: Vec<Delivery> = Vec::new();
        let deliveries: Vec<_> = deliveries
            .into_iter()
            .filter_map(|delivery| {
                let group = self.feed.group(&delivery);
                if delivery.lease.is_over() {
                    self.observer
                        .emit(delivery.message.id.as_ref(), Event::NotBegun);
                    left.extend(group.cloned());
                    return None;
                }
                if group.is_some_and(|group| left.contains(group)) {
                    behind.push(delivery);
                    return None;
                }
                Some(delivery)
            })
            .collect();
        let next = if deliveries.is_empty() {
            Next::Leave
        } else {
            self.called(&deliveries).await
        };
        Handled {
            turn,
            deliveries,
            left,
            behind,
            next,
        }
    }

    async fn called(&self, deliveries: &[Delivery]) -> Next {
        let at_work = self.settler.at_work();
        // Rule 8.3: begun on a version, ended on it.
        let serving = self.live.now();
        tokio::select! {
            biased;
            decided = self.call(&serving, deliveries) => Next::Settle { serving, decided, at_work },
            () = interrupted(&serving, deliveries) => {
                for delivery in deliveries {
                    let id = delivery.message.id.as_ref();
                    self.observer.emit(id, Event::Abandoned);
                }
                Next::Leave
            }
            () = self.shutdown.deadline.cancelled() => {
                for delivery in deliveries {
                    let id = delivery.message.id.as_ref();
                    self.observer.emit(id, Event::Interrupted);
                }
                Next::GiveBack
            }
        }
    }

    /// Settles what was handled, and releases what has to come after it. Answers how many messages
    /// had been handed to the handler.
    async fn finish(&self, handled: Handled<'_>) -> usize {
        let Handled {
            turn,
            deliveries,
            mut left,
            mut behind,
            next,
        } = handled;
        let messages = deliveries.len();
        let stay = match next {
            Next::Settle {
                serving,
                decided,
                at_work,
            } => self.settle(&serving, deliveries, decided, at_work).await,
            Next::Leave => self.groups(&deliveries),
            Next::GiveBack => self.give_back(deliveries).await,
        };
        left.extend(stay);
        behind.extend(turn.finish(&left));
        if !behind.is_empty() {
            // Rule 5.12. A release that fails is no matter: the message comes back all the same.
            let released = release_all(&self.settler, &behind);
            tokio::select! {
                _ = released => {}
                () = self.shutdown.past_deadline() => {}
            }
        }
        messages
    }

    /// Carries out what was decided. Answers the groups of the messages that stay on the queue.
    async fn settle(
        &self,
        serving: &Serving,
        deliveries: Vec<Delivery>,
        decided: Vec<Settlement>,
        at_work: Option<AtWork>,
    ) -> HashSet<GroupId> {
        let done: Vec<_> = deliveries.iter().map(|_| Ending::default()).collect();
        let settling = self.settle_all(serving, &deliveries, decided, &done, at_work);
        tokio::select! {
            () = settling => {}
            // Settlements that are still tried when the deadline has passed get a last moment.
            () = self.shutdown.past_deadline() => {}
        }
        let mut left = HashSet::new();
        let mut unsettled = Vec::new();
        for (delivery, ending) in deliveries.into_iter().zip(done) {
            let group = self.feed.group(&delivery).cloned();
            match (ending.gone.into_inner(), ending.is_finished.into_inner()) {
                (Some(Gone::Yes), _) => {}
                (Some(Gone::No), _) => left.extend(group),
                // Its work is done, so nobody shall have it sooner than its lease ends.
                (None, true) => {
                    self.left.fetch_add(1, Relaxed);
                    left.extend(group);
                }
                (None, false) => unsettled.push(delivery),
            }
        }
        left.extend(self.give_back(unsettled).await);
        left
    }

    fn groups(&self, deliveries: &[Delivery]) -> HashSet<GroupId> {
        let groups = deliveries.iter().filter_map(|one| self.feed.group(one));
        groups.cloned().collect()
    }

    /// Calls the handler and decides what becomes of each message.
    async fn call(&self, serving: &Serving, deliveries: &[Delivery]) -> Vec<Settlement> {
        let messages = deliveries.iter().map(|delivery| &delivery.message);
        for message in messages.filter(|message| message.undecodable.is_none()) {
            self.observer.emit(
                message.id.as_ref(),
                Event::Handling {
                    receive_count: message.receive_count,
                },
            );
        }
        let begun = Instant::now();
        let answers = self.answers(serving, deliveries).await;
        let took = begun.elapsed();
        deliveries
            .iter()
            .zip(answers)
            .map(|(delivery, answer)| self.decide(serving, delivery, answer, took))
            .collect()
    }

    /// What the handler says of each message. One whose body could not be decoded is not handed to
    /// it, and if none is left there is no call (rules 3.5, 5.9).
    async fn answers(&self, serving: &Serving, deliveries: &[Delivery]) -> Vec<Answer> {
        let messages: Vec<_> = deliveries
            .iter()
            .map(|one| Arc::clone(&one.message))
            .filter(|message| message.undecodable.is_none())
            .collect();
        let asked = messages.len();
        let answered = match serving.handler.kind() {
            _ if messages.is_empty() => Vec::new(),
            HandlerKind::Single => self.one_by_one(serving, messages).await,
            HandlerKind::Batch => {
                let call = self.a_call(serving, &messages);
                answers_for(asked, serving.handler.handle_batch(call, messages).await)
            }
        };
        let mut answered = answered.into_iter();
        deliveries
            .iter()
            .filter_map(|one| match &one.message.undecodable {
                Some(why) => Some(Err(Failure::new(Reason::Decode, why.clone()))),
                None => answered.next(),
            })
            .collect()
    }

    /// Calls a handler that takes one message at a time. There is more than one message only where
    /// a version of the other kind has just come in: what follows a message of its group that stays
    /// on the queue is then not handled (rule 5.12).
    async fn one_by_one(&self, serving: &Serving, messages: Vec<Arc<SqsMessage>>) -> Vec<Answer> {
        let mut left: HashSet<&GroupId> = HashSet::new();
        let mut answers = Vec::with_capacity(messages.len());
        for message in &messages {
            let group = message.group_id.as_ref().filter(|_| self.feed.has_order());
            if group.is_some_and(|group| left.contains(group)) {
                answers.push(Ok(Outcome::Retry));
                continue;
            }
            let call = self.a_call(serving, std::slice::from_ref(message));
            let answer = serving.handler.handle(call, Arc::clone(message)).await;
            if !matches!(answer, Ok(Outcome::Ack | Outcome::Drop | Outcome::Reply(_))) {
                left.extend(group);
            }
            answers.push(answer);
        }
        answers
    }

    fn a_call(&self, serving: &Serving, messages: &[Arc<SqsMessage>]) -> Call {
        let publisher = self.publisher.as_ref();
        Call {
            queue: Arc::clone(&self.observer.source().queue),
            timeout: serving.subscription.timeout,
            publish: publisher
                .map(|publisher| publisher.for_call(messages, serving.handler.voice())),
        }
    }

    fn decide(
        &self,
        serving: &Serving,
        delivery: &Delivery,
        answer: Answer,
        took: Duration,
    ) -> Settlement {
        let may_reply = |reply: &Reply| {
            let publisher = self.publisher.as_ref();
            publisher.is_some_and(|of| of.has_reply_target() || reply.destination.is_some())
        };
        let answer = judge(answer, may_reply, self.dead_letter.is_some());
        let (count, max) = (delivery.receive_count(), self.state.max_receive_count());
        let decided = settlement(
            &answer,
            count,
            max,
            &serving.subscription.retry,
            rand::random(),
        );
        // What is to be sent first shows then whether it can be.
        if !matches!(decided, Settlement::Reply(_) | Settlement::DeadLetter(_)) {
            let failed = answer.as_ref().err().map(|failure| failure.reason);
            self.gate.answered(serving, delivery, failed);
        }
        let id = delivery.message.id.as_ref();
        self.observer.emit(
            id,
            Event::Handled {
                answer: &answer,
                took,
                receive_count: count,
                again_after: match decided {
                    Settlement::PutBack(delay) if !is_last(count, max) => {
                        Some(whole_seconds(delay))
                    }
                    _ => None,
                },
            },
        );
        if answer.is_err() {
            self.given_up(&delivery.message, count);
        }
        decided
    }

    /// Says so where a message that failed has no receive left.
    fn given_up(&self, message: &SqsMessage, count: Option<u32>) {
        let max = self.state.max_receive_count();
        if let Some(max_receive_count) = max
            && (is_last(count, max) || is_past_last(count, max))
        {
            let event = Event::GivenUp {
                max_receive_count,
                is_past: is_past_last(count, max),
            };
            self.observer.emit(message.id.as_ref(), event);
        }
    }

    /// Carries out what was decided, and notes in `done` how each message ended.
    async fn settle_all(
        &self,
        serving: &Serving,
        deliveries: &[Delivery],
        mut decided: Vec<Settlement>,
        done: &[Ending],
        at_work: Option<AtWork>,
    ) {
        let places: Vec<_> = deliveries.iter().map(|one| self.in_group(one)).collect();
        self.hold_back(deliveries, &places, &mut decided);
        let mut decided = self.send(serving, deliveries, decided).await;
        // What could not be sent stays on the queue, and so does what is behind it.
        self.hold_back(deliveries, &places, &mut decided);
        drop(at_work);
        self.set_pace(&places, &decided);
        let settled = deliveries.iter().zip(places).zip(decided).zip(done);
        join_all(settled.map(async |(((delivery, place), decided), done)| {
            let stays = place.stays(&decided);
            let gone = match decided {
                Settlement::PutBack(delay) => {
                    if let Some(pace) = self.paced().filter(|_| stays) {
                        pace.closed().await;
                    }
                    self.settler.put_back(delivery, delay).await;
                    if stays { Gone::No } else { Gone::Yes }
                }
                _ => {
                    done.is_finished.store(true, Relaxed);
                    match self.settler.delete(delivery).await {
                        Settled::Done => Gone::Yes,
                        Settled::Failed => Gone::No,
                    }
                }
            };
            let _ = done.gone.set(gone);
        }))
        .await;
    }

    fn in_group<'a>(&self, delivery: &'a Delivery) -> InGroup<'a> {
        let max = self.state.max_receive_count();
        InGroup {
            group: self.feed.group(delivery),
            is_last: is_last(delivery.receive_count(), max),
        }
    }

    /// What the pump is told, where a receive burns something: on a FIFO queue with a redrive policy.
    fn paced(&self) -> Option<&Pace> {
        let max = self.state.max_receive_count();
        self.pace.as_deref().filter(|_| max.is_some())
    }

    /// Tells the pump of a FIFO queue with a redrive policy which groups are being retried now, and
    /// which not any more.
    fn set_pace(&self, places: &[InGroup<'_>], decided: &[Settlement]) {
        let Some(pace) = self.paced() else { return };
        let mut delays: HashMap<&GroupId, Option<Duration>> = HashMap::new();
        for (place, decided) in places.iter().zip(decided) {
            let Some(group) = place.group else { continue };
            let delay = delays.entry(group).or_default();
            if let (Settlement::PutBack(of), true) = (decided, place.stays(decided)) {
                *delay = (*delay).max(Some(*of));
            }
        }
        for (group, delay) in delays {
            match delay {
                Some(delay) => pace.retried(group.clone(), delay, self.state.visibility()),
                None => pace.over(group),
            }
        }
    }

    fn hold_back(
        &self,
        deliveries: &[Delivery],
        places: &[InGroup<'_>],
        decided: &mut [Settlement],
    ) {
        for place in hold_back(places, decided) {
            let id = deliveries[place].message.id.as_ref();
            self.observer.emit(id, Event::HeldBack);
        }
    }

    /// Sends the replies of messages, and those that are given up to the dead-letter queue. What was
    /// sent is to be deleted then, the rest put back (rules 5.5, 5.14).
    async fn send(
        &self,
        serving: &Serving,
        deliveries: &[Delivery],
        mut decided: Vec<Settlement>,
    ) -> Vec<Settlement> {
        let (mut replies, mut letters) = (Vec::new(), Vec::new());
        let messages = deliveries.iter().map(|one| &one.message);
        for (place, (message, decided)) in messages.zip(&mut decided).enumerate() {
            match decided {
                Settlement::Reply(of) => {
                    replies.push((place, (Arc::clone(message), std::mem::take(of))));
                }
                Settlement::DeadLetter(reason) => {
                    let letter = dead_letter(message, reason);
                    letters.push((place, (Arc::clone(message), vec![letter])));
                }
                Settlement::Delete | Settlement::PutBack(_) => {}
            }
        }
        for (publisher, sources) in [(&self.publisher, replies), (&self.dead_letter, letters)] {
            let (places, sources): (Vec<_>, Vec<_>) = sources.into_iter().unzip();
            let sent: Vec<bool> = match publisher {
                _ if sources.is_empty() => continue,
                Some(publisher) => {
                    let results = publisher.send_all(sources).await;
                    let voice = &*serving.handler.voice();
                    for (place, result) in places.iter().zip(&results) {
                        if let Err(error) = result {
                            let id = deliveries[*place].message.id.as_ref();
                            let event = Event::ReplyFailed { error, voice };
                            self.observer.emit(id, event);
                        }
                    }
                    results.iter().map(Result::is_ok).collect()
                }
                // `judge` lets none through where there is no target.
                None => vec![false; places.len()],
            };
            for (place, sent) in places.into_iter().zip(sent) {
                let (delivery, decided) = (&deliveries[place], &mut decided[place]);
                let failed = (!sent).then_some(Reason::Answer);
                self.gate.answered(serving, delivery, failed);
                *decided = if sent {
                    let event = match decided {
                        Settlement::DeadLetter(reason) => Event::DeadLettered { reason },
                        _ => Event::Replied,
                    };
                    self.observer.emit(delivery.message.id.as_ref(), event);
                    Settlement::Delete
                } else {
                    let (count, random) = (delivery.receive_count(), rand::random());
                    self.given_up(&delivery.message, count);
                    Settlement::PutBack(retry_delay(&serving.subscription.retry, count, random))
                };
            }
        }
        decided
    }

    /// Releases what the drain deadline found unfinished.
    async fn give_back(&self, deliveries: Vec<Delivery>) -> HashSet<GroupId> {
        if deliveries.is_empty() {
            return HashSet::new();
        }
        self.left.fetch_add(deliveries.len(), Relaxed);
        let released = release_all(&self.settler, &deliveries);
        // Not released in time, they come back when their visibility lapses.
        let _ = tokio::time::timeout(LAST_CALLS, released).await;
        self.groups(&deliveries)
    }
}

impl Shutdown {
    /// A moment after the deadline: what still has to go out then has had its chance.
    async fn past_deadline(&self) {
        self.deadline.cancelled().await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
