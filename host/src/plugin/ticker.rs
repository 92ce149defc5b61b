//! The clock that interrupts guests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::Instant;

use wasmtime::Engine;

use super::turns::Turns;
use crate::limits::EPOCH_TICK;

/// Moves the epoch, on a thread of its own, while any guest runs.
pub(super) struct Ticker {
    running: Arc<Running>,
    thread: Thread,
    handle: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Running {
    guests: AtomicUsize,
    over: AtomicBool,
}

impl Ticker {
    pub(super) fn start(engine: Engine, turns: Arc<Turns>) -> std::io::Result<Self> {
        let running = Arc::new(Running::default());
        let seen = Arc::clone(&running);
        let handle = std::thread::Builder::new()
            .name("epoch".into())
            .spawn(move || tick(&engine, &turns, &seen))?;
        Ok(Self {
            running,
            thread: handle.thread().clone(),
            handle: Some(handle),
        })
    }

    /// Ticks while the answer lives.
    pub(super) fn during(&self) -> Ticking<'_> {
        if self.running.guests.fetch_add(1, Ordering::SeqCst) == 0 {
            self.thread.unpark();
        }
        Ticking(&self.running)
    }
}

fn tick(engine: &Engine, turns: &Turns, running: &Running) {
    let mut next = Instant::now();
    while !running.over.load(Ordering::SeqCst) {
        if running.guests.load(Ordering::SeqCst) == 0 {
            std::thread::park();
            next = Instant::now();
            continue;
        }
        // By absolute time: the sum of many sleeps drifts.
        next += EPOCH_TICK;
        let now = Instant::now();
        if next > now {
            std::thread::sleep(next - now);
        } else {
            next = now;
        }
        engine.increment_epoch();
        turns.tick();
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.running.over.store(true, Ordering::SeqCst);
        self.thread.unpark();
        if let Some(handle) = self.handle.take() {
            let _ = handle.join();
        }
    }
}

pub(super) struct Ticking<'a>(&'a Running);

impl Drop for Ticking<'_> {
    fn drop(&mut self) {
        self.0.guests.fetch_sub(1, Ordering::SeqCst);
    }
}
