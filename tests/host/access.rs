//! Who may do what: what a host says that is denied, and what `check` finds and asks for.

use aws_sdk_sqs::types::MessageSystemAttributeName;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::folder::Folder;
use crate::forwarder::{Forwarder, Trouble};
use crate::process::{Finished, Line, Process, output, queuelet};
use crate::sqs::{Counted, Held};

const ACK: &str = r#"{"do":"ack"}"#;

/// Has the first receives of a host refused so, and answers what it said when that began.
async fn refused_for_a_while(code: &'static str, words: &'static str) -> String {
    let local = Counted::with(&["jobs", "steady"]).await;
    let forwarder = Forwarder::to(Some(&local.endpoint)).await;
    let forbidden = Trouble::Forbidden(code, words);
    forwarder.trouble("ReceiveMessage", "jobs", usize::MAX, forbidden);
    let folder = Folder::new()
        .and("outcome", "jobs", "queue = \"jobs\"")
        .and("outcome", "steady", "queue = \"steady\"");
    let host = Process::run(&folder, &forwarder.endpoint, &[]);
    host.logs("a second try", 1, |line| {
        line.message().starts_with("receive still fails")
    })
    .await;
    local.sqs.send("steady", ACK).await;
    host.logs_of("steady", "deleted", 1).await;
    let tries = forwarder.requests("ReceiveMessage", "jobs").len();
    assert!(tries <= 10, "{tries} tries");
    forwarder.mend();
    local.sqs.send("jobs", ACK).await;
    host.logs_of("jobs", "deleted", 1).await;

    let said = host.lines(|line| line.message().starts_with("receive failed"));
    assert_eq!(said.len(), 1, "once a change of state: {said:#?}");
    assert_eq!(said[0].field("queue"), "jobs");
    assert_eq!(host.of("jobs", "receives again").len(), 1);
    said[0].message().to_owned()
}

// Rule 2.4.
#[tokio::test]
async fn a_receive_that_is_denied_for_a_while_is_said_once_and_mends_itself() {
    let words = "User: arn:aws:iam::123456789012:user/jobs is not authorized to perform: \
                 sqs:receivemessage";
    let said = refused_for_a_while("AccessDenied", words).await;
    assert!(said.contains("sqs:ReceiveMessage"), "{said}");
}

// Rule 2.4: the key of a queue that is encrypted.
#[tokio::test]
async fn a_key_that_is_denied_is_said_to_be_the_key() {
    let said = refused_for_a_while("KmsAccessDenied", "the ciphertext refers to a key").await;
    assert!(said.contains("kms:Decrypt"), "{said}");
}

// Rule 2.4.
#[tokio::test]
async fn a_clock_that_is_wrong_is_said_to_be_the_clock() {
    let words = "Signature expired: 20261130T190000Z is now earlier than 20261130T195500Z";
    for code in ["InvalidSignatureException", "RequestTimeTooSkewed"] {
        let said = refused_for_a_while(code, words).await;
        assert!(said.contains("clock"), "{code}: {said}");
    }
}

/// The folder of a host that reads `jobs` and replies to `replies`.
fn jobs() -> Folder {
    Folder::with("echo", "queue = \"jobs\"\nreply = \"replies\"")
}

/// `check --online` with more arguments, behind a forwarder.
async fn online(forwarder: &Forwarder, folder: &Folder, more: &[&str]) -> Finished {
    let args = ["check", "--online", "--plugins", folder.arg()];
    let mut command = queuelet(&[&args, more].concat());
    command.env("AWS_ENDPOINT_URL", &forwarder.endpoint);
    Finished::of(command.output().await)
}

/// Asserts that nobody received a message or sent one.
async fn assert_untouched(local: &Counted) {
    assert_eq!(local.sqs.held("replies").await, Held::default());
    let one = local.sqs.receive_all("jobs", 1).await.remove(0);
    let attributes = one.attributes().expect("all were asked for");
    let count = &attributes[&MessageSystemAttributeName::ApproximateReceiveCount];
    assert_eq!(count, "1", "this receive is the first");
}

// Rules 1.11 and 7.1.
#[tokio::test]
async fn check_online_finds_nothing_wrong_where_nothing_is_and_touches_no_message() {
    let local = Counted::with(&["jobs", "replies"]).await;
    local.sqs.send("jobs", "one").await;
    let forwarder = Forwarder::to(Some(&local.endpoint)).await;
    let folder = jobs();
    let checked = online(&forwarder, &folder, &["--json"]).await;
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert_eq!(checked.json()["ok"], true);
    assert_untouched(&local).await;
}

// Rules 1.11 and 7.1.
#[tokio::test]
async fn check_online_names_the_action_that_is_denied() {
    let local = Counted::with(&["jobs", "replies"]).await;
    local.sqs.send("jobs", "one").await;
    let forwarder = Forwarder::to(Some(&local.endpoint)).await;
    let words = "User: arn:aws:iam::123456789012:user/jobs is not authorized to perform: \
                 sqs:deletemessage";
    let denied = Trouble::Forbidden("AccessDenied", words);
    for action in ["DeleteMessage", "DeleteMessageBatch"] {
        forwarder.trouble(action, "jobs", usize::MAX, denied);
    }
    let folder = jobs();
    let checked = online(&forwarder, &folder, &[]).await;
    assert_eq!(checked.code, Some(1), "{checked:?}");
    let said = format!("{}{}", checked.stdout, checked.stderr);
    for word in ["sqs:DeleteMessage", "jobs", "DENIED"] {
        assert!(said.contains(word), "no {word}: {said}");
    }
    let document = online(&forwarder, &folder, &["--json"]).await;
    assert_eq!(document.code, Some(1));
    assert_eq!(document.json()["ok"], false);
    assert_untouched(&local).await;
}

// Rules 1.11 and 7.1.
#[tokio::test]
async fn check_online_says_what_is_missing() {
    let local = Counted::with(&["jobs"]).await;
    let forwarder = Forwarder::to(Some(&local.endpoint)).await;
    let folder = jobs();
    let checked = online(&forwarder, &folder, &[]).await;
    assert_eq!(checked.code, Some(1), "{checked:?}");
    let said = format!("{}{}", checked.stdout, checked.stderr);
    assert!(said.contains("replies"), "{said}");
    assert!(!said.contains("nothing wrong"), "{said}");
    let last = checked.stderr.lines().last().unwrap_or_default();
    assert!(last.contains("tries failed"), "it sums up last: {said}");
    assert_eq!(local.total("CreateQueue"), 1, "by the test");
}

// Rules 1.11 and 7.1.
#[tokio::test]
async fn every_command_says_where_nothing_answers_and_what_to_do() {
    let free = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let address = free.local_addr().expect("it is bound");
    let nowhere = format!("http://{address}");
    drop(free);
    let folder = jobs();
    for args in [
        &["send", "jobs", "{}"][..],
        &["subscribe", "news", "jobs"],
        &["check", "--online", "--plugins", folder.arg()],
    ] {
        let mut command = queuelet(args);
        command.env("AWS_ENDPOINT_URL", &nowhere);
        let failed = Finished::of(command.output().await);
        assert_eq!(failed.code, Some(1), "{failed:?}");
        for says in [&nowhere, "nothing answers there", "--endpoint-url"] {
            assert!(failed.stderr.contains(says), "{says}: {failed:?}");
        }
    }
    let mut command = queuelet(&["run", "--plugins", folder.arg()]);
    command.env("AWS_ENDPOINT_URL", &nowhere);
    let host = Process::start(command);
    let says = |line: &Line| line.message().starts_with("not ready");
    let lines = host.logs("a queue that is out of reach", 1, says).await;
    for says in [&nowhere, "nothing answers there", "--endpoint-url"] {
        assert!(lines[0].message().contains(says), "{lines:?}");
    }
    let begun = host.lines(|line| line.field("endpoint") == nowhere.as_str());
    assert_eq!(begun.len(), 1, "the start says where the queues are");
    assert!(!begun[0].field("region").is_empty(), "{begun:?}");
}

// Rule 1.11.
#[tokio::test]
async fn check_iam_prints_the_policy_that_the_mounts_need_and_makes_no_call() {
    let mount = "queue = \"jobs\"\nreply = \"sns:news\"\nmax_attempts = 3\ndead_letter = \"dead\"";
    let folder = Folder::with("echo", mount);
    let printed = output(&["check", "--iam", "--plugins", folder.arg()]).await;
    assert_eq!(printed.code, Some(0), "{printed:?}");
    let policy = printed.json();
    assert_eq!(policy["Version"], "2012-10-17");
    let statements = policy["Statement"].as_array().expect("it is a list");
    let may = |resource: &str, action: &str| {
        statements.iter().any(|statement| {
            let has = |key: &str, is: &dyn Fn(&str) -> bool| {
                let list = statement[key].as_array().into_iter().flatten();
                list.filter_map(Value::as_str).any(is)
            };
            statement["Effect"] == "Allow"
                && has("Resource", &|arn| arn.ends_with(&format!(":{resource}")))
                && has("Action", &|is| is == action)
        })
    };
    for action in ["ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility"] {
        assert!(may("jobs", &format!("sqs:{action}")), "{action}: {policy}");
    }
    for (resource, action) in [
        ("jobs", "sqs:SetQueueAttributes"),
        ("dead", "sqs:SendMessage"),
        ("news", "sns:Publish"),
    ] {
        assert!(may(resource, action), "{resource} {action}: {policy}");
    }
    assert!(!may("dead", "sqs:ReceiveMessage"), "{policy}");
}
