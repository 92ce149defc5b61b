//! The contract in `wit/handler.wit`, as Rust.
//!
//! The contract's two worlds share `types`, `log`, `context`, `publish` and `descriptor`. Generating each
//! world by itself would define those twice, so the worlds are taken apart here: one that holds
//! what both share, and one for each kind of handler. A component exports the first and one of the
//! others, and `wit-component` puts them together again, so that what is built is exactly a
//! `single-handler` or a `batch-handler`.

// Generated code: its documentation is that of the contract.
#![allow(missing_docs, unreachable_pub)]

/// What every handler has: the types, the imports and the descriptor.
pub mod shared {
    wit_bindgen::generate!({
        path: "../wit",
        inline: "
            package queuelet:guest-shared;
            world shared {
                import queuelet:handler/types@0.1.0;
                import queuelet:handler/log@0.1.0;
                import queuelet:handler/context@0.1.0;
                import queuelet:handler/publish@0.1.0;
                export queuelet:handler/descriptor@0.1.0;
            }
        ",
        world: "queuelet:guest-shared/shared",
        generate_all,
        generate_unused_types: true,
        additional_derives: [PartialEq],
        runtime_path: "::queuelet_guest::__private::rt",
        default_bindings_module: "::queuelet_guest::bindings::shared",
        export_macro_name: "export_descriptor",
        pub_export_macro: true,
    });
}

/// A handler that takes one message at a time.
pub mod single {
    wit_bindgen::generate!({
        path: "../wit",
        inline: "
            package queuelet:guest-single;
            world single {
                export queuelet:handler/single@0.1.0;
            }
        ",
        world: "queuelet:guest-single/single",
        with: {
            "queuelet:handler/types@0.1.0": crate::bindings::types,
            "queuelet:handler/single@0.1.0": generate,
        },
        runtime_path: "::queuelet_guest::__private::rt",
        default_bindings_module: "::queuelet_guest::bindings::single",
        export_macro_name: "export_single",
        pub_export_macro: true,
    });
}

/// A handler that takes batches.
pub mod batch {
    wit_bindgen::generate!({
        path: "../wit",
        inline: "
            package queuelet:guest-batch;
            world batch {
                export queuelet:handler/batch@0.1.0;
            }
        ",
        world: "queuelet:guest-batch/batch",
        with: {
            "queuelet:handler/types@0.1.0": crate::bindings::types,
            "queuelet:handler/batch@0.1.0": generate,
        },
        runtime_path: "::queuelet_guest::__private::rt",
        default_bindings_module: "::queuelet_guest::bindings::batch",
        export_macro_name: "export_batch",
        pub_export_macro: true,
    });
}

pub use shared::queuelet::handler::{context, log, publish, types};
