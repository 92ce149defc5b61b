//! A body that SQS does not take as text travels base64, with a marker to tell it by (rules 3.5
//! and 6.2).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use crate::handler::{Header, HeaderValue, SqsMessage};

/// The header that marks an encoded body.
pub(super) const MARKER: &str = "queuelet-payload-encoding";
/// The markers that are honoured on receive: ours, and that of the service we stand in for.
const MARKERS: [&str; 2] = [MARKER, "ruststream-payload-encoding"];
/// The one encoding.
const BASE64: &str = "base64";

/// The characters that SQS takes in a body and in the text of an attribute. Of SNS they are asked
/// too, because its messages end in queues.
pub(super) fn is_text(text: &str) -> bool {
    text.chars().all(|c| {
        matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
    })
}

/// Whether a body travels base64, and so with one header more.
pub(crate) fn is_marked(body: &[u8]) -> bool {
    !std::str::from_utf8(body).is_ok_and(is_text)
}

/// The text that a body travels as, and the marker where it is not the body itself.
pub(super) fn encode(body: &[u8]) -> (String, Option<Header>) {
    match std::str::from_utf8(body) {
        Ok(text) if is_text(text) => (text.to_owned(), None),
        _ => {
            let marker = Header {
                name: MARKER.into(),
                value: HeaderValue::Text(BASE64.into()),
                label: None,
            };
            (STANDARD.encode(body), Some(marker))
        }
    }
}

/// Decodes the body of a message that carries a marker, and removes the marker. What is marked and
/// not base64 stays as it is and is said to be undecodable.
pub(super) fn decode(message: &mut SqsMessage) {
    let is_marker = |header: &Header| {
        MARKERS.contains(&header.name.as_str())
            && matches!(&header.value, HeaderValue::Text(text) if text.eq_ignore_ascii_case(BASE64))
    };
    let Some(marker) = message.headers.iter().find(|header| is_marker(header)) else {
        return;
    };
    match STANDARD.decode(&message.body) {
        Ok(body) => {
            message.body = Bytes::from(body);
            message.headers.retain(|header| !is_marker(header));
        }
        Err(error) => {
            let name = &marker.name;
            message.undecodable = Some(format!(
                "the attribute {name} says that the body is base64, and it is not: {error}"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str, value: &str) -> Header {
        Header {
            name: name.into(),
            value: HeaderValue::Text(value.into()),
            label: None,
        }
    }

    fn message(body: impl Into<Bytes>, headers: Vec<Header>) -> SqsMessage {
        SqsMessage {
            body: body.into(),
            headers,
            ..SqsMessage::default()
        }
    }

    // Rule 6.2.
    #[test]
    fn a_body_that_sqs_takes_as_text_travels_as_it_is() {
        for body in [
            "{\"a\": 1}\r\n\t",
            "\u{20}~",
            "\u{D7FF}\u{E000}\u{FFFD}",
            "\u{10FFFF}🦀",
        ] {
            assert_eq!(encode(body.as_bytes()), (body.to_owned(), None), "{body:?}");
        }
    }

    // Rules 3.5 and 6.2: valid UTF-8 or not.
    #[test]
    fn any_other_body_travels_base64_and_arrives_as_it_was() {
        let bodies: [&[u8]; 5] = [
            b"\0",
            "\u{FFFF}".as_bytes(),
            b"\x1b[0m",
            b"\xff\xfe",
            b"a\x0bb",
        ];
        for body in bodies {
            let (travels, marker) = encode(body);
            assert!(is_text(&travels), "{body:?}");
            let mut arrived = message(travels, vec![text("kept", "v"), marker.unwrap()]);
            decode(&mut arrived);
            assert_eq!(arrived, message(body.to_vec(), vec![text("kept", "v")]));
        }
    }

    // Rule 3.5.
    #[test]
    fn both_markers_are_honoured_on_receive() {
        for marker in ["queuelet-payload-encoding", "ruststream-payload-encoding"] {
            let mut arrived = message("AP8=", vec![text(marker, "base64")]);
            decode(&mut arrived);
            assert_eq!(arrived, message(vec![0, 255], vec![]), "{marker}");
        }
    }

    // Rule 3.5.
    #[test]
    fn a_marked_body_that_is_not_base64_is_said_to_be_undecodable() {
        for body in ["no base64", "AP8", "AP8=\n", "ÄÖ=="] {
            let mut arrived = message(body, vec![text(MARKER, "base64")]);
            decode(&mut arrived);
            let why = arrived.undecodable.as_deref().unwrap_or("decoded");
            assert!(why.contains(MARKER), "{body:?}: {why}");
            assert_eq!(
                arrived.body, body,
                "the body is left for whoever looks into it"
            );
        }
    }

    #[test]
    fn another_encoding_is_no_matter_of_ours() {
        let mut arrived = message("AP8=", vec![text(MARKER, "gzip")]);
        decode(&mut arrived);
        assert_eq!(arrived, message("AP8=", vec![text(MARKER, "gzip")]));
    }
}
