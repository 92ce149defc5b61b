use super::{FIFO_QUEUE, QUEUE, World, draft, kind, occasion};
use crate::local::sns::delivery::Delivery;
use crate::local::sns::engine::Draft;
use crate::local::sns::refusal::Kind;

const TOPIC: &str = "news.fifo";

fn message(text: &str, group: &str, deduplication: Option<&str>) -> Draft {
    Draft {
        group: Some(group.to_owned()),
        deduplication: deduplication.map(str::to_owned),
        ..draft(text)
    }
}

#[test]
fn a_fifo_queue_is_handed_group_and_deduplication_id_and_a_standard_one_the_group() {
    let (mut world, topic) = World::with_topic(TOPIC, &[]);
    for queue in [FIFO_QUEUE, QUEUE] {
        world
            .subscribe(&topic, queue, &[("RawMessageDelivery", "true")])
            .unwrap();
    }
    let published = world
        .publish(&topic, &message("m", "g", Some("d")))
        .unwrap();
    let letters: Vec<_> = published.deliveries.iter().map(|d| &d.letter).collect();
    assert_eq!(letters[0].group.as_deref(), Some("g"));
    assert_eq!(letters[0].deduplication.as_deref(), Some("d"));
    assert_eq!(letters[1].deduplication, None);
}

#[test]
fn sequence_numbers_have_twenty_digits_and_rise() {
    let (mut world, topic) = World::with_topic(TOPIC, &[]);
    let mut last = String::new();
    for i in 0..3 {
        let id = i.to_string();
        let published = world
            .publish(&topic, &message("m", "g", Some(&id)))
            .unwrap();
        let number = published.sequence_number.unwrap();
        assert_eq!(number.len(), 20);
        assert!(number > last);
        last = number;
    }
}

#[test]
fn a_message_needs_a_group_and_something_to_tell_repetitions_by() {
    let (mut world, topic) = World::with_topic(TOPIC, &[]);
    let mut refused = |draft: Draft| world.publish(&topic, &draft).unwrap_err().message;
    assert!(refused(draft("m")).contains("MessageGroupId"));
    assert!(refused(message("m", "g", None)).contains("ContentBasedDeduplication"));
    assert!(refused(message("m", "g h", Some("d"))).contains("MessageGroupId"));
    assert!(refused(message("m", "g", Some(""))).contains("MessageDeduplicationId"));
    // One entry without a group spoils its batch.
    let entries = [
        ("a".to_owned(), message("m", "g", Some("d"))),
        ("b".to_owned(), draft("m")),
    ];
    let occasion = occasion(world.now);
    let batch = world.engine.publish_batch(occasion, &topic, &entries);
    assert_eq!(kind(batch), Kind::InvalidParameter);
}

#[test]
fn a_repetition_within_five_minutes_is_answered_like_the_first_and_not_delivered() {
    let (mut world, topic) = World::with_topic(TOPIC, &[]);
    world.subscribe(&topic, FIFO_QUEUE, &[]).unwrap();
    let first = world
        .publish(&topic, &message("m", "g", Some("d")))
        .unwrap();
    world.wait(299_999);
    let again = world
        .publish(&topic, &message("other", "h", Some("d")))
        .unwrap();
    assert_eq!(again.message_id, first.message_id);
    assert_eq!(again.sequence_number, first.sequence_number);
    assert!(again.deliveries.is_empty());
    world.wait(1);
    let later = world
        .publish(&topic, &message("m", "g", Some("d")))
        .unwrap();
    assert_ne!(later.message_id, first.message_id);
    assert_eq!(later.deliveries.len(), 1);
}

#[test]
fn by_content_messages_with_equal_texts_are_one_and_an_id_of_their_own_comes_first() {
    let (mut world, topic) = World::with_topic(TOPIC, &[("ContentBasedDeduplication", "true")]);
    world.subscribe(&topic, FIFO_QUEUE, &[]).unwrap();
    let mut delivered = |text: &str, id: Option<&str>| {
        let published = world.publish(&topic, &message(text, "g", id)).unwrap();
        let id = |delivery: &Delivery| delivery.letter.deduplication.clone();
        published.deliveries.first().and_then(id)
    };
    // The SHA-256 of the text, even where the queue is handed a notification around it.
    let sum = "532eaabd9574880dbf76b9b8cc00832c20a6ec113d682299550d7a6e0f345e25";
    assert_eq!(delivered("Test", None).as_deref(), Some(sum));
    assert_eq!(delivered("Test", None), None);
    assert_eq!(delivered("Test", Some("d")).as_deref(), Some("d"));
    assert_eq!(delivered("else", Some(sum)), None);
}

#[test]
fn with_the_scope_of_a_group_an_id_counts_within_its_group_only() {
    let (mut world, topic) = World::with_topic(TOPIC, &[("FifoThroughputScope", "MessageGroup")]);
    world.subscribe(&topic, FIFO_QUEUE, &[]).unwrap();
    let mut delivered = |group: &str| {
        let published = world.publish(&topic, &message("m", group, Some("d")));
        published.unwrap().deliveries.len()
    };
    assert_eq!([delivered("g"), delivered("h"), delivered("g")], [1, 1, 0]);
}

#[test]
fn a_batch_is_deduplicated_within_itself() {
    let (mut world, topic) = World::with_topic(TOPIC, &[]);
    world.subscribe(&topic, FIFO_QUEUE, &[]).unwrap();
    let entries = ["a", "b"].map(|id| (id.to_owned(), message("m", "g", Some("d"))));
    let occasion = occasion(world.now);
    let outcomes = world
        .engine
        .publish_batch(occasion, &topic, &entries)
        .unwrap();
    let counts = outcomes
        .iter()
        .map(|(_, outcome)| outcome.as_ref().unwrap().deliveries.len());
    assert_eq!(counts.collect::<Vec<_>>(), [1, 0]);
}
