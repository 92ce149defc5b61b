//! The admin endpoint itself: where it is, whom it answers, and what clients cannot do to its host.

use std::fs;

use queuelet::plugin::Digest;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::admin::Admin;
use crate::folder::Folder;
use crate::process::{Finished, Process, output, queuelet};
use crate::reload::{put, version};
use crate::sqs::Counted;
use crate::{guests, until, when};

const ACK: &str = r#"{"do":"ack"}"#;

#[tokio::test]
async fn only_questions_of_this_machine_are_answered_and_nothing_else_is_done() {
    let local = Counted::with(&["jobs"]).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"");
    let (host, admin) = Admin::beside(&folder, &local.endpoint, &[]).await;
    host.started().await;
    for path in ["/status", "/healthz", "/readyz", "/metrics"] {
        until(path, async || when(admin.get(path).await.status == 200)).await;
        for name in ["localhost", "127.0.0.1:1", "[::1]:9640"] {
            assert_eq!(admin.ask("GET", path, name).await.status, 200, "{name}");
        }
        for name in ["evil.example", "evil.example:9640", "10.0.0.1"] {
            let answer = admin.ask("GET", path, name).await;
            assert_eq!(answer.status, 421, "{name}");
            assert!(!answer.body.contains("jobs"), "{answer:?}");
        }
        let head = admin.ask("HEAD", path, "localhost").await;
        assert_eq!((head.status, head.body.as_str()), (200, ""));
        for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
            let answer = admin.ask(method, path, "localhost").await;
            assert_eq!(answer.status, 405, "{method}");
            assert_eq!(answer.header("allow"), Some("GET, HEAD"));
        }
    }
    let answer = admin.get("/nothing").await;
    assert_eq!(answer.status, 404);
    for path in ["/status", "/healthz", "/readyz", "/metrics"] {
        assert!(answer.body.contains(path), "{answer:?}");
    }
    // A body that nobody reads ends the connection.
    let body = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello";
    let answer = admin.send(body).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("connection"), Some("close"));
    let long = format!(
        "GET /status HTTP/1.1\r\nHost: localhost\r\nX-Long: {}\r\n\r\n",
        "x".repeat(20_000)
    );
    assert_eq!(admin.send(&long).await.status, 431);
    assert_eq!(admin.send("what is this?\r\n\r\n").await.status, 400);
    assert_eq!(admin.get("/healthz").await.status, 200);
}

// Rules 2.1 and 7.3: clients that say nothing hold up nobody but other clients, for a while.
#[tokio::test]
async fn idle_clients_hold_up_neither_messages_nor_the_drain() {
    let local = Counted::with(&["jobs"]).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"\nwait = \"1s\"\nworkers = 4");
    let (mut host, admin) = Admin::beside(&folder, &local.endpoint, &[]).await;
    let mut idle = Vec::new();
    for number in 0..300 {
        let client = TcpStream::connect(&admin.address).await;
        let mut client = client.expect("it can be connected to");
        if number % 2 == 0 {
            let begun = client.write_all(b"GET /status HTTP/1.1\r\nHost: loc").await;
            begun.expect("it can be written to");
        }
        idle.push(client);
    }
    local.sqs.send_all("jobs", vec![ACK; 50]).await;
    host.logs_of("jobs", "deleted", 50).await;
    // Their time is up after a few seconds.
    assert_eq!(admin.get("/healthz").await.status, 200);
    // Nor has a client that goes on asking its place for good.
    let client = TcpStream::connect(&admin.address).await;
    let mut client = client.expect("it can be connected to");
    let asks = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n";
    client.write_all(asks).await.expect("it can be written to");
    let mut answer = String::new();
    let read = client.read_to_string(&mut answer).await;
    read.expect("the connection ends");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(
        answer.to_lowercase().contains("connection: close"),
        "{answer}"
    );
    for _ in 0..10 {
        let client = TcpStream::connect(&admin.address).await;
        idle.push(client.expect("it can be connected to"));
    }
    host.terminate();
    assert_eq!(host.ended().await, Some(0));
    let lines = host.lines(|line| line.message() == "stopped, nothing held");
    let signal = host.lines(|line| line.message().contains("no more receives"));
    assert!(
        lines[0].at() - signal[0].at() < 4.0,
        "the poll is all it waited for"
    );
}

// Rule 9.1.
#[tokio::test]
async fn no_answer_shows_a_value_of_an_environment() {
    const SESAME: &str = "sesame-of-the-host";
    let local = Counted::with(&["told", "jobs"]).await;
    let mount = "queue = \"told\"\nretry_delay = \"1h\"\nretry_max_delay = \"1h\"\n\
                 [env]\nWRITTEN = \"for-nobody\"\nFROM_HOST = \"env:SESAME\"\n";
    let folder = Folder::with("tells", mount);
    let mut command = queuelet(&["run", "--plugins", folder.arg(), "--admin", "127.0.0.1:0"]);
    command
        .env("AWS_ENDPOINT_URL", &local.endpoint)
        .env("SESAME", SESAME);
    let host = Process::start(command);
    let admin = Admin::of(&host).await;
    local.sqs.send("told", "fail FROM_HOST").await;
    host.failures("told", 1).await;
    // A mount file that is refused says why, and not what stands in it.
    put(
        &folder.file("tells.toml"),
        format!("{mount}BAD = \"env:NOT_SET\"\nOTHER = \"{SESAME}\"\n"),
    );
    admin
        .stands("it is refused", |status| {
            status["plugins"][0]["refused"]["reason"] != Value::Null
        })
        .await;
    let table = Finished::of(admin.command(&[]).output().await);
    let json = Finished::of(admin.command(&["--json"]).output().await);
    let mut all = vec![table.stdout, json.stdout];
    for path in ["/status", "/healthz", "/readyz", "/metrics"] {
        all.push(admin.get(path).await.body);
    }
    for said in all {
        for secret in [SESAME, "for-nobody"] {
            assert!(!said.contains(secret), "{said}");
        }
    }
}

#[tokio::test]
async fn a_default_port_that_is_taken_is_warned_of_and_a_named_one_stops_the_start() {
    let local = Counted::with(&["jobs"]).await;
    let folder = Folder::with("outcome", "queue = \"jobs\"");
    // Where somebody else has it, that is as good.
    let _taken = TcpListener::bind("127.0.0.1:9640").await;
    let mut command = queuelet(&["run", "--plugins", folder.arg()]);
    command
        .env_remove("QUEUELET_ADMIN")
        .env("AWS_ENDPOINT_URL", &local.endpoint);
    let host = Process::start(command);
    host.started().await;
    let warned = host.lines(|line| line.field("level") == "WARN");
    assert_eq!(warned.len(), 1, "{warned:?}");
    for word in ["127.0.0.1:9640", "--admin"] {
        assert!(warned[0].message().contains(word), "{warned:?}");
    }
    local.sqs.send("jobs", ACK).await;
    host.logs_of("jobs", "deleted", 1).await;

    let taken = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let address = taken.local_addr().expect("it is bound").to_string();
    let other = Counted::with(&["jobs"]).await;
    let mut command = queuelet(&["run", "--plugins", folder.arg(), "--admin", &address]);
    command.env("AWS_ENDPOINT_URL", &other.endpoint);
    let refused = Finished::of(command.output().await);
    refused.assert_refused(&["admin endpoint", &address]);
    assert_eq!(other.total("ReceiveMessage"), 0);
    let wrong = ["run", "--plugins", folder.arg(), "--admin", "9640"];
    output(&wrong).await.assert_refused(&["127.0.0.1:9640"]);
}

// Rule 1: a flag wins over the environment, and that over the file.
#[tokio::test]
async fn what_the_file_says_of_the_host_is_in_force_unless_flag_or_environment_say_otherwise() {
    let local = Counted::with(&["jobs"]).await;
    let wasm = guests::wasm("outcome");
    let wasm_digest = Digest::of(&fs::read(wasm).expect("it is built")).to_string();
    let folder = Folder::with("outcome", "queue = \"jobs\"")
        .write("other.wasm", version("outcome", 2))
        .write("sums", format!("{wasm_digest}  outcome.wasm\n"))
        .write(
            "queuelet.toml",
            "plugins = \".\"\nadmin = \"127.0.0.1:0\"\nmax_instances = 7\n\
             on_bad_plugin = \"skip\"\nplugins_sha256 = \"sums\"\n",
        );
    let config = folder.file("queuelet.toml");
    let config = config.to_str().expect("temporary paths are text");
    let start = |more: &[&str], env: &[(&str, &str)]| {
        let mut command = queuelet(&[&["run", "--config", config], more].concat());
        command
            .env_remove("QUEUELET_ADMIN")
            .env("AWS_ENDPOINT_URL", &local.endpoint)
            .envs(env.iter().copied());
        Process::start(command)
    };
    for (more, env, max) in [
        (&[][..], &[][..], 7),
        (&[], &[("QUEUELET_MAX_INSTANCES", "8")], 8),
        (
            &["--max-instances", "9", "--admin", "127.0.0.1:0"],
            &[("QUEUELET_MAX_INSTANCES", "8"), ("QUEUELET_ADMIN", "off")],
            9,
        ),
    ] {
        let host = start(more, env);
        let admin = Admin::of(&host).await;
        let status = admin
            .stands("ready", |status| status["ready"] == true)
            .await;
        assert_eq!(status["instances"]["max"], max);
        let other = &status["plugins"][0];
        assert_eq!(other["name"], "other");
        let reason = other["refused"]["reason"].as_str();
        assert!(reason.is_some(), "its digest is not in the list: {other}");
        assert_eq!(other["serving"], Value::Null);
    }
    let mut host = start(&["--on-bad-plugin", "stop"], &[]);
    assert_eq!(host.ended().await, Some(2), "a flag wins over `skip`");
    let host = start(&[], &[("QUEUELET_ADMIN", "off")]);
    host.started().await;
    let says = host.lines(|line| line.message().contains("admin endpoint"));
    assert!(says.is_empty(), "{says:?}");
    let wrong = ["run", "--config", config, "--max-instances", "0"];
    output(&wrong).await.assert_refused(&["1 to 10000"]);
}
