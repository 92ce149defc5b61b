//! What strangers wrote, as it is shown to people.

use std::fmt;

use crate::line::{escaped_where, is_unruly};

/// A text on one line and cut where it is too long. It may come from a guest, or be the name of a
/// file, and neither is to forge lines of the log or to act on a terminal.
pub(crate) struct Shown<'a> {
    text: &'a str,
    most: usize,
}

impl<'a> Shown<'a> {
    /// A name, a key, a value: of so many characters as a line has room for.
    pub(crate) fn word(text: &'a str) -> Self {
        Self { text, most: 200 }
    }

    /// A sentence with words of a stranger's in it.
    pub(crate) fn sentence(text: &'a str) -> Self {
        Self { text, most: 4000 }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cut = self.text.char_indices().nth(self.most);
        let end = cut.map_or(self.text.len(), |(end, _)| end);
        f.write_str(&escaped_where(&self.text[..end], |c| {
            is_unruly(c) || c == '\t'
        }))?;
        f.write_str(if cut.is_some() { "…" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_one_line_and_not_endless() {
        for (text, shown) in [
            ("größe", "größe"),
            ("a\nb\tc", "a\\nb\\tc"),
            ("\u{1b}[31mred\u{9b}", "\\u{1b}[31mred\\u{9b}"),
            ("a\u{202e}b\u{2028}c", "a\\u{202e}b\\u{2028}c"),
        ] {
            assert_eq!(Shown::word(text).to_string(), shown);
        }
        let long = "ä".repeat(90_000);
        let word = Shown::word(&long).to_string();
        assert_eq!(word, format!("{}…", "ä".repeat(200)));
        assert_eq!(Shown::sentence(&long).to_string().chars().count(), 4001);
    }
}
