//! The lines that wait for whoever reads the log.
//!
//! Invariants: nobody who says something waits for the reader; what waits has no more than
//! [`WAITING_LOG`] bytes; a line is written whole or left out, and how many were left out is told
//! of, as a line like others.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};

use crate::limits::{WAITING_LINES, WAITING_LOG};

/// How often it is said that lines were left out, while more of them are.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// Takes lines, and never waits.
#[derive(Clone)]
pub(super) struct Lines {
    thread: NonBlocking,
    waiting: Arc<Waiting>,
}

/// What has been taken and is not written yet.
#[derive(Default)]
struct Waiting {
    lines: AtomicUsize,
    bytes: AtomicUsize,
    /// How many lines there was no room for, that nobody was told of.
    left_out: AtomicU64,
}

/// Writes lines, from a thread of its own.
struct Sink<W, T> {
    writer: W,
    waiting: Arc<Waiting>,
    tell: T,
    told: Option<Instant>,
}

/// Writes lines to `writer` from a thread of its own. `tell` is to say, as a line like others, how
/// many were left out.
pub(super) fn written(
    writer: impl Write + Send + 'static,
    tell: impl Fn(u64) + Send + 'static,
) -> (Lines, WorkerGuard) {
    let waiting = Arc::new(Waiting::default());
    let sink = Sink {
        writer,
        waiting: Arc::clone(&waiting),
        tell,
        told: None,
    };
    let (thread, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(WAITING_LINES)
        .finish(sink);
    (Lines { thread, waiting }, guard)
}

impl Waiting {
    /// Makes room for a line, if there is some.
    fn add(&self, bytes: usize) -> bool {
        let lines = self.lines.fetch_add(1, Relaxed) + 1;
        let all = self.bytes.fetch_add(bytes, Relaxed) + bytes;
        let fits = lines <= WAITING_LINES && all <= WAITING_LOG;
        if !fits {
            self.left_out.fetch_add(1, Relaxed);
            self.remove(bytes);
        }
        fits
    }

    /// Whether that was the last line.
    fn remove(&self, bytes: usize) -> bool {
        self.bytes.fetch_sub(bytes, Relaxed);
        self.lines.fetch_sub(1, Relaxed) == 1
    }
}

/// Each write is one line.
impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.waiting.add(line.len()) {
            self.thread.write_all(line)?;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Each write is one line.
impl<W: Write, T: Fn(u64)> Write for Sink<W, T> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let written = self.writer.write_all(line);
        let is_last = self.waiting.remove(line.len());
        let now = Instant::now();
        let due = self.told.is_none_or(|told| now - told >= TOLD_EVERY);
        if due || is_last {
            let left_out = self.waiting.left_out.swap(0, Relaxed);
            if left_out > 0 {
                self.told = Some(now);
                (self.tell)(left_out);
            }
        }
        written.map(|()| line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Says what it is handed, and takes it when it is told to.
    struct Slow {
        go: mpsc::Receiver<()>,
        took: mpsc::Sender<usize>,
    }

    impl Write for Slow {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            let _ = self.took.send(line.len());
            // One whose other end is gone lets everything through.
            let _ = self.go.recv();
            Ok(line.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    // Rule 9.4.
    #[test]
    fn what_waits_is_bounded_by_bytes_and_what_is_more_is_counted() {
        let (go, told_to) = mpsc::channel();
        let (took, taken) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        let (mut lines, _guard) = written(Slow { go: told_to, took }, move |left_out| {
            let _ = tell.send(left_out);
        });
        lines.write_all(b"first\n").unwrap();
        // The thread is at it, and stays there: what comes now waits.
        assert_eq!(taken.recv().unwrap(), 6);
        let line = vec![b'x'; 1 << 20];
        for _ in 0..100 {
            lines.write_all(&line).unwrap();
        }
        let waiting = lines.waiting.bytes.load(Relaxed);
        assert!(waiting <= WAITING_LOG && waiting > WAITING_LOG - (2 << 20));
        drop(go);
        let written = (waiting >> 20) as u64;
        assert_eq!(told.recv().unwrap(), 100 - written);
        for _ in 0..written {
            assert_eq!(taken.recv().unwrap(), 1 << 20);
        }
    }

    // Rule 9.4.
    #[test]
    fn short_lines_are_bounded_by_their_number() {
        let waiting = Waiting::default();
        let fit = (0..2 * WAITING_LINES).filter(|_| waiting.add(1)).count();
        assert_eq!(fit, WAITING_LINES);
        assert_eq!(waiting.left_out.load(Relaxed), WAITING_LINES as u64);
        assert!(!waiting.remove(1));
        assert!(waiting.add(1));
    }
}
