//! Log lines to stderr.

use std::io::IsTerminal;

use clap::ValueEnum;
use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{LevelFilter, ParseError};

use super::one_line::OneLine;
use super::waiting::written;

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// A `--log` that says nothing.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// A single word that is no level.
    #[error("no level is called {0:?}; write off, error, warn, info, debug or trace")]
    NoLevel(String),
    /// Directives that do not parse.
    #[error("{0}")]
    Directives(#[from] ParseError),
}

/// Says that the log's reader was too slow.
fn tell_left_out(left_out: u64) {
    tracing::warn!(
        left_out,
        "log lines were left out: whoever reads the log takes them too slowly"
    );
}

/// What is told where nobody says otherwise. What the SDK says of each provider of credentials it
/// tried in vain stands in our own error too, once.
const DEFAULT: &str = "warn,aws_config=error,queuelet=info";

fn is_level(directive: &str) -> bool {
    directive.trim().parse::<LevelFilter>().is_ok()
}

/// The filter that `text` means. A level alone is queuelet's own, with no more than warnings of the
/// libraries it stands on; anything else is in the syntax of tracing's `EnvFilter`.
fn filter(text: &str) -> Result<EnvFilter, FilterError> {
    let single = !text.contains(['=', ',', '[']);
    let directives = match text.parse::<LevelFilter>() {
        Ok(level) if level > LevelFilter::WARN => {
            format!("warn,aws_config=error,queuelet={level}")
        }
        Err(_) if single => return Err(FilterError::NoLevel(text.to_owned())),
        // Without a level of its own it would silence whatever it does not name.
        Err(_) if !text.split(',').any(is_level) => format!("{DEFAULT},{text}"),
        _ => text.to_owned(),
    };
    let mut filter = EnvFilter::builder().parse(directives)?;
    // At trace level these tell each call of a guest with its arguments, secrets among them.
    for tells in [
        "wasmtime_wasi=debug",
        "wasmtime_wasi_http=debug",
        "wasmtime_wasi_io=debug",
    ] {
        if filter
            .max_level_hint()
            .is_none_or(|most| most > LevelFilter::DEBUG)
        {
            filter = filter.add_directive(tells.parse()?);
        }
    }
    Ok(filter)
}

/// Sends log lines to stderr from now on. `text` is a level (`debug`), or filters as
/// `queuelet=debug,warn`; where those have no level alone, what they do not name is told as ever. What
/// has not been written when the answer is dropped is written then.
///
/// The host never waits for whoever reads its log: a thread of its own writes the lines. Those that
/// it cannot keep up with are left out and counted, and those that cannot be written are lost.
///
/// # Errors
/// Where `text` is neither.
pub fn init_logging(format: LogFormat, text: &str) -> Result<WorkerGuard, FilterError> {
    let filter = filter(text)?;
    let (writer, guard) = written(std::io::stderr(), tell_left_out);
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .log_internal_errors(false)
        .with_ansi(std::io::stderr().is_terminal());
    // Only the first call in a process counts: a library's user may have set up its own.
    let _ = match format {
        LogFormat::Text => lines
            .with_target(false)
            .with_writer(move || OneLine(writer.clone()))
            .try_init(),
        // JSON escapes by itself.
        LogFormat::Json => lines
            .json()
            .flatten_event(true)
            .with_writer(move || writer.clone())
            .try_init(),
    };
    Ok(guard)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_alone_is_queuelets_own() {
        let filter = filter("debug").unwrap().to_string();
        for directive in ["queuelet=debug", "warn"] {
            assert!(filter.contains(directive), "{filter}");
        }
    }

    // Rule 9.1.
    #[test]
    fn no_level_lets_libraries_tell_what_guests_say() {
        let filter = filter("trace,queuelet=trace").unwrap().to_string();
        assert!(filter.contains("wasmtime_wasi_http=debug"), "{filter}");
    }

    #[test]
    fn a_word_that_is_no_level_is_refused_not_taken_for_a_crate() {
        let error = filter("loud").unwrap_err();
        assert!(error.to_string().contains("info"), "{error}");
        assert!(filter("queuelet=loud").is_err());
        assert!(filter("queuelet=debug,hyper=off").is_ok());
    }

    #[test]
    fn filters_without_a_level_silence_nothing_that_they_do_not_name() {
        for (given, says) in [
            ("quelet=debug", "queuelet=info"),
            ("queuelet=debug", "queuelet=debug"),
            ("hyper=debug", "warn"),
        ] {
            let filter = filter(given).unwrap().to_string();
            assert!(filter.contains(says), "{given}: {filter}");
        }
        let own = filter("hyper=debug,error").unwrap().to_string();
        assert!(!own.contains("queuelet"), "{own}");
    }
}
