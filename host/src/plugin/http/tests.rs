//! Requests against servers on loopback, with names that lead where a test wants.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::{Method, Request, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

use super::Outbound;
use super::lookup::{Looking, Lookup};
use super::refusal::{NoAnswer, Refusal};
use super::send::{Rest, check, send};
use crate::config::{HostError, HttpRule};

/// Every name leads to these addresses; each lookup takes the next of them, or the last.
#[derive(Clone, Default)]
struct Names {
    answers: Arc<Mutex<Vec<Vec<IpAddr>>>>,
    asked: Arc<AtomicUsize>,
    silent: bool,
}

impl Names {
    fn leading_to(answers: &[&[&str]]) -> Self {
        let parse = |text: &&str| text.parse().unwrap();
        let answers = answers
            .iter()
            .map(|answer| answer.iter().map(parse).collect());
        Self {
            answers: Arc::new(Mutex::new(answers.collect())),
            ..Self::default()
        }
    }
}

impl Lookup for Names {
    fn look_up(&self, _: &str, place: OwnedSemaphorePermit) -> Looking {
        self.asked.fetch_add(1, SeqCst);
        let (answers, silent) = (Arc::clone(&self.answers), self.silent);
        Box::pin(async move {
            let _place = place;
            if silent {
                std::future::pending::<()>().await;
            }
            let mut answers = answers.lock().unwrap();
            match answers.len() {
                0 => Err(io::Error::from(io::ErrorKind::NotFound)),
                1 => Ok(answers[0].clone()),
                _ => Ok(answers.remove(0)),
            }
        })
    }
}

/// A server that answers each connection with these bytes, and what it was sent.
struct Server {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
    _accepting: tokio_util::task::AbortOnDropHandle<()>,
}

impl Server {
    async fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (told, answer) = (Arc::clone(&seen), answer.into());
        let accepting = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut sent = Vec::new();
                while !sent.ends_with(b"\r\n\r\n") {
                    if stream.read_buf(&mut sent).await.unwrap_or(0) == 0 {
                        break;
                    }
                }
                let text = String::from_utf8_lossy(&sent).into_owned();
                told.lock().unwrap().push(text);
                let _ = stream.write_all(&answer).await;
                // The other side closes it.
                let _ = stream.read(&mut [0]).await;
            }
        });
        Self {
            port,
            seen,
            _accepting: tokio_util::task::AbortOnDropHandle::new(accepting),
        }
    }

    async fn hello() -> Self {
        Self::answering("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").await
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

fn outbound(rules: &[String], names: Names) -> Arc<Outbound> {
    let rules: Vec<HttpRule> = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    Outbound::with(&rules, names)
}

async fn get(
    outbound: &Outbound,
    uri: &str,
    options: RequestOptions,
) -> Result<(Response<WasiBody>, Rest), NoAnswer> {
    let body = Empty::<Bytes>::new().map_err(|never| match never {});
    let request = Request::builder()
        .uri(uri)
        .header("host", "another.example")
        .body(body.boxed_unsync())
        .unwrap();
    let target = check(outbound, request.method(), request.uri())?;
    let places = Arc::new(Semaphore::new(1));
    send(outbound, &target, request, Some(options), places).await
}

/// The body of an answer, or how reading it failed.
async fn body(answer: Result<(Response<WasiBody>, Rest), NoAnswer>) -> Result<Bytes, Error> {
    let (response, rest) = answer.unwrap_or_else(|none| panic!("{none:?}"));
    let collected = async { Ok(response.into_body().collect().await?.to_bytes()) };
    tokio::pin!(collected);
    tokio::select! {
        biased;
        collected = &mut collected => collected,
        () = rest => collected.await,
    }
}

fn short() -> RequestOptions {
    let length = Some(Duration::from_millis(50));
    RequestOptions {
        connect_timeout: length,
        first_byte_timeout: length,
        between_bytes_timeout: length,
    }
}

// Rule 9.1.
#[tokio::test]
async fn a_name_that_leads_to_this_machine_is_refused_though_it_is_allowed() {
    let server = Server::hello().await;
    for address in [
        "127.0.0.1",
        "::ffff:127.0.0.1",
        "::1",
        "0.0.0.0",
        "10.0.0.1",
    ] {
        let rules = [format!("http://inside.example:{}", server.port)];
        let outbound = outbound(&rules, Names::leading_to(&[&[address]]));
        let uri = format!("http://inside.example:{}/", server.port);
        let refused = get(&outbound, &uri, RequestOptions::default()).await;
        match refused.err() {
            Some(NoAnswer::Refused(refusal)) => {
                assert!(matches!(refusal.code(), Error::DestinationIpProhibited));
                let says = refusal.to_string();
                assert!(
                    says.contains(address) && says.contains("inside.example"),
                    "{says}"
                );
            }
            other => panic!("{address}: {other:?}"),
        }
    }
    assert_eq!(server.seen(), Vec::<String>::new());
}

// Rule 9.1: an address of a name's that is in the list, or that is this machine's for `localhost`.
#[tokio::test]
async fn a_name_leads_inside_where_the_list_names_the_address_as_well() {
    let server = Server::hello().await;
    let port = server.port;
    let table = [
        (
            "inside.example",
            vec![
                format!("http://inside.example:{port}"),
                "127.0.0.0/8".into(),
            ],
        ),
        (
            "inside.example",
            vec![
                format!("inside.example:{port}"),
                format!("127.0.0.1:{port}"),
            ],
        ),
        (
            "a.inside.example",
            vec![format!("*.inside.example:{port}"), "127.0.0.1".into()],
        ),
        ("localhost", vec![format!("localhost:{port}")]),
    ];
    for (host, rules) in table {
        let outbound = outbound(&rules, Names::leading_to(&[&["10.0.0.1", "127.0.0.1"]]));
        let uri = format!("http://{host}:{port}/");
        let answer = get(&outbound, &uri, RequestOptions::default()).await;
        assert_eq!(body(answer).await.unwrap(), "hello", "{rules:?}");
    }
    assert_eq!(server.seen().len(), 4);
}

// Rule 9.1: what a name leads to is asked once, and the connection goes to what was judged.
#[tokio::test]
async fn a_name_that_leads_elsewhere_at_the_second_lookup_is_not_followed_there() {
    let server = Server::hello().await;
    let rules = [format!("http://rebound.example:{}", server.port)];
    // Documentation: no address of the internet, but one that the list names.
    let rules = [&rules[..], &["192.0.2.1".to_owned()]].concat();
    let names = Names::leading_to(&[&["192.0.2.1"], &["127.0.0.1"]]);
    let outbound = outbound(&rules, names.clone());
    let uri = format!("http://rebound.example:{}/", server.port);
    let failed = get(&outbound, &uri, short()).await;
    assert!(
        matches!(failed, Err(NoAnswer::Failed(_))),
        "nobody is there"
    );
    assert_eq!(names.asked.load(SeqCst), 1);
    assert_eq!(server.seen(), Vec::<String>::new());
}

// Rule 9.1.
#[tokio::test]
async fn the_host_header_is_the_authority_that_was_checked() {
    let server = Server::hello().await;
    let port = server.port;
    let rules = [
        format!("http://localhost:{port}"),
        format!("http://127.0.0.1:{port}"),
    ];
    let outbound = outbound(&rules, Names::leading_to(&[&["127.0.0.1"]]));
    for (host, header) in [
        ("localhost", "localhost"),
        ("LocalHost.", "localhost"),
        ("127.1", "127.0.0.1"),
        ("0x7f.0.0.1", "127.0.0.1"),
    ] {
        let uri = format!("http://{host}:{port}/a/path?and=more");
        let answer = get(&outbound, &uri, RequestOptions::default()).await;
        assert_eq!(body(answer).await.unwrap(), "hello", "{uri}");
        let seen = server.seen().pop().unwrap().to_lowercase();
        assert!(
            seen.starts_with("get /a/path?and=more http/1.1\r\n"),
            "{seen}"
        );
        assert!(
            seen.contains(&format!("\r\nhost: {header}:{port}\r\n")),
            "{seen}"
        );
        assert_eq!(seen.matches("\r\nhost:").count(), 1, "{seen}");
    }
}

// Rule 9.1.
#[test]
fn what_is_refused_without_asking_anybody() {
    let rules = ["example.com".to_owned(), "http://127.0.0.1:8080".to_owned()];
    let outbound = outbound(&rules, Names::default());
    let refusal = |method: Method, uri: &str| check(&outbound, &method, &uri.parse().unwrap());
    for uri in [
        "https://example.org/",
        "http://example.com/",
        "https://example.com:8443/",
        "http://127.0.0.1/",
        "http://127.0.0.2:8080/",
        "http://[::1]:8080/",
    ] {
        let refused = refusal(Method::GET, uri);
        assert!(matches!(refused, Err(Refusal::NotListed(_))), "{uri}");
    }
    for (uri, error) in [
        ("https://user:password@example.com/", HostError::User),
        ("https://example.com@127.0.0.1:8080/", HostError::User),
        ("https://example.com:0/", HostError::Port),
    ] {
        assert_eq!(refusal(Method::GET, uri), Err(Refusal::Url(error)), "{uri}");
    }
    let refused = refusal(Method::CONNECT, "https://example.com/");
    assert_eq!(refused, Err(Refusal::Connect));
    let long = Method::from_bytes(&[b'X'; 33]).unwrap();
    let refused = refusal(long, "https://example.com/");
    assert_eq!(refused, Err(Refusal::Method(33)));
    assert!(refusal(Method::GET, "https://example.com/").is_ok());
}

#[tokio::test]
async fn each_wait_has_its_time_out() {
    let failed = async |outbound: &Outbound, uri: &str| match get(outbound, uri, short()).await {
        Err(NoAnswer::Failed(error)) => error,
        other => panic!("{:?}", other.err()),
    };
    let names = Names {
        silent: true,
        ..Names::default()
    };
    let nobody = outbound(&["example.com".to_owned()], names);
    let error = failed(&nobody, "https://example.com").await;
    assert!(matches!(error, Error::DnsTimeout), "{error}");

    let silent = Server::answering("").await;
    let rules = [format!("127.0.0.1:{}", silent.port)];
    let allowed = outbound(&rules, Names::default());
    let error = failed(&allowed, &format!("http://127.0.0.1:{}", silent.port)).await;
    assert!(matches!(error, Error::HttpResponseTimeout), "{error}");
    // It speaks no TLS either.
    let error = failed(&allowed, &format!("https://127.0.0.1:{}", silent.port)).await;
    assert!(matches!(error, Error::ConnectionTimeout), "{error}");

    let half = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello").await;
    let rules = [format!("127.0.0.1:{}", half.port)];
    let allowed = outbound(&rules, Names::default());
    let options = RequestOptions {
        between_bytes_timeout: short().between_bytes_timeout,
        ..RequestOptions::default()
    };
    let answer = get(
        &allowed,
        &format!("http://127.0.0.1:{}", half.port),
        options,
    )
    .await;
    let error = body(answer).await.unwrap_err();
    assert!(matches!(error, Error::ConnectionReadTimeout), "{error}");
}

#[tokio::test]
async fn an_answer_that_is_no_http_or_has_too_large_a_head_has_its_word() {
    let long = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(1 << 20));
    type Is = fn(&Error) -> bool;
    let table: [(String, Is); 3] = [
        ("SSH-2.0-OpenSSH\r\n\r\n".into(), |e| {
            matches!(e, Error::HttpProtocolError)
        }),
        (long, |e| {
            matches!(e, Error::HttpResponseHeaderSectionSize(_))
        }),
        ("HTTP/1.1 2".into(), |e| {
            matches!(e, Error::HttpResponseTimeout)
        }),
    ];
    for (answer, is) in table {
        let server = Server::answering(answer.clone()).await;
        let rules = [format!("127.0.0.1:{}", server.port)];
        let allowed = outbound(&rules, Names::default());
        let uri = format!("http://127.0.0.1:{}/", server.port);
        let options = RequestOptions {
            first_byte_timeout: Some(Duration::from_millis(500)),
            ..RequestOptions::default()
        };
        match get(&allowed, &uri, options).await {
            Err(NoAnswer::Failed(error)) => assert!(is(&error), "{error} for {answer:.20}"),
            other => panic!("{:?}", other.err()),
        }
    }
}

#[tokio::test]
async fn a_place_that_never_comes_free_is_waited_for_as_long_as_a_connection() {
    let server = Server::hello().await;
    let rules = [format!("127.0.0.1:{}", server.port)];
    let outbound = outbound(&rules, Names::default());
    let uri = format!("http://127.0.0.1:{}/", server.port);
    let target = check(&outbound, &Method::GET, &uri.parse().unwrap()).unwrap();
    let body = Empty::<Bytes>::new().map_err(|never| match never {});
    let request = Request::builder()
        .uri(uri)
        .body(body.boxed_unsync())
        .unwrap();
    let places = Arc::new(Semaphore::new(0));
    let none = send(&outbound, &target, request, Some(short()), places).await;
    let limit = matches!(none, Err(NoAnswer::Failed(Error::ConnectionLimitReached)));
    assert!(limit, "{:?}", none.err());
    assert_eq!(server.seen(), Vec::<String>::new());
}
