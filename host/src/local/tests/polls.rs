use crate::local::engine::attribute::Attributes;
use crate::local::engine::message::{Content, Delivery, Outgoing};
use crate::local::engine::refusal::{Kind, Refusal};
use crate::local::engine::{AttributeMap, Tags, limits};
use crate::local::hub::{Hub, Receive};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;

fn hub() -> Arc<Hub> {
    let hub = Hub::new(7);
    create(&hub, "q", &[]);
    Arc::new(hub)
}

fn create(hub: &Hub, name: &str, attributes: &[(&str, &str)]) {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let attributes: AttributeMap = attributes.iter().map(owned).collect();
    hub.with(|engine, now| engine.create(now, name, &attributes, Tags::new()))
        .unwrap();
}

fn send(hub: &Hub, body: &str, delay: u32) {
    let content = Content::new(body.to_owned(), Attributes::new(), None, None).unwrap();
    let outgoing = Outgoing {
        delay: Some(delay),
        ..Outgoing::new(content, None).unwrap()
    };
    hub.with(|engine, now| engine.send(now, "q", &outgoing))
        .unwrap();
}

fn wanted(most: usize, visibility: u32, wait: u32) -> Receive {
    Receive {
        most,
        visibility: Some(visibility),
        wait: Some(wait),
        attempt: None,
    }
}

type Outcome = (Result<Vec<String>, Refusal>, Duration);

fn bodies(deliveries: Vec<Delivery>) -> Vec<String> {
    deliveries
        .into_iter()
        .map(|delivery| delivery.message.content.body.clone())
        .collect()
}

/// A receive that waits in a task of its own; what it got, and how long it took.
async fn poll(hub: &Arc<Hub>, most: usize, wait: u32) -> JoinHandle<Outcome> {
    let hub = hub.clone();
    let started = Instant::now();
    let task = tokio::spawn(async move {
        let got = hub.receive("q", wanted(most, 30, wait), || true).await;
        (got.map(bodies), started.elapsed())
    });
    tokio::task::yield_now().await;
    task
}

/// A receive that does not wait.
async fn take(hub: &Hub, visibility: u32) -> Vec<Delivery> {
    hub.receive("q", wanted(10, visibility, 0), || true)
        .await
        .unwrap()
}

fn got(bodies: &[&str]) -> Result<Vec<String>, Refusal> {
    Ok(bodies.iter().map(|body| (*body).to_owned()).collect())
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn an_empty_poll_returns_after_its_wait() {
    let hub = hub();
    let poll = poll(&hub, 1, 20).await;
    assert_eq!(poll.await.unwrap(), (got(&[]), 20 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn a_poll_that_does_not_say_how_long_waits_as_long_as_the_queue_says() {
    let hub = hub();
    create(&hub, "patient", &[("ReceiveMessageWaitTimeSeconds", "7")]);
    let unsaid = Receive {
        wait: None,
        ..wanted(1, 30, 0)
    };
    for (name, seconds) in [("q", 0), ("patient", 7)] {
        let started = Instant::now();
        assert!(
            hub.receive(name, unsaid.clone(), || true)
                .await
                .unwrap()
                .is_empty()
        );
        assert_eq!(started.elapsed(), seconds * SECOND);
    }
}

#[tokio::test(start_paused = true)]
async fn a_poll_wakes_at_once_for_a_sent_message() {
    let hub = hub();
    let poll = poll(&hub, 10, 20).await;
    tokio::time::advance(3 * SECOND).await;
    send(&hub, "a", 0);
    assert_eq!(poll.await.unwrap(), (got(&["a"]), 3 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn a_poll_wakes_at_the_deadline_of_a_delayed_and_of_a_hidden_message() {
    let hub = hub();
    send(&hub, "a", 2);
    let first = poll(&hub, 10, 20).await;
    assert_eq!(first.await.unwrap(), (got(&["a"]), 2 * SECOND));
    let second = poll(&hub, 10, 20).await;
    tokio::time::sleep(20 * SECOND).await;
    assert_eq!(second.await.unwrap(), (got(&[]), 20 * SECOND));
    let third = poll(&hub, 10, 20).await;
    assert_eq!(third.await.unwrap(), (got(&["a"]), 10 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn a_poll_wakes_when_a_message_is_given_back_or_its_deadline_comes_nearer() {
    let hub = hub();
    for (seconds, waited) in [(0, 1), (4, 5)] {
        send(&hub, "a", 0);
        let handle = take(&hub, 600).await.remove(0).handle;
        let poll = poll(&hub, 10, 20).await;
        tokio::time::advance(SECOND).await;
        let changed = hub.with(|engine, now| engine.change_visibility(now, "q", &handle, seconds));
        assert_eq!(changed, Ok(()));
        assert_eq!(poll.await.unwrap(), (got(&["a"]), waited * SECOND));
        hub.with(|engine, now| engine.delete(now, "q", &handle))
            .unwrap();
        tokio::time::advance(60 * SECOND).await;
        for delivery in take(&hub, 30).await {
            hub.with(|engine, now| engine.delete(now, "q", &delivery.handle))
                .unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn who_waited_first_is_served_first() {
    let hub = hub();
    let first = poll(&hub, 1, 20).await;
    let second = poll(&hub, 1, 20).await;
    let third = poll(&hub, 1, 20).await;
    send(&hub, "a", 0);
    // One that comes now finds a message, but it is spoken for.
    assert!(take(&hub, 30).await.is_empty());
    send(&hub, "b", 0);
    assert_eq!(first.await.unwrap().0, got(&["a"]));
    assert_eq!(second.await.unwrap().0, got(&["b"]));
    assert_eq!(third.await.unwrap(), (got(&[]), 20 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn one_batch_wakes_as_many_polls_as_it_has_messages_for() {
    let hub = hub();
    let polls = [
        poll(&hub, 2, 20).await,
        poll(&hub, 2, 20).await,
        poll(&hub, 2, 20).await,
    ];
    for body in ["a", "b", "c"] {
        send(&hub, body, 0);
    }
    let [first, second, third] = polls;
    assert_eq!(first.await.unwrap(), (got(&["a", "b"]), Duration::ZERO));
    assert_eq!(second.await.unwrap(), (got(&["c"]), Duration::ZERO));
    assert_eq!(third.await.unwrap(), (got(&[]), 20 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_poll_takes_nothing_even_when_it_was_woken_already() {
    let hub = hub();
    let dropped = poll(&hub, 1, 20).await;
    let next = poll(&hub, 1, 20).await;
    send(&hub, "a", 0);
    dropped.abort();
    assert_eq!(next.await.unwrap(), (got(&["a"]), Duration::ZERO));
    assert!(dropped.await.unwrap_err().is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn the_next_poll_keeps_the_watch_when_the_first_is_dropped() {
    let hub = hub();
    send(&hub, "a", 5);
    let dropped = poll(&hub, 1, 20).await;
    let next = poll(&hub, 1, 20).await;
    dropped.abort();
    assert_eq!(next.await.unwrap(), (got(&["a"]), 5 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn a_poll_whose_client_is_gone_leaves_the_message_to_the_next() {
    let hub = hub();
    let there = Cell::new(true);
    let gone = hub.receive("q", wanted(1, 30, 20), || there.get());
    let next = async {
        tokio::task::yield_now().await;
        let next = poll(&hub, 1, 20).await;
        there.set(false);
        send(&hub, "a", 0);
        next.await.unwrap()
    };
    let (gone, next) = tokio::join!(gone, next);
    assert!(gone.unwrap().is_empty());
    assert_eq!(next, (got(&["a"]), Duration::ZERO));
    send(&hub, "b", 0);
    let never_there = hub.receive("q", wanted(1, 30, 0), || false).await;
    assert!(never_there.unwrap().is_empty());
    assert_eq!(take(&hub, 30).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn polls_of_a_deleted_queue_end_with_that_even_if_it_is_made_anew() {
    let hub = hub();
    let polls = [poll(&hub, 1, 20).await, poll(&hub, 1, 20).await];
    hub.with(|engine, _| engine.delete_queue("q")).unwrap();
    create(&hub, "q", &[]);
    send(&hub, "a", 0);
    for poll in polls {
        let (outcome, waited) = poll.await.unwrap();
        assert_eq!(outcome.unwrap_err().kind, Kind::QueueDoesNotExist);
        assert_eq!(waited, Duration::ZERO);
    }
    assert_eq!(take(&hub, 30).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_poll_wakes_when_a_dead_letter_arrives() {
    let hub = hub();
    let policy =
        r#"{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:q","maxReceiveCount":1}"#;
    create(&hub, "source", &[("RedrivePolicy", policy)]);
    let content = Content::new("a".to_owned(), Attributes::new(), None, None).unwrap();
    let outgoing = Outgoing::new(content, None).unwrap();
    hub.with(|engine, now| engine.send(now, "source", &outgoing))
        .unwrap();
    let poll = poll(&hub, 1, 20).await;
    for delivered in [1, 0] {
        let got = hub
            .receive("source", wanted(1, 0, 0), || true)
            .await
            .unwrap();
        assert_eq!(got.len(), delivered);
    }
    assert_eq!(poll.await.unwrap(), (got(&["a"]), Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn ended_polls_return_at_once_and_later_ones_do_not_wait() {
    let hub = hub();
    let open = poll(&hub, 1, 20).await;
    hub.end_polls();
    assert_eq!(open.await.unwrap(), (got(&[]), Duration::ZERO));
    let later = poll(&hub, 1, 20).await;
    assert_eq!(later.await.unwrap(), (got(&[]), Duration::ZERO));
    send(&hub, "a", 0);
    assert_eq!(take(&hub, 30).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn at_the_limit_of_messages_in_flight_a_poll_waits_and_a_plain_receive_is_refused() {
    let hub = hub();
    for _ in 0..=limits::IN_FLIGHT {
        send(&hub, "x", 0);
    }
    let mut last = Vec::new();
    for _ in 0..limits::IN_FLIGHT / 10 {
        last = take(&hub, 600).await;
    }
    let plain = hub.receive("q", wanted(10, 30, 0), || true).await;
    assert_eq!(plain.unwrap_err().kind, Kind::OverLimit);
    let poll = poll(&hub, 10, 20).await;
    tokio::time::advance(SECOND).await;
    hub.with(|engine, now| engine.delete(now, "q", &last[0].handle))
        .unwrap();
    assert_eq!(poll.await.unwrap(), (got(&["x"]), SECOND));
}

/// Sends to the FIFO queue `f.fifo`.
fn send_in_group(hub: &Hub, body: &str, group: &str) {
    let group = Some(group.to_owned());
    let content = Content::new(body.to_owned(), Attributes::new(), None, group).unwrap();
    let outgoing = Outgoing::new(content, Some(body.to_owned())).unwrap();
    hub.with(|engine, now| engine.send(now, "f.fifo", &outgoing))
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_poll_wakes_when_a_group_comes_free_by_a_delete_or_by_a_deadline() {
    let hub = hub();
    create(&hub, "f.fifo", &[("FifoQueue", "true")]);
    for body in ["1", "2", "3"] {
        send_in_group(&hub, body, "g");
    }
    let one = wanted(1, 30, 0);
    let got = hub.receive("f.fifo", one.clone(), || true).await.unwrap();
    let waiting = Receive {
        wait: Some(20),
        ..wanted(1, 7, 0)
    };
    let patient = {
        let (hub, waiting) = (hub.clone(), waiting.clone());
        tokio::spawn(async move { hub.receive("f.fifo", waiting, || true).await.map(bodies) })
    };
    tokio::task::yield_now().await;
    hub.with(|engine, now| engine.delete(now, "f.fifo", &got[0].handle))
        .unwrap();
    assert_eq!(patient.await.unwrap(), self::got(&["2"]));
    let started = Instant::now();
    let again = hub.receive("f.fifo", waiting, || true).await.map(bodies);
    assert_eq!((again, started.elapsed()), (self::got(&["2"]), 7 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn a_poll_wakes_when_a_move_task_brings_a_message() {
    let hub = hub();
    create(&hub, "dead", &[]);
    let policy =
        r#"{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":1}"#;
    create(&hub, "source", &[("RedrivePolicy", policy)]);
    let content = Content::new("a".to_owned(), Attributes::new(), None, None).unwrap();
    let outgoing = Outgoing::new(content, None).unwrap();
    let arn = |name: &str| format!("arn:aws:sqs:us-east-1:000000000000:{name}");
    hub.with(|engine, now| {
        for _ in 0..2 {
            engine.send(now, "dead", &outgoing).unwrap();
        }
        let to = arn("q");
        engine.start_move(now, &arn("dead"), Some(to.as_str()), Some(1))
    })
    .unwrap();
    assert_eq!(take(&hub, 60).await.len(), 1);
    let poll = poll(&hub, 1, 20).await;
    assert_eq!(poll.await.unwrap(), (got(&["a"]), SECOND));
}
