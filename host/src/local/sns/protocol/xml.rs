//! Replies: elements in elements, and text.

use crate::local::engine::attribute::check_text;
use crate::local::sns::engine::Pairs;
use quick_xml::escape::escape;

/// What every document of SNS is of.
const NAMESPACE: &str = "http://sns.amazonaws.com/doc/2010-03-31/";

/// A document being written.
#[derive(Debug, Default)]
pub(super) struct Xml(String);

impl Xml {
    /// A document with this root.
    pub(super) fn document(root: &str, fill: impl FnOnce(&mut Self)) -> Vec<u8> {
        let mut xml = Self(format!("<{root} xmlns=\"{NAMESPACE}\">"));
        fill(&mut xml);
        xml.close(root);
        xml.0.into_bytes()
    }

    /// What an action answers.
    pub(super) fn answer(fill: impl FnOnce(&mut Self)) -> super::Answer {
        let mut xml = Self::default();
        fill(&mut xml);
        Ok(Some(xml))
    }

    /// Everything of `other` behind what there is.
    pub(super) fn append(&mut self, other: Self) {
        self.0.push_str(&other.0);
    }

    /// An element with others inside.
    pub(super) fn within(&mut self, name: &str, fill: impl FnOnce(&mut Self)) {
        self.open(name);
        fill(self);
        self.close(name);
    }

    /// An element with a text.
    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.open(name);
        self.0.push_str(&escape(xml_text(text)));
        self.close(name);
    }

    /// An element with a text, if there is one.
    pub(super) fn maybe(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    /// A list, each element filled by `fill`.
    pub(super) fn list<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        mut fill: impl FnMut(&mut Self, T),
    ) {
        self.within(name, |xml| {
            for item in items {
                xml.within("member", |xml| fill(xml, item));
            }
        });
    }

    /// A map from texts to texts.
    pub(super) fn map(&mut self, name: &str, pairs: &Pairs) {
        self.within(name, |xml| {
            for (key, value) in pairs {
                xml.within("entry", |xml| {
                    xml.text("key", key);
                    xml.text("value", value);
                });
            }
        });
    }

    fn open(&mut self, name: &str) {
        self.0.extend(["<", name, ">"]);
    }

    fn close(&mut self, name: &str) {
        self.0.extend(["</", name, ">"]);
    }
}

/// The text without characters that XML 1.0 has no way to write.
fn xml_text(text: &str) -> String {
    if check_text(text).is_ok() {
        return text.to_owned();
    }
    let mut buffer = [0; 4];
    let allowed = |c: char, buffer: &mut [u8; 4]| check_text(c.encode_utf8(buffer)).is_ok();
    text.chars()
        .map(|c| match allowed(c, &mut buffer) {
            true => c,
            false => char::REPLACEMENT_CHARACTER,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_its_namespace_and_its_texts_are_escaped() {
        let pairs = Pairs::from([("k".to_owned(), "<&>\"\r\n".to_owned())]);
        let document = Xml::document("R", |xml| {
            xml.map("M", &pairs);
            xml.list("L", ["a", "b"], |xml, item| xml.text("I", item));
            xml.maybe("N", None);
            xml.text("T", "\u{1}é");
        });
        let expected = "<R xmlns=\"http://sns.amazonaws.com/doc/2010-03-31/\">\
            <M><entry><key>k</key><value>&lt;&amp;&gt;&quot;&#13;\n</value></entry></M>\
            <L><member><I>a</I></member><member><I>b</I></member></L>\
            <T>\u{FFFD}é</T></R>";
        assert_eq!(String::from_utf8(document).unwrap(), expected);
    }
}
