//! What runs on a plugin's bytes and may panic on them: the compiler.
//!
//! Invariant: a panic of it is an error of that plugin, in one line, and nothing of it is printed.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`, and makes an error of its panic.
///
/// # Errors
/// What the panic says.
pub(super) fn contained<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    keep_quiet();
    let before = CONTAINED.replace(true);
    // What `work` holds is dropped with it.
    let done = catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(before);
    done.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        text.unwrap_or("it says nothing").to_owned()
    })
}

/// Panics are printed as ever, but for those that are contained. Threads of rayon do nothing but
/// compile.
fn keep_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !CONTAINED.get() && rayon::current_thread_index().is_none() {
                before(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rule 8.2.
    #[test]
    fn a_panic_is_an_error_with_its_words() {
        let deep = 900;
        assert_eq!(contained(|| 7), Ok(7));
        let formatted = contained(|| -> u8 { panic!("{deep} are too many") });
        assert_eq!(formatted, Err("900 are too many".to_owned()));
        let literal = contained(|| -> u8 { panic!("too many") });
        assert_eq!(literal, Err("too many".to_owned()));
        assert!(!CONTAINED.get());
    }
}
