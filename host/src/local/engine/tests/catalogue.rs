use super::{World, kind};
use crate::local::engine::refusal::Kind;

#[test]
fn creating_a_queue_again_finds_it_unless_an_attribute_differs() {
    let mut world = World::new();
    world.create("q", &[("VisibilityTimeout", "33")]).unwrap();
    world.send("q", "a");
    for same in [&[("VisibilityTimeout", "33")][..], &[]] {
        world.create("q", same).unwrap();
    }
    assert_eq!(world.counts("q"), [1, 0, 0]);
    for other in [("VisibilityTimeout", "34"), ("DelaySeconds", "1")] {
        assert_eq!(kind(world.create("q", &[other])), Kind::QueueNameExists);
    }
    assert_eq!(
        world.attribute("q", "VisibilityTimeout").as_deref(),
        Some("33")
    );
}

#[test]
fn a_queues_name_is_held_to_the_rules_of_sqs() {
    let (most, more) = ("q".repeat(80), "q".repeat(81));
    let table = [
        ("jobs_A-1", None),
        (most.as_str(), None),
        (more.as_str(), Some(Kind::InvalidParameterValue)),
        ("", Some(Kind::InvalidParameterValue)),
        ("a b", Some(Kind::InvalidParameterValue)),
        ("a.b", Some(Kind::InvalidParameterValue)),
        ("ü", Some(Kind::InvalidParameterValue)),
        // Never a FIFO queue that is none.
        ("a.fifo", Some(Kind::UnsupportedOperation)),
    ];
    for (name, refused) in table {
        let outcome = World::new().create(name, &[]);
        assert_eq!(outcome.err().map(|refusal| refusal.kind), refused, "{name}");
    }
}

#[test]
fn attributes_are_set_all_or_none() {
    let mut world = World::with_queue(&[]);
    let both = super::map(&[("DelaySeconds", "5"), ("VisibilityTimeout", "99999")]);
    let outcome = world.engine.set_attributes(world.now, "q", &both);
    assert_eq!(kind(outcome), Kind::InvalidAttributeValue);
    assert_eq!(world.attribute("q", "DelaySeconds").as_deref(), Some("0"));
}

#[test]
fn what_the_queue_knows_about_itself_cannot_be_set() {
    let mut world = World::with_queue(&[]);
    for name in ["QueueArn", "ApproximateNumberOfMessages", "Nonsense"] {
        assert_eq!(
            kind(world.set("q", name, "1")),
            Kind::InvalidAttributeName,
            "{name}"
        );
    }
}

#[test]
fn a_change_of_attributes_moves_the_time_of_the_last_one() {
    let mut world = World::with_queue(&[]);
    let created = world.now.seconds().to_string();
    world.wait(5000);
    world.set("q", "DelaySeconds", "1").unwrap();
    let changed = world.now.seconds().to_string();
    assert_eq!(world.attribute("q", "CreatedTimestamp"), Some(created));
    assert_eq!(world.attribute("q", "LastModifiedTimestamp"), Some(changed));
}

#[test]
fn attributes_are_given_by_name_or_all_that_are_set() {
    let mut world = World::with_queue(&[]);
    let mut asked = |names: &[&str]| {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        world.engine.attributes(world.now, "q", &names)
    };
    assert!(asked(&[]).unwrap().is_empty());
    assert_eq!(asked(&["QueueArn", "RedrivePolicy"]).unwrap().len(), 1);
    let all = asked(&["All"]).unwrap();
    assert_eq!(all["QueueArn"], "arn:aws:sqs:us-east-1:000000000000:q");
    assert!(all.contains_key("VisibilityTimeout") && !all.contains_key("RedrivePolicy"));
    assert_eq!(kind(asked(&["Nonsense"])), Kind::InvalidAttributeName);
}

#[test]
fn pages_go_on_where_the_last_one_ended_even_if_that_queue_is_gone() {
    let mut world = World::new();
    for name in ["a", "b1", "b2", "b3", "c"] {
        world.create(name, &[]).unwrap();
    }
    let first = world.engine.list("b", None, 2);
    assert_eq!(
        (first.names, first.more),
        (vec!["b1".to_owned(), "b2".to_owned()], true)
    );
    world.engine.delete_queue("b2").unwrap();
    let second = world.engine.list("b", Some("b2"), 2);
    assert_eq!((second.names, second.more), (vec!["b3".to_owned()], false));
    assert_eq!(
        world.engine.list("", None, 1000).names,
        ["a", "b1", "b3", "c"]
    );
}

#[test]
fn a_deleted_queue_is_gone_with_its_messages() {
    let mut world = World::with_queue(&[]);
    world.send("q", "a");
    world.engine.delete_queue("q").unwrap();
    assert_eq!(kind(world.engine.find("q")), Kind::QueueDoesNotExist);
    assert_eq!(
        kind(world.engine.delete_queue("q")),
        Kind::QueueDoesNotExist
    );
    world.create("q", &[]).unwrap();
    assert!(world.receive("q", None).is_empty());
}
