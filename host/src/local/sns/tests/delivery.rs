use super::World;
use serde_json::{Value, json};

const RAW: &[(&str, &str)] = &[("RawMessageDelivery", "true")];

fn redrive(queue: &str) -> String {
    json!({"deadLetterTargetArn": queue}).to_string()
}

/// A policy that lets SNS send into `queue` for `topic`.
fn policy(queue: &str, topic: &str) -> String {
    json!({"Version": "2012-10-17", "Statement": {
        "Effect": "Allow",
        "Principal": {"Service": "sns.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": queue,
        "Condition": {"ArnEquals": {"aws:SourceArn": topic}},
    }})
    .to_string()
}

#[test]
fn a_published_message_lies_in_every_queue_that_subscribed() {
    let world = World::new();
    let topic = world.topic("news");
    let (raw, wrapped) = (world.queue("raw", &[]), world.queue("wrapped", &[]));
    world.subscribe(&topic, &raw, RAW);
    let subscription = world.subscribe(&topic, &wrapped, &[]);
    let id = super::element(&world.publish(&topic, "hé"), "MessageId");
    let [received] = &world.receive(&raw)[..] else {
        panic!("one message expected");
    };
    assert_eq!(received.message.content.body, "hé");
    assert_eq!(
        received.message.content.trace_header.as_deref(),
        Some("Root=1-2-3")
    );
    let json: Value = serde_json::from_str(&world.bodies(&wrapped)[0]).unwrap();
    assert_eq!(
        (&json["Message"], &json["MessageId"]),
        (&json!("hé"), &json!(id))
    );
    // The link that ends the subscription leads back here.
    let link = format!("http://topics.test:99/?Action=Unsubscribe&SubscriptionArn={subscription}");
    assert_eq!(json["UnsubscribeURL"], link);
}

#[test]
fn attributes_come_with_a_raw_message_and_filter_it() {
    let world = World::new();
    let (topic, queue) = (world.topic("news"), world.queue("q", &[]));
    world.subscribe(
        &topic,
        &queue,
        &[RAW[0], ("FilterPolicy", r#"{"kind": ["a"]}"#)],
    );
    for kind in ["a", "b"] {
        world.call(
            "Publish",
            &[
                ("TopicArn", &topic),
                ("Message", kind),
                ("MessageAttributes.entry.1.Name", "kind"),
                ("MessageAttributes.entry.1.Value.DataType", "String"),
                ("MessageAttributes.entry.1.Value.StringValue", kind),
            ],
        );
    }
    let received = world.receive(&queue);
    assert_eq!(received.len(), 1);
    assert_eq!(
        received[0].message.content.attributes["kind"].data_type,
        "String"
    );
}

#[test]
fn a_queue_that_is_made_after_its_subscription_gets_what_comes_then() {
    let world = World::new();
    let topic = world.topic("news");
    let queue = "arn:aws:sqs:us-east-1:000000000000:q";
    world.subscribe(&topic, queue, RAW);
    world.publish(&topic, "lost");
    world.queue("q", &[]);
    world.publish(&topic, "found");
    assert_eq!(world.bodies(queue), ["found"]);
}

#[test]
fn what_a_queue_that_is_gone_should_have_had_goes_to_the_dead_letter_queue() {
    let world = World::new();
    let (topic, queue) = (world.topic("news"), world.queue("q", &[]));
    let dead = world.queue("dead", &[]);
    world.subscribe(
        &topic,
        &queue,
        &[RAW[0], ("RedrivePolicy", &redrive(&dead))],
    );
    world.publish(&topic, "before");
    world
        .hub
        .with(|engine, _| engine.delete_queue("q"))
        .unwrap();
    world.publish(&topic, "after");
    assert_eq!(world.bodies(&dead), ["after"]);
}

#[test]
fn a_queue_with_an_access_policy_gets_only_what_that_lets_in() {
    let world = World::new();
    let (topic, other) = (world.topic("news"), world.topic("other"));
    let queue = "arn:aws:sqs:us-east-1:000000000000:q";
    world.queue("q", &[("Policy", &policy(queue, &topic))]);
    let dead = world.queue("dead", &[]);
    for topic in [&topic, &other] {
        world.subscribe(topic, queue, &[RAW[0], ("RedrivePolicy", &redrive(&dead))]);
        world.publish(topic, topic);
    }
    assert_eq!(world.bodies(queue), [topic]);
    assert_eq!(world.bodies(&dead), [other]);
}

#[test]
fn a_message_larger_than_the_queue_takes_goes_to_the_dead_letter_queue() {
    let world = World::new();
    let topic = world.topic("news");
    let queue = world.queue("q", &[("MaximumMessageSize", "1024")]);
    let dead = world.queue("dead", &[]);
    world.subscribe(
        &topic,
        &queue,
        &[RAW[0], ("RedrivePolicy", &redrive(&dead))],
    );
    world.publish(&topic, &"x".repeat(1025));
    assert_eq!(
        (world.bodies(&queue).len(), world.bodies(&dead).len()),
        (0, 1)
    );
}

#[test]
fn a_raw_message_with_more_attributes_than_a_queue_takes_is_not_delivered() {
    let world = World::new();
    let topic = world.topic("news");
    let (raw, wrapped) = (world.queue("raw", &[]), world.queue("wrapped", &[]));
    world.subscribe(&topic, &raw, RAW);
    world.subscribe(&topic, &wrapped, &[]);
    let mut pairs = vec![
        ("TopicArn".to_owned(), topic.as_str()),
        ("Message".to_owned(), "m"),
    ];
    let names: Vec<_> = (1..=11).map(|i| format!("a{i}")).collect();
    for (i, name) in names.iter().enumerate() {
        let member = |member: &str| format!("MessageAttributes.entry.{}.{member}", i + 1);
        pairs.push((member("Name"), name));
        pairs.push((member("Value.DataType"), "String"));
        pairs.push((member("Value.StringValue"), "v"));
    }
    let pairs: Vec<_> = pairs
        .iter()
        .map(|(name, value)| (name.as_str(), *value))
        .collect();
    world.call("Publish", &pairs);
    assert_eq!(
        (world.bodies(&raw).len(), world.bodies(&wrapped).len()),
        (0, 1)
    );
}

#[tokio::test]
async fn a_delivery_wakes_the_receive_that_waits_for_it() {
    use crate::local::hub::Receive;
    let world = World::new();
    let (topic, queue) = (world.topic("news"), world.queue("q", &[]));
    world.subscribe(&topic, &queue, RAW);
    let wanted = Receive {
        most: 1,
        visibility: None,
        wait: Some(20),
        attempt: None,
    };
    let publish = async {
        tokio::task::yield_now().await;
        world.publish(&topic, "awake");
    };
    let (received, ()) = tokio::join!(world.hub.receive("q", wanted, || true), publish);
    assert_eq!(received.unwrap().len(), 1);
}

#[test]
fn a_fifo_topic_delivers_to_a_fifo_queue_in_order_with_group_and_id() {
    let world = World::new();
    let create = [
        ("Name", "news.fifo"),
        ("Attributes.entry.1.key", "FifoTopic"),
        ("Attributes.entry.1.value", "true"),
    ];
    let topic = super::element(&world.call("CreateTopic", &create), "TopicArn");
    let queue = world.queue("q.fifo", &[("FifoQueue", "true")]);
    world.subscribe(&topic, &queue, RAW);
    let publish = |message: &str, id: &str| {
        let pairs = [
            ("TopicArn", topic.as_str()),
            ("Message", message),
            ("MessageGroupId", "g"),
            ("MessageDeduplicationId", id),
        ];
        super::element(&world.call("Publish", &pairs), "SequenceNumber")
    };
    let first = publish("m0", "d0");
    assert!(publish("m1", "d1") > first);
    assert_eq!(publish("again", "d0"), first);
    let received = world.receive(&queue);
    let told: Vec<_> = received
        .iter()
        .map(|delivery| {
            let message = &delivery.message;
            let id = message.deduplication.as_deref();
            let group = message.content.group.as_deref();
            (message.content.body.as_str(), group, id)
        })
        .collect();
    let expected = [("m0", Some("g"), Some("d0")), ("m1", Some("g"), Some("d1"))];
    assert_eq!(told, expected);
}

#[test]
fn a_character_that_no_queue_carries_comes_through_inside_a_notification_only() {
    let world = World::new();
    let topic = world.topic("news");
    let (raw, wrapped) = (world.queue("raw", &[]), world.queue("wrapped", &[]));
    world.subscribe(&topic, &raw, RAW);
    world.subscribe(&topic, &wrapped, &[]);
    world.publish(&topic, "\u{1}");
    assert!(world.bodies(&raw).is_empty());
    let json: Value = serde_json::from_str(&world.bodies(&wrapped)[0]).unwrap();
    assert_eq!(json["Message"], "\u{1}");
}
