//! What the host says of its work: one event at a time, each a log line and a count.

mod circuit;
mod event;
mod logging;
mod metrics;
mod observer;
mod one_line;
mod plugin;
mod readiness;
mod waiting;

pub use circuit::{CircuitState, CircuitWatch, Closing};
pub use event::{Event, Source};
pub use logging::{LogFormat, init_logging};
pub use metrics::{Count, Counters, Snapshot};
pub use observer::{Observer, Tap};
pub use plugin::PluginEvent;
pub use readiness::{Readiness, Ready};
