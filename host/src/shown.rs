//! What strangers wrote, as it is shown to people.

use std::fmt;

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
        let mut chars = self.text.chars();
        for c in chars.by_ref().take(self.most) {
            if c.is_control() {
                write!(f, "{}", c.escape_default())?;
            } else {
                write!(f, "{c}")?;
            }
        }
        match chars.next() {
            Some(_) => f.write_str("…"),
            None => Ok(()),
        }
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
        ] {
            assert_eq!(Shown::word(text).to_string(), shown);
        }
        let long = "ä".repeat(90_000);
        let word = Shown::word(&long).to_string();
        assert_eq!(word, format!("{}…", "ä".repeat(200)));
        assert_eq!(Shown::sentence(&long).to_string().chars().count(), 4001);
    }
}
