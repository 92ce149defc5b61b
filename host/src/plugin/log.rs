//! What a guest says, as lines of the host's log (rule 9.4).

use std::sync::Arc;

use super::bindings::single::queuelet::handler::log::{Field, Host, Level};
use super::guest::Guest;
use super::secrets::Secrets;
use crate::limits::GUEST_LINE;
use crate::line::escaped;

/// The most fields of a line; further ones are left out.
const MOST_FIELDS: usize = 64;

/// What a call is about, for log lines and for `context`.
#[derive(Clone, Debug, Default)]
pub(super) struct Subject {
    pub(super) plugin: Arc<str>,
    /// Shortened.
    pub(super) digest: Arc<str>,
    pub(super) queue: Arc<str>,
    /// None for a batch, and while the descriptor is asked.
    pub(super) message: Option<String>,
}

impl Subject {
    /// Writes one line. `cut` is how many bytes of it were left out.
    pub(super) fn say(&self, level: Level, text: &str, fields: Option<&str>, cut: usize) {
        let Self {
            plugin,
            digest,
            queue,
            message,
        } = self;
        let (plugin, digest, queue) = (&**plugin, &**digest, &**queue);
        let id = message.as_deref().unwrap_or("-");
        let text = escaped(text);
        let more = if cut > 0 { " […]" } else { "" };
        let cut = (cut > 0).then_some(cut);
        // The names of tracing's fields are fixed at compile time; a guest's are not.
        let fields = fields.map(tracing::field::display);
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(plugin, digest, queue, id, fields, cut, "{text}{more}")
            };
        }
        match level {
            Level::Trace => line!(trace),
            Level::Debug => line!(debug),
            Level::Info => line!(info),
            Level::Warn => line!(warn),
            Level::Error => line!(error),
        }
    }
}

impl Host for Guest {
    fn enabled(&mut self, level: Level) -> bool {
        is_enabled(level)
    }

    fn emit(&mut self, level: Level, message: String, fields: Vec<Field>) -> wasmtime::Result<()> {
        if is_enabled(level) {
            self.output().emit(level, &message, &fields)?;
        }
        Ok(())
    }
}

fn is_enabled(level: Level) -> bool {
    match level {
        Level::Trace => tracing::enabled!(tracing::Level::TRACE),
        Level::Debug => tracing::enabled!(tracing::Level::DEBUG),
        Level::Info => tracing::enabled!(tracing::Level::INFO),
        Level::Warn => tracing::enabled!(tracing::Level::WARN),
        Level::Error => tracing::enabled!(tracing::Level::ERROR),
    }
}

/// The fields as one JSON object, names and values cut so that all are about a log line; none where
/// there are none.
pub(super) fn fields_as_json(fields: &[Field], secrets: &Secrets) -> Option<String> {
    let fields = &fields[..fields.len().min(MOST_FIELDS)];
    let share = GUEST_LINE.checked_div(fields.len())?;
    let short = |text| secrets.cut(text, share, 0).0.into_owned();
    let object: serde_json::Map<_, _> = fields
        .iter()
        .map(|field| (short(&field.name), short(&field.value).into()))
        .collect();
    Some(serde_json::Value::Object(object).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(number: usize, value: &str) -> Vec<Field> {
        let field = |n| Field {
            name: format!("name{n}"),
            value: value.to_owned(),
        };
        (0..number).map(field).collect()
    }

    // Rule 9.4.
    #[test]
    fn the_fields_of_a_line_are_json_and_about_as_long_as_a_line() {
        let none = Secrets::default();
        assert_eq!(fields_as_json(&[], &none), None);
        let one = fields_as_json(&fields(1, "a \"b\""), &none);
        assert_eq!(one.unwrap(), r#"{"name0":"a \"b\""}"#);
        for number in [1, 10, 100_000] {
            let many = fields_as_json(&fields(number, &"x".repeat(GUEST_LINE)), &none).unwrap();
            assert!(many.len() < 2 * GUEST_LINE, "{}", many.len());
        }
    }

    // Rules 9.1 and 9.4.
    #[test]
    fn no_field_shows_a_secret() {
        let secrets = Secrets::of(["hunter22"]);
        let shown = fields_as_json(&fields(1, "it is hunter22"), &secrets);
        assert_eq!(shown.unwrap(), r#"{"name0":"it is ***"}"#);
    }
}
