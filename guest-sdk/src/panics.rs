//! A panic reaches the host's log before it ends the component.

use std::panic::PanicHookInfo;
use std::sync::Once;

use crate::log::{self, Level};

/// Makes a panic a log line at level error with its place, instead of what std prints to stderr.
/// The trap that follows only tells the host that there was a panic, not which.
///
/// Outside a component, where `cargo test` has a hook of its own, it does nothing.
pub fn report_to_host() {
    static INSTALLED: Once = Once::new();
    if cfg!(target_family = "wasm") {
        INSTALLED.call_once(|| std::panic::set_hook(Box::new(report)));
    }
}

fn report(panic: &PanicHookInfo<'_>) {
    let what = panic.payload_as_str().unwrap_or("a value that is not text");
    let message = format!("panicked: {what}");
    match panic.location() {
        Some(place) => log::emit(Level::Error, &message, &[("location", place)]),
        None => log::emit(Level::Error, &message, &[]),
    }
}
