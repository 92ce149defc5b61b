//! A record of the log is one line, whatever stands in it: nobody who sends messages, or writes a
//! plugin, writes lines of the log.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::line::{escaped_where, is_unruly};

/// Writes each record as one line. What would begin another, or turn what is read around, is escaped.
pub(super) struct OneLine<W>(pub(super) W);

impl<W: Write> Write for OneLine<W> {
    /// Takes one whole record, as the layer above hands it over.
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        match escaped(record) {
            Some(line) => self.0.write_all(line.as_bytes())?,
            None => self.0.write_all(record)?,
        }
        Ok(record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The record as one line, where it is not one already.
fn escaped(record: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(record);
    let line = text.strip_suffix('\n').unwrap_or(&text);
    match escaped_where(line, acts) {
        Cow::Borrowed(_) => None,
        Cow::Owned(escaped) => Some(escaped + "\n"),
    }
}

/// What ends a line or changes how one is read. Colours are the formatter's own, which escapes those
/// that come in texts.
fn acts(c: char) -> bool {
    c != '\u{1b}' && is_unruly(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rule 9.4.
    #[test]
    fn a_record_is_one_line() {
        for (record, line) in [
            ("a line\n", "a line\n"),
            ("größe\t\x1b[2m1\x1b[0m\n", "größe\t\x1b[2m1\x1b[0m\n"),
            (
                "no such x\n2026 ERROR forged\n",
                "no such x\\n2026 ERROR forged\n",
            ),
            ("over\rwritten\n", "over\\rwritten\n"),
            (
                "a\u{2028}b\u{202e}c\u{85}d\n",
                "a\\u{2028}b\\u{202e}c\\u{85}d\n",
            ),
            ("ends without one", "ends without one"),
            ("\n", "\n"),
        ] {
            let mut written = Vec::new();
            OneLine(&mut written).write_all(record.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), line, "{record:?}");
        }
    }
}
