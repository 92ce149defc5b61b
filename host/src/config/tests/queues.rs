//! Regions, names, and queues that meet.

use super::*;

const ARN: &str = "arn:aws:sqs:eu-west-1:123456789012:orders";
const URL: &str = "https://sqs.eu-west-1.amazonaws.com/123456789012/orders";

// SPEC 1.1
#[test]
fn the_region_of_a_queue_wins_and_another_beside_it_is_an_error() {
    let host = HostConfig::default();
    for queue in [ARN, URL] {
        let alone = served(&host, single(&format!("queue = '{queue}'")));
        assert_eq!(alone.region.as_deref(), Some("eu-west-1"));
        served(
            &host,
            single(&format!("queue = '{queue}'\nregion = 'eu-west-1'")),
        );
        let problem = only(refused(single(&format!(
            "queue = '{queue}'\nregion = 'us-east-1'"
        ))));
        assert!(problem.contains("region = us-east-1"), "{problem}");
        assert!(problem.contains("is in eu-west-1"), "{problem}");
    }
    let named = served(&host, single("queue = 'orders'\nregion = 'eu-north-1'"));
    assert_eq!(named.region.as_deref(), Some("eu-north-1"));
    let custom = "queue = 'http://localhost:4566/000000000000/orders'\nregion = 'eu-north-1'";
    let custom = served(&host, single(custom));
    assert_eq!(custom.region.as_deref(), Some("eu-north-1"));
}

// SPEC 1.1
#[test]
fn a_mount_may_name_a_queue_elsewhere_than_the_descriptor_had_it() {
    let mut plugin = described(
        HandlerKind::Single,
        &[("queue", "orders"), ("region", "us-east-1")],
    );
    plugin.mount_file = single(&format!("queue = '{ARN}'")).mount_file;
    let subscription = served(&HostConfig::default(), plugin);
    assert_eq!(subscription.region.as_deref(), Some("eu-west-1"));
    // The other way round the operator asks for what cannot be.
    let mut plugin = described(HandlerKind::Single, &[("queue", ARN)]);
    plugin.mount_file = single("region = 'us-east-1'").mount_file;
    only(refused(plugin));
}

// SPEC 1.2
#[test]
fn a_name_that_was_changed_is_noted_once() {
    let resolved = resolved(&[single("queue = 'orders.v2'")]);
    assert_eq!(resolved.subscriptions[0].queue.to_string(), "orders-v2");
    let [note] = &resolved.notes[..] else {
        panic!("{:?}", resolved.notes);
    };
    assert_eq!(note.level, Level::Info);
    assert_eq!(note.given.as_deref(), Some("orders.v2"));
    assert!(note.message.contains("orders-v2"), "{note}");
}

#[test]
fn what_this_version_cannot_read_or_reply_to_is_refused() {
    for (text, what) in [
        ("queue = 'orders.fifo'", "FIFO"),
        ("queue = 'orders'\nreply = 'answers.fifo'", "FIFO"),
        (
            "queue = 'orders'\nreply = 'arn:aws:sns:eu-west-1:123456789012:answers'",
            "this version sends to queues alone",
        ),
        (
            "queue = 'arn:aws:sns:eu-west-1:123456789012:answers'",
            "not of a queue",
        ),
    ] {
        let problem = only(refused(single(text)));
        assert!(problem.starts_with("InvalidQueue"), "{problem}");
        assert!(problem.contains(what), "{problem}");
    }
}

// SPEC 1.10
#[test]
fn a_reply_to_the_queue_itself_is_warned_of() {
    let other_region = ARN.replace("eu-west-1", "eu-north-1");
    for (queue, reply, warned) in [
        ("orders", "orders", true),
        ("orders", "answers", false),
        ("orders", ARN, true),
        (URL, ARN, true),
        (&other_region, ARN, false),
    ] {
        let text = format!("queue = '{queue}'\nreply = '{reply}'");
        let resolved = resolved(&[single(&text)]);
        assert_eq!(resolved.problems, []);
        assert_eq!(!resolved.notes.is_empty(), warned, "{text}");
    }
}

// SPEC 1
#[test]
fn two_mounts_on_one_queue_are_warned_of() {
    let host = host("[aws]\nregion = 'eu-west-1'\n");
    let other_account = ARN.replace("123456789012", "210987654321");
    for (first, second, warned) in [
        ("orders", "orders", true),
        ("orders", "bills", false),
        ("orders", ARN, true),
        ("orders", "orders'\nregion = 'us-east-1", false),
        (URL, ARN, true),
        (&other_account, ARN, false),
    ] {
        let plugins = [
            mounted("a", HandlerKind::Single, &format!("queue = '{first}'")),
            mounted("b", HandlerKind::Single, &format!("queue = '{second}'")),
        ];
        let resolved = resolve(&host, &plugins);
        assert_eq!(resolved.subscriptions.len(), 2, "{:?}", resolved.problems);
        let notes = &resolved.notes;
        assert_eq!(!notes.is_empty(), warned, "{first} and {second}");
        if let [note] = &notes[..] {
            assert_eq!(note.plugin.as_deref(), Some("b"));
            assert!(note.message.contains("plugin a"), "{note}");
            assert_eq!(note.place, at("plugins/b.toml", 1));
        }
    }
}
