//! Where a handler's HTTP requests may go: the rules of a mount's `http` (SPEC 9.1).

mod host;
mod network;

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

pub(crate) use host::split_port;
pub use host::{Host, HostError};
pub(crate) use network::plain;
pub use network::{Network, NetworkError};

/// The two schemes of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HttpScheme {
    /// In the clear.
    Http,
    /// With TLS.
    Https,
}

impl HttpScheme {
    /// As it stands in a URL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port of a URL that names none.
    pub fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// Which hosts a rule is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RuleHost {
    /// The one of this name, in lower case and without a dot at its end.
    Name(String),
    /// Each whose name ends in a dot and this, and so not the one of this very name.
    Below(String),
    /// Each that is named by an address of this network.
    Network(Network),
}

/// One rule: `host`, `host:port`, `http://host[:port]`, `https://host[:port]`, where the host is a
/// name, `*.` and a name, an IP address or a CIDR network.
///
/// A rule with neither a scheme nor a port is about https on port 443 alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HttpRule {
    text: String,
    scheme: Option<HttpScheme>,
    host: RuleHost,
    port: Option<u16>,
}

impl HttpRule {
    /// The rule as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The scheme that it names; with none it is about both, if it names a port.
    pub fn scheme(&self) -> Option<HttpScheme> {
        self.scheme
    }

    /// The hosts that it is about.
    pub fn host(&self) -> &RuleHost {
        &self.host
    }

    /// The port that it names, or that its scheme stands for.
    pub fn port(&self) -> Option<u16> {
        self.port.or(self.scheme.map(HttpScheme::port))
    }
}

/// A text that is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpRuleError {
    /// Neither http nor https.
    #[error("{0:?} is not a scheme that a handler can speak; write http:// or https://")]
    Scheme(String),
    /// All hosts.
    #[error("a rule names hosts, and `*` alone names none; write each, or *.example.com")]
    Everything,
    /// A star that is not the first part of the name.
    #[error("`*` can only stand first, with a dot behind it: *.example.com")]
    Star,
    /// More than a host.
    #[error("a rule names a host and no path; leave {0:?} away")]
    Path(String),
    /// Another spelling of an IPv4 address.
    #[error("this is the address {0}; write it so")]
    Spelling(std::net::IpAddr),
    /// No host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// No network.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

impl FromStr for HttpRule {
    type Err = HttpRuleError;

    fn from_str(text: &str) -> Result<Self, HttpRuleError> {
        let (scheme, rest) = match text.split_once("://") {
            None => (None, text),
            Some((word, rest)) => match word.to_ascii_lowercase().as_str() {
                "http" => (Some(HttpScheme::Http), rest),
                "https" => (Some(HttpScheme::Https), rest),
                _ => return Err(HttpRuleError::Scheme(word.to_owned())),
            },
        };
        // An IPv6 address or network may stand without brackets where no port follows.
        let bare = rest.matches(':').count() > 1 && !rest.starts_with('[');
        let (host, port) = match bare {
            true => (rest, None),
            false => split_port(rest)?,
        };
        Ok(Self {
            text: text.to_owned(),
            scheme,
            host: rule_host(host)?,
            port,
        })
    }
}

fn rule_host(text: &str) -> Result<RuleHost, HttpRuleError> {
    let inner = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
    let unbracketed = inner.unwrap_or(text);
    if let Some((before, after)) = unbracketed.split_once('/') {
        // What stands behind the slash of a network is a number.
        let is_number = !after.is_empty() && after.bytes().all(|b| b.is_ascii_digit());
        let is_address = before.parse::<std::net::IpAddr>().is_ok();
        if !is_number || !is_address {
            let path = &unbracketed[before.len()..];
            return Err(HttpRuleError::Path(path.to_owned()));
        }
        return Ok(RuleHost::Network(unbracketed.parse()?));
    }
    if unbracketed == "*" {
        return Err(HttpRuleError::Everything);
    }
    if let Some(name) = text.strip_prefix("*.") {
        return match Host::parse(name)? {
            Host::Name(name) => Ok(RuleHost::Below(name)),
            Host::Address(_) => Err(HttpRuleError::Star),
        };
    }
    if text.contains('*') {
        return Err(HttpRuleError::Star);
    }
    if unbracketed.contains(':') {
        let host = Host::parse(&format!("[{unbracketed}]"))?;
        return Ok(match host {
            Host::Name(name) => RuleHost::Name(name),
            Host::Address(address) => RuleHost::Network(Network::of(address)),
        });
    }
    match Host::parse(text)? {
        Host::Name(name) => Ok(RuleHost::Name(name)),
        // One spelling, so that whoever reads the list sees what is in it.
        Host::Address(address) if address.to_string() != text => {
            Err(HttpRuleError::Spelling(address))
        }
        Host::Address(address) => Ok(RuleHost::Network(Network::of(address))),
    }
}

impl fmt::Display for HttpRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for HttpRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> (Option<HttpScheme>, RuleHost, Option<u16>) {
        let rule: HttpRule = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(rule.to_string(), text);
        (rule.scheme, rule.host, rule.port)
    }

    fn name(text: &str) -> RuleHost {
        RuleHost::Name(text.into())
    }

    fn network(text: &str) -> RuleHost {
        RuleHost::Network(text.parse().unwrap())
    }

    // Rule 9.1.
    #[test]
    fn a_rule_is_a_host_with_or_without_a_scheme_and_a_port() {
        use HttpScheme::{Http, Https};
        let below = RuleHost::Below("example.com".into());
        let table = [
            ("example.com", None, name("example.com"), None),
            ("Example.COM.", None, name("example.com"), None),
            ("example.com:8443", None, name("example.com"), Some(8443)),
            ("http://example.com", Some(Http), name("example.com"), None),
            (
                "HTTPS://example.com:8443",
                Some(Https),
                name("example.com"),
                Some(8443),
            ),
            ("*.example.com", None, below.clone(), None),
            ("http://*.Example.com:80", Some(Http), below, Some(80)),
            ("localhost:3000", None, name("localhost"), Some(3000)),
            (
                "xn--bcher-kva.example",
                None,
                name("xn--bcher-kva.example"),
                None,
            ),
            ("10.0.0.5", None, network("10.0.0.5/32"), None),
            ("10.0.0.5:80", None, network("10.0.0.5/32"), Some(80)),
            ("10.0.0.0/8", None, network("10.0.0.0/8"), None),
            ("10.0.0.0/8:8080", None, network("10.0.0.0/8"), Some(8080)),
            ("http://10.0.0.0/8", Some(Http), network("10.0.0.0/8"), None),
            ("::1", None, network("::1/128"), None),
            ("[::1]", None, network("::1/128"), None),
            ("[::1]:8080", None, network("::1/128"), Some(8080)),
            (
                "http://[::1]:8080",
                Some(Http),
                network("::1/128"),
                Some(8080),
            ),
            ("fd00::/8", None, network("fd00::/8"), None),
            ("[fd00::/8]:443", None, network("fd00::/8"), Some(443)),
            ("::ffff:10.0.0.5", None, network("10.0.0.5/32"), None),
        ];
        for (text, scheme, host, port) in table {
            assert_eq!(rule(text), (scheme, host, port), "{text}");
        }
    }

    // Rule 9.1.
    #[test]
    fn a_text_that_is_no_rule_says_why() {
        let table = [
            ("", "no host"),
            ("https://", "no host"),
            ("ftp://example.com", "not a scheme"),
            ("*", "names none"),
            ("https://*", "names none"),
            ("a.*.com", "only stand first"),
            ("*example.com", "only stand first"),
            ("*.*.com", "cannot stand in a host name"),
            ("*.10.0.0.1", "only stand first"),
            ("https://example.com/", "no path; leave \"/\""),
            ("example.com/v1/orders", "no path"),
            ("example.com:443/v1", "1 to 65535"),
            ("user:secret@example.com", "user"),
            ("https://user@example.com", "user"),
            ("example.com:0", "1 to 65535"),
            ("example.com:65536", "1 to 65535"),
            ("example.com:", "1 to 65535"),
            ("example.com:+80", "1 to 65535"),
            ("bücher.example", "xn--"),
            ("exa mple.com", "cannot stand"),
            ("example..com", "empty"),
            (".example.com", "empty"),
            ("10.1", "10.0.0.1"),
            ("0x7f.1", "127.0.0.1"),
            ("2130706433", "127.0.0.1"),
            ("256.1.1.1", "no IPv4 address"),
            ("10.0.0.1/8", "10.0.0.0/8"),
            ("10.0.0.0/33", "at most 32"),
            ("fd00::/129", "at most 128"),
            ("fe80::1%eth0", "no IPv6 address"),
            ("[::1", "no IPv6 address"),
            ("[::1]x", "1 to 65535"),
        ];
        for (text, says) in table {
            let error = text.parse::<HttpRule>().map_err(|error| error.to_string());
            let error = error.expect_err(text);
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn a_scheme_stands_for_its_port() {
        let port = |text: &str| text.parse::<HttpRule>().unwrap().port();
        assert_eq!(port("http://example.com"), Some(80));
        assert_eq!(port("https://example.com"), Some(443));
        assert_eq!(port("https://example.com:8443"), Some(8443));
        assert_eq!(port("example.com"), None);
    }
}
