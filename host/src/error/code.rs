//! SQS's codes, each by one name.

/// The name that SQS's model has for a code of SQS's or SNS's. Answers spell some as the old query protocol did
/// (`AWS.SimpleQueueService.NonExistentQueue`, `KMS.DisabledException`), others with a namespace.
pub(crate) fn name_of(code: &str) -> &str {
    match code {
        "KMS.AccessDeniedException" => "KmsAccessDenied",
        "KMS.DisabledException" => "KmsDisabled",
        "KMS.InvalidKeyUsageException" => "KmsInvalidKeyUsage",
        "KMS.InvalidStateException" => "KmsInvalidState",
        "KMS.NotFoundException" => "KmsNotFound",
        "KMS.OptInRequired" => "KmsOptInRequired",
        "KMS.ThrottlingException" => "KmsThrottled",
        // SNS's.
        "KMSAccessDenied" => "KmsAccessDenied",
        "KMSDisabled" => "KmsDisabled",
        "KMSInvalidState" => "KmsInvalidState",
        "KMSNotFound" => "KmsNotFound",
        "KMSOptInRequired" => "KmsOptInRequired",
        "KMSThrottling" => "KmsThrottled",
        code => match code.rsplit(['.', '#']).next().unwrap_or(code) {
            "NonExistentQueue" => "QueueDoesNotExist",
            "InvalidParameterValueException" => "InvalidParameterValue",
            name => name,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rule 2.4.
    #[test]
    fn every_spelling_of_a_code_has_one_name() {
        for (code, name) in [
            ("QueueDoesNotExist", "QueueDoesNotExist"),
            (
                "AWS.SimpleQueueService.NonExistentQueue",
                "QueueDoesNotExist",
            ),
            ("com.amazonaws.sqs#QueueDoesNotExist", "QueueDoesNotExist"),
            ("AWS.SimpleQueueService.OverLimit", "OverLimit"),
            ("KMS.ThrottlingException", "KmsThrottled"),
            ("KmsThrottled", "KmsThrottled"),
            (
                "com.amazon.coral.service#InvalidParameterValueException",
                "InvalidParameterValue",
            ),
            ("KMSThrottling", "KmsThrottled"),
            ("", ""),
        ] {
            assert_eq!(name_of(code), name, "{code}");
        }
    }
}
