//! A request that was not carried out, by whichever of the two services it was meant for.

/// A refused request: its kind for programs, its message for the person who reads the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Refusal<Kind> {
    /// What programs tell refusals apart by.
    pub(crate) kind: Kind,
    /// Which parameter, which value, and what would have been right.
    pub(crate) message: String,
}

impl<Kind> Refusal<Kind> {
    /// A refusal of this kind.
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}
