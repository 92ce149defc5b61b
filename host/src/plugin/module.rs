//! From a core module to a component: what compilers make that know no components.
//!
//! A module that bindings were generated for carries the types of its world in custom sections. With
//! them its imports and exports are those of a component, and WASI's preview 1 is translated by an
//! adapter. What the module was is the host's business alone: the digest stays the file's.

use std::borrow::Cow;

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_component::{ComponentEncoder, metadata};

use super::contract::CONTRACT;

/// What a file's content is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// A component.
    Component,
    /// A core module.
    Module,
}

impl Format {
    /// Looks at the first eight bytes, which tell components and modules from what people take for
    /// one.
    pub(super) fn of(content: &[u8]) -> Result<Self, String> {
        let says = match content {
            [] => "it is empty",
            [0, b'a', b's', b'm', _, _, 1, 0, ..] => return Ok(Self::Component),
            [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => return Ok(Self::Module),
            [0, b'a', b's', b'm', ..] => {
                "it is WebAssembly of a version that this host does not know"
            }
            _ => "it is not WebAssembly",
        };
        Err(says.to_owned())
    }

    /// The component that `content` is, or that it becomes.
    ///
    /// # Errors
    /// A line that says what a module lacks.
    pub(super) fn component(self, content: &[u8]) -> Result<Cow<'_, [u8]>, String> {
        match self {
            Self::Component => Ok(content.into()),
            Self::Module => encode(content).map(Cow::Owned),
        }
    }
}

fn encode(module: &[u8]) -> Result<Vec<u8>, String> {
    let read = metadata::decode(module).map_err(|error| {
        format!(
            "it is a core module, and the type information in it cannot be read: {error:#}; build \
             it with `--target wasm32-wasip2`, or with an SDK and a wit-bindgen of today"
        )
    })?;
    if let (None, _) = read {
        return Err(format!(
            "it is a core module and no component, and no section component-type in it says what \
             of {CONTRACT} it imports and exports: build it with `--target wasm32-wasip2`, or with \
             bindings of {CONTRACT} (wit-bindgen, an SDK) and nothing that strips custom sections"
        ));
    }
    let fails = |error| {
        format!(
            "it is a core module and cannot become a component: {error:#}; a module may import \
             what its type information names, and {WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME}"
        )
    };
    let encoder = ComponentEncoder::default().validate(true);
    let encoder = encoder.module(module).map_err(fails)?;
    let adapter = (
        WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME,
        // A handler is called; it has no `main`.
        WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
    );
    let mut encoder = encoder.adapter(adapter.0, adapter.1).map_err(fails)?;
    encoder.encode().map_err(fails)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module with one custom section.
    fn module(section: &str, data: &[u8]) -> Vec<u8> {
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        let length = |length: usize| u8::try_from(length).expect("it is short");
        module.push(0);
        module.push(length(1 + section.len() + data.len()));
        module.push(length(section.len()));
        module.extend_from_slice(section.as_bytes());
        module.extend_from_slice(data);
        module
    }

    // Rule 8.2.
    #[test]
    fn what_is_neither_component_nor_module_is_told_by_what_it_is() {
        let table: [(&[u8], &str); 3] = [
            (b"", "empty"),
            (b"\x7fELF....", "not WebAssembly"),
            (b"\0asm\x07\0\0\0", "version"),
        ];
        for (content, says) in table {
            let error = Format::of(content).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        assert_eq!(Format::of(b"\0asm\x0d\0\x01\0"), Ok(Format::Component));
        assert_eq!(Format::of(b"\0asm\x01\0\0\0"), Ok(Format::Module));
    }

    // Rule 8.2.
    #[test]
    fn a_module_that_does_not_say_its_types_is_refused_with_what_to_do() {
        let table = [
            (b"\0asm\x01\0\0\0".to_vec(), "no section component-type"),
            (module("name", b"x"), "no section component-type"),
            (module("component-type:x", b"nonsense"), "cannot be read"),
            (b"\0asm\x01\0\0\0\x01".to_vec(), "cannot be read"),
        ];
        for (content, says) in table {
            let error = Format::Module.component(&content).unwrap_err();
            assert!(error.contains(says), "{error}");
            assert!(error.contains("wasm32-wasip2"), "{error}");
        }
    }
}
