//! The only place that knows wasmtime: engine, loading, instances, the contract's bindings.
//!
//! A [`Plugin`] is one version of a handler, compiled, linked and asked for its descriptor. It
//! handles each call on a fresh store and instance, on the guests' own threads.

mod bindings;
mod call;
mod contract;
mod convert;
mod deadline;
mod digest;
mod engine;
mod failure;
mod guest;
mod http;
mod limiter;
mod load;
mod log;
mod output;
mod publish;

pub use call::Plugin;
pub use contract::{CONTRACT, SERVED};
pub use digest::Digest;
pub use engine::{Guests, GuestsError};
pub use load::{Inspection, LoadError, inspect, load};
