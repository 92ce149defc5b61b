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
        ("a.fifo", Some(Kind::InvalidParameterValue)),
    ];
    for (name, refused) in table {
        let outcome = World::new().create(name, &[]);
        assert_eq!(outcome.err().map(|refusal| refusal.kind), refused, "{name}");
    }
}

#[test]
fn a_fifo_queue_has_its_suffix_and_its_attribute_or_is_none() {
    let (most, more) = ("q".repeat(75) + ".fifo", "q".repeat(76) + ".fifo");
    let table = [
        ("a.fifo", "true", None),
        (most.as_str(), "true", None),
        (more.as_str(), "true", Some(Kind::InvalidParameterValue)),
        (".fifo", "true", Some(Kind::InvalidParameterValue)),
        ("a.b.fifo", "true", Some(Kind::InvalidParameterValue)),
        ("a", "true", Some(Kind::InvalidParameterValue)),
        ("a.fifo", "false", Some(Kind::InvalidParameterValue)),
        ("a", "false", Some(Kind::InvalidAttributeName)),
    ];
    for (name, value, refused) in table {
        let outcome = World::new().create(name, &[("FifoQueue", value)]);
        let refusal = outcome.err().map(|refusal| refusal.kind);
        assert_eq!(refusal, refused, "{name} {value}");
    }
}

#[test]
fn tags_are_added_replaced_and_taken_away() {
    let mut world = World::new();
    let tags = super::map(&[("a", "1"), ("b", "2")]);
    let created = world.engine.create(world.now, "q", &super::map(&[]), tags);
    assert!(created.is_ok());
    let more = super::map(&[("b", "3"), ("c", "")]);
    world.engine.tag(world.now, "q", more).unwrap();
    let keys = ["a".to_owned(), "unknown".to_owned()];
    world.engine.untag(world.now, "q", &keys).unwrap();
    let left = super::map(&[("b", "3"), ("c", "")]);
    assert_eq!(world.engine.tags(world.now, "q"), Ok(left));
    let nameless = super::map(&[("", "x")]);
    let refused = world.engine.tag(world.now, "q", nameless);
    assert_eq!(kind(refused), Kind::InvalidParameterValue);
}

#[test]
fn permissions_are_statements_of_the_policy() {
    let mut world = World::with_queue(&[]);
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let mut add = |label: &str, accounts: &[&str], actions: &[&str]| {
        let (accounts, actions): (Vec<_>, Vec<_>) = (owned(accounts), owned(actions));
        world
            .engine
            .add_permission(world.now, "q", label, &accounts, &actions)
    };
    add("first", &["111111111111"], &["SendMessage"]).unwrap();
    add("second", &["111111111111", "222222222222"], &["*"]).unwrap();
    let table: [(&str, &[&str], &[&str], Kind); 5] = [
        (
            "first",
            &["111111111111"],
            &["*"],
            Kind::InvalidParameterValue,
        ),
        (
            "a b",
            &["111111111111"],
            &["*"],
            Kind::InvalidParameterValue,
        ),
        ("third", &["me"], &["*"], Kind::InvalidParameterValue),
        (
            "third",
            &["111111111111"],
            &["CreateQueue"],
            Kind::InvalidParameterValue,
        ),
        ("third", &["111111111111"], &["*"; 8], Kind::OverLimit),
    ];
    for (label, accounts, actions, refused) in table {
        assert_eq!(kind(add(label, accounts, actions)), refused, "{label}");
    }
    let policy = world.attribute("q", "Policy").unwrap();
    let policy: serde_json::Value = serde_json::from_str(&policy).unwrap();
    let statement = &policy["Statement"][0];
    assert_eq!(statement["Action"], "SQS:SendMessage");
    assert_eq!(
        statement["Principal"]["AWS"],
        "arn:aws:iam::111111111111:root"
    );
    assert_eq!(policy["Statement"].as_array().map(Vec::len), Some(2));

    let mut remove = |label| world.engine.remove_permission(world.now, "q", label);
    remove("first").unwrap();
    assert_eq!(kind(remove("first")), Kind::InvalidParameterValue);
    remove("second").unwrap();
    assert_eq!(world.attribute("q", "Policy"), None);
}

#[test]
fn a_permission_goes_into_the_policy_that_the_owner_wrote() {
    let alone = r#"{"Version":"2012-10-17","Statement":{"Sid":"own","Effect":"Deny"}}"#;
    let mut world = World::with_queue(&[("Policy", alone)]);
    let (accounts, actions) = (["111111111111".to_owned()], ["*".to_owned()]);
    world
        .engine
        .add_permission(world.now, "q", "more", &accounts, &actions)
        .unwrap();
    let policy = world.attribute("q", "Policy").unwrap();
    let policy: serde_json::Value = serde_json::from_str(&policy).unwrap();
    assert_eq!(policy["Version"], "2012-10-17");
    let sids = [0, 1].map(|at| policy["Statement"][at]["Sid"].clone());
    assert_eq!(sids, ["own", "more"]);
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
