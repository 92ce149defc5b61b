//! Prints to stdout and to stderr, whole lines and half ones, and logs at every level with a field.

use std::io::{self, Write};

use queuelet_guest::{SqsQueue, log, subscriber};

#[subscriber(SqsQueue)]
fn print(body: &[u8]) -> io::Result<()> {
    let text = String::from_utf8_lossy(body);
    println!("stdout: {text}");
    eprintln!("stderr: {text}");
    let mut stdout = io::stdout().lock();
    write!(stdout, "one line ")?;
    stdout.flush()?;
    writeln!(stdout, "in two writes")?;
    stdout.write_all(b"bytes that are no text: \xff\xfe\n")?;
    write!(stdout, "a line without an end")?;
    stdout.flush()?;

    log::trace!("a trace line", body = text);
    log::debug!("a debug line", body = text);
    log::info!("an info line", body = text);
    log::warn!("a warn line", body = text);
    log::error!("an error line", body = text, two = 2);
    Ok(())
}
