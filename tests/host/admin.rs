//! A client of a host's admin endpoint, and a strict reader of its metrics.

use std::collections::BTreeMap;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::folder::Folder;
use crate::process::{Process, queuelet};
use crate::until;

/// Where a host that was told to take a free port says how it is.
pub(crate) struct Admin {
    pub(crate) address: String,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

impl Admin {
    /// A host with its endpoint on a free port.
    pub(crate) async fn beside(folder: &Folder, endpoint: &str, more: &[&str]) -> (Process, Self) {
        let host = Process::run(
            folder,
            endpoint,
            &[&["--admin", "127.0.0.1:0"], more].concat(),
        );
        let admin = Self::of(&host).await;
        (host, admin)
    }

    /// The endpoint of a host, once it is there.
    pub(crate) async fn of(host: &Process) -> Self {
        const SAYS: &str = "admin endpoint: http://";
        let said = host.logs(SAYS, 1, |line| line.message().starts_with(SAYS));
        let said = said.await.remove(0);
        Self {
            address: said.message()[SAYS.len()..].to_owned(),
        }
    }

    /// Sends these bytes and answers what comes back until the other side closes.
    pub(crate) async fn send(&self, request: &str) -> Answer {
        let stream = TcpStream::connect(&self.address).await;
        let mut stream = stream.expect("the endpoint listens");
        let sent = stream.write_all(request.as_bytes()).await;
        sent.expect("it reads a request");
        let mut text = String::new();
        let read = stream.read_to_string(&mut text).await;
        read.expect("an answer is text");
        let (head, body) = text.split_once("\r\n\r\n").expect("an answer has a head");
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        Answer {
            status: status.expect("an answer has a status"),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    /// Asks with a method, calling the host by this name.
    pub(crate) async fn ask(&self, method: &str, path: &str, host: &str) -> Answer {
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        self.send(&request).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &self.address).await
    }

    pub(crate) async fn status(&self) -> Value {
        let answer = self.get("/status").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/json"));
        serde_json::from_str(&answer.body).expect("a status is JSON")
    }

    pub(crate) async fn metrics(&self) -> Metrics {
        let answer = self.get("/metrics").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(
            answer.header("content-type"),
            Some("text/plain; version=0.0.4; charset=utf-8")
        );
        Metrics::read(&answer.body)
    }

    /// Waits until the status is as a test wants it, and answers it.
    pub(crate) async fn stands(&self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        until(what, async || Some(self.status().await).filter(&is)).await
    }

    /// `queuelet status` of it.
    pub(crate) fn command(&self, more: &[&str]) -> tokio::process::Command {
        queuelet(&[&["status", "--admin", &self.address], more].concat())
    }
}

/// The samples by name and labels, as the labels were before they were escaped.
#[derive(Debug)]
pub(crate) struct Metrics(BTreeMap<(String, BTreeMap<String, String>), f64>);

impl Metrics {
    /// Reads the text format, version 0.0.4, and panics at whatever is not in it: each name has one
    /// HELP and one TYPE before its samples, which stand together; no sample comes twice; a counter's
    /// name ends in `_total`; the last line is ended.
    pub(crate) fn read(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line is not ended");
        let mut samples = BTreeMap::new();
        let mut known: Vec<String> = Vec::new();
        let mut helped = None;
        let mut of: Option<(String, String)> = None;
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, help) = help.split_once(' ').expect("a HELP has a name and a text");
                assert!(!help.is_empty() && helped.is_none(), "{line}");
                helped = Some(name.to_owned());
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').expect("a TYPE has a name and a word");
                assert_eq!(helped.take().as_deref(), Some(name), "{line}");
                assert!(["counter", "gauge"].contains(&kind), "{line}");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                assert!(!known.iter().any(|known| known == name), "twice: {line}");
                known.push(name.to_owned());
                of = Some((name.to_owned(), kind.to_owned()));
            } else {
                let (name, labels, value) = sample(line);
                let (family, kind) = of.as_ref().expect("a TYPE stands before its samples");
                assert_eq!(&name, family, "{line}");
                assert!(kind == "gauge" || value >= 0.0, "{line}");
                let twice = samples.insert((name, labels), value);
                assert!(twice.is_none(), "twice: {line}");
            }
        }
        Self(samples)
    }

    /// The one sample of this name that has these labels, among others perhaps.
    pub(crate) fn get(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let mut found = self.0.iter().filter(|((of, has), _)| {
            let fits = |(key, value): &(&str, &str)| has.get(*key).is_some_and(|of| of == value);
            of == name && labels.iter().all(fits)
        });
        let (_, value) = found
            .next()
            .unwrap_or_else(|| panic!("no {name} {labels:?} in {self:#?}"));
        assert!(found.next().is_none(), "several {name} {labels:?}");
        *value
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        let names = self.0.keys().map(|(name, _)| name.as_str());
        let mut names: Vec<_> = names.collect();
        names.dedup();
        names
    }
}

fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn sample(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let end = line.find(['{', ' ']).expect("a sample has a value");
    let (name, mut rest) = line.split_at(end);
    assert!(is_name(name), "{line}");
    let mut labels = BTreeMap::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (key, after) = rest.split_once("=\"").expect("a label has a value");
            assert!(is_name(key), "{line}");
            let mut value = String::new();
            let mut chars = after.char_indices();
            let end = loop {
                match chars.next().expect("a value ends") {
                    (at, '"') => break at,
                    (_, '\\') => value.push(match chars.next().map(|(_, c)| c) {
                        Some('n') => '\n',
                        Some(c @ ('\\' | '"')) => c,
                        other => panic!("an escape of {other:?}: {line}"),
                    }),
                    (_, c) => value.push(c),
                }
            };
            let twice = labels.insert(key.to_owned(), value);
            assert!(twice.is_none(), "{line}");
            rest = &after[end + 1..];
            match rest.strip_prefix(',') {
                Some(more) => rest = more,
                None => break,
            }
        }
        rest = rest.strip_prefix('}').expect("the labels end");
    }
    let value = rest.strip_prefix(' ').expect("a value follows");
    let value = value.parse().unwrap_or_else(|e| panic!("{e}: {line}"));
    (name.to_owned(), labels, value)
}
