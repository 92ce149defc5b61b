//! What stands between the parentheses of `#[subscriber(…)]`.

use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Ident, Result, Token, parenthesized};

/// The arguments of the attribute.
pub(crate) struct Attribute {
    /// The expression that makes the queue.
    pub(crate) queue: Expr,
    /// Whether, and where to, what the handler returns is sent.
    pub(crate) reply: Option<ReplyTo>,
    /// Whether the parameter is a batch, where the author says so.
    pub(crate) delivery: Option<Delivery>,
}

/// Where a reply goes.
pub(crate) enum ReplyTo {
    /// Where this expression says.
    Destination(Box<Expr>),
    /// Where the mount says.
    Mount,
}

/// How messages are handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Delivery {
    /// One by one.
    Single,
    /// As many as one receive brought.
    Batch,
}

impl Parse for Attribute {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.is_empty() {
            return Err(Error::new(
                Span::call_site(),
                "which queue? `#[subscriber(SqsQueue::new(\"name\"))]`, or `#[subscriber(SqsQueue)]` where the mount \
                 names it",
            ));
        }
        let mut attribute = Self {
            queue: input.parse()?,
            reply: None,
            delivery: None,
        };
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            attribute.parse_argument(input)?;
        }
        Ok(attribute)
    }
}

impl Attribute {
    fn parse_argument(&mut self, input: ParseStream<'_>) -> Result<()> {
        let name: Ident = input.call(syn::ext::IdentExt::parse_any)?;
        let twice = |name: &Ident| Error::new(name.span(), format!("`{name}` stands here twice"));
        match name.to_string().as_str() {
            "reply" => {
                if self.reply.is_some() {
                    return Err(twice(&name));
                }
                self.reply = Some(if input.peek(syn::token::Paren) {
                    let destination;
                    parenthesized!(destination in input);
                    if destination.is_empty() {
                        return Err(Error::new(
                            name.span(),
                            "reply where? `reply(\"queue\")`, or `reply` alone where the mount says it",
                        ));
                    }
                    ReplyTo::Destination(Box::new(destination.parse()?))
                } else {
                    ReplyTo::Mount
                });
            }
            "batch" | "single" => {
                if self.delivery.is_some() {
                    return Err(Error::new(
                        name.span(),
                        "a handler is either `batch` or `single`, said once",
                    ));
                }
                self.delivery = Some(if name == "batch" {
                    Delivery::Batch
                } else {
                    Delivery::Single
                });
            }
            _ => {
                return Err(Error::new(
                    name.span(),
                    format!(
                        "unknown argument `{name}`: after the queue may stand `reply(\"…\")`, `batch` or `single`; \
                         settings of the queue are methods of `SqsQueue`"
                    ),
                ));
            }
        }
        Ok(())
    }
}
