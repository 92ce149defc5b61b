//! What kind of failure an SDK error is: decided once, here.

use std::error::Error;

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};

use crate::error::{CallError, ErrorClass};

/// Turns an SDK error into the host's own.
pub(super) fn call_error<E, R>(operation: &'static str, error: SdkError<E, R>) -> CallError
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
    R: std::fmt::Debug + Send + Sync + 'static,
{
    let (class, code, message) = match &error {
        SdkError::ServiceError(service) => {
            let (code, message) = (service.err().code(), service.err().message().unwrap_or(""));
            (
                class_of_code(code.unwrap_or(""), message),
                code.map(str::to_owned),
                match code {
                    Some(code) => format!("{code}: {message}"),
                    None => chain(service.err()),
                },
            )
        }
        // A request that could not even be built, most often for want of credentials or region.
        SdkError::ConstructionFailure(_) => (ErrorClass::Denied, None, chain(&error)),
        SdkError::DispatchFailure(failure) if failure.is_other() || failure.is_user() => {
            (ErrorClass::Denied, None, chain(&error))
        }
        _ => (ErrorClass::Network, None, chain(&error)),
    };
    CallError {
        operation,
        class,
        code,
        message,
    }
}

/// The class of a code of SQS's, in the spellings of its JSON protocol and of its old one.
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
        // No code at all is an answer that is not SQS's: a proxy's page, a broken server.
        "" => ErrorClass::Network,
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
    line
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
}
