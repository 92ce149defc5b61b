//! The answer of a batch call, entry by entry: pure.
//!
//! Entry ids are positions, so that two entries of one message can never have the same id.

use aws_sdk_sqs::types::BatchResultErrorEntry;

use super::classify::{class_of_entry, without_full_stop};
use crate::error::CallError;

/// One result per entry of the request, in order, of what SQS did and did not, by entry id. An
/// entry in neither list has failed, in passing: nobody knows what SQS did with it (rule 5.10).
pub(super) fn by_entry<T>(
    operation: &'static str,
    entries: usize,
    done: impl IntoIterator<Item = (impl AsRef<str>, T)>,
    failed: impl IntoIterator<Item = (impl AsRef<str>, CallError)>,
) -> Vec<Result<T, CallError>> {
    const SILENCE: &str = "SQS answered for other entries of the batch but not for this";
    let silence = || Err(CallError::no_answer(operation, SILENCE));
    let mut results: Vec<_> = (0..entries).map(|_| silence()).collect();
    let mut put = |id: &str, result| {
        let place = id.parse::<usize>().ok().and_then(|at| results.get_mut(at));
        if let Some(place) = place {
            *place = result;
        }
    };
    for (id, value) in done {
        put(id.as_ref(), Ok(value));
    }
    for (id, error) in failed {
        put(id.as_ref(), Err(error));
    }
    results
}

/// [`by_entry`] of a call that says no more of an entry than that it is done.
pub(super) fn by_position<'a>(
    operation: &'static str,
    entries: usize,
    done: impl Iterator<Item = &'a str>,
    failed: Vec<BatchResultErrorEntry>,
) -> Vec<Result<(), CallError>> {
    let failed = failed.into_iter();
    let failed = failed.map(|entry| (entry.id.clone(), entry_error(operation, entry)));
    by_entry(operation, entries, done.map(|id| (id, ())), failed)
}

/// What SQS says of one entry that failed (rule 5.7).
pub(super) fn entry_error(operation: &'static str, entry: BatchResultErrorEntry) -> CallError {
    failure(operation, entry.code, entry.message, entry.sender_fault)
}

/// What is said of one entry that failed, by SQS or SNS.
pub(super) fn failure(
    operation: &'static str,
    code: String,
    message: Option<String>,
    sender_fault: bool,
) -> CallError {
    let mut message = message.unwrap_or_default();
    without_full_stop(&mut message);
    CallError {
        operation,
        class: class_of_entry(&code, &message, sender_fault),
        message: format!("{code}: {message}"),
        code: Some(code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorClass;

    fn failed(id: &str, code: &str, sender_fault: bool) -> BatchResultErrorEntry {
        BatchResultErrorEntry::builder()
            .id(id)
            .code(code)
            .sender_fault(sender_fault)
            .build()
            .unwrap()
    }

    // Rule 5.10: by position; one in neither list has failed; what was never asked is ignored.
    #[test]
    fn each_entry_has_its_own_result_and_one_without_an_answer_has_failed() {
        let list = vec![
            failed("1", "InternalError", false),
            failed("2", "SomethingNew", true),
            failed("9", "InternalError", false),
            failed("x", "InternalError", false),
        ];
        let results = by_position("DeleteMessageBatch", 4, ["0", "7"].into_iter(), list);
        let classes: Vec<_> = results
            .into_iter()
            .map(|result| result.err().map(|error| error.class))
            .collect();
        assert_eq!(
            classes,
            [
                None,
                Some(ErrorClass::Network),
                Some(ErrorClass::Refused),
                Some(ErrorClass::Network)
            ]
        );
    }

    // Rule 5.7: the fault decides where the code does not.
    #[test]
    fn a_failed_entry_is_refused_by_the_senders_fault_unless_its_code_says_otherwise() {
        for (code, sender_fault, want) in [
            ("SomethingNew", true, ErrorClass::Refused),
            ("SomethingNew", false, ErrorClass::Network),
            ("ReceiptHandleIsInvalid", true, ErrorClass::LostHandle),
            ("ReceiptHandleIsInvalid", false, ErrorClass::LostHandle),
            ("RequestThrottled", true, ErrorClass::Throttled),
            ("AccessDenied", false, ErrorClass::Denied),
        ] {
            let error = entry_error("DeleteMessageBatch", failed("0", code, sender_fault));
            assert_eq!(error.class, want, "{code}, sender fault {sender_fault}");
        }
    }
}
