//! What stops the service at its start, and what a mount makes the host ask of SQS.

use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::json;

use crate::folder::Folder;
use crate::forwarder::Forwarder;
use crate::process::{Finished, Process, output, queuelet};
use crate::sqs::Counted;
use crate::{until, when};

/// The first ReceiveMessage of a host with this mount of `guest-outcome` on a queue `jobs`.
async fn first_receive(mount: &str) -> serde_json::Value {
    let local = Counted::with(&["jobs"]).await;
    let forwarder = Forwarder::to(Some(&local.endpoint)).await;
    let folder = Folder::with("outcome", mount);
    let _host = Process::run(&folder, &forwarder.endpoint, &[]);
    until("a receive", async || {
        forwarder
            .requests("ReceiveMessage", "jobs")
            .into_iter()
            .next()
    })
    .await
}

// Rules 1.4 and 1.11.
#[tokio::test]
async fn a_visibility_out_of_its_range_stops_the_service_before_any_call() {
    let sqs = Forwarder::to(None).await;
    for given in ["0.9s", "0s", "12h 1ms"] {
        let mount = format!("queue = \"jobs\"\nvisibility = \"{given}\"");
        let folder = Folder::new().and("outcome", "invoices", &mount);
        for command in ["check", "run"] {
            let mut run = queuelet(&[command, "--plugins", folder.arg()]);
            run.env("AWS_ENDPOINT_URL", &sqs.endpoint);
            Finished::of(run.output().await).assert_refused(&[
                "InvalidQueue",
                "plugin invoices",
                "queue jobs",
                &format!("visibility = {given}"),
                "1s to 12h",
            ]);
        }
    }
    assert_eq!(sqs.connections(), 0, "nothing was asked of SQS");
}

// Rule 1.4: both bounds are included, and SQS counts whole seconds.
#[tokio::test]
async fn a_visibility_is_asked_for_in_whole_seconds_rounded_up() {
    for (given, asked) in [("1.2s", 2), ("1s", 1), ("12h", 43_200)] {
        let mount = format!("queue = \"jobs\"\nvisibility = \"{given}\"");
        let receive = first_receive(&mount).await;
        assert_eq!(receive["VisibilityTimeout"], asked, "{given}");
    }
}

// Rules 1.3, 1.6 and 2.1.
#[tokio::test]
async fn a_receive_asks_for_all_that_a_message_has() {
    let receive = first_receive("queue = \"jobs\"").await;
    assert_eq!(receive["MaxNumberOfMessages"], 10);
    assert_eq!(receive["WaitTimeSeconds"], 20);
    assert_eq!(receive["MessageAttributeNames"], json!(["All"]));
    assert_eq!(receive["MessageSystemAttributeNames"], json!(["All"]));
    assert!(receive.get("VisibilityTimeout").is_none(), "{receive}");

    let receive = first_receive("queue = \"jobs\"\nreceive = 3\nwait = \"1.5s\"").await;
    assert_eq!(receive["MaxNumberOfMessages"], 3);
    assert_eq!(receive["WaitTimeSeconds"], 2);
}

// Rule 1.11.
#[tokio::test]
async fn every_mistake_of_every_mount_is_reported_in_one_go() {
    let mounts = r#"
        [[mount]]
        queue = "jobs-eu"
        visibility = "0s"
        wait = "21s"

        [[mount]]
        queue = "jobs-us"
        workers = 0
    "#;
    let folder =
        Folder::new()
            .and("outcome", "invoices", mounts)
            .and("echo", "right", "queue = \"right\"");
    for command in ["check", "run"] {
        output(&[command, "--plugins", folder.arg()])
            .await
            .assert_refused(&[
                "queue jobs-eu: visibility = 0s",
                "queue jobs-eu: wait = 21s",
                "0s to 20s",
                "queue jobs-us: workers = 0",
                "1 to 1024",
            ]);
    }
    let check = output(&["check", "--json", "--plugins", folder.arg()]).await;
    assert_eq!(check.json()["problems"].as_array().map(Vec::len), Some(3));
}

// Rule 7.2: a plugin that does not load stops the service as a wrong mount does.
#[tokio::test]
async fn a_file_that_is_no_plugin_stops_the_service_before_any_call() {
    let sqs = Forwarder::to(None).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"").write("broken.wasm", "not this");
    let mut run = queuelet(&["run", "--plugins", folder.arg()]);
    run.env("AWS_ENDPOINT_URL", &sqs.endpoint);
    Finished::of(run.output().await).assert_refused(&["broken.wasm", "it is not WebAssembly"]);
    assert_eq!(sqs.connections(), 0, "nothing was asked of SQS");
}

// Rules 1.5 and 7.2.
#[tokio::test]
async fn a_queue_that_hides_nothing_stops_the_service_unless_a_mount_names_a_visibility() {
    let local = Counted::start().await;
    local.sqs.create_hiding("bare", 0).await;
    local.sqs.send("bare", r#"{"do":"ack"}"#).await;
    let folder = Folder::new().and("outcome", "invoices", "queue = \"bare\"");
    let mut host = Process::run(&folder, &local.endpoint, &[]);
    assert_eq!(host.ended().await, Some(2));
    host.logs("a line that says what is wrong", 1, |line| {
        ["invoices", "bare", "visibility = 0s", "1s to 12h"]
            .iter()
            .all(|word| line.message().contains(word))
    })
    .await;
    assert_eq!(local.count("ReceiveMessage", "bare"), 0);

    let named = Folder::with("outcome", "queue = \"bare\"\nvisibility = \"5s\"");
    let host = Process::run(&named, &local.endpoint, &[]);
    host.logs_of("bare", "deleted", 1).await;
    assert_eq!(host.of("bare", "handling").len(), 1);
}

// Rules 7.2 and 2.4.
#[tokio::test]
async fn a_missing_queue_holds_up_no_other_and_is_picked_up_when_it_is_there() {
    let local = Counted::with(&["there"]).await;
    let folder = Folder::new()
        .and("outcome", "early", "queue = \"late\"")
        .and("outcome", "ready", "queue = \"there\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    let not_ready = host
        .logs("a line of the missing queue", 1, |line| {
            line.field("queue") == "late" && line.message().starts_with("not ready")
        })
        .await;
    assert!(
        not_ready[0].message().contains("create the queue"),
        "{not_ready:?}"
    );
    local.sqs.send("there", r#"{"do":"ack"}"#).await;
    local.sqs.emptied("there").await;
    assert!(host.of("late", "ready").is_empty());

    local.sqs.create(&["late"]).await;
    local.sqs.send("late", r#"{"do":"ack"}"#).await;
    host.logs_of("late", "deleted", 1).await;
    let said = host.lines(|line| line.message().starts_with("not ready"));
    assert_eq!(said.len(), 1, "once a change of state: {said:?}");
}

// Rule 2.4.
#[tokio::test]
async fn a_queue_that_is_created_again_is_picked_up_again_and_its_neighbour_never_notices() {
    let local = Counted::with(&["fickle", "steady"]).await;
    let folder = Folder::new().and("outcome", "a", "queue = \"fickle\"").and(
        "outcome",
        "b",
        "queue = \"steady\"",
    );
    let host = Process::run(&folder, &local.endpoint, &[]);
    local.sqs.send("fickle", r#"{"do":"ack"}"#).await;
    host.logs_of("fickle", "deleted", 1).await;

    local.sqs.delete("fickle").await;
    host.logs("a failed receive", 1, |line| {
        line.field("queue") == "fickle" && line.message().starts_with("receive failed")
    })
    .await;
    local.sqs.send("steady", r#"{"do":"ack"}"#).await;
    host.logs_of("steady", "deleted", 1).await;

    local.sqs.create(&["fickle"]).await;
    local.sqs.send("fickle", r#"{"do":"ack"}"#).await;
    host.logs_of("fickle", "deleted", 2).await;
    assert_eq!(host.of("fickle", "receives again").len(), 1);
    let troubled = host.lines(|line| {
        line.field("queue") == "steady" && ["WARN", "ERROR"].contains(&line.field("level"))
    });
    assert!(troubled.is_empty(), "{troubled:?}");
}

// Rules 1.8 and 10.2.
#[tokio::test]
async fn a_missing_queue_is_created_where_the_mount_says_so() {
    let local = Counted::start().await;
    let mount = "queue = \"made\"\nreply = \"answers\"\ncreate_if_missing = true";
    let folder = Folder::with("echo", mount);
    let host = Process::run(&folder, &local.endpoint, &[]);
    host.logs_of("made", "ready", 1).await;
    assert_eq!(local.count("CreateQueue", "made"), 1);
    for queue in ["made", "answers"] {
        let attributes = local
            .sqs
            .client
            .get_queue_attributes()
            .queue_url(local.sqs.url(queue))
            .attribute_names(QueueAttributeName::All)
            .send()
            .await
            .expect("it is there")
            .attributes
            .unwrap_or_default();
        let is = |name| attributes.get(&name).map(String::as_str);
        assert_eq!(is(QueueAttributeName::VisibilityTimeout), Some("30"));
        assert_eq!(
            is(QueueAttributeName::MessageRetentionPeriod),
            Some("345600")
        );
    }
}

// Rule 1.2.
#[tokio::test]
async fn a_name_that_sqs_does_not_take_is_mapped_and_said_once() {
    let local = Counted::with(&["jobs-eu-west"]).await;
    let folder = Folder::with("outcome", "queue = \"jobs.eu/west\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    local.sqs.send("jobs-eu-west", r#"{"do":"ack"}"#).await;
    host.logs_of("jobs-eu-west", "deleted", 1).await;
    let said = host.lines(|line| line.text.contains("jobs.eu/west"));
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(said[0].field("level"), "INFO");
}

// Rule 1.1.
#[tokio::test]
async fn a_queue_is_mounted_by_name_by_arn_and_by_url() {
    let local = Counted::with(&["by-name", "by-arn", "by-url"]).await;
    let mounts = format!(
        "[[mount]]\nqueue = \"by-name\"\n\
         [[mount]]\nqueue = \"arn:aws:sqs:us-east-1:000000000000:by-arn\"\n\
         [[mount]]\nqueue = \"{}\"",
        local.sqs.url("by-url")
    );
    let folder = Folder::with("outcome", &mounts);
    let _host = Process::run(&folder, &local.endpoint, &[]);
    for queue in ["by-name", "by-arn", "by-url"] {
        local.sqs.send(queue, r#"{"do":"ack"}"#).await;
        local.sqs.emptied(queue).await;
        assert_eq!(local.deletes(queue), 1, "{queue}");
    }
    let resolved = ["by-name", "by-arn", "by-url"].map(|q| local.count("GetQueueUrl", q));
    assert_eq!(resolved, [1, 1, 0], "a URL is used as it is");
}

// Rule 1.12: a mount that is off is left alone.
#[tokio::test]
async fn a_mount_that_is_not_enabled_is_not_served() {
    let local = Counted::with(&["on", "off"]).await;
    let mounts = "[[mount]]\nqueue = \"on\"\n[[mount]]\nqueue = \"off\"\nenabled = false";
    let folder = Folder::with("outcome", mounts);
    let _host = Process::run(&folder, &local.endpoint, &[]);
    for queue in ["off", "on"] {
        local.sqs.send(queue, r#"{"do":"ack"}"#).await;
    }
    local.sqs.emptied("on").await;
    until("a second receive of the other", async || {
        when(local.count("ReceiveMessage", "on") > 1)
    })
    .await;
    assert_eq!(local.count("ReceiveMessage", "off"), 0);
    assert_eq!(local.sqs.held("off").await.visible, 1);
}

// Rule 1.11.
#[tokio::test]
async fn what_is_said_of_settings_at_the_start_is_one_line_each() {
    let sqs = Forwarder::to(None).await;
    let noted = "[[mount]]\nqueue = \"jobs\"\n[[mount]]\nqueue = \"jobs\"";
    let pinned = format!("queue = \"others\"\nsha256 = \"{:064}\"", 0);
    let folder = Folder::new()
        .and("outcome", "noted", noted)
        .and("outcome", "pinned", &pinned);
    let mut host = Process::run(&folder, &sqs.endpoint, &[]);
    assert_eq!(host.ended().await, Some(2));
    let says = |level: &str, plugin: &str| {
        let of = format!("plugin {plugin}");
        let lines = host.lines(|line| line.field("level") == level && line.message().contains(&of));
        assert_eq!(lines.len(), 1, "{level}: {lines:?}");
        lines[0].message().to_owned()
    };
    let note = says("WARN", "noted");
    assert!(note.starts_with("in "), "its level is said once: {note}");
    let problem = says("ERROR", "pinned");
    assert!(problem.contains("sha256: its SHA-256 is"), "{problem}");
    for message in [note, problem] {
        assert!(!message.contains('\n'), "{message}");
    }
}
