use super::{World, bodies, kind};
use crate::local::engine::refusal::Kind;

const ARN: &str = "arn:aws:sqs:us-east-1:000000000000:";

fn policy(target: &str, count: u32) -> String {
    format!(r#"{{"deadLetterTargetArn":"{ARN}{target}","maxReceiveCount":{count}}}"#)
}

/// `q`, whose dead letters go to `dead`.
fn world(count: u32) -> World {
    let mut world = World::new();
    world.create("dead", &[]).unwrap();
    world
        .create("q", &[("RedrivePolicy", &policy("dead", count))])
        .unwrap();
    world
}

#[test]
fn a_message_received_too_often_goes_to_the_dead_letter_queue_at_the_next_attempt() {
    let mut world = world(2);
    let sent = world.now;
    world.send("q", "poison");
    let first = world.receive_one("q", Some(1));
    world.wait(1000);
    world.receive_one("q", Some(1));
    world.wait(60_000);
    assert_eq!(
        world.counts("dead"),
        [0, 0, 0],
        "only an attempt to receive moves it"
    );
    world.engine.take_touched();
    assert!(world.receive("q", None).is_empty());
    let dead = world.engine.find("dead").unwrap();
    assert_eq!(
        world.engine.take_touched(),
        [dead],
        "who waits at the dead-letter queue is told"
    );
    assert_eq!(world.counts("q"), [0, 0, 0]);

    let moved = world.receive_one("dead", None).message;
    assert_eq!(moved.id, first.message.id);
    assert_eq!(moved.content, first.message.content);
    assert_eq!(moved.sent, sent);
    assert_eq!(moved.first_received, first.message.first_received);
    assert_eq!(moved.receives, 3);
    assert_eq!(
        moved.dead_letter_source.as_deref(),
        Some("arn:aws:sqs:us-east-1:000000000000:q")
    );
}

#[test]
fn moved_messages_do_not_count_against_what_a_receive_asked_for() {
    let mut world = world(1);
    world.send("q", "poison");
    world.receive_one("q", Some(0));
    world.send("q", "good");
    let received = world.engine.receive(world.now, "q", 1, None, None).unwrap();
    assert_eq!(bodies(&received), ["good"]);
    assert_eq!(bodies(&world.receive("dead", None)), ["poison"]);
}

#[test]
fn each_queue_of_a_chain_counts_its_own_receives() {
    let mut world = World::new();
    world.create("end", &[]).unwrap();
    world
        .create("dead", &[("RedrivePolicy", &policy("end", 1))])
        .unwrap();
    world
        .create("q", &[("RedrivePolicy", &policy("dead", 2))])
        .unwrap();
    world.send("q", "a");
    world.receive_one("q", Some(0));
    world.receive_one("q", Some(0));
    assert!(world.receive("q", None).is_empty());
    world.receive_one("dead", Some(0));
    assert!(world.receive("dead", None).is_empty());
    world.receive_one("end", None);
}

#[test]
fn a_message_that_is_moved_is_as_old_as_before() {
    let mut world = world(1);
    world.set("dead", "MessageRetentionPeriod", "120").unwrap();
    world.send("q", "a");
    world.wait(100_000);
    world.receive_one("q", Some(0));
    world.receive("q", None);
    assert_eq!(world.counts("dead"), [1, 0, 0]);
    world.wait(20_000);
    assert_eq!(world.counts("dead"), [0, 0, 0]);
}

#[test]
fn a_message_stays_where_it_is_when_the_dead_letter_queue_was_deleted() {
    let mut world = world(1);
    world.send("q", "a");
    world.receive_one("q", Some(0));
    world.engine.delete_queue("dead").unwrap();
    world.receive_one("q", Some(0));
}

#[test]
fn an_old_handle_does_nothing_once_the_message_was_moved() {
    let mut world = world(1);
    world.send("q", "a");
    let handle = world.receive_one("q", Some(0)).handle;
    world.receive("q", None);
    assert_eq!(world.delete("q", &handle), Ok(()));
    assert_eq!(world.counts("dead"), [1, 0, 0]);
}

#[test]
fn a_dead_letter_queue_must_exist_and_let_the_source_in() {
    let mut world = World::new();
    let mut create =
        |name: &str, target: &str| world.create(name, &[("RedrivePolicy", &policy(target, 1))]);
    assert_eq!(kind(create("q", "missing")), Kind::InvalidParameterValue);
    assert_eq!(kind(create("q", "q")), Kind::InvalidParameterValue);
    let only_friend =
        format!(r#"{{"redrivePermission":"byQueue","sourceQueueArns":["{ARN}friend"]}}"#);
    world
        .create("dead", &[("RedriveAllowPolicy", &only_friend)])
        .unwrap();
    world
        .create("friend", &[("RedrivePolicy", &policy("dead", 1))])
        .unwrap();
    world.create("q", &[]).unwrap();
    let refused = world.set("q", "RedrivePolicy", &policy("dead", 1));
    assert_eq!(kind(refused), Kind::InvalidParameterValue);
    let itself = world.set("q", "RedrivePolicy", &policy("q", 1));
    assert_eq!(kind(itself), Kind::InvalidParameterValue);
}

#[test]
fn a_policy_can_be_taken_away_again() {
    let mut world = world(1);
    world.send("q", "a");
    world.set("q", "RedrivePolicy", "").unwrap();
    assert_eq!(world.attribute("q", "RedrivePolicy"), None);
    world.receive_one("q", Some(0));
    world.receive_one("q", Some(0));
}

#[test]
fn the_sources_of_a_dead_letter_queue_are_listed() {
    let mut world = world(1);
    world
        .create("a", &[("RedrivePolicy", &policy("dead", 5))])
        .unwrap();
    world.create("b", &[]).unwrap();
    assert_eq!(
        world.engine.dead_letter_sources("dead", None, 10).names,
        ["a", "q"]
    );
    assert!(
        world
            .engine
            .dead_letter_sources("q", None, 10)
            .names
            .is_empty()
    );
}
