//! The only place that knows wasmtime: engine, loading, instances, the contract's bindings.
//!
//! A [`Plugin`] is one version of a handler, compiled, linked and asked for its descriptor. In each
//! of its mounts it is a handler, whose calls are made on the guests' own threads, each on an
//! instance that is fresh or that calls before it have left warm.

mod admission;
mod allowance;
mod bindings;
mod call;
mod contained;
mod contract;
mod convert;
mod deadline;
mod digest;
mod engine;
mod failure;
mod guest;
mod http;
mod lane;
mod life;
mod limiter;
mod line;
mod load;
mod log;
mod measure;
mod module;
mod mounted;
mod output;
mod places;
mod publish;
mod rate;
mod secrets;
mod stock;
mod ticker;
mod turns;
mod voice;
mod warm;

pub use contract::{CONTRACT, SERVED};
pub use digest::{Digest, NotADigest};
pub use engine::{Guests, GuestsError, Usage};
pub(crate) use load::{Compiled, compile, probe};
pub use load::{Inspection, LoadError, inspect, load};
pub use mounted::{MountGrants, Plugin};
