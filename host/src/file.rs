//! Reading the files that the host is given.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Reads a whole file. A pipe or a device of that name is refused: it might never end, and opening
/// one can wait for a writer that never comes.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    is_file(&std::fs::metadata(path)?)?;
    // It may have become another one in between.
    let mut file = open(path)?;
    let metadata = file.metadata()?;
    is_file(&metadata)?;
    let mut content = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    file.read_to_end(&mut content)?;
    Ok(content)
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
