//! A whole subscription against a scripted SQS, with a handler that is no guest.

mod circuit;
mod fifo;
mod live;
mod lost;
mod retired;
mod settling;

use std::num::{NonZeroU8, NonZeroUsize};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::*;
use crate::Shutdown;
use crate::config::{HostConfig, MountFile, PluginSettings, SqsSubscription, TargetRef, resolve};
use crate::error::ErrorClass;
use crate::handler::{
    Answer, Call, Failure, Handler, HandlerKind, Handling, Outcome, Reason, Reply, SqsMessage,
};
use crate::observe::Observer;
use crate::sqs::scripted::{Made, Scripted, message};
use crate::sqs::{Finished, OpenQueue, Publisher, QueueState, QueueUrl, SqsApi, Target};

const SECOND: Duration = Duration::from_secs(1);

type Answers = dyn Fn(&SqsMessage) -> Answer + Send + Sync;

/// Answers by a closure, after a while.
struct Native {
    kind: HandlerKind,
    takes: Duration,
    answers: Arc<Answers>,
    begun: Mutex<Vec<String>>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Native {
    fn new(
        kind: HandlerKind,
        takes: Duration,
        answers: impl Fn(&SqsMessage) -> Answer + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            kind,
            takes,
            answers: Arc::new(answers),
            begun: Mutex::default(),
            running: Arc::default(),
            most: Arc::default(),
        })
    }

    fn begun(&self) -> Vec<String> {
        self.begun.lock().unwrap().clone()
    }
}

impl Handler for Native {
    fn kind(&self) -> HandlerKind {
        self.kind
    }

    fn handle(&self, call: Call, message: Arc<SqsMessage>) -> Handling<Answer> {
        let batch = self.handle_batch(call, vec![message]);
        Box::pin(async move { batch.await?.remove(0) })
    }

    fn handle_batch(
        &self,
        _: Call,
        messages: Vec<Arc<SqsMessage>>,
    ) -> Handling<Result<Vec<Answer>, Failure>> {
        let ids: Vec<_> = messages.iter().map(|m| m.id_or_dash()).collect();
        self.begun.lock().unwrap().push(ids.join(" "));
        let (takes, answers) = (self.takes, Arc::clone(&self.answers));
        let (running, most) = (Arc::clone(&self.running), Arc::clone(&self.most));
        Box::pin(async move {
            most.fetch_max(running.fetch_add(1, Relaxed) + 1, Relaxed);
            tokio::time::sleep(takes).await;
            running.fetch_sub(1, Relaxed);
            Ok(messages.iter().map(|m| answers(m)).collect())
        })
    }
}

fn subscription(workers: usize) -> SqsSubscription {
    let plugin = PluginSettings {
        name: "p".into(),
        kind: HandlerKind::Single,
        descriptor: vec![("queue".into(), "q".into())],
        mount_file: None::<MountFile>,
    };
    let mut resolved = resolve(&HostConfig::default(), &[plugin]);
    let mut subscription = resolved.subscriptions.remove(0);
    subscription.visibility = Some(SECOND * 30);
    subscription.receive = NonZeroU8::new(10).unwrap();
    subscription.workers = NonZeroUsize::new(workers).unwrap();
    subscription
}

/// Runs a subscription until `for_long`, then stops it with a drain of 25 s.
async fn play(
    api: &Arc<Scripted>,
    handler: &Arc<Native>,
    subscription: SqsSubscription,
    for_long: Duration,
) -> Ended {
    let observer = Observer::of_a_test();
    play_before(api, handler, subscription, for_long, observer).await
}

/// [`play`] with an observer of the test's own.
async fn play_before(
    api: &Arc<Scripted>,
    handler: &Arc<Native>,
    subscription: SqsSubscription,
    for_long: Duration,
    observer: Observer,
) -> Ended {
    let api: Arc<dyn SqsApi> = api.clone();
    play_on(api, None, handler, subscription, for_long, observer).await
}

/// The same on any SQS, whose redrive policy allows `max_receive_count`.
async fn play_on(
    api: Arc<dyn SqsApi>,
    max_receive_count: Option<u32>,
    handler: &Arc<Native>,
    subscription: SqsSubscription,
    for_long: Duration,
    observer: Observer,
) -> Ended {
    let live = Arc::new(Serving {
        version: 1,
        handler: handler.clone(),
        subscription: Arc::new(subscription.clone()),
    });
    play_live(
        api,
        max_receive_count,
        live,
        subscription,
        for_long,
        observer,
    )
    .await
}

/// The same with versions that come and go.
async fn play_live(
    api: Arc<dyn SqsApi>,
    max_receive_count: Option<u32>,
    live: Arc<dyn Live>,
    subscription: SqsSubscription,
    for_long: Duration,
    observer: Observer,
) -> Ended {
    let queue = QueueUrl::new("http://sqs/q");
    let publisher = |target: &TargetRef| {
        let TargetRef::Queue(target) = target else {
            panic!("{target} is no queue");
        };
        let target = Target::queue(api.clone(), target.clone(), false, None);
        let publisher = Publisher::new(Some(target), Vec::new(), None, observer.clone());
        Arc::new(publisher)
    };
    let dead_letter = subscription.dead_letter.clone().map(TargetRef::from);
    let shutdown = Shutdown::default();
    let mounted = Mounted {
        live,
        queue: OpenQueue {
            url: queue,
            arn: None,
            dead_letter: None,
            create: false,
            endpoint: None,
            state: Arc::new(QueueState::new(SECOND * 30, max_receive_count)),
        },
        finished: Finished::new(),
        publisher: subscription.reply.as_ref().map(publisher),
        dead_letter: dead_letter.as_ref().map(publisher),
        subscription: Arc::new(subscription),
        api,
        observer,
    };
    let stopping = async {
        tokio::time::sleep(for_long).await;
        shutdown.stop.cancel();
        tokio::time::sleep(SECOND * 25).await;
        shutdown.deadline.cancel();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        ended = run(mounted, shutdown.clone()) => ended,
        () = stopping => unreachable!(),
    }
}

fn deletes(api: &Scripted) -> Vec<String> {
    api.made()
        .into_iter()
        .filter_map(|made| match made {
            Made::Delete(handle) => Some(handle.trim_start_matches("handle of ").to_owned()),
            _ => None,
        })
        .collect()
}

fn put_backs(api: &Scripted) -> Vec<(String, Duration)> {
    api.made()
        .into_iter()
        .filter_map(|made| match made {
            Made::Visibility(handle, delay) => {
                Some((handle.trim_start_matches("handle of ").to_owned(), delay))
            }
            _ => None,
        })
        .collect()
}

fn batch(ids: &[&str]) -> Vec<crate::sqs::Received> {
    ids.iter().map(|id| message(id)).collect()
}

// Rules 1.7 and 5.8: one worker keeps the order of the receive.
#[tokio::test(start_paused = true)]
async fn a_receive_is_taken_apart_and_handed_over_in_order() {
    let api = Scripted::new();
    let handler = Native::new(HandlerKind::Single, SECOND / 10, |_| Ok(Outcome::Ack));
    api.will_receive(batch(&["a", "b", "c"]));
    api.will_receive(batch(&["d"]));
    play(&api, &handler, subscription(1), SECOND * 5).await;
    assert_eq!(handler.begun(), ["a", "b", "c", "d"]);
    assert_eq!(deletes(&api), ["a", "b", "c", "d"]);
    assert_eq!(handler.most.load(Relaxed), 1);
}

// Rule 1.7.
#[tokio::test(start_paused = true)]
async fn as_many_messages_are_handled_at_once_as_there_are_workers() {
    let api = Scripted::new();
    let handler = Native::new(HandlerKind::Single, SECOND, |_| Ok(Outcome::Ack));
    api.will_receive(batch(&["a", "b", "c", "d", "e", "f"]));
    play(&api, &handler, subscription(4), SECOND * 5).await;
    assert_eq!(handler.most.load(Relaxed), 4);
    assert_eq!(deletes(&api).len(), 6);
}

// Rule 5.9: one call, each message settled by a call of its own.
#[tokio::test(start_paused = true)]
async fn a_batch_is_one_call_and_each_message_has_its_own_settlement() {
    let api = Scripted::new();
    let handler = Native::new(HandlerKind::Batch, SECOND, |m| match m.id_or_dash() {
        "a" => Ok(Outcome::Ack),
        "b" => Ok(Outcome::RetryAfter(SECOND * 7)),
        _ => Err(Failure::new(Reason::Decode, "no JSON")),
    });
    api.will_receive(batch(&["a", "b", "c"]));
    play(&api, &handler, subscription(1), SECOND * 5).await;
    assert_eq!(handler.begun(), ["a b c"]);
    assert_eq!(deletes(&api), ["a"]);
    let mut put_backs = put_backs(&api);
    put_backs.sort();
    assert_eq!(put_backs, [("b".into(), SECOND * 7), ("c".into(), SECOND)]);
}

// Rule 5.5.
#[tokio::test(start_paused = true)]
async fn a_reply_is_sent_before_the_message_is_deleted() {
    let api = Scripted::new();
    let handler = Native::new(HandlerKind::Single, SECOND, |_| {
        Ok(replies(&["one", "two"]))
    });
    api.will_receive(batch(&["a"]));
    let mut subscription = subscription(1);
    subscription.reply = Some("events".parse::<TargetRef>().unwrap());
    play(&api, &handler, subscription, SECOND * 5).await;
    assert_eq!(
        api.made(),
        [
            Made::SendBatch(vec!["one".into(), "two".into()]),
            Made::Delete("handle of a".into())
        ]
    );
}

// Rule 5.5.
#[tokio::test(start_paused = true)]
async fn a_reply_that_cannot_be_sent_keeps_the_message() {
    let api = Scripted::new();
    let handler = Native::new(HandlerKind::Single, SECOND, |_| {
        Ok(replies(&["one", "two"]))
    });
    api.will_receive(batch(&["a"]));
    api.will_fail_to_send(ErrorClass::Refused);
    let mut subscription = subscription(1);
    subscription.reply = Some("events".parse::<TargetRef>().unwrap());
    play(&api, &handler, subscription, SECOND * 5).await;
    assert_eq!(
        api.made(),
        [
            Made::SendBatch(vec!["one".into(), "two".into()]),
            Made::Visibility("handle of a".into(), SECOND)
        ]
    );
}

// Rule 5.5: what went out before a refusal would go out again with each retry.
#[tokio::test(start_paused = true)]
async fn no_reply_is_sent_where_a_later_one_cannot_be() {
    let api = Scripted::new();
    let handler = Native::new(HandlerKind::Single, SECOND, |_| Ok(replies(&["one", ""])));
    api.will_receive(batch(&["a"]));
    let mut subscription = subscription(1);
    subscription.reply = Some("events".parse::<TargetRef>().unwrap());
    play(&api, &handler, subscription, SECOND * 5).await;
    assert_eq!(api.made(), [Made::Visibility("handle of a".into(), SECOND)]);
}

// Rule 5.14: to the dead-letter queue with its headers and the reason, then deleted.
#[tokio::test(start_paused = true)]
async fn a_message_that_is_given_up_is_sent_to_the_dead_letter_queue_and_deleted() {
    let api = Scripted::new();
    let handler = Native::new(HandlerKind::Single, SECOND, |_| {
        Ok(Outcome::DeadLetter("no such customer".into()))
    });
    api.will_receive(batch(&["a"]));
    let mut subscription = subscription(1);
    subscription.dead_letter = Some("dead".parse().unwrap());
    play(&api, &handler, subscription, SECOND * 5).await;
    assert_eq!(
        api.made(),
        [
            Made::Send("body".into()),
            Made::Delete("handle of a".into())
        ]
    );
}

// Rule 4.4.
#[tokio::test(start_paused = true)]
async fn a_message_whose_lease_ended_while_it_waited_is_not_handled() {
    let api = Scripted::new();
    let handler = Native::new(HandlerKind::Single, SECOND * 10, |_| Ok(Outcome::Ack));
    api.will_receive(batch(&["a", "b"]));
    for _ in 0..100 {
        api.will_fail_to_change_visibility(ErrorClass::Network);
    }
    let mut subscription = subscription(1);
    subscription.visibility = Some(SECOND * 2);
    play(&api, &handler, subscription, SECOND * 30).await;
    assert_eq!(handler.begun(), ["a"]);
}

fn replies(bodies: &[&'static str]) -> Outcome {
    Outcome::Reply(
        bodies
            .iter()
            .map(|body| Reply {
                body: (*body).into(),
                ..Reply::default()
            })
            .collect(),
    )
}

// Rule 7.3: what no handler was given is released at once; a handler in flight ends.
#[tokio::test(start_paused = true)]
async fn a_stop_releases_what_waits_and_lets_handlers_end() {
    let api = Scripted::new();
    let handler = Native::new(HandlerKind::Single, SECOND * 3, |_| Ok(Outcome::Ack));
    api.will_receive(batch(&["a", "b", "c"]));
    api.will_receive(batch(&["d"]));
    let ended = play(&api, &handler, subscription(1), SECOND).await;
    assert_eq!(ended, Ended { left: 0 });
    assert_eq!(handler.begun(), ["a"]);
    assert_eq!(deletes(&api), ["a"]);
    let released: Vec<_> = api
        .made()
        .into_iter()
        .filter_map(|made| match made {
            Made::VisibilityBatch(entries) => Some(entries.len()),
            _ => None,
        })
        .collect();
    assert_eq!(released, [2, 1]);
    assert_eq!(
        api.made().last(),
        Some(&Made::Delete("handle of a".into())),
        "the release did not wait for the handler"
    );
}

// Rule 7.3: a handler that the deadline finds is interrupted, and its message released.
#[tokio::test(start_paused = true)]
async fn the_drain_deadline_interrupts_a_handler_and_releases_its_message() {
    let api = Scripted::new();
    let handler = Native::new(HandlerKind::Single, SECOND * 3600, |_| Ok(Outcome::Ack));
    api.will_receive(batch(&["a"]));
    let ended = play(&api, &handler, subscription(1), SECOND).await;
    assert_eq!(ended, Ended { left: 1 });
    assert_eq!(deletes(&api), Vec::<String>::new());
    assert_eq!(
        api.made().last(),
        Some(&Made::VisibilityBatch(vec![(
            "handle of a".into(),
            Duration::ZERO
        )]))
    );
}

// Rule 7.3: what was handled and cannot be deleted is nobody's to handle again so soon.
#[tokio::test(start_paused = true)]
async fn a_handled_message_whose_delete_fails_is_not_released_at_the_deadline() {
    let api = Scripted::new();
    let handler = Native::new(HandlerKind::Single, SECOND, |_| Ok(Outcome::Ack));
    api.will_receive(batch(&["a"]));
    for _ in 0..1000 {
        api.will_fail_to_delete(ErrorClass::Throttled);
    }
    let ended = play(&api, &handler, subscription(1), SECOND * 5).await;
    assert_eq!(ended, Ended { left: 1 });
    assert_eq!(handler.begun(), ["a"]);
    let released = |made: &Made| matches!(made, Made::VisibilityBatch(_));
    assert!(!api.made().iter().any(released), "{:?}", api.made());
}

// Rule 4.1: kept while it waits for a worker, and while it is handled.
#[tokio::test(start_paused = true)]
async fn a_lease_is_kept_while_a_message_waits_and_while_it_is_handled() {
    let api = Scripted::new();
    let handler = Native::new(HandlerKind::Single, SECOND * 5, |_| Ok(Outcome::Ack));
    api.will_receive(batch(&["a", "b"]));
    let mut subscription = subscription(1);
    subscription.visibility = Some(SECOND * 2);
    play(&api, &handler, subscription, SECOND * 12).await;
    let extended = |id: &str| {
        let handle = format!("handle of {id}");
        api.made()
            .into_iter()
            .map(|made| match made {
                Made::Visibility(h, _) => usize::from(h == handle),
                Made::VisibilityBatch(entries) => {
                    entries.iter().filter(|(h, _)| *h == handle).count()
                }
                _ => 0,
            })
            .sum::<usize>()
    };
    assert_eq!((extended("a"), extended("b")), (4, 9));
    assert_eq!(handler.begun(), ["a", "b"]);
}
