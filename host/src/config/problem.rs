//! What is wrong with a setting, and what is only worth saying.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::shown::Shown;

/// Which `SqsError` a problem is (SPEC 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Class {
    /// A setting that no queue is to blame for.
    Config,
    /// A setting that SQS, or this version, could not read the queue with.
    InvalidQueue,
    /// Half a redrive policy (SPEC 1.9).
    IncompleteRedrive,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Config => "Config",
            Class::InvalidQueue => "InvalidQueue",
            Class::IncompleteRedrive => "IncompleteRedrive",
        })
    }
}

/// Where something is written.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "in", rename_all = "lowercase")]
pub enum Place {
    /// In a file of the operator's.
    File {
        /// The path, as the file was named to us.
        file: PathBuf,
        /// The line, counted from 1; none where the whole file is meant.
        line: Option<u32>,
    },
    /// In what the plugin says of itself.
    Descriptor,
}

impl Place {
    /// The whole of a file.
    pub fn file(file: &Path) -> Self {
        Place::File {
            file: file.to_owned(),
            line: None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File {
                file,
                line: Some(line),
            } => write!(f, "{}:{line}", Shown::sentence(&file.to_string_lossy())),
            Place::File { file, line: None } => {
                write!(f, "{}", Shown::sentence(&file.to_string_lossy()))
            }
            Place::Descriptor => f.write_str("descriptor"),
        }
    }
}

/// Something an operator wrote, or a plugin says of itself, that cannot be served. It stops the
/// host at startup (SPEC 1.11, 7.2), or keeps a changed mount from being taken (SPEC 8.4).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    /// Which error it is.
    pub class: Class,
    /// The plugin; none for the host's own file.
    pub plugin: Option<String>,
    /// The queue, where one is known.
    pub queue: Option<String>,
    /// The name of the setting.
    pub setting: Option<String>,
    /// What was written.
    pub given: Option<String>,
    /// What may be written.
    pub allowed: Option<String>,
    /// What is wrong and what to do.
    pub message: String,
    /// Where it is written.
    pub place: Option<Place>,
}

impl Problem {
    pub(super) fn new(class: Class, message: impl Into<String>) -> Self {
        Problem {
            class,
            plugin: None,
            queue: None,
            setting: None,
            given: None,
            allowed: None,
            message: message.into(),
            place: None,
        }
    }

    pub(super) fn setting(self, name: &str) -> Self {
        Problem {
            setting: Some(name.to_owned()),
            ..self
        }
    }

    pub(super) fn given(self, text: &str) -> Self {
        Problem {
            given: Some(text.to_owned()),
            ..self
        }
    }

    pub(super) fn allowed(self, text: impl Into<String>) -> Self {
        Problem {
            allowed: Some(text.into()),
            ..self
        }
    }

    pub(super) fn at(self, place: &Place) -> Self {
        Problem {
            place: Some(place.clone()),
            ..self
        }
    }

    /// Names the plugin, and the queue where the problem does not know it already.
    pub(super) fn of(self, plugin: &str, queue: Option<&str>) -> Self {
        Problem {
            plugin: Some(plugin.to_owned()),
            queue: self.queue.or_else(|| queue.map(str::to_owned)),
            ..self
        }
    }
}

impl Problem {
    /// It in one line, as the log has it.
    pub fn line(&self) -> String {
        on_one_line(&self.to_string())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.class)?;
        let subject = Subject {
            plugin: self.plugin.as_deref(),
            queue: self.queue.as_deref(),
            setting: self.setting.as_deref(),
            given: self.given.as_deref(),
            place: self.place.as_ref(),
        };
        write!(f, "{subject}\n  {}", self.message)?;
        match &self.allowed {
            Some(allowed) => write!(f, " (allowed: {allowed})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Problem {}

/// How loudly a note is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Perhaps not what was meant.
    Warn,
    /// Good to know.
    Info,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::Warn => "warning",
            Level::Info => "info",
        })
    }
}

/// Something that is served, but that the operator should hear of once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Note {
    /// How loudly.
    pub level: Level,
    /// The plugin; none for the host's own file.
    pub plugin: Option<String>,
    /// The queue, where one is known.
    pub queue: Option<String>,
    /// The name of the setting.
    pub setting: Option<String>,
    /// What was written.
    pub given: Option<String>,
    /// What happens instead, and what to do if that is not meant.
    pub message: String,
    /// Where it is written.
    pub place: Option<Place>,
}

impl Note {
    pub(super) fn new(level: Level, message: impl Into<String>) -> Self {
        Note {
            level,
            plugin: None,
            queue: None,
            setting: None,
            given: None,
            message: message.into(),
            place: None,
        }
    }

    pub(super) fn setting(self, name: &str, given: &str, place: &Place) -> Self {
        Note {
            setting: Some(name.to_owned()),
            given: Some(given.to_owned()),
            ..self
        }
        .at(place)
    }

    pub(super) fn at(self, place: &Place) -> Self {
        Note {
            place: Some(place.clone()),
            ..self
        }
    }

    /// Names the plugin, and the queue where the note does not know it already.
    pub(super) fn of(self, plugin: &str, queue: Option<&str>) -> Self {
        Note {
            plugin: Some(plugin.to_owned()),
            queue: self.queue.or_else(|| queue.map(str::to_owned)),
            ..self
        }
    }
}

impl Note {
    /// One line for the log, which has a level of its own.
    pub fn line(&self) -> String {
        let text = self.to_string();
        let level = self.level.to_string();
        let text = text.strip_prefix(&level).unwrap_or(&text);
        on_one_line(text.trim_start())
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.level)?;
        let subject = Subject {
            plugin: self.plugin.as_deref(),
            queue: self.queue.as_deref(),
            setting: self.setting.as_deref(),
            given: self.given.as_deref(),
            place: self.place.as_ref(),
        };
        write!(f, "{subject}\n  {}", self.message)
    }
}

/// The two lines of a problem or a note as one.
fn on_one_line(text: &str) -> String {
    text.replacen("\n  ", ": ", 1)
}

/// The first line of a problem or a note, after its kind.
struct Subject<'a> {
    plugin: Option<&'a str>,
    queue: Option<&'a str>,
    setting: Option<&'a str>,
    given: Option<&'a str>,
    place: Option<&'a Place>,
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place {
            write!(f, " in {place}")?;
        }
        if let Some(plugin) = self.plugin {
            write!(f, ", plugin {}", Shown::word(plugin))?;
        }
        if let Some(queue) = self.queue {
            write!(f, ", queue {queue}")?;
        }
        match (self.setting.map(Shown::word), self.given.map(Shown::word)) {
            (Some(setting), Some(given)) => write!(f, ": {setting} = {given}"),
            (Some(setting), None) => write!(f, ": {setting}"),
            (None, Some(given)) => write!(f, ": {given}"),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SPEC 1.11
    #[test]
    fn a_problem_reads_as_where_and_what_then_why_and_what_to_do() {
        let place = Place::File {
            file: "plugins/orders.toml".into(),
            line: Some(3),
        };
        let problem = Problem::new(Class::InvalidQueue, "too long: write 20s")
            .setting("wait")
            .given("21s")
            .allowed("0s to 20s")
            .at(&place)
            .of("orders", Some("orders-eu"));
        assert_eq!(
            problem.to_string(),
            "InvalidQueue in plugins/orders.toml:3, plugin orders, queue orders-eu: wait = 21s\n  \
             too long: write 20s (allowed: 0s to 20s)"
        );
        assert_eq!(problem.line().lines().count(), 1);
        assert!(problem.line().contains("wait = 21s: too long"));
    }

    #[test]
    fn a_note_reads_like_a_problem() {
        let note = Note::new(Level::Warn, "works as 10").setting("batch", "50", &Place::Descriptor);
        let note = note.of("orders", None);
        assert_eq!(
            note.to_string(),
            "warning in descriptor, plugin orders: batch = 50\n  works as 10"
        );
        assert_eq!(
            note.line(),
            "in descriptor, plugin orders: batch = 50: works as 10"
        );
    }

    #[test]
    fn what_a_guest_wrote_stays_on_its_line() {
        let text = format!("a\nInvalidQueue in b{}", "x".repeat(1000));
        let problem = Problem::new(Class::Config, "no")
            .setting(&text)
            .given(&text);
        let shown = problem.to_string();
        assert_eq!(shown.lines().count(), 2);
        assert!(shown.chars().count() < 500);
    }
}
