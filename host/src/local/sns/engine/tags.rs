//! Tags of topics.

use super::{Engine, Pairs};
use crate::local::sns::limits;
use crate::local::sns::refusal::{Kind, Refusal};

impl Engine {
    /// The tags of a topic.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub(crate) fn tags(&self, resource: &str) -> Result<&Pairs, Refusal> {
        let (_, topic) = self.topic(resource).map_err(not_found)?;
        Ok(&topic.tags)
    }

    /// Sets tags of a topic; those not named stay.
    ///
    /// # Errors
    /// `ResourceNotFound`; `TagLimitExceeded`; `InvalidParameter` for a tag SNS would not take.
    pub(crate) fn tag(&mut self, resource: &str, tags: Pairs) -> Result<(), Refusal> {
        let (_, topic) = self.topic_mut(resource).map_err(not_found)?;
        let mut all = topic.tags.clone();
        all.extend(tags);
        topic.tags = checked(all)?;
        Ok(())
    }

    /// Takes tags away from a topic.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub(crate) fn untag(&mut self, resource: &str, keys: &[String]) -> Result<(), Refusal> {
        let (_, topic) = self.topic_mut(resource).map_err(not_found)?;
        topic.tags.retain(|key, _| !keys.contains(key));
        Ok(())
    }
}

/// The tags, if SNS would take them.
pub(super) fn checked(tags: Pairs) -> Result<Pairs, Refusal> {
    if tags.len() > limits::TAGS {
        let message = format!(
            "Could not complete request: a topic has at most {} tags",
            limits::TAGS
        );
        return Err(Refusal::new(Kind::TagLimitExceeded, message));
    }
    for (key, value) in &tags {
        let (key_chars, value_chars) = (key.chars().count(), value.chars().count());
        let reason = if !(1..=limits::TAG_KEY_CHARS).contains(&key_chars) {
            "its key must have 1 to 128 characters"
        } else if value_chars > limits::TAG_VALUE_CHARS {
            "its value must have at most 256 characters"
        } else if key.to_ascii_lowercase().starts_with("aws:") {
            "keys that begin with aws: are AWS's own"
        } else {
            continue;
        };
        return Err(Refusal::invalid(format!(
            "Tags Reason: \"{key}\": {reason}"
        )));
    }
    Ok(tags)
}

/// The tagging actions have a name of their own for a topic that is not there.
fn not_found(refusal: Refusal) -> Refusal {
    match refusal.kind {
        Kind::NotFound => Refusal::new(Kind::ResourceNotFound, "Resource does not exist"),
        _ => refusal,
    }
}
