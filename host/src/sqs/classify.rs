//! What kind of failure an SDK error is: decided once, here.

use std::error::Error;
use std::time::{Duration, SystemTime};

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::primitives::{DateTime, DateTimeFormat};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use humantime::format_duration;

use crate::error::code::name_of;
use crate::error::remedy::CLOCK_IS_OFF;
use crate::error::{CallError, ErrorClass};
use crate::limits::CLOCK_TOLERANCE;

/// Turns an SDK error into the host's own.
pub(super) fn call_error<E>(operation: &'static str, error: SdkError<E, HttpResponse>) -> CallError
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    let status = error.raw_response().map(|answer| answer.status().as_u16());
    let (class, code, message) = match &error {
        SdkError::ServiceError(service) => {
            let (code, message) = (service.err().code(), service.err().message().unwrap_or(""));
            (
                class_of(code.unwrap_or(""), message, status),
                code.map(str::to_owned),
                match code {
                    Some(code) => format!("{code}: {message}"),
                    None => chain(service.err()),
                },
            )
        }
        // No answer: for want of credentials or region, which a person mends, or of a network.
        SdkError::ConstructionFailure(_) => (ErrorClass::Denied, None, chain(&error)),
        SdkError::DispatchFailure(_) if chain(&error).contains("credentials") => {
            (ErrorClass::Denied, None, chain(&error))
        }
        // An answer that is not SQS's: a proxy's page, a broken server.
        _ => (class_of("", "", status), None, chain(&error)),
    };
    let mut message = match (status, &code) {
        (Some(status), None) => format!("HTTP status {status}: {message}"),
        _ => message,
    };
    without_full_stop(&mut message);
    if class == ErrorClass::Denied {
        let date = error.raw_response().and_then(|a| a.headers().get("date"));
        message.extend(clock_is_off(date, SystemTime::now()));
    }
    CallError {
        operation,
        class,
        code,
        message,
    }
}

/// Takes the full stop away that a message ends with: what is to be done stands behind it, after a
/// semicolon.
pub(super) fn without_full_stop(message: &mut String) {
    message.truncate(message.trim_end_matches('.').len());
}

/// The class of an answer: by its code, else by its HTTP status.
fn class_of(code: &str, message: &str, status: Option<u16>) -> ErrorClass {
    match (class_of_code(code, message), status) {
        (ErrorClass::Refused, Some(status)) => match status {
            401 | 403 => ErrorClass::Denied,
            429 => ErrorClass::Throttled,
            500.. => ErrorClass::Network,
            _ if code.is_empty() => ErrorClass::Network,
            _ => ErrorClass::Refused,
        },
        (ErrorClass::Refused, None) if code.is_empty() => ErrorClass::Network,
        (class, _) => class,
    }
}

/// The class of a code of SQS's, in whatever spelling. A code that is not known is refused for good.
pub(super) fn class_of_code(code: &str, message: &str) -> ErrorClass {
    match name_of(code) {
        // The last is SNS's, of a topic or a subscription.
        "QueueDoesNotExist" | "QueueDeletedRecently" | "NotFound" => ErrorClass::Missing,
        "ReceiptHandleIsInvalid" | "MessageNotInflight" => ErrorClass::LostHandle,
        // What SQS says of a handle whose message is gone, of the end of the twelve hours, and of
        // any other parameter.
        "InvalidParameterValue" if concerns_handle(message) => ErrorClass::LostHandle,
        "InvalidParameterValue" if concerns_window(message) => ErrorClass::WindowUsed,
        "AccessDenied"
        | "AccessDeniedException"
        | "InvalidClientTokenId"
        | "UnrecognizedClientException"
        | "InvalidAccessKeyId"
        | "SignatureDoesNotMatch"
        | "InvalidSignatureException"
        | "IncompleteSignature"
        | "MissingAuthenticationToken"
        | "ExpiredToken"
        | "ExpiredTokenException"
        | "RequestExpired"
        | "RequestTimeTooSkewed"
        | "RequestInTheFuture"
        | "TokenRefreshRequired"
        | "OptInRequired"
        | "NotAuthorized"
        | "InvalidSecurity"
        | "KmsAccessDenied"
        | "KmsDisabled"
        | "KmsInvalidState"
        | "KmsInvalidKeyUsage"
        | "KmsNotFound"
        | "KmsOptInRequired"
        | "AuthorizationError" => ErrorClass::Denied,
        "RequestThrottled"
        | "RequestThrottledException"
        | "Throttling"
        | "ThrottlingException"
        | "ThrottledException"
        | "TooManyRequestsException"
        | "RequestLimitExceeded"
        | "SlowDown"
        | "KmsThrottled"
        | "Throttled"
        | "OverLimit" => ErrorClass::Throttled,
        "InternalError"
        | "InternalFailure"
        | "InternalServerError"
        | "ServiceUnavailable"
        | "RequestTimeout" => ErrorClass::Network,
        _ => ErrorClass::Refused,
    }
}

/// The class of an entry that failed: by its code, else by whose fault it was (rule 5.7).
pub(super) fn class_of_entry(code: &str, message: &str, sender_fault: bool) -> ErrorClass {
    match class_of_code(code, message) {
        ErrorClass::Refused if !sender_fault => ErrorClass::Network,
        class => class,
    }
}

fn concerns_handle(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    message.contains("receipt handle") || message.contains("receipthandle")
}

/// Rule 4.3: counted from its receive a message can be hidden for 43,200 s in all.
fn concerns_window(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    message.contains("visibilitytimeout")
        && (message.contains("beyond the limit") || message.contains("total"))
}

/// How far this machine's clock is from AWS's, where that is far enough for a signature to be
/// refused, by the date that the answer carries.
fn clock_is_off(date: Option<&str>, now: SystemTime) -> Option<String> {
    let date = DateTime::from_str(date?, DateTimeFormat::HttpDate).ok()?;
    let theirs = SystemTime::try_from(date).ok()?;
    let (off, way) = match now.duration_since(theirs) {
        Ok(ahead) => (ahead, "ahead of"),
        Err(behind) => (behind.duration(), "behind"),
    };
    let whole = Duration::from_secs(off.as_secs());
    (off >= CLOCK_TOLERANCE)
        .then(|| format!(" ({CLOCK_IS_OFF} {} {way} AWS's)", format_duration(whole)))
}

/// An error and its causes in one line, each said once.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let text = next.to_string();
        if !line.ends_with(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        cause = next.source();
    }
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rule 2.4.
    #[test]
    fn both_spellings_of_a_missing_queue_are_one_class() {
        for code in [
            "QueueDoesNotExist",
            "AWS.SimpleQueueService.NonExistentQueue",
            "com.amazonaws.sqs#QueueDoesNotExist",
        ] {
            assert_eq!(class_of_code(code, ""), ErrorClass::Missing, "{code}");
        }
    }

    // Rules 4.3 and 4.4.
    #[test]
    fn an_invalid_parameter_is_a_lost_handle_or_a_used_up_window_only_where_it_says_so() {
        assert_eq!(
            class_of_code(
                "InvalidParameterValue",
                "Value x for parameter ReceiptHandle is invalid."
            ),
            ErrorClass::LostHandle
        );
        assert_eq!(
            class_of_code(
                "InvalidParameterValue",
                "Value 43200 for parameter VisibilityTimeout is invalid. Reason: Total \
                 VisibilityTimeout for the message is beyond the limit [43200 seconds]"
            ),
            ErrorClass::WindowUsed
        );
        assert_eq!(
            class_of_code(
                "InvalidParameterValue",
                "Value 11 for parameter MaxNumberOfMessages is invalid."
            ),
            ErrorClass::Refused
        );
    }

    // Rules 2.4 and 7.1.
    #[test]
    fn a_code_has_its_class_in_every_spelling() {
        for (codes, want) in [
            (
                &["OverLimit", "AWS.SimpleQueueService.OverLimit"][..],
                ErrorClass::Throttled,
            ),
            (
                &["KmsThrottled", "KMS.ThrottlingException"],
                ErrorClass::Throttled,
            ),
            (
                &["RequestThrottled", "ThrottlingException", "SlowDown"],
                ErrorClass::Throttled,
            ),
            (
                &[
                    "KmsAccessDenied",
                    "KMS.AccessDeniedException",
                    "KmsDisabled",
                    "KMS.DisabledException",
                    "KmsNotFound",
                    "KMS.NotFoundException",
                    "KMS.InvalidStateException",
                    "KMS.OptInRequired",
                ],
                ErrorClass::Denied,
            ),
            (
                &["AccessDenied", "AccessDeniedException", "ExpiredToken"],
                ErrorClass::Denied,
            ),
            (
                &[
                    "MessageNotInflight",
                    "AWS.SimpleQueueService.MessageNotInflight",
                    "ReceiptHandleIsInvalid",
                ],
                ErrorClass::LostHandle,
            ),
        ] {
            for code in codes {
                assert_eq!(class_of_code(code, ""), want, "{code}");
            }
        }
    }

    // Rule 2.4: a clock that is wrong by an hour.
    #[test]
    fn a_clock_that_is_far_from_the_answers_date_is_named_with_how_far() {
        let date = Some("Mon, 30 Nov 2026 20:00:00 GMT");
        let theirs = SystemTime::UNIX_EPOCH + Duration::from_secs(1_796_068_800);
        let hour = Duration::from_secs(3600);
        assert_eq!(
            clock_is_off(date, theirs + hour).unwrap(),
            " (this machine's clock is 1h ahead of AWS's)"
        );
        assert_eq!(
            clock_is_off(date, theirs - hour * 2).unwrap(),
            " (this machine's clock is 2h behind AWS's)"
        );
        assert_eq!(clock_is_off(date, theirs + Duration::from_secs(60)), None);
        assert_eq!(clock_is_off(Some("yesterday"), theirs), None);
        assert_eq!(clock_is_off(None, theirs), None);
    }

    // Rule 2.4: what a proxy answers has no code of SQS's.
    #[test]
    fn an_answer_without_a_code_is_told_by_its_status() {
        for (code, status, want) in [
            ("", Some(403), ErrorClass::Denied),
            ("", Some(429), ErrorClass::Throttled),
            ("", Some(502), ErrorClass::Network),
            ("", Some(200), ErrorClass::Network),
            ("", None, ErrorClass::Network),
            ("SomethingNew", Some(503), ErrorClass::Network),
            ("SomethingNew", Some(400), ErrorClass::Refused),
            ("QueueDoesNotExist", Some(400), ErrorClass::Missing),
        ] {
            assert_eq!(class_of(code, "", status), want, "{code} {status:?}");
        }
    }
}
