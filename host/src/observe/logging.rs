//! Log lines to stderr.

use std::io::IsTerminal;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Sends log lines to stderr from now on. `filter` is in the syntax of tracing's `EnvFilter`:
/// `info`, `queuelet=debug,warn`.
///
/// # Errors
/// Where `filter` does not parse.
pub fn init_logging(format: LogFormat, filter: &str) -> Result<(), ParseError> {
    let filter = EnvFilter::builder().parse(filter)?;
    let lines = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal());
    // Only the first call in a process counts: a library's user may have set up its own.
    let _ = match format {
        LogFormat::Text => lines.with_target(false).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    Ok(())
}
