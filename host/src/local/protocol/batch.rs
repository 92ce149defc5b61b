//! What all batches have in common: the rules on their entries, and replies in two lists.

use super::fault::entry_code;
use super::input::{Send, Settle};
use super::output::{BatchReply, FailedEntry};
use crate::local::engine::limits;
use crate::local::engine::refusal::{Kind, Refusal};
use std::collections::HashSet;

/// An entry of a batch.
pub(crate) trait Entry {
    /// Its id, as it was given.
    fn id(&self) -> Option<&str>;
}

impl Entry for Send {
    fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }
}

impl Entry for Settle {
    fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }
}

/// The entries of a batch that keeps to the rules, each with its id.
///
/// # Errors
/// `EmptyBatchRequest`, `TooManyEntriesInBatchRequest`, `InvalidBatchEntryId`,
/// `BatchEntryIdsNotDistinct`: then no entry is carried out.
pub(crate) fn entries<T: Entry>(entries: Option<Vec<T>>) -> Result<Vec<(String, T)>, Refusal> {
    let entries = entries.unwrap_or_default();
    let refuse = |kind, message: String| Err(Refusal::new(kind, message));
    if entries.is_empty() {
        return refuse(
            Kind::EmptyBatchRequest,
            "There should be at least one entry in the batch.".to_owned(),
        );
    }
    if entries.len() > limits::BATCH_ENTRIES {
        let message = format!(
            "A batch has at most {} entries; this one has {}.",
            limits::BATCH_ENTRIES,
            entries.len()
        );
        return refuse(Kind::TooManyEntriesInBatchRequest, message);
    }
    let mut seen = HashSet::new();
    for entry in &entries {
        let Some(id) = entry.id() else {
            return Err(Refusal::missing("Id"));
        };
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if !(1..=limits::NAME_CHARS).contains(&id.len()) || !id.bytes().all(allowed) {
            let message = format!(
                "Entry id \"{id}\": it has 1 to 80 letters, digits, hyphens and underscores."
            );
            return refuse(Kind::InvalidBatchEntryId, message);
        }
        if !seen.insert(id) {
            return refuse(Kind::BatchEntryIdsNotDistinct, format!("Id {id} repeated."));
        }
    }
    let with_id = |entry: T| (entry.id().unwrap_or_default().to_owned(), entry);
    Ok(entries.into_iter().map(with_id).collect())
}

impl<'a, T> BatchReply<'a, T> {
    /// Sorts what became of the entries into the reply's two lists.
    pub(crate) fn of(outcomes: impl Iterator<Item = (&'a str, Result<T, Refusal>)>) -> Self {
        let (mut successful, mut failed) = (Vec::new(), Vec::new());
        for (id, outcome) in outcomes {
            match outcome {
                Ok(success) => successful.push(success),
                Err(refusal) => failed.push(FailedEntry {
                    id,
                    code: entry_code(refusal.kind),
                    message: refusal.message,
                    sender_fault: true,
                }),
            }
        }
        Self { successful, failed }
    }
}
