//! Requests that are refused, and how often the log says so.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::target::Target;
use crate::config::{HostError, HttpScheme};
use wasmtime_wasi_http::Error;

/// How long the log says nothing more of a host and port that it has named.
const QUIET: Duration = Duration::from_secs(60);
/// How many different ones of a mount it names in that time.
const DIFFERENT: usize = 20;

/// Why a request does not leave the host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("its URL is refused: {0}")]
    Url(#[from] HostError),
    #[error("its mount does not allow {0}; to allow it add {rule:?} to `http` in the mount file", rule = rule(.0))]
    NotListed(Target),
    #[error(
        "{target} leads to {address}, which is not an address of the internet; to allow it add \
         \"{address}\" to `http` in the mount file as well"
    )]
    Address { target: Target, address: IpAddr },
    #[error("CONNECT is for proxies, and a handler has none")]
    Connect,
    #[error("no server knows a method with a name of {0} characters")]
    Method(usize),
}

impl Refusal {
    /// What the guest is told.
    pub(super) fn code(&self) -> Error {
        match self {
            Self::Url(_) => Error::HttpRequestUriInvalid,
            Self::NotListed(_) => Error::HttpRequestDenied,
            Self::Address { .. } => Error::DestinationIpProhibited,
            Self::Connect | Self::Method(_) => Error::HttpRequestMethodInvalid,
        }
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    Refused(Refusal),
    Failed(Error),
}

impl From<Refusal> for NoAnswer {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Error> for NoAnswer {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// The rule that would allow the target and no more.
fn rule(target: &Target) -> String {
    let own = target.port == target.scheme.port();
    match (target.scheme, own) {
        (HttpScheme::Https, true) => target.authority(),
        _ => target.to_string(),
    }
}

/// What the log has said lately of a mount's refusals.
#[derive(Default)]
pub(super) struct Said {
    lately: VecDeque<(String, Instant)>,
    unsaid: u64,
}

impl Said {
    /// Whether to say something of `what`: how many refusals the log has passed over since it last
    /// said something, or None for one more of them.
    pub(super) fn say(&mut self, what: &str, now: Instant) -> Option<u64> {
        while self
            .lately
            .front()
            .is_some_and(|(_, at)| now.duration_since(*at) >= QUIET)
        {
            self.lately.pop_front();
        }
        if self.lately.len() >= DIFFERENT || self.lately.iter().any(|(said, _)| said == what) {
            self.unsaid += 1;
            return None;
        }
        self.lately.push_back((what.to_owned(), now));
        Some(std::mem::take(&mut self.unsaid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_rule_that_would_allow_the_request() {
        let table = [
            ("https://example.com", "\"example.com\""),
            ("https://example.com:8443", "\"https://example.com:8443\""),
            ("http://example.com", "\"http://example.com\""),
            ("http://2130706433:8080", "\"http://127.0.0.1:8080\""),
            ("https://[::1]", "\"[::1]\""),
        ];
        for (uri, rule) in table {
            let target = Target::of(&uri.parse().unwrap()).unwrap();
            let refusal = Refusal::NotListed(target.clone()).to_string();
            assert!(
                refusal.contains(&format!("add {rule} to `http`")),
                "{refusal}"
            );
            let parsed: crate::config::HttpRule = rule.trim_matches('"').parse().unwrap();
            assert!(super::super::allowed::Allowed::new(&[parsed]).request(&target));
        }
    }

    #[test]
    fn the_log_says_once_a_minute_what_is_refused() {
        let mut said = Said::default();
        let start = Instant::now();
        assert_eq!(said.say("a:443", start), Some(0));
        assert_eq!(said.say("a:443", start), None);
        assert_eq!(said.say("a:443", start + QUIET / 2), None);
        assert_eq!(said.say("b:443", start + QUIET / 2), Some(2));
        assert_eq!(said.say("a:443", start + QUIET), Some(0));
        for port in 0..100 {
            said.say(&format!("c:{port}"), start + QUIET);
        }
        assert_eq!(said.lately.len(), DIFFERENT);
        assert_eq!(said.say("d:443", start + QUIET * 2), Some(82));
    }
}
