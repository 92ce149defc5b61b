//! What SNS allows: every bound in one table, as the SNS quotas and API pages give them.

/// Bytes of a message with its attributes, and of all messages of a `PublishBatch` together.
pub(crate) const MESSAGE_BYTES: usize = 262_144;
/// Entries of one `PublishBatch`.
pub(crate) const BATCH_ENTRIES: usize = 10;
/// Characters of a batch entry's id.
pub(crate) const BATCH_ID_CHARS: usize = 80;
/// Characters of a topic's name.
pub(crate) const TOPIC_NAME_CHARS: usize = 256;
/// Characters of a topic's `DisplayName`, and of a message's subject.
pub(crate) const LINE_CHARS: usize = 100;
/// Characters of a message attribute's name.
pub(crate) const ATTRIBUTE_NAME_CHARS: usize = 256;
/// Characters of a `MessageGroupId` and of a `MessageDeduplicationId`.
pub(crate) const ID_CHARS: usize = 128;
/// Topics or subscriptions in one answer of a listing.
pub(crate) const PAGE: usize = 100;
/// Tags of one topic.
pub(crate) const TAGS: usize = 50;
/// Characters of a tag's key.
pub(crate) const TAG_KEY_CHARS: usize = 128;
/// Characters of a tag's value.
pub(crate) const TAG_VALUE_CHARS: usize = 256;
/// Keys at the top of a filter policy.
pub(crate) const FILTER_KEYS: usize = 5;
/// How many combinations of values a filter policy may have.
pub(crate) const FILTER_COMBINATIONS: u64 = 150;
/// Bytes of a filter policy.
pub(crate) const FILTER_BYTES: usize = 262_144;
/// Milliseconds for which a FIFO topic remembers a deduplication id.
pub(crate) const DEDUPLICATION_MILLIS: u64 = 300_000;
/// The number a FIFO topic's first message comes after: sequence numbers have 20 digits.
pub(crate) const FIRST_SEQUENCE: u64 = 10_000_000_000_000_000_000;
