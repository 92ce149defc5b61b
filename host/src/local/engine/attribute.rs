//! Message attributes: typed values beside the body, and what SQS demands of them.

use super::limits;
use super::refusal::{Kind, Refusal};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The attributes of one message, in the order their MD5 is taken.
pub(crate) type Attributes = BTreeMap<String, Attribute>;

/// One message attribute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Attribute {
    /// `String`, `Number` or `Binary`, with a label of the sender's own after a dot if they like.
    pub(crate) data_type: String,
    /// The value.
    pub(crate) data: Data,
}

/// The value of a message attribute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Data {
    /// Of a string or a number.
    Text(String),
    /// Of a binary.
    Binary(#[serde(with = "base64_text")] Vec<u8>),
}

/// Bytes as a text, in files.
mod base64_text {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map_err(D::Error::custom)
    }
}

impl Data {
    fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Binary(bytes) => bytes.len(),
        }
    }
}

/// Bytes that attributes add to their message's size: names, types and values.
pub(crate) fn size(attributes: &Attributes) -> usize {
    let one = |(name, attribute): (&String, &Attribute)| {
        name.len() + attribute.data_type.len() + attribute.data.len()
    };
    attributes.iter().map(one).sum()
}

/// Whether SQS would take these attributes.
pub(crate) fn check(attributes: &Attributes) -> Result<(), Refusal> {
    if attributes.len() > limits::MESSAGE_ATTRIBUTES {
        let reason = format!(
            "A message has at most {} attributes",
            limits::MESSAGE_ATTRIBUTES
        );
        return Err(Refusal::value(
            "MessageAttributes",
            attributes.len(),
            reason,
        ));
    }
    attributes
        .iter()
        .try_for_each(|(name, attribute)| check_one(name, attribute))
}

fn check_one(name: &str, attribute: &Attribute) -> Result<(), Refusal> {
    let invalid = |reason: &str| {
        Err(Refusal::new(
            Kind::InvalidParameterValue,
            format!("The message attribute \"{name}\" is invalid. Reason: {reason}."),
        ))
    };
    if let Err(reason) = check_name(name) {
        return invalid(reason);
    }
    if attribute.data_type.len() > limits::ATTRIBUTE_NAME_CHARS {
        return invalid("Its type is longer than 256 characters");
    }
    let logical = attribute.data_type.split('.').next().unwrap_or_default();
    match (logical, &attribute.data) {
        (_, data) if data.len() == 0 => invalid("Its value is empty"),
        ("String", Data::Text(text)) => match check_text(text) {
            Ok(()) => Ok(()),
            Err(_) => invalid("Its value has characters that are not allowed"),
        },
        ("Number", Data::Text(text)) if is_number(text) => Ok(()),
        ("Number", Data::Text(text)) => invalid(&format!(
            "Its value \"{text}\" is not a number of at most 38 digits between -10^128 and 10^126"
        )),
        ("Binary", Data::Binary(_)) => Ok(()),
        ("String" | "Number", _) => invalid("Its type needs a StringValue"),
        ("Binary", _) => invalid("Its type needs a BinaryValue"),
        _ => invalid("Its type must begin with String, Number or Binary"),
    }
}

fn check_name(name: &str) -> Result<(), &'static str> {
    let lower = name.to_ascii_lowercase();
    if name.is_empty() || name.len() > limits::ATTRIBUTE_NAME_CHARS {
        Err("Its name must have 1 to 256 characters")
    } else if !name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
    {
        Err("Its name may have letters, digits, underscores, hyphens and periods only")
    } else if name.starts_with('.') || name.ends_with('.') || name.contains("..") {
        Err("Its name must not begin or end with a period, nor have two in a row")
    } else if lower.starts_with("aws.") || lower.starts_with("amazon.") {
        Err("Its name must not begin with AWS. or Amazon.")
    } else {
        Ok(())
    }
}

/// The characters SQS carries: those of XML 1.0.
pub(crate) fn check_text(text: &str) -> Result<(), char> {
    let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..);
    match text.chars().find(|c| !allowed(*c)) {
        Some(c) => Err(c),
        None => Ok(()),
    }
}

/// A decimal number, with an exponent perhaps, of at most 38 significant digits.
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()),
        None => (unsigned, Some(0)),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = [whole, fraction].concat();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return false;
    }
    let Some(exponent) = exponent else {
        return false;
    };
    let significant = digits.trim_start_matches('0');
    let leading_zeros = digits.len() - significant.len();
    // The power of ten of the first significant digit.
    let length = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    let magnitude = length(whole.len()) - length(leading_zeros) - 1 + i64::from(exponent);
    let significant = significant.trim_end_matches('0');
    significant.is_empty() || (significant.len() <= 38 && (-128..=126).contains(&magnitude))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(data_type: &str, value: &str) -> Attribute {
        Attribute {
            data_type: data_type.to_owned(),
            data: Data::Text(value.to_owned()),
        }
    }

    #[test]
    fn attribute_names_are_held_to_the_rules_of_sqs() {
        let long = "x".repeat(257);
        let table = [
            ("a", true),
            ("A-b_c.d9", true),
            ("awsome", true),
            ("", false),
            (long.as_str(), false),
            (".a", false),
            ("a.", false),
            ("a..b", false),
            ("a b", false),
            ("AWS.a", false),
            ("amazon.a", false),
        ];
        for (name, taken) in table {
            assert_eq!(
                check_one(name, &text("String", "v")).is_ok(),
                taken,
                "{name}"
            );
        }
    }

    #[test]
    fn a_number_is_a_decimal_of_at_most_38_digits() {
        let (most, more) = ("1".repeat(38), "1".repeat(39));
        let table = [
            ("0", true),
            ("-12.5", true),
            ("+7", true),
            (".5", true),
            ("1e10", true),
            ("1E-128", true),
            ("1e127", false),
            (most.as_str(), true),
            (more.as_str(), false),
            ("", false),
            ("-", false),
            ("1,5", false),
            ("0x10", false),
            ("1e", false),
            ("NaN", false),
        ];
        for (value, taken) in table {
            assert_eq!(
                check_one("n", &text("Number.int", value)).is_ok(),
                taken,
                "{value}"
            );
        }
    }

    #[test]
    fn a_value_must_be_of_the_kind_its_type_names() {
        let binary = |data_type: &str, bytes: &[u8]| Attribute {
            data_type: data_type.to_owned(),
            data: Data::Binary(bytes.to_vec()),
        };
        assert!(check_one("a", &binary("Binary.png", &[0])).is_ok());
        assert!(check_one("a", &binary("Binary", &[])).is_err());
        assert!(check_one("a", &binary("String", &[1])).is_err());
        assert!(check_one("a", &text("Binary", "x")).is_err());
        assert!(check_one("a", &text("Text", "x")).is_err());
        assert!(check_one("a", &text("String", "a\u{1}")).is_err());
    }

    #[test]
    fn an_eleventh_attribute_is_refused() {
        let some = |n: usize| {
            (0..n)
                .map(|i| (format!("a{i}"), text("String", "v")))
                .collect()
        };
        assert!(check(&some(10)).is_ok());
        assert!(check(&some(11)).is_err());
    }
}
