//! A FIFO queue whose groups wait for each other as SQS's do, and a subscription on it.

use std::collections::{HashMap, HashSet};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::*;
use crate::error::CallError;
use crate::handler::{MessageId, ReceiptHandle};
use crate::sqs::scripted::error;
use crate::sqs::{Called, Outgoing, QueueAttributes, Receive, Received};

/// A message on the queue.
struct Kept {
    id: &'static str,
    receives: u32,
    /// Not received before this; after a receive it is in flight until then.
    visible: Option<Instant>,
}

impl Kept {
    fn group(&self) -> &'static str {
        &self.id[..1]
    }

    fn is_hidden(&self, now: Instant) -> bool {
        self.visible.is_some_and(|at| at > now)
    }
}

/// SQS's rules for a FIFO queue: a group with a message in flight gives nothing more, and what was
/// received too often goes to the dead-letter queue.
struct Fifo {
    kept: Mutex<Vec<Kept>>,
    dead: Mutex<Vec<&'static str>>,
    max_receive_count: u32,
    delete_takes: Duration,
    will_fail_to_delete: Mutex<HashSet<&'static str>>,
    changed: Notify,
}

impl Fifo {
    fn new(ids: &[&'static str], max_receive_count: u32) -> Arc<Self> {
        let kept = ids.iter().map(|id| Kept {
            id,
            receives: 0,
            visible: None,
        });
        Arc::new(Self {
            kept: Mutex::new(kept.collect()),
            dead: Mutex::default(),
            max_receive_count,
            delete_takes: Duration::ZERO,
            will_fail_to_delete: Mutex::default(),
            changed: Notify::new(),
        })
    }

    fn take(&self, max: u8, visibility: Duration) -> Vec<Received> {
        let now = Instant::now();
        let mut kept = self.kept.lock().unwrap();
        let hidden = kept.iter().filter(|one| one.is_hidden(now));
        let locked: HashSet<_> = hidden.map(Kept::group).collect();
        let mut received = Vec::new();
        kept.retain_mut(|one| {
            if received.len() == usize::from(max) || locked.contains(one.group()) {
                return true;
            }
            if one.receives == self.max_receive_count {
                self.dead.lock().unwrap().push(one.id);
                return false;
            }
            one.receives += 1;
            one.visible = Some(now + visibility);
            let mut of = message(one.id);
            of.message.receive_count = Some(one.receives);
            of.message.group_id = Some(one.group().into());
            received.push(of);
            true
        });
        received
    }

    fn hide(&self, handle: &ReceiptHandle, visibility: Duration) {
        let id = handle.as_str().trim_start_matches("handle of ");
        let mut kept = self.kept.lock().unwrap();
        if let Some(one) = kept.iter_mut().find(|one| one.id == id) {
            one.visible = Some(Instant::now() + visibility);
        }
        drop(kept);
        self.changed.notify_waiters();
    }

    fn left(&self) -> Vec<(&'static str, u32)> {
        let kept = self.kept.lock().unwrap();
        kept.iter().map(|one| (one.id, one.receives)).collect()
    }

    fn dead(&self) -> Vec<&'static str> {
        self.dead.lock().unwrap().clone()
    }
}

impl SqsApi for Fifo {
    fn receive(&self, receive: Receive) -> Called<'_, Vec<Received>> {
        Box::pin(async move {
            let deadline = Instant::now() + receive.wait;
            loop {
                let received = self.take(receive.max, receive.visibility.unwrap());
                if !received.is_empty() || Instant::now() >= deadline {
                    return Ok(received);
                }
                let next = {
                    let now = Instant::now();
                    let kept = self.kept.lock().unwrap();
                    let hidden = kept.iter().filter_map(|one| one.visible);
                    hidden.filter(|at| *at > now).min().unwrap_or(deadline)
                };
                tokio::select! {
                    () = tokio::time::sleep_until(next.min(deadline)) => {}
                    () = self.changed.notified() => {}
                }
            }
        })
    }

    fn delete<'a>(&'a self, _: &'a QueueUrl, handle: &'a ReceiptHandle) -> Called<'a, ()> {
        Box::pin(async move {
            tokio::time::sleep(self.delete_takes).await;
            let id = handle.as_str().trim_start_matches("handle of ");
            if self.will_fail_to_delete.lock().unwrap().remove(id) {
                return Err(error("DeleteMessage", ErrorClass::LostHandle));
            }
            self.kept.lock().unwrap().retain(|one| one.id != id);
            self.changed.notify_waiters();
            Ok(())
        })
    }

    fn change_visibility<'a>(
        &'a self,
        _: &'a QueueUrl,
        handle: &'a ReceiptHandle,
        visibility: Duration,
    ) -> Called<'a, ()> {
        self.hide(handle, visibility);
        Box::pin(async { Ok(()) })
    }

    fn change_visibility_batch<'a>(
        &'a self,
        _: &'a QueueUrl,
        entries: &'a [(ReceiptHandle, Duration)],
    ) -> Called<'a, Vec<Result<(), CallError>>> {
        for (handle, visibility) in entries {
            self.hide(handle, *visibility);
        }
        Box::pin(async { Ok(vec![Ok(()); entries.len()]) })
    }

    fn delete_batch<'a>(
        &'a self,
        queue: &'a QueueUrl,
        handles: &'a [ReceiptHandle],
    ) -> Called<'a, Vec<Result<(), CallError>>> {
        Box::pin(async move {
            let mut results = Vec::new();
            for handle in handles {
                results.push(self.delete(queue, handle).await);
            }
            Ok(results)
        })
    }

    fn send<'a>(&'a self, _: &'a QueueUrl, _: &'a Outgoing) -> Called<'a, MessageId> {
        Box::pin(async { Ok("sent".into()) })
    }

    fn send_batch<'a>(
        &'a self,
        _: &'a QueueUrl,
        messages: &'a [Outgoing],
    ) -> Called<'a, Vec<Result<MessageId, CallError>>> {
        Box::pin(async { Ok(vec![Ok("sent".into()); messages.len()]) })
    }

    fn set_queue_attributes<'a>(
        &'a self,
        _: &'a QueueUrl,
        _: &'a [(&'a str, &'a str)],
    ) -> Called<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn queue_url<'a>(&'a self, name: &'a str, _: Option<&'a str>) -> Called<'a, QueueUrl> {
        Box::pin(async move { Ok(QueueUrl::new(format!("http://sqs/{name}"))) })
    }

    fn create_queue<'a>(
        &'a self,
        name: &'a str,
        _: &'a [(&'a str, &'a str)],
    ) -> Called<'a, QueueUrl> {
        self.queue_url(name, None)
    }

    fn queue_attributes<'a>(&'a self, _: &'a QueueUrl) -> Called<'a, QueueAttributes> {
        Box::pin(async { Ok(QueueAttributes::default()) })
    }
}

fn fifo_subscription(workers: usize) -> SqsSubscription {
    let mut subscription = subscription(workers);
    subscription.queue = "q.fifo".parse().unwrap();
    subscription
}

/// Fails each of these ids so many times, and acks everything else.
fn failing(kind: HandlerKind, takes: Duration, times: &[(&'static str, u32)]) -> Arc<Native> {
    let left: Mutex<HashMap<_, _>> = Mutex::new(times.iter().copied().collect());
    Native::new(kind, takes, move |message| {
        let mut left = left.lock().unwrap();
        match left.get_mut(message.id_or_dash()) {
            Some(times) if *times > 0 => {
                *times -= 1;
                Err(Failure::new(Reason::Error, "not yet"))
            }
            _ => Ok(Outcome::Ack),
        }
    })
}

fn of_group(begun: &[String], group: &str) -> Vec<String> {
    let words = begun.iter().flat_map(|call| call.split(' '));
    words
        .filter(|id| id.starts_with(group))
        .map(str::to_owned)
        .collect()
}

async fn play_fifo(
    queue: &Arc<Fifo>,
    handler: &Arc<Native>,
    workers: usize,
    for_long: Duration,
) -> Ended {
    let max = Some(queue.max_receive_count);
    let subscription = fifo_subscription(workers);
    let observer = Observer::of_a_test();
    play_on(
        queue.clone(),
        max,
        handler,
        subscription,
        for_long,
        observer,
    )
    .await
}

// Rule 5.12: a group of five, the third fails twice. Its order is kept, nothing is lost, and the
// other group is not held up.
#[tokio::test(start_paused = true)]
async fn a_group_keeps_its_order_through_retries_and_the_others_go_on() {
    for workers in [1, 2, 8] {
        let queue = Fifo::new(
            &["A1", "A2", "A3", "A4", "A5", "B1", "B2", "B3", "B4", "B5"],
            5,
        );
        let handler = failing(HandlerKind::Single, SECOND / 10, &[("A3", 2)]);
        play_fifo(&queue, &handler, workers, SECOND * 60).await;
        let begun = handler.begun();
        assert_eq!(
            of_group(&begun, "A"),
            ["A1", "A2", "A3", "A3", "A3", "A4", "A5"],
            "{workers} workers"
        );
        assert_eq!(of_group(&begun, "B"), ["B1", "B2", "B3", "B4", "B5"]);
        let last_of_b = begun.iter().position(|id| id == "B5");
        let third_try = begun.iter().rposition(|id| id == "A3");
        assert!(last_of_b < third_try, "{begun:?}");
        assert_eq!(queue.left(), []);
        assert_eq!(queue.dead(), Vec::<&str>::new());
    }
}

// Rule 5.12: a poison head does not take its tail along to the dead-letter queue.
#[tokio::test(start_paused = true)]
async fn a_poison_head_is_the_only_dead_letter_of_its_group() {
    for max_receive_count in [2, 3] {
        for workers in [1, 4] {
            let queue = Fifo::new(
                &["A1", "A2", "A3", "A4", "A5", "B1", "B2"],
                max_receive_count,
            );
            let handler = failing(HandlerKind::Single, SECOND / 10, &[("A1", u32::MAX)]);
            play_fifo(&queue, &handler, workers, SECOND * 120).await;
            assert_eq!(queue.dead(), ["A1"], "{max_receive_count}, {workers}");
            let begun = of_group(&handler.begun(), "A");
            let tail = &begun[max_receive_count as usize..];
            assert_eq!(tail, ["A2", "A3", "A4", "A5"]);
            assert_eq!(queue.left(), []);
        }
    }
}

// Rule 5.12: a group's healthy tail does not burn its receives, however many of it fail.
#[tokio::test(start_paused = true)]
async fn only_what_fails_becomes_a_dead_letter_of_a_group_that_fails_often() {
    const GROUP: [&str; 9] = ["A0", "A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8"];
    const POISON: u32 = u32::MAX;
    /// The policy's receives, how often what fails, and what becomes a dead letter.
    type Row = (u32, &'static [(&'static str, u32)], &'static [&'static str]);
    let table: [Row; 4] = [
        (
            2,
            &[("A0", 1), ("A3", POISON), ("A5", POISON)],
            &["A3", "A5"],
        ),
        (3, &[("A0", 1), ("A2", 1), ("A4", POISON)], &["A4"]),
        (1, &[("A0", 1)], &["A0"]),
        (1, &[("A3", 1), ("A4", 1)], &["A3", "A4"]),
    ];
    for kind in [HandlerKind::Single, HandlerKind::Batch] {
        for (max_receive_count, times, dead) in table {
            for workers in [1, 4] {
                let queue = Fifo::new(&GROUP, max_receive_count);
                let handler = failing(kind, SECOND / 10, times);
                play_fifo(&queue, &handler, workers, SECOND * 120).await;
                assert_eq!(queue.dead(), dead, "{kind}, {max_receive_count}, {workers}");
                assert_eq!(queue.left(), []);
            }
        }
    }
}

// Rule 5.12: without a redrive policy there is nothing to burn, and a retry waits for no receive.
#[tokio::test(start_paused = true)]
async fn without_a_redrive_policy_a_message_is_put_back_at_once() {
    let queue = Fifo::new(&["A1", "A2", "B1"], u32::MAX);
    let handler = failing(HandlerKind::Single, SECOND / 10, &[("A1", 1)]);
    let (sqs, observer) = (queue.clone(), Observer::of_a_test());
    let subscription = fifo_subscription(1);
    play_on(sqs, None, &handler, subscription, SECOND * 5, observer).await;
    assert_eq!(of_group(&handler.begun(), "A"), ["A1", "A1", "A2"]);
    assert_eq!(queue.left(), []);
}

// Rule 5.12: an ack and a failure of one group in one call do not wait for each other.
#[tokio::test(start_paused = true)]
async fn a_batch_with_an_ack_before_a_failure_of_its_group_goes_on() {
    let queue = Fifo::new(&["A1", "A2", "A3", "B1"], 3);
    let handler = failing(HandlerKind::Batch, SECOND / 10, &[("A2", 1)]);
    play_fifo(&queue, &handler, 1, SECOND * 20).await;
    assert_eq!(handler.begun(), ["A1 A2 A3 B1", "A2", "A3"]);
    assert_eq!(queue.left(), []);
    assert_eq!(queue.dead(), Vec::<&str>::new());
}

// Rule 5.12: [A1 fails, B1, A2, B2] in one call.
#[tokio::test(start_paused = true)]
async fn in_a_batch_what_follows_a_failure_of_its_group_comes_back_after_it() {
    let queue = Fifo::new(&["A1", "B1", "A2", "B2"], 5);
    let handler = failing(HandlerKind::Batch, SECOND / 10, &[("A1", 1)]);
    play_fifo(&queue, &handler, 1, SECOND * 60).await;
    assert_eq!(
        handler.begun(),
        ["A1 B1 A2 B2", "A1", "A2"],
        "one at a time while A1 is retried"
    );
    assert_eq!(queue.left(), []);
}

// Rule 5.12: groups run beside each other, each of them one message at a time.
#[tokio::test(start_paused = true)]
async fn groups_run_beside_each_other() {
    let queue = Fifo::new(&["A1", "A2", "A3", "B1", "B2", "C1"], 5);
    let handler = failing(HandlerKind::Single, SECOND, &[]);
    let begun = Instant::now();
    play_fifo(&queue, &handler, 8, SECOND * 4).await;
    assert_eq!(handler.most.load(Relaxed), 3);
    assert_eq!(queue.left(), []);
    assert!(begun.elapsed() < SECOND * 30);
}

// Rule 5.12: the next of a group starts when the delete of the one before is confirmed.
#[tokio::test(start_paused = true)]
async fn the_next_of_a_group_waits_for_the_delete_of_the_one_before() {
    let mut queue = Fifo::new(&["A1", "A2"], 5);
    Arc::get_mut(&mut queue).unwrap().delete_takes = SECOND * 2;
    let handler = failing(HandlerKind::Single, SECOND / 10, &[]);
    play_fifo(&queue, &handler, 4, SECOND * 2).await;
    // The stop comes while the first delete is under way: the second was not begun.
    assert_eq!(handler.begun(), ["A1"]);
}

// Rule 5.12: a delete that is not confirmed keeps the rest of the group back.
#[tokio::test(start_paused = true)]
async fn a_delete_that_fails_releases_what_waits_behind_it() {
    let queue = Fifo::new(&["A1", "A2", "B1"], 5);
    queue.will_fail_to_delete.lock().unwrap().insert("A1");
    let handler = failing(HandlerKind::Single, SECOND / 10, &[]);
    play_fifo(&queue, &handler, 1, SECOND * 10).await;
    // A1 is hidden for 30 s, and its group waits for it on the queue.
    assert_eq!(handler.begun(), ["A1", "B1"]);
    assert_eq!(queue.left(), [("A1", 1), ("A2", 1)]);
}

// Rule 5.12: a group on a standard queue is a fair queue's tenant, and has no order.
#[tokio::test(start_paused = true)]
async fn a_group_on_a_standard_queue_changes_nothing() {
    let api = Scripted::new();
    let handler = failing(HandlerKind::Single, SECOND, &[("A1", 1)]);
    let mut messages = batch(&["A1", "A2", "A3"]);
    for received in &mut messages {
        received.message.group_id = Some("A".into());
    }
    api.will_receive(messages);
    play(&api, &handler, subscription(3), SECOND * 5).await;
    assert_eq!(handler.most.load(Relaxed), 3);
    assert_eq!(deletes(&api), ["A2", "A3"]);
}
