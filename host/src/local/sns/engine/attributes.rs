//! What SNS demands of message attributes. Unlike SQS it has no limit to their number: only raw
//! delivery to a queue has.

use crate::local::engine::attribute::{Attribute, Attributes, Data, check_text};
use crate::local::sns::limits;
use crate::local::sns::refusal::{Kind, Refusal};

/// Whether SNS would take these attributes.
///
/// # Errors
/// `ParameterValueInvalid`.
pub(super) fn check(attributes: &Attributes) -> Result<(), Refusal> {
    attributes.iter().try_for_each(|(name, attribute)| {
        check_name(name)
            .and_then(|()| check_value(name, attribute))
            .map_err(|message| Refusal::new(Kind::ParameterValueInvalid, message))
    })
}

fn check_name(name: &str) -> Result<(), String> {
    let lower = name.to_ascii_lowercase();
    let allowed = |c: &char| c.is_ascii_alphanumeric() || "_-.".contains(*c);
    if name.is_empty() {
        Err("A message attribute name must not be empty.".to_owned())
    } else if name.len() > limits::ATTRIBUTE_NAME_CHARS {
        Err("Length of message attribute name must be less than 256 bytes.".to_owned())
    } else if let Some(c) = name.chars().find(|c| !allowed(c)) {
        Err(format!(
            "Invalid non-alphanumeric character '#x{:X}' was found in the message attribute name. \
             Can only include alphanumeric characters, hyphens, underscores, or dots.",
            u32::from(c)
        ))
    } else if name.starts_with('.') {
        Err("Invalid message attribute name starting with character '.' was found.".to_owned())
    } else if name.ends_with('.') {
        Err("Invalid message attribute name ending with character '.' was found.".to_owned())
    } else if name.contains("..") {
        Err("Message attribute name can not have successive '.' character.".to_owned())
    } else if lower.starts_with("aws.") || lower.starts_with("amazon.") {
        Err(format!(
            "The message attribute name '{name}' must not begin with AWS. or Amazon."
        ))
    } else {
        Ok(())
    }
}

fn check_value(name: &str, attribute: &Attribute) -> Result<(), String> {
    let data_type = &attribute.data_type;
    let logical = data_type.split('.').next().unwrap_or_default();
    let empty = match &attribute.data {
        Data::Text(text) => text.is_empty(),
        Data::Binary(bytes) => bytes.is_empty(),
    };
    match (logical, &attribute.data) {
        ("String" | "Number" | "Binary", _) if empty => Err(format!(
            "The message attribute '{name}' must contain non-empty message attribute value \
             for message attribute type '{data_type}'."
        )),
        ("String", Data::Text(text)) => check_text(text).map_err(|c| {
            format!(
                "Invalid character '#x{:X}' was found in the value of the message attribute '{name}'.",
                u32::from(c)
            )
        }),
        ("Number", Data::Text(text)) if text.parse().is_ok_and(f64::is_finite) => Ok(()),
        ("Number", Data::Text(_)) => Err(format!(
            "Could not cast message attribute '{name}' value to number."
        )),
        ("Binary", Data::Binary(_)) => Ok(()),
        ("String" | "Number", Data::Binary(_)) => Err(format!(
            "The message attribute '{name}' with type '{data_type}' must use field 'String'."
        )),
        ("Binary", Data::Text(_)) => Err(format!(
            "The message attribute '{name}' with type '{data_type}' must use field 'Binary'."
        )),
        _ => Err(format!(
            "The message attribute '{name}' has an invalid message attribute type, \
             the set of supported type prefixes is Binary, Number, and String."
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(name: &str, data_type: &str, data: Data) -> Result<(), Refusal> {
        let data_type = data_type.to_owned();
        check(&Attributes::from([(
            name.to_owned(),
            Attribute { data_type, data },
        )]))
    }

    #[test]
    fn attribute_names_are_held_to_the_rules_of_sns() {
        let (most, more) = ("x".repeat(256), "x".repeat(257));
        let table = [
            ("a", true),
            ("A-b_c.d9", true),
            (most.as_str(), true),
            (more.as_str(), false),
            ("", false),
            (".a", false),
            ("a.", false),
            ("a..b", false),
            ("a^b", false),
            ("AWS.a", false),
            ("amazon.a", false),
        ];
        for (name, taken) in table {
            let outcome = outcome(name, "String", Data::Text("v".to_owned()));
            assert_eq!(outcome.is_ok(), taken, "{name}");
            if let Err(refusal) = outcome {
                assert_eq!(refusal.kind, Kind::ParameterValueInvalid);
            }
        }
    }

    #[test]
    fn a_value_must_be_of_the_kind_its_type_names() {
        let text = |text: &str| Data::Text(text.to_owned());
        let table = [
            ("String", text("v"), true),
            ("String.Array", text("[1]"), true),
            ("String.mine", text("v"), true),
            ("Number", text("-1.5e3"), true),
            ("Binary.png", Data::Binary(vec![0]), true),
            ("String", text(""), false),
            ("String", text("\u{1}"), false),
            ("Number", text("one"), false),
            ("Number", text("inf"), false),
            ("Binary", Data::Binary(Vec::new()), false),
            ("Binary", text("v"), false),
            ("String", Data::Binary(vec![1]), false),
            ("Strings", text("v"), false),
            ("", text("v"), false),
        ];
        for (data_type, data, taken) in table {
            let outcome = outcome("a", data_type, data.clone());
            assert_eq!(outcome.is_ok(), taken, "{data_type} {data:?}");
        }
    }

    #[test]
    fn there_is_no_limit_to_how_many_attributes_a_message_has() {
        let attribute = Attribute {
            data_type: "String".to_owned(),
            data: Data::Text("v".to_owned()),
        };
        let many = (0..50).map(|i| (format!("a{i}"), attribute.clone()));
        assert!(check(&many.collect()).is_ok());
    }
}
