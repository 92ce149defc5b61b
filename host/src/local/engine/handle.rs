//! Receipt handles: which message of which queue, and which of its receives.
//!
//! All a handle says is in the handle, so that the handle of a message deleted long ago is still
//! known to be this queue's own, and nothing has to be kept for it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A message's place in its queue: later messages have higher numbers, and none is used twice.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub(crate) struct Sequence(pub(crate) u64);

/// What a receipt handle says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    /// Random, and another for each queue: a handle of another queue is told by it.
    pub(crate) queue_tag: u64,
    /// The message.
    pub(crate) sequence: Sequence,
    /// The how-manieth receive in this queue it is of.
    pub(crate) receive: u32,
}

impl Handle {
    /// How a client is given it.
    pub(crate) fn encode(self) -> String {
        let mut bytes = [0; 20];
        bytes[..8].copy_from_slice(&self.queue_tag.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.sequence.0.to_be_bytes());
        bytes[16..].copy_from_slice(&self.receive.to_be_bytes());
        STANDARD.encode(bytes)
    }

    /// Reads what a client gave; `None` if it has not the form of a handle.
    pub(crate) fn decode(text: &str) -> Option<Self> {
        let bytes: [u8; 20] = STANDARD.decode(text).ok()?.try_into().ok()?;
        let word = |at: usize| {
            bytes[at..at + 8]
                .iter()
                .fold(0, |n, b| n << 8 | u64::from(*b))
        };
        Some(Self {
            queue_tag: word(0),
            sequence: Sequence(word(8)),
            receive: u32::from_be_bytes([bytes[16], bytes[17], bytes[18], bytes[19]]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_read_back_as_it_was_given() {
        let handle = Handle {
            queue_tag: u64::MAX - 5,
            sequence: Sequence(77),
            receive: 3,
        };
        assert_eq!(Handle::decode(&handle.encode()), Some(handle));
    }

    #[test]
    fn what_is_not_a_handle_is_not_read_as_one() {
        for text in [
            "",
            "garbage",
            "AQEB",
            "====",
            "AAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "ü",
        ] {
            assert_eq!(Handle::decode(text), None, "{text}");
        }
    }
}
