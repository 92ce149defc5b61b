//! Message groups and deduplication ids (rules 6.4 and 6.6).
//!
//! What is derived depends on the source message alone, so that a message that is handled twice
//! says the same ids twice.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::handler::{HeaderValue, MessageId, Reply};
use crate::limits::MAX_GROUP_ID;
use crate::sqs::message::PARTITION_KEY;

/// The group of a message that nothing names a group for.
const DEFAULT_GROUP: &str = "default";
/// The longest message id that a deduplication id carries as it is. SQS's have 36 characters.
const MAX_ROOT: usize = 64;

/// Whether SQS takes a group or deduplication id: 1 to 128 letters, digits and signs of ASCII.
pub(super) fn is_id(text: &str) -> bool {
    (1..=MAX_GROUP_ID).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
}

/// Where the message groups of a FIFO target come from, where a message names none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Groups<'a> {
    /// The mount's.
    pub(super) default: Option<&'a str>,
    /// The source message's.
    pub(super) source: Option<&'a str>,
}

/// The message group on a FIFO target, and what said it.
pub(super) fn group(reply: &Reply, groups: Groups<'_>) -> (String, &'static str) {
    let key = reply.headers.iter().find(|h| h.name == PARTITION_KEY);
    let key = key.and_then(|header| match &header.value {
        HeaderValue::Text(text) | HeaderValue::Number(text) => Some(text.as_str()),
        HeaderValue::Bytes(_) => None,
    });
    let named = [
        (reply.group_id.as_deref(), "its group id"),
        (key, "its header partition-key"),
        (groups.default, "the mount's reply_group"),
        (groups.source, "the group of the message it is sent for"),
    ];
    let found = named.into_iter().find_map(|(group, by)| Some((group?, by)));
    let (group, by) = found.unwrap_or((DEFAULT_GROUP, "the default"));
    (group.to_owned(), by)
}

/// What every derived id of one call begins with: the id of its message. A batch has one of all
/// its ids: of another batch with the same message in it nothing may be taken for a duplicate.
pub(super) fn root<'a>(ids: impl IntoIterator<Item = Option<&'a MessageId>>) -> String {
    let mut ids = ids.into_iter();
    let (first, second) = (ids.next().flatten(), ids.next());
    match (first, second) {
        (Some(id), None) if id.as_str().len() <= MAX_ROOT && is_id(id.as_str()) => {
            id.as_str().to_owned()
        }
        (Some(id), second) => {
            let mut digest = Sha256::new_with_prefix(id.as_str());
            for id in second.into_iter().chain(ids).flatten() {
                digest.update([0]);
                digest.update(id.as_str());
            }
            hex(&digest.finalize())
        }
        // Without an id there is nothing to know the message again by.
        (None, _) => format!("{:032x}", rand::random::<u128>()),
    }
}

/// The deduplication id of a message's reply, by its position.
pub(super) fn of_reply(root: &str, position: usize) -> String {
    format!("{root}-r{position}")
}

/// What a message that a handler publishes is known again by.
pub(super) type Fingerprint = [u8; 16];

/// The fingerprint of a message to `target`. A position would not do: a handler that runs again and
/// takes another way would have another message taken for the one it sent there before, and lost.
pub(super) fn fingerprint(target: &str, message: &Reply) -> Fingerprint {
    let mut digest = Sha256::new_with_prefix(target);
    digest.update([0]);
    digest.update(message.group_id.as_deref().unwrap_or_default());
    digest.update([0]);
    digest.update(&message.body);
    let mut fingerprint = Fingerprint::default();
    fingerprint.copy_from_slice(&digest.finalize()[..16]);
    fingerprint
}

/// The deduplication id of a message that is published while its source is handled: the `nth` with
/// this fingerprint.
pub(super) fn of_published(root: &str, fingerprint: &Fingerprint, nth: usize) -> String {
    format!("{root}-p{nth}-{}", hex(fingerprint))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::Header;

    fn keyed(key: HeaderValue) -> Vec<Header> {
        vec![Header {
            name: PARTITION_KEY.into(),
            value: key,
            label: None,
        }]
    }

    fn one(id: &str) -> String {
        root([Some(&id.into())])
    }

    // Rule 6.4.
    #[test]
    fn the_group_is_the_first_that_is_named() {
        let all = Groups {
            default: Some("mount"),
            source: Some("source"),
        };
        let only_source = Groups {
            default: None,
            ..all
        };
        let key = || keyed(HeaderValue::Text("key".into()));
        let bytes = || keyed(HeaderValue::Bytes("key".into()));
        for (own, headers, groups, want) in [
            (Some("own"), key(), all, "own"),
            (None, key(), all, "key"),
            (None, keyed(HeaderValue::Number("7".into())), all, "7"),
            (None, bytes(), all, "mount"),
            (None, vec![], all, "mount"),
            (None, vec![], only_source, "source"),
            (None, vec![], Groups::default(), "default"),
        ] {
            let reply = Reply {
                group_id: own.map(Into::into),
                headers,
                ..Reply::default()
            };
            assert_eq!(group(&reply, groups).0, want);
        }
    }

    // Rule 6.4.
    #[test]
    fn ids_are_stable_and_differ_by_message_and_position() {
        let (a, b) = (one("id-a"), one("id-b"));
        assert_eq!(of_reply(&a, 0), of_reply(&one("id-a"), 0));
        let fingerprint = fingerprint("orders", &Reply::default());
        let ids = [
            of_reply(&a, 0),
            of_reply(&a, 1),
            of_reply(&b, 0),
            of_published(&a, &fingerprint, 0),
            of_published(&a, &fingerprint, 1),
            of_published(&b, &fingerprint, 0),
        ];
        for (n, id) in ids.iter().enumerate() {
            assert!(!ids[..n].contains(id), "{id} twice");
        }
    }

    // Rule 6.4: within 128 of SQS's characters, whatever a message id looks like.
    #[test]
    fn a_derived_id_is_one_that_sqs_takes() {
        let long = "x".repeat(500);
        for id in ["9b2c9c7e-3f1d-4c5e-8a55-2f5b1f0d6c11", "", "ä b", &long] {
            let fingerprint = fingerprint("orders", &Reply::default());
            assert!(is_id(&of_reply(&one(id), usize::MAX)), "{id:?}");
            assert!(
                is_id(&of_published(&one(id), &fingerprint, 1_000_000)),
                "{id:?}"
            );
        }
        let unknown = root([None]);
        assert!(is_id(&of_reply(&unknown, 0)));
        assert_ne!(unknown, root([None]), "nothing tells it from another");
    }

    // Rule 6.6: what a batch publishes is a duplicate of what the same batch published, no other.
    #[test]
    fn a_batch_is_told_by_all_its_messages() {
        let (a, b, c): (MessageId, _, _) = ("a".into(), "b".into(), "c".into());
        assert_eq!(root([Some(&a), Some(&b)]), root([Some(&a), Some(&b)]));
        assert_ne!(root([Some(&a), Some(&b)]), root([Some(&a), Some(&c)]));
        assert_ne!(root([Some(&a), Some(&b)]), root([Some(&a)]));
    }

    // Rule 6.6.
    #[test]
    fn a_fingerprint_tells_target_group_and_body_apart() {
        let reply = |body: &'static str, group: Option<&str>| Reply {
            body: body.into(),
            group_id: group.map(Into::into),
            ..Reply::default()
        };
        let all = [
            fingerprint("t", &reply("b", None)),
            fingerprint("u", &reply("b", None)),
            fingerprint("t", &reply("c", None)),
            fingerprint("t", &reply("b", Some("g"))),
        ];
        for (n, one) in all.iter().enumerate() {
            assert!(!all[..n].contains(one));
        }
    }
}
