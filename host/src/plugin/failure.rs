//! Why a call ended without an answer, in the words of rule 5.6.

use wasmtime::WasmBacktrace;
use wasmtime::component::ResourceTableError;

use super::deadline::TimeIsUp;
use super::limiter::Full;
use super::output::TooMuchOutput;
use crate::handler::{Failure, Reason};
use crate::limits::{GUEST_ANSWER, GUEST_HANDLES};

/// The failure that an error of wasmtime's means.
pub(super) fn failure(error: &wasmtime::Error) -> Failure {
    if let Some(exit) = error.downcast_ref::<wasmtime_wasi::I32Exit>() {
        // WASI 0.2 hands on whether the code was 0, and no more of it.
        let how = if exit.0 == 0 { "success" } else { "failure" };
        return Failure::new(
            Reason::Exit,
            format!("the handler ended its own process, with {how}; it must return instead"),
        );
    }
    if let Some(up) = error.downcast_ref::<TimeIsUp>() {
        return (*up).into();
    }
    if let Some(full) = error.downcast_ref::<Full>() {
        return Failure::new(Reason::Memory, full.to_string());
    }
    if let Some(over) = error.downcast_ref::<TooMuchOutput>() {
        return Failure::new(Reason::Trap, over.to_string());
    }
    if is_too_large(error) {
        let most = GUEST_ANSWER >> 20;
        // Whatever ends a guest while it runs carries where it was.
        return if error.is::<WasmBacktrace>() {
            let says = format!("it handed the host more than {most} MiB in one piece");
            Failure::new(Reason::Trap, says)
        } else {
            let says = format!("its answer has more than {most} MiB, and that is the most it may");
            Failure::new(Reason::Answer, says)
        };
    }
    if holds_too_much(error) {
        let says =
            format!("it holds {GUEST_HANDLES} things of the host at once, and asks for more");
        return Failure::new(Reason::Trap, says);
    }
    let what = match error.downcast_ref::<wasmtime::Trap>() {
        Some(wasmtime::Trap::UnreachableCodeReached) => {
            "it panicked or aborted; what it said of that is logged before this".to_owned()
        }
        Some(wasmtime::Trap::StackOverflow) => {
            "it used up its stack: it calls itself too deeply, or keeps too much on the stack"
                .to_owned()
        }
        // Languages that keep a stack of their own in memory run out of it like this.
        Some(trap @ wasmtime::Trap::MemoryOutOfBounds) => {
            format!("{trap}: it calls itself too deeply, or used an address that is none")
        }
        Some(trap) => trap.to_string(),
        None => error.root_cause().to_string(),
    };
    Failure::new(Reason::Trap, what)
}

/// Whether it wants a handle more than it may have: of WASI's things, or lent to the host in one call.
fn holds_too_much(error: &wasmtime::Error) -> bool {
    let root = error.root_cause().to_string();
    matches!(error.downcast_ref(), Some(ResourceTableError::Full))
        || root.contains("handle limit exceeded")
}

/// Whether the host refused to copy that much out of the guest. wasmtime keeps the error's type to
/// itself.
fn is_too_large(error: &wasmtime::Error) -> bool {
    let root = error.root_cause().to_string();
    root.contains("fuel allocated for hostcalls has been exhausted")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use wasmtime::{Error, Trap};
    use wasmtime_wasi::I32Exit;

    use super::*;

    // Rule 5.6.
    #[test]
    fn each_end_of_a_guest_has_its_word() {
        let second = Duration::from_secs(1);
        let table = [
            (Error::new(I32Exit(1)), Reason::Exit, "with failure"),
            (
                Error::new(TimeIsUp::Wall(second)),
                Reason::Timeout,
                "`timeout`",
            ),
            (
                Error::new(TimeIsUp::Cpu(second)),
                Reason::Timeout,
                "`cpu_time`",
            ),
            (
                Error::new(Full::Table { asked: 7 }),
                Reason::Memory,
                "table of 7",
            ),
            (Error::new(TooMuchOutput(9)), Reason::Trap, "`max_output`"),
            (
                Error::new(ResourceTableError::Full),
                Reason::Trap,
                "asks for more",
            ),
            (Error::new(Trap::StackOverflow), Reason::Trap, "its stack"),
            (
                Error::new(Trap::MemoryOutOfBounds),
                Reason::Trap,
                "too deeply",
            ),
            (
                Error::new(Trap::UnreachableCodeReached),
                Reason::Trap,
                "panicked or aborted",
            ),
            (
                Error::new(Trap::IntegerDivisionByZero),
                Reason::Trap,
                "divide by zero",
            ),
        ];
        for (error, reason, says) in table {
            // As wasmtime hands it over.
            let failure = failure(&error.context("error while executing at wasm backtrace"));
            assert_eq!(failure.reason, reason, "{failure}");
            assert!(failure.message.contains(says), "{failure}");
        }
    }
}
