//! Reading the files that the host is given.
//!
//! Invariant: whatever length a file says that it has, no more is read of it, and no more memory is
//! taken for it, than a file of its kind may have.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use crate::config::shown;
use crate::limits;

/// What a file is read as, and the most bytes of such a one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    what: &'static str,
    most: usize,
}

/// A `.wasm`.
pub(crate) const PLUGIN: Bound = Bound {
    what: "a plugin",
    most: limits::PLUGIN_FILE,
};
/// `queuelet.toml`, or a plugin's mount file.
pub(crate) const SETTINGS: Bound = Bound {
    what: "a file of settings",
    most: limits::TEXT_FILE,
};
/// A list of digests.
pub(crate) const PINS: Bound = Bound {
    what: "a list of digests",
    most: limits::TEXT_FILE,
};
/// A value of a guest's environment.
pub(crate) const VALUE: Bound = Bound {
    what: "a value of the environment",
    most: limits::ENVIRONMENT_VALUE,
};

/// Reads a whole file. A pipe or a device of that name is refused: it might never end, and opening
/// one can wait for a writer that never comes.
pub(crate) fn read(path: &Path, bound: Bound) -> io::Result<Vec<u8>> {
    let Bound { what, most } = bound;
    let (file, length) = opened(path)?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > most {
        let (is, most) = (shown(length), shown(most));
        let says = format!("it is {is}; {what} has at most {most}");
        return Err(io::Error::other(says));
    }
    let mut content = Vec::with_capacity(length);
    // One more shows that there is more, whatever length the file says that it has.
    file.take(most as u64 + 1).read_to_end(&mut content)?;
    if content.len() > most {
        let most = shown(most);
        let says = format!("it is longer than {most}; {what} has at most {most}");
        return Err(io::Error::other(says));
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
pub(crate) fn read_text(path: &Path, bound: Bound) -> io::Result<String> {
    String::from_utf8(read(path, bound)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rule 9.2.
    #[test]
    fn a_file_that_is_longer_than_its_kind_may_be_is_refused_and_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse");
        let file = File::create(&path).unwrap();
        for (bound, length, says) in [
            (
                PLUGIN,
                200 << 30,
                "it is 200GiB; a plugin has at most 256MiB",
            ),
            (
                SETTINGS,
                (1 << 20) + 1,
                "it is 1048577B; a file of settings has at most 1MiB",
            ),
            (
                PINS,
                1 << 40,
                "it is 1024GiB; a list of digests has at most 1MiB",
            ),
            (
                VALUE,
                1 << 20,
                "it is 1MiB; a value of the environment has at most 64KiB",
            ),
        ] {
            file.set_len(length).unwrap();
            assert_eq!(read(&path, bound).unwrap_err().to_string(), says);
        }
        file.set_len(VALUE.most as u64).unwrap();
        assert_eq!(read(&path, VALUE).unwrap().len(), VALUE.most);
    }

    // A file of the kernel's says that it is empty, and is not.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_file_has_counts_and_not_what_it_says() {
        let short = Bound {
            what: "a test",
            most: 3,
        };
        let path = Path::new("/proc/self/status");
        let refused = read(path, short).unwrap_err().to_string();
        assert_eq!(refused, "it is longer than 3B; a test has at most 3B");
        assert!(read_text(path, SETTINGS).unwrap().starts_with("Name:"));
    }
}
