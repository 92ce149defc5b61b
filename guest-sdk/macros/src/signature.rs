//! What the signature of a handler says about how it wants its messages.

use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Error, FnArg, GenericArgument, ItemFn, Lifetime, PathArguments, Result, ReturnType, Type,
    TypeReference,
};

use crate::attribute::{Attribute, Delivery};

/// The lifetime of the message, by which the anonymous lifetimes of a parameter go.
pub(crate) const MESSAGE: &str = "'message";

/// What a handler takes.
pub(crate) enum Parameter {
    /// `&[u8]`.
    Bytes,
    /// `Vec<u8>`.
    OwnedBytes,
    /// `T`.
    Value(Type),
    /// `&T`.
    Reference(Type),
    /// `&Message`, which may be the SDK's or the author's own.
    Message(Type),
    /// `&[T]` that is one message.
    List(Type),
    /// A slice or a `Vec`, or an alias of one, by reference or not.
    Batch(Type, Passing),
}

/// How a parameter is passed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passing {
    ByValue,
    ByReference,
}

/// A handler's signature, checked.
pub(crate) struct Signature {
    pub(crate) parameter: Parameter,
    pub(crate) takes_context: bool,
    /// Absent where the function returns nothing.
    pub(crate) output: Option<Type>,
}

impl Signature {
    pub(crate) fn of(function: &ItemFn, attribute: &Attribute) -> Result<Self> {
        refuse_what_no_handler_has(function)?;

        let mut types = Vec::new();
        for argument in &function.sig.inputs {
            match argument {
                FnArg::Receiver(receiver) => {
                    return Err(Error::new(
                        receiver.span(),
                        "a handler is a free function: a type that handles messages implements \
                         `queuelet_guest::Handle` and is exported with `export!`",
                    ));
                }
                FnArg::Typed(typed) => types.push(&*typed.ty),
            }
        }
        let (first, context) = match types.as_slice() {
            [first] => (*first, None),
            [first, context] => (*first, Some(*context)),
            [] => {
                return Err(Error::new(
                    function.sig.ident.span(),
                    "a handler takes a message: a type that serde reads, `&[u8]` or `&Message`, or a slice of one for \
                     batches",
                ));
            }
            [_, _, third, ..] => {
                return Err(Error::new(
                    third.span(),
                    "a handler takes a message and, if it likes, a `&Context`: nothing more",
                ));
            }
        };

        let parameter = Parameter::of(first, attribute.delivery)?;
        if let Some(context) = context {
            if matches!(parameter, Parameter::Batch(..)) {
                return Err(Error::new(
                    context.span(),
                    "a handler of batches takes the batch alone: `&[Delivery<T>]` gives each message with its context",
                ));
            }
            if !matches!(context, Type::Reference(reference) if reference.mutability.is_none()) {
                return Err(Error::new(
                    context.span(),
                    "the second parameter of a handler is `&Context`",
                ));
            }
        }
        Ok(Self {
            parameter,
            takes_context: context.is_some(),
            output: returned(&function.sig.output),
        })
    }
}

fn refuse_what_no_handler_has(function: &ItemFn) -> Result<()> {
    let signature = &function.sig;
    if let Some(parameter) = signature
        .generics
        .params
        .iter()
        .find(|one| !matches!(one, syn::GenericParam::Lifetime(_)))
    {
        return Err(Error::new(
            parameter.span(),
            "a handler cannot be generic: the host calls one function with one type of message",
        ));
    }
    if let Some(lifetime) = signature.generics.params.first() {
        return Err(Error::new(
            lifetime.span(),
            "a handler names no lifetimes: write `'_`, and what it takes lives for the call",
        ));
    }
    if let Some(keyword) = &signature.unsafety {
        return Err(Error::new(
            keyword.span(),
            "a handler cannot be `unsafe`: nobody could vouch for the host's call",
        ));
    }
    if let Some(variadic) = &signature.variadic {
        return Err(Error::new(
            variadic.span(),
            "a handler takes a fixed number of parameters",
        ));
    }
    Ok(())
}

impl Parameter {
    fn of(ty: &Type, delivery: Option<Delivery>) -> Result<Self> {
        if let Type::ImplTrait(_) = ty {
            return Err(Error::new(
                ty.span(),
                "a handler cannot be generic: name the type that it takes",
            ));
        }
        let mut owned = strip(ty).clone();
        let passing = match &mut owned {
            Type::Reference(TypeReference {
                mutability: Some(_),
                ..
            }) => {
                return Err(Error::new(
                    ty.span(),
                    "a handler takes its message as `T` or `&T`, not `&mut T`",
                ));
            }
            Type::Reference(reference) => {
                owned = (*reference.elem).clone();
                Passing::ByReference
            }
            _ => Passing::ByValue,
        };
        let inner = strip(&owned).clone();

        if let Some(element) = element_of(&inner) {
            if is_ident(element, "u8") && delivery.is_none() {
                return Ok(match passing {
                    Passing::ByReference => Self::Bytes,
                    Passing::ByValue => Self::OwnedBytes,
                });
            }
            if delivery != Some(Delivery::Single) {
                refuse_lists_of_bytes(element)?;
                return Ok(Self::Batch(of_message(inner), passing));
            }
        }
        if delivery == Some(Delivery::Batch) {
            return Ok(Self::Batch(of_message(inner), passing));
        }
        if is_ident(&inner, "str") {
            return Err(Error::new(
                ty.span(),
                "`&str` could be the body or a JSON string: take `&[u8]` for the body as it came, or `String` for a \
                 JSON string",
            ));
        }
        if passing == Passing::ByValue {
            return Ok(Self::Value(of_message(inner)));
        }
        Ok(match &inner {
            Type::Slice(list) => Self::List(of_message((*list.elem).clone())),
            Type::Path(path)
                if path
                    .path
                    .segments
                    .last()
                    .is_some_and(|last| last.ident == "Message") =>
            {
                Self::Message(of_message(inner))
            }
            _ => Self::Reference(of_message(inner)),
        })
    }
}

/// `&[Vec<u8>]` would be read as JSON lists of numbers, which nobody means who writes it.
fn refuse_lists_of_bytes(element: &Type) -> Result<()> {
    let inner = match element {
        Type::Reference(reference) => &*reference.elem,
        other => other,
    };
    if element_of(inner).is_some_and(|byte| is_ident(byte, "u8")) {
        return Err(Error::new(
            element.span(),
            "a batch of undecoded bodies is `&[Message]`: `Message::body` gives the bytes",
        ));
    }
    Ok(())
}

/// The `T` of `[T]` and `Vec<T>`.
pub(crate) fn element_of(ty: &Type) -> Option<&Type> {
    match strip(ty) {
        Type::Slice(slice) => Some(&slice.elem),
        other => match arguments_of(other, "Vec")?.as_slice() {
            [element] => Some(element),
            _ => None,
        },
    }
}

/// The types between the angle brackets of a path that ends with `name`.
pub(crate) fn arguments_of<'a>(ty: &'a Type, name: &str) -> Option<Vec<&'a Type>> {
    let Type::Path(path) = strip(ty) else {
        return None;
    };
    let last = path.path.segments.last()?;
    if last.ident != name {
        return None;
    }
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return Some(Vec::new());
    };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    Some(types.collect())
}

pub(crate) fn is_unit(ty: &Type) -> bool {
    matches!(strip(ty), Type::Tuple(tuple) if tuple.elems.is_empty())
}

fn is_ident(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident(name))
}

/// Without the parentheses and invisible groups that macros leave round a type.
fn strip(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => strip(&group.elem),
        Type::Paren(paren) => strip(&paren.elem),
        other => other,
    }
}

fn returned(output: &ReturnType) -> Option<Type> {
    match output {
        ReturnType::Default => None,
        ReturnType::Type(_, ty) => Some((**ty).clone()),
    }
}

/// Gives the anonymous lifetimes of a type the name of the message's, so that it can stand in the
/// header of an `impl`.
fn of_message(mut ty: Type) -> Type {
    struct Name;

    impl VisitMut for Name {
        fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
            if lifetime.ident == "_" {
                *lifetime = Lifetime::new(MESSAGE, lifetime.span());
            }
        }

        fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
            let span = reference.span();
            reference
                .lifetime
                .get_or_insert_with(|| Lifetime::new(MESSAGE, span));
            visit_mut::visit_type_reference_mut(self, reference);
        }
    }

    Name.visit_type_mut(&mut ty);
    ty
}
