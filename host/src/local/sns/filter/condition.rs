//! One key of a policy and the values that are right for it.

use super::value::{Leaf, Literal, fixed};
use std::net::IpAddr;

/// A path and what may be found there.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    /// The attribute's name, or the keys down to the value with points between.
    pub(super) path: String,
    /// One of them must match.
    pub(super) matchers: Vec<Matcher>,
}

impl Condition {
    /// Whether the value is right.
    pub(super) fn holds_of(&self, leaf: &Leaf<'_>) -> bool {
        self.matchers.iter().any(|matcher| matcher.matches(leaf))
    }

    /// Whether it is right that there is no value.
    pub(super) fn holds_of_nothing(&self) -> bool {
        self.matchers
            .iter()
            .any(|matcher| matches!(matcher, Matcher::Exists(false)))
    }
}

/// One thing a policy can say of a value.
#[derive(Clone, Debug)]
pub(super) enum Matcher {
    Equals(Literal),
    Prefix(String),
    Suffix(String),
    EqualsIgnoreCase(String),
    AnythingBut(Vec<Literal>),
    AnythingButPrefix(Vec<String>),
    AnythingButSuffix(Vec<String>),
    Numeric(Vec<Bound>),
    Exists(bool),
    Cidr(Network),
}

impl Matcher {
    fn matches(&self, leaf: &Leaf<'_>) -> bool {
        let text = match leaf {
            Leaf::Text(text) => Some(*text),
            _ => None,
        };
        match self {
            Self::Equals(literal) => literal.is(leaf),
            Self::Prefix(prefix) => text.is_some_and(|text| text.starts_with(prefix)),
            Self::Suffix(suffix) => text.is_some_and(|text| text.ends_with(suffix)),
            Self::EqualsIgnoreCase(other) => {
                text.is_some_and(|text| text.to_lowercase() == other.to_lowercase())
            }
            Self::AnythingBut(literals) => !literals.iter().any(|literal| literal.is(leaf)),
            Self::AnythingButPrefix(prefixes) => {
                let begins = |text: &str| prefixes.iter().any(|prefix| text.starts_with(prefix));
                !text.is_some_and(begins)
            }
            Self::AnythingButSuffix(suffixes) => {
                let ends = |text: &str| suffixes.iter().any(|suffix| text.ends_with(suffix));
                !text.is_some_and(ends)
            }
            Self::Numeric(bounds) => {
                matches!(leaf, Leaf::Number(number) if bounds.iter().all(|bound| bound.holds(*number)))
            }
            Self::Exists(exists) => *exists,
            Self::Cidr(network) => text
                .and_then(|text| text.parse().ok())
                .is_some_and(|address| network.has(address)),
        }
    }
}

/// A comparison with a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) operator: Operator,
    pub(super) number: f64,
}

/// How a number is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operator {
    /// The operator as policies write it.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "=" => Self::Equal,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            _ => return None,
        })
    }

    /// Whether a second comparison, from above, may follow it.
    pub(super) const fn is_lower_end(self) -> bool {
        matches!(self, Self::Greater | Self::GreaterOrEqual)
    }

    /// Whether it may come second.
    pub(super) const fn is_upper_end(self) -> bool {
        matches!(self, Self::Less | Self::LessOrEqual)
    }
}

impl Bound {
    fn holds(self, number: f64) -> bool {
        let (one, other) = (fixed(number), fixed(self.number));
        match self.operator {
            Operator::Equal => one == other,
            Operator::Less => one < other,
            Operator::LessOrEqual => one <= other,
            Operator::Greater => one > other,
            Operator::GreaterOrEqual => one >= other,
        }
    }
}

/// A range of addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    /// Reads `address/bits`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let malformed = |what: &str| format!("Malformed CIDR, {what}");
        let (address, bits) = text
            .split_once('/')
            .filter(|(_, bits)| !bits.contains('/'))
            .ok_or_else(|| malformed("one '/' required"))?;
        let bits = bits
            .parse()
            .map_err(|_| malformed("mask bits must be an integer"))?;
        let address: IpAddr = address
            .parse()
            .map_err(|_| format!("Nonstandard IP address: {address}"))?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        if bits > most {
            return Err(malformed(&format!("mask bits must be at most {most}")));
        }
        Ok(Self { address, bits })
    }

    fn has(self, other: IpAddr) -> bool {
        match (self.address, other) {
            (IpAddr::V4(one), IpAddr::V4(other)) => {
                (one.to_bits() ^ other.to_bits())
                    .checked_shr(32 - self.bits)
                    .unwrap_or(0)
                    == 0
            }
            (IpAddr::V6(one), IpAddr::V6(other)) => {
                (one.to_bits() ^ other.to_bits())
                    .checked_shr(128 - self.bits)
                    .unwrap_or(0)
                    == 0
            }
            _ => false,
        }
    }
}
