use std::cell::Cell;
use std::future::pending;

use serde::Deserialize;

use super::*;
use crate::bindings::types::{self, FailureKind, Outcome};
use crate::{Body, Delivery, Reply};

#[derive(Debug, Deserialize)]
struct Number {
    n: u32,
}

/// Answers what it is told to, and counts its calls.
struct Told<R> {
    returns: R,
    calls: Cell<usize>,
    handed: Cell<usize>,
}

fn told<R>(returns: R) -> Told<R> {
    Told {
        returns,
        calls: Cell::new(0),
        handed: Cell::new(0),
    }
}

impl<R: IntoAnswer + Clone> Handle<Number> for Told<R> {
    type Output = R;

    async fn handle(&self, _: Number, _: &Context) -> R {
        self.calls.set(self.calls.get() + 1);
        self.returns.clone()
    }
}

impl<R: IntoAnswers + Clone> HandleBatch<Number> for Told<R> {
    type Output = R;

    async fn handle_batch(&self, batch: Vec<Number>) -> R {
        self.calls.set(self.calls.get() + 1);
        self.handed.set(batch.len());
        self.returns.clone()
    }
}

fn messages(bodies: &[&str]) -> Vec<Message> {
    bodies.iter().map(|body| Message::new(*body)).collect()
}

/// A batch's answers as words: `ack`, `drop`, …, or the kind of a failure.
fn words(answers: Vec<Answer>) -> Vec<&'static str> {
    answers
        .into_iter()
        .map(|answer| match answer.0 {
            Ok(Outcome::Ack) => "ack",
            Ok(Outcome::Drop) => "drop",
            Ok(Outcome::Retry) => "retry",
            Ok(_) => "other",
            Err(types::Failure {
                kind: FailureKind::Decode,
                ..
            }) => "decode",
            Err(_) => "error",
        })
        .collect()
}

// Rule 5.6: a body that does not decode is a failure that says where and why, and the handler is
// not called.
#[test]
fn a_body_that_does_not_decode_fails_with_serdes_message() {
    for (body, expected) in [
        (
            r#"{"n":1"#,
            "EOF while parsing an object at line 1 column 6",
        ),
        (r#"{}"#, "missing field `n` at line 1 column 2"),
        (
            "{\n\"n\":\"one\"}",
            "invalid type: string \"one\", expected u32 at line 2 column 9",
        ),
        ("", "EOF while parsing a value at line 1 column 0"),
        (
            r#"{"n":1} {"n":2}"#,
            "trailing characters at line 1 column 9",
        ),
    ] {
        let handler = told(HandlerOutcome::Ack);
        let answer = handle_single(&handler, &Message::new(body));
        let failure = answer.0.expect_err(body);
        assert_eq!(failure.kind, FailureKind::Decode, "{body}");
        assert_eq!(failure.message, expected, "{body}");
        assert_eq!(handler.calls.get(), 0, "{body}");
    }
}

// Rules 3.1 and 5.6: a body need not be text.
#[test]
fn bytes_that_are_no_text_fail_a_handler_of_json() {
    let handler = told(HandlerOutcome::Ack);
    let answer = handle_single(&handler, &Message::new([b'{', b'"', 0xff, b'"']));
    let failure = answer.0.expect_err("it is no JSON");
    assert_eq!(failure.kind, FailureKind::Decode);
    assert_eq!(handler.calls.get(), 0);
}

#[test]
fn a_body_that_decodes_is_handed_over_and_the_outcome_passed_on() {
    let handler = told(HandlerOutcome::Drop);
    assert_eq!(
        handle_single(&handler, &Message::new(r#"{"n":1}"#)).0,
        Ok(Outcome::Drop)
    );
    assert_eq!(handler.calls.get(), 1);
}

// Rule 3.1: a handler that takes bytes gets those that SQS delivered.
#[test]
fn bytes_and_the_whole_message_are_lent_and_not_copied() {
    struct Raw(Cell<*const u8>);

    impl<'m> Handle<Body<'m>> for Raw {
        type Output = ();

        async fn handle(&self, body: Body<'m>, _: &Context) {
            self.0.set(body.as_ptr());
        }
    }

    struct Whole(Cell<*const u8>);

    impl<'m> Handle<&'m Message> for Whole {
        type Output = ();

        async fn handle(&self, message: &'m Message, _: &Context) {
            self.0.set(message.body().as_ptr());
        }
    }

    let message = Message::new([0xff, 0x00]);
    let (raw, whole) = (
        Raw(Cell::new(std::ptr::null())),
        Whole(Cell::new(std::ptr::null())),
    );
    assert_eq!(handle_single(&raw, &message).0, Ok(Outcome::Ack));
    assert_eq!(handle_single(&whole, &message).0, Ok(Outcome::Ack));
    assert_eq!(raw.0.get(), message.body().as_ptr());
    assert_eq!(whole.0.get(), message.body().as_ptr());
}

#[test]
fn a_type_that_borrows_borrows_from_the_body() {
    #[derive(Deserialize)]
    struct Name<'a> {
        name: &'a str,
    }

    struct Names;

    impl<'m> Handle<Name<'m>> for Names {
        type Output = Result<(), String>;

        async fn handle(&self, name: Name<'m>, _: &Context) -> Result<(), String> {
            Err(name.name.to_owned())
        }
    }

    let answer = handle_single(&Names, &Message::new(r#"{"name":"north"}"#));
    assert_eq!(
        answer.0.expect_err("the name is the error").message,
        "north"
    );
}

#[test]
fn a_future_that_nothing_can_wake_fails_and_says_so() {
    struct Waits;

    impl Handle<Number> for Waits {
        type Output = ();

        async fn handle(&self, _: Number, _: &Context) {
            pending::<()>().await;
        }
    }

    impl HandleBatch<Number> for Waits {
        type Output = ();

        async fn handle_batch(&self, _: Vec<Number>) {
            pending::<()>().await;
        }
    }

    let failure = handle_single(&Waits, &Message::new(r#"{"n":1}"#))
        .0
        .expect_err("it is stuck");
    assert_eq!(failure.kind, FailureKind::Error);
    assert!(
        failure
            .message
            .contains("nothing in this component can bring about"),
        "{failure:?}"
    );

    let answers =
        handle_batch::<Number, _>(&Waits, &mut messages(&[r#"{"n":1}"#, "no", r#"{"n":2}"#]));
    assert_eq!(words(answers), ["error", "decode", "error"]);
}

// Rule 5.9: what does not decode fails at its own place, and is not handed over.
#[test]
fn the_elements_that_do_not_decode_fail_where_they_stand() {
    use HandlerOutcome::{Ack, Drop, Retry};

    let good = r#"{"n":1}"#;
    for (bodies, returns, expected) in [
        (
            vec![good, good, good],
            vec![Ack, Drop, Retry],
            vec!["ack", "drop", "retry"],
        ),
        (
            vec!["no", good, good],
            vec![Ack, Drop],
            vec!["decode", "ack", "drop"],
        ),
        (
            vec![good, "no", good],
            vec![Ack, Drop],
            vec!["ack", "decode", "drop"],
        ),
        (
            vec![good, good, "no"],
            vec![Ack, Drop],
            vec!["ack", "drop", "decode"],
        ),
        (
            vec!["no", "no", good, "no"],
            vec![Retry],
            vec!["decode", "decode", "retry", "decode"],
        ),
    ] {
        let handler = told(returns.clone());
        let answers = handle_batch::<Number, _>(&handler, &mut messages(&bodies));
        assert_eq!(words(answers), expected, "{bodies:?}");
        assert_eq!(
            (handler.calls.get(), handler.handed.get()),
            (1, returns.len()),
            "{bodies:?}"
        );
    }
}

// Rule 5.9: if none is left there is no call.
#[test]
fn a_batch_of_which_nothing_decodes_is_no_call() {
    let handler = told(HandlerOutcome::Ack);
    let answers = handle_batch::<Number, _>(&handler, &mut messages(&["no", "nor this"]));
    assert_eq!(words(answers), ["decode", "decode"]);
    assert_eq!(handler.calls.get(), 0);
}

// Rule 5.9: one outcome for all.
#[test]
fn one_outcome_counts_for_all_that_were_handed_over() {
    let handler = told(HandlerOutcome::Retry);
    let answers =
        handle_batch::<Number, _>(&handler, &mut messages(&[r#"{"n":1}"#, "no", r#"{"n":2}"#]));
    assert_eq!(words(answers), ["retry", "decode", "retry"]);

    let failed: Result<Vec<HandlerOutcome>, &str> = Err("the database is away");
    let answers =
        handle_batch::<Number, _>(&told(failed), &mut messages(&[r#"{"n":1}"#, r#"{"n":2}"#]));
    assert_eq!(words(answers), ["error", "error"]);
}

// Rule 5.9: a list of the wrong length is a malformed answer. The host sees it only if the length
// stays wrong, so failures to decode must never fill the gap.
#[test]
fn a_wrong_number_of_outcomes_is_never_made_to_look_right() {
    let good = r#"{"n":1}"#;
    let batches = [
        vec![good, good, good],
        vec![good, "no", good],
        vec!["no", good, "no"],
        vec![good],
    ];
    for bodies in batches {
        let handed = bodies.iter().filter(|body| **body == good).count();
        for answered in (0..6).filter(|answered| *answered != handed) {
            let handler = told(vec![HandlerOutcome::Ack; answered]);
            let answers = handle_batch::<Number, _>(&handler, &mut messages(&bodies));
            assert_ne!(answers.len(), bodies.len(), "{answered} for {bodies:?}");
        }
    }
}

// Rules 3.3 and 3.4: what came with a message is there in a batch too.
#[test]
fn each_delivery_of_a_batch_has_its_own_context() {
    struct Counts(Cell<Vec<Option<u32>>>);

    impl HandleBatch<Delivery<Number>> for Counts {
        type Output = Vec<Reply>;

        async fn handle_batch(&self, batch: Vec<Delivery<Number>>) -> Vec<Reply> {
            self.0.set(
                batch
                    .iter()
                    .map(|one| one.context.receive_count())
                    .collect(),
            );
            batch.iter().map(|one| Reply::json(&one.n)).collect()
        }
    }

    let mut messages =
        [1, 2].map(|n| Message::new(format!(r#"{{"n":{n}}}"#)).with_receive_count(n));
    let counts = Counts(Cell::default());
    let answers = handle_batch::<Delivery<Number>, _>(&counts, &mut messages);
    assert_eq!(counts.0.take(), [Some(1), Some(2)]);
    assert_eq!(words(answers), ["other", "other"]);
}

#[test]
fn a_batch_of_messages_is_handed_over_undecoded() {
    struct Lengths(Cell<Vec<usize>>);

    impl HandleBatch<Message> for Lengths {
        type Output = HandlerOutcome;

        async fn handle_batch(&self, batch: Vec<Message>) -> HandlerOutcome {
            self.0
                .set(batch.iter().map(|message| message.body().len()).collect());
            HandlerOutcome::Ack
        }
    }

    let lengths = Lengths(Cell::default());
    let answers = handle_batch::<Message, _>(&lengths, &mut messages(&["", "not json"]));
    assert_eq!(words(answers), ["ack", "ack"]);
    assert_eq!(lengths.0.take(), [0, 8]);
}
