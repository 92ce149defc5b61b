//! What the host says of its work: one event at a time, each a log line and a count.

mod event;
mod logging;
mod metrics;

pub use event::{Event, Observer, Source, Tap};
pub use logging::{LogFormat, init_logging};
pub use metrics::{Count, Counters, Snapshot};
