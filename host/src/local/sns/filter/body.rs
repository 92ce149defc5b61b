//! Conditions on a message's text, where that is a JSON object.
//!
//! A path goes down through objects by their keys, and through an array into one of its elements.
//! Conditions that lead through the same array must hold of the same element. A key may have points
//! in it, in the policy and in the message: `a.b` leads to `{"a": {"b": …}}` and to `{"a.b": …}`.

use super::condition::Condition;
use super::value::Leaf;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Whether all conditions hold of `body`; of what is not an object none does.
pub(super) fn holds(conditions: &[Condition], body: &Value) -> bool {
    let Value::Object(object) = body else {
        return false;
    };
    let all = conditions
        .iter()
        .map(|condition| (condition.path.as_str(), condition));
    holds_in(&all.collect::<Vec<_>>(), object)
}

/// A condition, and the part of its path that is still to go.
type Step<'a> = (&'a str, &'a Condition);

fn holds_in(steps: &[Step<'_>], object: &Map<String, Value>) -> bool {
    let mut onward: BTreeMap<&str, Vec<Step<'_>>> = BTreeMap::new();
    for &(path, condition) in steps {
        match way(path, object) {
            Some((key, rest)) => onward.entry(key).or_default().push((rest, condition)),
            None if condition.holds_of_nothing() => {}
            None => return false,
        }
    }
    onward
        .into_iter()
        .all(|(key, steps)| object.get(key).is_some_and(|value| hold_of(&steps, value)))
}

fn hold_of(steps: &[Step<'_>], value: &Value) -> bool {
    match value {
        Value::Array(elements) if elements.is_empty() => steps
            .iter()
            .all(|(_, condition)| condition.holds_of_nothing()),
        Value::Array(elements) => elements.iter().any(|element| hold_of(steps, element)),
        Value::Object(object) => {
            // A policy that ends at an object finds no value there.
            let (ended, onward): (Vec<_>, Vec<_>) =
                steps.iter().copied().partition(|(path, _)| path.is_empty());
            ended
                .iter()
                .all(|(_, condition)| condition.holds_of_nothing())
                && holds_in(&onward, object)
        }
        _ => {
            let leaf = Leaf::of(value);
            steps.iter().all(|(path, condition)| match leaf {
                Some(leaf) if path.is_empty() => condition.holds_of(&leaf),
                _ => condition.holds_of_nothing(),
            })
        }
    }
}

/// The longest key of `object` that `path` begins with, and the rest of the path.
fn way<'a>(path: &'a str, object: &Map<String, Value>) -> Option<(&'a str, &'a str)> {
    if object.contains_key(path) {
        return Some((path, ""));
    }
    path.rmatch_indices('.')
        .map(|(at, _)| (&path[..at], &path[at + 1..]))
        .find(|(key, _)| object.contains_key(*key))
}
