use super::{World, bodies, in_group, kind, map};
use crate::local::engine::attribute::{Attribute, Attributes, Data};
use crate::local::engine::message::{Content, Outgoing};
use crate::local::engine::refusal::Kind;
use crate::local::engine::{Engine, Snapshot, Tags};

/// The same world after its engine went through a file.
fn restarted(world: World) -> World {
    let text = serde_json::to_string(&world.engine.to_snapshot()).unwrap();
    let snapshot: Snapshot = serde_json::from_str(&text).unwrap();
    World {
        engine: Engine::from_snapshot(snapshot, 8).unwrap(),
        now: world.now,
    }
}

#[test]
fn messages_are_as_they_were() {
    let mut world = World::with_queue(&[]);
    let attribute = |data_type: &str, data| Attribute {
        data_type: data_type.to_owned(),
        data,
    };
    let attributes = Attributes::from([
        (
            "n".to_owned(),
            attribute("Number.int", Data::Text("7".to_owned())),
        ),
        (
            "b".to_owned(),
            attribute("Binary", Data::Binary(vec![0, 255])),
        ),
    ]);
    let trace = Some("Root=1-a".to_owned());
    let body = "hé \"\u{10FFFF}".to_owned();
    let content = Content::new(body, attributes, trace, Some("tenant".to_owned())).unwrap();
    let outgoing = Outgoing::new(content, None).unwrap();
    world.engine.send(world.now, "q", &outgoing).unwrap();
    let before = world.receive_one("q", Some(0)).message;
    let after = restarted(world).receive_one("q", Some(0)).message;
    assert_eq!(after.content, before.content);
    assert_eq!((after.id, after.sent), (before.id, before.sent));
    assert_eq!(after.receives, before.receives + 1);
    assert_eq!(after.first_received, before.first_received);
}

#[test]
fn handles_time_outs_and_delays_go_on_over_a_restart() {
    let mut world = World::with_queue(&[]);
    world.send("q", "in flight");
    world.send("q", "done");
    let got = world.receive("q", Some(30));
    world.send_delayed("q", "delayed", Some(10));
    world.send("q", "visible");
    let mut world = restarted(world);
    assert_eq!(world.counts("q"), [1, 2, 1]);
    assert_eq!(world.delete("q", &got[1].handle), Ok(()));
    world.wait(10_000);
    assert_eq!(
        bodies(&world.receive("q", Some(60))),
        ["visible", "delayed"]
    );
    world.wait(20_000);
    assert_eq!(bodies(&world.receive("q", Some(60))), ["in flight"]);
    // What comes after has a handle of its own, not one that was given before.
    world.send("q", "new");
    let new = world.receive_one("q", None);
    assert!(got.iter().all(|old| old.handle != new.handle));
}

#[test]
fn a_queue_has_its_attributes_tags_and_policies_again() {
    let mut world = World::new();
    world.create("dead", &[]).unwrap();
    let policy =
        r#"{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":3}"#;
    let attributes = map(&[
        ("RedrivePolicy", policy),
        ("KmsMasterKeyId", "alias/mine"),
        ("KmsDataKeyReusePeriodSeconds", "600"),
        ("Policy", r#"{"Statement":[]}"#),
        ("VisibilityTimeout", "77"),
    ]);
    let tags = Tags::from([("team".to_owned(), "a".to_owned())]);
    let created = world
        .engine
        .create(world.now, "q", &attributes, tags.clone());
    assert!(created.is_ok());
    world.engine.purge(world.now, "q").unwrap();
    let all = ["All".to_owned()];
    let before = world.engine.attributes(world.now, "q", &all);
    let mut world = restarted(world);
    assert_eq!(world.engine.attributes(world.now, "q", &all), before);
    assert_eq!(world.engine.tags(world.now, "q"), Ok(tags));
    let again = world.engine.purge(world.now, "q");
    assert_eq!(kind(again), Kind::PurgeQueueInProgress);
}

#[test]
fn a_fifo_queue_keeps_order_held_groups_and_what_it_was_sent_lately() {
    let mut world = World::new();
    let attributes = map(&[
        ("FifoQueue", "true"),
        ("DeduplicationScope", "messageGroup"),
    ]);
    let created = world
        .engine
        .create(world.now, "q.fifo", &attributes, Tags::new());
    assert!(created.is_ok());
    let mut first = None;
    for name in ["a1", "a2", "b1"] {
        let receipt = world.send_in_group(name, &name[..1], name).unwrap();
        first.get_or_insert(receipt);
    }
    let got = world.engine.receive(world.now, "q.fifo", 1, None, None);
    let handle = got.unwrap().remove(0).handle;
    world.wait(1000);
    let mut world = restarted(world);
    assert_eq!(bodies(&world.receive("q.fifo", None)), ["b1"], "a is held");
    assert_eq!(world.send_in_group("again", "a", "a1").ok(), first);
    world.delete("q.fifo", &handle).unwrap();
    let next = world.receive_one("q.fifo", None).message;
    assert_eq!(next.content.body, "a2");
    let later = world.send_in_group("a3", "a", "a3").unwrap();
    assert!(later.sequence_number > next.sequence_number);
    world.wait(299_000);
    let anew = world.send_in_group("anew", "a", "a1").unwrap();
    assert_ne!(Some(anew), first, "five minutes after the first");
}

#[test]
fn a_snapshot_that_cannot_be_is_refused_with_the_queues_name() {
    let mut world = World::with_queue(&[]);
    world.send("q", "a");
    let text = serde_json::to_string(&world.engine.to_snapshot()).unwrap();
    let id = world.receive_one("q", None).message.id.to_string();
    let table = [
        (r#""next":1"#, r#""next":0"#, "its queue q cannot be"),
        (
            r#""DelaySeconds":"0""#,
            r#""DelaySeconds":"x""#,
            "DelaySeconds",
        ),
        (r#""body":"a""#, r#""body":"""#, "MessageBody"),
        (id.as_str(), "5", "not the id of a message"),
    ];
    for (whole, broken, named) in table {
        assert!(text.contains(whole), "{whole} in {text}");
        let text = text.replace(whole, broken);
        let read = serde_json::from_str::<Snapshot>(&text).map_err(|error| error.to_string());
        let refused = read.and_then(|snapshot| Engine::from_snapshot(snapshot, 8));
        let reason = refused.unwrap_err();
        assert!(reason.contains(named), "{reason}");
    }
    let twice = format!("[{0},{0}]", &text[1..text.len() - 1]);
    let snapshot: Snapshot = serde_json::from_str(&twice).unwrap();
    let refused = Engine::from_snapshot(snapshot, 8).unwrap_err();
    assert!(refused.contains("queue q twice"), "{refused}");
}

#[test]
fn a_restart_changes_nothing_in_the_file() {
    let mut world = World::with_queue(&[]);
    world
        .create("other", &[("VisibilityTimeout", "5")])
        .unwrap();
    world.send("q", "a");
    world.receive_one("q", None);
    let fair = in_group("b", "tenant", None);
    world.engine.send(world.now, "q", &fair).unwrap();
    let text = |world: &World| serde_json::to_string(&world.engine.to_snapshot()).unwrap();
    let before = text(&world);
    assert_eq!(text(&restarted(world)), before);
}
