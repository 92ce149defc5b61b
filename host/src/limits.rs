//! Every default, bound and time-out of the host, each with its reason.
//!
//! A number of SQS's own carries the rule of SQS it comes from; a number of ours carries why it
//! was chosen.

use std::num::NonZeroUsize;
use std::time::Duration;

// ---- what SQS allows -------------------------------------------------------------------------

/// The longest long poll SQS knows (`WaitTimeSeconds` 0 to 20).
pub const MAX_WAIT: Duration = Duration::from_secs(20);
/// The most messages that one ReceiveMessage brings, and the most entries of a batch call.
pub const MAX_BATCH: u8 = 10;
/// The shortest visibility that a mount may name. SQS knows whole seconds, and 0 would hand a
/// message out again while it is handled.
pub const MIN_VISIBILITY: Duration = Duration::from_secs(1);
/// The longest visibility timeout of SQS, and the longest that a message can be hidden counted
/// from its receive.
pub const MAX_VISIBILITY: Duration = Duration::from_secs(12 * 60 * 60);
/// The longest name of a queue, a `.fifo` suffix included.
pub const MAX_QUEUE_NAME: usize = 80;
/// The longest name of a topic of SNS, a `.fifo` suffix included.
pub const MAX_TOPIC_NAME: usize = 256;
/// The most message attributes that SQS takes. SNS takes more, and does not deliver such a message
/// to a queue that is subscribed with raw message delivery.
pub const MAX_HEADERS: usize = 10;
/// The longest name of a message attribute, and the longest data type with its label.
pub const MAX_HEADER_NAME: usize = 256;
/// The largest message of a queue that does not say another size, and the most that a
/// SendMessageBatch carries in all.
pub const MAX_QUEUE_MESSAGE: usize = 1 << 20;
/// The largest message of a topic that does not say another size.
pub const DEFAULT_TOPIC_MESSAGE: usize = 256 << 10;
/// The longest message group or deduplication id.
pub const MAX_GROUP_ID: usize = 128;
/// The most receives that a redrive policy can allow a message (`maxReceiveCount`).
pub const MAX_RECEIVE_COUNT: u32 = 1000;
/// The longest delay of a message (`DelaySeconds`).
pub const MAX_DELAY: Duration = Duration::from_secs(900);

/// A length of time as SQS counts it: in whole seconds, a fraction rounded up, since less than was
/// asked for could be too little.
pub fn whole_seconds(length: Duration) -> Duration {
    Duration::from_secs(length.as_secs() + u64::from(length.subsec_nanos() > 0))
}

// ---- defaults of a subscription --------------------------------------------------------------

/// A full long poll: the fewest empty receives, which are billed like full ones.
pub const DEFAULT_WAIT: Duration = MAX_WAIT;
/// One worker keeps the order of the receive.
pub const DEFAULT_WORKERS: usize = 1;
/// The most workers of one subscription. More would hold more messages in flight than a host
/// can keep leases of in time.
pub const MAX_WORKERS: usize = 1024;
/// The first delay before a failed message is handed out again.
pub const DEFAULT_RETRY_DELAY: Duration = Duration::from_secs(1);
/// The longest delay before a failed message is handed out again.
pub const DEFAULT_RETRY_MAX_DELAY: Duration = Duration::from_secs(5 * 60);
/// How much of a retry delay is random: half, so that messages that failed together come back
/// apart, and none comes back at once.
pub const DEFAULT_RETRY_JITTER: f64 = 0.5;

// ---- the pump --------------------------------------------------------------------------------

/// How much longer than its wait a receive may take before its attempt is given up: the answer of
/// a full poll must still get through.
pub const RECEIVE_GRACE: Duration = Duration::from_secs(5);
/// How much later than its wait a receive that has no answer may have the next one start.
pub const RECEIVE_LATEST: Duration = Duration::from_secs(10);
/// How long a receive that has no answer is repeated as the same one: SQS knows a
/// ReceiveRequestAttemptId for five minutes.
pub const ATTEMPT_ID_FOR: Duration = Duration::from_secs(5 * 60);
/// With a wait under this an empty answer is followed by a pause, so that an empty queue is not
/// asked (and billed) thousands of times a second.
pub const SHORT_WAIT: Duration = Duration::from_secs(1);
/// The first pause after an empty short poll; it doubles.
pub const EMPTY_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause after an empty short poll.
pub const EMPTY_PAUSE_MAX: Duration = Duration::from_secs(5);
/// The first pause after a failed receive; it doubles, with jitter.
pub const RECEIVE_BACKOFF: Duration = Duration::from_millis(100);
/// The longest pause after a failed receive.
pub const RECEIVE_BACKOFF_MAX: Duration = Duration::from_secs(20);
/// The longest pause after an error that only a person can mend (access denied, missing queue).
pub const OPERATOR_BACKOFF_MAX: Duration = Duration::from_secs(60);
/// How long a queue that was just created is left alone: SQS says a second.
pub const CREATED_PAUSE: Duration = Duration::from_secs(1);
/// How often the queue's attributes are read again: its own visibility timeout, where a mount names
/// none, and its redrive policy.
pub const ATTRIBUTES_REREAD: Duration = Duration::from_secs(5 * 60);

/// The longest wait of a receive of a FIFO queue with a redrive policy while messages of it are
/// held: one that fails is put back only once the receive has ended.
pub const HELD_WAIT: Duration = Duration::from_secs(1);
/// How much longer than its delay and its visibility a message that was put back is waited for
/// before it is taken to be with another host.
pub const RETRIED_ELSEWHERE: Duration = Duration::from_secs(60);

// ---- other calls -----------------------------------------------------------------------------

/// How long one attempt of a call other than a receive may take.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection may take to open.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// How far this machine's clock may be from AWS's before an error says so. AWS takes signatures that
/// are five minutes off, at some endpoints fifteen.
pub const CLOCK_TOLERANCE: Duration = Duration::from_secs(4 * 60);
/// The first pause before a settlement is tried again; it doubles.
pub const SETTLE_BACKOFF: Duration = Duration::from_millis(100);
/// The longest pause before a settlement is tried again.
pub const SETTLE_BACKOFF_MAX: Duration = Duration::from_secs(5);
/// How long a settlement that SQS refuses is tried again, within its lease: a worker must not wait
/// for hours on a message whose delete is denied.
pub const SETTLE_REFUSED_MAX: Duration = Duration::from_secs(30);
/// How long a settlement waits for others to share its call, with `settle = "batched"`.
pub const SETTLE_TOGETHER: Duration = Duration::from_millis(50);
/// The same while no handler is at work, so that nobody else's could come: enough for those that
/// settle at the same moment.
pub const SETTLE_ALONE: Duration = Duration::from_millis(2);
/// How many messages that were finished and are perhaps not deleted a queue's memory holds: at about
/// 200 bytes each, 2 MB.
pub const FINISHED_MAX: usize = 10_000;
/// How long such a message is remembered: the longest that SQS retains a message (14 days), after
/// which the queue has it no more.
pub const FINISHED_FOR: Duration = Duration::from_secs(14 * 24 * 60 * 60);
/// How many messages of that memory are being deleted at once. More are let go: they come again.
pub const FINISHED_TOGETHER: usize = 100;
/// Extensions that fall due within this of each other share a call.
pub const EXTEND_TOGETHER: Duration = Duration::from_millis(10);
/// The first pause before a failed extension is tried again; it doubles, and is shorter where little
/// is left of the lease.
pub const EXTEND_BACKOFF: Duration = Duration::from_millis(200);
/// The longest pause before a failed extension is tried again.
pub const EXTEND_BACKOFF_MAX: Duration = Duration::from_secs(60);
/// How many calls of one extension may wait for an answer at once.
pub const EXTEND_BESIDE: usize = 3;
/// How much sooner than by this machine's clock a lease may have lapsed at SQS: the time that the
/// answer to a receive takes.
pub const LAPSE_MARGIN: Duration = Duration::from_millis(500);
/// What is left free at the end of the twelve hours by the last extension, for clocks and networks.
pub const WINDOW_MARGIN: Duration = Duration::from_secs(10);

/// How many characters of a handler's reason go along with a dead letter.
pub const MAX_REASON: usize = 1000;

// ---- guests ----------------------------------------------------------------------------------

/// The memory of one instance, where its mount says nothing else.
pub const GUEST_MEMORY: usize = 128 << 20;
/// The least memory that a mount may name: under it hardly any guest starts.
pub const LEAST_MEMORY: usize = 1 << 20;
/// The most output of a call that a mount may allow.
pub const LARGEST_OUTPUT: usize = 1 << 30;
/// What one call may print and log, where its mount says nothing else: thousands of lines.
pub const GUEST_OUTPUT: usize = 1 << 20;
/// How many messages an instance that is used again handles, where its mount says nothing else.
pub const REUSE_MESSAGES: u64 = 1000;
/// The most that a mount may name.
pub const REUSE_MESSAGES_MAX: u64 = 1_000_000;
/// How long an instance is used again, where its mount says nothing else.
pub const REUSE_AGE: Duration = Duration::from_secs(10 * 60);
/// How much memory an instance that is used again may have taken since its first call, where its
/// mount says nothing else.
pub const REUSE_GROWTH: usize = 16 << 20;
/// The most instances that `max_instances` may allow. Each has 8 GiB of the 128 TiB of address space.
pub const INSTANCES_MAX: usize = 10_000;
/// What a plugin may have while it is asked for its descriptor, in which it may say itself what it
/// needs: enough for whatever is made before the first call. A plugin that begins with more is taken.
pub const PROBE_MEMORY: usize = 512 << 20;
/// How often the epoch moves: a handler that burns the CPU is interrupted within two of these.
pub const EPOCH_TICK: Duration = Duration::from_millis(5);
/// The largest memory that one instance may be granted: all that 32 bits reach.
pub const LARGEST_MEMORY: usize = 1 << 32;
/// The most instances alive at once in the whole host, unless `max_instances` says otherwise. It
/// bounds the pool's address space: 8 TiB.
pub const DEFAULT_MAX_INSTANCES: NonZeroUsize = NonZeroUsize::new(1000).unwrap();
/// How long a plugin may take to say its descriptor.
pub const DESCRIPTOR_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest line of a guest's output that is logged; the rest of the line is dropped.
pub const GUEST_LINE: usize = 8 << 10;
/// How many log lines a second all instances of a plugin may write together, and how many at once
/// after a quiet second: what the host itself says of a busy queue is of that order, and at the
/// longest lines it is 8 MB a second, which a disk takes.
pub const GUEST_LINES: u32 = 1_000;
/// How many bytes the host takes from a guest in one piece: its answer, or the arguments of one call
/// of the host. Ten replies of the longest message there is (1 MiB) fit, with their headers.
pub const GUEST_ANSWER: usize = 16 << 20;
/// How many things of the host's a guest may hold at once: streams, timers, requests. At some
/// hundred bytes each, a few MB of the host's memory.
pub const GUEST_HANDLES: usize = 10_000;
/// How many random bytes a guest gets in one call. They are made one by one, with nothing that could
/// interrupt it.
pub const GUEST_RANDOM: u64 = 1 << 20;
/// The largest `.wasm`. Interpreters that bring their library with them have 10 to 50 MiB.
pub const PLUGIN_FILE: usize = 256 << 20;
/// How many component instances a plugin may make: composed ones make tens.
pub const COMPONENT_INSTANCES: u64 = 1_000;
/// How many types of instances and components may lie within others: a world has one for each of its
/// interfaces.
pub const TYPES_IN_TYPES: u64 = 300;
/// How deep loops may lie in one another in one function: the compiler's time and memory grow with the
/// square of it. What people write has less than twenty.
pub const LOOP_NESTING: u64 = 1_000;
/// The same for blocks of any kind: a large `switch` is one block a case.
pub const NESTING: u64 = 50_000;
/// The longest function.
pub const FUNCTION_BODY: usize = 4 << 20;
/// The most functions in all modules of a plugin.
pub const FUNCTIONS: u64 = 1_000_000;
/// The longest file of settings or of digests: ten thousand digests with their names.
pub const TEXT_FILE: usize = 1 << 20;
/// How many bytes a value of a guest's environment has at most: each instance gets a copy.
pub const ENVIRONMENT_VALUE: usize = 64 << 10;
/// From how many characters on a secret is hidden in what a guest prints. A shorter one stands in
/// ordinary text by chance.
pub const HIDDEN_SECRET: usize = 6;
/// The longest name of a guest's (a destination, a group, a header) that an error shows: the longest
/// that AWS knows.
pub const GUEST_NAME: usize = 256;
/// How many bytes of log lines wait for whoever reads them, before those that come are left out: two
/// seconds of the most that one plugin may say.
pub const WAITING_LOG: usize = 16 << 20;
/// How many log lines wait, however short they are.
pub const WAITING_LINES: usize = 16_384;

// ---- a handler's own HTTP --------------------------------------------------------------------

/// How long a connection may take to open, its host's lookup and its TLS counted in, where the handler
/// says nothing else.
pub const HTTP_CONNECT: Duration = Duration::from_secs(10);
/// The longest that a handler may ask for that.
pub const HTTP_CONNECT_MAX: Duration = Duration::from_secs(60);
/// How long an answer may keep its handler waiting once the request is out, where the handler says
/// nothing else.
pub const HTTP_FIRST_BYTE: Duration = Duration::from_secs(60);
/// How long the next bytes of an answer may keep their reader waiting, where the handler says nothing
/// else.
pub const HTTP_BETWEEN_BYTES: Duration = Duration::from_secs(30);
/// The longest that a handler may ask for those two. What it does with slow servers for longer is
/// bounded by its own time limit alone.
pub const HTTP_WAIT_MAX: Duration = Duration::from_secs(15 * 60);
/// How many requests one call may have open at once: with their buffers about 2 MiB. One more waits
/// for a place as it would for a connection.
pub const HTTP_TOGETHER: usize = 16;
/// How many names one mount may look up at once: each has a thread, which the operating system gives
/// back when it will.
pub const HTTP_LOOKUPS: usize = 8;
/// How many addresses of one name are tried.
pub const HTTP_ADDRESSES: usize = 8;
/// The largest head of an answer, and what is read at once of its body; half of it for the path of a
/// request, and half for its headers. Servers take 8 to 16 KiB.
pub const HTTP_HEAD: usize = 64 << 10;
/// What one set of headers may take of the host's memory while a handler fills it.
pub const HTTP_FIELDS: usize = 32 << 10;
/// What a handler may write at once of a request's body; as much again may wait to be sent.
pub const HTTP_CHUNK: usize = 64 << 10;

// ---- the circuit of a subscription -----------------------------------------------------------

/// How many different messages in a row fail before a circuit opens: fewer may be the messages'
/// fault.
pub const CIRCUIT_AFTER: u32 = 10;
/// The most that a mount may name.
pub const CIRCUIT_AFTER_MAX: u32 = 1000;
/// The first pause of a circuit that has opened; it doubles.
pub const CIRCUIT_PAUSE: Duration = Duration::from_secs(5);
/// The longest pause of a circuit.
pub const CIRCUIT_PAUSE_MAX: Duration = Duration::from_secs(5 * 60);

// ---- status ----------------------------------------------------------------------------------

/// The port of this machine where a host says how it is, unless it is told otherwise.
pub const ADMIN_PORT: u16 = 9640;
/// How many clients it answers at once; more wait to be accepted. A few probes, a scraper and some
/// people are what comes.
pub const ADMIN_CLIENTS: usize = 256;
/// How long the head of a request may take.
/// Also how long others may have to wait when all places are taken by clients that say nothing.
pub const ADMIN_HEAD: Duration = Duration::from_secs(5);
/// The largest head of a request, with all that a browser sends.
pub const ADMIN_HEAD_SIZE: usize = 16 << 10;
/// How long one connection may last, whatever it does: a client that does not read is cut.
pub const ADMIN_CONNECTION: Duration = Duration::from_secs(60);
/// How long answers that are being sent may go on when the host ends.
pub const ADMIN_GRACE: Duration = Duration::from_millis(500);
/// How long `queuelet status` waits for its answer.
pub const STATUS_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest answer that it takes: thousands of plugins.
pub const STATUS_SIZE: usize = 64 << 20;

// ---- stopping --------------------------------------------------------------------------------

/// How long handlers in flight may go on after SIGTERM. Under the 30 s that most supervisors wait.
pub const DEFAULT_DRAIN: Duration = Duration::from_secs(25);
/// How long calls that release messages may take once the drain deadline has passed.
pub const LAST_CALLS: Duration = Duration::from_secs(2);

// ---- reloading -------------------------------------------------------------------------------

/// How long a plugin's files must have been the same before they are loaded: enough for a `.wasm`
/// and its `.toml` that are copied by one command to be taken together.
pub const SETTLED_FOR: Duration = Duration::from_millis(250);
/// A file that is gone for less than this was replaced, not removed; and one that looks unfinished
/// is refused only once it has not changed for as long.
pub const REPLACED_WITHIN: Duration = Duration::from_secs(2);
/// How often the plugins folder is looked at where the system tells of its changes: it does not
/// tell of all (a file behind a link, a network file system).
pub const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The same where the system tells of nothing.
pub const LOOK_ALONE_EVERY: Duration = Duration::from_millis(500);
/// The least between two looks, however much is told: a file that is being copied changes all the
/// time.
pub const LOOK_PAUSE: Duration = Duration::from_millis(50);
