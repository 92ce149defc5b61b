//! What the admin endpoint and `queuelet status` say of a host.

use std::fs;

use queuelet::plugin::Digest;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::admin::Admin;
use crate::folder::Folder;
use crate::process::{Finished, output, queuelet};
use crate::reload::{put, version};
use crate::sqs::Counted;
use crate::{until, when};

const ACK: &str = r#"{"do":"ack"}"#;
const FAIL: &str = r#"{"do":"fail"}"#;

fn digest(content: &[u8]) -> String {
    Digest::of(content).to_string()
}

// Rule 8.5.
#[tokio::test]
async fn the_status_shows_each_version_as_it_comes_and_what_is_refused() {
    let local = Counted::with(&["jobs"]).await;
    let first = version("witness", 1);
    let folder = Folder::new()
        .write("w.wasm", &first)
        .write("w.toml", "queue = \"jobs\"\nworkers = 3");
    let (_host, admin) = Admin::beside(&folder, &local.endpoint, &[]).await;
    let status = admin
        .stands("ready", |status| status["ready"] == true)
        .await;
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["state"], "running");
    let plugin = &status["plugins"][0];
    assert_eq!(plugin["name"], "w");
    assert_eq!(plugin["files"], "known");
    assert_eq!(plugin["refused"], Value::Null);
    let serving = &plugin["serving"];
    assert_eq!(serving["version"], 1);
    assert_eq!(serving["digest"], digest(&first));
    assert_eq!(
        serving["mount_digest"],
        digest(b"queue = \"jobs\"\nworkers = 3")
    );
    assert_eq!(serving["size"], first.len());
    assert_eq!(serving["kind"], "single");
    for time in [&serving["since"], &status["since"], &status["now"]] {
        let time = time.as_str().expect("a time is text");
        humantime::parse_rfc3339(time).expect("it is RFC 3339");
    }
    let mount = &plugin["mounts"][0];
    assert_eq!(mount["queue"], "jobs");
    assert_eq!(mount["workers"], 3);
    assert_eq!(mount["ready"], true);
    assert_eq!(mount["circuit"]["state"], "closed");

    let second = version("witness", 2);
    put(&folder.file("w.wasm"), &second);
    let status = admin
        .stands("version 2", |status| {
            status["plugins"][0]["serving"]["version"] == 2
        })
        .await;
    assert_eq!(status["plugins"][0]["serving"]["digest"], digest(&second));
    let metrics = admin.metrics().await;
    let labels = [
        ("plugin", "w"),
        ("digest", &*digest(&second)),
        ("version", "2"),
    ];
    assert_eq!(metrics.get("queuelet_plugin_info", &labels), 1.0);
    assert_eq!(
        metrics.get("queuelet_plugin_loads_total", &[("plugin", "w")]),
        2.0
    );
    assert_eq!(
        metrics.get("queuelet_plugin_refused", &[("plugin", "w")]),
        0.0
    );

    put(&folder.file("w.wasm"), "no plugin");
    let status = admin
        .stands("a refusal", |status| {
            status["plugins"][0]["refused"] != Value::Null
        })
        .await;
    let plugin = &status["plugins"][0];
    assert_eq!(plugin["refused"]["digest"], digest(b"no plugin"));
    let reason = plugin["refused"]["reason"].as_str();
    assert!(reason.is_some_and(|reason| reason.contains("not WebAssembly")));
    assert_eq!(plugin["serving"]["version"], 2, "it goes on");
    assert_eq!(status["ready"], true, "what serves is ready");
    let metrics = admin.metrics().await;
    assert_eq!(
        metrics.get("queuelet_plugin_refused", &[("plugin", "w")]),
        1.0
    );

    // `queuelet status` says the same to people.
    let said = Finished::of(admin.command(&[]).output().await);
    assert_eq!(said.code, Some(0), "{said:?}");
    for word in [
        "newer file refused",
        &digest(&second)[..8],
        &digest(b"no plugin")[..8],
        "not WebAssembly",
        "jobs",
    ] {
        assert!(said.stdout.contains(word), "{word}: {}", said.stdout);
    }

    fs::remove_file(folder.file("w.wasm")).expect("it can be removed");
    admin
        .stands("it is gone", |status| {
            status["plugins"] == serde_json::json!([])
        })
        .await;
}

// Rule 2.4.
#[tokio::test]
async fn readiness_names_what_is_not_ready_and_comes_with_the_queue() {
    let local = Counted::with(&["there"]).await;
    let folder = Folder::new()
        .and("outcome", "late", "queue = \"later\"\nwait = \"1s\"")
        .and("outcome", "there", "queue = \"there\"");
    let (mut host, admin) = Admin::beside(&folder, &local.endpoint, &[]).await;
    until("a line of what is missing", async || {
        let answer = admin.get("/readyz").await;
        when(answer.status == 503 && answer.body.starts_with("late on later: "))
    })
    .await;
    assert_eq!(
        admin.get("/healthz").await.status,
        200,
        "it lives all the same"
    );
    let unready = Finished::of(admin.command(&[]).output().await);
    assert_eq!(unready.code, Some(1), "{unready:?}");
    assert!(
        unready.stdout.contains("not ready: late on later: "),
        "{unready:?}"
    );
    let metrics = admin.metrics().await;
    let ready = |queue| metrics.get("queuelet_subscription_ready", &[("queue", queue)]);
    assert_eq!((ready("later"), ready("there")), (0.0, 1.0));
    assert_eq!(metrics.get("queuelet_ready", &[]), 0.0);

    local.sqs.create(&["later"]).await;
    until("everything is ready", async || {
        let answer = admin.get("/readyz").await;
        when(answer.status == 200 && answer.body == "ready\n")
    })
    .await;
    // One that goes is missed again.
    local.sqs.delete("later").await;
    until("it is missed", async || {
        when(admin.get("/readyz").await.status == 503)
    })
    .await;
    host.terminate();
    assert_eq!(host.ended().await, Some(0));
}

// Rule 7.2: the endpoint is there before any queue is open.
#[tokio::test]
async fn a_host_that_waits_for_its_queues_says_so() {
    // It takes connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let endpoint = format!("http://{}", silent.local_addr().expect("it is bound"));
    let folder = Folder::with("outcome", "queue = \"jobs\"");
    let (_host, admin) = Admin::beside(&folder, &endpoint, &[]).await;
    let status = admin
        .stands("it is opening", |status| {
            status["plugins"] != serde_json::json!([])
        })
        .await;
    assert_eq!(status["state"], "starting");
    assert_eq!(status["plugins"][0]["files"], "opening");
    let answer = admin.get("/readyz").await;
    assert_eq!(answer.status, 503);
    assert!(answer.body.contains("starting"), "{answer:?}");
    assert_eq!(admin.get("/healthz").await.status, 200);
}

// Rule 7.3: it is there until the end.
#[tokio::test]
async fn a_host_that_drains_is_not_ready_and_says_so_until_its_end() {
    let local = Counted::with(&["jobs"]).await;
    let folder = Folder::with("sleeps", "queue = \"jobs\"\nwait = \"1s\"");
    let (mut host, admin) = Admin::beside(&folder, &local.endpoint, &["--drain", "4s"]).await;
    local.sqs.send("jobs", "for ever").await;
    host.logs_of("jobs", "handling", 1).await;
    host.terminate();
    let status = admin
        .stands("it drains", |status| status["state"] == "draining")
        .await;
    assert_eq!(status["ready"], false);
    assert_eq!(status["instances"]["live"], 1);
    let answer = admin.get("/readyz").await;
    assert_eq!(answer.status, 503);
    assert!(answer.body.contains("draining"), "{answer:?}");
    assert_eq!(admin.get("/healthz").await.status, 200);
    assert_eq!(host.ended().await, Some(1), "a handler was interrupted");
}

// Rule 5.6: the reason of a failure is a label.
#[tokio::test]
async fn metrics_count_what_was_handled_and_every_one_is_documented() {
    let local = Counted::with(&["jobs", "out"]).await;
    let odd = "od\"d\\one";
    let mount = "queue = \"jobs\"\nworkers = 4\nretry_delay = \"1m\"\nreply = \"out\"";
    let folder = Folder::new().and("outcome", odd, mount).and(
        "echo",
        "echo",
        "queue = \"out\"\nenabled = false",
    );
    let (host, admin) = Admin::beside(&folder, &local.endpoint, &[]).await;
    let bodies = [vec![ACK; 20], vec![FAIL; 3], vec!["no order"; 2]].concat();
    local.sqs.send_all("jobs", bodies).await;
    host.logs_of("jobs", "deleted", 20).await;
    host.failures("jobs", 5).await;
    host.logs_of("jobs", "put back", 5).await;
    let metrics = admin.metrics().await;
    let labels = [("plugin", odd), ("queue", "jobs")];
    for (name, count) in [
        ("queuelet_messages_received_total", 25.0),
        ("queuelet_messages_handled_total", 25.0),
        ("queuelet_messages_acked_total", 20.0),
        ("queuelet_messages_deleted_total", 20.0),
        ("queuelet_messages_dropped_total", 0.0),
        ("queuelet_leases_lost_total", 0.0),
        ("queuelet_subscription_ready", 1.0),
        ("queuelet_subscription_workers", 4.0),
    ] {
        assert_eq!(metrics.get(name, &labels), count, "{name}");
    }
    for (reason, count) in [("error", 3.0), ("decode", 2.0), ("trap", 0.0)] {
        let [plugin, queue] = labels;
        let failed = metrics.get(
            "queuelet_messages_failed_total",
            &[plugin, queue, ("reason", reason)],
        );
        assert_eq!(failed, count, "{reason}");
    }
    for (state, is) in [("closed", 1.0), ("open", 0.0), ("half-open", 0.0)] {
        let circuit = metrics.get("queuelet_circuit_state", &[("state", state)]);
        assert_eq!(circuit, is, "{state}");
    }
    assert_eq!(local.deletes("jobs"), 20);
    let status = admin.status().await;
    let plugins = status["plugins"].as_array().expect("it is a list");
    let plugin = plugins.iter().find(|plugin| plugin["name"] == odd);
    let mount = &plugin.expect("it is there")["mounts"][0];
    assert_eq!(mount["counts"]["messages_handled"], 25);
    assert_eq!(mount["failed"]["error"], 3);

    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/operations.md");
    let page = fs::read_to_string(page).expect("it is there");
    for name in metrics.names() {
        assert!(
            page.contains(&format!("`{name}`")),
            "{name} is not documented"
        );
    }
    let documented = page.split('`').filter(|word| {
        word.starts_with("queuelet_") && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
    });
    for name in documented {
        assert!(metrics.names().contains(&name), "{name} is no metric");
    }
}

#[tokio::test]
async fn status_is_a_table_or_the_hosts_own_document() {
    let local = Counted::with(&["jobs", "more"]).await;
    let mounts = "[[mount]]\nqueue = \"jobs\"\n[[mount]]\nqueue = \"more\"\n";
    let folder = Folder::new()
        .and("outcome", "two\x1b[31m", mounts)
        .write("broken.wasm", "");
    let (host, admin) = Admin::beside(&folder, &local.endpoint, &["--on-bad-plugin", "skip"]).await;
    local.sqs.send_all("jobs", vec![ACK; 13]).await;
    host.logs_of("jobs", "deleted", 13).await;
    admin
        .stands("ready", |status| status["ready"] == true)
        .await;

    let table = Finished::of(admin.command(&[]).output().await);
    assert_eq!(table.code, Some(0), "{table:?}");
    assert!(!table.stdout.contains('\x1b'), "{table:?}");
    let row = |word: &str| {
        let mut lines = table.stdout.lines();
        let line = lines.find(|line| line.contains(word));
        line.unwrap_or_else(|| panic!("no {word} in {}", table.stdout))
            .to_owned()
    };
    let jobs = row("jobs");
    for word in ["two\\u{1b}[31m", "serving", "ago", "yes", "closed", " 13 "] {
        assert!(jobs.contains(word), "{word}: {jobs}");
    }
    assert!(row("more").contains("yes"));
    assert!(row("broken ").contains("refused"));
    assert!(table.stdout.contains("it is empty"), "{}", table.stdout);
    assert!(
        table.stdout.contains("of 1000 instances"),
        "{}",
        table.stdout
    );

    let url = format!("http://{}", admin.address);
    let json = output(&["status", "--json", "--admin", &url]).await;
    assert_eq!(json.code, Some(0), "{json:?}");
    let (mut said, mut own) = (json.json(), admin.status().await);
    for document in [&mut said, &mut own] {
        for moving in ["now", "uptime_seconds"] {
            document[moving] = Value::Null;
        }
    }
    assert_eq!(said, own);

    // Found by the file too.
    let by_file = Folder::new().write("queuelet.toml", format!("admin = \"{}\"", admin.address));
    let mut command = queuelet(&["status"]);
    command
        .env_remove("QUEUELET_ADMIN")
        .current_dir(by_file.path());
    let found = Finished::of(command.output().await);
    assert_eq!(found.code, Some(0), "{found:?}");
}

#[tokio::test]
async fn status_says_what_is_to_come_and_when_an_open_circuit_is_tried() {
    let local = Counted::with(&["jobs", "more"]).await;
    let mount = "queue = \"more\"\ncircuit_after = 1\ncircuit_pause = \"1h\"\n\
                 circuit_max_pause = \"1h\"";
    let folder = Folder::new()
        .and("outcome", "works", "queue = \"jobs\"")
        .and("traps", "fails", mount);
    let (host, admin) = Admin::beside(&folder, &local.endpoint, &[]).await;
    host.logs_of("jobs", "ready", 1).await;
    local.sqs.send("more", ACK).await;
    host.logs("an open circuit", 1, |line| {
        line.message().starts_with("the circuit is open")
    })
    .await;
    put(
        &folder.file("works.toml"),
        "queue = \"jobs\"\nreply = \"nowhere\"",
    );
    host.logs("a target that is missing", 1, |line| {
        line.field("plugin") == "works" && line.message().starts_with("not ready")
    })
    .await;
    let table = Finished::of(admin.command(&[]).output().await);
    assert_eq!(table.code, Some(0), "the mount before serves: {table:?}");
    for says in [
        "to come: works on jobs: ",
        "nowhere",
        "until the next is",
        "circuit open: fails on more: ",
        "keep failing (trap)",
        "is tried in 59m",
        " UTC; the log",
        "create the queue",
    ] {
        assert!(table.stdout.contains(says), "{says}: {}", table.stdout);
    }
    assert!(!table.stdout.contains("ending"), "{}", table.stdout);
    // What the two count together stands once.
    let to_come = table.stdout.lines().find(|line| line.contains(" no "));
    let dashes = to_come.map(|line| line.matches(" - ").count());
    assert_eq!(dashes, Some(3), "{}", table.stdout);
}

#[tokio::test]
async fn status_says_what_to_do_where_no_host_answers() {
    let free = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let address = free.local_addr().expect("it is bound").to_string();
    drop(free);
    let nobody = output(&["status", "--admin", &address]).await;
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
    for word in [&address, "queuelet run", "--admin"] {
        assert!(nobody.stderr.contains(word), "{nobody:?}");
    }
    // Something that is no host of ours.
    let local = Counted::start().await;
    let other = output(&["status", "--admin", &local.endpoint]).await;
    assert_eq!(other.code, Some(1), "{other:?}");
    assert!(other.stderr.contains("no status"), "{other:?}");
    output(&["status"]).await.assert_refused(&["is off"]);
    output(&["status", "--admin", "https://a"])
        .await
        .assert_refused(&["http://HOST:PORT"]);
    output(&["status", "--admin", "127.0.0.1:0"])
        .await
        .assert_refused(&["its log"]);
}

// Rule 8.7.
#[tokio::test]
async fn an_open_circuit_is_in_status_and_metrics_and_the_host_is_ready_all_the_same() {
    let local = Counted::with(&["jobs"]).await;
    let mount = "queue = \"jobs\"\nwait = \"1s\"\nretry_delay = \"1m\"\ncircuit_after = 2\n\
                 circuit_pause = \"1h\"\ncircuit_max_pause = \"1h\"";
    let folder = Folder::with("outcome", mount);
    let (_host, admin) = Admin::beside(&folder, &local.endpoint, &[]).await;
    local.sqs.send_all("jobs", vec![FAIL; 2]).await;
    let circuit = |status: &Value| status["plugins"][0]["mounts"][0]["circuit"].clone();
    let status = admin
        .stands("an open circuit", |status| {
            circuit(status)["state"] == "open"
        })
        .await;
    let until = circuit(&status)["until"].as_str().map(str::to_owned);
    let until = until.expect("it is open until a time");
    humantime::parse_rfc3339(&until).expect("it is RFC 3339");
    assert_eq!(admin.get("/readyz").await.status, 200);
    let metrics = admin.metrics().await;
    let open = metrics.get("queuelet_circuit_state", &[("state", "open")]);
    assert_eq!(open, 1.0);
    assert_eq!(metrics.get("queuelet_circuits_opened_total", &[]), 1.0);
    let said = Finished::of(admin.command(&[]).output().await);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains(" open "), "{}", said.stdout);

    // Other settings close it, and its counts go on.
    put(
        &folder.file("outcome.toml"),
        format!("{mount}\ntimeout = \"9s\""),
    );
    admin
        .stands("a closed circuit", |status| {
            circuit(status)["state"] == "closed" && circuit(status)["until"] == Value::Null
        })
        .await;
    let metrics = admin.metrics().await;
    assert_eq!(metrics.get("queuelet_circuits_opened_total", &[]), 1.0);
}
