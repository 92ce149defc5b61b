//! Whether a mount's rules let a request go where it wants.

use std::net::IpAddr;

use super::address::is_public;
use super::target::Target;
use crate::config::{Host, HttpRule, HttpScheme, RuleHost, plain};

/// The rules of a mount.
#[derive(Clone, Debug, Default)]
pub(super) struct Allowed(Vec<HttpRule>);

impl Allowed {
    pub(super) fn new(rules: &[HttpRule]) -> Self {
        Self(rules.to_vec())
    }

    /// Whether a request may name this scheme, host and port.
    pub(super) fn request(&self, target: &Target) -> bool {
        self.0.iter().any(|rule| allows(rule, target))
    }

    /// Whether the request, which names a host that is allowed, may be sent to this address of it.
    ///
    /// A name that is allowed can be made to lead anywhere by whoever owns it. So an address that is
    /// not the internet's is only reached where it is in the list as well.
    pub(super) fn address(&self, target: &Target, address: IpAddr) -> bool {
        is_public(address)
            || self.0.iter().any(|rule| match rule.host() {
                RuleHost::Network(network) => {
                    // An address that stands in the list for its own sake has no port of its own.
                    let any_port = rule.port().is_none();
                    network.contains(address) && (any_port || at(rule, target))
                }
                RuleHost::Name(name) if name == "localhost" => {
                    allows(rule, target) && plain(address).is_loopback()
                }
                RuleHost::Name(_) | RuleHost::Below(_) => false,
            })
    }
}

fn allows(rule: &HttpRule, target: &Target) -> bool {
    let names = match (rule.host(), &target.host) {
        (RuleHost::Name(name), Host::Name(asked)) => name == asked,
        (RuleHost::Below(name), Host::Name(asked)) => {
            let below = asked.strip_suffix(name.as_str());
            below.is_some_and(|below| below.len() > 1 && below.ends_with('.'))
        }
        (RuleHost::Network(network), Host::Address(asked)) => network.contains(*asked),
        // A name is allowed as a name, and an address as an address.
        (RuleHost::Name(_) | RuleHost::Below(_), Host::Address(_))
        | (RuleHost::Network(_), Host::Name(_)) => false,
    };
    names && at(rule, target)
}

/// Whether the rule is about the target's scheme and port.
fn at(rule: &HttpRule, target: &Target) -> bool {
    let port = rule.port().unwrap_or(HttpScheme::Https.port());
    let scheme = match (rule.scheme(), rule.port()) {
        (Some(scheme), _) => scheme == target.scheme,
        (None, Some(_)) => true,
        (None, None) => target.scheme == HttpScheme::Https,
    };
    scheme && port == target.port
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(rules: &[&str]) -> Allowed {
        let rules: Vec<HttpRule> = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        Allowed::new(&rules)
    }

    fn target(uri: &str) -> Target {
        Target::of(&uri.parse().unwrap()).unwrap()
    }

    // Rule 9.1.
    #[test]
    fn a_request_goes_where_a_rule_names_its_scheme_host_and_port() {
        let table: [(&[&str], &[&str], &[&str]); 12] = [
            (
                &[],
                &[],
                &[
                    "https://example.com",
                    "http://127.0.0.1",
                    "http://localhost",
                ],
            ),
            (
                &["example.com"],
                &[
                    "https://example.com/path?query",
                    "https://example.com:443",
                    "https://EXAMPLE.COM",
                    "https://example.com.",
                    "https://eXample.com.:443",
                ],
                &[
                    "http://example.com",
                    "http://example.com:443",
                    "https://example.com:8443",
                    "https://www.example.com",
                    "https://example.com.evil.org",
                    "https://notexample.com",
                    "https://example.co",
                    "https://93.184.216.34",
                ],
            ),
            (
                &["example.com:8080"],
                &["http://example.com:8080", "https://example.com:8080"],
                &["https://example.com", "http://example.com:80"],
            ),
            (
                &["http://example.com"],
                &["http://example.com", "http://example.com:80"],
                &[
                    "https://example.com",
                    "https://example.com:80",
                    "http://example.com:8080",
                ],
            ),
            (
                &["http://example.com:8080"],
                &["http://example.com:8080"],
                &["https://example.com:8080", "http://example.com"],
            ),
            (
                &["https://example.com:8443"],
                &["https://example.com:8443"],
                &["http://example.com:8443", "https://example.com"],
            ),
            (
                &["*.example.com"],
                &[
                    "https://a.example.com",
                    "https://a.b.example.com.",
                    "https://A.EXAMPLE.com",
                ],
                &[
                    "https://example.com",
                    "https://aexample.com",
                    "http://a.example.com",
                    "https://a.example.com.evil.org",
                    "https://a.example.com:8443",
                ],
            ),
            (
                &["xn--bcher-kva.example"],
                &[
                    "https://xn--bcher-kva.example",
                    "https://XN--BCHER-KVA.example",
                ],
                &["https://bcher-kva.example", "https://bucher.example"],
            ),
            (
                &["http://127.0.0.1:8080"],
                &[
                    "http://127.0.0.1:8080",
                    "http://127.1:8080",
                    "http://0x7f.1:8080",
                    "http://0177.0.0.1:8080",
                    "http://2130706433:8080",
                    "http://[::ffff:127.0.0.1]:8080",
                    "http://[::127.0.0.1]:8080",
                ],
                &[
                    "http://127.0.0.1",
                    "http://127.0.0.2:8080",
                    "http://localhost:8080",
                    "http://[::1]:8080",
                    "http://0:8080",
                    "http://[::]:8080",
                ],
            ),
            (
                &["10.0.0.0/8:80"],
                &[
                    "http://10.1.2.3",
                    "http://0xa.1",
                    "http://[64:ff9b::a01:203]",
                ],
                &["https://10.1.2.3", "http://11.0.0.1", "http://ten.example"],
            ),
            (
                &["10.0.0.0/8"],
                &["https://10.1.2.3"],
                &["http://10.1.2.3", "https://10.1.2.3:8443"],
            ),
            (
                &["[::1]:8080"],
                &["http://[::1]:8080", "https://[0:0:0:0:0:0:0:1]:8080"],
                &[
                    "http://127.0.0.1:8080",
                    "http://[::]:8080",
                    "http://localhost:8080",
                ],
            ),
        ];
        for (rules, yes, no) in table {
            let allowed = allowed(rules);
            for uri in yes {
                assert!(allowed.request(&target(uri)), "{rules:?} {uri}");
            }
            for uri in no {
                assert!(!allowed.request(&target(uri)), "{rules:?} {uri}");
            }
        }
    }

    // Rule 9.1.
    #[test]
    fn a_name_leads_to_public_addresses_and_to_those_that_are_in_the_list() {
        type Texts = &'static [&'static str];
        let table: [(Texts, &str, Texts, Texts); 7] = [
            (
                &["example.com"],
                "https://example.com",
                &["93.184.216.34", "2606:4700::1", "::ffff:8.8.8.8"],
                &[
                    "127.0.0.1",
                    "::1",
                    "0.0.0.0",
                    "::",
                    "10.0.0.1",
                    "169.254.169.254",
                    "::ffff:169.254.169.254",
                    "64:ff9b::a9fe:a9fe",
                    "fd00:ec2::254",
                ],
            ),
            (
                &["example.com", "10.0.0.5"],
                "https://example.com",
                &["10.0.0.5", "::ffff:10.0.0.5"],
                &["10.0.0.6", "127.0.0.1"],
            ),
            (
                &["http://example.com", "10.0.0.0/8"],
                "http://example.com",
                &["10.0.0.5"],
                &["192.168.0.1"],
            ),
            (
                &["example.com", "10.0.0.0/8:8080"],
                "https://example.com",
                &[],
                &["10.0.0.5"],
            ),
            (
                &["example.com", "http://10.0.0.5"],
                "https://example.com",
                &[],
                &["10.0.0.5"],
            ),
            (
                &["localhost:3000"],
                "http://localhost:3000",
                &["127.0.0.1", "::1"],
                &["10.0.0.1", "169.254.169.254"],
            ),
            (
                &["localhost:3000", "example.com"],
                "https://example.com",
                &[],
                &["127.0.0.1", "::1"],
            ),
        ];
        for (rules, uri, yes, no) in table {
            let (allowed, target) = (allowed(rules), target(uri));
            for address in yes {
                let address = address.parse().unwrap();
                assert!(allowed.address(&target, address), "{rules:?} {address}");
            }
            for address in no {
                let address = address.parse().unwrap();
                assert!(!allowed.address(&target, address), "{rules:?} {address}");
            }
        }
    }
}
