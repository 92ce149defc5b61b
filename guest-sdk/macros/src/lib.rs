//! The macros of `queuelet-guest`, which exports them.

use proc_macro::TokenStream;

mod attribute;
mod expand;
mod signature;

/// Makes a function a handler, and the crate a component.
///
/// The first argument is the queue: `SqsQueue::new("orders")` with its settings, or `SqsQueue`
/// alone where the mount names it. After it may stand, in any order:
///
/// - `reply("orders-events")`: what the function returns is sent to that queue (a name, a URL or an
///   ARN) or topic (`sns:NAME` or an ARN), unless the mount names another. It is whatever
///   serialises, as JSON, or a `Reply` or `Vec<Reply>`, or an `Option` or a `Result` of one of
///   these. `reply` alone leaves the target to the mount.
/// - `batch`: the parameter is a batch, which is what one receive brought. A slice or a `Vec` is one
///   anyway; this is for an alias of one.
/// - `single`: the parameter is not a batch, though it is a slice or a `Vec`: the body is a JSON
///   list.
///
/// The function may be `async`. What it may take and return is listed at the head of the crate's
/// documentation.
#[proc_macro_attribute]
pub fn subscriber(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::subscriber(attribute.into(), item.into()).into()
}
