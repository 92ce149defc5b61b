//! From a message to what a handler takes.

use std::borrow::Borrow;
use std::ops::Deref;

use serde::Deserialize;

use crate::{Context, Failure, Message};

/// What a handler of single messages may take: whatever serde reads from JSON, borrowed from the
/// body where the type borrows; [`Body`] for the bytes as they came; `&Message` for the whole
/// message, or [`Message`] for a copy of it.
#[diagnostic::on_unimplemented(
    message = "a handler cannot take `{Self}`",
    label = "not something a message can be read as",
    note = "a handler takes a type that implements `serde::Deserialize`, `&[u8]` for the body as it came, or `&Message`"
)]
pub trait FromMessage<'m>: Sized {
    /// Reads the message.
    ///
    /// # Errors
    ///
    /// A failure of kind decode where the body is something else.
    fn from_message(message: &'m Message) -> Result<Self, Failure>;
}

/// What one element of a batch may be: whatever serde reads from JSON; [`Delivery`] for that and
/// its context; [`Message`] for the whole message.
#[diagnostic::on_unimplemented(
    message = "a batch cannot consist of `{Self}`",
    label = "not something a message can be read as",
    note = "an element of a batch is a type that implements `serde::Deserialize`, a `Delivery` of one, or a `Message`"
)]
pub trait BatchElement<'m>: Sized {
    /// Reads the message.
    ///
    /// # Errors
    ///
    /// A failure of kind decode where the body is something else.
    fn from_message(message: &'m mut Message) -> Result<Self, Failure>;
}

/// The body of a message as it came, undecoded. It is what `&[u8]` is read through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Body<'m>(&'m [u8]);

/// One element of a batch with all that came with it.
///
/// ```
/// use std::time::Duration;
/// use queuelet_guest::{subscriber, Delivery, HandlerOutcome, SqsQueue};
///
/// #[subscriber(SqsQueue::new("payments"))]
/// fn pay(payments: &[Delivery<u64>]) -> Vec<HandlerOutcome> {
///     payments
///         .iter()
///         .map(|payment| match payment.context.receive_count() {
///             Some(count) if count > 3 => HandlerOutcome::retry_after(Duration::from_secs(3600)),
///             _ => HandlerOutcome::ack(),
///         })
///         .collect()
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Delivery<T> {
    /// What the body holds.
    pub value: T,
    /// All but the body.
    pub context: Context,
}

impl<T> Deref for Delivery<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl Deref for Body<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0
    }
}

#[diagnostic::do_not_recommend]
impl<'m, T: Deserialize<'m>> FromMessage<'m> for T {
    fn from_message(message: &'m Message) -> Result<Self, Failure> {
        decode(message.body())
    }
}

impl<'m> FromMessage<'m> for Body<'m> {
    fn from_message(message: &'m Message) -> Result<Self, Failure> {
        Ok(Self(message.body()))
    }
}

impl<'m> FromMessage<'m> for &'m Message {
    fn from_message(message: &'m Message) -> Result<Self, Failure> {
        Ok(message)
    }
}

impl FromMessage<'_> for Message {
    fn from_message(message: &Message) -> Result<Self, Failure> {
        Ok(message.clone())
    }
}

#[diagnostic::do_not_recommend]
impl<'m, T: Deserialize<'m>> BatchElement<'m> for T {
    fn from_message(message: &'m mut Message) -> Result<Self, Failure> {
        decode(message.body())
    }
}

impl<'m, T: Deserialize<'m>> BatchElement<'m> for Delivery<T> {
    fn from_message(message: &'m mut Message) -> Result<Self, Failure> {
        let context = message.take_context();
        Ok(Self {
            value: decode(message.body())?,
            context,
        })
    }
}

impl BatchElement<'_> for Message {
    fn from_message(message: &mut Message) -> Result<Self, Failure> {
        Ok(std::mem::take(message))
    }
}

/// For `#[subscriber]`: what is read for a parameter `&Message`, where it cannot know whose
/// `Message` that is. The one of this crate is lent, one of the author's own is decoded.
#[doc(hidden)]
pub trait ByReference<'m> {
    /// What is read.
    type Held: FromMessage<'m> + Borrow<Self>;
}

impl<'m, T: Deserialize<'m>> ByReference<'m> for T {
    type Held = T;
}

impl<'m> ByReference<'m> for Message {
    type Held = &'m Message;
}

/// For `#[subscriber]`: the types that hold a batch, for one that goes by an alias.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not hold a batch",
    note = "a handler of batches takes a slice or a `Vec`"
)]
pub trait BatchParameter {
    /// What the batch consists of.
    type Element;

    /// The batch, lent.
    // A slice would not do: it cannot be lent as the `Vec` that one of the two types is.
    #[allow(clippy::ptr_arg)]
    fn lend(batch: &Vec<Self::Element>) -> &Self;
}

impl<T> BatchParameter for [T] {
    type Element = T;

    fn lend(batch: &Vec<T>) -> &Self {
        batch
    }
}

impl<T> BatchParameter for Vec<T> {
    type Element = T;

    fn lend(batch: &Vec<T>) -> &Self {
        batch
    }
}

fn decode<'m, T: Deserialize<'m>>(body: &'m [u8]) -> Result<T, Failure> {
    serde_json::from_slice(body).map_err(Failure::decode)
}
