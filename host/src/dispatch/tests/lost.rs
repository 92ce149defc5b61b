//! Handlers whose messages others may receive by now.

use super::*;
use crate::config::OnLostLease;
use crate::observe::Count;
use crate::sqs::scripted::{Entry, On, Say};

const LOST: Entry = Entry::Failed {
    code: "ReceiptHandleIsInvalid",
    sender_fault: true,
};

/// Handlers take a minute, and leases are extended each second.
fn holding(on_lost_lease: OnLostLease) -> SqsSubscription {
    let mut own = subscription(1);
    own.visibility = Some(SECOND * 2);
    own.on_lost_lease = on_lost_lease;
    own
}

fn takes_a_minute(kind: HandlerKind) -> Arc<Native> {
    Native::new(kind, SECOND * 60, |_| Ok(Outcome::Ack))
}

// Rule 4.4: stopped where that is asked for, and nothing is said to SQS of its message.
#[tokio::test(start_paused = true)]
async fn a_handler_whose_lease_is_lost_is_stopped_only_where_the_mount_says_so() {
    for (on_lost_lease, begun, abandoned) in [
        (OnLostLease::Interrupt, vec!["a", "b"], 1),
        (OnLostLease::Continue, vec!["a"], 0),
    ] {
        let (api, handler) = (Scripted::new(), takes_a_minute(HandlerKind::Single));
        api.will_receive(batch(&["a", "b"]));
        api.will_say_of_entries(On::Visibility, vec![LOST, Entry::Done]);
        let (own, observer) = (holding(on_lost_lease), Observer::of_a_test());
        let (_, early) = tokio::join!(
            play_before(&api, &handler, own, SECOND * 90, observer.clone()),
            async {
                tokio::time::sleep(SECOND * 3 / 2).await;
                handler.begun()
            }
        );
        assert_eq!(early, begun, "{on_lost_lease:?}");
        let counters = observer.counters();
        assert_eq!(counters.get(Count::LeaseLost), 1);
        assert_eq!(counters.get(Count::Abandoned), abandoned);
        let of_a = |made: &Made| match made {
            Made::Visibility(handle, _) | Made::Delete(handle) => handle == "handle of a",
            _ => false,
        };
        // An ack is still tried; of a handler that was stopped there is none.
        let said = api.made().into_iter().filter(of_a).count();
        assert_eq!(said, 1 - usize::try_from(abandoned).unwrap());
        assert!(deletes(&api).contains(&"b".to_owned()) || abandoned == 0);
    }
}

// Rule 4.4: a batch goes on for those that it still holds.
#[tokio::test(start_paused = true)]
async fn a_batch_is_stopped_only_once_all_its_leases_are_lost() {
    for (first, then, abandoned) in [
        (vec![LOST, Entry::Done], Say::Done, 0),
        (vec![LOST, LOST], Say::Done, 2),
        (
            vec![LOST, Entry::Done],
            Say::Code("ReceiptHandleIsInvalid", "no"),
            2,
        ),
    ] {
        let (api, handler) = (Scripted::new(), takes_a_minute(HandlerKind::Batch));
        api.will_receive(batch(&["a", "b"]));
        api.will_say_of_entries(On::Visibility, first.clone());
        // The second time only one of them is left to be extended.
        api.will_say(On::Visibility, then.clone());
        let observer = Observer::of_a_test();
        let own = holding(OnLostLease::Interrupt);
        play_before(&api, &handler, own, SECOND * 90, observer.clone()).await;
        let case = format!("{first:?}, {then:?}");
        assert_eq!(handler.begun(), ["a b"], "{case}");
        assert_eq!(
            observer.counters().get(Count::Abandoned),
            abandoned,
            "{case}"
        );
        let deleted = if abandoned == 0 {
            vec!["a", "b"]
        } else {
            vec![]
        };
        let mut done = deletes(&api);
        done.sort();
        assert_eq!(done, deleted, "{case}");
    }
}

// Rules 4.4 and 5.12: what waits behind a message that was left is not handled before it.
#[tokio::test(start_paused = true)]
async fn the_tail_of_a_group_whose_handler_was_stopped_is_released() {
    let (api, handler) = (Scripted::new(), takes_a_minute(HandlerKind::Single));
    let received = batch(&["a", "b"]).into_iter().map(|mut one| {
        one.message.group_id = Some("A".into());
        one
    });
    api.will_receive(received.collect());
    api.will_say_of_entries(On::Visibility, vec![LOST, Entry::Done]);
    let mut own = holding(OnLostLease::Interrupt);
    own.queue = "q.fifo".parse().unwrap();
    play(&api, &handler, own, SECOND * 30).await;
    assert_eq!(handler.begun(), ["a"]);
    let released = Made::VisibilityBatch(vec![("handle of b".into(), Duration::ZERO)]);
    assert_eq!(api.made().last(), Some(&released));
}
