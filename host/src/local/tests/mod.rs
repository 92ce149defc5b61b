//! The module as a whole: waiting receives on a paused clock, and HTTP through a real socket.

mod actions;
mod client;
mod http;
mod polls;
mod snapshot;
