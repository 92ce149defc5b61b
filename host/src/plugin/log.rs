//! What a guest says, as lines of the host's log (rule 9.4).

use std::borrow::Cow;
use std::sync::Arc;

use super::bindings::single::queuelet::handler::log::{Field, Host, Level};
use super::guest::Guest;
use crate::limits::GUEST_LINE;

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
        let text = on_one_line(text);
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
        match level {
            Level::Trace => tracing::enabled!(tracing::Level::TRACE),
            Level::Debug => tracing::enabled!(tracing::Level::DEBUG),
            Level::Info => tracing::enabled!(tracing::Level::INFO),
            Level::Warn => tracing::enabled!(tracing::Level::WARN),
            Level::Error => tracing::enabled!(tracing::Level::ERROR),
        }
    }

    fn emit(&mut self, level: Level, message: String, fields: Vec<Field>) {
        if !self.enabled(level) {
            return;
        }
        let text = capped(&message);
        let cut = message.len() - text.len();
        let fields = fields_as_json(&fields);
        self.subject().say(level, text, fields.as_deref(), cut);
    }
}

/// The fields as one JSON object, each value cut so that all are about a log line; none where there
/// are none.
fn fields_as_json(fields: &[Field]) -> Option<String> {
    let share = GUEST_LINE.checked_div(fields.len())?;
    let object: serde_json::Map<_, _> = fields
        .iter()
        .map(|field| {
            let value = &field.value[..field.value.floor_char_boundary(share)];
            (field.name.clone(), value.into())
        })
        .collect();
    Some(serde_json::Value::Object(object).to_string())
}

/// `text` with its control characters escaped: a handler that logs what it was sent must not let
/// the sender write log lines.
fn on_one_line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c.is_control() && c != '\t') {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c.is_control() && c != '\t' {
            escaped.extend(c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    escaped.into()
}

/// No more of `text` than a log line may have (rule 9.4).
fn capped(text: &str) -> &str {
    &text[..text.floor_char_boundary(GUEST_LINE)]
}
