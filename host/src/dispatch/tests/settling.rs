//! Messages that come twice, deletes that fail, and an SQS in trouble, seen by a whole
//! subscription.

use super::*;
use crate::error::Remedy;
use crate::observe::{Count, Event, Ready, Source};
use crate::sqs::QueueAttributes;
use crate::sqs::scripted::{Entry, On, Say, message_under};

fn acks(takes: Duration) -> Arc<Native> {
    Native::new(HandlerKind::Single, takes, |_| Ok(Outcome::Ack))
}

/// Has SQS hand these out at their times, counted from now.
async fn hand_out(api: &Scripted, at: &[(Duration, crate::sqs::Received)]) {
    let begun = tokio::time::Instant::now();
    for (after, received) in at {
        tokio::time::sleep_until(begun + *after).await;
        api.will_receive(vec![received.clone()]);
    }
}

/// The lines that a person sees of receives: each change of state, by what is to be done.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn observer(&self) -> Observer {
        let lines = Arc::clone(&self.0);
        let source = Source {
            plugin: "p".into(),
            queue: "q".into(),
        };
        let tap = move |_: &Source, _: Option<&_>, event: &Event<'_>| {
            let line = match event {
                Event::ReceiveFailed {
                    error,
                    still: false,
                    ..
                } => format!("{error}{}", error.remedy().advice()),
                Event::ReceiveRecovered => "receives again".into(),
                _ => return,
            };
            lines.lock().unwrap().push(line);
        };
        Observer::new(source, Some(Arc::new(tap)))
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

// Rules 5.11 and 5.13: received again after its handler ended and before its delete.
#[tokio::test(start_paused = true)]
async fn a_message_received_again_before_its_delete_is_handled_once_and_deleted_by_both_handles() {
    let api = Scripted::new();
    let handler = acks(SECOND);
    api.will_say(On::Delete, Say::Late(SECOND));
    let again = [
        (Duration::ZERO, message("a")),
        (SECOND * 3 / 2, message_under("a", "newer")),
    ];
    let play = play(&api, &handler, subscription(2), SECOND * 10);
    tokio::join!(play, hand_out(&api, &again));
    assert_eq!(handler.begun(), ["a"]);
    assert_eq!(deletes(&api), ["a", "newer"]);
    assert_eq!(api.made().len(), 2);
}

// Rule 5.11: handled, its delete fails, it comes again.
#[tokio::test(start_paused = true)]
async fn a_message_whose_delete_failed_is_deleted_and_not_handled_when_it_comes_again() {
    for code in ["ReceiptHandleIsInvalid", "SomethingNew"] {
        let api = Scripted::new();
        let handler = acks(SECOND);
        // More than the tries that a refusal is given.
        for _ in 0..100 {
            api.will_say(On::Delete, Say::Code(code, ""));
        }
        let again = [
            (Duration::ZERO, message("a")),
            (SECOND * 60, message_under("a", "again")),
        ];
        let mended = async {
            tokio::time::sleep(SECOND * 50).await;
            api.will_do(On::Delete);
        };
        let play = play(&api, &handler, subscription(1), SECOND * 90);
        tokio::join!(play, mended, hand_out(&api, &again));
        assert_eq!(handler.begun(), ["a"], "{code}");
        let last = deletes(&api).pop();
        assert_eq!(last.as_deref(), Some("again"), "{code}");
    }
}

// Rule 5.13: a redelivery while the first copy still runs.
#[tokio::test(start_paused = true)]
async fn a_message_that_is_being_handled_is_not_handled_beside_that() {
    let api = Scripted::new();
    let handler = acks(SECOND * 5);
    let again = [
        (Duration::ZERO, message("a")),
        (SECOND, message_under("a", "second")),
        (SECOND * 2, message_under("a", "third")),
    ];
    let mut subscription = subscription(4);
    subscription.visibility = Some(SECOND * 4);
    subscription.prefetch = false;
    let play = play(&api, &handler, subscription, SECOND * 60);
    tokio::join!(play, hand_out(&api, &again));
    assert_eq!(handler.begun(), ["a"]);
    assert_eq!(
        api.made(),
        [
            Made::Visibility("third".into(), SECOND * 4),
            Made::Delete("third".into())
        ],
        "extended and settled with the newest handle, and nothing after"
    );
    // No place leaked: four workers, one of them busy.
    assert!(api.asked().iter().skip(1).all(|asked| *asked >= 3));
}

// Rules 5.2 and 5.13: a receive of a message that is held counts like any other.
#[tokio::test(start_paused = true)]
async fn a_drop_on_a_last_receive_that_came_meanwhile_is_left_to_the_dead_letter_queue() {
    let api = Scripted::new();
    let handler = Native::new(HandlerKind::Single, SECOND * 5, |_| Ok(Outcome::Drop));
    let mut again = message_under("a", "second");
    again.message.receive_count = Some(2);
    let again = [(Duration::ZERO, message("a")), (SECOND, again)];
    let (sqs, observer) = (api.clone(), Observer::of_a_test());
    let play = play_on(
        sqs,
        Some(2),
        &handler,
        subscription(1),
        SECOND * 20,
        observer,
    );
    tokio::join!(play, hand_out(&api, &again));
    assert_eq!(
        api.made(),
        [Made::Visibility("second".into(), Duration::ZERO)]
    );
}

// Rule 5.13: in a batch, too, a message has one handling and one settlement.
#[tokio::test(start_paused = true)]
async fn a_batch_has_a_message_once() {
    let api = Scripted::new();
    let handler = Native::new(HandlerKind::Batch, SECOND, |_| Ok(Outcome::Ack));
    api.will_receive(vec![
        message("a"),
        message("b"),
        message_under("a", "newer"),
    ]);
    play(&api, &handler, subscription(1), SECOND * 10).await;
    assert_eq!(handler.begun(), ["a b"]);
    let mut deletes = deletes(&api);
    deletes.sort();
    assert_eq!(deletes, ["b", "newer"]);
}

/// A subscription that shares its calls of settling.
fn batched(workers: usize) -> SqsSubscription {
    let mut subscription = subscription(workers);
    subscription.settle = crate::config::SettleMode::Batched;
    subscription
}

// Rule 5.10: a batch's messages settle together, and workers' messages across workers.
#[tokio::test(start_paused = true)]
async fn settlements_that_fall_together_share_a_call() {
    for (kind, workers) in [(HandlerKind::Batch, 1), (HandlerKind::Single, 4)] {
        let api = Scripted::new();
        let handler = Native::new(kind, SECOND, |m| match m.id_or_dash() {
            "c" | "d" => Ok(Outcome::Retry),
            _ => Ok(Outcome::Ack),
        });
        api.will_receive(batch(&["a", "b", "c", "d"]));
        play(&api, &handler, batched(workers), SECOND * 5).await;
        let handle = |id: &str| format!("handle of {id}");
        let made = api.made();
        assert_eq!(made.len(), 2, "{made:?}");
        let deleted = Made::DeleteBatch(vec![handle("a"), handle("b")]);
        assert!(made.contains(&deleted), "{made:?}");
        let back = |id| (handle(id), Duration::ZERO);
        let put_back = Made::VisibilityBatch(vec![back("c"), back("d")]);
        assert!(made.contains(&put_back), "{made:?}");
    }
}

// Rules 5.7 and 5.10: what waits at the stop is flushed, and an entry that failed is tried again.
#[tokio::test(start_paused = true)]
async fn a_shared_call_that_fails_in_part_at_the_stop_is_finished_before_the_end() {
    let api = Scripted::new();
    let handler = Native::new(HandlerKind::Batch, SECOND, |_| Ok(Outcome::Ack));
    api.will_receive(batch(&["a", "b"]));
    let failed = Entry::Failed {
        code: "InternalError",
        sender_fault: false,
    };
    api.will_say_of_entries(On::Delete, vec![Entry::Done, failed]);
    let ended = play(&api, &handler, batched(1), SECOND / 2).await;
    assert_eq!(ended, Ended { left: 0 });
    assert_eq!(deletes(&api), ["b"]);
}

// Rule 2.1: a receive that never answers.
#[tokio::test(start_paused = true)]
async fn after_a_receive_that_never_answers_the_next_one_brings_the_message() {
    let api = Scripted::new();
    let handler = acks(SECOND);
    api.will_answer_a_receive(Say::Hang);
    api.will_receive(batch(&["a"]));
    play(&api, &handler, subscription(1), SECOND * 40).await;
    assert_eq!(deletes(&api), ["a"]);
    let began = api.began();
    assert!(began[1] - began[0] <= SECOND * 30);
}

// Rule 2.4: denied for a minute.
#[tokio::test(start_paused = true)]
async fn a_minute_of_403_is_few_attempts_two_lines_and_mends_itself() {
    let (api, lines) = (Scripted::new(), Lines::default());
    let handler = acks(SECOND);
    for _ in 0..1000 {
        let message = "User is not authorized to perform: sqs:receivemessage";
        api.will_answer_a_receive(Say::Code("AccessDenied", message));
    }
    let observer = lines.observer();
    let readiness = Arc::clone(observer.readiness());
    let script = async {
        tokio::time::sleep(SECOND * 60).await;
        assert!(api.receives() <= 15, "{} attempts", api.receives());
        assert!(matches!(readiness.now(), Ready::No { why } if why.contains("AccessDenied")));
        api.forget_receives();
        api.will_receive(batch(&["a"]));
        tokio::time::sleep(SECOND * 70).await;
        assert!(readiness.is_ready());
    };
    let play = play_before(&api, &handler, subscription(1), SECOND * 140, observer);
    tokio::join!(play, script);
    assert_eq!(deletes(&api), ["a"]);
    let lines = lines.all();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[0].contains("sqs:ReceiveMessage"), "{}", lines[0]);
    assert_eq!(lines[1], "receives again");
}

// Rule 2.4: a clock that is wrong by an hour.
#[tokio::test(start_paused = true)]
async fn a_wrong_clock_is_named_and_what_to_do_about_it() {
    let (api, lines) = (Scripted::new(), Lines::default());
    let message = "Signature expired: 20261130T190000Z is now earlier than 20261130T195500Z";
    for _ in 0..3 {
        api.will_answer_a_receive(Say::Code("InvalidSignatureException", message));
    }
    let observer = lines.observer();
    play_before(
        &api,
        &acks(SECOND),
        subscription(1),
        SECOND * 5,
        observer.clone(),
    )
    .await;
    let lines = lines.all();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(
        lines[0].contains("set this machine's clock"),
        "{}",
        lines[0]
    );
    assert_eq!(observer.counters().get(Count::ReceiveFailed), 3);
}

// Rule 2.4: each trouble says what to do, once; being asked for less leaves a subscription ready.
#[tokio::test(start_paused = true)]
async fn each_change_of_trouble_is_one_line_of_what_to_do() {
    let (api, lines) = (Scripted::new(), Lines::default());
    let codes = [
        ("KMS.ThrottlingException", Remedy::KeyLimit),
        ("OverLimit", Remedy::InFlight),
        ("KMS.AccessDeniedException", Remedy::KeyPermission),
        ("KmsDisabled", Remedy::Key),
        ("ExpiredToken", Remedy::Renew),
        ("AWS.SimpleQueueService.NonExistentQueue", Remedy::Queue),
    ];
    for (code, _) in codes {
        for _ in 0..2 {
            api.will_answer_a_receive(Say::Code(code, ""));
        }
    }
    let observer = lines.observer();
    let readiness = Arc::clone(observer.readiness());
    let mut watch = readiness.watch();
    let handler = acks(SECOND);
    let play = play_before(&api, &handler, subscription(1), SECOND * 600, observer);
    let first_no = async {
        let no = watch.wait_for(|ready| matches!(ready, Ready::No { .. }));
        no.await.unwrap().clone()
    };
    let (_, first_no) = tokio::join!(play, first_no);
    let lines = lines.all();
    assert_eq!(lines.len(), codes.len() + 1, "{lines:#?}");
    for (line, (code, remedy)) in lines.iter().zip(codes) {
        assert!(line.ends_with(remedy.advice()), "{code}: {line}");
        assert!(!remedy.advice().is_empty());
    }
    let Ready::No { why } = first_no else {
        unreachable!()
    };
    assert!(why.contains("KMS.AccessDenied"), "{why}");
}

// Rule 1.5: a redrive policy that changes is seen, whatever visibility the mount names.
#[tokio::test(start_paused = true)]
async fn a_redrive_policy_that_comes_later_decides_what_a_drop_is() {
    let api = Scripted::new();
    let handler = Native::new(HandlerKind::Single, SECOND, |_| Ok(Outcome::Drop));
    let later = async {
        tokio::time::sleep(SECOND).await;
        api.has_attributes(QueueAttributes {
            redrive: Some(crate::sqs::RedrivePolicy {
                dead_letter: "arn:aws:sqs:eu-west-1:123456789012:dead".into(),
                max_receive_count: 1,
            }),
            ..QueueAttributes::default()
        });
        tokio::time::sleep(SECOND * 600).await;
        api.will_receive(batch(&["b"]));
    };
    api.will_receive(batch(&["a"]));
    let play = play(&api, &handler, subscription(1), SECOND * 620);
    tokio::join!(play, later);
    assert_eq!(deletes(&api), ["a"]);
    assert_eq!(put_backs(&api), [("b".into(), Duration::ZERO)]);
}

/// What a handler of 50 ms has begun after a while, of messages whose deletes take two seconds each.
async fn begun_while_deletes_take_long(
    received: Vec<crate::sqs::Received>,
    own: SqsSubscription,
    after: Duration,
) -> (Vec<String>, Vec<String>) {
    let (api, observer) = (Scripted::new(), Observer::of_a_test());
    let handler = Native::new(HandlerKind::Single, SECOND / 20, |_| Ok(Outcome::Ack));
    for messages in received.chunks(10) {
        api.will_receive(messages.to_vec());
        for _ in messages {
            api.will_say(On::Delete, Say::Late(SECOND * 2));
        }
    }
    let (_, begun) = tokio::join!(
        play_before(&api, &handler, own, SECOND * 80, observer),
        async {
            tokio::time::sleep(after).await;
            handler.begun()
        }
    );
    (begun, deletes(&api))
}

// Rules 1.7 and 5.8: a worker waits for no delete, and keeps the order.
#[tokio::test(start_paused = true)]
async fn the_next_message_is_handled_while_the_one_before_is_deleted() {
    let ids = ["a", "b", "c", "d"];
    let own = subscription(1);
    let (begun, deleted) = begun_while_deletes_take_long(batch(&ids), own, SECOND).await;
    assert_eq!(begun, ids);
    assert_eq!(deleted, ids);
}

// Rule 2.3: nor is more held than can be settled at once.
#[tokio::test(start_paused = true)]
async fn a_worker_waits_where_too_many_messages_are_being_deleted() {
    let ids: Vec<_> = (0..40).map(|n| n.to_string()).collect();
    let ids: Vec<_> = ids.iter().map(String::as_str).collect();
    for (workers, begun_at_once) in [(1, 17), (3, 21), (20, 40)] {
        let own = subscription(workers);
        let received = batch(&ids);
        let (begun, deleted) = begun_while_deletes_take_long(received, own, SECOND * 2).await;
        assert_eq!(begun.len(), begun_at_once, "{workers} workers");
        assert_eq!(deleted.len(), 40);
    }
}

// Rule 5.12: of a group the next one waits for the delete, and other groups do not.
#[tokio::test(start_paused = true)]
async fn the_next_message_of_a_group_waits_for_the_delete_of_the_one_before() {
    let in_group = |id: &str| {
        let mut received = message(id);
        received.message.group_id = Some(id[..1].into());
        received
    };
    let mut own = subscription(1);
    own.queue = "q.fifo".parse().unwrap();
    let received = ["a1", "a2", "b1"].map(in_group).to_vec();
    let (begun, deleted) = begun_while_deletes_take_long(received, own, SECOND).await;
    assert_eq!(begun, ["a1", "b1"]);
    assert_eq!(deleted, ["a1", "b1", "a2"]);
}
