//! A queue's access policy: whether it lets SNS send for a topic, and the statement that does
//! (rule 6.7). Pure.

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// The service that sends for a topic.
const SNS: &str = "sns.amazonaws.com";
/// What it has to be allowed.
const SEND: &str = "sqs:SendMessage";
/// The version of the policy language that a new policy is written in. One that is there keeps its
/// own.
const VERSION: &str = "2012-10-17";

/// The policy of `queue` that lets SNS send for `topic`, both by ARN: `policy` with one more
/// statement, or none where it grants that already.
///
/// # Errors
/// What is wrong with `policy`.
pub(super) fn granting(
    policy: Option<&str>,
    queue: &str,
    topic: &str,
) -> Result<Option<String>, String> {
    let mut policy = parsed(policy)?;
    let statements = statements_of(&mut policy)?;
    if statements.iter().any(|s| grants(s, queue, topic)) {
        return Ok(None);
    }
    let sid = sid(statements, topic);
    statements.push(json!({
        "Sid": sid,
        "Effect": "Allow",
        "Principal": {"Service": SNS},
        "Action": SEND,
        "Resource": queue,
        "Condition": {"ArnEquals": {"aws:SourceArn": topic}},
    }));
    Ok(Some(Value::Object(policy).to_string()))
}

fn parsed(policy: Option<&str>) -> Result<Map<String, Value>, String> {
    let Some(text) = policy.filter(|text| !text.trim().is_empty()) else {
        let mut policy = Map::new();
        policy.insert("Version".into(), VERSION.into());
        return Ok(policy);
    };
    match serde_json::from_str(text) {
        Ok(Value::Object(policy)) => Ok(policy),
        Ok(_) => Err("it is JSON, but no policy: it has to be an object".into()),
        Err(error) => Err(format!("it is no JSON: {error}")),
    }
}

/// The list of statements. A single one may stand there without a list.
fn statements_of(policy: &mut Map<String, Value>) -> Result<&mut Vec<Value>, String> {
    let entry = policy.entry("Statement").or_insert_with(|| json!([]));
    if entry.is_object() {
        *entry = Value::Array(vec![entry.take()]);
    }
    match entry {
        Value::Array(statements) => Ok(statements),
        _ => Err("its Statement is neither a statement nor a list of them".into()),
    }
}

/// A name for the statement: the same for the same topic, and one that no other statement has.
fn sid(statements: &[Value], topic: &str) -> String {
    let digest = Sha256::digest(topic.as_bytes());
    let short: String = digest[..8].iter().map(|b| format!("{b:02x}")).collect();
    let name = format!("QueueletSns{short}");
    let is_free = |name: &String| statements.iter().all(|s| s["Sid"] != **name);
    let others = (2..).map(|n| format!("{name}x{n}"));
    let mut names = std::iter::once(name.clone()).chain(others);
    names.find(is_free).unwrap_or(name)
}

/// Whether a statement lets SNS send to `queue` for `topic`. One that says something we do not
/// know does not: a statement too many is better than messages that do not come.
fn grants(statement: &Value, queue: &str, topic: &str) -> bool {
    statement["Effect"] == "Allow"
        && is_principal(&statement["Principal"])
        && any(&statement["Action"], |action| {
            like(&action.to_ascii_lowercase(), &SEND.to_ascii_lowercase())
        })
        && any(&statement["Resource"], |resource| like(resource, queue))
        && conditions_hold(&statement["Condition"], topic)
}

fn is_principal(principal: &Value) -> bool {
    let everyone = |name: &str| name == "*";
    // A kind that is not there is null, which names nobody.
    any(principal, everyone)
        || any(&principal["AWS"], everyone)
        || any(&principal["Service"], |name| name == SNS)
}

/// Every operator and every key of a condition has to hold.
fn conditions_hold(conditions: &Value, topic: &str) -> bool {
    let operators = match conditions {
        Value::Null => return true,
        Value::Object(operators) => operators,
        _ => return false,
    };
    let account = topic.split(':').nth(4).unwrap_or_default();
    operators.iter().all(|(operator, keys)| {
        let operator = operator.to_ascii_lowercase();
        let operator = operator.strip_suffix("ifexists").unwrap_or(&operator);
        // The two operators on ARNs match alike, wildcards and all.
        let matches: fn(&str, &str) -> bool = match operator {
            "arnequals" | "arnlike" | "stringlike" => like,
            "stringequals" => |wanted, given| wanted == given,
            "stringequalsignorecase" => str::eq_ignore_ascii_case,
            _ => return false,
        };
        let Value::Object(keys) = keys else {
            return false;
        };
        keys.iter().all(|(key, wanted)| {
            let given = match key.to_ascii_lowercase().as_str() {
                "aws:sourcearn" => topic,
                "aws:sourceaccount" => account,
                _ => return false,
            };
            any(wanted, |wanted| matches(wanted, given))
        })
    })
}

/// Whether one of a list of texts, or the only one, is as wanted.
fn any(texts: &Value, is_wanted: impl Fn(&str) -> bool) -> bool {
    match texts {
        Value::String(text) => is_wanted(text),
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).any(is_wanted),
        _ => false,
    }
}

/// Whether `text` is what `pattern` says: `*` stands for any characters, `?` for one.
fn like(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    // Where the last star stands, and how far it reaches.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(b'?') => (p, t) = (p + 1, t + 1),
            Some(c) if *c == text[t] => (p, t) = (p + 1, t + 1),
            _ => {
                let Some((at, reach)) = star else {
                    return false;
                };
                star = Some((at, reach + 1));
                (p, t) = (at + 1, reach + 1);
            }
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

#[cfg(test)]
mod tests;
