//! Versions that change while messages flow.

use tokio::sync::watch;

use super::*;
use crate::sqs::Received;

/// Serves what was put into it last.
pub(super) struct Switch {
    serving: Mutex<Serving>,
    number: watch::Sender<u64>,
}

impl Switch {
    /// With this as version 1.
    pub(super) fn new(handler: &Arc<Native>, subscription: &SqsSubscription) -> Arc<Self> {
        Arc::new(Self {
            serving: Mutex::new(Serving {
                version: 1,
                handler: handler.clone(),
                subscription: Arc::new(subscription.clone()),
            }),
            number: watch::Sender::new(1),
        })
    }

    /// Another handler, by the same settings.
    pub(super) fn to(&self, handler: &Arc<Native>) {
        let mut serving = self.serving.lock().unwrap();
        serving.version += 1;
        serving.handler = handler.clone();
        let version = serving.version;
        drop(serving);
        self.number.send_replace(version);
    }
}

impl Live for Switch {
    fn now(&self) -> Serving {
        self.serving.lock().unwrap().clone()
    }

    fn versions(&self) -> watch::Receiver<u64> {
        self.number.subscribe()
    }
}

/// Plays what these receives bring, with `first`; in the middle of its first call the other comes in.
async fn switched(
    receives: &[&[&str]],
    own: SqsSubscription,
    first: &Arc<Native>,
    second: &Arc<Native>,
) -> Arc<Scripted> {
    let api = Scripted::new();
    for ids in receives {
        let received = ids.iter().map(|id| in_group_a(id));
        api.will_receive(received.collect());
    }
    let switch = Switch::new(first, &own);
    let (sqs, live): (Arc<dyn SqsApi>, Arc<dyn Live>) = (api.clone(), switch.clone());
    let observer = Observer::of_a_test();
    let playing = play_live(sqs, None, live, own.clone(), SECOND * 60, observer);
    let switching = async {
        tokio::time::sleep(first.takes / 2).await;
        switch.to(second);
    };
    tokio::join!(playing, switching);
    api
}

fn in_group_a(id: &str) -> Received {
    let mut received = message(id);
    received.message.group_id = Some("A".into());
    received
}

fn acks(kind: HandlerKind) -> Arc<Native> {
    Native::new(kind, SECOND, |_| Ok(Outcome::Ack))
}

// Rule 8.3: a message begun on the old version ends on it, the next one starts on the new.
#[tokio::test(start_paused = true)]
async fn a_message_ends_on_the_version_that_it_began_on() {
    let (old, new) = (acks(HandlerKind::Single), acks(HandlerKind::Single));
    let api = switched(&[&["1", "2", "3"]], subscription(1), &old, &new).await;
    assert_eq!(old.begun(), ["1"]);
    assert_eq!(new.begun(), ["2", "3"]);
    assert_eq!(deletes(&api), ["1", "2", "3"]);
}

// Rule 8.3: not even a version of the other kind loses a message.
#[tokio::test(start_paused = true)]
async fn a_version_of_the_other_kind_handles_what_was_received_for_the_old_one() {
    let (old, new) = (acks(HandlerKind::Single), acks(HandlerKind::Batch));
    let api = switched(&[&["1", "2", "3"]], subscription(1), &old, &new).await;
    assert_eq!(new.begun(), ["2", "3"], "batches of one");
    assert_eq!(deletes(&api), ["1", "2", "3"]);

    let (old, new) = (acks(HandlerKind::Batch), acks(HandlerKind::Single));
    let api = switched(&[&["1"], &["2", "3"]], subscription(1), &old, &new).await;
    assert_eq!(new.begun(), ["2", "3"], "one after the other");
    assert_eq!(deletes(&api), ["1", "2", "3"]);
}

// Rule 5.12: nor does it break the order of a group.
#[tokio::test(start_paused = true)]
async fn a_batch_taken_apart_is_left_at_the_first_that_stays() {
    let old = acks(HandlerKind::Batch);
    let new = Native::new(HandlerKind::Single, SECOND, |one| match one.id_or_dash() {
        "2" => Ok(Outcome::Retry),
        _ => Ok(Outcome::Ack),
    });
    let mut own = subscription(1);
    own.queue = "q.fifo".parse().unwrap();
    let api = switched(&[&["1"], &["2", "3"]], own, &old, &new).await;
    assert_eq!(new.begun(), ["2"]);
    assert_eq!(deletes(&api), ["1"]);
    let back: Vec<_> = put_backs(&api).into_iter().map(|(id, _)| id).collect();
    assert_eq!(back, ["2", "3"]);
}
