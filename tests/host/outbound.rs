//! Handlers that make HTTP requests: to where their mount lets them go, and nowhere else.

use std::net::{TcpListener, ToSocketAddrs};

use serde_json::{Value, json};

use crate::folder::Folder;
use crate::process::{Line, Process, output, queuelet};
use crate::sqs::Counted;
use crate::web::{BIG, Web};
use crate::{until, when};

/// A host with a handler that makes the requests that its messages tell.
struct Asking {
    local: Counted,
    host: Process,
    folder: Folder,
}

impl Asking {
    /// The handler may make requests to where these rules let it go.
    async fn with(rules: &[String]) -> Self {
        Self::start(rules, "", &[]).await
    }

    async fn start(rules: &[String], mount: &str, environment: &[(&str, &str)]) -> Self {
        let local = Counted::with(&["source", "replies"]).await;
        let rules = match rules {
            [] => String::new(),
            rules => format!("http = {}\n", json!(rules)),
        };
        let folder = Folder::with(
            "fetch",
            &format!("queue = \"source\"\nreply = \"replies\"\n{rules}{mount}"),
        );
        let mut command = queuelet(&["run", "--plugins", folder.arg()]);
        command.env("AWS_ENDPOINT_URL", &local.endpoint);
        command.envs(environment.iter().copied());
        Self {
            local,
            host: Process::start(command),
            folder,
        }
    }

    /// Has the handler make one request, and answers what it tells of it.
    async fn ask(&self, order: Value) -> Value {
        let sqs = &self.local.sqs;
        sqs.send("source", &order.to_string()).await;
        let reply = sqs.receive_all("replies", 1).await.remove(0);
        let delete = sqs.client.delete_message().queue_url(sqs.url("replies"));
        let handle = reply.receipt_handle.as_deref().expect("it was received");
        let deleted = delete.receipt_handle(handle).send().await;
        deleted.expect("the reply can be deleted");
        let body = reply.body().expect("it has a body");
        serde_json::from_str(body).expect("the guest tells JSON")
    }

    async fn get(&self, url: impl AsRef<str>) -> Value {
        self.ask(json!({ "url": url.as_ref() })).await
    }

    /// The error that a request ends with.
    async fn error(&self, url: impl AsRef<str>) -> String {
        let told = self.get(url).await;
        let error = told["error"].as_str();
        error.unwrap_or_else(|| panic!("{told}")).to_owned()
    }

    /// The lines of what was refused.
    fn refusals(&self) -> Vec<Line> {
        self.host
            .lines(|line| line.message().contains("is refused"))
    }
}

fn at(port: u16, path: &str) -> String {
    format!("http://127.0.0.1:{port}{path}")
}

/// A port that nobody listens on.
fn nobody() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it is bound").port()
}

// Rule 9.1.
#[tokio::test]
async fn a_handler_makes_the_requests_that_its_mount_allows() {
    let web = Web::start().await;
    let asking = Asking::with(&[at(web.port, "")]).await;
    let told = asking.get(at(web.port, "/hello?token=confidential")).await;
    assert_eq!(told["status"], 200);
    assert_eq!(told["body"], "hello");

    let told = asking
        .ask(json!({"url": at(web.port, "/echo"), "method": "POST", "body": "ping"}))
        .await;
    assert_eq!(
        (&told["status"], &told["body"]),
        (&json!(200), &json!("ping"))
    );
    let put = json!({"url": at(web.port, "/echo"), "method": "PUT", "upload": 300_000});
    assert_eq!(asking.ask(put).await["length"], 300_000);
    assert_eq!(asking.get(at(web.port, "/nowhere")).await["status"], 404);

    let seen = web.seen();
    let methods: Vec<_> = seen.iter().map(|seen| seen.method.as_str()).collect();
    assert_eq!(methods, ["GET", "POST", "PUT", "GET"]);
    assert_eq!(seen[0].path, "/hello?token=confidential");
    assert_eq!(seen[0].host, format!("127.0.0.1:{}", web.port));
    assert_eq!(seen[2].body, 300_000);
    web.left_alone().await;

    let is = |line: &Line| line.message() == "http request";
    let lines = asking.host.logs("a line a request", 4, is).await;
    assert_eq!(lines[0].field("level"), "DEBUG");
    assert_eq!(lines[0].field("plugin"), "fetch");
    assert_eq!(lines[0].field("method"), "GET");
    assert_eq!(lines[0].field("host"), "127.0.0.1");
    assert_eq!(lines[0].fields["port"], web.port);
    assert_eq!(lines[3].fields["status"], 404);
    let log = asking.host.log();
    let told = log.iter().filter(|line| !line.text.contains("stdout"));
    assert!(told.clone().count() > 0);
    assert!(
        told.clone().all(|line| !line.text.contains("confidential")),
        "a query is in no line of the log"
    );
}

// Rule 9.1.
#[tokio::test]
async fn an_answer_of_five_megabytes_comes_through_whole() {
    let web = Web::start().await;
    let asking = Asking::with(&[at(web.port, "")]).await;
    let told = asking.get(at(web.port, "/big")).await;
    assert_eq!(told["length"], BIG, "{told}");
    web.left_alone().await;
}

// Rule 9.1.
#[tokio::test]
async fn without_rules_every_request_is_refused_and_the_log_says_once_what_to_set() {
    let web = Web::start().await;
    let asking = Asking::with(&[]).await;
    for _ in 0..3 {
        let error = asking.error(at(web.port, "/hello")).await;
        assert_eq!(error, "ErrorCode::HttpRequestDenied");
    }
    assert_eq!(web.accepted(), 0);
    let lines = asking.refusals();
    assert_eq!(lines.len(), 1, "{lines:?}");
    let line = &lines[0];
    assert!(
        !line.text.contains("unsaid"),
        "nothing was passed over: {line:?}"
    );
    assert_eq!(line.field("level"), "WARN");
    assert_eq!(line.field("plugin"), "fetch");
    assert_eq!(line.field("host"), "127.0.0.1");
    assert_eq!(line.fields["port"], web.port);
    let rule = format!("add \"http://127.0.0.1:{}\" to `http`", web.port);
    assert!(line.message().contains(&rule), "{line:?}");

    let error = asking.error("https://example.com/").await;
    assert_eq!(error, "ErrorCode::HttpRequestDenied");
    assert_eq!(asking.refusals().len(), 2, "another host is said once more");
}

// Rule 9.1.
#[tokio::test]
async fn a_redirect_does_not_lead_past_the_list() {
    let (web, inside) = (Web::start().await, Web::start().await);
    let asking = Asking::with(&[at(web.port, "")]).await;
    let follow = async |to: String| {
        let url = at(web.port, &format!("/to?{to}"));
        asking.ask(json!({"url": url, "follow": true})).await
    };
    let told = follow(at(web.port, "/hello")).await;
    assert_eq!(told["body"], "hello", "{told}");
    for to in [
        at(inside.port, "/hello"),
        format!("http://localhost:{}/hello", inside.port),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        format!("https://127.0.0.1:{}/hello", web.port),
    ] {
        let told = follow(to.clone()).await;
        assert_eq!(
            told["error"], "ErrorCode::HttpRequestDenied",
            "{to}: {told}"
        );
    }
    let told = asking.get(at(web.port, "/to?http://example.com/")).await;
    assert_eq!(told["status"], 302, "the host itself follows none");
    assert_eq!(inside.accepted(), 0);
}

// Rule 9.1.
#[tokio::test]
async fn no_spelling_of_an_address_gets_past_a_list_of_names() {
    let web = Web::start().await;
    let asking = Asking::with(&[format!("http://localhost:{}", web.port)]).await;
    for host in [
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "0177.0.0.1",
        "0x7f.1",
        "2130706433",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        "localhost.example",
        "localhost..",
        "localhost@127.0.0.1",
        "user:word@localhost",
    ] {
        let error = asking
            .error(format!("http://{host}:{}/hello", web.port))
            .await;
        let refused = ["HttpRequestDenied", "HttpRequestUriInvalid"];
        let refused = refused
            .iter()
            .any(|word| error == format!("ErrorCode::{word}"));
        // Some are no authority even for the guest's side of wasi:http.
        assert!(
            refused || error.starts_with("no authority"),
            "{host}: {error}"
        );
    }
    for url in [
        format!("http://localhost:{}/hello", nobody()),
        format!("https://localhost:{}/hello", web.port),
        "http://localhost/hello".to_owned(),
    ] {
        let error = asking.error(&url).await;
        assert_eq!(error, "ErrorCode::HttpRequestDenied", "{url}");
    }
    assert_eq!(web.accepted(), 0);
    let log = asking.refusals();
    assert!(
        log.iter().all(|line| !line.text.contains("word@")),
        "{log:?}"
    );

    for host in ["localhost", "LOCALHOST", "LocalHost."] {
        let told = asking
            .get(format!("http://{host}:{}/hello", web.port))
            .await;
        assert_eq!(told["body"], "hello", "{host}: {told}");
    }
    let host = format!("localhost:{}", web.port);
    assert!(web.seen().iter().all(|seen| seen.host == host));
}

// Rule 9.1.
#[tokio::test]
async fn every_spelling_of_an_address_that_is_in_the_list_is_that_address() {
    let web = Web::start().await;
    let asking = Asking::with(&[format!("127.0.0.0/8:{}", web.port)]).await;
    for host in [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "2130706433",
        "[::ffff:127.0.0.1]",
    ] {
        let told = asking
            .get(format!("http://{host}:{}/hello", web.port))
            .await;
        assert_eq!(told["body"], "hello", "{host}: {told}");
    }
    let seen = web.seen();
    let host = format!("127.0.0.1:{}", web.port);
    assert!(seen[..4].iter().all(|seen| seen.host == host), "{seen:?}");
    for host in ["localhost", "[::1]", "128.0.0.1"] {
        let error = asking
            .error(format!("http://{host}:{}/hello", web.port))
            .await;
        assert_eq!(error, "ErrorCode::HttpRequestDenied", "{host}");
    }
}

// Rules 8.4 and 9.1.
#[tokio::test]
async fn a_list_that_is_changed_is_in_force_without_a_restart() {
    let web = Web::start().await;
    let asking = Asking::with(&[]).await;
    let url = at(web.port, "/hello");
    assert_eq!(asking.error(&url).await, "ErrorCode::HttpRequestDenied");
    let mount = |rules: &[String]| {
        let list = json!(rules);
        format!("queue = \"source\"\nreply = \"replies\"\nhttp = {list}\n")
    };
    let file = asking.folder.file("fetch.toml");
    for (rules, error) in [
        (vec![at(web.port, "")], Value::Null),
        (
            vec!["example.com".to_owned()],
            json!("ErrorCode::HttpRequestDenied"),
        ),
    ] {
        std::fs::write(&file, mount(&rules)).expect("the folder can be written");
        until("the new list is in force", async || {
            when(asking.get(&url).await["error"] == error)
        })
        .await;
    }
}

// Rules 1.11 and 9.1.
#[tokio::test]
async fn rules_that_are_none_stop_the_service_each_with_its_reason() {
    let rules = r#"["ftp://example.com", "https://example.com/v1", "10.0.0.1/8", "user@host"]"#;
    let folder = Folder::with("fetch", &format!("queue = \"source\"\nhttp = {rules}"));
    output(&["check", "--plugins", folder.arg()])
        .await
        .assert_refused(&["http", "fetch.toml", "not a scheme"]);
}

// Rule 9.1: the name of this machine, where it leads to this machine.
#[tokio::test]
async fn a_name_that_leads_to_this_machine_is_refused_until_the_address_is_listed_too() {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim().to_lowercase();
    let leads = (name.as_str(), 0)
        .to_socket_addrs()
        .map(|found| found.collect::<Vec<_>>());
    // Where it leads nowhere, or into the world, the tests with names of their own must do.
    let inside = |ip: std::net::IpAddr| match ip {
        std::net::IpAddr::V4(v4) => v4.is_loopback() || v4.is_private(),
        std::net::IpAddr::V6(v6) => v6.is_loopback(),
    };
    let Some(found) = leads
        .ok()
        .filter(|all| all.iter().all(|found| inside(found.ip())))
    else {
        return;
    };
    let port = nobody();
    let url = format!("http://{name}:{port}/");
    let asking = Asking::with(std::slice::from_ref(&url.trim_end_matches('/').to_owned())).await;
    let error = asking.error(&url).await;
    assert_eq!(error, "ErrorCode::DestinationIpProhibited");
    let line = asking.refusals().remove(0);
    assert!(
        line.message().contains(&found[0].ip().to_string()),
        "{line:?}"
    );

    let mut rules = vec![format!("http://{name}:{port}")];
    rules.extend(found.iter().map(|found| found.ip().to_string()));
    let asking = Asking::with(&rules).await;
    let error = asking.error(&url).await;
    assert_eq!(error, "ErrorCode::ConnectionRefused", "it gets there");
}

// Rule 9.1.
#[tokio::test]
async fn what_belongs_to_the_host_is_not_the_handlers_to_set() {
    let web = Web::start().await;
    let asking = Asking::start(
        &[at(web.port, "")],
        "",
        // Nobody is there, and nobody is asked.
        &[
            ("HTTP_PROXY", "http://127.0.0.1:1"),
            ("http_proxy", "http://127.0.0.1:1"),
        ],
    )
    .await;
    for name in ["host", "Host", "connection", "transfer-encoding", "upgrade"] {
        let order = json!({"url": at(web.port, "/hello"), "headers": [[name, "other"]]});
        let told = asking.ask(order).await;
        let error = told["error"].as_str().unwrap_or_default();
        assert!(error.contains("Forbidden"), "{name}: {told}");
    }
    let order = json!({"url": at(web.port, "/hello"), "method": "CONNECT"});
    let told = asking.ask(order).await;
    assert_eq!(told["error"], "ErrorCode::HttpRequestMethodInvalid");
    assert_eq!(web.accepted(), 0);
    assert_eq!(asking.get(at(web.port, "/hello")).await["body"], "hello");
}

// Rule 9.1.
#[tokio::test]
async fn a_request_that_goes_wrong_has_the_word_of_wasi_for_it() {
    let web = Web::start().await;
    let nobody = nobody();
    let asking = Asking::with(&[at(web.port, ""), at(nobody, "")]).await;
    let error = asking.error(at(nobody, "/")).await;
    assert_eq!(error, "ErrorCode::ConnectionRefused");
    let order = json!({"url": at(web.port, "/silent"), "first_byte_ms": 50});
    let told = asking.ask(order).await;
    assert_eq!(told["error"], "ErrorCode::HttpResponseTimeout");
    let order = json!({"url": at(web.port, "/drip"), "between_bytes_ms": 50});
    let told = asking.ask(order).await;
    assert_eq!(told["status"], 200);
    assert_eq!(told["error"], "the answer broke off after 0", "{told}");
    web.left_alone().await;
}

/// A handler that asks a server which never comes to an end has its time limit.
async fn is_ended_by_its_time_limit(path: &str, line: &str) {
    let web = Web::start().await;
    let asking = Asking::start(&[at(web.port, "")], "timeout = \"1s\"", &[]).await;
    let order = json!({ "url": at(web.port, path) });
    asking.local.sqs.send("source", &order.to_string()).await;
    let failure = asking.host.failures("source", 1).await.remove(0);
    assert_eq!(failure.field("reason"), "timeout", "{failure:?}");
    let began = asking.host.of("source", "handling")[0].at();
    let took = failure.at() - began;
    // The limit is a time: it may not be late by much, on a machine that does other things as well.
    assert!((1.0..1.5).contains(&took), "it took {took} s");
    asking
        .host
        .logs(line, 1, |said| said.message() == line)
        .await;
    web.left_alone().await;
}

// Rules 5.6, 9.1 and 9.2.
#[tokio::test]
async fn a_server_that_never_answers_is_left_at_the_calls_time_limit() {
    is_ended_by_its_time_limit("/silent", "http request ended with its call").await;
}

// Rules 5.6, 9.1 and 9.2.
#[tokio::test]
async fn a_server_that_sends_a_byte_a_second_is_left_at_the_calls_time_limit() {
    is_ended_by_its_time_limit("/drip", "http request").await;
}

// Rules 9.1 and 9.3: nothing of a request outlives its call, whatever the guest keeps of it.
#[tokio::test]
async fn a_request_that_its_handler_leaves_behind_ends_with_the_call() {
    let web = Web::start().await;
    for mount in ["", "instances = \"reuse\""] {
        let asking = Asking::start(&[at(web.port, "")], mount, &[]).await;
        let order = json!({"url": at(web.port, "/silent"), "leave": true});
        let accepted = web.accepted();
        asking.ask(order).await;
        // It may have been ended before it was begun.
        web.left_alone().await;
        let more = web.accepted() - accepted;
        assert!(more <= 1, "{mount}: {more}");
        let told = asking.get(at(web.port, "/hello")).await;
        assert_eq!(told["body"], "hello", "{mount}: {told}");
    }
}

// Rules 7.3 and 9.1.
#[tokio::test]
async fn a_handler_that_waits_for_an_answer_is_interrupted_at_the_drain_deadline() {
    let web = Web::start().await;
    let mut asking = Asking::start(&[at(web.port, "")], "", &[("QUEUELET_DRAIN", "1s")]).await;
    let order = json!({ "url": at(web.port, "/silent") });
    asking.local.sqs.send("source", &order.to_string()).await;
    web.asked().await;
    asking.host.terminate();
    assert!(asking.host.ended().await.is_some());
    web.left_alone().await;
}

// Rule 9.1: the name that was allowed is the name that the certificate must be for.
#[tokio::test]
async fn https_takes_the_certificates_that_the_machine_trusts() {
    let web = Web::secure().await;
    let rules = [
        format!("https://localhost:{}", web.port),
        format!("https://127.0.0.1:{}", web.port),
    ];
    let authority = Web::authority();
    let authority = authority.to_str().expect("it is text");
    let asking = Asking::start(&rules, "", &[("SSL_CERT_FILE", authority)]).await;
    let told = asking
        .get(format!("https://localhost:{}/hello", web.port))
        .await;
    assert_eq!(told["body"], "hello", "{told}");
    let error = asking
        .error(format!("https://127.0.0.1:{}/hello", web.port))
        .await;
    assert_eq!(
        error, "ErrorCode::TlsCertificateError",
        "it is for localhost"
    );
    assert_eq!(web.seen().len(), 1);
}

// Rule 9.1.
#[tokio::test]
async fn https_refuses_a_certificate_of_an_authority_that_the_machine_does_not_know() {
    let web = Web::secure().await;
    let rules = [format!("https://localhost:{}", web.port)];
    // A machine that trusts somebody, but not that authority: the server's own certificate is none.
    let other = Web::authority().with_file_name("server.pem");
    let other = other.to_str().expect("it is text");
    let asking = Asking::start(&rules, "", &[("SSL_CERT_FILE", other)]).await;
    let error = asking
        .error(format!("https://localhost:{}/hello", web.port))
        .await;
    assert_eq!(error, "ErrorCode::TlsCertificateError");
    assert_eq!(web.seen().len(), 0);
}
