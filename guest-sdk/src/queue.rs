//! What a handler reads: the descriptor of its subscription.

use std::fmt::Write as _;
use std::time::Duration;

/// The queue that a handler reads, and how it wants it read.
///
/// Each method is named as the setting in a mount file (`plugins/NAME.toml`) that wins over it. The
/// host checks ranges and rounds, when it loads the component: nothing is judged here.
///
/// ```
/// use std::time::Duration;
/// use queuelet_guest::SqsQueue;
///
/// let queue = SqsQueue::new("reports").visibility(Duration::from_secs(2)).workers(4);
/// let expected = [("queue", "reports"), ("visibility", "2s"), ("workers", "4")];
/// assert_eq!(queue.settings(), expected.map(|(name, value)| (name.into(), value.into())));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "a descriptor does nothing unless it is exported"]
pub struct SqsQueue {
    settings: Vec<(String, String)>,
}

impl SqsQueue {
    /// A queue, by name, URL or ARN. A name that ends in `.fifo` is a FIFO queue's.
    pub fn new(queue: impl Into<String>) -> Self {
        Self::default().set("queue", queue)
    }

    /// Whichever queue the mount file names. In `#[subscriber(SqsQueue)]` the bare name means the
    /// same.
    pub fn from_mount() -> Self {
        Self::default()
    }

    /// How long a received message stays hidden: 1 s to 12 h, or else as the queue has it. The host
    /// extends it for as long as it holds the message, within the 12 h that SQS hides one.
    pub fn visibility(self, length: Duration) -> Self {
        self.set("visibility", duration(length))
    }

    /// How long a receive waits for a message: up to 20 s.
    pub fn wait(self, length: Duration) -> Self {
        self.set("wait", duration(length))
    }

    /// The most messages of one call, for a handler of batches: 1 to 10. A batch is what one receive
    /// brought, and SQS does not wait to fill it: on a quiet queue it is often one message.
    pub fn batch(self, messages: u32) -> Self {
        self.set("batch", messages.to_string())
    }

    /// The most messages of one receive, for a handler of single messages: 1 to 10.
    pub fn receive(self, messages: u32) -> Self {
        self.set("receive", messages.to_string())
    }

    /// How many calls run at once: 1 to 1024.
    pub fn workers(self, calls: u32) -> Self {
        self.set("workers", calls.to_string())
    }

    /// Whether a receive may start before there is a free worker for what it brings. Where the
    /// queue's redrive policy allows a message one receive it never does.
    pub fn prefetch(self, on: bool) -> Self {
        self.set("prefetch", on.to_string())
    }

    /// Whether the host creates the queue, its dead-letter queue and its targets where they are
    /// missing.
    pub fn create_if_missing(self, on: bool) -> Self {
        self.set("create_if_missing", on.to_string())
    }

    /// The longest that one call may take: more than 0, up to 12 h.
    pub fn timeout(self, length: Duration) -> Self {
        self.set("timeout", duration(length))
    }

    /// Where replies go: a queue, by name, URL or ARN, or a topic, by ARN or as `sns:NAME`.
    pub fn reply(self, destination: impl Into<String>) -> Self {
        self.set("reply", destination)
    }

    /// The message group of replies to a FIFO target that name none and have no `partition-key`.
    pub fn reply_group(self, group: impl Into<String>) -> Self {
        self.set("reply_group", group)
    }

    /// Where else the handler may send to, by [`publish`](crate::publish()) or by
    /// [`Reply::to`](crate::Reply::to): queues and topics, spelled as for [`reply`](Self::reply).
    ///
    /// ```
    /// # use queuelet_guest::SqsQueue;
    /// let queue = SqsQueue::new("orders").destinations(["billing", "sns:alerts"]);
    /// assert_eq!(queue.settings()[1], ("destinations".into(), "billing, sns:alerts".into()));
    /// ```
    pub fn destinations<D: AsRef<str>>(self, granted: impl IntoIterator<Item = D>) -> Self {
        self.set("destinations", list(granted))
    }

    /// How often a message is received before SQS moves it to the dead-letter queue: 1 to 1,000.
    /// Together with [`dead_letter`](Self::dead_letter) it is the queue's redrive policy, which the
    /// host writes where it differs; one without the other is an error.
    pub fn max_attempts(self, receives: u32) -> Self {
        self.set("max_attempts", receives.to_string())
    }

    /// The dead-letter queue, by name, URL or ARN: of the same type (FIFO or standard), account and
    /// region as the queue. See [`max_attempts`](Self::max_attempts).
    pub fn dead_letter(self, queue: impl Into<String>) -> Self {
        self.set("dead_letter", queue)
    }

    /// Deletes and visibility changes go to SQS up to ten at once, with up to 50 ms of waiting,
    /// instead of each by itself: fewer requests for a busy queue. It is `settle = "batched"`.
    pub fn settle_batched(self) -> Self {
        self.set("settle", "batched")
    }

    /// The topics that the host subscribes the queue to, with raw message delivery: each by ARN or as `sns:NAME`.
    pub fn subscribe<T: AsRef<str>>(self, topics: impl IntoIterator<Item = T>) -> Self {
        self.set("subscribe", list(topics))
    }

    /// Whether the envelope that a topic without raw message delivery puts around a message is
    /// taken off, so that the handler sees the message as it was published.
    pub fn unwrap_sns(self, on: bool) -> Self {
        self.set("unwrap_sns", on.to_string())
    }

    /// The delay before the first retry of a message whose handler failed: up to 12 h. It doubles
    /// with each receive.
    pub fn retry_delay(self, length: Duration) -> Self {
        self.set("retry_delay", duration(length))
    }

    /// The longest delay before a retry: up to 12 h, and no less than the first.
    pub fn retry_max_delay(self, length: Duration) -> Self {
        self.set("retry_max_delay", duration(length))
    }

    /// How much of a retry's delay is left to chance: 0 to 1.
    pub fn retry_jitter(self, share: f64) -> Self {
        self.set("retry_jitter", share.to_string())
    }

    /// The queue's region, where it is named by its name: a URL of AWS or an ARN says its own.
    pub fn region(self, name: impl Into<String>) -> Self {
        self.set("region", name)
    }

    /// The role of IAM that the host assumes for every call of this subscription, by ARN.
    pub fn role_arn(self, role: impl Into<String>) -> Self {
        self.set("role_arn", role)
    }

    /// Any setting, by its name and spelling in a mount file. The last value of a setting counts. A
    /// name that the host does not know is an error.
    pub fn set(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let (name, value) = (name.into(), value.into());
        match self.settings.iter_mut().find(|(known, _)| *known == name) {
            Some(setting) => setting.1 = value,
            None => self.settings.push((name, value)),
        }
        self
    }

    /// The settings, as the host is told them.
    pub fn settings(&self) -> &[(String, String)] {
        &self.settings
    }

    /// The settings, as the host is told them.
    pub fn into_settings(self) -> Vec<(String, String)> {
        self.settings
    }
}

/// Several values of one setting. No name, URL or ARN of AWS has a comma.
fn list<T: AsRef<str>>(values: impl IntoIterator<Item = T>) -> String {
    let mut text = String::new();
    for value in values {
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(value.as_ref());
    }
    text
}

/// A length of time in the coarsest of `s`, `ms`, `us` and `ns` that loses nothing, for the host to
/// round.
fn duration(length: Duration) -> String {
    let (seconds, nanoseconds) = (length.as_secs(), length.subsec_nanos());
    let mut text = String::new();
    // Where the fraction is finer than milliseconds the whole seconds stand apart: in nanoseconds
    // they might not fit into 64 bits.
    let written = match nanoseconds {
        0 => write!(text, "{seconds}s"),
        n if n % 1_000_000 == 0 => write!(text, "{}ms", length.as_millis()),
        n if n % 1_000 == 0 && seconds == 0 => write!(text, "{}us", n / 1_000),
        n if seconds == 0 => write!(text, "{n}ns"),
        n => write!(text, "{seconds}s {n}ns"),
    };
    written.expect("a string takes all that is written to it");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(queue: SqsQueue) -> Vec<(String, String)> {
        queue.into_settings()
    }

    // Rule 1.4: 1.2 s is rounded up to 2 s and 0.9 s is refused, both by the host, which therefore must
    // be told exactly.
    #[test]
    fn a_duration_is_written_without_rounding() {
        for (length, text) in [
            (Duration::ZERO, "0s"),
            (Duration::from_secs(2), "2s"),
            (Duration::from_secs(43_200), "43200s"),
            (Duration::from_millis(900), "900ms"),
            (Duration::from_millis(1_500), "1500ms"),
            (Duration::from_micros(250), "250us"),
            (Duration::from_nanos(1), "1ns"),
            (Duration::from_nanos(1_500_000_001), "1s 500000001ns"),
            (Duration::from_micros(1_000_001), "1s 1000ns"),
            (Duration::MAX, "18446744073709551615s 999999999ns"),
        ] {
            assert_eq!(duration(length), text, "{length:?}");
        }
    }

    // Rule 1.12: a descriptor has the keys and spellings of a mount file.
    #[test]
    fn every_setting_has_the_name_it_has_in_a_mount_file() {
        let queue = SqsQueue::new("orders")
            .visibility(Duration::from_secs(30))
            .wait(Duration::from_secs(20))
            .batch(10)
            .receive(5)
            .workers(2)
            .prefetch(false)
            .create_if_missing(true)
            .timeout(Duration::from_millis(2_500))
            .reply("orders-events.fifo")
            .reply_group("all")
            .destinations(["billing", "sns:alerts"])
            .max_attempts(5)
            .dead_letter("orders-dead")
            .settle_batched()
            .subscribe(["sns:new-orders".to_owned()])
            .unwrap_sns(true)
            .retry_delay(Duration::from_secs(1))
            .retry_max_delay(Duration::from_secs(300))
            .retry_jitter(0.5)
            .region("eu-north-1")
            .role_arn("arn:aws:iam::123456789012:role/orders")
            .set("enabled", "false");
        let expected = [
            ("queue", "orders"),
            ("visibility", "30s"),
            ("wait", "20s"),
            ("batch", "10"),
            ("receive", "5"),
            ("workers", "2"),
            ("prefetch", "false"),
            ("create_if_missing", "true"),
            ("timeout", "2500ms"),
            ("reply", "orders-events.fifo"),
            ("reply_group", "all"),
            ("destinations", "billing, sns:alerts"),
            ("max_attempts", "5"),
            ("dead_letter", "orders-dead"),
            ("settle", "batched"),
            ("subscribe", "sns:new-orders"),
            ("unwrap_sns", "true"),
            ("retry_delay", "1s"),
            ("retry_max_delay", "300s"),
            ("retry_jitter", "0.5"),
            ("region", "eu-north-1"),
            ("role_arn", "arn:aws:iam::123456789012:role/orders"),
            ("enabled", "false"),
        ];
        assert_eq!(
            named(queue),
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }

    // Rule 1.12: if neither names a queue it is the host that says so.
    #[test]
    fn a_queue_left_to_the_mount_is_not_named() {
        assert!(named(SqsQueue::from_mount()).is_empty());
    }

    #[test]
    fn the_last_value_of_a_setting_counts() {
        let queue = SqsQueue::new("a").workers(1).set("queue", "b").workers(2);
        assert_eq!(
            named(queue),
            [("queue".into(), "b".into()), ("workers".into(), "2".into())]
        );
    }
}
