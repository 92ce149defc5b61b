//! What a handler finds in its environment, and who else may know it.

use rustix::process::Signal;

use crate::folder::Folder;
use crate::process::{Finished, Process, output, queuelet};
use crate::sqs::Counted;

const IN_THE_HOST: &str = "sesame-of-the-host";
const IN_A_FILE: &str = "sesame-of-a-file";

/// A mount of the guest that tells, with a value of each kind.
const TELLING: &str = r#"queue = "told"
max_attempts = 5
dead_letter = "dead"
retry_delay = "1h"
retry_max_delay = "1h"
[env]
WRITTEN = "for-anybody"
AS_TEXT = "text:env:NOT"
FROM_HOST = "env:SESAME"
FROM_FILE = "file:sesame.txt"
"#;

fn telling() -> Folder {
    Folder::with("tells", TELLING).write("sesame.txt", format!("{IN_A_FILE}\n"))
}

// Rules 5.14, 9.1 and 9.4.
#[tokio::test]
async fn a_value_by_reference_is_the_guests_alone_and_nothing_that_is_logged_shows_it() {
    let local = Counted::with(&["told", "dead"]).await;
    let folder = telling();
    // Not the SDK's own traces: they are more than a busy machine writes in time, and what it cannot
    // is left out.
    let log = "debug,queuelet=trace,wasmtime=trace,wasmtime_wasi=trace,wasmtime_wasi_http=trace,\
               wasmtime_wasi_io=trace";
    let mut command = queuelet(&["run", "--log", log, "--plugins", folder.arg()]);
    command
        .env("AWS_ENDPOINT_URL", &local.endpoint)
        .env("SESAME", IN_THE_HOST);
    let mut host = Process::start(command);
    let ways = [
        "print",
        "complain",
        "log",
        "fail",
        "panic",
        "dead-letter",
        "backwards",
    ];
    for name in ["FROM_HOST", "FROM_FILE"] {
        let bodies = ways.map(|way| format!("{way} {name}"));
        local.sqs.send_all("told", bodies).await;
    }
    local
        .sqs
        .send_all("told", ["names", "print WRITTEN", "print AS_TEXT"])
        .await;
    host.logs("every way to tell", 9, |line| {
        line.field("queue") == "told" && line.message() == "deleted"
    })
    .await;
    host.failures("told", 4).await;
    let letters = local.sqs.receive_all("dead", 2).await;
    host.signal(Signal::TERM);
    assert_eq!(host.ended().await, Some(0));

    for line in host.log() {
        for secret in [IN_THE_HOST, IN_A_FILE] {
            assert!(!line.text.contains(secret), "{}", line.text);
        }
    }
    let says = |text: &str| host.lines(|line| line.message().contains(text)).len();
    // What is backwards is no secret to the host, and shows that the guest knew it.
    for secret in [IN_THE_HOST, IN_A_FILE] {
        let backwards: String = secret.chars().rev().collect();
        assert_eq!(says(&backwards), 1);
    }
    assert_eq!(
        says("stdout: names: AS_TEXT FROM_FILE FROM_HOST WRITTEN"),
        1
    );
    assert_eq!(says("stdout: WRITTEN is for-anybody"), 1);
    assert_eq!(says("stdout: AS_TEXT is env:NOT"), 1);
    for name in ["FROM_HOST", "FROM_FILE"] {
        assert!(says(&format!("{name} is ***")) >= 5);
    }
    for letter in letters {
        assert!(!format!("{letter:?}").contains("sesame"), "{letter:?}");
        assert!(format!("{letter:?}").contains("***"), "{letter:?}");
    }
}

// Rules 9.1 and 9.4.
#[tokio::test]
async fn no_line_of_the_hosts_own_tells_a_secret_that_a_handler_named_something_by() {
    let local = Counted::with(&["told", "answers"]).await;
    let mount = "queue = \"told\"\nreply = \"answers\"\nretry_delay = \"1h\"\n\
                 retry_max_delay = \"1h\"\nmax_output = \"1KiB\"\ncircuit_after = 0\n\
                 [env]\nTOKEN = \"env:SESAME\"\n";
    let folder = Folder::with("tells", mount);
    let mut command = queuelet(&["run", "--log", "debug", "--plugins", folder.arg()]);
    command
        .env("AWS_ENDPOINT_URL", &local.endpoint)
        .env("SESAME", IN_THE_HOST);
    let mut host = Process::start(command);
    let refused = [
        "reply-to",
        "reply-group",
        "reply-deduplication",
        "reply-header",
    ];
    for way in refused.iter().chain(&["publish", "limit"]) {
        local.sqs.send("told", &format!("{way} TOKEN")).await;
    }
    host.logs("every reply that is refused", refused.len(), |line| {
        line.message().contains("what was to be sent was not")
    })
    .await;
    host.logs("the publish that is refused", 1, |line| {
        line.message().contains("not published") && line.message().contains("send to ***")
    })
    .await;
    host.failures("told", 1).await;
    host.signal(Signal::TERM);
    assert_eq!(host.ended().await, Some(0));
    for line in host.log() {
        // Nor what a limit cut in the middle.
        assert!(!line.text.contains("sesame"), "{}", line.text);
    }
    let hidden = host.lines(|line| line.message().contains("***"));
    assert!(hidden.len() > refused.len(), "{hidden:?}");
    let cut = host.lines(|line| line.message().starts_with("stderr: xxx"));
    assert_eq!(cut.len(), 1, "{cut:?}");
}

// Rules 1.11 and 9.1.
#[tokio::test]
async fn no_slip_of_the_pen_in_a_mount_file_shows_the_value() {
    for slip in [
        "[env]\nTOKEN=sesame-of-nobody\n",
        "[env]\nTOKEN=\"sesame-of-nobody\n",
        "[env]\nTOKEN: \"sesame-of-nobody\"\n",
        "[env]\nTOKEN=\"sesame-of-nobody\" x\n",
        "env = \"TOKEN=sesame-of-nobody\"\n",
        "envs = \"TOKEN=sesame-of-nobody\"\n",
        "TOKEN = \"sesame-of-nobody\"\n",
        "[env]\nTOKEN = [\"sesame-of-nobody\"]\n",
    ] {
        let folder = Folder::with("tells", &format!("queue = \"q\"\n{slip}"));
        for command in [&["run"][..], &["check"], &["check", "--json"]] {
            let args = [command, &["--plugins", folder.arg()]].concat();
            let said = output(&args).await;
            assert_ne!(said.code, Some(0), "{slip}: {said:?}");
            let shown = format!("{said:?}");
            assert!(!shown.contains("sesame"), "{slip}: {shown}");
            assert!(shown.contains("tells.toml"), "{slip}: {shown}");
        }
    }
}

// Rule 9.1.
#[tokio::test]
async fn no_command_shows_a_value_of_an_environment() {
    let folder = telling();
    let wasm = folder.file("tells.wasm");
    let wasm = wasm.to_str().expect("it is text");
    for args in [
        &["check", "--plugins", folder.arg()][..],
        &["check", "--json", "--plugins", folder.arg()],
        &["inspect", wasm],
        &["inspect", "--json", wasm],
    ] {
        let mut command = queuelet(args);
        command.env("SESAME", IN_THE_HOST);
        let said = Finished::of(command.output().await);
        assert_eq!(said.code, Some(0), "{said:?}");
        for secret in [IN_THE_HOST, IN_A_FILE, "for-anybody"] {
            assert!(!format!("{said:?}").contains(secret), "{said:?}");
        }
    }
}

// Rules 1.11, 7.2 and 9.1.
#[tokio::test]
async fn a_value_that_is_not_there_stops_the_host_before_it_receives() {
    let mount = "queue = \"q\"\n[env]\nA = \"env:NOT_SET\"\nB = \"file:/not/there\"\n";
    let folder = Folder::with("tells", mount);
    for command in ["run", "check"] {
        let said = output(&[command, "--plugins", folder.arg()]).await;
        said.assert_refused(&["env.A", "NOT_SET", "env.B", "/not/there"]);
    }
}

// Rule 9.4: nobody who sends messages writes lines of the log.
#[tokio::test]
async fn a_message_forges_no_line_of_the_log() {
    let local = Counted::with(&["jobs"]).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"");
    let mut command = queuelet(&["run", "--plugins", folder.arg()]);
    command
        .env("AWS_ENDPOINT_URL", &local.endpoint)
        .env("QUEUELET_LOG_FORMAT", "text");
    let host = Process::start_as_it_is(command);
    let forged = "2026-01-02T03:04:05.000000Z ERROR queuelet: forged";
    let body = format!(r#"{{"do":"x\n{forged}\r\u2028{forged}"}}"#);
    local.sqs.send("jobs", &body).await;
    let lines = host
        .logs("the failure", 1, |line| {
            line.text.contains("handler failed")
        })
        .await;
    assert!(lines[0].text.contains("forged"), "{}", lines[0].text);
    let begins = host.lines(|line| line.text.starts_with("2026-01-02"));
    assert!(begins.is_empty(), "{begins:?}");
    assert!(!lines[0].text.contains(['\r', '\u{2028}']));
}
