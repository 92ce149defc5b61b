use super::{DEAD, QUEUE, World, attributes, draft, kind, occasion};
use crate::local::sns::delivery::Delivery;
use crate::local::sns::engine::Draft;
use crate::local::sns::refusal::Kind;
use serde_json::Value;

/// A topic with one subscription with these attributes.
fn subscribed(attributes: &[(&str, &str)]) -> (World, String) {
    let (mut world, topic) = World::with_topic("news", &[]);
    world.subscribe(&topic, QUEUE, attributes).unwrap();
    (world, topic)
}

#[test]
fn raw_delivery_gives_the_queue_the_message_as_it_is() {
    let (mut world, topic) = subscribed(&[("RawMessageDelivery", "true")]);
    let message = Draft {
        subject: Some("s".to_owned()),
        attributes: attributes(3),
        group: Some("g".to_owned()),
        trace_header: Some("Root=1".to_owned()),
        ..draft("hé")
    };
    let published = world.publish(&topic, &message).unwrap();
    let [delivery] = &published.deliveries[..] else {
        panic!("one delivery expected");
    };
    assert_eq!(
        (delivery.queue.as_str(), delivery.topic.as_str()),
        (QUEUE, topic.as_str())
    );
    assert_eq!(delivery.letter.body, "hé");
    assert_eq!(delivery.letter.attributes, message.attributes);
    // On a standard topic the group says whose message it is, for fair queues.
    assert_eq!(delivery.letter.group.as_deref(), Some("g"));
    assert_eq!(delivery.letter.deduplication, None);
    assert_eq!(delivery.letter.trace_header.as_deref(), Some("Root=1"));
    assert_eq!(published.sequence_number, None);
}

#[test]
fn without_raw_delivery_the_message_comes_inside_a_notification_and_its_attributes_too() {
    let (mut world, topic) = subscribed(&[]);
    let message = Draft {
        subject: Some("s".to_owned()),
        attributes: attributes(12),
        ..draft("hé")
    };
    let published = world.publish(&topic, &message).unwrap();
    let letter = &published.deliveries[0].letter;
    assert!(letter.attributes.is_empty());
    let json: Value = serde_json::from_str(&letter.body).unwrap();
    assert_eq!(json["Message"], "hé");
    assert_eq!(json["Subject"], "s");
    assert_eq!(json["MessageId"], published.message_id);
    assert_eq!(
        json["MessageAttributes"]
            .as_object()
            .map(serde_json::Map::len),
        Some(12)
    );
}

#[test]
fn every_subscription_is_delivered_to_whose_filter_policy_takes_the_message() {
    let (mut world, topic) = subscribed(&[("FilterPolicy", r#"{"a0": ["v"]}"#)]);
    let body = [
        ("FilterPolicy", r#"{"a": {"b": [1]}}"#),
        ("FilterPolicyScope", "MessageBody"),
    ];
    world.subscribe(&topic, DEAD, &body).unwrap();
    let mut queues = |message: &str, count: usize| -> Vec<String> {
        let message = Draft {
            attributes: attributes(count),
            ..draft(message)
        };
        let published = world.publish(&topic, &message).unwrap();
        let queue = |delivery: Delivery| delivery.queue;
        published.deliveries.into_iter().map(queue).collect()
    };
    assert_eq!(queues(r#"{"a": {"b": 1}}"#, 1), [QUEUE, DEAD]);
    assert_eq!(queues(r#"{"a": {"b": 1}}"#, 0), [DEAD]);
    assert_eq!(queues("text", 1), [QUEUE]);
    assert_eq!(queues("text", 0), [""; 0]);
}

#[test]
fn a_delivery_names_the_queue_that_takes_what_the_first_cannot() {
    let redrive = format!(r#"{{"deadLetterTargetArn":"{DEAD}"}}"#);
    let (mut world, topic) = subscribed(&[("RedrivePolicy", &redrive)]);
    let published = world.publish(&topic, &draft("x")).unwrap();
    assert_eq!(published.deliveries[0].dead_letters.as_deref(), Some(DEAD));
}

#[test]
fn a_message_with_a_structure_has_a_text_for_queues_or_the_default() {
    let (mut world, topic) = subscribed(&[("RawMessageDelivery", "true")]);
    let mut publish = |message: &str| {
        let message = Draft {
            structure: Some("json".to_owned()),
            ..draft(message)
        };
        let published = world.publish(&topic, &message)?;
        Ok(published.deliveries[0].letter.body.clone())
    };
    assert_eq!(
        publish(r#"{"default": "d", "sqs": "q"}"#),
        Ok("q".to_owned())
    );
    assert_eq!(
        publish(r#"{"default": "d", "sqs": {"no": "text"}}"#),
        Ok("d".to_owned())
    );
    assert_eq!(publish(r#"{"default": "d"}"#), Ok("d".to_owned()));
    for bad in [
        "text",
        r#""default""#,
        r#"{"sqs": "q"}"#,
        r#"{"default": {}}"#,
    ] {
        assert_eq!(kind(publish(bad)), Kind::InvalidParameter, "{bad}");
    }
}

#[test]
fn a_message_that_sns_would_refuse_is_refused_and_nothing_is_delivered() {
    let with_subject = |subject: &str| Draft {
        subject: Some(subject.to_owned()),
        ..draft("x")
    };
    let long = "x".repeat(101);
    let table = [
        (draft(""), false),
        // Any UTF-8 will do for SNS, if not for the queue.
        (draft("\u{1}"), true),
        (draft(&"x".repeat(262_144)), true),
        (draft(&"x".repeat(262_145)), false),
        (
            Draft {
                attributes: attributes(1),
                ..draft(&"x".repeat(262_144 - 8))
            },
            false,
        ),
        (with_subject(&long[1..]), true),
        (with_subject(&long), false),
        (with_subject(""), false),
        (with_subject("two\nlines"), false),
        (with_subject("Grüße"), true),
        (
            Draft {
                structure: Some("xml".to_owned()),
                ..draft("x")
            },
            false,
        ),
        (
            Draft {
                deduplication: Some("d".to_owned()),
                ..draft("x")
            },
            false,
        ),
        (
            Draft {
                group: Some("a b".to_owned()),
                ..draft("x")
            },
            false,
        ),
    ];
    for (message, taken) in table {
        let (mut world, topic) = subscribed(&[]);
        let outcome = world.publish(&topic, &message);
        assert_eq!(outcome.is_ok(), taken, "{:.40?}", message.message);
    }
}

#[test]
fn a_topic_that_is_not_there_cannot_be_published_to() {
    let mut world = World::new();
    let missing = world.publish("arn:aws:sns:us-east-1:000000000000:none", &draft("x"));
    assert_eq!(kind(missing), Kind::NotFound);
}

#[test]
fn the_entries_of_a_batch_are_published_or_refused_each_alone() {
    let (mut world, topic) = subscribed(&[]);
    let entries = [("a", ""), ("b", "x")].map(|(id, text)| (id.to_owned(), draft(text)));
    let occasion = occasion(world.now);
    let outcomes = world
        .engine
        .publish_batch(occasion, &topic, &entries)
        .unwrap();
    assert_eq!(outcomes[0].0, "a");
    assert_eq!(kind(outcomes[0].1.clone()), Kind::InvalidParameter);
    assert_eq!(outcomes[1].1.as_ref().unwrap().deliveries.len(), 1);
}

#[test]
fn a_batch_that_breaks_the_rules_on_batches_is_refused_whole() {
    let entries = |ids: &[&str], text: &str| -> Vec<_> {
        ids.iter()
            .map(|id| ((*id).to_owned(), draft(text)))
            .collect()
    };
    let ids: Vec<String> = (0..11).map(|i| i.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let long_id = "x".repeat(81);
    let half = "x".repeat(131_073);
    let mut badly_attributed = entries(&["a", "b"], "x");
    badly_attributed[1].1.attributes = attributes(1);
    let attribute = badly_attributed[1].1.attributes.get_mut("a0").unwrap();
    attribute.data_type = "Text".to_owned();
    let table = [
        (entries(&[], "x"), Some(Kind::EmptyBatchRequest)),
        (entries(&ids[..10], "x"), None),
        (entries(&ids, "x"), Some(Kind::TooManyEntriesInBatchRequest)),
        (
            entries(&["a", "a"], "x"),
            Some(Kind::BatchEntryIdsNotDistinct),
        ),
        (entries(&["a b"], "x"), Some(Kind::InvalidBatchEntryId)),
        (entries(&[""], "x"), Some(Kind::InvalidBatchEntryId)),
        (entries(&[&long_id], "x"), Some(Kind::InvalidBatchEntryId)),
        (entries(&["a", "b"], &half[2..]), None),
        (entries(&["a", "b"], &half), Some(Kind::BatchRequestTooLong)),
        (badly_attributed, Some(Kind::ParameterValueInvalid)),
    ];
    for (entries, expected) in table {
        let (mut world, topic) = subscribed(&[]);
        let occasion = occasion(world.now);
        let outcome = world.engine.publish_batch(occasion, &topic, &entries);
        assert_eq!(outcome.err().map(|refusal| refusal.kind), expected);
    }
}
