//! Digest pins: a list of which content each plugin may have, as `sha256sum` writes it.

use std::collections::BTreeMap;
use std::path::Path;

use crate::plugin::Digest;

/// The digests that files may have, by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pins(BTreeMap<String, Vec<Digest>>);

impl Pins {
    /// Reads a list from the disk.
    ///
    /// # Errors
    /// Why it cannot be read, or which line is none.
    pub(crate) fn read(list: &Path) -> Result<Self, String> {
        let text = crate::file::read_text(list, crate::file::PINS)
            .map_err(|error| format!("the list of digests cannot be read: {error}"))?;
        Self::parse(&text)
    }

    /// Reads lines of `HEX  NAME` or `HEX *NAME`, with a `\` before HEX where NAME has escapes; `#` begins a comment. A name may stand in several
    /// lines, and have any of their digests. Of a path the name of the file counts.
    fn parse(text: &str) -> Result<Self, String> {
        let mut pins = Self::default();
        // Some editors begin a text with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (place, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (digest, name) = pair(line).ok_or_else(|| {
                format!(
                    "line {} of the list of digests is none: write a SHA-256, two spaces and the \
                     name of the file, as sha256sum does",
                    place + 1
                )
            })?;
            pins.0.entry(name).or_default().push(digest);
        }
        Ok(pins)
    }

    /// Whether the file of this name may have this digest.
    ///
    /// # Errors
    /// What the list says instead.
    pub(crate) fn check(&self, name: &str, digest: Digest) -> Result<(), String> {
        match self.0.get(name) {
            Some(allowed) if allowed.contains(&digest) => Ok(()),
            Some(allowed) => Err(not_allowed(digest, allowed)),
            None => Err(format!(
                "its SHA-256 is {digest}, and the list of digests does not name {name}: add it to \
                 the list if it is what you meant to deploy"
            )),
        }
    }
}

/// What is said of a file that has another digest than those it may have.
pub(crate) fn not_allowed(digest: Digest, allowed: &[Digest]) -> String {
    let allowed: Vec<_> = allowed.iter().map(ToString::to_string).collect();
    format!(
        "its SHA-256 is {digest}, and it may only be {}: deploy that file, or change the pin if it \
         is what you meant to deploy",
        allowed.join(" or ")
    )
}

fn pair(line: &str) -> Option<(Digest, String)> {
    let (is_escaped, line) = match line.strip_prefix('\\') {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let (digest, rest) = line.split_once([' ', '\t'])?;
    let path = rest.trim_start();
    let path = path.strip_prefix('*').unwrap_or(path);
    let path = match is_escaped {
        true => unescaped(path)?,
        false => path.to_owned(),
    };
    let name = Path::new(&path).file_name()?.to_str()?;
    Some((digest.parse().ok()?, name.to_owned()))
}

/// What sha256sum means by a name with escapes.
fn unescaped(text: &str) -> Option<String> {
    let mut chars = text.chars();
    let mut plain = String::with_capacity(text.len());
    while let Some(c) = chars.next() {
        plain.push(match c {
            '\\' => match chars.next()? {
                '\\' => '\\',
                'n' => '\n',
                'r' => '\r',
                _ => return None,
            },
            c => c,
        });
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rule 8.2.
    #[test]
    fn a_byte_order_mark_and_escaped_names_are_read_as_they_are_meant() {
        let digest = Digest::of(b"1");
        let text = format!("\u{feff}{digest}  a.wasm\n\\{digest}  plugins/b\\\\c\\nd.wasm\n");
        let pins = Pins::parse(&text).unwrap();
        assert_eq!(pins.check("a.wasm", digest), Ok(()));
        assert_eq!(pins.check("b\\c\nd.wasm", digest), Ok(()));
        let unknown = Pins::parse(&format!("\\{digest}  b\\x.wasm\n")).unwrap_err();
        assert!(unknown.contains("line 1"), "{unknown}");
    }

    // Rule 8.2.
    #[test]
    fn a_list_of_sha256sum_says_which_content_a_file_may_have() {
        let (one, two, other) = (Digest::of(b"1"), Digest::of(b"2"), Digest::of(b"3"));
        let text = format!(
            "# deployed on Monday\n{one}  orders.wasm\n\n{two} *build/orders.wasm\n\
             {other}\tbilling.wasm\r\n"
        );
        let pins = Pins::parse(&text).unwrap();
        assert_eq!(pins.check("orders.wasm", one), Ok(()));
        assert_eq!(pins.check("orders.wasm", two), Ok(()));
        assert_eq!(pins.check("billing.wasm", other), Ok(()));
        let wrong = pins.check("orders.wasm", other).unwrap_err();
        for digest in [one, two, other] {
            assert!(wrong.contains(&digest.to_string()), "{wrong}");
        }
        let missing = pins.check("audit.wasm", one).unwrap_err();
        assert!(missing.contains("audit.wasm"), "{missing}");
        assert!(missing.contains(&one.to_string()), "{missing}");
    }

    #[test]
    fn a_line_that_is_none_is_refused_by_its_number() {
        let digest = Digest::of(b"1");
        for line in ["orders.wasm", "abc  orders.wasm", &digest.to_string()] {
            let error = Pins::parse(&format!("# a\n{line}\n")).unwrap_err();
            assert!(error.contains("line 2"), "{error}");
        }
    }
}
