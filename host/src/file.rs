//! Reading the files that the host is given.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Reads a whole file. A pipe or a device of that name is refused: it might never end, and opening
/// one can wait for a writer that never comes.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let (mut file, length) = opened(path)?;
    let mut content = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    file.read_to_end(&mut content)?;
    Ok(content)
}

/// Reads a whole file as [`read`] does, if it has no more than `most` bytes.
pub(crate) fn read_at_most(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let (file, _) = opened(path)?;
    let mut content = Vec::new();
    // One more shows that there is more, whatever length the file says that it has.
    file.take(most as u64 + 1).read_to_end(&mut content)?;
    if content.len() > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    Ok(content)
}

/// A file, open, and how long it says it is.
fn opened(path: &Path) -> io::Result<(File, u64)> {
    is_file(&std::fs::metadata(path)?)?;
    // It may have become another one in between.
    let file = open(path)?;
    let metadata = file.metadata()?;
    is_file(&metadata)?;
    Ok((file, metadata.len()))
}

fn is_file(metadata: &std::fs::Metadata) -> io::Result<()> {
    if metadata.is_file() {
        Ok(())
    } else {
        Err(io::Error::other("it is not a file"))
    }
}

/// Opens a file without waiting for whoever is at the other end of a pipe.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Reads a whole file of text, as [`read`] does.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}
