//! What a reload does to handlers, to long polls and to subscriptions.

use std::fs;
use std::time::Duration;

use super::{assert_each_once, live, put, short, version, witness, witnessed};
use crate::folder::Folder;
use crate::process::Process;
use crate::sqs::{Counted, Held};
use crate::{until, when};

// Rule 8.3.
#[tokio::test]
async fn a_handler_in_flight_ends_on_its_version_while_the_next_message_is_handled_by_the_new_one()
{
    let local = Counted::with(&["jobs"]).await;
    let (folder, host) = witness(&local, "queue = \"jobs\"\nworkers = 2").await;
    let slow = local.sqs.send("jobs", "6000").await;
    host.logs_of("jobs", "began", 1).await;
    let new = version("witness", 2);
    put(&folder.file("witness.wasm"), &new);
    live(&host, &new, 1).await;
    let quick = local.sqs.send("jobs", "0").await;
    host.logs_of("jobs", "done", 1).await;
    let seen = witnessed(&host);
    assert_eq!(seen[&quick][1].1, short(&new));
    assert_eq!(seen[&slow].len(), 1, "it is still at work");
    local.sqs.emptied("jobs").await;
    assert_eq!(witnessed(&host)[&slow][1].1, short(&version("witness", 1)));
    assert_each_once(&host, &[slow, quick]).await;
}

// Rule 8.3: neither other code nor other settings of calls start the long poll again.
#[tokio::test]
async fn an_open_long_poll_outlives_reloads() {
    let local = Counted::with(&["jobs"]).await;
    let (folder, host) = witness(&local, "queue = \"jobs\"").await;
    until("an open poll", async || {
        when(local.count("ReceiveMessage", "jobs") == 1)
    })
    .await;
    let new = version("witness", 2);
    put(&folder.file("witness.wasm"), &new);
    live(&host, &new, 1).await;
    let mount = "# of calls alone\nqueue = \"jobs\"\ntimeout = \"1s\"\nretry_delay = \"4m\"";
    put(&folder.file("witness.toml"), mount);
    live(&host, &new, 2).await;
    assert_eq!(local.count("ReceiveMessage", "jobs"), 1);
    let sent = local.sqs.send("jobs", "60000").await;
    // By the new time limit, on the old poll.
    let failed = host.failures("jobs", 1).await;
    assert_eq!(failed[0].field("id"), sent);
    assert_eq!(failed[0].field("reason"), "timeout");
    assert_eq!(witnessed(&host)[&sent][0].1, short(&new));
    assert!(host.of("jobs", "ended").is_empty(), "no subscription did");
    assert_eq!(host.of("jobs", "ready").len(), 1);
}

// Rules 8.3 and 8.4: other settings of the queue start one subscription again, and what the one
// before it holds does not come twice.
#[tokio::test]
async fn a_changed_mount_file_mounts_that_plugin_anew_and_no_other() {
    let local = Counted::with(&["jobs", "others"]).await;
    let folder = Folder::new()
        .write("other.wasm", version("witness", 1))
        .write("other.toml", "queue = \"others\"")
        .write("witness.wasm", version("witness", 1))
        .write("witness.toml", "queue = \"jobs\"");
    let sent = local.sqs.send_all("jobs", vec!["150"; 15]).await;
    let host = Process::run(&folder, &local.endpoint, &[]);
    // One is handled and the others wait here: ten of a receive, and some of the next.
    host.logs_of("jobs", "began", 2).await;
    until("an open poll", async || {
        when(local.count("ReceiveMessage", "others") == 1)
    })
    .await;
    put(
        &folder.file("witness.toml"),
        "queue = \"jobs\"\nworkers = 4\nwait = \"1s\"",
    );
    host.logs_of("jobs", "ready", 2).await;
    let more = local.sqs.send_all("jobs", vec!["0"; 20]).await;
    local.sqs.emptied("jobs").await;
    assert_each_once(&host, &[sent, more].concat()).await;
    // Only the poll that was open at the change is over once it has ended by itself.
    assert_eq!(local.count("ReceiveMessage", "others"), 1);
    assert!(
        local.count("ChangeMessageVisibility", "jobs") == 0,
        "released nothing"
    );
    assert_eq!(host.of("others", "ready").len(), 1);
}

// Rule 8.3: a name that was mistyped takes no work from a queue that is read.
#[tokio::test]
async fn a_queue_is_read_until_the_one_that_its_mount_names_now_is_open() {
    let local = Counted::with(&["jobs", "other"]).await;
    let (folder, host) = witness(&local, "queue = \"jobs\"\nwait = \"1s\"").await;
    let mount = folder.file("witness.toml");
    put(&mount, "queue = \"jbos\"\nwait = \"1s\"");
    host.logs("that it is not ready", 1, |line| {
        line.field("queue") == "jbos" && line.message().starts_with("not ready")
    })
    .await;
    let receives = local.count("ReceiveMessage", "jobs");
    until("another receive", async || {
        when(local.count("ReceiveMessage", "jobs") > receives + 1)
    })
    .await;
    // The code is replaced meanwhile, and the next message is of that.
    let new = version("witness", 2);
    put(&folder.file("witness.wasm"), &new);
    live(&host, &new, 1).await;
    let mut sent = vec![local.sqs.send("jobs", "0").await];
    local.sqs.emptied("jobs").await;
    assert_eq!(witnessed(&host)[&sent[0]][0].1, short(&new));

    // Mended, and moved for good: what the polls that are open still bring comes once.
    put(&mount, "queue = \"jobs\"\nwait = \"2s\"");
    host.logs_of("jobs", "ready", 2).await;
    sent.extend(local.sqs.send_all("jobs", vec!["0"; 4]).await);
    put(&mount, "queue = \"other\"\nwait = \"1s\"");
    host.logs_of("other", "ready", 1).await;
    sent.extend(local.sqs.send_all("other", vec!["0"; 4]).await);
    host.logs_of("jobs", "ended", 2).await;
    local.sqs.emptied("jobs").await;
    local.sqs.emptied("other").await;
    assert_each_once(&host, &sent).await;
    assert_eq!(local.count("ChangeMessageVisibility", "jobs"), 0);
}

// Rules 5.12 and 8.3: nor does what was mounted anew overtake what the one before it holds.
#[tokio::test]
async fn groups_keep_their_order_while_code_and_mounts_change() {
    let local = Counted::with(&["jobs.fifo"]).await;
    let folder = Folder::new()
        .write("witness.wasm", version("witness", 1))
        .write("witness.toml", "queue = \"jobs.fifo\"\nwait = \"2s\"");
    let groups = ["a", "b", "c"];
    let messages: Vec<_> = (0..36).map(|n| (groups[n % 3], "100")).collect();
    let sent = local.sqs.send_groups("jobs.fifo", &messages).await;
    let host = Process::run(&folder, &local.endpoint, &[]);
    host.logs_of("jobs.fifo", "began", 2).await;
    for (n, workers) in [(2, 3), (3, 2)] {
        put(&folder.file("witness.wasm"), version("witness", n));
        let mount = format!("queue = \"jobs.fifo\"\nwait = \"2s\"\nworkers = {workers}");
        put(&folder.file("witness.toml"), mount);
        host.logs_of("jobs.fifo", "ready", n.into()).await;
    }
    local.sqs.emptied("jobs.fifo").await;
    assert_each_once(&host, &sent).await;
    let began = host.of("jobs.fifo", "began");
    for (place, group) in groups.iter().enumerate() {
        let sent: Vec<_> = sent.iter().skip(place).step_by(3).collect();
        let handled = began.iter().map(|line| line.field("id"));
        let handled: Vec<_> = handled.filter(|id| sent.iter().any(|s| s == id)).collect();
        assert_eq!(handled, sent, "group {group}");
    }
}

// Rules 8.3 and 5.9.
#[tokio::test]
async fn a_plugin_that_becomes_one_of_batches_and_back_loses_nothing() {
    let local = Counted::with(&["jobs"]).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"");
    let host = Process::run(&folder, &local.endpoint, &[]);
    host.logs_of("jobs", "ready", 1).await;
    let order = r#"{"do":"sleep","ms":40}"#;
    let mut sent = Vec::new();
    for (ready, guest) in [(2, "outcome-batch"), (3, "outcome")] {
        sent.extend(local.sqs.send_all("jobs", vec![order; 30]).await);
        host.logs_of("jobs", "handling", sent.len() - 25).await;
        put(&folder.file("outcome.wasm"), version(guest, ready));
        host.logs_of("jobs", "ready", ready.into()).await;
    }
    sent.extend(local.sqs.send_all("jobs", vec![order; 30]).await);
    local.sqs.emptied("jobs").await;
    host.logs_of("jobs", "deleted", sent.len()).await;
    let handling = host.of("jobs", "handling");
    assert_eq!(handling.len(), sent.len(), "each once");
    assert!(handling.iter().all(|line| line.receive_count() == 1));
}

// Rules 2.4 and 8.2: a mount that cannot be opened takes nobody's place.
#[tokio::test]
async fn a_subscription_goes_on_until_the_one_that_takes_its_place_is_open() {
    let local = Counted::with(&["jobs"]).await;
    let (folder, host) = witness(&local, "queue = \"jobs\"\nwait = \"1s\"").await;
    let mount = "queue = \"jobs\"\nwait = \"1s\"\nreply = \"answers\"";
    put(&folder.file("witness.toml"), mount);
    host.logs("that it is mounted anew", 1, |line| {
        line.message().starts_with("mounted anew")
    })
    .await;
    let mut sent = vec![local.sqs.send("jobs", "0").await];
    host.logs_of("jobs", "done", 1).await;
    assert!(host.of("jobs", "ended").is_empty());
    local.sqs.create(&["answers"]).await;
    host.logs_of("jobs", "ready", 2).await;
    host.logs_of("jobs", "ended", 1).await;
    sent.push(local.sqs.send("jobs", "0").await);
    local.sqs.emptied("jobs").await;
    assert_each_once(&host, &sent).await;
}

// Rule 8.4.
#[tokio::test]
async fn a_removed_file_drains_its_subscription_and_one_that_comes_again_opens_it() {
    let local = Counted::with(&["jobs"]).await;
    let (folder, host) = witness(&local, "queue = \"jobs\"\nwait = \"1s\"").await;
    let ids = local.sqs.send_all("jobs", vec!["5000"; 4]).await;
    let began = host.logs_of("jobs", "began", 1).await;
    fs::remove_file(folder.file("witness.wasm")).expect("it can be removed");
    host.logs("that it is removed", 1, |line| {
        line.message().starts_with("removed")
    })
    .await;
    // The handler in flight ends, and the others are free for whoever wants them.
    host.logs("that it is gone", 1, |line| line.message() == "gone")
        .await;
    assert_eq!(host.of("jobs", "deleted").len(), 1);
    let left = Held {
        visible: 3,
        ..Held::default()
    };
    assert_eq!(local.sqs.held("jobs").await, left);
    let (first, polls) = (began[0].field("id"), local.count("ReceiveMessage", "jobs"));
    assert!(ids.iter().any(|id| id == first));
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(local.count("ReceiveMessage", "jobs"), polls, "nobody asks");

    put(&folder.file("witness.wasm"), version("witness", 2));
    let said = live(&host, &version("witness", 2), 1).await;
    assert_eq!(said[0].message(), "loaded");
    assert_eq!(said[0].fields["version"], 2);
    host.logs_of("jobs", "began", 2).await;
}

// Rule 8.4.
#[tokio::test]
async fn a_file_that_is_gone_for_less_than_two_seconds_was_replaced() {
    let local = Counted::with(&["jobs"]).await;
    let (folder, host) = witness(&local, "queue = \"jobs\"").await;
    until("an open poll", async || {
        when(local.count("ReceiveMessage", "jobs") == 1)
    })
    .await;
    for name in ["witness.wasm", "witness.toml"] {
        fs::remove_file(folder.file(name)).expect("it can be removed");
    }
    tokio::time::sleep(Duration::from_millis(900)).await;
    put(&folder.file("witness.toml"), "queue = \"jobs\"");
    let new = version("witness", 2);
    put(&folder.file("witness.wasm"), &new);
    let said = live(&host, &new, 1).await;
    assert_eq!(said[0].message(), "replaced");
    let sent = [local.sqs.send("jobs", "0").await];
    local.sqs.emptied("jobs").await;
    assert_each_once(&host, &sent).await;
    assert!(
        host.lines(|line| line.message().starts_with("removed"))
            .is_empty()
    );
    assert_eq!(host.of("jobs", "ready").len(), 1);
}

// Rules 7.2 and 8.4.
#[tokio::test]
async fn a_new_plugin_is_opened_and_one_of_a_queue_that_is_read_already_is_warned_of() {
    let local = Counted::with(&["jobs", "more"]).await;
    let (folder, host) = witness(&local, "queue = \"jobs\"").await;
    fs::write(folder.file("late.toml"), "queue = \"more\"").expect("it can be written");
    put(&folder.file("late.wasm"), version("witness", 2));
    host.logs_of("more", "ready", 1).await;
    local.sqs.send("more", "0").await;
    host.logs_of("more", "done", 1).await;
    put(&folder.file("late.toml"), "queue = \"jobs\"");
    host.logs_of("jobs", "ready", 2).await;
    let said = host.lines(|line| line.message().contains("reads this queue too"));
    assert_eq!(said.len(), 1);
    assert!(
        said[0].message().contains("plugin late"),
        "{}",
        said[0].text
    );
    host.logs("that it is mounted elsewhere", 1, |line| {
        line.field("queue") == "jobs" && line.field("from") == "more"
    })
    .await;
}

// Rules 7.2 and 8.2.
#[tokio::test]
async fn a_host_that_skips_what_is_bad_starts_and_takes_it_once_it_is_good() {
    let local = Counted::with(&["jobs", "more"]).await;
    let folder = Folder::new()
        .write("bad.wasm", "not WebAssembly")
        .write("bad.toml", "queue = \"more\"")
        .write("wrong.wasm", version("witness", 3))
        .write("wrong.toml", "queue = \"more\"\nwait = \"60s\"")
        .write("bare.wasm", version("witness", 4))
        .write("bare.toml", "queue = \"bare\"")
        .write("witness.wasm", version("witness", 1))
        .write("witness.toml", "queue = \"jobs\"");
    local.sqs.create_hiding("bare", 0).await;
    let host = Process::run(&folder, &local.endpoint, &["--on-bad-plugin", "skip"]);
    host.started().await;
    let refused = host.lines(|line| line.message().starts_with("refused"));
    assert_eq!(refused.len(), 3, "{refused:?}");
    let says = [
        "not WebAssembly",
        "0s to 20s",
        "own visibility timeout is 0",
    ];
    for (line, says) in refused.iter().zip(says) {
        assert!(line.message().contains(says), "{}", line.text);
        assert!(
            line.message().ends_with("nothing is served"),
            "{}",
            line.text
        );
    }
    local.sqs.send("jobs", "0").await;
    host.logs_of("jobs", "done", 1).await;
    put(&folder.file("bad.wasm"), version("witness", 2));
    put(
        &folder.file("wrong.toml"),
        "queue = \"more\"\nwait = \"20s\"",
    );
    host.logs_of("more", "ready", 2).await;
    let said = live(&host, &version("witness", 2), 1).await;
    assert_eq!(said[0].fields["version"], 1);
}
