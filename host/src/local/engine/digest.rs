//! The MD5 sums SQS gives so that a client can see whether its message arrived whole, and the sum it
//! knows a repeated body by.

use super::attribute::{Attributes, Data};
use md5::{Digest, Md5};
use sha2::Sha256;

/// The MD5 of `bytes` in lower-case hex.
pub(crate) fn md5_hex(bytes: &[u8]) -> String {
    hex(&Md5::digest(bytes))
}

/// The SHA-256 of `bytes` in lower-case hex: what a FIFO queue knows a body by.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The MD5 of message attributes: of each, by name in order, the length and bytes of its name, its
/// type, a byte that tells text from binary, and its value. `None` if there are none.
pub(crate) fn md5_of_attributes<'a>(
    attributes: impl IntoIterator<Item = (&'a String, &'a super::attribute::Attribute)>,
) -> Option<String> {
    let mut sum = Md5::new();
    let mut any = false;
    for (name, attribute) in attributes {
        any = true;
        put(&mut sum, name.as_bytes());
        put(&mut sum, attribute.data_type.as_bytes());
        match &attribute.data {
            Data::Text(text) => {
                sum.update([1]);
                put(&mut sum, text.as_bytes());
            }
            Data::Binary(bytes) => {
                sum.update([2]);
                put(&mut sum, bytes);
            }
        }
    }
    any.then(|| hex(&sum.finalize()))
}

/// Adds a length of four bytes, big end first, and the bytes.
fn put(sum: &mut Md5, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    sum.update(length.to_be_bytes());
    sum.update(bytes);
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// The MD5 of the only system attribute that can be sent.
pub(crate) fn md5_of_trace_header(header: &str) -> Option<String> {
    let attribute = super::attribute::Attribute {
        data_type: "String".to_owned(),
        data: Data::Text(header.to_owned()),
    };
    md5_of_attributes(&Attributes::from([(
        "AWSTraceHeader".to_owned(),
        attribute,
    )]))
}

#[cfg(test)]
mod tests {
    use super::super::attribute::Attribute;
    use super::*;

    #[test]
    fn a_body_has_the_md5_that_any_md5_program_gives() {
        assert_eq!(md5_hex(b""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(
            md5_hex(b"This is a test message"),
            "fafb00f5732ab283681e124bf8747ed1"
        );
    }

    #[test]
    fn attributes_are_summed_by_name_in_order_with_lengths_and_kinds() {
        let attribute = |data_type: &str, data| Attribute {
            data_type: data_type.to_owned(),
            data,
        };
        let attributes = Attributes::from([
            ("b".to_owned(), attribute("Binary", Data::Binary(vec![7]))),
            (
                "a".to_owned(),
                attribute("String", Data::Text("x".to_owned())),
            ),
        ]);
        let laid_out = b"\0\0\0\x01a\0\0\0\x06String\x01\0\0\0\x01x\0\0\0\x01b\0\0\0\x06Binary\x02\0\0\0\x01\x07";
        assert_eq!(md5_of_attributes(&attributes), Some(md5_hex(laid_out)));
        assert_eq!(md5_of_attributes(&Attributes::new()), None);
    }
}
