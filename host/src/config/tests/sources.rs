//! Where a setting comes from, and which source wins.

use super::*;
use crate::config::{EnvValue, Instances, OnLostLease};

// SPEC 1.3 to 1.8, 5.6
#[test]
fn a_queue_alone_is_served_with_every_default() {
    let subscription = served(&HostConfig::default(), single("queue = 'orders'"));
    assert_eq!(subscription.queue, "orders".parse().unwrap());
    assert_eq!(subscription.region, None);
    assert_eq!(subscription.wait, Duration::from_secs(20));
    assert_eq!(subscription.visibility, None);
    assert_eq!(subscription.receive.get(), 10);
    assert_eq!(subscription.workers.get(), 1);
    assert!(subscription.prefetch);
    assert!(!subscription.create_if_missing);
    assert_eq!(subscription.reply, None);
    assert_eq!(subscription.timeout, None);
    assert_eq!(subscription.retry.delay, Duration::from_secs(1));
    assert_eq!(subscription.retry.max_delay, Duration::from_secs(300));
    assert_eq!(subscription.retry.jitter, 0.5);
}

// SPEC 1
#[test]
fn a_mount_wins_over_the_descriptor_and_that_over_the_hosts_defaults() {
    let host = host("[defaults]\nworkers = 2\nwait = '2s'\nvisibility = '2m'\ntimeout = '2s'\n");
    let mut plugin = described(
        HandlerKind::Single,
        &[("queue", "theirs"), ("workers", "3"), ("wait", "3s")],
    );
    plugin.mount_file = single("# mine\nqueue = 'mine'\nworkers = 4\n").mount_file;
    let subscription = served(&host, plugin);
    let in_force: Vec<_> = subscription
        .explain()
        .iter()
        .map(|row| (row.setting, row.value.as_str(), row.origin.to_string()))
        .collect();
    let row = |setting, value, origin: &str| (setting, value, origin.to_owned());
    assert_eq!(
        in_force,
        [
            row("queue", "mine", "plugins/orders.toml:2"),
            row("region", "the host's own", "default"),
            row("wait", "3s", "descriptor"),
            row("visibility", "2m", "queuelet.toml:4"),
            row("receive", "10", "default"),
            row("workers", "4", "plugins/orders.toml:3"),
            row("prefetch", "true", "default"),
            row("create_if_missing", "false", "default"),
            row(
                "max_attempts",
                "as the queue's own redrive policy says",
                "default"
            ),
            row("dead_letter", "none", "default"),
            row("reply", "none", "default"),
            row("reply_group", "the source message's", "default"),
            row("destinations", "none", "default"),
            row("subscribe", "none", "default"),
            row("unwrap_sns", "false", "default"),
            row("settle", "each", "default"),
            row("role_arn", "none", "default"),
            row("timeout", "2s", "queuelet.toml:5"),
            row("retry_delay", "1s", "default"),
            row("retry_max_delay", "5m", "default"),
            row("retry_jitter", "0.5", "default"),
            row("memory", "128MiB", "default"),
            row("cpu_time", "none", "default"),
            row("max_output", "1MiB", "default"),
            row("env", "none", "default"),
            row("http", "none", "default"),
            row("instances", "fresh", "default"),
            row("reuse_messages", "1000", "default"),
            row("reuse_age", "10m", "default"),
            row("reuse_growth", "16MiB", "default"),
            row("on_lost_lease", "continue", "default"),
            row("circuit_after", "10", "default"),
            row("circuit_pause", "5s", "default"),
            row("circuit_max_pause", "5m", "default"),
            row("sha256", "any", "default"),
        ]
    );
}

// Rules 9.1 to 9.3: what an operator grants, and that no value of the environment is shown.
#[test]
fn what_a_mount_grants_is_in_force_and_no_value_is_shown() {
    let text = "queue = 'q'\nmemory = '64MiB'\ncpu_time = '2s'\nmax_output = '1KiB'\n\
                http = ['api.example', '10.0.0.0/8:80']\ninstances = 'reuse'\n\
                reuse_messages = 5\non_lost_lease = 'interrupt'\ncircuit_after = 0\n\
                [env]\nMODE = 'hush-hush'\nTOKEN = 'env:ORDERS_TOKEN'\nKEY = 'file:key.pem'\n\
                ODD = 'text:env:x'\n";
    let subscription = served(&HostConfig::default(), single(text));
    let sandbox = &subscription.sandbox;
    assert_eq!(sandbox.memory, 64 << 20);
    assert_eq!(sandbox.cpu_time, Some(Duration::from_secs(2)));
    assert_eq!(sandbox.max_output, 1024);
    assert_eq!(sandbox.http.len(), 2);
    assert_eq!(
        sandbox.env["MODE"],
        EnvValue::Text("hush-hush".to_owned().into())
    );
    assert_eq!(sandbox.env["TOKEN"], EnvValue::Env("ORDERS_TOKEN".into()));
    assert_eq!(sandbox.env["KEY"], EnvValue::File("plugins/key.pem".into()));
    assert_eq!(
        sandbox.env["ODD"],
        EnvValue::Text("env:x".to_owned().into())
    );
    let Instances::Reuse(reuse) = &subscription.instances else {
        panic!("{:?}", subscription.instances);
    };
    assert_eq!(reuse.messages.get(), 5);
    assert_eq!(subscription.on_lost_lease, OnLostLease::Interrupt);
    assert_eq!(subscription.circuit.after, 0);
    let shown = format!(
        "{subscription:?}{}",
        serde_json::to_string(&subscription).unwrap()
    );
    assert!(!shown.contains("hush-hush"), "{shown}");
    assert!(shown.contains("env:ORDERS_TOKEN"), "{shown}");
}

// Rule 9.3: what is said of reuse where nothing is reused.
#[test]
fn a_limit_of_reuse_without_reuse_is_warned_of() {
    let resolved = resolve(
        &HostConfig::default(),
        &[single("queue = 'q'\nreuse_age = '1m'\n")],
    );
    assert!(resolved.problems.is_empty());
    let warned = resolved
        .notes
        .iter()
        .filter(|note| note.level == Level::Warn);
    assert_eq!(warned.count(), 1);
}

// SPEC 1.12
#[test]
fn a_descriptor_alone_mounts_a_plugin() {
    let pairs = [
        ("queue", "orders"),
        ("visibility", "1.2s"),
        ("workers", "8"),
        ("prefetch", "false"),
        ("retry_jitter", "0"),
        ("reply", "answers"),
    ];
    let subscription = served(
        &HostConfig::default(),
        described(HandlerKind::Single, &pairs),
    );
    assert_eq!(subscription.visibility, Some(Duration::from_secs(2)));
    assert_eq!(subscription.workers.get(), 8);
    assert!(!subscription.prefetch);
    assert_eq!(subscription.retry.jitter, 0.0);
    assert_eq!(subscription.reply, Some("answers".parse().unwrap()));
}

// SPEC 1.12
#[test]
fn a_mount_table_wins_over_the_common_settings_of_its_file() {
    let text = "workers = 2\nwait = '5s'\n\n[[mount]]\nqueue = 'a'\n\n[[mount]]\nqueue = 'b'\n\
                workers = 3\n";
    let resolved = resolved(&[single(text)]);
    assert_eq!(resolved.problems, []);
    let mounts: Vec<_> = resolved
        .subscriptions
        .iter()
        .map(|s| (s.mount, s.queue.to_string(), s.workers.get(), s.wait))
        .collect();
    let five = Duration::from_secs(5);
    assert_eq!(
        mounts,
        [(0, "a".to_owned(), 2, five), (1, "b".to_owned(), 3, five)]
    );
}

// SPEC 1.12
#[test]
fn a_mount_that_is_not_enabled_is_left_out_right_or_wrong() {
    let text = "[[mount]]\nqueue = 'a'\n[[mount]]\nenabled = false\nwait = '1h'\n";
    let resolved = resolved(&[single(text)]);
    assert_eq!(resolved.problems, []);
    assert_eq!(resolved.subscriptions.len(), 1);
    assert_eq!(resolved.notes[0].level, Level::Info);
    assert_eq!(resolved.notes[0].place, at("plugins/orders.toml", 4));
}

// SPEC 1.12
#[test]
fn a_plugin_that_is_off_by_its_descriptor_is_turned_on_by_a_mount() {
    let mut plugin = described(
        HandlerKind::Single,
        &[("queue", "orders"), ("enabled", "false")],
    );
    assert_eq!(resolved(&[plugin.clone()]).subscriptions, []);
    plugin.mount_file = single("enabled = true").mount_file;
    assert_eq!(resolved(&[plugin]).subscriptions.len(), 1);
}

// SPEC 8.3
#[test]
fn settings_are_the_same_wherever_they_are_written() {
    let a = served(&HostConfig::default(), single("queue = 'orders'\n"));
    let b = served(
        &HostConfig::default(),
        described(HandlerKind::Single, &[("queue", "orders"), ("wait", "20s")]),
    );
    assert_ne!(a, b);
    assert!(a.same_settings(&b));
    let c = served(
        &HostConfig::default(),
        single("queue = 'orders'\nwait = '1s'"),
    );
    assert!(!a.same_settings(&c));
}

#[test]
fn what_is_resolved_can_be_printed_as_json() {
    let plugins = [
        single("queue = 'orders'\nvisibility = '90s'"),
        mounted("bills", HandlerKind::Single, "queue = 'bills'\nwait = '1h'"),
    ];
    let json = serde_json::to_value(resolved(&plugins)).unwrap();
    let subscription = &json["subscriptions"][0];
    assert_eq!(subscription["queue"], "orders");
    assert_eq!(subscription["visibility"], "1m 30s");
    assert_eq!(subscription["retry"]["max_delay"], "5m");
    assert_eq!(
        subscription["in_force"][0]["origin"],
        "plugins/orders.toml:1"
    );
    let problem = &json["problems"][0];
    assert_eq!(problem["class"], "InvalidQueue");
    assert_eq!(problem["place"]["line"], 2);
}
