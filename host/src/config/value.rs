//! The one parser of values: from the text of a mount file or a descriptor to what it means.

use std::collections::BTreeMap;
use std::time::Duration;

use super::http_rule::HttpRule;
use super::problem::{Class, Level, Note, Place, Problem};
use super::queue::{QueueRef, QueueRefError, is_account, is_region};
use super::sandbox::EnvValue;
use super::size;
use super::target::{TargetRef, TopicRef};
use super::vocabulary::{Kind, Setting};
use crate::limits;
use crate::plugin::Digest;

/// A value that was read and is in its bounds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Queue(QueueRef),
    Target(TargetRef),
    Targets(Vec<TargetRef>),
    Topics(Vec<TopicRef>),
    /// A group, a role or a word.
    Text(String),
    Region(String),
    Duration(Duration),
    Whole(u64),
    Size(usize),
    Env(BTreeMap<String, EnvValue>),
    HttpRules(Vec<HttpRule>),
    Digests(Vec<Digest>),
    Fraction(f64),
    Flag(bool),
}

/// A value, and what it was read from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Given {
    pub(super) value: Value,
    pub(super) text: String,
    pub(super) place: Place,
}

/// Reads one value of one setting.
///
/// What is only worth saying is pushed to `notes`.
pub(super) fn read(
    setting: &Setting,
    text: String,
    place: Place,
    notes: &mut Vec<Note>,
) -> Result<Given, Box<Problem>> {
    let refuse = |message: String| {
        Box::new(
            Problem::new(setting.class(), message)
                .setting(setting.key)
                .given(&text)
                .allowed(setting.kind.allowed())
                .at(&place),
        )
    };
    let value = match setting.kind {
        Kind::Queue => Value::Queue(queue(&text).map_err(refuse)?),
        Kind::Target => Value::Target(target(&text).map_err(refuse)?),
        Kind::Targets => Value::Targets(each(&text, target).map_err(refuse)?),
        Kind::Topics => Value::Topics(each(&text, topic).map_err(refuse)?),
        Kind::Group => Value::Text(group(&text).map_err(refuse)?),
        Kind::Role => Value::Text(role(&text).map_err(refuse)?),
        Kind::Word(words) => match words.iter().find(|word| **word == text) {
            Some(word) => Value::Text((*word).to_owned()),
            None => return Err(refuse("no such word; write one of them".to_owned())),
        },
        Kind::Region => Value::Region(region(&text).map_err(refuse)?),
        Kind::Duration {
            least,
            most,
            whole_seconds,
        } => {
            let given = duration(&text).map_err(refuse)?;
            within(&given, &least, &most)
                .map_err(|side| refuse(format!("{}; this is {}", side.of_time(), setting.doc)))?;
            Value::Duration(if whole_seconds {
                limits::whole_seconds(given)
            } else {
                given
            })
        }
        Kind::Whole {
            least,
            most,
            more_is_most,
        } => {
            let given = whole(&text).map_err(refuse)?;
            if more_is_most && given > i128::from(most) {
                let message = format!("works as {most}; this is {}", setting.doc);
                notes.push(Note::new(Level::Warn, message).setting(setting.key, &text, &place));
                Value::Whole(most)
            } else {
                within(&given, &least.into(), &most.into()).map_err(|side| {
                    refuse(format!("{}; this is {}", side.of_number(), setting.doc))
                })?;
                // In bounds of two `u64`, so it is one.
                Value::Whole(given as u64)
            }
        }
        Kind::Size { least, most } => {
            let given = size::read(&text).map_err(refuse)?;
            within(&given, &(least as u64), &(most as u64))
                .map_err(|side| refuse(format!("{}; this is {}", side.of_number(), setting.doc)))?;
            // In bounds of two `usize`, so it is one.
            Value::Size(given as usize)
        }
        // A text may hold a value of it, which is shown to nobody.
        Kind::Env => {
            return Err(Box::new(
                Problem::new(setting.class(), "it is a table of names and values")
                    .setting(setting.key)
                    .allowed(setting.kind.allowed())
                    .at(&place),
            ));
        }
        Kind::HttpRules => Value::HttpRules(each(&text, http_rule).map_err(refuse)?),
        Kind::Digests => {
            let digests = each(&text, digest).map_err(refuse)?;
            if digests.is_empty() {
                let says = "it allows no file; write the digests of those that may serve, or leave \
                            it away to allow any";
                return Err(refuse(says.to_owned()));
            }
            Value::Digests(digests)
        }
        Kind::Fraction => {
            let given = text.parse::<f64>().map_err(|_| {
                refuse("not a number; write one from 0 to 1, such as 0.5".to_owned())
            })?;
            if !(0.0..=1.0).contains(&given) {
                return Err(refuse(format!("out of bounds; this is {}", setting.doc)));
            }
            Value::Fraction(given)
        }
        Kind::Flag => Value::Flag(match text.as_str() {
            "true" => true,
            "false" => false,
            _ => {
                return Err(refuse(
                    "neither true nor false; write one of them".to_owned(),
                ));
            }
        }),
    };
    Ok(Given { value, text, place })
}

/// On which side of its bounds a value is.
enum Beyond {
    Under,
    Over,
}

impl Beyond {
    fn of_time(&self) -> &'static str {
        match self {
            Beyond::Under => "too short",
            Beyond::Over => "too long",
        }
    }

    fn of_number(&self) -> &'static str {
        match self {
            Beyond::Under => "less than is allowed",
            Beyond::Over => "more than is allowed",
        }
    }
}

fn within<T: PartialOrd>(given: &T, least: &T, most: &T) -> Result<(), Beyond> {
    if given < least {
        Err(Beyond::Under)
    } else if given > most {
        Err(Beyond::Over)
    } else {
        Ok(())
    }
}

fn queue(text: &str) -> Result<QueueRef, String> {
    text.parse()
        .map_err(|error: QueueRefError| error.to_string())
}

fn target(text: &str) -> Result<TargetRef, String> {
    text.parse::<TargetRef>().map_err(|error| error.to_string())
}

fn topic(text: &str) -> Result<TopicRef, String> {
    text.parse::<TopicRef>().map_err(|error| error.to_string())
}

fn http_rule(text: &str) -> Result<HttpRule, String> {
    text.parse::<HttpRule>().map_err(|error| error.to_string())
}

fn digest(text: &str) -> Result<Digest, String> {
    let read = text.parse::<Digest>();
    read.map_err(|_| format!("{text:?} is no SHA-256 digest of 64 hexadecimal digits"))
}

/// Reads a list with commas between its items. An empty text is an empty list, and
/// everything that is wrong with one is told at once.
fn each<T>(text: &str, read: fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let (mut items, mut wrong) = (Vec::new(), Vec::new());
    for item in text.split(',').map(str::trim) {
        match read(item) {
            Ok(item) => items.push(item),
            Err(why) if why.contains(item) => wrong.push(why),
            Err(why) => wrong.push(format!("{item:?}: {why}")),
        }
    }
    if wrong.is_empty() {
        Ok(items)
    } else {
        Err(wrong.join("; "))
    }
}

fn group(text: &str) -> Result<String, String> {
    match text.chars().find(|c| !c.is_ascii_graphic()) {
        Some(c) => Err(format!("it holds {c:?}, which no message group can")),
        None if text.is_empty() => Err("it is empty; name a group or remove the line".into()),
        None if text.len() > limits::MAX_GROUP_ID => {
            Err(format!("it has {} characters", text.len()))
        }
        None => Ok(text.to_owned()),
    }
}

/// Reads the ARN of a role. Whether there is such a role is IAM's to say.
fn role(text: &str) -> Result<String, String> {
    let wrong = |what: &str| Err(format!("{what}; write arn:aws:iam::ACCOUNT:role/NAME"));
    let parts: Vec<&str> = text.splitn(6, ':').collect();
    let ["arn", partition, "iam", "", account, resource] = parts[..] else {
        return wrong("this is not the ARN of a role");
    };
    let name = resource.strip_prefix("role/").unwrap_or("");
    if !is_region(partition) {
        wrong("the partition is not one")
    } else if !is_account(account) {
        wrong("the account is not 12 digits")
    } else if name.is_empty() || name.chars().any(|c| !c.is_ascii_graphic()) {
        wrong("it names no role")
    } else {
        Ok(text.to_owned())
    }
}

/// Reads the name of a region.
pub(super) fn region(text: &str) -> Result<String, String> {
    if is_region(text) {
        Ok(text.to_owned())
    } else {
        Err("not a region; write one such as eu-west-1".to_owned())
    }
}

fn whole(text: &str) -> Result<i128, String> {
    text.parse()
        .map_err(|_| "not a whole number; write one such as 4".to_owned())
}

/// Reads a length of time: `2s`, `500ms`, `1m 30s`, `1.2s`.
pub fn duration(text: &str) -> Result<Duration, String> {
    const FORM: &str = "write it as 2s, 500ms or 1m 30s";
    let text = text.trim();
    // humantime takes a lone 0, and reads over a space inside a number: `1 30s` would be 130 s.
    let words: Vec<&str> = text.split_whitespace().collect();
    for (index, word) in words.iter().enumerate() {
        let unit_follows = words
            .get(index + 1)
            .is_some_and(|next| next.starts_with(char::is_alphabetic));
        if !unit_follows && word.chars().all(|c| c.is_ascii_digit() || c == '.') {
            return Err(if words.len() == 1 {
                format!("a length of time needs a unit; write {word}s")
            } else {
                format!("{word} has no unit; {FORM}")
            });
        }
    }
    if text.ends_with(|c: char| c.is_ascii_digit()) && !text.starts_with('-') {
        return Err(format!("its last number has no unit; {FORM}"));
    }
    // humantime adds up without a check at the very end of what a `Duration` holds. A descriptor
    // comes from a guest, so it is kept far from there: 11 digits of years, five times.
    let long_number = text
        .split(|c: char| !c.is_ascii_digit())
        .any(|digits| digits.len() > 11);
    if text.len() > 64 || long_number {
        return Err(format!("too long a number for a length of time; {FORM}"));
    }
    humantime::parse_duration(text)
        .map_err(|error| format!("not a length of time: {error}; {FORM}"))
}

/// Reads a length of time that stands outside the table of settings.
pub(super) fn bounded_duration(
    key: &str,
    text: &str,
    place: &Place,
    most: Duration,
) -> Result<Duration, Box<Problem>> {
    let refuse = |message: String| {
        let allowed = format!("0s to {}", humantime::format_duration(most));
        Box::new(
            Problem::new(Class::Config, message)
                .setting(key)
                .given(text)
                .allowed(allowed)
                .at(place),
        )
    };
    let given = duration(text).map_err(refuse)?;
    within(&given, &Duration::ZERO, &most).map_err(|side| refuse(side.of_time().to_owned()))?;
    Ok(given)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::vocabulary::Name;

    fn value(name: Name, text: &str) -> Result<Value, String> {
        read(
            name.setting(),
            text.to_owned(),
            Place::Descriptor,
            &mut Vec::new(),
        )
        .map(|given| given.value)
        .map_err(|problem| problem.to_string())
    }

    fn millis(ms: u64) -> Value {
        Value::Duration(Duration::from_millis(ms))
    }

    // SPEC 1.12
    #[test]
    fn a_length_of_time_is_read_with_its_units_and_decimals() {
        for (given, ms) in [
            ("2s", 2_000),
            ("500ms", 500),
            ("1m 30s", 90_000),
            ("1m30s", 90_000),
            ("1.2s", 1_200),
            ("0.9s", 900),
            (" 12 h ", 43_200_000),
            ("0s", 0),
        ] {
            assert_eq!(duration(given), Ok(Duration::from_millis(ms)), "{given}");
        }
    }

    // SPEC 1.12
    #[test]
    fn a_length_of_time_that_cannot_be_read_says_what_to_write() {
        for (given, what) in [
            ("20", "write 20s"),
            ("0", "write 0s"),
            ("1.5", "write 1.5s"),
            ("1m 30", "30 has no unit"),
            ("1m30", "no unit"),
            ("1 30s", "1 has no unit"),
            ("-2s", "not a length of time"),
            ("", "empty"),
            ("2fortnights", "unknown time unit"),
            ("true", "not a length of time"),
            ("123456789012s", "too long"),
            ("18446744073709551615s 1000000000ns", "too long"),
        ] {
            let error = duration(given).unwrap_err();
            assert!(error.contains(what), "{given}: {error}");
        }
    }

    // SPEC 1.3
    #[test]
    fn a_wait_is_0_to_20_seconds_and_a_fraction_is_rounded_up() {
        for (given, ms) in [
            ("0s", 0),
            ("1ms", 1_000),
            ("19.1s", 20_000),
            ("20s", 20_000),
        ] {
            assert_eq!(value(Name::Wait, given), Ok(millis(ms)), "{given}");
        }
        let error = value(Name::Wait, "20001ms").unwrap_err();
        assert!(error.starts_with("InvalidQueue"), "{error}");
        assert!(error.contains("0s to 20s"), "{error}");
    }

    // SPEC 1.4
    #[test]
    fn a_visibility_is_1_second_to_12_hours_before_it_is_rounded_up() {
        for (given, ms) in [
            ("1s", 1_000),
            ("1.2s", 2_000),
            ("11h 59m 59.5s", 43_200_000),
            ("12h", 43_200_000),
        ] {
            assert_eq!(value(Name::Visibility, given), Ok(millis(ms)), "{given}");
        }
        for given in ["0s", "0.9s", "999ms", "12h 1ms", "12.5h", "1d"] {
            let error = value(Name::Visibility, given).unwrap_err();
            assert!(error.starts_with("InvalidQueue"), "{given}: {error}");
            assert!(error.contains("1s to 12h"), "{given}: {error}");
        }
    }

    // SPEC 1.4, 1.11
    #[test]
    fn a_length_of_time_out_of_its_bounds_says_on_which_side() {
        for (name, given, side, allowed) in [
            (
                Name::Visibility,
                "0.9s",
                "too short",
                "(allowed: 1s to 12h)",
            ),
            (Name::Visibility, "13h", "too long", "(allowed: 1s to 12h)"),
            (Name::Wait, "21s", "too long", "(allowed: 0s to 20s)"),
            (
                Name::Timeout,
                "0s",
                "too short",
                "(allowed: more than 0s, up to 12h)",
            ),
            (
                Name::Timeout,
                "13h",
                "too long",
                "(allowed: more than 0s, up to 12h)",
            ),
        ] {
            let error = value(name, given).unwrap_err();
            let said = format!("\n  {side}; this is {}", name.setting().doc);
            assert!(error.contains(&said), "{given}: {error}");
            assert!(error.ends_with(allowed), "{given}: {error}");
        }
    }

    // SPEC 1.6
    #[test]
    fn more_than_10_in_a_batch_works_as_10_and_is_said() {
        for (given, size, notes) in [("1", 1, 0), ("10", 10, 0), ("11", 10, 1), ("5000", 10, 1)] {
            let mut said = Vec::new();
            let batch = Name::Batch.setting();
            let read = read(batch, given.to_owned(), Place::Descriptor, &mut said);
            assert_eq!(read.unwrap().value, Value::Whole(size), "{given}");
            assert_eq!(said.len(), notes, "{given}");
        }
    }

    // SPEC 1.6, 1.7
    #[test]
    fn a_number_out_of_its_bounds_is_refused() {
        for (name, given, class) in [
            (Name::Batch, "0", "InvalidQueue"),
            (Name::Batch, "-1", "InvalidQueue"),
            (Name::Batch, "2.5", "InvalidQueue"),
            (Name::Receive, "0", "InvalidQueue"),
            (Name::Receive, "11", "InvalidQueue"),
            (Name::Workers, "0", "Config"),
            (Name::Workers, "1025", "Config"),
            (Name::Workers, "many", "Config"),
            (Name::Timeout, "0s", "Config"),
            (Name::RetryDelay, "12h 1s", "Config"),
            (Name::RetryMaxDelay, "1d", "Config"),
            (Name::RetryJitter, "1.01", "Config"),
            (Name::RetryJitter, "-0.1", "Config"),
            (Name::RetryJitter, "NaN", "Config"),
            (Name::RetryJitter, "half", "Config"),
            (Name::Prefetch, "yes", "Config"),
            (Name::Region, "EU (Ireland)", "InvalidQueue"),
        ] {
            let error = value(name, given).unwrap_err();
            assert!(
                error.starts_with(class),
                "{} = {given}: {error}",
                name.key()
            );
            assert!(error.contains(given), "{} = {given}: {error}", name.key());
        }
    }

    // SPEC 5.6, 1.7
    #[test]
    fn a_number_in_its_bounds_is_taken() {
        for (name, given, taken) in [
            (Name::Workers, "1024", Value::Whole(1024)),
            (Name::Receive, "10", Value::Whole(10)),
            (Name::RetryJitter, "0", Value::Fraction(0.0)),
            (Name::RetryJitter, "1.0", Value::Fraction(1.0)),
            (Name::RetryDelay, "0s", millis(0)),
            (Name::RetryMaxDelay, "12h", millis(43_200_000)),
            (Name::Timeout, "1.5s", millis(1_500)),
            (Name::Prefetch, "false", Value::Flag(false)),
        ] {
            assert_eq!(value(name, given), Ok(taken), "{} = {given}", name.key());
        }
    }
}
