//! What a guest prints, as log lines.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

use super::allowance::Allowance;
use super::bindings::single::queuelet::handler::log::{Field, Level};
use super::log::{Subject, fields_as_json};
use super::secrets::Secrets;
use super::voice::Spoken;
use crate::limits::GUEST_LINE;

/// Which of the two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

/// What a store's guest prints and logs: each line a log line, with the plugin, the queue and the
/// message of the call that the store serves.
pub(super) struct Output {
    /// How many bytes one call may print and log.
    most: usize,
    voice: Arc<Spoken>,
    state: Mutex<State>,
}

/// The call that is served.
#[derive(Default)]
struct State {
    subject: Arc<Subject>,
    stdout: Line,
    stderr: Line,
    /// How many bytes it printed and logged.
    said: usize,
    /// It said more than it may, and what is more is cut.
    is_cut: bool,
}

/// What ends a guest that prints or logs too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it printed and logged more than {0} bytes in one call (`max_output`)")]
pub(super) struct TooMuchOutput(pub(super) usize);

/// One of the guest's two streams.
#[derive(Clone)]
struct Printed {
    output: Arc<Output>,
    stream: Stream,
}

/// The line that is being written.
#[derive(Default)]
struct Line {
    text: Vec<u8>,
    /// How much of it was over the limit.
    cut: usize,
}

impl Line {
    /// Takes bytes, `most` of a line, and hands each line that ends in them to `done`.
    fn take(&mut self, bytes: &[u8], most: usize, mut done: impl FnMut(&str, usize)) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (content, ends) = match part.strip_suffix(b"\n") {
                Some(content) => (content, true),
                None => (part, false),
            };
            let room = most.saturating_sub(self.text.len()).min(content.len());
            self.text.extend_from_slice(&content[..room]);
            self.cut += content.len() - room;
            if ends {
                self.end(&mut done);
            }
        }
    }

    /// Leaves out what may be the beginning of a secret at its end.
    fn hold_back(&mut self, secrets: &Secrets) {
        let end = secrets.begins_at(&self.text);
        self.cut += self.text.len() - end;
        self.text.truncate(end);
    }

    fn end(&mut self, done: &mut impl FnMut(&str, usize)) {
        let text = String::from_utf8_lossy(&self.text);
        let text = text.trim_end_matches('\r');
        if !text.is_empty() {
            done(text, self.cut);
        }
        self.text.clear();
        self.cut = 0;
    }
}

impl Output {
    pub(super) fn new(allowance: &Allowance) -> Self {
        Self {
            most: allowance.output,
            voice: Arc::clone(&allowance.voice),
            state: Mutex::default(),
        }
    }

    /// Where the guest's `stream` goes to.
    pub(super) fn stream(output: &Arc<Self>, stream: Stream) -> impl StdoutStream + use<> {
        Printed {
            output: Arc::clone(output),
            stream,
        }
    }

    /// From now on the guest prints on behalf of `subject`.
    pub(super) fn begin(&self, subject: Subject) {
        let state = &mut *self.state();
        state.subject = Arc::new(subject);
        state.said = 0;
        state.is_cut = false;
    }

    pub(super) fn subject(&self) -> Arc<Subject> {
        Arc::clone(&self.state().subject)
    }

    /// Logs last lines that no line break ended.
    pub(super) fn finish(&self) {
        self.finish_lines(&mut self.state());
        self.voice.lines.tell_in_time();
    }

    /// Writes a line of `log.emit`.
    pub(super) fn emit(
        &self,
        level: Level,
        message: &str,
        fields: &[Field],
    ) -> Result<(), TooMuchOutput> {
        let lengths = fields
            .iter()
            .map(|field| field.name.len() + field.value.len());
        let length = lengths.fold(message.len(), usize::saturating_add);
        let state = &mut *self.state();
        self.spend(state, length)?;
        if self.voice.lines.may_write() {
            let (text, cut) = self.voice.secrets.cut(message, GUEST_LINE, 0);
            let fields = fields_as_json(fields, &self.voice.secrets);
            state.subject.say(level, &text, fields.as_deref(), cut);
        }
        Ok(())
    }

    fn print(&self, stream: Stream, bytes: &[u8]) -> Result<(), TooMuchOutput> {
        let state = &mut *self.state();
        let taken = bytes.len().min(self.most - state.said);
        let subject = &state.subject;
        let line = match stream {
            Stream::Stdout => &mut state.stdout,
            Stream::Stderr => &mut state.stderr,
        };
        // A secret at the end of a line must be whole to be found.
        let most = GUEST_LINE + self.voice.secrets.longest();
        line.take(&bytes[..taken], most, |text, cut| {
            self.log(subject, stream, text, cut);
        });
        self.spend(state, bytes.len())
    }

    /// Counts what the call says, and ends it with the first byte that it may not.
    fn spend(&self, state: &mut State, length: usize) -> Result<(), TooMuchOutput> {
        let said = state.said.saturating_add(length);
        state.said = said.min(self.most);
        if said <= self.most {
            return Ok(());
        }
        let over = TooMuchOutput(self.most);
        if !state.is_cut {
            // What is cut may be the rest of a secret.
            for line in [&mut state.stdout, &mut state.stderr] {
                line.hold_back(&self.voice.secrets);
            }
            self.finish_lines(state);
            state.is_cut = true;
            let text = format!("{over}: what is more is cut, and the call ends");
            state.subject.say(Level::Warn, &text, None, 0);
        }
        Err(over)
    }

    fn finish_lines(&self, state: &mut State) {
        let subject = &state.subject;
        for (stream, line) in [
            (Stream::Stdout, &mut state.stdout),
            (Stream::Stderr, &mut state.stderr),
        ] {
            line.end(&mut |text, cut| self.log(subject, stream, text, cut));
        }
    }

    fn log(&self, subject: &Subject, stream: Stream, text: &str, left_out: usize) {
        if !self.voice.lines.may_write() {
            return;
        }
        let (text, cut) = self.voice.secrets.cut(text, GUEST_LINE, left_out);
        let (level, name) = match stream {
            Stream::Stdout if cut == 0 => (Level::Info, "stdout"),
            Stream::Stdout => (Level::Warn, "stdout"),
            Stream::Stderr => (Level::Warn, "stderr"),
        };
        subject.say(level, &format!("{name}: {text}"), None, cut);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IsTerminal for Printed {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Printed {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl AsyncWrite for Printed {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let printed = self.output.print(self.stream, bytes);
        Poll::Ready(printed.map(|()| bytes.len()).map_err(io::Error::other))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Printed {
    async fn ready(&mut self) {}
}

impl OutputStream for Printed {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        let printed = self.output.print(self.stream, &bytes);
        printed.map_err(|over| StreamError::Trap(wasmtime::Error::new(over)))
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 << 10)
    }
}

#[cfg(test)]
mod tests {
    use super::super::rate::Lines;
    use super::*;

    fn lines(parts: &[&[u8]]) -> Vec<(String, usize)> {
        let mut got = Vec::new();
        let mut line = Line::default();
        for part in parts {
            line.take(part, GUEST_LINE, |text, cut| {
                got.push((text.to_owned(), cut))
            });
        }
        line.end(&mut |text: &str, cut| got.push((text.to_owned(), cut)));
        got
    }

    // Rule 9.4.
    #[test]
    fn a_line_is_whole_however_it_was_written() {
        assert_eq!(
            lines(&[b"one\ntw", b"o\r\n\n", b"three"]),
            [("one".into(), 0), ("two".into(), 0), ("three".into(), 0)]
        );
    }

    #[test]
    fn a_line_over_the_limit_is_cut_and_says_by_how_much() {
        let long = vec![b'x'; GUEST_LINE + 5];
        let got = lines(&[&long, b"yy\nnext\n"]);
        assert_eq!((got[0].0.len(), got[0].1), (GUEST_LINE, 7));
        assert_eq!(got[1], ("next".into(), 0));
    }

    #[test]
    fn bytes_that_are_no_text_do_no_harm() {
        assert_eq!(lines(&[b"a\xff\n"]), [("a\u{fffd}".into(), 0)]);
    }

    fn output(most: usize) -> Output {
        let lines = Arc::new(Lines::new("p".into(), "d".into()));
        let mut allowance = Allowance::standard(lines);
        allowance.output = most;
        Output::new(&allowance)
    }

    // Rule 9.4.
    #[test]
    fn a_call_may_say_so_many_bytes_and_is_ended_with_the_next() {
        let output = output(10);
        assert_eq!(output.print(Stream::Stdout, b"12345"), Ok(()));
        assert_eq!(output.emit(Level::Info, "67", &[]), Ok(()));
        assert_eq!(output.print(Stream::Stderr, b"890"), Ok(()));
        let over = Err(TooMuchOutput(10));
        assert_eq!(output.print(Stream::Stderr, b"1"), over);
        assert_eq!(output.emit(Level::Info, "1", &[]), over);
        // The next call begins anew.
        output.begin(Subject::default());
        assert_eq!(output.print(Stream::Stdout, b"1234567890"), Ok(()));
        assert_eq!(output.print(Stream::Stdout, b"1"), over);
    }

    // Rules 9.1 and 9.4.
    #[test]
    fn no_beginning_of_a_secret_stays_where_the_limit_cuts() {
        let secrets = Secrets::of(["hünter22"]);
        let whole = "key: hünter22".as_bytes();
        for end in "key: h".len()..whole.len() {
            let mut line = Line::default();
            line.take(&whole[..end], GUEST_LINE, |_, _| {});
            line.hold_back(&secrets);
            assert_eq!(line.text, b"key: ", "{end}");
            assert_eq!(line.cut, end - "key: ".len());
        }
        let mut line = Line::default();
        line.take(whole, GUEST_LINE, |_, _| {});
        line.hold_back(&secrets);
        assert_eq!(line.text, whole, "what is whole is found");
    }

    #[test]
    fn a_call_that_may_say_nothing_may_run() {
        let output = output(0);
        assert_eq!(output.print(Stream::Stdout, b""), Ok(()));
        assert_eq!(output.print(Stream::Stdout, b"1"), Err(TooMuchOutput(0)));
    }
}
