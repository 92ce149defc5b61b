use super::{DEAD, FIFO_QUEUE, QUEUE, World, draft, kind};
use crate::local::sns::arn;
use crate::local::sns::engine::{Engine, Snapshot};
use crate::local::sns::refusal::Kind;

#[test]
fn subscribing_again_finds_the_subscription_unless_its_attributes_are_others() {
    let (mut world, topic) = World::with_topic("news", &[]);
    let raw = [("RawMessageDelivery", "true")];
    let first = world.subscribe(&topic, QUEUE, &raw).unwrap();
    assert_eq!(world.subscribe(&topic, QUEUE, &raw).unwrap(), first);
    assert_eq!(world.subscribe(&topic, QUEUE, &[]).unwrap(), first);
    let other = world.subscribe(&topic, QUEUE, &[("RawMessageDelivery", "false")]);
    assert!(other.unwrap_err().message.contains("different attributes"));
    assert_ne!(world.subscribe(&topic, DEAD, &raw).unwrap(), first);
}

#[test]
fn an_endpoint_is_the_arn_of_a_queue_that_goes_with_the_topic() {
    let (mut world, topic) = World::with_topic("news", &[]);
    let fifo = world.create("news.fifo", &[("FifoTopic", "true")]).unwrap();
    let table = [
        (&topic, "sqs", QUEUE, true),
        (&topic, "sqs", FIFO_QUEUE, false),
        (&topic, "sqs", "http://127.0.0.1/000000000000/jobs", false),
        (
            &topic,
            "sqs",
            "arn:aws:lambda:us-east-1:000000000000:f",
            false,
        ),
        (&topic, "https", "https://example.com", false),
        (&topic, "pigeon", QUEUE, false),
        (&fifo, "sqs", FIFO_QUEUE, true),
        (&fifo, "sqs", QUEUE, true),
    ];
    for (topic, protocol, endpoint, taken) in table {
        let outcome = world
            .engine
            .subscribe(topic, protocol, endpoint, &Default::default());
        assert_eq!(outcome.is_ok(), taken, "{topic} {protocol} {endpoint}");
    }
    let nowhere = world.subscribe(&arn::topic("none"), QUEUE, &[]);
    assert_eq!(kind(nowhere), Kind::NotFound);
}

#[test]
fn a_subscriptions_attributes_tell_what_was_set() {
    let (mut world, topic) = World::with_topic("news", &[]);
    let arn = world.subscribe(&topic, QUEUE, &[]).unwrap();
    let get = |world: &World, name: &str| {
        let attributes = world.engine.subscription_attributes(&arn).unwrap();
        attributes.get(name).cloned()
    };
    assert_eq!(get(&world, "PendingConfirmation").as_deref(), Some("false"));
    assert_eq!(get(&world, "RawMessageDelivery").as_deref(), Some("false"));
    // The scope is told only where there is a policy that it is the scope of.
    let set = |world: &mut World, name, value| {
        let outcome = world.engine.set_subscription_attribute(&arn, name, value);
        outcome.unwrap();
    };
    set(&mut world, "FilterPolicyScope", "MessageBody");
    assert_eq!(get(&world, "FilterPolicyScope"), None);
    let filter = r#"{"a": {"b": [1]}}"#;
    let redrive = format!(r#"{{"deadLetterTargetArn":"{DEAD}"}}"#);
    set(&mut world, "FilterPolicy", filter);
    set(&mut world, "RedrivePolicy", &redrive);
    set(&mut world, "RawMessageDelivery", "True");
    let expected = [
        ("FilterPolicy", filter),
        ("FilterPolicyScope", "MessageBody"),
        ("RedrivePolicy", &redrive),
        ("RawMessageDelivery", "true"),
    ];
    for (name, value) in expected {
        assert_eq!(get(&world, name).as_deref(), Some(value), "{name}");
    }
    for name in ["FilterPolicy", "RedrivePolicy"] {
        set(&mut world, name, "");
        assert_eq!(get(&world, name), None);
    }
}

#[test]
fn an_attribute_that_sns_would_refuse_is_refused_in_both_places_and_changes_nothing() {
    let table = [
        ("RawMessageDelivery", "yes", "Must be true or false"),
        (
            "FilterPolicyScope",
            "Everything",
            "MessageBody or MessageAttributes",
        ),
        (
            "FilterPolicy",
            r#"{"k": "v"}"#,
            "must be an object or an array",
        ),
        (
            "FilterPolicy",
            r#"{"a": {"b": [1]}}"#,
            "does not support nested",
        ),
        ("RedrivePolicy", "{", "failed to parse JSON"),
        (
            "RedrivePolicy",
            r#"{"deadLetterTargetArn": "dead"}"#,
            "invalid arn",
        ),
        ("Colour", "red", "AttributeName"),
    ];
    for (name, value, reason) in table {
        let (mut world, topic) = World::with_topic("news", &[]);
        let refusal = world
            .subscribe(&topic, QUEUE, &[(name, value)])
            .unwrap_err();
        assert_eq!(refusal.kind, Kind::InvalidParameter);
        assert!(
            refusal
                .message
                .starts_with("Invalid parameter: Attributes Reason: ")
        );
        assert!(refusal.message.contains(reason), "{}", refusal.message);
        let arn = world.subscribe(&topic, QUEUE, &[]).unwrap();
        let before = world.engine.subscription_attributes(&arn).unwrap();
        let refusal = world
            .engine
            .set_subscription_attribute(&arn, name, value)
            .unwrap_err();
        assert!(refusal.message.contains(reason), "{}", refusal.message);
        assert_eq!(world.engine.subscription_attributes(&arn).unwrap(), before);
    }
    let (mut world, topic) = World::with_topic("news.fifo", &[]);
    let redrive = format!(r#"{{"deadLetterTargetArn":"{DEAD}"}}"#);
    let outcome = world.subscribe(&topic, FIFO_QUEUE, &[("RedrivePolicy", &redrive)]);
    assert!(outcome.unwrap_err().message.contains("FIFO queue as DLQ"));
    assert!(
        world
            .subscribe(&topic, QUEUE, &[("RedrivePolicy", &redrive)])
            .is_ok()
    );
}

#[test]
fn a_scope_cannot_be_narrowed_under_a_policy_with_keys_below_keys() {
    let (mut world, topic) = World::with_topic("news", &[]);
    let nested = [
        ("FilterPolicy", r#"{"a": {"b": [1]}}"#),
        ("FilterPolicyScope", "MessageBody"),
    ];
    let arn = world.subscribe(&topic, QUEUE, &nested).unwrap();
    let narrow =
        world
            .engine
            .set_subscription_attribute(&arn, "FilterPolicyScope", "MessageAttributes");
    assert_eq!(kind(narrow), Kind::InvalidParameter);
}

#[test]
fn what_was_unsubscribed_is_not_found_and_may_be_unsubscribed_again() {
    let (mut world, topic) = World::with_topic("news", &[]);
    let arn = world.subscribe(&topic, QUEUE, &[]).unwrap();
    world.engine.unsubscribe(&arn).unwrap();
    world.engine.unsubscribe(&arn).unwrap();
    assert_eq!(
        kind(world.engine.subscription_attributes(&arn)),
        Kind::NotFound
    );
    let set = world
        .engine
        .set_subscription_attribute(&arn, "RawMessageDelivery", "true");
    assert_eq!(kind(set), Kind::NotFound);
    assert!(
        world
            .engine
            .unsubscribe("arn:aws:sns:us-east-1:0:news")
            .is_err()
    );
}

#[test]
fn subscriptions_are_listed_a_hundred_at_a_time_by_topic_and_all_together() {
    let (mut world, topic) = World::with_topic("b", &[]);
    let first = world.create("a", &[]).unwrap();
    let queue = |i: usize| format!("arn:aws:sqs:us-east-1:000000000000:q{i}");
    for i in 0..150 {
        world.subscribe(&topic, &queue(i), &[]).unwrap();
    }
    world.subscribe(&first, QUEUE, &[]).unwrap();
    let page = world.engine.subscriptions(Some(&topic), None).unwrap();
    assert_eq!(page.items.len(), 100);
    let rest = world
        .engine
        .subscriptions(Some(&topic), page.next.as_deref())
        .unwrap();
    assert_eq!((rest.items.len(), rest.next), (50, None));
    assert_eq!(rest.items[49].endpoint, queue(149));
    let all = world.engine.subscriptions(None, None).unwrap();
    assert_eq!(all.items[0].topic_arn, first);
    let rest = world
        .engine
        .subscriptions(None, all.next.as_deref())
        .unwrap();
    assert_eq!(rest.items.len(), 51);
    assert!(world.engine.subscriptions(None, Some("x")).is_err());
}

#[test]
fn topics_are_the_same_after_they_were_written_down_and_read_back() {
    let (mut world, topic) =
        World::with_topic("news.fifo", &[("ContentBasedDeduplication", "true")]);
    let attributes = [
        ("FilterPolicy", r#"{"k": [{"prefix": "a"}]}"#),
        ("RawMessageDelivery", "true"),
    ];
    let arn = world.subscribe(&topic, FIFO_QUEUE, &attributes).unwrap();
    let message = super::Draft {
        group: Some("g".to_owned()),
        ..draft("once")
    };
    let published = world.publish(&topic, &message).unwrap();
    let json = serde_json::to_string(&world.engine.to_snapshot()).unwrap();
    let snapshot: Snapshot = serde_json::from_str(&json).unwrap();
    let before = world.engine;
    world.engine = Engine::from_snapshot(snapshot, 8);
    assert_eq!(
        world.engine.topic_attributes(&topic).unwrap(),
        before.topic_attributes(&topic).unwrap()
    );
    assert_eq!(
        world.engine.subscription_attributes(&arn).unwrap(),
        before.subscription_attributes(&arn).unwrap()
    );
    // What was sent just before is still known to be a repetition.
    let again = world.publish(&topic, &message).unwrap();
    assert_eq!(again.message_id, published.message_id);
    let next = super::Draft {
        message: "twice".to_owned(),
        ..message
    };
    assert!(world.publish(&topic, &next).unwrap().sequence_number > published.sequence_number);
}
