//! Drives the future of one call to its end.
//!
//! A component runs one call at a time on one thread, and the host does not call back. So once a
//! poll has returned, nothing runs that could wake the future later: either it woke itself while it
//! was polled, or it waits for ever.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// A future that waits for something that cannot come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stuck;

impl Stuck {
    pub(crate) const MESSAGE: &str = "the handler's future waits for something that nothing in this component can \
        bring about: an async handler may await what completes within its own call, and not timers, sockets or \
        channels of another runtime";
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The output of `future`, or [`Stuck`] once a poll has left it pending with nobody to wake it.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> Result<T, Stuck> {
    let mut future = pin!(future);
    // Nearly every handler ends with its first poll. That one needs no waker, and so no allocation:
    // should it be woken, the poll that follows in any case is all that it would have asked for.
    if let Poll::Ready(output) = future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        return Ok(output);
    }

    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Ok(output);
        }
        if !woken.0.swap(false, Ordering::Relaxed) {
            return Err(Stuck);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, poll_fn};

    #[test]
    fn a_future_that_is_ready_is_polled_once() {
        let mut polls = 0;
        let output = run(poll_fn(|_| {
            polls += 1;
            Poll::Ready(7)
        }));
        assert_eq!(output, Ok(7));
        assert_eq!(polls, 1);
    }

    #[test]
    fn a_future_that_wakes_itself_is_driven_to_its_end() {
        let mut left = 3;
        let output = run(poll_fn(|context| {
            if left == 0 {
                return Poll::Ready("done");
            }
            left -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        }));
        assert_eq!(output, Ok("done"));
    }

    #[test]
    fn a_future_that_nothing_can_wake_is_stuck_and_does_not_spin() {
        let mut polls = 0;
        let output = run(poll_fn(|_| {
            polls += 1;
            Poll::<()>::Pending
        }));
        assert_eq!(output, Err(Stuck));
        assert_eq!(polls, 2);
        assert_eq!(run(pending::<()>()), Err(Stuck));
    }

    #[test]
    fn a_waker_that_is_kept_past_the_call_harms_nobody() {
        let mut kept = None;
        let output = run(poll_fn(|context| {
            kept = Some(context.waker().clone());
            Poll::Ready(())
        }));
        assert_eq!(output, Ok(()));
        kept.expect("the future was polled").wake();
    }
}
