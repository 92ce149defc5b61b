//! The tags of a queue: what its owner writes on it for themselves.

use super::refusal::Refusal;
use super::time::Time;
use super::{Engine, limits};
use std::collections::BTreeMap;

/// Tags by key.
pub(crate) type Tags = BTreeMap<String, String>;

/// Whether SQS would take these tags.
pub(crate) fn check(tags: &Tags) -> Result<(), Refusal> {
    for (key, value) in tags {
        if !(1..=limits::TAG_KEY_CHARS).contains(&key.chars().count()) {
            return Err(Refusal::value(
                "Tags",
                key,
                "A tag's key has 1 to 128 characters",
            ));
        }
        if value.chars().count() > limits::TAG_VALUE_CHARS {
            let reason = format!("The value of the tag {key} has more than 256 characters");
            return Err(Refusal::value("Tags", value, reason));
        }
    }
    Ok(())
}

impl Engine {
    /// The queue's tags.
    ///
    /// # Errors
    /// `QueueDoesNotExist`.
    pub(crate) fn tags(&mut self, now: Time, name: &str) -> Result<Tags, Refusal> {
        Ok(self.at(now, name)?.1.tags.clone())
    }

    /// Adds tags, in place of those of the same key.
    ///
    /// # Errors
    /// `QueueDoesNotExist`, `InvalidParameterValue` for a tag SQS would not take.
    pub(crate) fn tag(&mut self, now: Time, name: &str, tags: Tags) -> Result<(), Refusal> {
        check(&tags)?;
        self.at(now, name)?.1.tags.extend(tags);
        self.changes += 1;
        Ok(())
    }

    /// Takes tags away. That one is not there is no error.
    ///
    /// # Errors
    /// `QueueDoesNotExist`.
    pub(crate) fn untag(&mut self, now: Time, name: &str, keys: &[String]) -> Result<(), Refusal> {
        let (_, queue) = self.at(now, name)?;
        for key in keys {
            queue.tags.remove(key);
        }
        self.changes += 1;
        Ok(())
    }
}
