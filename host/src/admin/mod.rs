//! How a running host is, for people, probes and scrapers: a small HTTP endpoint, and what it says.
//!
//! A [`HostView`] looks at the host; [`Status`] and the metrics are made of what it sees, purely. An
//! [`AdminServer`] serves both, and [`fetch`] asks one.
//!
//! Invariants:
//! - Nothing here changes anything: GET and HEAD are all there is.
//! - Nothing that is shown holds a value of a plugin's environment.
//! - A client can hold up other clients, for a bounded time, and nothing else: connections, heads
//!   and times are bounded, and one answer at a time is made.
//! - On a loopback address nobody is answered who calls this machine by another name: a page in a
//!   browser here cannot read it through a name of its own (DNS rebinding).

mod client;
mod guard;
mod metrics;
mod readiness;
mod server;
mod status;
#[cfg(test)]
mod tests;
mod view;

pub use client::{FetchError, Place, PlaceError, fetch};
pub use server::AdminServer;
pub use status::{
    CircuitStatus, HostState, InstancesOf, InstancesStatus, MountStatus, PluginStatus,
    RefusalStatus, Status, VersionStatus,
};
pub use view::HostView;
