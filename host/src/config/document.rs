//! A TOML file, brought to what the vocabulary reads: keys, texts, tables, and where each stands.
//!
//! Every scalar becomes the text that a descriptor would hold for it, so that `workers = 4` and
//! `("workers", "4")` go one way from here on. Only this file knows the TOML parser.

use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::problem::{Class, Place, Problem};
use super::vocabulary::{Kind, Setting};

/// A table of a file, its entries in the order of the file.
#[derive(Debug, PartialEq)]
pub(super) struct Table {
    pub(super) entries: Vec<Entry>,
    pub(super) place: Place,
}

/// One key of a table, or one pair of a descriptor.
#[derive(Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) node: Node,
    pub(super) place: Place,
}

/// What a key holds.
#[derive(Debug, PartialEq)]
pub(super) enum Node {
    /// A string.
    Text(String),
    /// Another scalar, as text.
    Bare(String),
    /// `[key]`
    Table(Table),
    /// `[[key]]`
    Tables(Vec<Table>),
    /// An array of strings.
    List(Vec<String>),
    /// An array of anything else.
    Array,
}

impl Node {
    /// What this is, for a message.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Node::Text(_) => "a text",
            Node::Bare(_) => "a number, a flag or a date",
            Node::Table(_) => "a table",
            Node::Tables(_) => "a list of tables",
            Node::List(_) | Node::Array => "an array",
        }
    }
}

/// Parses a file.
///
/// # Errors
///
/// Every place where it is not TOML. Nothing else of the file is judged then: what follows a
/// missing quote would be blamed for it.
pub(super) fn parse(file: &Path, text: &str) -> Result<Table, Vec<Problem>> {
    let (root, errors) = DeTable::parse_recoverable(text);
    let lines = Lines { file, text };
    if errors.is_empty() {
        return Ok(lines.table(root.get_ref(), Place::file(file)));
    }
    Err(errors
        .iter()
        .map(|error| {
            let problem = Problem::new(Class::Config, format!("not TOML: {}", error.message()));
            let Some(span) = error.span() else {
                return problem.at(&Place::file(file));
            };
            let begins = span.start;
            let place = lines.place(begins);
            match text
                .get(span)
                .map(str::trim)
                .filter(|part| !part.is_empty() && lines.is_of_setting(begins))
            {
                Some(part) => problem.given(part).at(&place),
                None => problem.at(&place),
            }
        })
        .collect())
}

/// Knows the line of an offset.
struct Lines<'a> {
    file: &'a Path,
    text: &'a str,
}

impl Lines<'_> {
    /// Whether a line sets what is no secret; any other may be one of `[env]`, which is shown to
    /// nobody.
    fn is_of_setting(&self, offset: usize) -> bool {
        let before = self.text.get(..offset).unwrap_or_default();
        let begins = before.rfind('\n').map_or(0, |at| at + 1);
        let line = self.text.get(begins..).unwrap_or_default();
        let key = line.split(['=', '\n']).next().unwrap_or_default().trim();
        Setting::of(key).is_some_and(|setting| setting.kind != Kind::Env)
    }

    fn place(&self, offset: usize) -> Place {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        Place::File {
            file: self.file.to_owned(),
            line: u32::try_from(line).ok(),
        }
    }

    fn table(&self, table: &DeTable<'_>, place: Place) -> Table {
        // The parser keeps keys by the alphabet; an operator reads from the top.
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let entries = entries
            .into_iter()
            .map(|(key, value)| {
                let place = self.place(key.span().start);
                Entry {
                    key: key.get_ref().clone().into_owned(),
                    node: self.node(value.get_ref(), &place),
                    place,
                }
            })
            .collect();
        Table { entries, place }
    }

    fn node(&self, value: &DeValue<'_>, place: &Place) -> Node {
        match value {
            DeValue::String(text) => Node::Text(text.clone().into_owned()),
            DeValue::Integer(number) => {
                // Hexadecimal and its like become decimal; what no machine number holds stays.
                let decimal = i128::from_str_radix(number.as_str(), number.radix());
                Node::Bare(decimal.map_or_else(|_| number.to_string(), |n| n.to_string()))
            }
            DeValue::Float(number) => Node::Bare(number.as_str().to_owned()),
            DeValue::Boolean(flag) => Node::Bare(flag.to_string()),
            DeValue::Datetime(moment) => Node::Bare(moment.to_string()),
            DeValue::Table(table) => Node::Table(self.table(table, place.clone())),
            DeValue::Array(items) => {
                let tables: Option<Vec<Table>> = items
                    .iter()
                    .map(|item| {
                        let place = self.place(item.span().start);
                        item.get_ref()
                            .as_table()
                            .map(|table| self.table(table, place))
                    })
                    .collect();
                match tables {
                    Some(tables) if !tables.is_empty() => Node::Tables(tables),
                    _ => {
                        let texts =
                            items
                                .iter()
                                .map(|item| match self.node(item.get_ref(), place) {
                                    Node::Text(text) => Some(text),
                                    _ => None,
                                });
                        texts.collect::<Option<_>>().map_or(Node::Array, Node::List)
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(place: &Place) -> Option<u32> {
        match place {
            Place::File { line, .. } => *line,
            Place::Descriptor => None,
        }
    }

    // SPEC 1.12
    #[test]
    fn a_scalar_becomes_the_text_that_a_descriptor_would_hold() {
        let text = "a = 'x'\nb = 1_000\nc = 0x10\nd = 1.5\ne = true\nf = 1979-05-27\n";
        let table = parse(Path::new("m.toml"), text).unwrap();
        let texts: Vec<_> = table.entries.iter().map(|entry| &entry.node).collect();
        for (node, text) in texts
            .into_iter()
            .zip(["x", "1000", "16", "1.5", "true", "1979-05-27"])
        {
            let (Node::Text(read) | Node::Bare(read)) = node else {
                panic!("{node:?}");
            };
            assert_eq!(read, text);
        }
    }

    // SPEC 1.11
    #[test]
    fn every_key_and_table_knows_its_line() {
        let text = "# orders\nz = 1\n\na = '''\nx\n'''\n[[mount]]\nb = 1\n\n[[mount]]\nc = 1\n";
        let table = parse(Path::new("m.toml"), text).unwrap();
        let lines: Vec<_> = table.entries.iter().map(|e| line(&e.place)).collect();
        assert_eq!(lines, [Some(2), Some(4), Some(7)]);
        let Node::Tables(mounts) = &table.entries[2].node else {
            panic!("{table:?}");
        };
        let lines: Vec<_> = mounts
            .iter()
            .map(|mount| (line(&mount.place), line(&mount.entries[0].place)))
            .collect();
        assert_eq!(lines, [(Some(7), Some(8)), (Some(10), Some(11))]);
    }

    // SPEC 1.11
    #[test]
    fn every_place_that_is_not_toml_is_said() {
        let text = "queue = 'orders'\nqueue = 'other'\nwait = 20s\n";
        let problems = parse(Path::new("m.toml"), text).unwrap_err();
        let lines: Vec<_> = problems
            .iter()
            .map(|p| line(p.place.as_ref().unwrap()))
            .collect();
        assert!(lines.contains(&Some(2)), "{problems:?}");
        assert!(lines.contains(&Some(3)), "{problems:?}");
    }
}
