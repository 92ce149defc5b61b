use super::{World, bodies, content, kind};
use crate::local::engine::limits;
use crate::local::engine::message::Outgoing;
use crate::local::engine::refusal::Kind;
use crate::local::engine::time::Time;

// SPEC 10.2
#[test]
fn a_received_message_is_hidden_for_the_queues_timeout_to_the_millisecond() {
    let mut world = World::with_queue(&[]);
    world.send("q", "a");
    let first = world.receive_one("q", None);
    world.wait(29_999);
    assert!(world.receive("q", None).is_empty());
    world.wait(1);
    let second = world.receive_one("q", None);
    assert_eq!(first.message.id, second.message.id);
    assert_ne!(first.handle, second.handle);
}

#[test]
fn receives_are_counted_and_the_first_ones_time_is_kept() {
    let mut world = World::with_queue(&[]);
    let sent = world.now;
    world.send("q", "a");
    world.wait(500);
    let first_received = world.now;
    for count in 1..=3 {
        let delivery = world.receive_one("q", Some(1));
        assert_eq!(delivery.message.receives, count);
        assert_eq!(delivery.message.sent, sent);
        assert_eq!(delivery.message.first_received, Some(first_received));
        world.wait(1000);
    }
}

#[test]
fn messages_come_in_the_order_in_which_they_became_visible() {
    let mut world = World::with_queue(&[]);
    world.send_delayed("q", "late", Some(2));
    world.send("q", "a");
    world.send("q", "b");
    world.wait(2000);
    world.send("q", "c");
    assert_eq!(bodies(&world.receive("q", None)), ["a", "b", "late", "c"]);
}

#[test]
fn a_receive_with_no_visibility_timeout_gives_a_message_once_and_leaves_it_visible() {
    let mut world = World::with_queue(&[]);
    world.send("q", "a");
    world.send("q", "b");
    assert_eq!(bodies(&world.receive("q", Some(0))), ["a", "b"]);
    assert_eq!(bodies(&world.receive("q", Some(0))), ["a", "b"]);
    assert_eq!(world.counts("q"), [2, 0, 0]);
}

#[test]
fn a_messages_own_delay_goes_before_the_queues() {
    let mut world = World::with_queue(&[("DelaySeconds", "5")]);
    world.send("q", "queue's");
    world.send_delayed("q", "none", Some(0));
    world.send_delayed("q", "own", Some(10));
    assert_eq!(bodies(&world.receive("q", None)), ["none"]);
    assert_eq!(world.counts("q"), [0, 1, 2]);
    world.wait(5000);
    assert_eq!(bodies(&world.receive("q", None)), ["queue's"]);
    world.wait(5000);
    assert_eq!(bodies(&world.receive("q", None)), ["own"]);
}

#[test]
fn a_handle_deletes_until_the_message_was_received_again() {
    let mut world = World::with_queue(&[]);
    for (received_again, is_gone) in [(false, true), (true, false)] {
        world.send("q", "a");
        let old = world.receive_one("q", Some(1));
        world.wait(1000);
        let newer = received_again.then(|| world.receive_one("q", Some(1)));
        assert_eq!(world.delete("q", &old.handle), Ok(()));
        assert_eq!(world.counts("q") == [0, 0, 0], is_gone);
        if let Some(newer) = newer {
            assert_eq!(world.delete("q", &newer.handle), Ok(()));
        }
        assert_eq!(
            world.delete("q", &old.handle),
            Ok(()),
            "deleting is idempotent"
        );
        assert_eq!(world.counts("q"), [0, 0, 0]);
    }
}

#[test]
fn a_handle_of_another_queue_or_of_none_is_refused() {
    let mut world = World::with_queue(&[]);
    world.create("other", &[]).unwrap();
    world.send("other", "a");
    let foreign = world.receive_one("other", None).handle;
    for handle in [foreign.as_str(), "garbage", ""] {
        assert_eq!(
            kind(world.delete("q", handle)),
            Kind::ReceiptHandleIsInvalid
        );
        assert_eq!(
            kind(world.hide("q", handle, 1)),
            Kind::ReceiptHandleIsInvalid
        );
    }
}

#[test]
fn a_handle_of_a_queue_of_the_same_name_before_is_refused() {
    let mut world = World::with_queue(&[]);
    world.send("q", "a");
    let handle = world.receive_one("q", None).handle;
    world.engine.delete_queue("q").unwrap();
    world.create("q", &[]).unwrap();
    world.send("q", "b");
    assert_eq!(
        kind(world.delete("q", &handle)),
        Kind::ReceiptHandleIsInvalid
    );
}

#[test]
fn a_new_timeout_counts_from_the_change() {
    let mut world = World::with_queue(&[]);
    world.send("q", "a");
    let handle = world.receive_one("q", Some(10)).handle;
    world.wait(9000);
    world.hide("q", &handle, 10).unwrap();
    world.wait(9999);
    assert!(world.receive("q", None).is_empty());
    world.wait(1);
    assert_eq!(world.receive("q", None).len(), 1);
}

#[test]
fn a_new_timeout_of_zero_gives_the_message_back_at_once() {
    let mut world = World::with_queue(&[]);
    world.send("q", "a");
    let handle = world.receive_one("q", Some(10)).handle;
    world.hide("q", &handle, 0).unwrap();
    assert_eq!(world.counts("q"), [1, 0, 0]);
    assert_eq!(kind(world.hide("q", &handle, 5)), Kind::MessageNotInflight);
    assert_eq!(world.receive("q", None).len(), 1);
    assert_eq!(
        kind(world.hide("q", &handle, 5)),
        Kind::InvalidParameterValue
    );
}

#[test]
fn a_message_that_is_deleted_or_back_cannot_be_hidden() {
    let mut world = World::with_queue(&[]);
    world.send("q", "a");
    let handle = world.receive_one("q", Some(1)).handle;
    world.wait(1000);
    assert_eq!(kind(world.hide("q", &handle, 5)), Kind::MessageNotInflight);
    world.delete("q", &handle).unwrap();
    assert_eq!(
        kind(world.hide("q", &handle, 5)),
        Kind::InvalidParameterValue
    );
}

#[test]
fn no_message_is_hidden_for_more_than_twelve_hours_from_its_receive() {
    let mut world = World::with_queue(&[]);
    world.send("q", "a");
    let handle = world.receive_one("q", None).handle;
    world.hide("q", &handle, 43_200).unwrap();
    world.wait(1000);
    let refusal = world.hide("q", &handle, 43_200).unwrap_err();
    assert_eq!(refusal.kind, Kind::InvalidParameterValue);
    let expected = "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]";
    assert!(refusal.message.contains(expected), "{refusal}");
    world.hide("q", &handle, 43_199).unwrap();
}

#[test]
fn a_message_past_its_retention_is_gone_in_whatever_state_it_is() {
    let mut world = World::with_queue(&[("MessageRetentionPeriod", "60")]);
    world.send("q", "in flight");
    world.receive_one("q", Some(3600));
    world.send_delayed("q", "delayed", Some(900));
    world.send("q", "visible");
    world.wait(59_999);
    assert_eq!(world.counts("q"), [1, 1, 1]);
    world.wait(1);
    assert_eq!(world.counts("q"), [0, 0, 0]);
}

#[test]
fn a_new_retention_period_holds_for_what_lies_there_already() {
    let mut world = World::with_queue(&[]);
    world.send("q", "in flight");
    world.receive_one("q", Some(600));
    world.send_delayed("q", "delayed", Some(600));
    world.wait(100_000);
    world.send("q", "younger");
    world.set("q", "MessageRetentionPeriod", "100").unwrap();
    assert_eq!(bodies(&world.receive("q", Some(1))), ["younger"]);
    assert_eq!(world.counts("q"), [0, 1, 0]);
    world.wait(50_000);
    world.set("q", "MessageRetentionPeriod", "150").unwrap();
    world.wait(99_999);
    assert_eq!(world.counts("q"), [1, 0, 0]);
    world.wait(1);
    assert_eq!(world.counts("q"), [0, 0, 0]);
}

#[test]
fn a_message_larger_than_the_queue_allows_is_refused() {
    let mut world = World::with_queue(&[("MaximumMessageSize", "1024")]);
    let mut send = |bytes: usize| {
        let outgoing = Outgoing::new(content(&"x".repeat(bytes)), None).unwrap();
        world.engine.send(world.now, "q", &outgoing)
    };
    assert!(send(1024).is_ok());
    assert_eq!(kind(send(1025)), Kind::InvalidParameterValue);
}

#[test]
fn in_flight_messages_have_a_limit() {
    let mut world = World::with_queue(&[]);
    let shared = Outgoing::new(content("x"), None).unwrap();
    for _ in 0..limits::IN_FLIGHT + 5 {
        world.engine.send(world.now, "q", &shared).unwrap();
    }
    let mut last = Vec::new();
    for _ in 0..limits::IN_FLIGHT / 10 {
        last = world.receive("q", Some(100));
    }
    let over = world.engine.receive(world.now, "q", 10, None, None);
    assert_eq!(kind(over), Kind::OverLimit);
    world.delete("q", &last[0].handle).unwrap();
    assert_eq!(
        world.receive("q", Some(100)).len(),
        1,
        "there is room for one"
    );
    world.wait(100_000);
    assert_eq!(world.receive("q", None).len(), 10);
}

#[test]
fn the_next_wake_is_the_nearest_deadline_and_changes_tell_of_their_queue() {
    let mut world = World::with_queue(&[]);
    let id = world.engine.find("q").unwrap();
    let in_seconds = |world: &World, seconds| Some(world.now.plus_seconds(seconds));
    assert_eq!(world.engine.next_wake(id), None);
    world.send_delayed("q", "a", Some(20));
    world.send_delayed("q", "b", Some(10));
    assert_eq!(world.engine.next_wake(id), in_seconds(&world, 10));
    world.send("q", "c");
    assert_eq!(world.engine.take_touched(), [id, id, id]);
    let handle = world.receive_one("q", Some(5)).handle;
    assert_eq!(world.engine.next_wake(id), in_seconds(&world, 5));
    assert_eq!(world.engine.take_touched(), [id]);
    world.hide("q", &handle, 2).unwrap();
    assert_eq!(world.engine.next_wake(id), in_seconds(&world, 2));
    assert_eq!(world.engine.take_touched(), [id]);
    world.delete("q", &handle).unwrap();
    assert_eq!(world.engine.next_wake(id), in_seconds(&world, 10));
    assert_eq!(world.engine.take_touched(), [id]);
    world.engine.delete_queue("q").unwrap();
    assert_eq!(world.engine.take_touched(), [id]);
}

#[test]
fn a_purge_leaves_nothing_and_handles_from_before_do_no_harm() {
    let mut world = World::with_queue(&[]);
    world.send("q", "a");
    let handle = world.receive_one("q", None).handle;
    world.send("q", "b");
    world.send_delayed("q", "c", Some(9));
    world.engine.purge(world.now, "q").unwrap();
    assert_eq!(world.counts("q"), [0, 0, 0]);
    world.send("q", "d");
    world.delete("q", &handle).unwrap();
    assert_eq!(bodies(&world.receive("q", None)), ["d"]);
    world.wait(59_999);
    assert_eq!(
        kind(world.engine.purge(world.now, "q")),
        Kind::PurgeQueueInProgress
    );
    world.wait(1);
    assert_eq!(world.engine.purge(world.now, "q"), Ok(()));
}

#[test]
fn the_same_seed_gives_the_same_ids_and_handles() {
    let run = || {
        let mut world = World::with_queue(&[]);
        world.send("q", "a");
        let delivery = world.receive_one("q", None);
        (delivery.message.id, delivery.handle)
    };
    assert_eq!(run(), run());
}

#[test]
fn time_counts_in_whole_seconds_where_sqs_does() {
    let time = Time::from_millis(1_999);
    assert_eq!(time.seconds(), 1);
    assert_eq!(time.plus_seconds(2).seconds_since(time), 2);
    assert_eq!(Time::from_millis(3_998).seconds_since(time), 1);
    assert_eq!(time.seconds_since(Time::from_millis(5_000)), 0);
}
