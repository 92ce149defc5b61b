//! What a request is for, in one spelling.

use std::fmt;
use std::net::IpAddr;

use hyper::Uri;

use crate::config::{Host, HostError, HttpScheme, split_port};

/// The scheme, the host and the port of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) scheme: HttpScheme,
    pub(super) host: Host,
    pub(super) port: u16,
}

impl Target {
    /// Reads them off a URI.
    pub(super) fn of(uri: &Uri) -> Result<Self, HostError> {
        let scheme = match uri.scheme_str() {
            Some("https") => HttpScheme::Https,
            // There is no third: the hooks of wasi:http take none.
            _ => HttpScheme::Http,
        };
        let authority = uri.authority().ok_or(HostError::Empty)?;
        let (host, port) = split_port(authority.as_str())?;
        Ok(Self {
            scheme,
            host: Host::parse(host)?,
            port: port.unwrap_or(scheme.port()),
        })
    }

    /// The `host` header: the host, and the port where it is not the scheme's own.
    pub(super) fn authority(&self) -> String {
        match self.port == self.scheme.port() {
            true => self.host_text(),
            false => format!("{}:{}", self.host_text(), self.port),
        }
    }

    /// The host as it stands in a URL.
    pub(super) fn host_text(&self) -> String {
        match &self.host {
            Host::Name(name) => name.clone(),
            Host::Address(IpAddr::V4(address)) => address.to_string(),
            Host::Address(IpAddr::V6(address)) => format!("[{address}]"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.as_str(), self.authority())
    }
}

/// The host in an authority that is none, for a log line: without what stands before an `@`, which
/// may be a password.
pub(super) fn unreadable_host(uri: &Uri) -> &str {
    let authority = uri.authority().map_or("", |a| a.as_str());
    authority.rsplit('@').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(uri: &str) -> Result<String, HostError> {
        let uri: Uri = uri.parse().unwrap_or_else(|e| panic!("{uri}: {e}"));
        Target::of(&uri).map(|target| format!("{target} {}", target.port))
    }

    // Rule 9.1.
    #[test]
    fn a_target_has_one_spelling() {
        let table = [
            ("https://example.com/x?y", "https://example.com 443"),
            ("https://EXAMPLE.com.:443/", "https://example.com 443"),
            ("http://example.com:80", "http://example.com 80"),
            ("http://example.com:443", "http://example.com:443 443"),
            ("https://example.com:8443", "https://example.com:8443 8443"),
            ("http://0x7f.1/", "http://127.0.0.1 80"),
            ("http://2130706433:8080/", "http://127.0.0.1:8080 8080"),
            ("http://[::1]:8080/", "http://[::1]:8080 8080"),
            (
                "http://[0:0:0:0:0:ffff:7f00:1]/",
                "http://[::ffff:127.0.0.1] 80",
            ),
        ];
        for (uri, target) in table {
            assert_eq!(of(uri).as_deref(), Ok(target), "{uri}");
        }
        let table = [
            ("https://user:pass@example.com/", HostError::User),
            ("https://example.com@127.0.0.1/", HostError::User),
            ("https://@example.com/", HostError::User),
            ("http://example.com:0/", HostError::Port),
            ("http://example.com:/", HostError::Port),
            ("http://example..com/", HostError::Length),
            ("http://1.2.3.4.5/", HostError::Number),
        ];
        for (uri, error) in table {
            assert_eq!(of(uri), Err(error), "{uri}");
        }
    }

    #[test]
    fn what_stands_before_an_at_sign_is_in_no_log_line() {
        let uri: Uri = "https://user:secret@example.com/".parse().unwrap();
        assert_eq!(unreadable_host(&uri), "example.com");
    }
}
