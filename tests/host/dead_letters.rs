//! Redrive policies that a mount declares, and messages that are given up.

use aws_sdk_sqs::types::QueueAttributeName::RedrivePolicy;
use serde_json::json;

use crate::folder::Folder;
use crate::process::{Process, output};
use crate::sqs::Counted;

const REDRIVE: &str = "max_attempts = 3\ndead_letter = \"dead\"";

/// Starts a host of `outcome` on `jobs`, and ends it once it is ready.
async fn start_and_end(local: &Counted, mount: &str) -> Process {
    let folder = Folder::with("outcome", &format!("queue = \"jobs\"\n{mount}"));
    let mut host = Process::run(&folder, &local.endpoint, &[]);
    host.logs_of("jobs", "ready", 1).await;
    host.terminate();
    assert_eq!(host.ended().await, Some(0));
    host
}

// Rule 1.9.
#[tokio::test]
async fn a_redrive_policy_is_written_only_where_it_differs_and_the_old_one_is_logged() {
    let local = Counted::with(&["jobs", "dead"]).await;
    let mount = |most: u32| format!("wait = \"0s\"\nmax_attempts = {most}\ndead_letter = \"dead\"");
    let written = |host: &Process| host.of("jobs", "redrive policy written");
    let first = start_and_end(&local, &mount(3)).await;
    assert_eq!(local.count("SetQueueAttributes", "jobs"), 1);
    assert_eq!(written(&first)[0].field("old"), "none");
    let policy = local.sqs.document("jobs", RedrivePolicy).await;
    assert_eq!(policy["deadLetterTargetArn"], json!(local.sqs.arn("dead")));
    assert_eq!(policy["maxReceiveCount"], 3);

    let second = start_and_end(&local, &mount(3)).await;
    assert_eq!(local.count("SetQueueAttributes", "jobs"), 1, "it is there");
    assert!(written(&second).is_empty());

    let third = start_and_end(&local, &mount(4)).await;
    assert_eq!(local.count("SetQueueAttributes", "jobs"), 2);
    let old = &written(&third)[0];
    assert!(
        old.field("old").contains("\"maxReceiveCount\":3"),
        "{old:?}"
    );
    let policy = local.sqs.document("jobs", RedrivePolicy).await;
    assert_eq!(policy["maxReceiveCount"], 4);

    start_and_end(&local, "wait = \"0s\"").await;
    assert_eq!(
        local.count("SetQueueAttributes", "jobs"),
        2,
        "none declared"
    );
}

// Rules 1.9, 1.11 and 7.1.
#[tokio::test]
async fn half_a_redrive_policy_stops_the_service_and_names_the_half_that_is_missing() {
    for (half, missing) in [
        ("max_attempts = 3", "dead_letter"),
        ("dead_letter = \"dead\"", "max_attempts"),
    ] {
        let folder = Folder::with("outcome", &format!("queue = \"jobs\"\n{half}"));
        for command in ["check", "run"] {
            let args = [command, "--plugins", folder.arg()];
            let refused = output(&args).await;
            refused.assert_refused(&["IncompleteRedrive", missing, "outcome.toml:2"]);
        }
    }
}

// Rules 1.9 and 5.6.
#[tokio::test]
async fn a_declared_policy_moves_what_fails_once_it_was_received_so_often() {
    let local = Counted::with(&["jobs", "dead"]).await;
    let id = local.sqs.send("jobs", r#"{"do":"fail"}"#).await;
    let mount = format!("queue = \"jobs\"\nretry_delay = \"0s\"\nretry_jitter = 0\n{REDRIVE}");
    let folder = Folder::with("outcome", &mount);
    let host = Process::run(&folder, &local.endpoint, &[]);
    let moved = local.sqs.receive_all("dead", 1).await;
    assert_eq!(moved[0].message_id(), Some(&*id));
    assert_eq!(host.failures("jobs", 3).await.len(), 3);
    assert_eq!(local.deletes("jobs"), 0);
}

// Rules 5.2 and 1.9.
#[tokio::test]
async fn a_drop_on_the_last_receive_of_a_declared_policy_is_left_to_the_dead_letter_queue() {
    let local = Counted::with(&["jobs", "dead"]).await;
    let id = local.sqs.send("jobs", r#"{"do":"drop"}"#).await;
    let mount = "queue = \"jobs\"\nmax_attempts = 1\ndead_letter = \"dead\"";
    let folder = Folder::with("outcome", mount);
    let _host = Process::run(&folder, &local.endpoint, &[]);
    let moved = local.sqs.receive_all("dead", 1).await;
    assert_eq!(moved[0].message_id(), Some(&*id));
    assert_eq!(local.deletes("jobs"), 0);
}

// Rule 5.14.
#[tokio::test]
async fn a_message_that_is_given_up_goes_to_the_dead_letter_queue_with_headers_and_reason() {
    let local = Counted::with(&["jobs", "dead"]).await;
    let folder = Folder::with("outcome", &format!("queue = \"jobs\"\n{REDRIVE}"));
    let host = Process::run(&folder, &local.endpoint, &[]);
    let order = r#"{"do":"dead-letter"}"#;
    let attributes = [("kind", "order"), ("tenant", "größer")];
    let id = local.sqs.send_with("jobs", order, &attributes).await;

    let dead = local.sqs.receive_all("dead", 1).await.remove(0);
    assert_eq!(dead.body(), Some(order));
    let headers = dead.message_attributes().expect("it has some");
    let text = |name: &str| headers.get(name).and_then(|header| header.string_value());
    assert_eq!(text("kind"), Some("order"));
    assert_eq!(text("tenant"), Some("größer"));
    assert_eq!(text("queuelet-dead-letter-reason"), Some("told to"));
    assert_eq!(headers.len(), 3);

    let deleted = host.logs_of("jobs", "deleted", 1).await;
    assert_eq!(deleted[0].field("id"), id);
    assert_eq!(host.of("jobs", "handling").len(), 1, "at once");
    assert_eq!(local.sqs.held("jobs").await.all(), 0);
}
