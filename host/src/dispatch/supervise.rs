//! Tasks that come back after a panic.

use std::any::Any;
use std::future::Future;
use std::time::Duration;

use tokio_util::task::AbortOnDropHandle;

use crate::backoff::Backoff;
use crate::observe::{Event, Observer};

/// Runs what `make` makes until it ends by itself. A panic is an event, and another is made after
/// a while. Dropping this future aborts the task.
pub(super) async fn supervise<F, Fut>(task: &'static str, observer: Observer, mut make: F)
where
    F: FnMut() -> Fut,
    Fut: Future<Output = ()> + Send + 'static,
{
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(20));
    loop {
        let Err(error) = AbortOnDropHandle::new(tokio::spawn(make())).await else {
            return;
        };
        // The other way a task fails is that its runtime shuts down.
        let Ok(panic) = error.try_into_panic() else {
            return;
        };
        let message = said(panic.as_ref());
        observer.emit(None, Event::Panicked { task, message });
        tokio::time::sleep(backoff.next_random()).await;
    }
}

fn said(panic: &(dyn Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<&str>() {
        text
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else {
        "it said nothing"
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;
    use crate::observe::Count;

    // Rule 2.4: nothing ends the pump, not even a fault of our own.
    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_is_started_again() {
        let observer = Observer::of_a_test();
        let starts = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&starts);
        supervise("test", observer.clone(), move || {
            let starts = Arc::clone(&counted);
            async move {
                assert!(starts.fetch_add(1, Relaxed) >= 2, "not yet");
            }
        })
        .await;
        assert_eq!(starts.load(Relaxed), 3);
        assert_eq!(observer.counters().get(Count::Panicked), 2);
    }
}
