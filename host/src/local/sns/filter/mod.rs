//! Filter policies: which messages of a topic a subscription takes.
//!
//! A policy is read once, when it is set, into what it comes down to: some alternatives (`$or` makes
//! more than one), each a list of conditions that must all hold, each of those a path and the values
//! that are right for it.

mod body;
mod compile;
mod condition;
mod value;

#[cfg(test)]
mod tests;

use crate::local::engine::attribute::{Attributes, Data};
use condition::Condition;
use serde::{Deserialize, Serialize};
use value::Leaf;

/// What a filter policy looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Scope {
    /// The message's attributes.
    #[default]
    MessageAttributes,
    /// The message, which must be a JSON object.
    MessageBody,
}

impl Scope {
    /// The scope of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "MessageAttributes" => Some(Self::MessageAttributes),
            "MessageBody" => Some(Self::MessageBody),
            _ => None,
        }
    }

    /// Its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::MessageAttributes => "MessageAttributes",
            Self::MessageBody => "MessageBody",
        }
    }
}

/// A filter policy that was checked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct FilterPolicy {
    text: String,
    nested: bool,
    alternatives: Vec<Vec<Condition>>,
}

impl FilterPolicy {
    /// Reads a policy.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let compiled = compile::compile(text)?;
        Ok(Self {
            text: text.to_owned(),
            nested: compiled.nested,
            alternatives: compiled.alternatives,
        })
    }

    /// The policy as it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it has keys below keys, as only a policy for bodies may.
    pub(crate) const fn is_nested(&self) -> bool {
        self.nested
    }

    /// Whether it takes a message with this text and these attributes.
    pub(crate) fn takes(&self, scope: Scope, text: &str, attributes: &Attributes) -> bool {
        match scope {
            Scope::MessageAttributes => self.takes_attributes(attributes),
            Scope::MessageBody => self.takes_body(text),
        }
    }

    fn takes_attributes(&self, attributes: &Attributes) -> bool {
        let holds = |condition: &Condition| {
            let Some(attribute) = attributes.get(&condition.path) else {
                return condition.holds_of_nothing();
            };
            let Data::Text(text) = &attribute.data else {
                // SNS passes over binary attributes.
                return condition.holds_of_nothing();
            };
            match attribute.data_type.split('.').next() {
                Some("Number") => text
                    .parse()
                    .is_ok_and(|number| condition.holds_of(&Leaf::Number(number))),
                _ if attribute.data_type == "String.Array" => holds_of_array(condition, text),
                _ => condition.holds_of(&Leaf::Text(text)),
            }
        };
        self.alternatives.iter().any(|all| all.iter().all(holds))
    }

    /// A body that is not a JSON object is taken by no policy.
    fn takes_body(&self, text: &str) -> bool {
        let Ok(body) = serde_json::from_str(text) else {
            return false;
        };
        self.alternatives.iter().any(|all| body::holds(all, &body))
    }
}

/// Whether one element of the array is right. What is not an array has no right element.
fn holds_of_array(condition: &Condition, text: &str) -> bool {
    let elements: Vec<serde_json::Value> = serde_json::from_str(text).unwrap_or_default();
    elements
        .iter()
        .filter_map(Leaf::of)
        .any(|leaf| condition.holds_of(&leaf))
}

impl PartialEq for FilterPolicy {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl From<FilterPolicy> for String {
    fn from(policy: FilterPolicy) -> Self {
        policy.text
    }
}

impl TryFrom<String> for FilterPolicy {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}
