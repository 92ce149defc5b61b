//! The host of a URL: a name or an address, in whatever spelling.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest name of the DNS.
const MAX_NAME: usize = 253;
/// The longest part of one.
const MAX_LABEL: usize = 63;

/// A host as a URL names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// By name, in lower case and without the one dot that may end it.
    Name(String),
    /// By address, whichever way it was spelled.
    Address(IpAddr),
}

/// A text that is no host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// Nothing there.
    #[error("there is no host")]
    Empty,
    /// A user or a password.
    #[error("a user or a password cannot stand before the host")]
    User,
    /// A character of no host name.
    #[error(
        "{0:?} cannot stand in a host name; a name with other letters than those of ASCII is \
         written as DNS has it: xn--…"
    )]
    Character(char),
    /// Too long, or a part too long or empty.
    #[error("a part of the host name is empty or over 63 characters, or all of it over 253")]
    Length,
    /// Resolvers take such a name for an address.
    #[error("it ends in a number and is no IPv4 address")]
    Number,
    /// Between brackets.
    #[error("it is no IPv6 address (a zone, as in fe80::1%eth0, cannot be named)")]
    Ipv6,
    /// Behind the host.
    #[error("what follows the host must be a port from 1 to 65535")]
    Port,
}

impl Host {
    /// Reads the host of a URL: an IPv6 address stands in brackets.
    ///
    /// What a resolver would take as an address is one: `127.1`, `0x7f.0.0.1`, `2130706433`.
    ///
    /// # Errors
    /// Where it is neither a name nor an address.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        if let Some(rest) = text.strip_prefix('[') {
            let inner = rest.strip_suffix(']').ok_or(HostError::Ipv6)?;
            let address: Ipv6Addr = inner.parse().map_err(|_| HostError::Ipv6)?;
            return Ok(Self::Address(address.into()));
        }
        let is_name_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if let Some(c) = text.chars().find(|c| !is_name_char(*c)) {
            return Err(match c {
                '@' => HostError::User,
                // Only IPv6 addresses have these, and what else has them is a bad one.
                ':' | '%' => HostError::Ipv6,
                c => HostError::Character(c),
            });
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        if name.is_empty() {
            return Err(HostError::Empty);
        }
        let is_label = |label: &str| (1..=MAX_LABEL).contains(&label.len());
        if name.len() > MAX_NAME || !name.split('.').all(is_label) {
            return Err(HostError::Length);
        }
        let name = name.to_ascii_lowercase();
        if !ends_in_number(&name) {
            return Ok(Self::Name(name));
        }
        let address = ipv4(&name).ok_or(HostError::Number)?;
        Ok(Self::Address(address.into()))
    }
}

/// Takes `host` and `host:port` apart. The host may be an IPv6 address in brackets.
pub(crate) fn split_port(text: &str) -> Result<(&str, Option<u16>), HostError> {
    if text.contains('@') {
        return Err(HostError::User);
    }
    let end = match text.strip_prefix('[') {
        Some(inner) => inner.find(']').ok_or(HostError::Ipv6)? + 2,
        None => text.find(':').unwrap_or(text.len()),
    };
    let (host, rest) = text.split_at(end);
    if rest.is_empty() {
        return Ok((host, None));
    }
    let digits = rest.strip_prefix(':').ok_or(HostError::Port)?;
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(HostError::Port);
    }
    match digits.parse() {
        Ok(0) | Err(_) => Err(HostError::Port),
        Ok(port) => Ok((host, Some(port))),
    }
}

/// Whether the last part of a name is a number, by which URLs tell IPv4 addresses from names.
fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    match last.strip_prefix("0x") {
        Some(hex) => hex.bytes().all(|b| b.is_ascii_hexdigit()),
        None => last.bytes().all(|b| b.is_ascii_digit()),
    }
}

/// An IPv4 address in all the spellings of `inet_aton`: up to four numbers, the last of which fills
/// what the others leave, each decimal, octal after a `0` or hexadecimal after `0x`.
fn ipv4(text: &str) -> Option<Ipv4Addr> {
    let numbers: Vec<u64> = text.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    let left = u32::try_from(4_usize.checked_sub(first.len())?).ok()?;
    if left == 0 || first.iter().any(|byte| *byte > 0xff) || *last >= 1 << (8 * left) {
        return None;
    }
    let high = first.iter().fold(0, |sum, byte| sum << 8 | byte);
    let all = high << (8 * left) | last;
    u32::try_from(all).ok().map(Ipv4Addr::from_bits)
}

fn number(part: &str) -> Option<u64> {
    match part.strip_prefix("0x") {
        Some("") => Some(0),
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None if part.len() > 1 && part.starts_with('0') => u64::from_str_radix(part, 8).ok(),
        None => part.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Result<Host, HostError> {
        Ok(Host::Name(text.into()))
    }

    fn address(text: &str) -> Result<Host, HostError> {
        Ok(Host::Address(text.parse().unwrap()))
    }

    // Rule 9.1.
    #[test]
    fn a_host_is_what_a_resolver_would_take_it_for() {
        let label = "x".repeat(64);
        let long = "abc.".repeat(64);
        let table = [
            ("example.com", name("example.com")),
            ("EXAMPLE.com.", name("example.com")),
            ("a_b-c.example", name("a_b-c.example")),
            ("xn--BCHER-KVA.example", name("xn--bcher-kva.example")),
            ("localhost", name("localhost")),
            ("1.2.3.4.example", name("1.2.3.4.example")),
            ("0xg", name("0xg")),
            ("127.0.0.1", address("127.0.0.1")),
            ("127.0.0.1.", address("127.0.0.1")),
            ("127.1", address("127.0.0.1")),
            ("127.0.1", address("127.0.0.1")),
            ("2130706433", address("127.0.0.1")),
            ("0x7f000001", address("127.0.0.1")),
            ("0X7F.0.0.1", address("127.0.0.1")),
            ("0x7f.1", address("127.0.0.1")),
            ("0177.0.0.01", address("127.0.0.1")),
            ("017700000001", address("127.0.0.1")),
            ("169.254.43518", address("169.254.169.254")),
            ("0xa9fea9fe", address("169.254.169.254")),
            ("0", address("0.0.0.0")),
            ("0x", address("0.0.0.0")),
            ("0.0.0.0", address("0.0.0.0")),
            ("4294967295", address("255.255.255.255")),
            ("[::1]", address("::1")),
            ("[::]", address("::")),
            ("[::ffff:127.0.0.1]", address("::ffff:127.0.0.1")),
            ("[2001:DB8::1]", address("2001:db8::1")),
            ("", Err(HostError::Empty)),
            (".", Err(HostError::Empty)),
            ("..", Err(HostError::Length)),
            ("example.com..", Err(HostError::Length)),
            ("a..b", Err(HostError::Length)),
            (&label, Err(HostError::Length)),
            (&long, Err(HostError::Length)),
            ("4294967296", Err(HostError::Number)),
            ("1.2.3.256", Err(HostError::Number)),
            ("256.2.3.4", Err(HostError::Number)),
            ("1.2.3.4.5", Err(HostError::Number)),
            ("08.1.1.1", Err(HostError::Number)),
            ("example.1", Err(HostError::Number)),
            ("99999999999999999999999", Err(HostError::Number)),
            ("[::1%lo]", Err(HostError::Ipv6)),
            ("[fe80::1%25eth0]", Err(HostError::Ipv6)),
            ("[127.0.0.1]", Err(HostError::Ipv6)),
            ("[]", Err(HostError::Ipv6)),
            ("[::1", Err(HostError::Ipv6)),
            ("::1", Err(HostError::Ipv6)),
            ("user@example.com", Err(HostError::User)),
            ("exämple.com", Err(HostError::Character('ä'))),
            ("１２７.0.0.1", Err(HostError::Character('１'))),
            ("exam ple", Err(HostError::Character(' '))),
            ("example.com/", Err(HostError::Character('/'))),
            ("example.com\\", Err(HostError::Character('\\'))),
        ];
        for (text, host) in table {
            assert_eq!(Host::parse(text), host, "{text}");
        }
    }

    #[test]
    fn a_port_is_told_from_its_host() {
        let table = [
            ("example.com", Ok(("example.com", None))),
            ("example.com:80", Ok(("example.com", Some(80)))),
            ("[::1]", Ok(("[::1]", None))),
            ("[::1]:80", Ok(("[::1]", Some(80)))),
            (":80", Ok(("", Some(80)))),
            ("example.com:", Err(HostError::Port)),
            ("example.com:0", Err(HostError::Port)),
            ("example.com:00", Err(HostError::Port)),
            ("example.com:65536", Err(HostError::Port)),
            ("example.com:+80", Err(HostError::Port)),
            ("example.com:80:80", Err(HostError::Port)),
            ("[::1]80", Err(HostError::Port)),
            ("[::1", Err(HostError::Ipv6)),
            ("a:b@example.com:80", Err(HostError::User)),
        ];
        for (text, split) in table {
            assert_eq!(split_port(text), split, "{text}");
        }
    }
}
