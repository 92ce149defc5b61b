//! What a person can do about a failed call: one sentence for the log line.

use super::code::name_of;
use super::{CallError, ErrorClass};

/// What mends a failed call, where something does. A receive whose failures change their remedy is
/// in another trouble than before, and says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Remedy {
    /// Nothing that a person could do, or nothing that we know of.
    None,
    /// To settle faster or to scale: too many messages of the queue are in flight.
    InFlight,
    /// To ask for less, or for a higher limit, of the KMS key.
    KeyLimit,
    /// To grant a permission.
    Permission,
    /// To renew credentials that have expired.
    Renew,
    /// To give credentials that AWS knows.
    Credentials,
    /// To set the machine's clock.
    Clock,
    /// To let the credentials use the queue's KMS key.
    KeyPermission,
    /// To mend the queue's KMS key, which is disabled, deleted or of the wrong kind.
    Key,
    /// To create the queue, or to name another.
    Queue,
    /// To start what is called, to reach it, or to call something else.
    Reach,
}

impl Remedy {
    pub(super) fn of(error: &CallError) -> Self {
        if is_clock(error) {
            return Self::Clock;
        }
        let code = error.code.as_deref().map_or("", name_of);
        match (code, error.class) {
            ("OverLimit", _) => Self::InFlight,
            ("KmsThrottled", _) => Self::KeyLimit,
            ("KmsAccessDenied" | "KmsOptInRequired", _) => Self::KeyPermission,
            ("KmsDisabled" | "KmsInvalidState" | "KmsInvalidKeyUsage" | "KmsNotFound", _) => {
                Self::Key
            }
            (
                "ExpiredToken"
                | "ExpiredTokenException"
                | "RequestExpired"
                | "TokenRefreshRequired",
                _,
            ) => Self::Renew,
            (
                "InvalidClientTokenId"
                | "UnrecognizedClientException"
                | "InvalidAccessKeyId"
                | "SignatureDoesNotMatch"
                | "InvalidSignatureException"
                | "IncompleteSignature"
                | "MissingAuthenticationToken",
                _,
            ) => Self::Credentials,
            // No answer of SQS's, so the credentials themselves are what failed.
            ("", ErrorClass::Denied) if !error.message.starts_with("HTTP status") => {
                Self::Credentials
            }
            (_, ErrorClass::Denied) => Self::Permission,
            (_, ErrorClass::Missing) => Self::Queue,
            ("", ErrorClass::Network) if never_connected(&error.message) => Self::Reach,
            _ => Self::None,
        }
    }

    /// [`Remedy::advice`] where it is good for any call: not about a mount, nor about what a host needs
    /// to receive.
    pub fn advice_for_any_call(self) -> &'static str {
        match self {
            Self::Permission | Self::Queue | Self::InFlight => "",
            other => other.advice(),
        }
    }

    /// The sentence, to stand behind the error; empty where there is nothing to do.
    pub fn advice(self) -> &'static str {
        match self {
            Self::None => "",
            Self::InFlight => {
                "; SQS lets 120,000 messages of a standard queue be in flight and 20,000 of a FIFO \
                 queue: messages are received faster than they are settled, so add workers or \
                 hosts, or make handlers faster"
            }
            Self::KeyLimit => {
                "; AWS KMS throttles the queue's key: give the queue a longer \
                 KmsDataKeyReusePeriodSeconds, or ask for a higher KMS request quota"
            }
            Self::Permission => {
                "; check the credentials in force, and that they may sqs:ReceiveMessage, \
                 sqs:DeleteMessage, sqs:ChangeMessageVisibility, sqs:GetQueueUrl and \
                 sqs:GetQueueAttributes on the queue"
            }
            Self::Renew => {
                "; the credentials have expired: sign in again (aws sso login), or give the host \
                 credentials that renew themselves, as those of a role do"
            }
            Self::Credentials => {
                "; AWS does not know these credentials, or there are none: check the access key, \
                 the secret and the session token, or the profile or role they come from"
            }
            Self::Clock => {
                "; AWS refuses requests that are signed minutes away from its own time: set this \
                 machine's clock, and keep it set with NTP (chrony, systemd-timesyncd)"
            }
            Self::KeyPermission => {
                "; the queue is encrypted: allow the credentials kms:Decrypt on its KMS key, and \
                 kms:GenerateDataKey where they send, in their own policy and in the key's"
            }
            Self::Key => {
                "; the queue is encrypted with a KMS key that cannot be used: enable the key, \
                 cancel its deletion, or give the queue another"
            }
            Self::Queue => {
                "; create the queue, correct its name or region, or set create_if_missing = true"
            }
            Self::Reach => {
                "; nothing answers there: see that it runs, that this machine reaches it, and that \
                 the endpoint (--endpoint-url, AWS_ENDPOINT_URL, endpoint_url in queuelet.toml) or \
                 else the region is right"
            }
        }
    }
}

/// Whether there was no connection at all, by what the SDK's HTTP client says.
fn never_connected(message: &str) -> bool {
    ["tcp connect error", "dns error", "HTTP connect timeout"]
        .iter()
        .any(|says| message.contains(says))
}

/// Whether a request was refused for its time. AWS says so with the code of a wrong signature and a
/// message of its own, or with a code of its own.
fn is_clock(error: &CallError) -> bool {
    let code = error.code.as_deref().map_or("", name_of);
    matches!(code, "RequestTimeTooSkewed" | "RequestInTheFuture")
        || matches!(code, "InvalidSignatureException" | "SignatureDoesNotMatch")
            && ["Signature expired", "Signature not yet current"]
                .iter()
                .any(|said| error.message.contains(said))
        // A request that is denied by a policy was signed well.
        || error.class == ErrorClass::Denied
            && !matches!(code, "AccessDenied" | "AccessDeniedException")
            && error.message.contains(CLOCK_IS_OFF)
}

/// Part of what a message says where the answer's own date shows a wrong clock.
pub(crate) const CLOCK_IS_OFF: &str = "this machine's clock is";

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: &str, class: ErrorClass, message: &str) -> CallError {
        CallError {
            operation: "ReceiveMessage",
            class,
            code: (!code.is_empty()).then(|| code.to_owned()),
            message: message.to_owned(),
        }
    }

    // Rules 2.4 and 7.1: each trouble has its own line of what to do.
    #[test]
    fn each_code_has_its_remedy() {
        use ErrorClass::{Denied, Missing, Network, Throttled};
        for (code, class, message, want) in [
            ("AccessDenied", Denied, "", Remedy::Permission),
            ("ExpiredToken", Denied, "", Remedy::Renew),
            ("InvalidClientTokenId", Denied, "", Remedy::Credentials),
            ("SignatureDoesNotMatch", Denied, "", Remedy::Credentials),
            (
                "",
                Denied,
                "no credentials in the chain",
                Remedy::Credentials,
            ),
            ("", Denied, "HTTP status 403: a proxy", Remedy::Permission),
            ("KmsAccessDenied", Denied, "", Remedy::KeyPermission),
            (
                "KMS.AccessDeniedException",
                Denied,
                "",
                Remedy::KeyPermission,
            ),
            ("KmsDisabled", Denied, "", Remedy::Key),
            ("KMS.NotFoundException", Denied, "", Remedy::Key),
            ("KmsThrottled", Throttled, "", Remedy::KeyLimit),
            ("OverLimit", Throttled, "", Remedy::InFlight),
            (
                "AWS.SimpleQueueService.NonExistentQueue",
                Missing,
                "",
                Remedy::Queue,
            ),
            ("RequestThrottled", Throttled, "", Remedy::None),
            ("", Network, "", Remedy::None),
            (
                "",
                Network,
                "dispatch failure: io error: client error (Connect): tcp connect error: refused",
                Remedy::Reach,
            ),
        ] {
            let error = error(code, class, message);
            assert_eq!(error.remedy(), want, "{code} {message}");
        }
    }

    // Rule 2.4: a clock that is wrong by an hour. AWS says so under the code of a wrong signature.
    #[test]
    fn a_wrong_clock_is_told_from_a_wrong_key() {
        for (code, message) in [
            (
                "InvalidSignatureException",
                "Signature expired: 20261130T194500Z is now earlier than 20261130T204000Z",
            ),
            (
                "SignatureDoesNotMatch",
                "Signature not yet current: 20261130T214500Z is still later than 20261130T205000Z",
            ),
            ("RequestTimeTooSkewed", "the difference is too large"),
            (
                "",
                "HTTP status 403 (this machine's clock is 1h ahead of AWS's)",
            ),
        ] {
            let error = error(code, ErrorClass::Denied, message);
            assert_eq!(error.remedy(), Remedy::Clock, "{code} {message}");
            assert!(error.remedy().advice().contains("clock"));
        }
    }
}
