use super::*;

const QUEUE: &str = "arn:aws:sqs:eu-west-1:123456789012:orders";
const TOPIC: &str = "arn:aws:sns:eu-west-1:123456789012:news";

/// The statements of the policy that is to be written.
fn written(policy: Option<&str>) -> Option<Vec<Value>> {
    let text = granting(policy, QUEUE, TOPIC).unwrap()?;
    let mut policy: Map<String, Value> = serde_json::from_str(&text).unwrap();
    Some(statements_of(&mut policy).unwrap().clone())
}

fn one(statement: &Value) -> String {
    json!({"Version": "2008-10-17", "Statement": [statement]}).to_string()
}

/// A statement that grants, with some of its parts changed.
fn statement(changed: &Value) -> Value {
    let mut statement = json!({
        "Effect": "Allow",
        "Principal": {"Service": SNS},
        "Action": SEND,
        "Resource": QUEUE,
        "Condition": {"ArnEquals": {"aws:SourceArn": TOPIC}},
    });
    for (key, value) in changed.as_object().unwrap() {
        statement[key] = value.clone();
    }
    statement
}

// Rule 6.7.
#[test]
fn a_queue_without_a_policy_gets_one_with_the_one_statement() {
    for none in [None, Some(""), Some("{}")] {
        let statements = written(none).unwrap();
        let mut want = statement(&json!({}));
        want["Sid"] = statements[0]["Sid"].clone();
        assert_eq!(statements, [want], "{none:?}");
    }
    let text = granting(None, QUEUE, TOPIC).unwrap().unwrap();
    assert!(text.contains("2012-10-17"), "{text}");
}

// Rule 6.7.
#[test]
fn every_statement_that_is_there_stays_as_it_is() {
    let deny = json!({"Sid": "tls", "Effect": "Deny", "Principal": "*", "Action": "sqs:*",
        "Resource": QUEUE, "Condition": {"Bool": {"aws:SecureTransport": "false"}}});
    let own = json!({"Sid": "own", "Effect": "Allow", "Principal": {"AWS": "123456789012"},
        "Action": "sqs:*", "Resource": QUEUE});
    let there = json!({"Version": "2008-10-17", "Id": "mine", "Statement": [deny, own]});
    let text = granting(Some(&there.to_string()), QUEUE, TOPIC).unwrap();
    let new: Value = serde_json::from_str(&text.unwrap()).unwrap();
    assert_eq!(
        (&new["Version"], &new["Id"]),
        (&there["Version"], &there["Id"])
    );
    let statements = new["Statement"].as_array().unwrap();
    assert_eq!(statements[..2], [deny.clone(), own]);
    assert_eq!(statements.len(), 3);
    assert_eq!(granting(Some(&new.to_string()), QUEUE, TOPIC), Ok(None));

    let bare = json!({"Version": "2008-10-17", "Statement": deny}).to_string();
    let statements = written(Some(&bare)).unwrap();
    assert_eq!((statements.len(), &statements[0]), (2, &deny));
}

// Rule 6.7: a policy that already grants it is not written again.
#[test]
fn a_statement_that_grants_is_seen_in_every_spelling() {
    for changed in [
        json!({}),
        json!({"Principal": "*"}),
        json!({"Principal": {"AWS": "*"}}),
        json!({"Principal": {"AWS": ["*"]}}),
        json!({"Principal": {"Service": ["s3.amazonaws.com", "sns.amazonaws.com"]}}),
        json!({"Action": "SQS:SendMessage"}),
        json!({"Action": ["sqs:ReceiveMessage", "sqs:SendMessage"]}),
        json!({"Action": "sqs:*"}),
        json!({"Action": "*"}),
        json!({"Action": "sqs:Send*"}),
        json!({"Resource": "*"}),
        json!({"Resource": ["arn:aws:sqs:*:*:orders"]}),
        json!({"Condition": Value::Null}),
        json!({"Condition": {"ArnLike": {"aws:SourceArn": "arn:aws:sns:*:123456789012:*"}}}),
        json!({"Condition": {"ArnEquals": {"AWS:SourceARN": ["x", TOPIC]}}}),
        json!({"Condition": {"StringEquals": {"aws:SourceArn": TOPIC}}}),
        json!({"Condition": {"StringLike": {"aws:SourceArn": "*:news"}}}),
        json!({"Condition": {"StringEquals": {"aws:SourceAccount": "123456789012"},
            "ArnLikeIfExists": {"aws:SourceArn": "arn:aws:sns:eu-west-1:*:news"}}}),
    ] {
        let written = written(Some(&one(&statement(&changed))));
        assert_eq!(written, None, "{changed}");
    }
}

// Rule 6.7.
#[test]
fn a_statement_that_grants_something_else_does_not_count() {
    for changed in [
        json!({"Effect": "Deny"}),
        json!({"Principal": {"Service": "s3.amazonaws.com"}}),
        json!({"Principal": {"AWS": "arn:aws:iam::123456789012:root"}}),
        json!({"Principal": Value::Null, "NotPrincipal": {"AWS": "1"}}),
        json!({"Action": "sqs:ReceiveMessage"}),
        json!({"Action": Value::Null, "NotAction": "sqs:DeleteQueue"}),
        json!({"Resource": "arn:aws:sqs:eu-west-1:123456789012:other"}),
        json!({"Resource": Value::Null}),
        json!({"Condition": {"ArnEquals": {"aws:SourceArn": "arn:aws:sns:eu-west-1:1:other"}}}),
        json!({"Condition": {"StringEquals": {"aws:SourceArn": "arn:aws:sns:*"}}}),
        json!({"Condition": {"StringEquals": {"aws:SourceAccount": "210987654321"}}}),
        json!({"Condition": {"ArnEquals": {"aws:SourceArn": TOPIC},
            "Bool": {"aws:SecureTransport": "true"}}}),
        json!({"Condition": {"ArnEquals": {"aws:SourceArn": TOPIC, "aws:PrincipalOrgID": "o"}}}),
        json!({"Condition": "odd"}),
    ] {
        let statements = written(Some(&one(&statement(&changed))));
        assert_eq!(statements.map(|s| s.len()), Some(2), "{changed}");
    }
}

// Rule 6.7: the name of a statement is the topic's, and is no other statement's.
#[test]
fn the_statements_name_is_stable_and_free() {
    let first = written(None).unwrap()[0]["Sid"].clone();
    assert_eq!(first, written(Some("{}")).unwrap()[0]["Sid"]);
    let name = first.as_str().unwrap();
    assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "{name}");
    // Somebody has taken our statement and narrowed it.
    let narrowed = statement(&json!({"Sid": first, "Action": "sqs:GetQueueUrl"}));
    let statements = written(Some(&one(&narrowed))).unwrap();
    assert_eq!(statements[0], narrowed);
    assert_ne!(statements[1]["Sid"], first);
    let other = "arn:aws:sns:eu-west-1:123456789012:other";
    let text = granting(None, QUEUE, other).unwrap().unwrap();
    assert!(!text.contains(name));
}

#[test]
fn what_is_no_policy_is_an_error_and_not_written_over() {
    for (text, why) in [
        ("no json", "no JSON"),
        ("[]", "an object"),
        (r#"{"Statement": "x"}"#, "Statement"),
    ] {
        let error = granting(Some(text), QUEUE, TOPIC).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn a_pattern_matches_as_in_a_policy() {
    for (pattern, text, want) in [
        ("", "", true),
        ("*", "", true),
        ("*", "anything", true),
        ("a*c", "abbc", true),
        ("a*c", "abb", false),
        ("a?c", "abc", true),
        ("a?c", "ac", false),
        ("*a*b*", "xxaxxbxx", true),
        ("*ab", "aab", true),
        ("a", "ab", false),
        ("ab", "a", false),
    ] {
        assert_eq!(like(pattern, text), want, "{pattern} {text}");
    }
}
