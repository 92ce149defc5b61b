//! Settlements against a scripted SQS, on a paused clock.

use super::*;
use crate::observe::Count;
use crate::sqs::api::Received;
use crate::sqs::lease::LeaseKeeper;
use crate::sqs::scripted::{Entry, Made, On, Say, Scripted, message, message_under};

const SECOND: Duration = Duration::from_secs(1);

struct Rig {
    api: Arc<Scripted>,
    settler: Settler,
    leases: Arc<LeaseKeeper>,
}

fn rig() -> Rig {
    let api = Scripted::new();
    let queue = QueueUrl::new("http://sqs/q");
    let observer = Observer::of_a_test();
    let leases = LeaseKeeper::new(api.clone(), queue.clone(), observer.clone());
    tokio::spawn(Arc::clone(&leases).run());
    let settler = Settler::new(api.clone(), queue, observer, Finished::new());
    Rig {
        api,
        settler,
        leases,
    }
}

impl Rig {
    fn deliver(&self, id: &str, visibility: Duration) -> Delivery {
        self.received(message(id), visibility).expect("it is new")
    }

    fn received(&self, received: Received, visibility: Duration) -> Option<Delivery> {
        let Received { handle, message } = received;
        let handle = handle.expect("the message has a handle");
        let lease = self.leases.hold(handle, message.id.clone(), visibility)?;
        Some(Delivery::new(message, lease))
    }

    fn count(&self, count: Count) -> u64 {
        self.settler.observer.counters().get(count)
    }
}

fn delete(id: &str) -> Made {
    Made::Delete(format!("handle of {id}"))
}

fn visibility(id: &str, seconds: u64) -> Made {
    Made::Visibility(format!("handle of {id}"), SECOND * seconds as u32)
}

// Rule 4.5: no extension follows a delete that succeeded.
#[tokio::test(start_paused = true)]
async fn nothing_follows_a_delete() {
    let rig = rig();
    let delivery = rig.deliver("a", SECOND * 2);
    tokio::time::sleep(SECOND * 3 / 2).await;
    assert_eq!(rig.settler.delete(&delivery).await, Settled::Done);
    tokio::time::sleep(SECOND * 60).await;
    assert_eq!(rig.api.made(), [visibility("a", 2), delete("a")]);
}

// Rules 4.5 and 5.7: a delete that fails in passing is tried again, and the lease is kept.
#[tokio::test(start_paused = true)]
async fn a_delete_that_fails_in_passing_is_tried_again_under_a_kept_lease() {
    let rig = rig();
    let delivery = rig.deliver("a", SECOND * 2);
    for _ in 0..8 {
        rig.api.will_fail_to_delete(ErrorClass::Throttled);
    }
    assert_eq!(rig.settler.delete(&delivery).await, Settled::Done);
    let made = rig.api.made();
    assert_eq!(made.iter().filter(|m| **m == delete("a")).count(), 9);
    assert!(
        made.contains(&visibility("a", 2)),
        "extended between the tries"
    );
    assert_eq!(made.last(), Some(&delete("a")));
    assert_eq!(rig.count(Count::SettleFailed), 0);
}

// Rule 5.7: what SQS refuses is logged after a while, and the worker moves on.
#[tokio::test(start_paused = true)]
async fn a_refused_delete_is_given_up_within_the_lease() {
    let rig = rig();
    let delivery = rig.deliver("a", SECOND * 20);
    for _ in 0..1000 {
        rig.api.will_fail_to_delete(ErrorClass::Denied);
    }
    let begun = Instant::now();
    assert_eq!(rig.settler.delete(&delivery).await, Settled::Failed);
    assert!(begun.elapsed() <= SECOND * 20, "{:?}", begun.elapsed());
    assert_eq!(rig.count(Count::SettleFailed), 1);
}

// Rule 4.4: a retry is not sent with a handle that SQS does not know any more.
#[tokio::test(start_paused = true)]
async fn a_lost_handle_is_not_tried_again() {
    let rig = rig();
    let delivery = rig.deliver("a", SECOND * 2);
    rig.api
        .will_fail_to_change_visibility(ErrorClass::LostHandle);
    let settled = rig.settler.put_back(&delivery, Duration::ZERO).await;
    assert_eq!(settled, Settled::Failed);
    assert_eq!(rig.api.made().len(), 1);
}

// Rules 4.5 and 5.4: a fraction is rounded up, and the lease is kept until SQS has taken it.
#[tokio::test(start_paused = true)]
async fn a_put_back_ends_the_lease_only_once_it_succeeded() {
    let rig = rig();
    let delivery = rig.deliver("a", SECOND * 2);
    rig.api.will_fail_to_change_visibility(ErrorClass::Network);
    let delay = Duration::from_millis(6200);
    assert_eq!(rig.settler.put_back(&delivery, delay).await, Settled::Done);
    tokio::time::sleep(SECOND * 60).await;
    assert_eq!(rig.api.made(), [visibility("a", 7), visibility("a", 7)]);
}

// Rule 5.4: shortened to the end of the twelve hours.
#[tokio::test(start_paused = true)]
async fn a_delay_past_the_twelve_hours_is_shortened() {
    let rig = rig();
    let delivery = rig.deliver("a", SECOND * 30);
    let day = SECOND * 24 * 3600;
    assert_eq!(rig.settler.put_back(&delivery, day).await, Settled::Done);
    assert_eq!(rig.api.made(), [visibility("a", 12 * 3600 - 10)]);
}

// Rules 4.3 and 5.4: SQS's own word on the twelve hours shortens a delay, and loses nothing.
#[tokio::test(start_paused = true)]
async fn a_delay_that_sqs_says_is_past_the_twelve_hours_is_shortened() {
    let rig = rig();
    let delivery = rig.deliver("a", SECOND * 30);
    let said = "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]";
    for _ in 0..2 {
        let say = Say::Code("InvalidParameterValue", said);
        rig.api.will_say(On::Visibility, say);
    }
    let settled = rig.settler.put_back(&delivery, SECOND * 600).await;
    assert_eq!(settled, Settled::Done);
    let asked = [600, 30, 0].map(|seconds| visibility("a", seconds));
    assert_eq!(rig.api.made(), asked);
    assert_eq!(rig.count(Count::SettleFailed), 0);
}

// Rule 4.4: once the lease is lost an ack is still tried, and a retry is not sent.
#[tokio::test(start_paused = true)]
async fn of_a_lost_lease_only_an_ack_is_sent() {
    for code in [
        ("AWS.SimpleQueueService.MessageNotInflight", ""),
        ("ReceiptHandleIsInvalid", ""),
        (
            "InvalidParameterValue",
            "Value x for parameter ReceiptHandle is invalid. Reason: The receipt handle has \
             expired.",
        ),
    ] {
        let rig = rig();
        let (acked, retried) = (rig.deliver("a", SECOND * 2), rig.deliver("b", SECOND * 2));
        let says = vec![Say::Code(code.0, code.1); 2];
        says.into_iter()
            .for_each(|say| rig.api.will_say(On::Visibility, say));
        tokio::time::sleep(SECOND * 3 / 2).await;
        assert_eq!(rig.count(Count::LeaseLost), 2, "{code:?}");
        let before = rig.api.made().len();
        assert_eq!(rig.settler.delete(&acked).await, Settled::Done);
        let settled = rig.settler.put_back(&retried, Duration::ZERO).await;
        assert_eq!(settled, Settled::Failed);
        assert_eq!(rig.api.made()[before..], [delete("a")]);
        // Rule 5.11: that delete may have deleted nothing.
        assert!(rig.settler.finished().knows(&"a".into()));
        assert!(!rig.settler.finished().knows(&"b".into()));
    }
}

// Rules 5.11 and 5.13: received again after its handler ended and before its delete.
#[tokio::test(start_paused = true)]
async fn a_message_received_again_during_its_delete_is_deleted_with_both_handles() {
    let rig = rig();
    let delivery = rig.deliver("a", SECOND * 30);
    rig.api.will_say(On::Delete, Say::Late(SECOND));
    let again = async {
        tokio::time::sleep(SECOND / 2).await;
        let again = message_under("a", "newer");
        assert!(rig.received(again, SECOND * 30).is_none(), "it is here");
    };
    let (settled, ()) = tokio::join!(rig.settler.delete(&delivery), again);
    assert_eq!(settled, Settled::Done);
    assert_eq!(rig.api.made(), [delete("a"), Made::Delete("newer".into())]);
    drop(delivery);
    assert_eq!(rig.leases.held(), 0);
    assert_eq!(rig.count(Count::Deleted), 1);
}

// Rule 5.13: what SQS says of an older handle is no failure.
#[tokio::test(start_paused = true)]
async fn an_older_handle_that_is_refused_fails_nothing() {
    let rig = rig();
    let delivery = rig.deliver("a", SECOND * 30);
    rig.api.will_say(On::Delete, Say::Late(SECOND));
    rig.api
        .will_say(On::Delete, Say::Code("ReceiptHandleIsInvalid", ""));
    let again = async {
        for handle in ["second", "third"] {
            tokio::time::sleep(SECOND / 4).await;
            rig.received(message_under("a", handle), SECOND * 30);
        }
    };
    let (settled, ()) = tokio::join!(rig.settler.delete(&delivery), again);
    assert_eq!(settled, Settled::Failed, "the newest was refused");
    assert_eq!(rig.api.made(), [delete("a"), Made::Delete("third".into())]);
    assert!(rig.settler.finished().knows(&"a".into()));
}

// Rules 5.3 and 5.13: what is put back at once may come before SQS's answer does.
#[tokio::test(start_paused = true)]
async fn a_message_that_comes_back_before_the_answer_is_handed_out() {
    let rig = rig();
    let delivery = rig.deliver("a", SECOND * 30);
    rig.api.will_say(On::Visibility, Say::Late(SECOND));
    let again = async {
        tokio::time::sleep(SECOND / 2).await;
        rig.received(message_under("a", "newer"), SECOND * 30)
    };
    let put_back = rig.settler.put_back(&delivery, Duration::ZERO);
    let (settled, again) = tokio::join!(put_back, again);
    assert_eq!(settled, Settled::Done);
    assert_eq!(rig.api.made(), [visibility("a", 0)], "not put back twice");
    drop(delivery);
    let again = again.expect("it is to be handled");
    assert_eq!(again.lease.handle(), Some("newer".into()));
    assert!(!again.lease.is_over());
}

// Rule 5.11.
#[tokio::test(start_paused = true)]
async fn a_delete_that_failed_or_came_too_late_is_remembered_and_no_other() {
    let rig = rig();
    let [sure, failed, late] = ["sure", "failed", "late"].map(|id| rig.deliver(id, SECOND * 2));
    assert_eq!(rig.settler.delete(&sure).await, Settled::Done);
    rig.api.will_fail_to_delete(ErrorClass::LostHandle);
    assert_eq!(rig.settler.delete(&failed).await, Settled::Failed);
    late.lease.pause().await;
    tokio::time::sleep(SECOND * 2).await;
    assert_eq!(rig.settler.delete(&late).await, Settled::Done);
    let knows = |id: &str| rig.settler.finished().knows(&id.into());
    assert_eq!(
        (knows("sure"), knows("failed"), knows("late")),
        (false, true, true)
    );
}

// Rules 5.7 and 5.10: one of ten fails, by whose fault decides whether it is tried again.
#[tokio::test(start_paused = true)]
async fn nine_deletes_of_a_batch_succeed_and_the_tenth_is_handled_alone() {
    for (sender_fault, code, want, retried) in [
        (false, "InternalError", Settled::Done, true),
        (false, "SomethingNew", Settled::Done, true),
        (true, "ReceiptHandleIsInvalid", Settled::Failed, false),
        (true, "SomethingNew", Settled::Done, true),
    ] {
        let rig = rig();
        let batcher = Batcher::new(rig.api.clone(), QueueUrl::new("http://sqs/q"));
        tokio::spawn(Arc::clone(&batcher).run(Default::default()));
        let settler = rig.settler.clone().batched(batcher);
        let held: Vec<_> = (0..10)
            .map(|n| rig.deliver(&n.to_string(), SECOND * 30))
            .collect();
        let mut says = vec![Entry::Done; 10];
        says[3] = Entry::Failed { code, sender_fault };
        rig.api.will_say_of_entries(On::Delete, says);
        let ended = join_all(held.iter().map(|d| settler.delete(d))).await;
        for (n, ended) in ended.into_iter().enumerate() {
            assert_eq!(ended, if n == 3 { want } else { Settled::Done }, "{n}");
        }
        let made = rig.api.made();
        assert!(matches!(&made[0], Made::DeleteBatch(entries) if entries.len() == 10));
        assert_eq!(made.contains(&delete("3")), retried, "{code} {made:?}");
        let failed = want == Settled::Failed;
        assert_eq!(rig.settler.finished().knows(&"3".into()), failed);
    }
}

// Rule 5.10: an entry in neither list of the answer has failed, and is tried again.
#[tokio::test(start_paused = true)]
async fn an_entry_that_sqs_says_nothing_of_is_tried_again() {
    let rig = rig();
    let batcher = Batcher::new(rig.api.clone(), QueueUrl::new("http://sqs/q"));
    tokio::spawn(Arc::clone(&batcher).run(Default::default()));
    let settler = rig.settler.clone().batched(batcher);
    let (a, b) = (rig.deliver("a", SECOND * 30), rig.deliver("b", SECOND * 30));
    let says = vec![Entry::Done, Entry::Silent];
    rig.api.will_say_of_entries(On::Delete, says);
    let settled = tokio::join!(settler.delete(&a), settler.delete(&b));
    assert_eq!(settled, (Settled::Done, Settled::Done));
    assert_eq!(rig.api.made().last(), Some(&delete("b")));
}

// Rule 5.7: a delete that hangs is tried again inside the lease.
#[tokio::test(start_paused = true)]
async fn a_delete_that_hangs_is_tried_again() {
    let rig = rig();
    let delivery = rig.deliver("a", SECOND * 30);
    rig.api.will_say(On::Delete, Say::Hang);
    assert_eq!(rig.settler.delete(&delivery).await, Settled::Done);
    assert_eq!(rig.api.made(), [delete("a"), delete("a")]);
}

// Rule 7.3.
#[tokio::test(start_paused = true)]
async fn what_was_not_handed_out_is_released_ten_at_a_time() {
    let rig = rig();
    let held: Vec<_> = (0..12)
        .map(|n| rig.deliver(&n.to_string(), SECOND * 30))
        .collect();
    assert_eq!(release_all(&rig.settler, &held).await, 0);
    drop(held);
    let sizes: Vec<_> = rig
        .api
        .made()
        .iter()
        .map(|made| match made {
            Made::VisibilityBatch(entries) => {
                assert!(entries.iter().all(|(_, delay)| delay.is_zero()));
                entries.len()
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(sizes, [10, 2]);
    assert_eq!(rig.count(Count::Released), 12);
    assert_eq!(rig.leases.held(), 0);
}

// Rule 7.3: a release that is throttled is tried again.
#[tokio::test(start_paused = true)]
async fn a_release_that_fails_in_passing_is_tried_again_and_another_is_counted() {
    let rig = rig();
    let held = [rig.deliver("a", SECOND * 30)];
    rig.api
        .will_fail_to_change_visibility(ErrorClass::Throttled);
    assert_eq!(release_all(&rig.settler, &held).await, 0);
    assert_eq!(rig.api.made().len(), 2);
    let held = [rig.deliver("b", SECOND * 30)];
    rig.api.will_fail_to_change_visibility(ErrorClass::Denied);
    assert_eq!(release_all(&rig.settler, &held).await, 1);
    assert_eq!(rig.count(Count::SettleFailed), 1);
}

// Rules 4.4 and 5.1: a server slower than what is left of the lease is given the time.
#[test]
fn each_try_may_last_longer_than_the_one_before() {
    let lengths = |left: Duration| -> Vec<_> {
        (0..6)
            .map(|tries| attempt(left, tries).as_millis())
            .collect()
    };
    assert_eq!(lengths(SECOND), [750, 1000, 2000, 4000, 5000, 5000]);
    assert_eq!(lengths(Duration::ZERO), [500, 1000, 2000, 4000, 5000, 5000]);
    assert_eq!(lengths(SECOND * 60), [5000; 6]);
}
