//! A handler that keeps failing, and what its subscription receives meanwhile.

use tokio::time::Instant;

use super::live::Switch;
use super::*;
use crate::observe::{CircuitState, Count};

/// One worker's subscription, whose circuit opens after so many failures, for five seconds and
/// twenty at most.
fn breaking(after: u32) -> SqsSubscription {
    let mut own = subscription(1);
    own.circuit.after = after;
    own.circuit.pause = SECOND * 5;
    own.circuit.max_pause = SECOND * 20;
    own
}

fn trap() -> Answer {
    Err(Failure::new(Reason::Trap, "unreachable"))
}

fn traps(kind: HandlerKind) -> Arc<Native> {
    Native::new(kind, SECOND / 10, |_| trap())
}

/// When each receive began, in whole seconds from the first, and how much it asked for.
fn receives(api: &Scripted) -> Vec<(u64, u8)> {
    let began = api.began();
    let since = began.iter().map(|at| (*at - began[0]).as_secs());
    since.zip(api.asked()).collect()
}

/// The circuit of a subscription before its end.
async fn seen_after(observer: &Observer, wait: Duration) -> CircuitState {
    tokio::time::sleep(wait).await;
    observer.circuit().now()
}

// Rules 8.7 and 7.3.
#[tokio::test(start_paused = true)]
async fn a_handler_that_keeps_failing_is_given_one_message_after_ever_longer_pauses() {
    let (api, handler) = (Scripted::new(), traps(HandlerKind::Single));
    api.will_receive(batch(&["a", "b", "c"]));
    for id in ["d", "e", "f", "g", "h", "i"] {
        api.will_receive(batch(&[id]));
    }
    let (observer, begun) = (Observer::of_a_test(), Instant::now());
    let (ended, seen) = tokio::join!(
        play_before(&api, &handler, breaking(3), SECOND * 60, observer.clone()),
        seen_after(&observer, SECOND * 59),
    );
    // The second receive had begun before the third message failed, and what it brought is handled.
    let expected = [(0, 10), (0, 10), (5, 1), (15, 1), (35, 1), (55, 1)];
    assert_eq!(receives(&api), expected);
    assert_eq!(handler.begun(), ["a", "b", "c", "d", "e", "f", "g", "h"]);
    assert_eq!(observer.counters().get(Count::CircuitOpened), 5);
    assert!(matches!(seen, CircuitState::Open { .. }), "{seen:?}");
    // Nor does it hold up the stop.
    assert_eq!(ended, Ended { left: 0 });
    assert!(begun.elapsed() < SECOND * 61, "{:?}", begun.elapsed());
}

// Rule 8.7: one message that fails again and again is that message's fault, and what is retried,
// dropped or given up is no failure.
#[tokio::test(start_paused = true)]
async fn only_different_messages_that_fail_open_a_circuit() {
    let handler = Native::new(HandlerKind::Single, SECOND / 10, |one| {
        match one.id_or_dash() {
            "retried" => Ok(Outcome::Retry),
            "later" => Ok(Outcome::RetryAfter(SECOND)),
            "dropped" => Ok(Outcome::Drop),
            _ => trap(),
        }
    });
    let api = Scripted::new();
    for ids in [["a", "retried"], ["b", "later"], ["c", "dropped"]] {
        api.will_receive(batch(&ids));
    }
    let comes_again_and_again = async {
        for _ in 0..5 {
            tokio::time::sleep(SECOND * 2).await;
            api.will_receive(batch(&["d"]));
        }
    };
    let observer = Observer::of_a_test();
    tokio::join!(
        play_before(&api, &handler, breaking(2), SECOND * 15, observer.clone()),
        comes_again_and_again
    );
    assert_eq!(handler.begun().len(), 11);
    assert_eq!(observer.counters().get(Count::CircuitOpened), 0);
}

// Rules 8.7 and 5.5: a target that takes no replies burns receives like a handler that fails.
#[tokio::test(start_paused = true)]
async fn replies_that_cannot_be_sent_open_the_circuit_and_one_that_is_closes_it() {
    let handler = Native::new(HandlerKind::Single, SECOND / 10, |_| Ok(replies(&["one"])));
    let api = Scripted::new();
    for _ in 0..2 {
        api.will_fail_to_send(ErrorClass::Refused);
    }
    api.will_receive(batch(&["a", "b"]));
    let mut own = breaking(2);
    own.reply = Some("events".parse::<TargetRef>().unwrap());
    let observer = Observer::of_a_test();
    let arrives = async {
        let open = seen_after(&observer, SECOND).await;
        assert!(matches!(open, CircuitState::Open { .. }), "{open:?}");
        tokio::time::sleep(SECOND * 24).await;
        api.will_receive(batch(&["c"]));
        seen_after(&observer, SECOND).await
    };
    let (_, seen) = tokio::join!(
        play_before(&api, &handler, own, SECOND * 30, observer.clone()),
        arrives
    );
    assert_eq!(seen, CircuitState::Closed);
    assert_eq!(deletes(&api), ["c"]);
    assert_eq!(observer.counters().get(Count::CircuitOpened), 1);
}

// Rule 8.7: of a batch handler too, and with many workers: one message, and nothing more until it
// is answered.
#[tokio::test(start_paused = true)]
async fn a_half_open_circuit_receives_one_message_and_waits_for_its_answer() {
    for kind in [HandlerKind::Batch, HandlerKind::Single] {
        let handler = Native::new(kind, SECOND * 3, |one| match one.id_or_dash() {
            "probe" => Ok(Outcome::Ack),
            _ => trap(),
        });
        let api = Scripted::new();
        api.will_receive(batch(&["a", "b", "c", "d"]));
        let mut own = breaking(4);
        own.workers = NonZeroUsize::new(4).unwrap();
        let observer = Observer::of_a_test();
        let arrives = async {
            // Long after the second receive, which was open when the circuit opened, has ended.
            tokio::time::sleep(SECOND * 45).await;
            api.will_receive(batch(&["probe"]));
            seen_after(&observer, SECOND).await
        };
        let (_, seen) = tokio::join!(
            play_before(&api, &handler, own, SECOND * 60, observer.clone()),
            arrives
        );
        assert_eq!(seen, CircuitState::HalfOpen, "{kind:?}");
        // The first probe was empty, and so it is tried again.
        let expected = [(0, 10), (0, 10), (20, 1), (40, 1), (48, 10)];
        assert_eq!(receives(&api), expected, "{kind:?}");
        assert_eq!(deletes(&api), ["probe"], "{kind:?}");
        assert_eq!(observer.counters().get(Count::CircuitOpened), 1);
    }
}

// Rule 8.7: a reload closes it at once, and what the old version still says opens it no more.
#[tokio::test(start_paused = true)]
async fn another_version_closes_the_circuit_at_once() {
    let api = Scripted::new();
    let slow = Native::new(HandlerKind::Single, SECOND, |_| trap());
    let good = Native::new(HandlerKind::Single, SECOND, |_| Ok(Outcome::Ack));
    api.will_receive(batch(&["a", "b", "c"]));
    for id in ["d", "e", "f"] {
        api.will_receive(batch(&[id]));
    }
    let (own, observer) = (breaking(2), Observer::of_a_test());
    let switch = Switch::new(&slow, &own);
    let (sqs, live): (Arc<dyn SqsApi>, Arc<dyn Live>) = (api.clone(), switch.clone());
    let switching = async {
        // The circuit opens at the second; the third and the fourth message are here by then, and
        // the fourth is under way now.
        tokio::time::sleep(SECOND * 7 / 2).await;
        assert!(matches!(
            observer.circuit().now(),
            CircuitState::Open { .. }
        ));
        assert_eq!(api.receives(), 2);
        switch.to(&good);
        tokio::task::yield_now().await;
        seen_after(&observer, SECOND / 10).await
    };
    let playing = play_live(sqs, None, live, own.clone(), SECOND * 20, observer.clone());
    let (_, seen) = tokio::join!(playing, switching);
    assert_eq!(seen, CircuitState::Closed);
    assert_eq!(receives(&api)[2], (3, 10), "{:?}", receives(&api));
    assert_eq!(slow.begun(), ["a", "b", "c", "d"]);
    assert_eq!(good.begun(), ["e", "f"]);
    assert_eq!(deletes(&api), ["e", "f"]);
    assert_eq!(observer.counters().get(Count::CircuitOpened), 1);
}

// Rules 8.7 and 4.4: a message that is tried and never begun leaves the circuit half-open.
#[tokio::test(start_paused = true)]
async fn a_probe_that_no_handler_is_given_is_followed_by_another() {
    let handler = Native::new(HandlerKind::Single, SECOND / 10, |one| {
        match one.id_or_dash() {
            "a" => trap(),
            _ => Ok(Outcome::Ack),
        }
    });
    let api = Scripted::new();
    api.will_receive(batch(&["a"]));
    let arrives = async {
        // The receive that was open when the circuit opened has ended by then.
        tokio::time::sleep(SECOND * 25).await;
        let mut nameless = message("x");
        nameless.handle = None;
        api.will_receive(vec![nameless]);
        tokio::time::sleep(SECOND * 5).await;
        api.will_receive(batch(&["b"]));
    };
    tokio::join!(play(&api, &handler, breaking(1), SECOND * 35), arrives);
    assert_eq!(handler.begun(), ["a", "b"]);
    assert_eq!(api.asked(), [10, 10, 1, 1, 10]);
}

// Rules 8.7 and 5.12: groups in order, whatever the circuit does.
#[tokio::test(start_paused = true)]
async fn the_circuit_of_a_fifo_queue_lets_one_message_of_one_group_through() {
    let begun = Instant::now();
    let handler = Native::new(HandlerKind::Single, SECOND / 10, move |_| {
        match begun.elapsed() < SECOND * 24 {
            true => trap(),
            false => Ok(Outcome::Ack),
        }
    });
    let api = Scripted::new();
    let in_group = |id: &str, group: &str| {
        let mut received = message(id);
        received.message.group_id = Some(group.into());
        received
    };
    api.will_receive(vec![
        in_group("a1", "A"),
        in_group("a2", "A"),
        in_group("b1", "B"),
        in_group("c1", "C"),
    ]);
    let mut own = breaking(3);
    own.queue = "q.fifo".parse().unwrap();
    let observer = Observer::of_a_test();
    let sqs: Arc<dyn SqsApi> = api.clone();
    let arrives = async {
        // The receive that was open when the circuit opened ends at 20.
        for (at, id, group) in [(22, "a1", "A"), (35, "b1", "B"), (36, "a2", "A")] {
            tokio::time::sleep_until(begun + SECOND * at).await;
            api.will_receive(vec![in_group(id, group)]);
        }
    };
    tokio::join!(
        play_on(sqs, Some(9), &handler, own, SECOND * 50, observer.clone()),
        arrives
    );
    assert_eq!(handler.begun(), ["a1", "b1", "c1", "a1", "b1", "a2"]);
    assert_eq!(deletes(&api), ["b1", "a2"]);
    assert_eq!(observer.counters().get(Count::CircuitOpened), 2);
}
