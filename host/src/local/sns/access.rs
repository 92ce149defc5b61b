//! Access policies of queues: whether one lets SNS send for a topic.
//!
//! A queue here without a policy lets everyone send, as nobody is authenticated. A queue with one is
//! taken at its word, so that a policy that would keep a topic's messages out on AWS does here. Region
//! and account of the ARNs in it are not looked at, here as elsewhere.

use crate::local::engine::limits;
use serde_json::Value;
use std::borrow::Cow;

/// Who sends.
const SERVICE: &str = "sns.amazonaws.com";
/// What is asked for.
const ACTION: &str = "sqs:SendMessage";

/// Whether `policy`, of the queue with the ARN `queue`, lets SNS send for `topic`. What cannot be
/// read allows nothing.
pub(crate) fn allows(policy: &str, queue: &str, topic: &str) -> bool {
    let Ok(policy) = serde_json::from_str::<Value>(policy) else {
        return false;
    };
    let request = Request { queue, topic };
    let mut allowed = false;
    for statement in many(&policy["Statement"]) {
        if request.is_meant_by(statement) {
            match statement["Effect"].as_str() {
                Some("Allow") => allowed = true,
                _ => return false,
            }
        }
    }
    allowed
}

struct Request<'a> {
    queue: &'a str,
    topic: &'a str,
}

impl Request<'_> {
    fn is_meant_by(&self, statement: &Value) -> bool {
        let either = |positive: &str, negative: &str, matches: &dyn Fn(&Value) -> bool| match (
            statement.get(positive),
            statement.get(negative),
        ) {
            (Some(value), None) => matches(value),
            (None, Some(value)) => !matches(value),
            _ => false,
        };
        let action = |value: &Value| {
            let action = ACTION.to_lowercase();
            texts(value).any(|pattern| like(&pattern.to_lowercase(), &action))
        };
        let resource = |value: &Value| texts(value).any(|pattern| fits(like, pattern, self.queue));
        either("Principal", "NotPrincipal", &principal)
            && either("Action", "NotAction", &action)
            && either("Resource", "NotResource", &resource)
            && self.meets(&statement["Condition"])
    }

    /// Whether every condition is met.
    fn meets(&self, conditions: &Value) -> bool {
        let Value::Object(operators) = conditions else {
            return conditions.is_null();
        };
        operators.iter().all(|(operator, keys)| {
            keys.as_object().is_some_and(|keys| {
                keys.iter()
                    .all(|(key, values)| self.meets_one(operator, key, values))
            })
        })
    }

    fn meets_one(&self, operator: &str, key: &str, values: &Value) -> bool {
        let found = self.context(key);
        if operator == "Null" {
            return texts(values).any(|wanted| (wanted == "true") == found.is_none());
        }
        let (operator, if_exists) = match operator.strip_suffix("IfExists") {
            Some(operator) => (operator, true),
            None => (operator, false),
        };
        let (matches, negative): (fn(&str, &str) -> bool, _) = match operator {
            "StringEquals" => (str::eq, false),
            "StringNotEquals" => (str::eq, true),
            "StringEqualsIgnoreCase" | "Bool" => (str::eq_ignore_ascii_case, false),
            "StringNotEqualsIgnoreCase" => (str::eq_ignore_ascii_case, true),
            "StringLike" | "ArnLike" | "ArnEquals" => (like, false),
            "StringNotLike" | "ArnNotLike" | "ArnNotEquals" => (like, true),
            _ => return false,
        };
        match found {
            Some(found) => texts(values).any(|pattern| fits(matches, pattern, found)) != negative,
            None => negative || if_exists,
        }
    }

    /// What is known of the request under this key.
    fn context(&self, key: &str) -> Option<&str> {
        match key.to_ascii_lowercase().as_str() {
            "aws:sourcearn" => Some(self.topic),
            "aws:sourceaccount" => Some(limits::ACCOUNT),
            "aws:securetransport" | "aws:principalisawsservice" => Some("true"),
            "aws:principalservicename" => Some(SERVICE),
            _ => None,
        }
    }
}

fn principal(value: &Value) -> bool {
    match value {
        Value::String(everyone) => everyone == "*",
        Value::Object(kinds) => kinds.iter().any(|(kind, names)| {
            texts(names).any(|name| {
                (name == "*" && (kind == "AWS" || kind == "Service"))
                    || (kind == "Service" && name == SERVICE)
            })
        }),
        _ => false,
    }
}

/// A value alone, or the values of an array.
fn many(value: &Value) -> &[Value] {
    match value {
        Value::Array(values) => values,
        Value::Null => &[],
        single => std::slice::from_ref(single),
    }
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    many(value).iter().filter_map(|value| match value {
        Value::Bool(true) => Some("true"),
        Value::Bool(false) => Some("false"),
        other => other.as_str(),
    })
}

/// Whether something found fits what a policy says, as it is or without places in ARNs.
fn fits(matches: fn(&str, &str) -> bool, pattern: &str, found: &str) -> bool {
    matches(pattern, found) || matches(&placeless(pattern), &placeless(found))
}

/// An ARN without its region and account; anything else as it is.
fn placeless(text: &str) -> Cow<'_, str> {
    match text.splitn(6, ':').collect::<Vec<_>>()[..] {
        ["arn", partition, service, _, _, name] => {
            Cow::Owned(format!("arn:{partition}:{service}:::{name}"))
        }
        _ => Cow::Borrowed(text),
    }
}

/// Whether `text` fits `pattern`, where `*` stands for any characters and `?` for one.
fn like(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut seen) = (0, 0);
    // Where the last star was, and up to where in the text it reaches so far.
    let mut star = None;
    while seen < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(byte) if *byte == b'?' || *byte == text[seen] => {
                at += 1;
                seen += 1;
            }
            _ => {
                let Some((star_at, reach)) = star else {
                    return false;
                };
                star = Some((star_at, reach + 1));
                (at, seen) = (star_at + 1, reach + 1);
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const QUEUE: &str = "arn:aws:sqs:us-east-1:000000000000:jobs";
    const TOPIC: &str = "arn:aws:sns:us-east-1:000000000000:news";

    fn allowed(statements: &Value) -> bool {
        let policy = json!({"Version": "2012-10-17", "Statement": statements});
        allows(&policy.to_string(), QUEUE, TOPIC)
    }

    /// A statement that lets SNS send, with these members changed or added.
    fn statement(changes: &Value) -> Value {
        let mut statement = json!({
            "Effect": "Allow",
            "Principal": {"Service": "sns.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": QUEUE,
        });
        for (key, value) in changes.as_object().unwrap() {
            statement[key] = value.clone();
        }
        statement
    }

    #[test]
    fn a_statement_lets_sns_send_if_principal_action_resource_and_conditions_all_fit() {
        let table = [
            (json!({}), true),
            (json!({"Principal": "*"}), true),
            (json!({"Principal": {"AWS": "*"}}), true),
            (
                json!({"Principal": {"Service": ["s3.amazonaws.com", "sns.amazonaws.com"]}}),
                true,
            ),
            (json!({"Principal": {"Service": "s3.amazonaws.com"}}), false),
            (
                json!({"Principal": {"AWS": "arn:aws:iam::000000000000:root"}}),
                false,
            ),
            (json!({"Action": "SQS:sendmessage"}), true),
            (json!({"Action": ["sqs:ReceiveMessage", "sqs:*"]}), true),
            (json!({"Action": "sqs:ReceiveMessage"}), false),
            (json!({"Resource": "*"}), true),
            (json!({"Resource": "arn:aws:sqs:*:*:j?bs"}), true),
            (
                json!({"Resource": "arn:aws:sqs:us-east-1:000000000000:other"}),
                false,
            ),
            (
                json!({"Condition": {"ArnEquals": {"aws:SourceArn": TOPIC}}}),
                true,
            ),
            (
                json!({"Condition": {"ArnLike": {"AWS:SourceArn": "arn:aws:sns:*:*:ne*"}}}),
                true,
            ),
            (
                json!({"Condition": {"StringEquals": {"aws:SourceArn": ["x", TOPIC]}}}),
                true,
            ),
            (
                json!({"Condition": {"ArnEquals": {"aws:SourceArn": "arn:aws:sns:us-east-1:000000000000:old"}}}),
                false,
            ),
            (
                json!({"Condition": {"StringEquals": {"aws:SourceAccount": "123456789012"}}}),
                false,
            ),
            (
                json!({"Condition": {"ArnNotEquals": {"aws:SourceArn": TOPIC}}}),
                false,
            ),
            (
                json!({"Condition": {"StringEquals": {"aws:PrincipalOrgID": "o-1"}}}),
                false,
            ),
            (
                json!({"Condition": {"StringEqualsIfExists": {"aws:PrincipalOrgID": "o-1"}}}),
                true,
            ),
            (
                json!({"Condition": {"Bool": {"aws:SecureTransport": true}}}),
                true,
            ),
            (
                json!({"Condition": {"DateLessThan": {"aws:CurrentTime": "2000-01-01"}}}),
                false,
            ),
        ];
        for (changes, expected) in table {
            assert_eq!(allowed(&statement(&changes)), expected, "{changes}");
        }
    }

    #[test]
    fn a_policy_written_for_an_account_on_aws_works_as_it_stands() {
        let there = |topic: &str| {
            let topic = format!("arn:aws:sns:eu-west-1:123456789012:{topic}");
            allowed(&statement(&json!({
                "Resource": "arn:aws:sqs:eu-west-1:123456789012:jobs",
                "Condition": {"StringEquals": {"aws:SourceArn": topic}},
            })))
        };
        assert!(there("news"));
        assert!(!there("olds"));
        assert!(allowed(&statement(
            &json!({"Resource": "arn:aws:sqs:us-east-1:*"})
        )));
    }

    #[test]
    fn a_denial_outweighs_every_permission() {
        let deny = statement(&json!({"Effect": "Deny", "Principal": "*", "Action": "*"}));
        assert!(!allowed(&json!([statement(&json!({})), deny])));
        let insecure = statement(&json!({
            "Effect": "Deny", "Principal": "*", "Action": "sqs:*",
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }));
        assert!(allowed(&json!([insecure, statement(&json!({}))])));
    }

    #[test]
    fn a_policy_that_says_nothing_of_sns_lets_it_send_nothing() {
        assert!(!allowed(&json!([])));
        assert!(!allows("not JSON", QUEUE, TOPIC));
        assert!(!allows("{}", QUEUE, TOPIC));
    }

    #[test]
    fn a_star_stands_for_any_characters_and_a_question_mark_for_one() {
        let table = [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abbcd", false),
            ("*a*a", "bababa", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("", "a", false),
        ];
        for (pattern, text, fits) in table {
            assert_eq!(like(pattern, text), fits, "{pattern} {text}");
        }
    }
}
