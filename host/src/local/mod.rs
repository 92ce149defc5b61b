//! Local mode: an SQS inside the process, on a loopback port that any AWS client can use.
//!
//! It is a world of its own: nothing here knows the host, and the host comes to it by HTTP like any
//! other client, through the same SDK (SPEC 10.3). From the inside out:
//!
//! - `engine`: the queues, as a state machine that is told what time it is;
//! - `line` and `hub`: the engine under its lock, and the receives that wait;
//! - `protocol`: AWS JSON 1.0, from bytes to bytes;
//! - `sns`: the topics, which deliver into queues, and the query protocol they are spoken to in;
//! - `connection` and `server`: HTTP and the socket;
//! - `snapshot`: all of it in a file, for those who want to find it again.
//!
//! Invariants:
//! - waking is by deadline, never by a tick;
//! - a receive whose client has gone takes no message;
//! - what a call costs does not depend on how many messages are in flight;
//! - a queue has SQS's own defaults and limits (SPEC 10.2).

mod calls;
mod clock;
mod connection;
mod engine;
mod hub;
mod line;
mod protocol;
mod refusal;
mod server;
mod snapshot;
mod sns;

#[cfg(test)]
mod tests;

pub use calls::CallCounts;
pub use server::LocalServer;
pub use snapshot::{SnapshotError, SnapshotFile};
