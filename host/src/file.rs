//! Reading the files that the host is given.

use std::io;
use std::path::Path;

/// Reads a whole file. A pipe or a device of that name is refused: it might never end, and opening
/// one can wait for a writer that never comes.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    std::fs::read(path)
}

/// Reads a whole file of text, as [`read`] does.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}
