use super::{World, kind, pairs};
use crate::local::sns::arn;
use crate::local::sns::engine::Engine;
use crate::local::sns::refusal::Kind;

#[test]
fn creating_a_topic_again_finds_it_unless_its_attributes_or_tags_are_others() {
    let mut world = World::new();
    let arn = world.create("news", &[("DisplayName", "News")]).unwrap();
    assert_eq!(arn, arn::topic("news"));
    assert_eq!(world.create("news", &[]).unwrap(), arn);
    assert_eq!(
        world.create("news", &[("DisplayName", "News")]).unwrap(),
        arn
    );
    // A default that is named is no difference.
    assert!(world.create("news", &[("SignatureVersion", "1")]).is_ok());
    assert!(world.create("news", &[("FifoTopic", "false")]).is_ok());
    let other = world.create("news", &[("DisplayName", "Olds")]);
    assert_eq!(kind(other), Kind::InvalidParameter);
    let mut tagged = |tags| world.engine.create_topic("tagged", &pairs(&[]), tags);
    assert!(tagged(Some(pairs(&[("k", "v")]))).is_ok());
    assert!(tagged(Some(pairs(&[("k", "v")]))).is_ok());
    assert!(tagged(None).is_ok());
    let refusal = tagged(Some(pairs(&[("k", "w")]))).unwrap_err();
    assert!(refusal.message.contains("different tags"));
}

#[test]
fn a_topics_name_has_256_plain_characters_and_says_whether_it_is_fifo() {
    let (most, more) = ("x".repeat(256), "x".repeat(257));
    let fifo = format!("{}.fifo", "x".repeat(251));
    let table: [(&str, &str, bool); 10] = [
        ("A-b_9", "false", true),
        (&most, "false", true),
        (&more, "false", false),
        ("", "false", false),
        ("a.b", "false", false),
        ("a.fifo", "false", false),
        ("a.fifo", "true", true),
        (&fifo, "true", true),
        ("a", "true", false),
        (".fifo", "true", false),
    ];
    for (name, fifo, taken) in table {
        let outcome = World::new().create(name, &[("FifoTopic", fifo)]);
        assert_eq!(outcome.is_ok(), taken, "{name} {fifo}");
    }
}

#[test]
fn an_attribute_is_taken_if_sns_knows_it_and_its_value() {
    let table = [
        ("DisplayName", "News", true),
        ("SQSSuccessFeedbackSampleRate", "50", true),
        ("KmsMasterKeyId", "alias/aws/sns", true),
        ("TracingConfig", "Active", true),
        ("TracingConfig", "Loud", false),
        ("SignatureVersion", "2", true),
        ("SignatureVersion", "3", false),
        ("Policy", r#"{"Statement": []}"#, true),
        ("Policy", "x", false),
        ("ContentBasedDeduplication", "true", false),
        ("FifoTopic", "true", false),
        ("Colour", "red", false),
    ];
    for (name, value, taken) in table {
        let (mut world, topic) = World::with_topic("news", &[]);
        let outcome = world.engine.set_topic_attribute(&topic, name, value);
        assert_eq!(outcome.is_ok(), taken, "{name}={value}");
        let found = world.engine.topic_attributes(&topic).unwrap();
        assert_eq!(
            found.get(name).map(String::as_str) == Some(value),
            taken,
            "{name}"
        );
    }
    let (mut world, topic) = World::with_topic("news.fifo", &[]);
    let mut set = |name, value| world.engine.set_topic_attribute(&topic, name, value);
    assert!(set("ContentBasedDeduplication", "true").is_ok());
    assert!(set("FifoThroughputScope", "MessageGroup").is_ok());
    assert!(set("FifoTopic", "false").is_err());
}

#[test]
fn a_topics_attributes_tell_who_it_is_and_who_subscribed() {
    let (mut world, topic) = World::with_topic("news.fifo", &[]);
    let first = world.subscribe(&topic, super::QUEUE, &[]).unwrap();
    world.subscribe(&topic, super::FIFO_QUEUE, &[]).unwrap();
    world.engine.unsubscribe(&first).unwrap();
    world.engine.unsubscribe(&first).unwrap();
    let found = world.engine.topic_attributes(&topic).unwrap();
    let expected = [
        ("TopicArn", topic.as_str()),
        ("Owner", "000000000000"),
        ("DisplayName", ""),
        ("FifoTopic", "true"),
        ("ContentBasedDeduplication", "false"),
        ("SubscriptionsConfirmed", "1"),
        ("SubscriptionsPending", "0"),
        ("SubscriptionsDeleted", "1"),
    ];
    for (name, value) in expected {
        assert_eq!(found[name], value, "{name}");
    }
    assert!(found["Policy"].contains("__default_statement_ID"));
}

#[test]
fn a_topic_that_is_not_there_is_not_found_but_may_be_deleted() {
    let mut world = World::new();
    let arn = arn::topic("none");
    assert_eq!(kind(world.engine.topic_attributes(&arn)), Kind::NotFound);
    assert_eq!(
        kind(world.engine.subscriptions(Some(&arn), None)),
        Kind::NotFound
    );
    assert_eq!(kind(world.engine.tags(&arn)), Kind::ResourceNotFound);
    assert!(world.engine.delete_topic(&arn).is_ok());
    let malformed = world.engine.topic_attributes("none").unwrap_err();
    assert!(malformed.message.contains("at least 6 elements, not 1"));
}

#[test]
fn topics_are_listed_a_hundred_at_a_time() {
    let mut world = World::new();
    for i in 0..250 {
        world.create(&format!("t{i:03}"), &[]).unwrap();
    }
    let (mut all, mut token, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = world.engine.topics(token.as_deref()).unwrap();
        all.extend(page.items);
        pages += 1;
        token = page.next;
        if token.is_none() {
            break;
        }
    }
    assert_eq!((all.len(), pages), (250, 3));
    assert_eq!(all[249], arn::topic("t249"));
    assert!(world.engine.topics(Some("x")).is_err());
}

#[test]
fn tags_are_added_changed_and_taken_away() {
    let (mut world, topic) = World::with_topic("news", &[]);
    world
        .engine
        .tag(&topic, pairs(&[("a", "1"), ("b", "2")]))
        .unwrap();
    world.engine.tag(&topic, pairs(&[("b", "3")])).unwrap();
    world
        .engine
        .untag(&topic, &["a".to_owned(), "x".to_owned()])
        .unwrap();
    assert_eq!(world.engine.tags(&topic).unwrap(), &pairs(&[("b", "3")]));
    let long = "x".repeat(129);
    for bad in ["", "aws:mine", &long] {
        assert_eq!(
            kind(world.engine.tag(&topic, pairs(&[(bad, "")]))),
            Kind::InvalidParameter
        );
    }
    let many = (0..50).map(|i| (i.to_string(), String::new())).collect();
    assert_eq!(kind(world.engine.tag(&topic, many)), Kind::TagLimitExceeded);
}

#[test]
fn a_permission_is_a_statement_of_the_topics_policy() {
    let (mut world, topic) = World::with_topic("news", &[]);
    let text = |text: &str| vec![text.to_owned()];
    let mut add = |label, action| {
        let account = text("123456789012");
        world
            .engine
            .add_permission(&topic, label, &account, &text(action))
    };
    add("friends", "Publish").unwrap();
    assert!(add("friends", "Subscribe").is_err());
    assert!(add("others", "Fly").is_err());
    let policy = |engine: &Engine| -> serde_json::Value {
        serde_json::from_str(&engine.topic_attributes(&topic).unwrap()["Policy"]).unwrap()
    };
    let statement = &policy(&world.engine)["Statement"][1];
    assert_eq!(statement["Sid"], "friends");
    assert_eq!(
        statement["Principal"]["AWS"][0],
        "arn:aws:iam::123456789012:root"
    );
    assert_eq!(statement["Action"][0], "SNS:Publish");
    world.engine.remove_permission(&topic, "friends").unwrap();
    let statements = policy(&world.engine)["Statement"].as_array().map(Vec::len);
    assert_eq!(statements, Some(1));
}
