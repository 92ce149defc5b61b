//! Replies with what it knows of the handling: which version did it, when it began, and how often
//! the message had been received.
//!
//! A version is made of another one by writing other digits over those of [`VERSION`] in the file.

use std::hint::black_box;
use std::time::SystemTime;

use queuelet_guest::{Message, SqsQueue, subscriber};
use serde::Serialize;

/// What stands in the file.
static VERSION: &[u8; 24] = b"queuelet-version-0000001";

#[derive(Serialize)]
struct Handled {
    version: u32,
    /// Milliseconds since 1970.
    began: u64,
    receive_count: u32,
    body: String,
}

#[subscriber(SqsQueue::from_mount(), reply)]
fn tell(message: &Message) -> Result<Handled, String> {
    let began = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_err(|error| error.to_string())?;
    // Read at run time, or the compiler would have the number in the code.
    let digits = &black_box(VERSION)["queuelet-version-".len()..];
    let digits = String::from_utf8_lossy(digits);
    Ok(Handled {
        version: digits.parse().map_err(|_| format!("version {digits}"))?,
        began: began.as_millis().try_into().unwrap_or(u64::MAX),
        receive_count: message.context().receive_count().unwrap_or(0),
        body: String::from_utf8_lossy(message.body()).into_owned(),
    })
}
