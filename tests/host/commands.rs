//! The commands beside `run`: what they print, and their exit codes.

use std::fs;

use aws_sdk_sqs::types::MessageSystemAttributeName;
use serde_json::{Value, json};

use crate::folder::Folder;
use crate::guests;
use crate::process::{Finished, Process, output, queuelet};
use crate::sqs::{Counted, Sqs};

// Rules 8.5 and 8.6.
#[tokio::test]
async fn inspect_says_what_a_plugin_is() {
    let folder = Folder::new()
        .plugin("report", "reports-eu")
        .plugin("outcome-batch", "batch")
        .plugin("publishes", "publishes");
    let file = folder.file("reports-eu.wasm");
    let content = fs::read(&file).expect("it was just written");
    let inspected = output(&["inspect", "--json", file.to_str().expect("it is text")]).await;
    assert_eq!(inspected.code, Some(0));
    let said = inspected.json();
    assert_eq!(said["name"], "reports-eu");
    assert_eq!(said["digest"], sha256(&content));
    assert_eq!(said["world"], "single-handler");
    assert_eq!(said["wit"], "queuelet:handler@0.1.0");
    assert_eq!(
        said["descriptor"],
        json!({"queue": "reports", "visibility": "2s"})
    );
    assert_eq!(said["size"], content.len());
    let imports = said["imports"].as_array().expect("it is a list");
    assert!(imports.contains(&json!("queuelet:handler/log@0.1.0")));
    let publish = json!("queuelet:handler/publish@0.1.0");
    assert!(!imports.contains(&publish), "it publishes nothing");

    let publishes = folder.file("publishes.wasm");
    let publishes = output(&["inspect", "--json", publishes.to_str().expect("it is text")]).await;
    let imports = publishes.json()["imports"].clone();
    assert!(imports.as_array().expect("a list").contains(&publish));

    let batch = folder.file("batch.wasm");
    let batch = output(&["inspect", "--json", batch.to_str().expect("it is text")]).await;
    assert_eq!(batch.json()["world"], "batch-handler");
    assert_eq!(batch.json()["descriptor"], json!({}));

    let for_people = output(&["inspect", file.to_str().expect("it is text")]).await;
    assert_eq!(for_people.code, Some(0));
    for word in ["single-handler", "visibility = \"2s\"", &sha256(&content)] {
        assert!(for_people.stdout.contains(word), "{for_people:?}");
    }
}

fn sha256(content: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(content);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

// Rules 7.2 and 8.6.
#[tokio::test]
async fn inspect_says_why_a_file_is_no_plugin() {
    // The smallest component there is: it exports nothing.
    let component: &[u8] = b"\0asm\x0d\0\x01\0";
    let mut cut = fs::read(guests::wasm("outcome")).expect("it is built");
    cut.truncate(cut.len() / 2);
    for (content, says) in [
        (&b""[..], "it is empty"),
        (b"# a plugin\n", "it is not WebAssembly"),
        (b"\0asm\x01\0\0\0", "core module and no component"),
        (component, "it is no handler"),
        (&cut, "it does not compile"),
    ] {
        let folder = Folder::new().write("file.wasm", content);
        let file = folder.file("file.wasm");
        output(&["inspect", file.to_str().expect("it is text")])
            .await
            .assert_refused(&["file.wasm", says]);
    }
    // As a pipe would be, which cannot be read to its end.
    let folder = Folder::new();
    let file = folder.file("folder.wasm");
    fs::create_dir(&file).expect("it can be made");
    output(&["inspect", file.to_str().expect("it is text")])
        .await
        .assert_refused(&["folder.wasm", "not a file"]);
    output(&["inspect", "/nowhere/file.wasm"])
        .await
        .assert_refused(&["/nowhere/file.wasm", "cannot be read"]);
}

// Rules 1.11 and 1.12.
#[tokio::test]
async fn check_says_what_is_mounted_and_makes_no_call() {
    let folder = Folder::new()
        .and("outcome", "jobs", "queue = \"jobs\"\nworkers = 4")
        .plugin("report", "report");
    let checked = output(&["check", "--json", "--plugins", folder.arg()]).await;
    assert_eq!(checked.code, Some(0));
    let said = checked.json();
    assert_eq!(said["ok"], true);
    for empty in ["refused", "problems", "notes"] {
        assert_eq!(said[empty], json!([]), "{empty}");
    }
    let names = |key: &str, of: &str| -> Vec<Value> {
        let list = said[key].as_array().expect("it is a list").iter();
        list.map(|entry| entry[of].clone()).collect()
    };
    assert_eq!(names("plugins", "name"), ["jobs", "report"]);
    assert_eq!(names("subscriptions", "plugin"), ["jobs", "report"]);
    assert_eq!(names("subscriptions", "workers"), [4, 1]);
    assert_eq!(said["subscriptions"][1]["visibility"], "2s");

    let for_people = output(&["check", "--plugins", folder.arg()]).await;
    assert!(
        for_people.stdout.contains("2 mounted, nothing wrong"),
        "{for_people:?}"
    );
}

// Rules 1.11 and 7.2.
#[tokio::test]
async fn check_has_every_problem_in_its_document() {
    let folder = Folder::new()
        .and("outcome", "jobs", "queue = \"jobs\"\nwait = \"21s\"")
        .write("broken.wasm", "");
    let checked = output(&["check", "--json", "--plugins", folder.arg()]).await;
    assert_eq!(checked.code, Some(2));
    let said = checked.json();
    assert_eq!(said["ok"], false);
    let problem = &said["problems"][0];
    for (key, value) in [
        ("class", "InvalidQueue"),
        ("plugin", "jobs"),
        ("queue", "jobs"),
        ("setting", "wait"),
        ("given", "21s"),
        ("allowed", "0s to 20s"),
    ] {
        assert_eq!(problem[key], value, "{key}");
    }
    assert_eq!(problem["place"]["line"], 2);
    assert_eq!(said["refused"][0]["message"], "it is empty");
}

// Rule 1.12.
#[tokio::test]
async fn an_unknown_key_is_an_error_that_names_the_nearest() {
    let mount = "queue = \"jobs\"\nvisibility_timeout = \"30s\"";
    let folder = Folder::with("outcome", mount);
    for command in ["check", "run"] {
        output(&[command, "--plugins", folder.arg()])
            .await
            .assert_refused(&["outcome.toml:2", "visibility_timeout", "`visibility`"]);
    }
}

// Rule 1.12.
#[tokio::test]
async fn a_plugin_that_nobody_gave_a_queue_is_an_error_that_says_where_to_write_one() {
    let folder = Folder::new().plugin("outcome", "jobs");
    output(&["check", "--plugins", folder.arg()])
        .await
        .assert_refused(&["InvalidQueue", "plugin jobs", "jobs.toml"]);
}

// Rules 1 and 1.12: what is served but perhaps not meant is a warning.
#[tokio::test]
async fn two_mounts_on_one_queue_and_a_mount_file_without_a_plugin_are_warned_of() {
    let folder = Folder::new()
        .and("outcome", "first", "queue = \"jobs\"")
        .and("outcome", "second", "queue = \"jobs\"")
        .write("orphan.toml", "queue = \"jobs\"");
    let checked = output(&["check", "--json", "--plugins", folder.arg()]).await;
    assert_eq!(checked.code, Some(0), "they are no errors");
    let said = checked.json();
    let notes: Vec<_> = said["notes"].as_array().expect("it is a list").clone();
    assert_eq!(notes.len(), 2, "{notes:?}");
    for (plugin, says) in [("second", "plugin first"), ("orphan", "orphan.wasm")] {
        let note = notes.iter().find(|note| note["plugin"] == plugin);
        let note = note.unwrap_or_else(|| panic!("none of {plugin}: {notes:?}"));
        assert_eq!(note["level"], "warn");
        let message = note["message"].as_str().unwrap_or_default();
        assert!(message.contains(says), "{note}");
    }

    let local = Counted::with(&["jobs"]).await;
    let host = Process::run(&folder, &local.endpoint, &[]);
    host.started().await;
    let warned = host.lines(|line| line.field("level") == "WARN");
    assert_eq!(warned.len(), 2, "{warned:?}");
}

#[tokio::test]
async fn a_plugins_folder_that_is_missing_or_empty_is_said() {
    output(&["run", "--plugins", "/nowhere/plugins"])
        .await
        .assert_refused(&["there is no plugins folder /nowhere/plugins"]);
    let empty = Folder::new();
    output(&["run", "--plugins", empty.arg()])
        .await
        .assert_refused(&["no plugin in", empty.arg()]);
    output(&["check", "--plugins", empty.arg()])
        .await
        .assert_refused(&["nothing is mounted"]);
}

// Rule 10.1.
#[tokio::test]
async fn local_prints_its_endpoint_alone_and_ends_on_sigterm() {
    let mut local = Process::start(queuelet(&["local", "--listen", "127.0.0.1:0"]));
    let endpoint = local.first_line().await;
    let sqs = Sqs::at(&endpoint);
    sqs.create(&["jobs"]).await;
    sqs.send("jobs", "anything").await;
    sqs.receive_all("jobs", 1).await;
    local.terminate();
    assert_eq!(local.ended().await, Some(0));
    assert_eq!(local.stdout(), [endpoint]);
}

#[tokio::test]
async fn local_keeps_its_queues_in_a_snapshot_and_names_one_that_is_broken() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("queues.json");
    let path = file.to_str().unwrap();
    let args = ["local", "--listen", "127.0.0.1:0", "--snapshot", path];
    let mut first = Process::start(queuelet(&args));
    let sqs = Sqs::at(&first.first_line().await);
    sqs.create(&["jobs"]).await;
    sqs.send("jobs", "kept").await;
    first.terminate();
    assert_eq!(first.ended().await, Some(0));

    let mut second = Process::start(queuelet(&args));
    let sqs = Sqs::at(&second.first_line().await);
    sqs.receive_all("jobs", 1).await;
    second.terminate();
    assert_eq!(second.ended().await, Some(0));

    std::fs::write(&file, "nonsense").unwrap();
    output(&args).await.assert_refused(&[path, "broken"]);
    let without = ["run", "--snapshot", path];
    output(&without).await.assert_refused(&["--local"]);
}

// Rule 10.1: nobody else may reach it.
#[tokio::test]
async fn local_refuses_to_listen_where_others_could_reach_it() {
    let args = ["local", "--listen", "0.0.0.0:0"];
    output(&args).await.assert_refused(&["0.0.0.0", "loopback"]);
}

/// `send` with these arguments to this SQS.
async fn send(local: &Counted, args: &[&str]) -> Finished {
    let mut command = queuelet(&[&["send"], args].concat());
    command.env("AWS_ENDPOINT_URL", &local.endpoint);
    Finished::of(command.output().await)
}

#[tokio::test]
async fn send_sends_what_it_is_told_and_prints_the_ids() {
    let local = Counted::with(&["jobs"]).await;
    let args = [
        "jobs",
        "a body",
        "--header",
        "kind=a=b",
        "--group-id",
        "tenant-7",
    ];
    let sent = send(&local, &args).await;
    assert_eq!(sent.code, Some(0), "{sent:?}");
    let message = local.sqs.receive_all("jobs", 1).await.remove(0);
    assert_eq!(Some(sent.stdout.trim()), message.message_id());
    assert_eq!(message.body(), Some("a body"));
    let headers = message.message_attributes().expect("it has one");
    assert_eq!(headers["kind"].string_value(), Some("a=b"));
    let system = message.attributes().expect("all were asked for");
    assert_eq!(
        system[&MessageSystemAttributeName::MessageGroupId],
        "tenant-7"
    );

    let sent = send(&local, &["jobs", "again", "--repeat", "3", "--json"]).await;
    let said = sent.json();
    assert_eq!(said["queue"], "jobs");
    assert_eq!(said["url"], local.sqs.url("jobs"));
    let mut ids: Vec<_> = said["message_ids"]
        .as_array()
        .expect("it is a list")
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    let received = local.sqs.receive_all("jobs", 3).await;
    let mut arrived: Vec<_> = received.into_iter().filter_map(|m| m.message_id).collect();
    ids.sort_unstable();
    arrived.sort_unstable();
    assert_eq!(ids, arrived);

    let late = send(&local, &["jobs", "later", "--delay", "10m"]).await;
    assert_eq!(late.code, Some(0));
    assert_eq!(local.sqs.held("jobs").await.delayed, 1);
}

#[tokio::test]
async fn send_says_what_is_wrong_by_its_exit_code() {
    let local = Counted::with(&["jobs"]).await;
    for (args, says) in [
        (&["jobs", "x", "--header", "no value"][..], "NAME=VALUE"),
        (&["jobs", "x", "--delay", "16m"], "15m"),
        (&["", "x"], "queue"),
    ] {
        send(&local, args).await.assert_refused(&[says]);
    }
    let missing = send(&local, &["nowhere", "x"]).await;
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(missing.stderr.contains("nowhere"), "{missing:?}");
    assert_eq!(local.total("SendMessage"), 0);
}
