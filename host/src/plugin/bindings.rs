//! The contract's bindings, made from `wit/handler.wit`.
//!
//! One world a kind of handler. Parameters borrow, so that a message goes into a guest's memory
//! from where it lies, with no copy in between.

/// A handler that takes one message at a time.
pub(super) mod single {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "single-handler",
        ownership: Borrowing { duplicate_if_necessary: true },
        imports: {
            "queuelet:handler/publish.send": async,
            // One line too many ends the call.
            "queuelet:handler/log.emit": trappable,
        },
        exports: { default: async },
    });
}

/// A handler that takes batches.
pub(super) mod batch {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "batch-handler",
        ownership: Borrowing { duplicate_if_necessary: true },
        exports: { default: async },
        with: {
            "queuelet:handler/types": super::single::queuelet::handler::types,
            "queuelet:handler/log": super::single::queuelet::handler::log,
            "queuelet:handler/context": super::single::queuelet::handler::context,
            "queuelet:handler/publish": super::single::queuelet::handler::publish,
        },
    });
}
