//! Numbers of bytes, as operators write and read them.

use bytesize::ByteSize;

/// The units in which a size is shown, the largest first.
const UNITS: [(usize, &str); 6] = [
    (1 << 30, "GiB"),
    (1_000_000_000, "GB"),
    (1 << 20, "MiB"),
    (1_000_000, "MB"),
    (1 << 10, "KiB"),
    (1_000, "KB"),
];

/// Reads a size: `128MiB`, `1GB`, `1.5 KiB`, `0B`.
pub(super) fn read(text: &str) -> Result<u64, String> {
    const FORM: &str = "write it as 128MiB, 1GB or 512B";
    let text = text.trim();
    if text.is_empty() {
        return Err(format!("it is empty; {FORM}"));
    }
    if text
        .chars()
        .all(|c| c.is_ascii_digit() || c == '.' || c == '_')
    {
        return Err(format!(
            "a size needs a unit; write {text}MiB, {text}KiB or {text}B, whichever is meant"
        ));
    }
    text.parse::<ByteSize>()
        .map(|size| size.as_u64())
        .map_err(|_| format!("not a size; {FORM}"))
}

/// A size in the largest unit that shows it whole, as [`read`] reads it.
pub(crate) fn shown(bytes: usize) -> String {
    let whole = UNITS
        .iter()
        .find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    match whole {
        Some((unit, name)) => format!("{}{name}", bytes / unit),
        None => format!("{bytes}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rule 9.2.
    #[test]
    fn a_size_is_read_with_its_unit() {
        for (given, bytes) in [
            ("128MiB", 128 << 20),
            ("1GB", 1_000_000_000),
            ("1.5 KiB", 1536),
            (" 64 mib ", 64 << 20),
            ("0B", 0),
            ("4GiB", 4 << 30),
        ] {
            assert_eq!(read(given), Ok(bytes), "{given}");
        }
    }

    // Rule 9.2.
    #[test]
    fn a_size_that_cannot_be_read_says_what_to_write() {
        for (given, what) in [
            ("128", "write 128MiB"),
            ("1.5", "write 1.5MiB"),
            ("", "empty"),
            ("-1MiB", "not a size"),
            ("12parsecs", "not a size"),
            ("MiB", "not a size"),
        ] {
            let error = read(given).unwrap_err();
            assert!(error.contains(what), "{given}: {error}");
        }
    }

    #[test]
    fn a_size_is_shown_as_it_can_be_written() {
        for (bytes, text) in [
            (0, "0B"),
            (1, "1B"),
            (1536, "1536B"),
            (1 << 20, "1MiB"),
            (128 << 20, "128MiB"),
            (4 << 30, "4GiB"),
            (1_000_000_000, "1GB"),
            (1_500_000, "1500KB"),
        ] {
            assert_eq!(shown(bytes), text);
            assert_eq!(read(text), Ok(bytes as u64));
        }
    }
}
