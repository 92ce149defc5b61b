//! An allocator that counts, and that remembers who asked where it is told to.

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// The system's allocator. While something is measured it counts; else it only looks whether
/// something is. A program that measures has it as its global allocator.
pub struct Counting;

static COUNTS: AtomicBool = AtomicBool::new(false);
static REMEMBERS: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static REMEMBERED: Mutex<Vec<Remembered>> = Mutex::new(Vec::new());

thread_local! {
    /// Whether this thread does what is not to be counted.
    static ASIDE: Cell<bool> = const { Cell::new(false) };
}

/// An allocation, and who asked for it.
pub(super) struct Remembered {
    pub(super) bytes: usize,
    pub(super) who: Backtrace,
}

/// What has been allocated while counting was on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Allocated {
    pub(super) allocations: u64,
    pub(super) bytes: u64,
}

impl Allocated {
    /// All until now.
    pub(super) fn now() -> Self {
        Self {
            allocations: ALLOCATIONS.load(Relaxed),
            bytes: BYTES.load(Relaxed),
        }
    }
}

/// Counts from here on, or no more.
pub(super) fn count(whether: bool) {
    COUNTS.store(whether, Relaxed);
}

/// Remembers from here on who allocates, or no more.
pub(super) fn remember(whether: bool) {
    REMEMBERS.store(whether, Relaxed);
}

/// What has been remembered since this was asked last.
pub(super) fn remembered() -> Vec<Remembered> {
    let mut remembered = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::take(&mut *remembered)
}

/// Does what is not to be counted: what stands in for SQS must cost nothing.
pub(super) fn aside<T>(work: impl FnOnce() -> T) -> T {
    let before = ASIDE.replace(true);
    let done = work();
    ASIDE.set(before);
    done
}

fn note(bytes: usize) {
    if !COUNTS.load(Relaxed) || ASIDE.get() {
        return;
    }
    ALLOCATIONS.fetch_add(1, Relaxed);
    BYTES.fetch_add(bytes as u64, Relaxed);
    if REMEMBERS.load(Relaxed) {
        aside(|| {
            let who = Backtrace::force_capture();
            let mut remembered = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
            remembered.push(Remembered { bytes, who });
        });
    }
}

// SAFETY: every call is the system allocator's own, with its own arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    // A list that grows allocates, wherever it comes to lie.
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}
