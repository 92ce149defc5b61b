//! Texts of others (a guest, whoever sends messages, a file) in lines of ours.
//!
//! No such text ends a line, hides a part of one or turns its order around, and none is longer than
//! what a reader may be expected to read.

use std::borrow::Cow;

use crate::limits::{GUEST_LINE, GUEST_NAME};

/// Whether a character must not stand in a line as it is: it ends the line, moves a terminal's
/// cursor, or turns the order of what is read around.
pub(crate) fn is_unruly(c: char) -> bool {
    let is_control = c.is_control() && c != '\t';
    let breaks = matches!(c, '\u{2028}' | '\u{2029}');
    let turns = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    is_control || breaks || turns
}

/// `text` as a part of one line: what must not stand there is escaped.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    escaped_where(text, is_unruly)
}

/// `text`, what `must` says of it escaped.
pub(crate) fn escaped_where(text: &str, must: fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(must) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if must(c) {
            escaped.extend(c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    escaped.into()
}

/// `text` as a part of one line, no longer than a line may be.
pub(crate) fn words(text: &str) -> String {
    part(text, false)
}

/// The same of a text that may have been cut before.
pub(crate) fn part(text: &str, is_cut: bool) -> String {
    const MORE: &str = " […]";
    let looked_at = &text[..text.floor_char_boundary(GUEST_LINE)];
    let shown = escaped(looked_at);
    let is_whole = !is_cut && looked_at.len() == text.len();
    if is_whole && shown.len() <= GUEST_LINE {
        return shown.into_owned();
    }
    let end = shown.floor_char_boundary(GUEST_LINE - MORE.len());
    format!("{}{MORE}", &shown[..end])
}

/// A name that somebody gave (a destination, a group, a header), for an error. A longer one than any
/// that is good is not shown in part: a part of a secret is not known for one.
pub(crate) fn name(text: &str) -> Cow<'_, str> {
    if text.len() <= GUEST_NAME {
        text.into()
    } else {
        format!("… ({} bytes)", text.len()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rule 9.4.
    #[test]
    fn no_text_ends_a_line_or_turns_it_around() {
        let table = [
            ("a\nb\x1b[0m\tc", "a\\nb\\u{1b}[0m\tc"),
            ("a\r\nb", "a\\r\\nb"),
            ("a\u{85}b\u{2028}c\u{2029}", "a\\u{85}b\\u{2028}c\\u{2029}"),
            ("\u{202e}drow\u{2066}", "\\u{202e}drow\\u{2066}"),
            ("ünïcode 🦀", "ünïcode 🦀"),
        ];
        for (text, shown) in table {
            assert_eq!(escaped(text), shown);
        }
    }

    // Rule 9.4.
    #[test]
    fn words_are_no_longer_than_a_line_however_much_is_escaped() {
        assert_eq!(words("as it is"), "as it is");
        for text in [
            "x".repeat(1 << 20),
            "\n".repeat(GUEST_LINE),
            "ü\u{202e}".repeat(9_000),
        ] {
            let shown = words(&text);
            assert!(shown.len() <= GUEST_LINE, "{}", shown.len());
            assert!(shown.ends_with(" […]"), "{shown}");
        }
    }

    // Rules 9.1 and 9.4.
    #[test]
    fn a_name_is_shown_whole_or_not_at_all() {
        assert_eq!(name("orders"), "orders");
        assert_eq!(name(&"x".repeat(200_000)), "… (200000 bytes)");
    }
}
