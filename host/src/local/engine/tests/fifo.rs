use super::{World, bodies, content, in_group, kind, map};
use crate::local::engine::Tags;
use crate::local::engine::message::Outgoing;
use crate::local::engine::refusal::Kind;
use std::sync::Arc;

const Q: &str = "q.fifo";

/// A world with the FIFO queue `q.fifo`.
fn world(attributes: &[(&str, &str)]) -> World {
    let mut world = World::new();
    create(&mut world, Q, attributes);
    world
}

fn create(world: &mut World, name: &str, attributes: &[(&str, &str)]) {
    let mut all = map(attributes);
    all.insert("FifoQueue".to_owned(), "true".to_owned());
    let created = world.engine.create(world.now, name, &all, Tags::new());
    assert!(created.is_ok(), "{created:?}");
}

/// Sends one message a name, such as `a1`, in the group of its first letter.
fn send(world: &mut World, names: &[&str]) {
    for name in names {
        world.send_in_group(name, &name[..1], name).unwrap();
    }
}

/// The bodies that a receive of `most` gets.
fn receive(world: &mut World, most: usize) -> Vec<String> {
    let received = world.engine.receive(world.now, Q, most, None, None);
    owned(&bodies(&received.unwrap()))
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn one_receive_takes_as_many_of_one_group_as_it_can_and_then_of_the_next() {
    let mut world = world(&[]);
    send(&mut world, &["a1", "b1", "a2", "b2", "a3"]);
    assert_eq!(receive(&mut world, 4), ["a1", "a2", "a3", "b1"]);
    assert_eq!(receive(&mut world, 10), owned(&[]), "both are held");
}

#[test]
fn a_group_with_a_message_in_flight_gives_nothing_more() {
    let mut world = world(&[]);
    send(&mut world, &["a1", "a2", "b1"]);
    let first = world.engine.receive(world.now, Q, 1, None, None).unwrap();
    assert_eq!(receive(&mut world, 10), ["b1"]);
    assert_eq!(
        world.counts(Q),
        [1, 2, 0],
        "what waits is visible all the same"
    );
    world.delete(Q, &first[0].handle).unwrap();
    assert_eq!(receive(&mut world, 10), ["a2"]);
}

#[test]
fn a_group_keeps_its_order_when_messages_come_back_in_any_order() {
    let mut world = world(&[]);
    send(&mut world, &["a1", "a2", "a3", "a4"]);
    let got = world.engine.receive(world.now, Q, 3, None, None).unwrap();
    world.hide(Q, &got[2].handle, 0).unwrap();
    assert_eq!(
        receive(&mut world, 10),
        owned(&[]),
        "a1 and a2 are in flight"
    );
    world.hide(Q, &got[0].handle, 0).unwrap();
    assert_eq!(receive(&mut world, 10), owned(&[]), "a2 is in flight");
    world.hide(Q, &got[1].handle, 0).unwrap();
    assert_eq!(receive(&mut world, 10), ["a1", "a2", "a3", "a4"]);
}

#[test]
fn a_group_keeps_its_order_when_time_outs_pass_one_by_one() {
    let mut world = world(&[]);
    send(&mut world, &["a1", "a2", "a3"]);
    let got = world
        .engine
        .receive(world.now, Q, 2, Some(1), None)
        .unwrap();
    world.hide(Q, &got[1].handle, 5).unwrap();
    world.wait(1000);
    assert_eq!(receive(&mut world, 10), owned(&[]), "a2 is in flight");
    world.wait(4000);
    assert_eq!(receive(&mut world, 10), ["a1", "a2", "a3"]);
}

#[test]
fn groups_take_turns() {
    let mut world = world(&[]);
    send(&mut world, &["a1", "a2", "a3", "b1", "c1"]);
    let mut order = Vec::new();
    for _ in 0..5 {
        let got = world.engine.receive(world.now, Q, 1, None, None).unwrap();
        order.extend(owned(&bodies(&got)));
        world.delete(Q, &got[0].handle).unwrap();
    }
    assert_eq!(order, ["a1", "b1", "c1", "a2", "a3"]);
}

#[test]
fn a_receive_with_no_visibility_timeout_holds_no_group() {
    let mut world = world(&[]);
    send(&mut world, &["a1", "a2"]);
    for _ in 0..2 {
        assert_eq!(bodies(&world.receive(Q, Some(0))), ["a1", "a2"]);
    }
}

#[test]
fn a_repetition_within_five_minutes_is_answered_as_the_first_was() {
    let mut world = world(&[]);
    let first = world.send_in_group("a", "g", "same").unwrap();
    world.wait(100_000);
    let got = world.receive_one(Q, None);
    world.delete(Q, &got.handle).unwrap();
    world.wait(199_999);
    // Of another body and another group, and the first one gone: it is a repetition all the same.
    let again = world.send_in_group("b", "h", "same").unwrap();
    assert_eq!(again, first);
    assert!(world.receive(Q, None).is_empty());
    // The five minutes run from the first, not from the repetition.
    world.wait(1);
    let anew = world.send_in_group("c", "g", "same").unwrap();
    assert!(anew.id != first.id && anew.sequence_number > first.sequence_number);
    assert_eq!(world.receive_one(Q, None).message.content.body, "c");
}

#[test]
fn a_repetition_is_known_by_its_body_if_the_queue_says_so_and_no_id_is_given() {
    let mut world = world(&[("ContentBasedDeduplication", "true")]);
    for (body, id) in [("x", None), ("x", None), ("y", None), ("x", Some("own"))] {
        let outgoing = in_group(body, "g", id);
        world.engine.send(world.now, Q, &outgoing).unwrap();
    }
    let got = world.receive(Q, None);
    assert_eq!(bodies(&got), ["x", "y", "x"]);
    let sum = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
    assert_eq!(got[0].message.deduplication.as_deref(), Some(sum));
    assert_eq!(got[2].message.deduplication.as_deref(), Some("own"));
}

#[test]
fn a_repetition_is_looked_for_in_the_group_alone_if_the_queue_says_so() {
    let mut world = world(&[("DeduplicationScope", "messageGroup")]);
    for (body, group) in [("1", "a"), ("2", "b"), ("3", "a")] {
        world.send_in_group(body, group, "same").unwrap();
    }
    assert_eq!(bodies(&world.receive(Q, None)), ["1", "2"]);
}

#[test]
fn sequence_numbers_have_20_digits_and_rise() {
    let mut world = world(&[]);
    let mut numbers = Vec::new();
    for id in ["1", "2", "3"] {
        let receipt = world.send_in_group("a", "g", id).unwrap();
        numbers.push(receipt.sequence_number.unwrap().to_string());
    }
    assert!(numbers.iter().all(|number| number.len() == 20));
    assert!(numbers.is_sorted() && numbers[0] != numbers[1]);
    let got = world.receive(Q, None);
    let received = got[0].message.sequence_number.unwrap().to_string();
    assert_eq!(received, numbers[0]);
}

#[test]
fn a_message_must_have_what_its_kind_of_queue_wants() {
    let mut world = world(&[]);
    world.create("q", &[]).unwrap();
    let groupless = Outgoing::new(content("a"), Some("id".to_owned())).unwrap();
    let without_id = in_group("a", "g", None);
    let fair = without_id.clone();
    let delayed = Outgoing {
        delay: Some(1),
        ..in_group("a", "g", Some("id"))
    };
    let undelayed = Outgoing {
        delay: Some(0),
        ..in_group("a", "g", Some("id"))
    };
    let table = [
        (Q, &groupless, Some(Kind::MissingParameter)),
        (Q, &without_id, Some(Kind::InvalidParameterValue)),
        (Q, &delayed, Some(Kind::InvalidParameterValue)),
        (Q, &undelayed, None),
        ("q", &groupless, Some(Kind::InvalidParameterValue)),
        ("q", &fair, None),
    ];
    for (name, outgoing, refused) in table {
        let outcome = world.engine.send(world.now, name, outgoing);
        let refusal = outcome.err().map(|refusal| refusal.kind);
        assert_eq!(refusal, refused, "{name} {outgoing:?}");
    }
    // What a whole batch is refused for, whichever of its messages it is.
    let check = |outgoing| world.engine.check_batch(Q, [&undelayed, outgoing]);
    for outgoing in [&groupless, &without_id] {
        assert_eq!(kind(check(outgoing)), Kind::InvalidParameterValue);
    }
    assert_eq!(check(&delayed), Ok(()), "its own entry fails alone");
}

#[test]
fn a_group_on_a_standard_queue_changes_nothing() {
    let mut world = World::with_queue(&[]);
    for body in ["1", "2"] {
        let outgoing = in_group(body, "tenant", None);
        let receipt = world.engine.send(world.now, "q", &outgoing).unwrap();
        assert_eq!(receipt.sequence_number, None);
    }
    for body in ["1", "2"] {
        let got = world.engine.receive(world.now, "q", 1, None, None).unwrap();
        assert_eq!(bodies(&got), [body]);
        let group = got[0].message.content.group.as_deref();
        assert_eq!(group, Some("tenant"));
    }
}

#[test]
fn a_handle_of_a_fifo_queue_expires_with_the_visibility_timeout() {
    let mut world = world(&[]);
    send(&mut world, &["a1"]);
    let first = world.receive_one(Q, Some(1));
    world.wait(1000);
    let expired = world.delete(Q, &first.handle);
    assert_eq!(kind(expired), Kind::ReceiptHandleExpired);
    let second = world.receive_one(Q, Some(1));
    let superseded = world.delete(Q, &first.handle);
    assert_eq!(kind(superseded), Kind::ReceiptHandleExpired);
    assert_eq!(world.delete(Q, &second.handle), Ok(()));
    assert_eq!(world.delete(Q, &second.handle), Ok(()), "idempotent");
}

#[test]
fn the_queues_delay_holds_for_all_and_a_change_of_it_for_those_that_wait() {
    let mut world = world(&[("DelaySeconds", "10")]);
    send(&mut world, &["a1", "a2"]);
    assert_eq!(world.counts(Q), [0, 0, 2]);
    world.wait(3000);
    world.set(Q, "DelaySeconds", "5").unwrap();
    world.wait(1999);
    assert!(world.receive(Q, None).is_empty());
    world.wait(1);
    assert_eq!(receive(&mut world, 10), ["a1", "a2"]);
}

/// What a receive under an attempt id gets: bodies and handles.
fn attempt(world: &mut World, id: &str) -> Vec<(String, String)> {
    let id: Arc<str> = id.into();
    let again = world.engine.receive_again(world.now, Q, Some(60), &id);
    let got = again.unwrap().unwrap_or_else(|| {
        let received = world.engine.receive(world.now, Q, 2, Some(60), Some(&id));
        received.unwrap()
    });
    got.into_iter()
        .map(|delivery| (delivery.message.content.body.clone(), delivery.handle))
        .collect()
}

#[test]
fn the_same_attempt_gets_the_same_messages_and_handles_and_hides_them_anew() {
    let mut world = world(&[]);
    send(&mut world, &["a1", "a2", "b1"]);
    let first = attempt(&mut world, "lost");
    world.wait(59_000);
    assert_eq!(attempt(&mut world, "lost"), first);
    assert_ne!(attempt(&mut world, "other"), first);
    world.wait(59_999);
    assert_eq!(world.counts(Q)[1], 3, "hidden anew by the repetition");
    // The repetition was no receive of its own.
    world.wait(1);
    let got = world.engine.receive(world.now, Q, 1, None, None).unwrap();
    assert_eq!((bodies(&got), got[0].message.receives), (vec!["a1"], 2));
}

#[test]
fn an_attempt_is_not_repeated_once_one_of_its_messages_was_touched_or_five_minutes_passed() {
    type Touch = fn(&mut World, &str);
    let table: [(&str, Touch); 4] = [
        ("deleted", |world, handle| world.delete(Q, handle).unwrap()),
        ("given back", |world, handle| {
            world.hide(Q, handle, 0).unwrap();
        }),
        ("hidden for longer", |world, handle| {
            world.hide(Q, handle, 600).unwrap();
        }),
        ("back by itself", |world, _| world.wait(60_000)),
    ];
    for (what, touch) in table {
        let mut world = world(&[]);
        send(&mut world, &["a1", "a2"]);
        let first = attempt(&mut world, "lost");
        touch(&mut world, &first[0].1);
        assert_ne!(attempt(&mut world, "lost"), first, "{what}");
    }
    let mut world = world(&[("VisibilityTimeout", "600")]);
    send(&mut world, &["a1"]);
    let id: Arc<str> = "late".into();
    let got = world.engine.receive(world.now, Q, 1, None, Some(&id));
    assert_eq!(got.unwrap().len(), 1);
    world.wait(300_000);
    let again = world.engine.receive_again(world.now, Q, None, &id);
    assert!(again.unwrap().is_none());
}

#[test]
fn dead_letters_of_a_fifo_queue_keep_group_and_order_and_begin_anew_otherwise() {
    let mut world = World::new();
    create(&mut world, "dead.fifo", &[]);
    let policy = r#"{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo","maxReceiveCount":1}"#;
    create(&mut world, Q, &[("RedrivePolicy", policy)]);
    send(&mut world, &["a1", "a2", "a3"]);
    let got = world
        .engine
        .receive(world.now, Q, 2, Some(1), None)
        .unwrap();
    world.wait(5000);
    assert_eq!(
        receive(&mut world, 10),
        ["a3"],
        "the group goes on behind them"
    );
    let dead = world.receive("dead.fifo", None);
    assert_eq!(bodies(&dead), ["a1", "a2"]);
    for (moved, first) in dead.iter().zip(&got) {
        let (moved, first) = (&moved.message, &first.message);
        assert_eq!(moved.id, first.id);
        assert_eq!(moved.content.group.as_deref(), Some("a"));
        assert_eq!(moved.sent, world.now, "as old as its move");
        assert_eq!(moved.deduplication.as_deref(), Some(&*first.id.to_string()));
    }
}

#[test]
fn a_dead_letter_queue_must_be_of_the_kind_of_its_source() {
    let mut world = World::with_queue(&[]);
    create(&mut world, Q, &[]);
    for (source, target) in [(Q, "q"), ("q", Q)] {
        let policy = format!(
            r#"{{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:{target}","maxReceiveCount":1}}"#
        );
        let refused = world.set(source, "RedrivePolicy", &policy);
        assert_eq!(kind(refused), Kind::InvalidParameterValue, "{source}");
    }
}

#[test]
fn the_room_of_a_group_is_given_back_with_its_messages() {
    let mut world = world(&[("MessageRetentionPeriod", "60")]);
    send(&mut world, &["a1", "a2"]);
    assert_eq!(receive(&mut world, 1), ["a1"]);
    world.wait(60_000);
    assert_eq!(world.counts(Q), [0, 0, 0]);
    world.send_in_group("a3", "a", "a3").unwrap();
    assert_eq!(receive(&mut world, 10), ["a3"]);
    world.engine.purge(world.now, Q).unwrap();
    world.send_in_group("a4", "a", "a4").unwrap();
    assert_eq!(receive(&mut world, 10), ["a4"]);
}

#[test]
fn a_waiting_receive_is_told_when_a_group_comes_free() {
    let mut world = world(&[]);
    let id = world.engine.find(Q).unwrap();
    send(&mut world, &["a1", "a2"]);
    let got = world.engine.receive(world.now, Q, 1, None, None).unwrap();
    assert_eq!(world.engine.takeable(world.now, id), 0);
    world.engine.take_touched();
    world.delete(Q, &got[0].handle).unwrap();
    assert_eq!(world.engine.take_touched(), [id]);
    assert_eq!(world.engine.takeable(world.now, id), 1);
}
