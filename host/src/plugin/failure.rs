//! Why a call ended without an answer, in the words of rule 5.6.

use super::deadline::TimeIsUp;
use super::limiter::Full;
use crate::handler::{Failure, Reason};

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
    let what = match error.downcast_ref::<wasmtime::Trap>() {
        Some(wasmtime::Trap::UnreachableCodeReached) => {
            "it panicked or aborted; what it said of that is logged before this".to_owned()
        }
        Some(wasmtime::Trap::StackOverflow) => {
            "it used up its stack: it calls itself too deeply, or keeps too much on the stack"
                .to_owned()
        }
        Some(trap) => trap.to_string(),
        None => error.root_cause().to_string(),
    };
    Failure::new(Reason::Trap, what)
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
            (Error::new(Trap::StackOverflow), Reason::Trap, "its stack"),
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
