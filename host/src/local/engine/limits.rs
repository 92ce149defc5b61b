//! What SQS allows: every bound and default in one table, as the SQS quotas and API pages give them.

use std::ops::RangeInclusive;

/// The region of every queue here; clients may sign for any.
pub(crate) const REGION: &str = "us-east-1";
/// The account of every queue here.
pub(crate) const ACCOUNT: &str = "000000000000";
/// What `SenderId` says; AWS gives the id of the IAM user or role.
pub(crate) const SENDER: &str = "AIDALOCALQUEUELET0000";

/// `DelaySeconds`, of a queue and of a message.
pub(crate) const DELAY_SECONDS: RangeInclusive<u32> = 0..=900;
/// `MaximumMessageSize` in bytes.
pub(crate) const MESSAGE_BYTES: RangeInclusive<u32> = 1024..=1_048_576;
/// `MessageRetentionPeriod` in seconds: a minute to 14 days.
pub(crate) const RETENTION_SECONDS: RangeInclusive<u32> = 60..=1_209_600;
/// `WaitTimeSeconds` and the queue's `ReceiveMessageWaitTimeSeconds`.
pub(crate) const WAIT_SECONDS: RangeInclusive<u32> = 0..=20;
/// `VisibilityTimeout`: no message is hidden for more than 12 hours from its receive.
pub(crate) const VISIBILITY_SECONDS: RangeInclusive<u32> = 0..=43_200;
/// `KmsDataKeyReusePeriodSeconds`; kept and given back, as nothing is encrypted here.
pub(crate) const KMS_REUSE_SECONDS: RangeInclusive<u32> = 60..=86_400;
/// `maxReceiveCount` of a redrive policy.
pub(crate) const MAX_RECEIVE_COUNT: RangeInclusive<u32> = 1..=1000;
/// `MaxNumberOfMessages` of one receive.
pub(crate) const RECEIVE_MESSAGES: RangeInclusive<u32> = 1..=10;
/// `MaxNumberOfMessagesPerSecond` of a move task.
pub(crate) const MOVE_RATE: RangeInclusive<u32> = 1..=500;
/// `MaxResults` of a listing of move tasks.
pub(crate) const MOVES_LISTED: RangeInclusive<u32> = 1..=10;
/// `MaxResults` of a listing.
pub(crate) const PAGE: RangeInclusive<u32> = 1..=1000;

/// Seconds a received message stays hidden when nobody said otherwise.
pub(crate) const DEFAULT_VISIBILITY: u32 = 30;
/// Four days: how long a message is kept when nobody said otherwise.
pub(crate) const DEFAULT_RETENTION: u32 = 345_600;
/// The default of `KmsDataKeyReusePeriodSeconds`.
pub(crate) const DEFAULT_KMS_REUSE: u32 = 300;

/// Entries of one batch request.
pub(crate) const BATCH_ENTRIES: usize = 10;
/// Bytes of all messages of one `SendMessageBatch`, attributes included.
pub(crate) const BATCH_BYTES: usize = 1_048_576;
/// Characters of a batch entry's id, of a queue's name.
pub(crate) const NAME_CHARS: usize = 80;
/// Attributes of one message.
pub(crate) const MESSAGE_ATTRIBUTES: usize = 10;
/// Characters of a message attribute's name and of its type.
pub(crate) const ATTRIBUTE_NAME_CHARS: usize = 256;
/// Characters of a `MessageGroupId`, a `MessageDeduplicationId`, a `ReceiveRequestAttemptId`.
pub(crate) const SENDERS_ID_CHARS: usize = 128;
/// Actions of one `AddPermission`.
pub(crate) const PERMISSION_ACTIONS: usize = 7;
/// Move tasks of a queue that are listed.
pub(crate) const MOVES_KEPT: usize = 10;
/// Messages a second of a move task whose starter did not say: AWS goes as fast as it can.
pub(crate) const MOVES_PER_SECOND: u32 = 100_000;
/// Characters of a tag's key.
pub(crate) const TAG_KEY_CHARS: usize = 128;
/// Characters of a tag's value.
pub(crate) const TAG_VALUE_CHARS: usize = 256;
/// Messages of a queue that may be received and not yet deleted at a time.
pub(crate) const IN_FLIGHT: usize = 120_000;
/// Seconds in which a FIFO queue knows a repetition, of a send and of a receive.
pub(crate) const REPETITION_SECONDS: u32 = 300;
/// Seconds before a queue may be purged again.
pub(crate) const PURGE_INTERVAL: u64 = 60;
