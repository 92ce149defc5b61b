//! Log lines with a level and fields.
//!
//! What a handler prints becomes log lines too, stdout at level info and stderr at warn; these have
//! the level and the fields that the handler says. The host logs the fields as one of its own,
//! `fields`, a JSON object of names and texts. It adds the plugin, the queue and, where the call is
//! for a single message, the message's id, and cuts long lines at 8 KiB. Outside a component, in a
//! handler's own unit tests, they go to stderr.
//!
//! ```
//! use queuelet_guest::log;
//!
//! let total = 42;
//! log::info!("order taken", order = "o-7", total = total);
//! log::warn!("{total} is more than usual");
//! log::debug!("{} and {}", 1, 2);
//! ```

use std::fmt;

use crate::bindings::log as host;

pub use crate::{
    __log_debug as debug, __log_error as error, __log_info as info, __log_trace as trace,
    __log_warn as warn,
};

/// How loud a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Steps.
    Trace,
    /// For whoever looks for a fault.
    Debug,
    /// What happened.
    Info,
    /// Something is off, the work goes on.
    Warn,
    /// Something failed.
    Error,
}

/// Whether the host would write a line of this level. The macros ask before they build one.
pub fn enabled(level: Level) -> bool {
    if cfg!(target_family = "wasm") {
        host::enabled(level.into())
    } else {
        level >= Level::Info
    }
}

/// Write one line. The macros are shorter.
pub fn emit(level: Level, message: &str, fields: &[(&str, &dyn fmt::Display)]) {
    if cfg!(target_family = "wasm") {
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| host::Field {
                name: (*name).to_owned(),
                value: value.to_string(),
            })
            .collect();
        host::emit(level.into(), message, &fields);
    } else {
        let mut line = format!("{level:?}: {message}");
        for (name, value) in fields {
            line.push_str(&format!(" {name}={value}"));
        }
        eprintln!("{line}");
    }
}

impl From<Level> for host::Level {
    fn from(level: Level) -> Self {
        match level {
            Level::Trace => Self::Trace,
            Level::Debug => Self::Debug,
            Level::Info => Self::Info,
            Level::Warn => Self::Warn,
            Level::Error => Self::Error,
        }
    }
}

#[doc(hidden)]
#[macro_export]
macro_rules! __log {
    ($level:ident, $message:literal $(, $field:ident = $value:expr)* $(,)?) => {
        if $crate::log::enabled($crate::log::Level::$level) {
            $crate::log::emit(
                $crate::log::Level::$level,
                &::std::format!($message),
                &[$((::std::stringify!($field), &$value)),*],
            );
        }
    };
    ($level:ident, $message:literal, $($argument:expr),+ $(,)?) => {
        if $crate::log::enabled($crate::log::Level::$level) {
            $crate::log::emit($crate::log::Level::$level, &::std::format!($message, $($argument),+), &[]);
        }
    };
}

/// Logs steps: a message in the manner of `format!`, then either its arguments or fields as `name =
/// value`.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_trace {
    ($($line:tt)+) => { $crate::__log!(Trace, $($line)+) };
}

/// Logs for whoever looks for a fault: a message in the manner of `format!`, then either its
/// arguments or fields as `name = value`.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_debug {
    ($($line:tt)+) => { $crate::__log!(Debug, $($line)+) };
}

/// Logs what happened: a message in the manner of `format!`, then either its arguments or fields as
/// `name = value`.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_info {
    ($($line:tt)+) => { $crate::__log!(Info, $($line)+) };
}

/// Logs that something is off: a message in the manner of `format!`, then either its arguments or
/// fields as `name = value`.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_warn {
    ($($line:tt)+) => { $crate::__log!(Warn, $($line)+) };
}

/// Logs that something failed: a message in the manner of `format!`, then either its arguments or
/// fields as `name = value`.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_error {
    ($($line:tt)+) => { $crate::__log!(Error, $($line)+) };
}
