//! Networks of IP addresses, and addresses that carry another.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// The addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    /// All bits behind the prefix are 0.
    address: IpAddr,
    prefix: u8,
}

/// A text that is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// Not an address, a slash and a number.
    #[error("a network is an address, a slash and how many of its first bits count: 10.0.0.0/8")]
    Form,
    /// More bits than there are.
    #[error("the address has {0} bits, so behind the slash stands at most {0}")]
    Prefix(u8),
    /// Bits set that do not count.
    #[error("its address has bits set that do not count; the network is {0}")]
    Bits(Network),
}

impl Network {
    /// The network of this address alone.
    pub fn of(address: IpAddr) -> Self {
        let address = plain(address);
        Self {
            address,
            prefix: bits(address),
        }
    }

    /// Whether the address is in it, or the IPv4 address that it carries (see [`plain`]).
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, plain(address)) {
            (IpAddr::V4(network), IpAddr::V4(address)) => cut_v4(address, self.prefix) == network,
            (IpAddr::V6(network), IpAddr::V6(address)) => cut_v6(address, self.prefix) == network,
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let (address, prefix) = text.split_once('/').ok_or(NetworkError::Form)?;
        let address: IpAddr = address.parse().map_err(|_| NetworkError::Form)?;
        if prefix.is_empty() || !prefix.bytes().all(|b| b.is_ascii_digit()) {
            return Err(NetworkError::Form);
        }
        let most = bits(address);
        let prefix = match prefix.parse() {
            Ok(prefix) if prefix <= most => prefix,
            _ => return Err(NetworkError::Prefix(most)),
        };
        let cut = match address {
            IpAddr::V4(address) => cut_v4(address, prefix).into(),
            IpAddr::V6(address) => cut_v6(address, prefix).into(),
        };
        let network = Self {
            address: cut,
            prefix,
        };
        if cut != address {
            return Err(NetworkError::Bits(network));
        }
        // `::ffff:10.0.0.0/104` is 10.0.0.0/8: addresses are compared as the IPv4 that they are.
        Ok(match (cut, prefix.checked_sub(96)) {
            (IpAddr::V6(v6), Some(of_v4)) => match v6.to_ipv4_mapped() {
                Some(v4) => Self {
                    address: v4.into(),
                    prefix: of_v4,
                },
                None if prefix == most => Self::of(cut),
                None => network,
            },
            _ => network,
        })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// The IPv4 address that an IPv6 address carries and leads to (mapped, compatible, NAT64, 6to4), or
/// else the address itself: what rules are held against.
pub(crate) fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else {
        return address;
    };
    let in_two = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        IpAddr::from(Ipv4Addr::new(a, b, c, d))
    };
    match v6.segments() {
        // `::` and `::1` are addresses of IPv6's own.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => address,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] => in_two(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => in_two(high, low),
        [0x2002, high, low, ..] => in_two(high, low),
        _ => address,
    }
}

fn bits(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

fn cut_v4(address: Ipv4Addr, prefix: u8) -> Ipv4Addr {
    // A shift by all bits is none.
    let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
    Ipv4Addr::from_bits(address.to_bits() & mask)
}

fn cut_v6(address: Ipv6Addr, prefix: u8) -> Ipv6Addr {
    let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
    Ipv6Addr::from_bits(address.to_bits() & mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    // Rule 9.1: an address is compared as the IPv4 address that it is.
    #[test]
    fn a_network_contains_the_addresses_that_begin_as_it_does() {
        let table = [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.5/32", "10.0.0.5", true),
            ("10.0.0.5/32", "10.0.0.4", false),
            ("0.0.0.0/0", "8.8.8.8", true),
            ("0.0.0.0/0", "2606:4700::1", false),
            ("::/0", "2606:4700::1", true),
            ("::/0", "8.8.8.8", false),
            ("::/0", "::ffff:10.0.0.1", false),
            ("fd00::/8", "fdff::1", true),
            ("fd00::/8", "fc00::1", false),
            ("::1/128", "::1", true),
            ("::1/128", "127.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("10.0.0.0/8", "::10.1.2.3", true),
            ("10.0.0.0/8", "64:ff9b::10.1.2.3", true),
            ("10.0.0.0/8", "2002:a01:203::1", true),
            ("::ffff:10.0.0.0/104", "10.1.2.3", true),
            ("::ffff:10.0.0.0/104", "::ffff:10.1.2.3", true),
            ("::ffff:10.0.0.1/128", "10.0.0.1", true),
            ("64:ff9b::10.0.0.1/128", "10.0.0.1", true),
        ];
        for (network, address, holds) in table {
            let network: Network = network.parse().unwrap();
            assert_eq!(network.contains(ip(address)), holds, "{network} {address}");
        }
    }

    #[test]
    fn a_text_that_is_no_network_is_refused() {
        let network = |text: &str| text.parse::<Network>();
        for text in [
            "",
            "10.0.0.0",
            "10.0.0.0/",
            "10.0.0.0/x",
            "x/8",
            "10.0.0.0/+8",
        ] {
            assert_eq!(network(text), Err(NetworkError::Form), "{text}");
        }
        assert_eq!(network("10.0.0.0/33"), Err(NetworkError::Prefix(32)));
        assert_eq!(network("10.0.0.0/999"), Err(NetworkError::Prefix(32)));
        let error = network("10.1.2.3/8").unwrap_err();
        assert!(error.to_string().contains("10.0.0.0/8"), "{error}");
    }

    #[test]
    fn an_address_that_carries_another_is_that() {
        let table = [
            ("::ffff:127.0.0.1", "127.0.0.1"),
            ("::127.0.0.1", "127.0.0.1"),
            ("64:ff9b::7f00:1", "127.0.0.1"),
            ("2002:7f00:1::", "127.0.0.1"),
            ("2002:7f00:1:5:6:7:8:9", "127.0.0.1"),
            ("::", "::"),
            ("::1", "::1"),
            ("64:ff9b:1::7f00:1", "64:ff9b:1::7f00:1"),
            ("2606:4700::1", "2606:4700::1"),
            ("127.0.0.1", "127.0.0.1"),
        ];
        for (given, carried) in table {
            assert_eq!(plain(ip(given)), ip(carried), "{given}");
        }
    }
}
