//! The macros that make a component of a handler.

/// Exports a [`Handle`](crate::Handle) and its descriptor: the crate becomes a component that takes
/// one message at a time.
///
/// The first argument is an expression that makes the handler, evaluated for each call; the second
/// is its [`SqsQueue`](crate::SqsQueue), without which the mount names the queue. A crate has one
/// `export!`, [`export_batch!`](crate::export_batch) or [`#[subscriber]`](crate::subscriber), and
/// `crate-type = ["cdylib"]`.
#[macro_export]
macro_rules! export {
    ($handler:expr $(,)?) => {
        $crate::export!($handler, $crate::SqsQueue::from_mount());
    };
    ($handler:expr, $queue:expr $(,)?) => {
        $crate::__one_handler!();
        $crate::__export_single!($crate::__private::handle_single, $handler, $queue);
    };
}

/// Exports a [`HandleBatch`](crate::HandleBatch) and its descriptor: the crate becomes a component
/// that takes what one receive brought as one call, which on a quiet queue is often one message. The
/// arguments are those of [`export!`](crate::export).
#[macro_export]
macro_rules! export_batch {
    ($handler:expr $(,)?) => {
        $crate::export_batch!($handler, $crate::SqsQueue::from_mount());
    };
    ($handler:expr, $queue:expr $(,)?) => {
        $crate::__one_handler!();
        $crate::__export_batch!($crate::__private::handle_batch, $handler, $queue);
    };
}

/// A second handler in the same module is told so by name. Across modules the linker finds the
/// export twice.
#[doc(hidden)]
#[macro_export]
macro_rules! __one_handler {
    () => {
        #[doc(hidden)]
        #[allow(dead_code, non_upper_case_globals)]
        const a_component_has_one_handler: () = ();
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __export_single {
    ($hand_over:path, $handler:expr, $queue:expr) => {
        const _: () = {
            $crate::__component!($queue);

            impl $crate::bindings::single::exports::queuelet::handler::single::Guest for __Component {
                fn handle(
                    message: $crate::bindings::types::Message,
                ) -> ::std::result::Result<
                    $crate::bindings::types::Outcome,
                    $crate::bindings::types::Failure,
                > {
                    $crate::__private::report_panics();
                    let message = $crate::Message::from(message);
                    $crate::__private::answer($hand_over(&$handler, &message))
                }
            }

            // The names of the exports are for wasm-ld alone; other linkers refuse them.
            #[cfg(target_family = "wasm")]
            $crate::bindings::single::export_single!(__Component);
            // Elsewhere nothing calls the handler, which is no reason to call it unused.
            #[cfg(not(target_family = "wasm"))]
            const _: () = {
                let _ = <__Component as $crate::bindings::single::exports::queuelet::handler::single::Guest>::handle;
                let _ = <__Component as $crate::bindings::shared::exports::queuelet::handler::descriptor::Guest>::settings;
            };
        };
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __export_batch {
    ($hand_over:path, $handler:expr, $queue:expr) => {
        const _: () = {
            $crate::__component!($queue);

            impl $crate::bindings::batch::exports::queuelet::handler::batch::Guest for __Component {
                fn handle(
                    messages: ::std::vec::Vec<$crate::bindings::types::Message>,
                ) -> ::std::vec::Vec<
                    ::std::result::Result<
                        $crate::bindings::types::Outcome,
                        $crate::bindings::types::Failure,
                    >,
                > {
                    $crate::__private::report_panics();
                    let mut messages: ::std::vec::Vec<$crate::Message> =
                        messages.into_iter().map($crate::Message::from).collect();
                    $hand_over(&$handler, &mut messages)
                        .into_iter()
                        .map($crate::__private::answer)
                        .collect()
                }
            }

            #[cfg(target_family = "wasm")]
            $crate::bindings::batch::export_batch!(__Component);
            // Elsewhere nothing calls the handler, which is no reason to call it unused.
            #[cfg(not(target_family = "wasm"))]
            const _: () = {
                let _ = <__Component as $crate::bindings::batch::exports::queuelet::handler::batch::Guest>::handle;
                let _ = <__Component as $crate::bindings::shared::exports::queuelet::handler::descriptor::Guest>::settings;
            };
        };
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __component {
    ($queue:expr) => {
        struct __Component;

        impl $crate::bindings::shared::exports::queuelet::handler::descriptor::Guest
            for __Component
        {
            fn settings() -> ::std::vec::Vec<(::std::string::String, ::std::string::String)> {
                $crate::__private::report_panics();
                $crate::__private::settings($queue)
            }
        }

        #[cfg(target_family = "wasm")]
        $crate::bindings::shared::export_descriptor!(__Component);
    };
}
