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
fn a_topic_cannot_be_read() {
    let text = "queue = 'arn:aws:sns:eu-west-1:123456789012:answers'";
    let problem = only(refused(single(text)));
    assert!(problem.starts_with("InvalidQueue"), "{problem}");
    assert!(problem.contains("not of a queue"), "{problem}");
}

// SPEC 1.10, 6.6, 6.7
#[test]
fn replies_go_to_a_queue_or_a_topic_and_lists_are_arrays_or_commas() {
    let host = HostConfig::default();
    let subscription = served(
        &host,
        single(
            "queue = 'orders.fifo'\nreply = 'sns:answers.fifo'\nreply_group = 'all'\n\
             destinations = ['audit', 'sns:alarms']\nsubscribe = ['incoming.fifo']\n",
        ),
    );
    let topic = Some("sns:answers.fifo".parse().unwrap());
    assert_eq!(subscription.reply, topic);
    assert_eq!(subscription.reply_group.as_deref(), Some("all"));
    let listed = ["audit", "sns:alarms"].map(|target| target.parse().unwrap());
    assert_eq!(subscription.destinations, listed);
    assert_eq!(
        subscription.subscribe,
        ["sns:incoming.fifo".parse().unwrap()]
    );

    let mut plugin = described(
        HandlerKind::Single,
        &[("queue", "orders"), ("destinations", "audit, sns:alarms")],
    );
    assert_eq!(served(&host, plugin.clone()).destinations, listed);
    // The operator takes away what the descriptor asks for.
    plugin.mount_file = single("destinations = []").mount_file;
    assert_eq!(served(&host, plugin).destinations, []);

    for (line, what) in [
        ("destinations = ['a', 3, ['b']]", "an array"),
        ("destinations = ['a', '']", "empty"),
        (
            "subscribe = ['arn:aws:sqs:eu-west-1:123456789012:q']",
            "sqs",
        ),
        ("reply = ['a']", "one value"),
        ("reply_group = 'a b'", "' '"),
    ] {
        let problem = only(refused(single(&format!("queue = 'orders'\n{line}"))));
        assert!(problem.contains(what), "{line}: {problem}");
    }
}

// SPEC 6.7
#[test]
fn a_fifo_queue_is_subscribed_to_fifo_topics_alone() {
    let text = "queue = 'orders.fifo'\nsubscribe = ['news.fifo', 'alerts']";
    let problem = only(refused(single(text)));
    assert!(
        problem.contains("sns:alerts is a standard topic"),
        "{problem}"
    );
    let text = "queue = 'orders'\nsubscribe = ['news.fifo', 'alerts']";
    served(&HostConfig::default(), single(text));
}

// SPEC 1.2
#[test]
fn a_destination_whose_name_was_changed_is_noted() {
    let text = "queue = 'orders'\ndestinations = ['audit', 'topic:alerts', 'sns:alerts']";
    let resolved = resolved(&[single(text)]);
    let [note] = &resolved.notes[..] else {
        panic!("{:?}", resolved.notes);
    };
    assert_eq!(note.given.as_deref(), Some("topic:alerts"));
    assert!(note.message.contains("topic-alerts"), "{note}");
}

// SPEC 1.9
#[test]
fn half_a_redrive_policy_is_refused_with_the_half_that_is_missing() {
    for (line, missing) in [
        ("max_attempts = 5", "`dead_letter` is missing"),
        ("dead_letter = 'orders-dead'", "`max_attempts` is missing"),
    ] {
        let problem = only(refused(single(&format!("queue = 'orders'\n{line}"))));
        assert!(problem.starts_with("IncompleteRedrive"), "{problem}");
        assert!(problem.contains(missing), "{problem}");
    }
    // The one half may come from the plugin and the other from the operator.
    let mut plugin = described(
        HandlerKind::Single,
        &[("queue", "orders"), ("max_attempts", "5")],
    );
    plugin.mount_file = single("dead_letter = 'orders-dead'").mount_file;
    let subscription = served(&HostConfig::default(), plugin);
    assert_eq!(subscription.max_attempts.map(|n| n.get()), Some(5));
    assert_eq!(
        subscription.dead_letter,
        Some("orders-dead".parse().unwrap())
    );
}

// SPEC 1.9
#[test]
fn a_dead_letter_queue_is_of_the_sources_type_region_and_account() {
    let other_region = ARN.replace("eu-west-1", "us-east-1");
    let other_account = ARN
        .replace("123456789012", "210987654321")
        .replace("orders", "dead");
    for (queue, dead, what) in [
        ("orders", "dead.fifo", "FIFO queue"),
        ("orders.fifo", "dead", "standard queue"),
        ("orders", "orders", "the queue that is read"),
        (ARN, &format!("{other_region}-dead"), "region"),
        (URL, &other_account, "account"),
    ] {
        let text = format!("queue = '{queue}'\nmax_attempts = 5\ndead_letter = '{dead}'");
        let problem = only(refused(single(&text)));
        assert!(problem.starts_with("InvalidQueue"), "{problem}");
        assert!(problem.contains(what), "{text}: {problem}");
    }
    for attempts in ["0", "1001"] {
        let text = format!("queue = 'orders'\nmax_attempts = {attempts}\ndead_letter = 'dead'");
        let problem = only(refused(single(&text)));
        assert!(problem.contains("1 to 1000"), "{problem}");
    }
}

// SPEC 1.12
#[test]
fn a_role_is_an_arn_of_iam_and_settle_is_one_of_two_words() {
    let role = "arn:aws:iam::123456789012:role/workers/orders";
    let text = format!("queue = 'orders'\nrole_arn = '{role}'\nsettle = 'batched'");
    let subscription = served(&HostConfig::default(), single(&text));
    assert_eq!(subscription.role_arn.as_deref(), Some(role));
    assert_eq!(subscription.settle, SettleMode::Batched);
    for (line, what) in [
        ("role_arn = 'orders'", "not the ARN of a role"),
        ("role_arn = 'arn:aws:iam::1234:role/a'", "12 digits"),
        ("role_arn = 'arn:aws:iam::123456789012:user/a'", "no role"),
        ("settle = 'often'", "each or batched"),
    ] {
        let problem = only(refused(single(&format!("queue = 'orders'\n{line}"))));
        assert!(problem.contains(what), "{line}: {problem}");
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
