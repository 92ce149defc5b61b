//! A handler's own HTTP (SPEC 9.1): `wasi:http`, to where its mount lets it go and nowhere else.
//!
//! What holds here:
//!
//! - A request is checked before anything of it leaves the host, and it goes to what was checked: the
//!   host's name is looked up once, each address that comes of it is judged, and the connection is
//!   made to that address. A second lookup could answer otherwise.
//! - The `host` header is the authority that was checked. The host follows no redirect and no proxy:
//!   a handler that follows one makes a new request, which is checked like the first.
//! - Connections run on the guests' threads and belong to their call: no lease and no poll of the host
//!   waits for them, and with the call they end. Only a lookup that the operating system has begun
//!   ends when it will; it holds nothing but one of its mount's few places.
//! - Bodies go through as they come. What is kept of one is what one read or write brings.
//! - A log line has neither path nor query nor headers: those may hold secrets.

mod address;
mod allowed;
mod body;
mod connect;
mod hooks;
mod lines;
mod lookup;
mod outcome;
mod refusal;
mod send;
mod target;
#[cfg(test)]
mod tests;
mod tls;

use std::sync::{Arc, Mutex};

use tokio::sync::Semaphore;

pub(super) use hooks::Requests;

use crate::config::HttpRule;
use crate::limits::HTTP_LOOKUPS;
use allowed::Allowed;
use lookup::{Lookup, System};
use refusal::Said;

/// What the calls of one mount share.
pub(super) struct Outbound {
    allowed: Allowed,
    lookup: Box<dyn Lookup>,
    /// A place for each lookup that runs, so that names that nobody answers for do not take the
    /// threads of other mounts.
    lookups: Arc<Semaphore>,
    said: Mutex<Said>,
}

impl Outbound {
    /// Requests to where these rules allow.
    pub(super) fn new(rules: &[HttpRule]) -> Arc<Self> {
        Self::with(rules, System)
    }

    /// The same, with names looked up otherwise.
    fn with(rules: &[HttpRule], lookup: impl Lookup + 'static) -> Arc<Self> {
        Arc::new(Self {
            allowed: Allowed::new(rules),
            lookup: Box::new(lookup),
            lookups: Arc::new(Semaphore::new(HTTP_LOOKUPS)),
            said: Mutex::default(),
        })
    }
}
