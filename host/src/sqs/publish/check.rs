//! What SQS and SNS take: decided before anything is sent (rules 6.2 to 6.5). Pure.

use std::time::Duration;

use super::ids::{Groups, group, is_id};
use crate::handler::{Header, HeaderValue, Reply};
use crate::limits::{MAX_DELAY, MAX_HEADER_NAME, MAX_HEADERS};
use crate::line::name as shown;
use crate::sqs::api::Outgoing;
use crate::sqs::message::{Attribute, PARTITION_KEY};
use crate::sqs::payload::{MARKER, encode, is_text};

/// What a target takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Takes {
    /// A FIFO queue or topic.
    pub(super) fifo: bool,
    /// A topic.
    pub(super) topic: bool,
    /// How many bytes a message may have; none where the target does not say, and AWS judges.
    pub(super) maximum_size: Option<usize>,
}

/// Why a message cannot be sent. Sending it again changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It has a deduplication id, and the target is no FIFO one.
    NotFifo(String),
    /// It is larger than the target takes, as far as the target's limit is known.
    Size(String),
    /// Everything else.
    Invalid(String),
}

type Checked<T> = Result<T, Refusal>;

fn invalid<T>(why: impl Into<String>) -> Checked<T> {
    Err(Refusal::Invalid(why.into()))
}

/// The message that goes out for `reply`, once it is sure that AWS can take it. `derived` is its
/// deduplication id where it names none.
pub(super) fn outgoing(
    reply: Reply,
    takes: Takes,
    groups: Groups<'_>,
    derived: String,
) -> Checked<Outgoing> {
    if reply.body.is_empty() {
        return invalid("the body is empty, which SQS does not take: send at least one character");
    }
    let (group_id, deduplication_id) = ids(&reply, takes, groups, derived)?;
    let delay = delay(reply.delay, takes)?;
    let (body, marker) = encode(&reply.body);
    let encoded = marker.is_some();
    let headers = headers(reply.headers, marker)?;
    let message = Outgoing {
        body,
        headers,
        group_id,
        deduplication_id,
        delay,
    };
    let size = size(&message);
    match takes.maximum_size {
        Some(most) if size > most => {
            let encoded = if encoded {
                " (its body is no text that SQS takes and travels base64, a third longer)"
            } else {
                ""
            };
            Err(Refusal::Size(format!(
                "the message has {size} bytes with its headers{encoded}, and the target takes \
                 {most}: send less, or raise the target's MaximumMessageSize"
            )))
        }
        _ => Ok(message),
    }
}

/// How many bytes AWS counts: the body, and names, types and values of the attributes.
pub(super) fn size(message: &Outgoing) -> usize {
    let attributes = message.headers.iter().map(|header| {
        let Attribute {
            data_type,
            text,
            bytes,
        } = Attribute::from(header);
        let value = text.map_or(0, |text| text.len()) + bytes.map_or(0, |bytes| bytes.len());
        header.name.len() + data_type.len() + value
    });
    message.body.len() + attributes.sum::<usize>()
}

/// Rules 6.4 and 6.5.
fn ids(
    reply: &Reply,
    takes: Takes,
    groups: Groups<'_>,
    derived: String,
) -> Checked<(Option<String>, Option<String>)> {
    if !takes.fifo {
        if let Some(id) = &reply.deduplication_id {
            return Err(Refusal::NotFifo(format!(
                "the message has the deduplication id {:?}, which only a FIFO target knows: \
                 leave it out, or send to a target whose name ends in .fifo",
                shown(id)
            )));
        }
        return match &reply.group_id {
            Some(group) if !is_id(group) => invalid(wrong_id("its group id", group)),
            group => Ok((group.clone(), None)),
        };
    }
    let (group, by) = group(reply, groups);
    if !is_id(&group) {
        return invalid(wrong_id(by, &group));
    }
    let deduplication_id = reply.deduplication_id.clone().unwrap_or(derived);
    if !is_id(&deduplication_id) {
        return invalid(wrong_id("its deduplication id", &deduplication_id));
    }
    Ok((Some(group), Some(deduplication_id)))
}

fn wrong_id(which: &str, given: &str) -> String {
    let length = given.chars().count();
    format!(
        "{which} has {length} characters ({:?}): SQS takes 1 to 128 letters, digits and \
         punctuation marks of ASCII, and no blanks",
        shown(given)
    )
}

fn delay(delay: Option<Duration>, takes: Takes) -> Checked<Option<Duration>> {
    let Some(delay) = delay else { return Ok(None) };
    if delay > MAX_DELAY {
        return invalid(format!(
            "the delay is {delay:?}: SQS takes 0 s to {MAX_DELAY:?}"
        ));
    }
    match takes {
        // No delay at all is what these have.
        Takes { fifo: true, .. } | Takes { topic: true, .. } if delay.is_zero() => Ok(None),
        Takes { topic: true, .. } => invalid(format!(
            "the delay is {delay:?}, and SNS delivers at once: leave it out, or send to a queue"
        )),
        Takes { fifo: true, .. } => invalid(format!(
            "the delay is {delay:?}, and a FIFO queue delays all its messages alike or none: leave \
             it out, or give the queue a DelaySeconds"
        )),
        _ => Ok(Some(delay)),
    }
}

/// The headers that go out as attributes, the marker behind them.
fn headers(given: Vec<Header>, marker: Option<Header>) -> Checked<Vec<Header>> {
    let mut headers: Vec<Header> = Vec::new();
    for header in given {
        if header.name == PARTITION_KEY {
            continue;
        }
        let header = checked(header)?;
        if headers.iter().any(|other| other.name == header.name) {
            return invalid(format!("the header {} stands there twice", header.name));
        }
        headers.push(header);
    }
    let own = headers.len();
    let marked = marker.is_some();
    headers.extend(marker);
    if headers.len() > MAX_HEADERS {
        let last = &headers[MAX_HEADERS - usize::from(marked)].name;
        let counted = if marked {
            format!(", and {MARKER} is one more (the body travels base64)")
        } else {
            String::new()
        };
        return invalid(format!(
            "the message has {own} headers{counted}: SQS takes {MAX_HEADERS}, and {last} is the \
             first too many"
        ));
    }
    Ok(headers)
}

/// One header as SQS takes it, which for some texts is as bytes.
fn checked(mut header: Header) -> Checked<Header> {
    let name = header.name.clone();
    if let Some(fault) = fault_of_name(&name) {
        return invalid(format!("the header {:?} {fault}", shown(&name)));
    }
    if let Some(fault) = fault_of_label(&header) {
        return invalid(format!("the header {name} {fault}"));
    }
    let empty = match &header.value {
        HeaderValue::Text(text) | HeaderValue::Number(text) => text.is_empty(),
        HeaderValue::Bytes(bytes) => bytes.is_empty(),
    };
    if empty {
        return invalid(format!(
            "the header {name} has an empty value, which SQS does not take: leave the header out"
        ));
    }
    match &mut header.value {
        HeaderValue::Text(text) if !is_text(text) => {
            header.value = HeaderValue::Bytes(std::mem::take(text).into());
        }
        HeaderValue::Number(text) if !is_number(text) => {
            return invalid(format!(
                "the header {name} is the number {:?}: SQS takes up to 38 digits, from 10^-128 to \
                 10^126; send it as text",
                shown(text)
            ));
        }
        _ => {}
    }
    Ok(header)
}

fn fault_of_name(name: &str) -> Option<&'static str> {
    let is_name_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let reserved = |prefix: &str| {
        let head = name.get(..prefix.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(prefix))
    };
    Some(if name.is_empty() {
        "has no name"
    } else if name.len() > MAX_HEADER_NAME {
        "has a longer name than the 256 characters that SQS takes"
    } else if !name.chars().all(is_name_char) {
        "has a name with other characters than letters, digits, '_', '-' and '.'"
    } else if name.starts_with('.') || name.ends_with('.') {
        "has a name that begins or ends with a dot"
    } else if name.contains("..") {
        "has a name with two dots in a row"
    } else if reserved("AWS.") || reserved("Amazon.") {
        "has a name that begins with AWS. or Amazon., which AWS keeps for itself"
    } else if name == MARKER {
        "is the host's own, to mark a body that it has encoded: leave it out"
    } else {
        return None;
    })
}

/// The label has to fit into the data type: up to 256 of the characters of a name.
fn fault_of_label(header: &Header) -> Option<&'static str> {
    let label = header.label.as_deref()?;
    let is_label_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    // As bytes a text's data type is as long as `Binary`.
    let longest = MAX_HEADER_NAME - "Binary.".len();
    let fits = (1..=longest).contains(&label.len()) && label.chars().all(is_label_char);
    (!fits).then_some(
        "has a label that SQS does not take: it has 1 to 249 letters, digits, '_', '-' and '.'",
    )
}

/// Whether SQS takes a text as a number: an optional sign, up to 38 digits with at most one point
/// among them, and an optional exponent, from 10^-128 to 10^126.
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()),
        None => (unsigned, Some(0)),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    let is_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let (true, Some(exponent)) = (is_digits, exponent) else {
        return false;
    };
    let significant = digits.trim_start_matches('0');
    let leading_zeros = digits.len() - significant.len();
    if significant.is_empty() {
        return true;
    }
    // The power of ten of the first digit that counts.
    let place = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    let power = place(whole.len())
        .saturating_sub(1)
        .saturating_sub(place(leading_zeros))
        .saturating_add(exponent);
    significant.trim_end_matches('0').len() <= 38 && (-128..=126).contains(&power)
}

#[cfg(test)]
mod tests;
