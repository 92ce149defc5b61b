use std::collections::HashMap;

use super::*;
use crate::HeaderValue;
use crate::bindings::types::{FailureKind as WireKind, Outcome};

fn failure(answer: Answer) -> types::Failure {
    answer.0.expect_err("a failure")
}

fn replies(answer: Answer) -> Vec<types::Reply> {
    match answer.0 {
        Ok(Outcome::Reply(replies)) => replies,
        other => panic!("expected replies, got {other:?}"),
    }
}

// Rules 5.1 to 5.4 and 5.14.
#[test]
fn each_outcome_has_its_counterpart_in_the_contract() {
    for (outcome, expected) in [
        (HandlerOutcome::ack(), Outcome::Ack),
        (HandlerOutcome::drop(), Outcome::Drop),
        (HandlerOutcome::retry(), Outcome::Retry),
        (
            HandlerOutcome::retry_after(Duration::from_millis(1_500)),
            Outcome::RetryAfter(1_500),
        ),
        (
            HandlerOutcome::dead_letter("no such customer"),
            Outcome::DeadLetter("no such customer".into()),
        ),
    ] {
        assert_eq!(outcome.into_answer().0, Ok(expected));
    }
    assert_eq!(().into_answer().0, Ok(Outcome::Ack));
}

// Rule 5.6.
#[test]
fn a_failure_keeps_its_kind_and_its_message() {
    let failed = failure(HandlerOutcome::fail("no paper").into_answer());
    assert_eq!(
        (failed.kind, failed.message.as_str()),
        (WireKind::Error, "no paper")
    );

    let undecoded: Result<(), Failure> = Err(Failure::decode("not a report"));
    assert_eq!(failure(undecoded.into_answer()).kind, WireKind::Decode);

    let other = Failure {
        kind: FailureKind::Other("quota".into()),
        message: String::new(),
    };
    assert_eq!(
        failure(other.into_answer()).kind,
        WireKind::Other("quota".into())
    );
}

#[test]
fn an_error_that_displays_is_a_failure_with_its_text() {
    let failed: Result<(), std::num::ParseIntError> = "x".parse::<u32>().map(|_| ());
    assert_eq!(
        failure(failed.into_answer()).message,
        "invalid digit found in string"
    );
}

#[test]
fn an_error_that_shows_its_causes_in_its_alternate_form_is_logged_with_them() {
    struct Chain;

    impl fmt::Display for Chain {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(if f.alternate() {
                "cannot pay: no route to host"
            } else {
                "cannot pay"
            })
        }
    }

    assert_eq!(
        failure(Err::<(), _>(Chain).into_answer()).message,
        "cannot pay: no route to host"
    );
}

#[test]
fn the_error_of_a_result_may_be_an_outcome_that_is_no_failure() {
    let dropped: Result<Reply, HandlerOutcome> = Err(HandlerOutcome::drop());
    assert_eq!(dropped.into_answer().0, Ok(Outcome::Drop));
}

// Rule 5.4: a fraction is rounded up.
#[test]
fn a_delay_is_never_shorter_than_was_asked_for() {
    for (length, expected) in [
        (Duration::ZERO, 0),
        (Duration::from_nanos(1), 1),
        (Duration::from_millis(1), 1),
        (Duration::from_nanos(1_000_001), 2),
        (Duration::from_secs(43_200), 43_200_000),
        (Duration::MAX, u64::MAX),
    ] {
        assert_eq!(milliseconds(length), expected, "{length:?}");
    }
}

// Rules 5.5, 6.3 and 6.4.
#[test]
fn a_reply_carries_all_that_was_said_of_it() {
    let reply = Reply::json(&["a"])
        .header("kind", "list")
        .header("weight", 7_i64)
        .to("elsewhere")
        .group_id("g")
        .deduplication_id("d")
        .delay(Duration::from_secs(3));
    let sent = replies(reply.into_answer());
    let [sent] = sent.as_slice() else {
        panic!("one reply")
    };
    assert_eq!(sent.body, br#"["a"]"#);
    let headers: Vec<_> = sent
        .headers
        .iter()
        .map(|header| (header.name.as_str(), &header.value))
        .collect();
    assert_eq!(
        headers,
        [
            ("kind", &HeaderValue::Text("list".into())),
            ("weight", &HeaderValue::Number("7".into()))
        ]
    );
    assert_eq!(sent.destination.as_deref(), Some("elsewhere"));
    assert_eq!(sent.group_id.as_deref(), Some("g"));
    assert_eq!(sent.deduplication_id.as_deref(), Some("d"));
    assert_eq!(sent.delay, Some(3_000));
}

#[test]
fn replies_keep_their_order_and_none_at_all_is_an_ack() {
    let sent = replies(vec![Reply::new("first"), Reply::new("second")].into_answer());
    assert_eq!(
        sent.iter()
            .map(|reply| reply.body.as_slice())
            .collect::<Vec<_>>(),
        [b"first".as_slice(), b"second"]
    );
    assert_eq!(Vec::<Reply>::new().into_answer().0, Ok(Outcome::Ack));
}

#[test]
fn a_reply_that_cannot_be_encoded_is_a_failure() {
    let unencodable = HashMap::from([((1, 2), "a key that is no string")]);
    let failed = failure(vec![Reply::new("fine"), Reply::json(&unencodable)].into_answer());
    assert_eq!(failed.kind, WireKind::Error);
    assert_eq!(
        failed.message,
        "the reply cannot be encoded as JSON: key must be a string"
    );
}
