//! The answer of a batch call, entry by entry: pure.
//!
//! Entry ids are positions, so that two entries of one message can never have the same id.

use aws_sdk_sqs::types::BatchResultErrorEntry;

use super::classify::class_of_entry;
use crate::error::CallError;

/// One result per entry of the request, in order. An entry in neither list has failed, in passing:
/// nobody knows what SQS did with it (rule 5.10).
pub(super) fn by_position<'a>(
    operation: &'static str,
    entries: usize,
    done: impl Iterator<Item = &'a str>,
    failed: Vec<BatchResultErrorEntry>,
) -> Vec<Result<(), CallError>> {
    let mut results = vec![
        Err(CallError::no_answer(
            operation,
            "SQS answered for other entries of the batch but not for this"
        ));
        entries
    ];
    let place = |id: &str| id.parse::<usize>().ok().filter(|at| *at < entries);
    for position in done.filter_map(place) {
        results[position] = Ok(());
    }
    for entry in failed {
        if let Some(position) = place(&entry.id) {
            results[position] = Err(entry_error(operation, entry));
        }
    }
    results
}

/// What SQS says of one entry that failed (rule 5.7).
pub(super) fn entry_error(operation: &'static str, entry: BatchResultErrorEntry) -> CallError {
    let message = entry.message.unwrap_or_default();
    CallError {
        operation,
        class: class_of_entry(&entry.code, &message, entry.sender_fault),
        message: format!("{}: {message}", entry.code),
        code: Some(entry.code),
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
