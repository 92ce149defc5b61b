//! What is refused, and how it is told.

use super::*;

// SPEC 1.11
#[test]
fn every_mistake_of_every_mount_is_reported_at_once() {
    let orders = mounted(
        "orders",
        HandlerKind::Single,
        "queue = 'orders'\n# too long\nwait = '21s'\nvisibilty = '30s'\n",
    );
    let bills = mounted(
        "bills",
        HandlerKind::Batch,
        "[[mount]]\nqueue = 'bills'\n\n[[mount]]\nqueue = 'old-bills'\nvisibility = '0.9s'\n",
    );
    let resolved = resolved(&[orders, bills]);
    let problems: Vec<_> = resolved
        .problems
        .iter()
        .map(|p| {
            (
                p.class,
                p.plugin.as_deref().unwrap(),
                p.queue.as_deref().unwrap(),
                p.setting.as_deref().unwrap(),
                p.given.as_deref().unwrap(),
                p.allowed.as_deref(),
                p.place.clone(),
            )
        })
        .collect();
    assert_eq!(
        problems,
        [
            (
                Class::InvalidQueue,
                "orders",
                "orders",
                "wait",
                "21s",
                Some("0s to 20s"),
                at("plugins/orders.toml", 3)
            ),
            (
                Class::Config,
                "orders",
                "orders",
                "visibilty",
                "30s",
                None,
                at("plugins/orders.toml", 4)
            ),
            (
                Class::InvalidQueue,
                "bills",
                "old-bills",
                "visibility",
                "0.9s",
                Some("1s to 12h"),
                at("plugins/bills.toml", 6)
            ),
        ]
    );
    // The mount that nothing is wrong with stands.
    assert_eq!(resolved.subscriptions.len(), 1);
    assert_eq!(resolved.subscriptions[0].queue.to_string(), "bills");
}

// SPEC 1.12
#[test]
fn no_queue_anywhere_is_an_invalid_queue_that_says_where_to_write_it() {
    let nowhere = only(refused(plugin("orders", HandlerKind::Single)));
    assert!(
        nowhere.starts_with("InvalidQueue in descriptor"),
        "{nowhere}"
    );
    assert!(
        nowhere.contains("orders.toml beside orders.wasm"),
        "{nowhere}"
    );
    let mounts = refused(single("wait = '1s'\n[[mount]]\n\n[[mount]]\nworkers = 2\n"));
    assert_eq!(mounts.len(), 2);
    assert!(mounts[0].contains("plugins/orders.toml:2"), "{mounts:?}");
    assert!(mounts[1].contains("plugins/orders.toml:4"), "{mounts:?}");
}

// SPEC 1.11: one mistake is one problem
#[test]
fn a_queue_that_cannot_be_read_is_not_also_missing() {
    let problem = only(refused(single("queue = ''")));
    assert!(
        problem.contains("the name of the queue is empty"),
        "{problem}"
    );
    let mut plugin = described(HandlerKind::Single, &[("queue", "orders")]);
    plugin.mount_file = single("queue = 'arn:aws:sqs:orders'").mount_file;
    let problem = only(refused(plugin));
    assert!(problem.contains("six parts"), "{problem}");
}

// SPEC 1.12
#[test]
fn what_cannot_be_read_is_refused_with_its_line_and_what_to_do() {
    for (line, what) in [
        ("visibilty = '2s'", "nearest is `visibility`"),
        ("wait = 20", "write 20s"),
        ("wait = 1.5", "write 1.5s"),
        ("wait = true", "not a length of time"),
        ("wait = ['1s']", "this is an array"),
        ("wait = { s = 1 }", "this is a table"),
        ("wait.s = 1", "this is a table"),
        ("workers = '2s'", "not a whole number"),
        ("workers = 99999999999999999999", "1 to 1024"),
        ("workers = 0", "1 to 1024"),
        ("prefetch = 'no'", "true or false"),
        ("prefetch = 1", "true or false"),
        ("timeout = '0s'", "too short"),
        ("mounts = 1", "nearest is `mount`"),
        (
            "log = 'debug'",
            "the known names are queue, region, wait, visibility",
        ),
        ("log = 'debug'", "sha256, mount"),
        ("max_atempts = 3", "nearest is `max_attempts`"),
        ("instance = 3", "nearest is `instances`"),
        ("instances = 'warm'", "write one of them"),
        ("memory = 128", "write 128MiB"),
        ("memory = '1KiB'", "1MiB to 4GiB"),
        ("memory = '5GiB'", "1MiB to 4GiB"),
        ("env = 'A=1'", "a table of names and values"),
        ("env.A = ['x']", "this is an array"),
        ("env.'A=B' = 'x'", "which no variable's can"),
        ("env.A = 'env:'", "names no variable"),
        ("env.A = 'file:'", "names no file"),
        ("http = ['*']", "http"),
        ("http = true", "this is a number, a flag or a date"),
        ("http = -1", "this is a number, a flag or a date"),
        ("http = 1979-05-27", "this is a number, a flag or a date"),
        ("http = [true]", "it takes a text or a list of texts"),
        ("sha256 = []", "it allows no file"),
        ("sha256 = ' '", "it allows no file"),
        ("sha256 = ['']", "it allows no file"),
        ("http = ['a.example/path']", "http"),
        ("sha256 = 'abc'", "64 hexadecimal digits"),
        ("circuit_after = 1001", "0 to 1000"),
        ("circuit_pause = '10m'", "lower the first"),
        (
            "mount = 1",
            "this is a number, a flag or a date; write [[mount]]",
        ),
        ("on_lost_lease = 'stop'", "continue or interrupt"),
        ("wait = 20s", "not TOML"),
        ("queue = 'twice'", "not TOML: duplicate key"),
    ] {
        let text = format!("queue = 'orders'\n\n{line}\n");
        let problems = refused(single(&text));
        let told = |problem: &String| {
            problem.contains(what) && problem.contains(" in plugins/orders.toml:3, plugin orders")
        };
        assert!(problems.iter().any(told), "{line}: {problems:#?}");
    }
}

// SPEC 1.12
#[test]
fn a_table_that_was_meant_as_a_list_is_told_how_and_read_all_the_same() {
    let problems = refused(single("[mount]\nqueue = 'orders'\nwait = '1h'\n"));
    assert_eq!(problems.len(), 2);
    assert!(
        problems[0].contains("write [[mount]], with two brackets"),
        "{problems:?}"
    );
    assert!(problems[1].contains("orders.toml:3"), "{problems:?}");
}

// SPEC 1.12
#[test]
fn a_descriptor_has_the_same_vocabulary_as_a_mount() {
    for (key, value, what) in [
        ("visibilty", "2s", "nearest is `visibility`"),
        ("wait", "20", "write 20s"),
        ("wait", "21s", "0s to 20s"),
        ("queue", "other", "named twice"),
        ("http", "a.example", "must not grant itself"),
        ("env", "A", "must not grant itself"),
        ("memory", "1GiB", "must not grant itself"),
        ("instances", "reuse", "must not grant itself"),
        ("sha256", "", "must not grant itself"),
        ("mount", "x", "no setting has this name"),
    ] {
        let plugin = described(HandlerKind::Single, &[("queue", "orders"), (key, value)]);
        let problem = only(refused(plugin));
        assert!(problem.contains(what), "{key}: {problem}");
        assert!(
            problem.contains("in descriptor, plugin orders"),
            "{problem}"
        );
    }
}

// SPEC 1.11
#[test]
fn a_mistake_of_a_descriptor_is_reported_once_however_often_it_is_mounted() {
    let mut plugin = described(HandlerKind::Single, &[("wait", "1h")]);
    plugin.mount_file = single("[[mount]]\nqueue = 'a'\n[[mount]]\nqueue = 'b'\n").mount_file;
    only(refused(plugin));
}

// SPEC 1.6
#[test]
fn a_handler_has_the_size_of_its_kind() {
    let used = |problem: String, key: &str| {
        assert!(problem.starts_with("Config"), "{problem}");
        assert!(problem.contains(&format!("use `{key}`")), "{problem}");
    };
    used(only(refused(single("queue = 'a'\nbatch = 5"))), "receive");
    used(only(refused(batch("queue = 'a'\nreceive = 5"))), "batch");
    // The host's defaults hold one for each kind.
    let host = host("[defaults]\nbatch = 4\nreceive = 3\n");
    let receive = |plugin| served(&host, plugin).receive.get();
    assert_eq!(receive(single("queue = 'a'")), 3);
    assert_eq!(receive(batch("queue = 'a'")), 4);
    assert_eq!(receive(batch("queue = 'a'\nbatch = 7")), 7);
}

// SPEC 1.6
#[test]
fn more_than_ten_in_a_batch_works_as_ten_and_is_warned_of_once() {
    let resolved = resolved(&[batch(
        "batch = 50\n[[mount]]\nqueue = 'a'\n[[mount]]\nqueue = 'b'",
    )]);
    assert_eq!(resolved.problems, []);
    for subscription in &resolved.subscriptions {
        assert_eq!(subscription.receive.get(), 10);
    }
    let [note] = &resolved.notes[..] else {
        panic!("{:?}", resolved.notes);
    };
    assert_eq!(note.level, Level::Warn);
    assert_eq!(note.given.as_deref(), Some("50"));
    assert_eq!(note.place, at("plugins/orders.toml", 1));
}

// SPEC 5.6
#[test]
fn the_first_retry_delay_is_not_above_the_longest() {
    for text in [
        "retry_delay = '10m'",
        "retry_max_delay = '500ms'",
        "retry_delay = '2s'\nretry_max_delay = '1s'",
    ] {
        let problem = only(refused(single(&format!("queue = 'a'\n{text}"))));
        assert!(
            problem.starts_with("Config in plugins/orders.toml:2"),
            "{problem}"
        );
        assert!(problem.contains("lower the first or raise"), "{problem}");
    }
    let text = "queue = 'a'\nretry_delay = '10m'\nretry_max_delay = '10m'\nretry_jitter = 0.25";
    let retry = served(&HostConfig::default(), single(text)).retry;
    assert_eq!(retry.delay, Duration::from_secs(600));
    assert_eq!(retry.max_delay, Duration::from_secs(600));
    assert_eq!(retry.jitter, 0.25);
}

// Rule 9.1: a value that was meant for a plugin's environment is shown to nobody, whatever is wrong
// with the file.
#[test]
fn a_value_of_the_environment_is_in_no_problem() {
    for text in [
        "[env]\nTOKEN = hush-hush",
        "[env]\nTOKEN = 'hush-hush",
        "[env]\nTOKEN: 'hush-hush'",
        "[env]\nTOKEN = 'hush-hush'\nTOKEN = 'hush-hush'",
        "[env]\nTOKEN = 'hush-hush' x",
        "[env]\nTOKEN = \"hush-hush\\q\"",
        "[env]\nTOKEN = ['hush-hush']",
        "[env]\nTOKEN = \"hush-hush\\u0000\"",
        "env = {TOKEN = 'hush-hush'",
        "env = 'TOKEN=hush-hush'",
        "env = ['TOKEN=hush-hush']",
        "TOKEN = 'hush-hush'",
        "[envs]\nTOKEN = 'hush-hush'",
        "env.TOKEN = 'hush-hush'\nenv.TOKEN.x = 'hush-hush'",
        "[env]\nTOKEN = '''hush-hush",
    ] {
        let problems = refused(single(&format!("queue = 'orders'\n{text}")));
        assert!(!problems.is_empty(), "{text}");
        for problem in problems {
            assert!(!problem.contains("hush"), "{text}: {problem}");
        }
    }
}

// Rule 1.11: of a list too.
#[test]
fn everything_that_is_wrong_with_a_list_is_told_at_once() {
    let text = "queue = 'orders'\nhttp = ['ftp://x', 'fine.example.com', 'a.example.com:99999']";
    let problem = only(refused(single(text)));
    for says in ["ftp", "99999"] {
        assert!(problem.contains(says), "{problem}");
    }
    let lists = [
        ("destinations", "arn:aws:sqs:one", "arn:aws:sqs:two"),
        ("subscribe", "arn:aws:sns:one", "arn:aws:sns:two"),
        ("sha256", "1234", "5678"),
    ];
    for (setting, one, other) in lists {
        let text = format!("queue = 'orders'\n{setting} = ['{one}', '{other}']");
        let problem = only(refused(single(&text)));
        let (_, message) = problem.split_once("\n").unwrap();
        for says in [one, other] {
            assert!(message.contains(says), "{setting}: {problem}");
        }
    }
}
