//! The values that conditions are about.

use serde_json::Value;

/// A value of a message: one of an attribute, or one at the end of a path in a body.
#[derive(Clone, Copy, Debug)]
pub(super) enum Leaf<'a> {
    Text(&'a str),
    Number(f64),
    Bool(bool),
    Null,
}

impl<'a> Leaf<'a> {
    /// The value in JSON, unless it has others inside.
    pub(super) fn of(value: &'a Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::Text(text)),
            Value::Number(number) => number.as_f64().map(Self::Number),
            Value::Bool(truth) => Some(Self::Bool(*truth)),
            Value::Null => Some(Self::Null),
            Value::Array(_) | Value::Object(_) => None,
        }
    }
}

/// A value that a policy names.
#[derive(Clone, Debug)]
pub(super) enum Literal {
    Text(String),
    Number(f64),
    Bool(bool),
    Null,
}

impl Literal {
    /// The literal in a policy's JSON.
    pub(super) fn of(value: &Value) -> Option<Self> {
        Some(match Leaf::of(value)? {
            Leaf::Text(text) => Self::Text(text.to_owned()),
            Leaf::Number(number) => Self::Number(number),
            Leaf::Bool(truth) => Self::Bool(truth),
            Leaf::Null => Self::Null,
        })
    }

    /// Whether the message has this value.
    pub(super) fn is(&self, leaf: &Leaf<'_>) -> bool {
        match (self, leaf) {
            (Self::Text(one), Leaf::Text(other)) => one == other,
            (Self::Number(one), Leaf::Number(other)) => fixed(*one) == fixed(*other),
            (Self::Bool(one), Leaf::Bool(other)) => one == other,
            (Self::Null, Leaf::Null) => true,
            _ => false,
        }
    }
}

/// Numbers are compared to five digits behind the point.
pub(super) fn fixed(number: f64) -> f64 {
    (number * 100_000.0).round()
}
