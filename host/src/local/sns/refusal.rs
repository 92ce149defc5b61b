//! Why a request was not carried out.

/// The kinds of refusal that SNS documents. How each is called on the wire is the protocol's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Two entries of a batch share an id.
    BatchEntryIdsNotDistinct,
    /// The messages of a batch are too large together.
    BatchRequestTooLong,
    /// A batch without entries.
    EmptyBatchRequest,
    /// An action nobody knows.
    InvalidAction,
    /// A batch entry's id has a form that is not allowed.
    InvalidBatchEntryId,
    /// A parameter that cannot be used.
    InvalidParameter,
    /// The request names no action.
    MissingAction,
    /// No such topic or subscription.
    NotFound,
    /// A message attribute that cannot be used.
    ParameterValueInvalid,
    /// No such topic, where tags are concerned.
    ResourceNotFound,
    /// More tags than a topic may have.
    TagLimitExceeded,
    /// More than ten entries in a batch.
    TooManyEntriesInBatchRequest,
    /// A member that must be there is not.
    ValidationError,
}

/// A request that SNS refuses.
pub(crate) type Refusal = crate::local::refusal::Refusal<Kind>;

impl Refusal {
    /// A parameter that cannot be used; SNS begins what it says of one with the same two words.
    pub(crate) fn invalid(what: impl AsRef<str>) -> Self {
        let message = format!("Invalid parameter: {}", what.as_ref());
        Self::new(Kind::InvalidParameter, message)
    }

    /// A parameter that must be there is not.
    pub(crate) fn missing(parameter: &str) -> Self {
        Self::invalid(format!(
            "{parameter} Reason: no value for required parameter"
        ))
    }

    /// No topic has this ARN.
    pub(crate) fn no_topic() -> Self {
        Self::new(Kind::NotFound, "Topic does not exist")
    }

    /// No subscription has this ARN.
    pub(crate) fn no_subscription() -> Self {
        Self::new(Kind::NotFound, "Subscription does not exist")
    }
}
