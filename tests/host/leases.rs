//! Leases: what is held stays hidden, however long its handler takes and whatever others do.

use std::time::Duration;

use crate::folder::Folder;
use crate::forwarder::Forwarder;
use crate::process::Process;
use crate::sqs::Counted;

/// Whoever keeps every core busy does so alone among the tests of this process.
pub(crate) static BURNING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

const SLEEP_5: &str = r#"{"do":"sleep","ms":5000}"#;

/// Asserts that the messages of a queue were each handled once, at their first receive.
fn assert_handled_once(host: &Process, queue: &str, messages: usize) {
    let handling = host.of(queue, "handling");
    assert_eq!(handling.len(), messages, "{handling:#?}");
    assert!(
        handling.iter().all(|line| line.receive_count() == 1),
        "{handling:#?}"
    );
}

// Rules 4.1, 4.5 and 4.7: the example that must work.
#[tokio::test]
async fn a_report_of_five_seconds_under_two_is_rendered_once() {
    let local = Counted::with(&["reports"]).await;
    // No mount file: the descriptor alone names queue and visibility.
    let folder = Folder::new().plugin("report", "report");
    let host = Process::run(&folder, &local.endpoint, &[]);
    local.sqs.send("reports", r#"{"title":"the year"}"#).await;
    host.logs_of("reports", "deleted", 1).await;
    let extensions = local.count("ChangeMessageVisibility", "reports");
    assert!(
        (3..=5).contains(&extensions),
        "about one a second, and it was {extensions}"
    );

    // Long enough for two more, were there any; and for the message to come back.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(
        local.count("ChangeMessageVisibility", "reports"),
        extensions,
        "none follows the delete"
    );
    assert_handled_once(&host, "reports", 1);
    assert_eq!(local.deletes("reports"), 1);
    assert_eq!(local.sqs.held("reports").await.all(), 0);
}

// Rule 4.1: there is no floor.
#[tokio::test]
async fn a_visibility_of_one_second_is_extended_every_half_second() {
    let local = Counted::with(&["jobs"]).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"\nvisibility = \"1s\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    local.sqs.send("jobs", SLEEP_5).await;
    host.logs_of("jobs", "deleted", 1).await;
    let extensions = local.count("ChangeMessageVisibility", "jobs");
    assert!(
        (8..=10).contains(&extensions),
        "about two a second, and it was {extensions}"
    );
    assert_handled_once(&host, "jobs", 1);
}

// Rule 3.6: the lease starts with the receive, not with the handler.
#[tokio::test]
async fn a_message_that_waits_for_a_worker_is_kept_hidden_too() {
    let local = Counted::with(&["jobs"]).await;
    let orders = vec![r#"{"do":"sleep","ms":2500}"#; 3];
    local.sqs.send_all("jobs", orders).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"\nvisibility = \"2s\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    host.logs_of("jobs", "deleted", 3).await;
    assert_handled_once(&host, "jobs", 3);
    assert_eq!(local.deletes("jobs"), 3);
}

// Rule 1.5.
#[tokio::test]
async fn without_a_visibility_of_its_own_a_mount_leaves_it_to_the_queue_and_re_arms_with_that() {
    let local = Counted::start().await;
    local.sqs.create_hiding("jobs", 2).await;
    let forwarder = Forwarder::to(Some(&local.endpoint)).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"");
    let host = Process::run(&folder, &forwarder.endpoint, &[]);
    local.sqs.send("jobs", SLEEP_5).await;
    host.logs_of("jobs", "deleted", 1).await;
    assert_handled_once(&host, "jobs", 1);
    for receive in forwarder.requests("ReceiveMessage", "jobs") {
        assert!(receive.get("VisibilityTimeout").is_none(), "{receive}");
    }
    let extensions = forwarder.requests("ChangeMessageVisibility", "jobs");
    assert!(
        (3..=5).contains(&extensions.len()),
        "about one a second: {extensions:?}"
    );
    for extension in extensions {
        assert_eq!(extension["VisibilityTimeout"], 2);
    }
}

// Rule 4.6: nothing but the extending keeps it hidden.
#[tokio::test]
async fn what_a_killed_host_held_comes_back_when_its_time_out_lapses() {
    let local = Counted::with(&["jobs"]).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"\nvisibility = \"2s\"");
    let first = Process::run(&folder, &local.endpoint, &[]);
    local
        .sqs
        .send("jobs", r#"{"do":"sleep","ms":600000}"#)
        .await;
    first.logs_of("jobs", "extended", 2).await;
    assert_eq!(local.sqs.held("jobs").await.hidden, 1);
    drop(first);
    let second = Process::run(&folder, &local.endpoint, &[]);
    let handling = second.logs_of("jobs", "handling", 1).await;
    // The poll that the first host had open may have taken it once more: SQS need not hear of a
    // client that has gone.
    assert!(handling[0].receive_count() >= 2, "{handling:?}");
}

// Rule 4.2.
#[tokio::test]
async fn handlers_that_burn_every_core_delay_no_lease() {
    let _alone = BURNING.lock().await;
    let local = Counted::with(&["spin", "jobs"]).await;
    let folder = Folder::new()
        .and("loops", "spinner", "queue = \"spin\"\nworkers = 6")
        .and(
            "outcome",
            "worker",
            "queue = \"jobs\"\nvisibility = \"2s\"\nworkers = 2",
        );
    let host = Process::run(&folder, &local.endpoint, &[]);
    local.sqs.send_all("spin", vec!["for ever"; 6]).await;
    host.logs_of("spin", "handling", 6).await;
    local.sqs.send_all("jobs", vec![SLEEP_5; 2]).await;
    host.logs_of("jobs", "deleted", 2).await;
    assert_handled_once(&host, "jobs", 2);
    assert_handled_once(&host, "spin", 6);
    assert_eq!(local.deletes("jobs"), 2);
    let lost = host.lines(|line| line.message().starts_with("lease lost"));
    assert!(lost.is_empty(), "{lost:#?}");
    assert!(host.of("spin", "handled").is_empty(), "they still spin");
}
