use super::{World, bodies, kind};
use crate::local::engine::MoveTask;
use crate::local::engine::refusal::Kind;

const ARN: &str = "arn:aws:sqs:us-east-1:000000000000:";

fn arn(name: &str) -> String {
    format!("{ARN}{name}")
}

/// `q`, whose dead letters go to `dead`, with so many there already.
fn world(dead: usize) -> World {
    let mut world = World::new();
    world.create("dead", &[]).unwrap();
    let policy = format!(r#"{{"deadLetterTargetArn":"{ARN}dead","maxReceiveCount":1}}"#);
    world.create("q", &[("RedrivePolicy", &policy)]).unwrap();
    for number in 0..dead {
        world.send("q", &number.to_string());
    }
    while world.counts("q") != [0, 0, 0] {
        world.receive("q", Some(0));
    }
    assert_eq!(world.counts("dead"), [dead, 0, 0]);
    world
}

fn start(world: &mut World, to: Option<&str>, rate: Option<i64>) -> String {
    let to = to.map(arn);
    let started = world
        .engine
        .start_move(world.now, &arn("dead"), to.as_deref(), rate);
    started.unwrap()
}

/// The latest task's status, how many it moved, and out of how many.
fn latest(world: &mut World) -> (&'static str, usize, usize) {
    let task = latest_task(world);
    (task.status.name(), task.moved, task.to_move)
}

fn latest_task(world: &mut World) -> MoveTask {
    let mut tasks = world.engine.moves(world.now, &arn("dead"), 1).unwrap();
    tasks.remove(0)
}

#[test]
fn dead_letters_are_moved_back_in_order_as_new_messages() {
    let mut world = world(3);
    world.wait(5000);
    let before = world.receive("dead", Some(0));
    start(&mut world, None, None);
    world.wait(1);
    assert_eq!(latest(&mut world), ("COMPLETED", 3, 3));
    assert_eq!(latest_task(&mut world).handle(), None);
    let moved = world.receive("q", None);
    assert_eq!(bodies(&moved), ["0", "1", "2"]);
    for (moved, before) in moved.iter().zip(&before) {
        let (moved, before) = (&moved.message, &before.message);
        assert_ne!(moved.id, before.id);
        assert!(moved.sent > before.sent && moved.receives == 1);
        assert_eq!(moved.dead_letter_source, None);
        assert_eq!(moved.content, before.content);
    }
}

#[test]
fn a_task_moves_at_its_rate_and_who_waits_at_the_destination_is_told() {
    let mut world = world(3);
    world.create("other", &[]).unwrap();
    let other = world.engine.find("other").unwrap();
    start(&mut world, Some("other"), Some(2));
    assert_eq!(world.counts("other"), [1, 0, 0], "the first at once");
    assert_eq!(latest(&mut world), ("RUNNING", 1, 3));
    let next = world.engine.next_wake(other).unwrap();
    assert_eq!(world.now.until(next).as_millis(), 500);
    world.wait(499);
    assert_eq!(world.counts("other"), [1, 0, 0]);
    world.wait(1);
    world.engine.take_touched();
    assert_eq!(world.engine.takeable(world.now, other), 2);
    assert_eq!(world.engine.take_touched(), [other]);
    // Nobody looked for a while: all that came due is moved.
    world.wait(5000);
    assert_eq!(world.counts("other"), [3, 0, 0]);
    assert_eq!(latest(&mut world), ("COMPLETED", 3, 3));
    assert_eq!(world.engine.next_wake(other), None);
}

#[test]
fn a_cancelled_task_moves_nothing_more() {
    let mut world = world(5);
    let handle = start(&mut world, None, Some(1));
    assert_eq!(latest_task(&mut world).handle().as_ref(), Some(&handle));
    world.wait(1000);
    let cancelled = world.engine.cancel_move(world.now, &handle);
    assert_eq!(cancelled, Ok(2));
    world.wait(9000);
    assert_eq!(latest(&mut world), ("CANCELLED", 2, 5));
    assert_eq!(world.counts("dead"), [3, 0, 0]);
    let again = world.engine.cancel_move(world.now, &handle);
    assert_eq!(kind(again), Kind::UnsupportedOperation);
    let garbage = world.engine.cancel_move(world.now, "foobared");
    assert_eq!(kind(garbage), Kind::InvalidParameterValue);
}

#[test]
fn a_task_fails_where_it_cannot_go_on_and_loses_nothing() {
    let mut one = world(3);
    one.create("other", &[]).unwrap();
    start(&mut one, Some("other"), Some(1));
    one.engine.delete_queue("other").unwrap();
    one.wait(1000);
    assert_eq!(latest(&mut one), ("FAILED", 1, 3));
    let reason = latest_task(&mut one).failure;
    assert_eq!(reason, Some("AWS.SimpleQueueService.NonExistentQueue"));
    assert_eq!(one.counts("dead"), [2, 0, 0]);

    let mut other = world(0);
    other.send("dead", "sent here");
    start(&mut other, None, None);
    assert_eq!(latest(&mut other), ("FAILED", 0, 1));
    let reason = latest_task(&mut other).failure;
    assert_eq!(reason, Some("CouldNotDetermineMessageSource"));
    assert_eq!(other.counts("dead"), [1, 0, 0]);
}

#[test]
fn messages_in_flight_stay_and_a_task_without_messages_is_done_at_once() {
    let mut world = world(2);
    let got = world.engine.receive(world.now, "dead", 1, None, None);
    assert_eq!(got.unwrap().len(), 1);
    start(&mut world, None, None);
    assert_eq!(latest(&mut world), ("COMPLETED", 1, 1));
    start(&mut world, None, None);
    assert_eq!(latest(&mut world), ("COMPLETED", 0, 0));
    assert_eq!(world.counts("dead"), [0, 1, 0]);
}

#[test]
fn a_task_that_cannot_be_is_refused() {
    let mut world = world(5);
    world.create("other", &[]).unwrap();
    let mut attempt = |source: &str, to: Option<&str>, rate| {
        let to = to.map(arn);
        let source = arn(source);
        let started = world
            .engine
            .start_move(world.now, &source, to.as_deref(), rate);
        started.err().map(|refusal| refusal.kind)
    };
    let table = [
        ("missing", None, None, Some(Kind::ResourceNotFound)),
        ("q", None, None, Some(Kind::InvalidParameterValue)),
        ("dead", Some("missing"), None, Some(Kind::ResourceNotFound)),
        (
            "dead",
            Some("dead"),
            None,
            Some(Kind::InvalidParameterValue),
        ),
        ("dead", None, Some(0), Some(Kind::InvalidParameterValue)),
        ("dead", None, Some(501), Some(Kind::InvalidParameterValue)),
        ("dead", Some("other"), Some(1), None),
        // One at a time.
        ("dead", None, Some(1), Some(Kind::InvalidParameterValue)),
    ];
    for (source, to, rate, refused) in table {
        assert_eq!(
            attempt(source, to, rate),
            refused,
            "{source} {to:?} {rate:?}"
        );
    }
    let of_missing = world.engine.moves(world.now, &arn("missing"), 10);
    assert_eq!(of_missing.unwrap_err().kind, Kind::ResourceNotFound);
}

#[test]
fn the_last_ten_tasks_are_listed_the_latest_first() {
    let mut world = world(0);
    let mut started = Vec::new();
    for _ in 0..12 {
        start(&mut world, None, None);
        started.insert(0, world.now);
        world.wait(1000);
    }
    started.truncate(10);
    let tasks = world.engine.moves(world.now, &arn("dead"), 10).unwrap();
    let listed: Vec<_> = tasks.iter().map(|task| task.started).collect();
    assert_eq!(listed, started);
}

#[test]
fn a_task_ends_with_its_queue() {
    let mut world = world(3);
    world.create("other", &[]).unwrap();
    start(&mut world, Some("other"), Some(1));
    world.engine.delete_queue("dead").unwrap();
    world.create("dead", &[]).unwrap();
    world.send("dead", "new");
    world.wait(5000);
    assert_eq!(world.counts("other"), [1, 0, 0]);
    let tasks = world.engine.moves(world.now, &arn("dead"), 10).unwrap();
    assert!(tasks.is_empty());
}
