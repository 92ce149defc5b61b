//! What kind of failure an SDK error is: decided once, here.

use std::error::Error;

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

use crate::error::{CallError, ErrorClass};

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
    let message = match (status, &code) {
        (Some(status), None) => format!("HTTP status {status}: {message}"),
        _ => message,
    };
    CallError {
        operation,
        class,
        code,
        message,
    }
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

/// The class of a code of SQS's, in the spellings of its JSON protocol and of its old one. A code
/// that is not known is refused for good.
pub(super) fn class_of_code(code: &str, message: &str) -> ErrorClass {
    let short = code.rsplit(['.', '#']).next().unwrap_or(code);
    match short {
        "QueueDoesNotExist" | "NonExistentQueue" | "QueueDeletedRecently" => ErrorClass::Missing,
        "ReceiptHandleIsInvalid" | "MessageNotInflight" => ErrorClass::LostHandle,
        // Also what SQS says of a handle whose message is gone; another parameter is another matter.
        "InvalidParameterValue" if concerns_handle(message) => ErrorClass::LostHandle,
        "AccessDenied"
        | "AccessDeniedException"
        | "InvalidClientTokenId"
        | "UnrecognizedClientException"
        | "InvalidAccessKeyId"
        | "SignatureDoesNotMatch"
        | "InvalidSignatureException"
        | "MissingAuthenticationToken"
        | "ExpiredToken"
        | "ExpiredTokenException"
        | "RequestExpired"
        | "OptInRequired"
        | "InvalidSecurity"
        | "KmsAccessDenied"
        | "KmsDisabled"
        | "KmsInvalidState"
        | "KmsInvalidKeyUsage"
        | "KmsNotFound"
        | "KmsOptInRequired" => ErrorClass::Denied,
        "RequestThrottled"
        | "Throttling"
        | "ThrottlingException"
        | "ThrottledException"
        | "TooManyRequestsException"
        | "KmsThrottled"
        | "OverLimit" => ErrorClass::Throttled,
        "InternalError" | "InternalFailure" | "ServiceUnavailable" => ErrorClass::Network,
        _ => ErrorClass::Refused,
    }
}

fn concerns_handle(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    message.contains("receipt handle") || message.contains("receipthandle")
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

    // Rules 2.4 and 4.4.
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

    #[test]
    fn an_invalid_parameter_is_a_lost_handle_only_where_it_speaks_of_the_handle() {
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
                "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]"
            ),
            ErrorClass::Refused
        );
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
