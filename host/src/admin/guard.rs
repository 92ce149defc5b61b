//! Which requests are answered, and with what. Pure.

use std::net::IpAddr;

use hyper::header::{HOST, HeaderMap};
use hyper::http::uri::Authority;
use hyper::{Method, Uri};

/// What there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    Status,
    Health,
    Readiness,
    Metrics,
}

impl Page {
    pub(super) const ALL: [Page; 4] = [Self::Status, Self::Health, Self::Readiness, Self::Metrics];

    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Status => "/status",
            Self::Health => "/healthz",
            Self::Readiness => "/readyz",
            Self::Metrics => "/metrics",
        }
    }
}

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// It calls this machine by a name that is not its own.
    Misdirected,
    Method,
    NotFound,
}

/// Which page a request is for. `is_local`: whether only this machine can reach us, so that only
/// names of this machine are right.
pub(super) fn page(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    is_local: bool,
) -> Result<Page, Refused> {
    if is_local && !calls_this_machine(uri, headers) {
        return Err(Refused::Misdirected);
    }
    if method != Method::GET && method != Method::HEAD {
        return Err(Refused::Method);
    }
    let mut pages = Page::ALL.into_iter();
    pages
        .find(|page| page.path() == uri.path())
        .ok_or(Refused::NotFound)
}

/// Whether every name that the request gives this server is one of loopback. A request without any
/// comes from no browser.
fn calls_this_machine(uri: &Uri, headers: &HeaderMap) -> bool {
    let named = headers.get_all(HOST).iter().all(|host| {
        let host = host.to_str().ok();
        let authority = host.and_then(|host| host.parse::<Authority>().ok());
        authority.is_some_and(|authority| is_loopback(authority.host()))
    });
    named && uri.host().is_none_or(is_loopback)
}

fn is_loopback(host: &str) -> bool {
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    match bare.unwrap_or(host).parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host.trim_end_matches('.').eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: &str, uri: &str, hosts: &[&str], is_local: bool) -> Result<Page, Refused> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, host.parse().unwrap());
        }
        let method = method.parse().unwrap();
        page(&method, &uri.parse().unwrap(), &headers, is_local)
    }

    #[test]
    fn each_path_has_its_page_and_no_other_has_one() {
        for page in Page::ALL {
            for method in ["GET", "HEAD"] {
                assert_eq!(asked(method, page.path(), &[], true), Ok(page));
            }
            let with_query = format!("{}?a=b", page.path());
            assert_eq!(asked("GET", &with_query, &[], true), Ok(page));
        }
        for path in ["/", "/status/", "/Status", "/metrics/x", "/..%2fstatus"] {
            assert_eq!(asked("GET", path, &[], true), Err(Refused::NotFound));
        }
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "BREW"] {
            assert_eq!(asked(method, "/status", &[], true), Err(Refused::Method));
        }
    }

    #[test]
    fn on_loopback_only_names_of_loopback_are_answered() {
        let get = |hosts: &[&str]| asked("GET", "/status", hosts, true);
        for host in [
            "localhost",
            "LOCALHOST:9640",
            "localhost.",
            "127.0.0.1:9640",
            "127.8.8.8",
            "[::1]",
            "[::1]:9640",
            "[::ffff:127.0.0.1]:1",
        ] {
            assert_eq!(get(&[host]), Ok(Page::Status), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:9640",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1:9640",
            "[2001:db8::1]",
            "0.0.0.0",
            "a b",
            "",
        ] {
            assert_eq!(get(&[host]), Err(Refused::Misdirected), "{host:?}");
            assert_eq!(
                get(&["localhost", host]),
                Err(Refused::Misdirected),
                "{host:?}"
            );
        }
        let absolute = "http://evil.example/status";
        assert_eq!(
            asked("GET", absolute, &["localhost"], true),
            Err(Refused::Misdirected)
        );
        assert_eq!(
            asked("GET", absolute, &["evil.example"], false),
            Ok(Page::Status)
        );
    }
}
