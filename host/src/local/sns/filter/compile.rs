//! Reading a policy, and refusing what SNS would refuse.

use super::condition::{Bound, Condition, Matcher, Network, Operator};
use super::value::Literal;
use crate::local::sns::limits;
use serde_json::{Map, Value};

/// A policy that was read.
pub(super) struct Compiled {
    pub(super) nested: bool,
    pub(super) alternatives: Vec<Vec<Condition>>,
}

/// Words that have a meaning of their own inside a match expression: with one of them as a key, an
/// array under `$or` is no choice between patterns.
const RESERVED: &[&str] = &[
    "prefix",
    "suffix",
    "equals-ignore-case",
    "anything-but",
    "numeric",
    "exists",
    "cidr",
    "wildcard",
];

pub(super) fn compile(text: &str) -> Result<Compiled, String> {
    if text.len() > limits::FILTER_BYTES {
        return Err(format!(
            "Filter policy is larger than {} bytes",
            limits::FILTER_BYTES
        ));
    }
    let policy: Value =
        serde_json::from_str(text).map_err(|error| format!("failed to parse JSON. {error}"))?;
    let Value::Object(policy) = policy else {
        return Err("Filter is not an object".to_owned());
    };
    if policy.len() > limits::FILTER_KEYS {
        return Err(format!(
            "Filter policy can not have more than {} keys",
            limits::FILTER_KEYS
        ));
    }
    let size = measure(&policy, 1, 1)?;
    // Checked before the alternatives are spelled out, so that their number is bounded.
    if size.combinations > limits::FILTER_COMBINATIONS {
        return Err("Filter policy is too complex".to_owned());
    }
    Ok(Compiled {
        nested: size.nested,
        alternatives: expand(&policy, "", vec![Vec::new()])?,
    })
}

struct Size {
    combinations: u64,
    nested: bool,
}

/// How many combinations the policy comes to, on top of `combinations`. Values count once for each
/// level they lie down, and the patterns of an `$or` add up.
fn measure(policy: &Map<String, Value>, depth: u64, combinations: u64) -> Result<Size, String> {
    let mut size = Size {
        combinations,
        nested: depth > 1,
    };
    for (key, value) in policy {
        match value {
            Value::Object(inner) => {
                let inner = measure(inner, depth + 1, size.combinations)?;
                size.combinations = inner.combinations;
                size.nested = true;
            }
            Value::Array(values) if values.is_empty() => {
                return Err("Empty arrays are not allowed".to_owned());
            }
            Value::Array(values) => match choices(key, values) {
                Some(patterns) => {
                    let mut sum = 0_u64;
                    for pattern in patterns {
                        let pattern = measure(pattern, depth, size.combinations)?;
                        sum = sum.saturating_add(pattern.combinations);
                        size.nested |= pattern.nested;
                    }
                    size.combinations = sum;
                }
                None => {
                    let count = u64::try_from(values.len()).unwrap_or(u64::MAX);
                    size.combinations = size
                        .combinations
                        .saturating_mul(count)
                        .saturating_mul(depth);
                }
            },
            _ => return Err(format!("\"{key}\" must be an object or an array")),
        }
    }
    Ok(size)
}

/// The patterns to choose from, if this key is the operator `$or`: an array of two patterns or more.
fn choices<'a>(key: &str, values: &'a [Value]) -> Option<Vec<&'a Map<String, Value>>> {
    if key != "$or" || values.len() < 2 {
        return None;
    }
    let pattern = |value: &'a Value| {
        value
            .as_object()
            .filter(|pattern| !pattern.keys().any(|key| RESERVED.contains(&key.as_str())))
    };
    values.iter().map(pattern).collect()
}

/// Each of `alternatives` with the conditions of `policy` added.
fn expand(
    policy: &Map<String, Value>,
    prefix: &str,
    mut alternatives: Vec<Vec<Condition>>,
) -> Result<Vec<Vec<Condition>>, String> {
    for (key, value) in policy {
        let path = if prefix.is_empty() {
            key.clone()
        } else {
            format!("{prefix}.{key}")
        };
        match value {
            Value::Object(inner) => alternatives = expand(inner, &path, alternatives)?,
            Value::Array(values) => match choices(key, values) {
                Some(patterns) => {
                    let mut all = Vec::new();
                    for pattern in patterns {
                        all.extend(expand(pattern, prefix, alternatives.clone())?);
                    }
                    alternatives = all;
                }
                None => {
                    let matchers = values.iter().map(matcher).collect::<Result<Vec<_>, _>>()?;
                    let condition = Condition { path, matchers };
                    for all in &mut alternatives {
                        all.push(condition.clone());
                    }
                }
            },
            _ => return Err(format!("\"{key}\" must be an object or an array")),
        }
    }
    Ok(alternatives)
}

fn matcher(value: &Value) -> Result<Matcher, String> {
    if let Some(literal) = Literal::of(value) {
        return Ok(Matcher::Equals(literal));
    }
    let Value::Object(expression) = value else {
        return Err("Match value must be String, number, true, false, or null".to_owned());
    };
    let mut members = expression.iter();
    let (Some((operator, operand)), None) = (members.next(), members.next()) else {
        return Err("Only one key allowed in match expression".to_owned());
    };
    let text = || {
        operand
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| format!("{operator} match pattern must be a string"))
    };
    match operator.as_str() {
        "prefix" => Ok(Matcher::Prefix(text()?)),
        "suffix" => Ok(Matcher::Suffix(text()?)),
        "equals-ignore-case" => Ok(Matcher::EqualsIgnoreCase(text()?)),
        "cidr" => Ok(Matcher::Cidr(Network::parse(&text()?)?)),
        "exists" => operand
            .as_bool()
            .map(Matcher::Exists)
            .ok_or_else(|| "exists match pattern must be either true or false.".to_owned()),
        "anything-but" => anything_but(operand),
        "numeric" => numeric(operand).map(Matcher::Numeric),
        _ => Err(format!("Unrecognized match type {operator}")),
    }
}

fn anything_but(operand: &Value) -> Result<Matcher, String> {
    if let Value::Object(pattern) = operand {
        let mut members = pattern.iter();
        return match (members.next(), members.next()) {
            (Some((key, value)), None) if key == "prefix" => {
                Ok(Matcher::AnythingButPrefix(texts(key, value)?))
            }
            (Some((key, value)), None) if key == "suffix" => {
                Ok(Matcher::AnythingButSuffix(texts(key, value)?))
            }
            (Some((key, _)), None) => Err(format!("Unsupported anything-but pattern: {key}")),
            _ => Err("Only one key allowed in match expression".to_owned()),
        };
    }
    let invalid = || "Inside anything but list, values must be strings or numbers".to_owned();
    let literal = |value: &Value| Literal::of(value).ok_or_else(invalid);
    let literals = match operand {
        Value::Array(values) if values.is_empty() => {
            return Err("Empty arrays are not allowed".to_owned());
        }
        Value::Array(values) => values.iter().map(literal).collect::<Result<_, _>>()?,
        single => vec![literal(single)?],
    };
    Ok(Matcher::AnythingBut(literals))
}

/// One text or several.
fn texts(key: &str, value: &Value) -> Result<Vec<String>, String> {
    let invalid = || format!("{key} match pattern must be a string");
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(invalid);
    match value {
        Value::Array(values) if !values.is_empty() => values.iter().map(text).collect(),
        single => Ok(vec![text(single)?]),
    }
}

/// One comparison, or two that are the ends of a range.
fn numeric(operand: &Value) -> Result<Vec<Bound>, String> {
    let Value::Array(terms) = operand else {
        return Err("Value of numeric must be an array".to_owned());
    };
    let first = match terms.first() {
        None => return Err("Invalid member in numeric match: ]".to_owned()),
        Some(Value::String(name)) => Operator::named(name)
            .ok_or_else(|| format!("Unrecognized numeric range operator: {name}"))?,
        Some(other) => return Err(format!("Invalid member in numeric match: {other}")),
    };
    let lower = bound(first, terms)?;
    if terms.len() <= 2 {
        return Ok(vec![lower]);
    }
    if !first.is_lower_end() {
        return Err("Too many elements in numeric expression".to_owned());
    }
    let second = match &terms[2] {
        Value::String(name) => Operator::named(name)
            .filter(|operator| operator.is_upper_end())
            .ok_or_else(|| format!("Bad numeric range operator: {name}"))?,
        other => return Err(format!("Bad value in numeric range: {other}")),
    };
    let upper = bound(second, &terms[2..])?;
    if upper.number <= lower.number {
        return Err("Bottom must be less than top".to_owned());
    }
    if terms.len() > 4 {
        return Err("Too many terms in numeric range expression".to_owned());
    }
    Ok(vec![lower, upper])
}

/// The comparison that `terms` begin with: the operator and its number.
fn bound(operator: Operator, terms: &[Value]) -> Result<Bound, String> {
    let name = match terms.first().and_then(Value::as_str) {
        Some("=") | None => "equals",
        Some(name) => name,
    };
    let number = terms
        .get(1)
        .and_then(Value::as_f64)
        .ok_or_else(|| format!("Value of {name} must be numeric"))?;
    Ok(Bound { operator, number })
}
