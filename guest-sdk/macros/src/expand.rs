//! From a function to the trait that it stands for, and its export.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Expr, Item, ItemFn, Lifetime, Result, Type};

use crate::attribute::{Attribute, ReplyTo};
use crate::signature::{MESSAGE, Parameter, Passing, Signature, arguments_of, element_of, is_unit};

/// The function as it was written, and the handler made of it. A mistake is a compile error that
/// stands beside the function, so that the rest of the crate is checked as if there were none.
pub(crate) fn subscriber(attribute: TokenStream, item: TokenStream) -> TokenStream {
    match handler(attribute, item.clone()) {
        Ok(handler) => quote! { #item #handler },
        Err(error) => {
            let error = error.into_compile_error();
            quote! { #item #error }
        }
    }
}

fn handler(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let function = function(item)?;
    let attribute: Attribute = syn::parse2(attribute)?;
    let signature = Signature::of(&function, &attribute)?;
    let queue = queue(&attribute);

    let (implementation, kind) = match &signature.parameter {
        Parameter::Batch(ty, passing) => (
            batch(&function, &signature, &attribute, ty, *passing)?,
            "batch",
        ),
        _ => (single(&function, &signature, &attribute)?, "single"),
    };
    let export = format_ident!("__export_{kind}");
    Ok(quote! {
        ::queuelet_guest::__one_handler!();

        const _: () = {
            struct __Subscriber<'message>(::core::marker::PhantomData<&'message ()>);

            #implementation

            ::queuelet_guest::#export!(__hand_over, __Subscriber(::core::marker::PhantomData), #queue);
        };
    })
}

fn function(item: TokenStream) -> Result<ItemFn> {
    let span = item.span();
    match syn::parse2::<Item>(item) {
        Ok(Item::Fn(function)) => Ok(function),
        // A function that does not parse as an item has `self`, no body, or a mistake that rustc
        // reports better.
        Ok(other) => Err(Error::new(
            other.span(),
            "`#[subscriber]` goes on a function",
        )),
        Err(_) => Err(Error::new(
            span,
            "`#[subscriber]` goes on a free function with a body",
        )),
    }
}

/// The queue that the attribute names, with the target of replies among its settings.
fn queue(attribute: &Attribute) -> TokenStream {
    let queue = &attribute.queue;
    let queue = match queue {
        Expr::Path(path)
            if path
                .path
                .segments
                .last()
                .is_some_and(|last| last.ident == "SqsQueue") =>
        {
            quote_spanned! { queue.span()=> #queue::from_mount() }
        }
        _ => quote! { #queue },
    };
    match &attribute.reply {
        Some(ReplyTo::Destination(destination)) => {
            quote! { ::queuelet_guest::SqsQueue::reply(#queue, #destination) }
        }
        Some(ReplyTo::Mount) | None => queue,
    }
}

/// The span of all that is generated: its local names are out of the way of the author's.
fn here() -> Span {
    Span::mixed_site()
}

fn single(function: &ItemFn, signature: &Signature, attribute: &Attribute) -> Result<TokenStream> {
    let message = Lifetime::new(MESSAGE, function.sig.ident.span());
    let (input, argument) = match &signature.parameter {
        Parameter::Bytes => (
            quote_spanned! { here()=> ::queuelet_guest::Body<#message> },
            quote_spanned! { here()=> &input },
        ),
        Parameter::OwnedBytes => (
            quote_spanned! { here()=> ::queuelet_guest::Body<#message> },
            quote_spanned! { here()=> input.to_vec() },
        ),
        Parameter::Value(ty) => (
            quote_spanned! { here()=> #ty },
            quote_spanned! { here()=> input },
        ),
        Parameter::Reference(ty) => (
            quote_spanned! { here()=> #ty },
            quote_spanned! { here()=> &input },
        ),
        Parameter::List(element) => (
            quote_spanned! { here()=> ::std::vec::Vec<#element> },
            quote_spanned! { here()=> &input },
        ),
        Parameter::Message(ty) => (
            quote_spanned! { ty.span()=> <#ty as ::queuelet_guest::__private::ByReference<#message>>::Held },
            quote_spanned! { here()=> ::core::borrow::Borrow::borrow(&input) },
        ),
        Parameter::Batch(..) => unreachable!("a batch has an expansion of its own"),
    };
    let context = signature
        .takes_context
        .then(|| quote_spanned! { here()=> , context });
    let call = call(function, quote_spanned! { here()=> #argument #context });

    let (output, body) = if attribute.reply.is_some() {
        let returned = what_is_sent(function, signature)?;
        let sent = as_replies(returned, quote_spanned! { here()=> returned });
        (
            quote_spanned! { here()=> ::queuelet_guest::Answer },
            quote_spanned! { here()=> let returned = #call; ::queuelet_guest::IntoAnswer::into_answer(#sent) },
        )
    } else {
        let output = signature.output.as_ref().map_or_else(
            || quote_spanned! { here()=> () },
            |ty| quote_spanned! { here()=> #ty },
        );
        (output, call)
    };
    Ok(quote_spanned! { here()=>
        // Here the message must be readable as the type that the author wrote, and here rustc says
        // if it is not.
        fn __hand_over<'message>(
            handler: &__Subscriber<'message>,
            message: &'message ::queuelet_guest::Message,
        ) -> ::queuelet_guest::Answer {
            ::queuelet_guest::__private::handle_single::<#input, _>(handler, message)
        }

        impl<'message> ::queuelet_guest::Handle<#input> for __Subscriber<'message> {
            type Output = #output;

            async fn handle(&self, input: #input, context: &::queuelet_guest::Context) -> Self::Output {
                let _ = context;
                #body
            }
        }
    })
}

fn batch(
    function: &ItemFn,
    signature: &Signature,
    attribute: &Attribute,
    ty: &Type,
    passing: Passing,
) -> Result<TokenStream> {
    let element = match element_of(ty) {
        Some(element) => quote_spanned! { here()=> #element },
        None => {
            quote_spanned! { ty.span()=> <#ty as ::queuelet_guest::__private::BatchParameter>::Element }
        }
    };
    let argument = match passing {
        Passing::ByValue => quote_spanned! { here()=> batch },
        Passing::ByReference => {
            quote_spanned! { here()=> <#ty as ::queuelet_guest::__private::BatchParameter>::lend(&batch) }
        }
    };
    let call = call(function, argument);

    let (output, body) = if attribute.reply.is_some() {
        let returned = what_is_sent(function, signature)?;
        let Some(each) = element_of(returned) else {
            return Err(Error::new(
                returned.span(),
                "a handler of batches with `reply` returns a `Vec` with one reply for each message, or one `Result` \
                 for each: one outcome for all of them cannot be a reply",
            ));
        };
        let sent = as_replies(each, quote_spanned! { here()=> returned });
        (
            quote_spanned! { here()=> ::std::vec::Vec<::queuelet_guest::Answer> },
            quote_spanned! { here()=>
                let all = #call;
                all.into_iter().map(|returned| ::queuelet_guest::IntoAnswer::into_answer(#sent)).collect()
            },
        )
    } else {
        let output = signature.output.as_ref().map_or_else(
            || quote_spanned! { here()=> () },
            |ty| quote_spanned! { here()=> #ty },
        );
        (output, call)
    };
    Ok(quote_spanned! { here()=>
        fn __hand_over<'message>(
            handler: &__Subscriber<'message>,
            messages: &'message mut [::queuelet_guest::Message],
        ) -> ::std::vec::Vec<::queuelet_guest::Answer> {
            ::queuelet_guest::__private::handle_batch::<#element, _>(handler, messages)
        }

        impl<'message> ::queuelet_guest::HandleBatch<#element> for __Subscriber<'message> {
            type Output = #output;

            async fn handle_batch(&self, batch: ::std::vec::Vec<#element>) -> Self::Output {
                #body
            }
        }
    })
}

fn call(function: &ItemFn, arguments: TokenStream) -> TokenStream {
    let name = &function.sig.ident;
    if function.sig.asyncness.is_some() {
        quote_spanned! { here()=> #name(#arguments).await }
    } else {
        quote_spanned! { here()=> #name(#arguments) }
    }
}

/// The type that a handler with `reply` returns.
fn what_is_sent<'a>(function: &ItemFn, signature: &'a Signature) -> Result<&'a Type> {
    let sends_nothing = "a handler with `reply` returns what is to be sent: a type that serialises, `Reply`, \
                         `Vec<Reply>`, or a `Result` of one of them";
    match &signature.output {
        None => Err(Error::new(function.sig.ident.span(), sends_nothing)),
        Some(ty) => {
            let sent = arguments_of(ty, "Result")
                .and_then(|arguments| arguments.first().copied())
                .unwrap_or(ty);
            if is_unit(sent) {
                Err(Error::new(ty.span(), sends_nothing))
            } else {
                Ok(ty)
            }
        }
    }
}

/// `value`, of the type `ty`, as replies; within a `Result`, only where it is `Ok`.
fn as_replies(ty: &Type, value: TokenStream) -> TokenStream {
    let replies = |span, value: TokenStream| {
        quote_spanned! { span=> {
            #[allow(unused_imports)]
            use ::queuelet_guest::__private::ReturnedReplies as _;
            ::queuelet_guest::__private::Returned(#value).into_replies()
        } }
    };
    match arguments_of(ty, "Result") {
        Some(arguments) => {
            let span = arguments.first().map_or_else(|| ty.span(), Spanned::span);
            let replies = replies(span, quote_spanned! { here()=> sent });
            quote_spanned! { here()=> #value.map(|sent| #replies) }
        }
        None => replies(ty.span(), value),
    }
}
