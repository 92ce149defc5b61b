//! What must not be read in a log: the values of a guest's environment that came by reference.
//!
//! It keeps secrets out of logs where a handler prints one by mistake. A handler that means to tell
//! one can (backwards, in parts): whoever may read the log must be trusted as far as the handler.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

use crate::handler::{Answer, Failure, Outcome};
use crate::limits::{GUEST_LINE, HIDDEN_SECRET};

/// Texts that are hidden wherever they stand.
#[derive(Clone, Default)]
pub(super) struct Secrets {
    /// The longest first: one may be a part of another.
    texts: Arc<[SecretString]>,
}

impl Secrets {
    /// Each value, and each line of one that has several: a key is printed line by line.
    pub(super) fn of<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut texts: Vec<String> = values
            .into_iter()
            .flat_map(|value| std::iter::once(value).chain(value.lines()))
            .map(str::trim)
            .filter(|text| text.chars().count() >= HIDDEN_SECRET)
            .flat_map(spellings)
            .collect();
        texts.sort_unstable_by(|a, b| (Reverse(a.len()), a).cmp(&(Reverse(b.len()), b)));
        texts.dedup();
        Self {
            texts: texts.into_iter().map(SecretString::from).collect(),
        }
    }

    /// How long the longest is, in bytes.
    pub(super) fn longest(&self) -> usize {
        let first = self.texts.first();
        first.map_or(0, |text| text.expose_secret().len())
    }

    /// Where the longest beginning of a secret stands at the end of `bytes`, which is no whole one:
    /// the end of `bytes` where none does.
    pub(super) fn begins_at(&self, bytes: &[u8]) -> usize {
        let most = bytes.len().min(self.longest().saturating_sub(1));
        let texts = self
            .texts
            .iter()
            .map(|text| text.expose_secret().as_bytes());
        (bytes.len() - most..bytes.len())
            .find(|at| {
                let end = &bytes[*at..];
                let begins = |text: &[u8]| text.len() > end.len() && text.starts_with(end);
                texts.clone().any(begins) && !texts.clone().any(|text| bytes.ends_with(text))
            })
            .unwrap_or(bytes.len())
    }

    /// `text` with `***` in the place of each secret.
    pub(super) fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        for secret in self.texts.iter() {
            let secret = secret.expose_secret();
            if text.contains(secret) {
                text = text.replace(secret, "***").into();
            }
        }
        text
    }

    /// No more than `most` bytes of `text` without its secrets, and how many bytes are left out;
    /// `left_out` of them were before.
    ///
    /// A secret is looked for before the text is cut, so that no half of one stays.
    pub(super) fn cut<'t>(
        &self,
        text: &'t str,
        most: usize,
        left_out: usize,
    ) -> (Cow<'t, str>, usize) {
        let looked_at = &text[..text.floor_char_boundary(most.saturating_add(self.longest()))];
        let left_out = left_out + text.len() - looked_at.len();
        let mut shown = self.hide(looked_at);
        // What is left out may have begun with the end of a secret.
        let whole = match left_out {
            0 => shown.len(),
            _ => shown.len().saturating_sub(self.longest()),
        };
        let end = shown.floor_char_boundary(most.min(whole));
        let cut = left_out + shown.len() - end;
        match &mut shown {
            Cow::Borrowed(text) => *text = &text[..end],
            Cow::Owned(text) => text.truncate(end),
        }
        (shown, cut)
    }

    /// The words of a handler's answer that go into logs and dead letters, without secrets and no
    /// longer than a log line.
    pub(super) fn answer(&self, answer: Answer) -> Answer {
        match answer {
            Ok(Outcome::DeadLetter(reason)) => Ok(Outcome::DeadLetter(self.words(reason))),
            Ok(outcome) => Ok(outcome),
            Err(Failure { reason, message }) => Err(Failure::new(reason, self.words(message))),
        }
    }

    fn words(&self, text: String) -> String {
        self.cut(&text, GUEST_LINE, 0).0.into_owned()
    }
}

/// A text as it may stand in a line: as it is, as Rust and JSON quote it, and as the host of a URL.
fn spellings(text: &str) -> [String; 4] {
    let json = serde_json::Value::from(text).to_string();
    [
        text.to_owned(),
        text.escape_debug().to_string(),
        json[1..json.len() - 1].to_owned(),
        text.to_ascii_lowercase(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::Reason;

    // Rule 9.1.
    #[test]
    fn a_secret_is_hidden_wherever_it_stands() {
        let secrets = Secrets::of([
            "hunter22",
            "hunter22-longer",
            "short",
            "  padded-key\n",
            "Seven-and-\"8",
        ]);
        let table = [
            ("nothing here", "nothing here"),
            ("hunter22 and hunter22", "*** and ***"),
            ("hunter22-longer", "***"),
            ("short", "short"),
            ("key=padded-key.", "key=***."),
            ("https://seven-and-\"8/", "https://***/"),
            (r#"the header "Seven-and-\"8""#, r#"the header "***""#),
        ];
        for (text, hidden) in table {
            assert_eq!(secrets.hide(text), hidden);
        }
    }

    // Rule 9.1.
    #[test]
    fn a_secret_of_several_lines_is_hidden_line_by_line() {
        let secrets = Secrets::of(["-----BEGIN KEY-----\nMIIEvQIBADAN\r\n-----END KEY-----\n"]);
        assert_eq!(secrets.hide("MIIEvQIBADAN"), "***");
        assert_eq!(
            secrets.hide("it is -----BEGIN KEY-----\\nMII"),
            "it is ***\\nMII"
        );
    }

    // Rules 9.1 and 9.4.
    #[test]
    fn no_part_of_a_secret_stays_where_a_line_is_cut() {
        let secrets = Secrets::of(["hunter22"]);
        assert_eq!(secrets.cut("a hunter22", 100, 0), ("a ***".into(), 0));
        for before in 0..20 {
            let text = format!("{}hunter22hunter22hunter22", "x".repeat(before));
            for most in 0..40 {
                for end in 0..=text.len() {
                    // As a stream that keeps no more of a line than that.
                    let kept = &text[..end.min(most + secrets.longest())];
                    let (shown, _) = secrets.cut(kept, most, text.len() - kept.len());
                    assert!(shown.len() <= most);
                    // The rest of a line that is not cut is what the handler wrote.
                    if kept.len() < end {
                        assert!(!shown.contains('h'), "{shown}");
                    }
                }
            }
        }
    }

    // Rules 5.14 and 9.1.
    #[test]
    fn no_secret_goes_along_with_a_failure_or_a_dead_letter() {
        let secrets = Secrets::of(["hunter22"]);
        let failed = Err(Failure::new(Reason::Error, "hunter22 is wrong"));
        let hidden = Err(Failure::new(Reason::Error, "*** is wrong"));
        assert_eq!(secrets.answer(failed), hidden);
        let dead = Ok(Outcome::DeadLetter("hunter22".into()));
        assert_eq!(secrets.answer(dead), Ok(Outcome::DeadLetter("***".into())));
        let long = Err(Failure::new(Reason::Error, "x".repeat(1 << 20)));
        let cut = secrets.answer(long).unwrap_err();
        assert_eq!(cut.message.len(), GUEST_LINE);
    }
}
