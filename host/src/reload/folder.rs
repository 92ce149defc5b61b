//! One look at the plugins folder. It opens nothing but the folder.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::stamp::{FileKind, FileStamp, Stamp, Stem, files};

/// What a look has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Look {
    /// The plugins, by the name of their files.
    pub(crate) plugins: BTreeMap<Stem, Stamp>,
    /// Mount files without a `.wasm` beside them.
    pub(crate) orphans: Vec<PathBuf>,
    /// The folder itself: another one where a link was changed, or the folder replaced.
    pub(crate) folder: Option<FileStamp>,
}

impl Look {
    /// Device and inode of the folder.
    pub(crate) fn place(&self) -> Option<(u64, u64)> {
        self.folder.map(|folder| folder.place)
    }
}

/// Looks at `folder`. It may block.
///
/// # Errors
/// Where the folder cannot be read.
pub(crate) fn look(folder: &Path) -> io::Result<Look> {
    let mut look = Look {
        folder: stamp(folder),
        ..Look::default()
    };
    let mut tomls = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if is_hidden(&entry.file_name()) {
            continue;
        }
        let path = entry.path();
        let Some(stem) = path.file_stem().map(OsStr::to_owned) else {
            continue;
        };
        match path.extension().and_then(OsStr::to_str) {
            Some("wasm") => {
                if let Some(stamp) = plugin(folder, &stem) {
                    look.plugins.insert(stem, stamp);
                }
            }
            Some("toml") => tomls.push((stem, path)),
            _ => {}
        }
    }
    let orphans = tomls
        .into_iter()
        .filter(|(stem, _)| !look.plugins.contains_key(stem));
    look.orphans = orphans.map(|(_, path)| path).collect();
    look.orphans.sort();
    Ok(look)
}

/// Whether a name begins with a dot: a lock or a temporary file of an editor or of a copying program.
fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// The files of one plugin as they are; none where there is no `.wasm`.
pub(crate) fn plugin(folder: &Path, stem: &Stem) -> Option<Stamp> {
    let (wasm, toml) = files(folder, stem);
    Some(Stamp {
        wasm: stamp(&wasm)?,
        toml: stamp(&toml),
    })
}

/// What is at a path; none where nothing is.
pub(crate) fn stamp(path: &Path) -> Option<FileStamp> {
    match std::fs::metadata(path) {
        Ok(metadata) => Some(of(kind(metadata.file_type()), &metadata)),
        Err(error) => {
            // Something of the name is there, unless it has just gone.
            let link = std::fs::symlink_metadata(path).ok()?;
            let kind = match error.kind() {
                io::ErrorKind::NotFound => FileKind::Dangling,
                other => FileKind::Unseen(other),
            };
            Some(of(kind, &link))
        }
    }
}

fn kind(of: FileType) -> FileKind {
    if of.is_file() {
        FileKind::File
    } else if of.is_dir() {
        FileKind::Folder
    } else {
        FileKind::Special(special(of))
    }
}

#[cfg(unix)]
fn special(of: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if of.is_fifo() {
        "a named pipe"
    } else if of.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn special(_: FileType) -> &'static str {
    "something else"
}

#[cfg(unix)]
fn of(kind: FileKind, metadata: &Metadata) -> FileStamp {
    use std::os::unix::fs::MetadataExt;
    FileStamp {
        kind,
        place: (metadata.dev(), metadata.ino()),
        size: metadata.size(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    }
}

#[cfg(not(unix))]
fn of(kind: FileKind, metadata: &Metadata) -> FileStamp {
    let since = |time: io::Result<std::time::SystemTime>| {
        let since = time.ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some((
            i64::try_from(since.as_secs()).ok()?,
            since.subsec_nanos().into(),
        ))
    };
    let modified = since(metadata.modified()).unwrap_or_default();
    FileStamp {
        kind,
        place: (0, 0),
        size: metadata.len(),
        modified,
        changed: modified,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn kinds(look: &Look) -> Vec<(&str, FileKind)> {
        let plugins = look.plugins.iter();
        plugins
            .map(|(stem, stamp)| (stem.to_str().unwrap(), stamp.wasm.kind))
            .collect()
    }

    // Rule 8.1.
    #[test]
    fn a_look_sees_what_everything_is_and_opens_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a.wasm"), "x").unwrap();
        fs::write(at("a.toml"), "").unwrap();
        fs::create_dir(at("b.wasm")).unwrap();
        symlink(at("nowhere"), at("c.wasm")).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(at("d.wasm"))
            .status();
        assert!(made.unwrap().success());
        let _socket = UnixListener::bind(at("e.wasm")).unwrap();
        symlink("/dev/zero", at("f.wasm")).unwrap();
        symlink(at("g.wasm"), at("g.wasm")).unwrap();
        fs::write(at("h.toml"), "").unwrap();
        fs::write(at("README.md"), "").unwrap();
        fs::write(at("i.wasm.part"), "").unwrap();
        fs::write(at(".j.wasm"), "").unwrap();
        symlink("me@here.1", at(".#h.toml")).unwrap();
        let look = look(folder.path()).unwrap();
        let kinds = kinds(&look);
        assert_eq!(
            kinds[..6],
            [
                ("a", FileKind::File),
                ("b", FileKind::Folder),
                ("c", FileKind::Dangling),
                ("d", FileKind::Special("a named pipe")),
                ("e", FileKind::Special("a socket")),
                ("f", FileKind::Special("a device")),
            ]
        );
        assert!(matches!(kinds[6], ("g", FileKind::Unseen(_))), "{kinds:?}");
        assert_eq!(kinds.len(), 7);
        assert!(look.plugins[OsStr::new("a")].toml.is_some());
        assert!(look.plugins[OsStr::new("b")].toml.is_none());
        assert_eq!(look.orphans, [at("h.toml")]);
        for kind in &kinds[1..] {
            assert!(kind.1.trouble().is_some(), "{kind:?}");
        }
    }

    // Rule 8.1: a ConfigMap is changed by a link that is none of the plugins' files.
    #[test]
    fn a_link_above_a_file_that_leads_elsewhere_is_another_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for version in ["..1", "..2"] {
            fs::create_dir(at(version)).unwrap();
            fs::write(at(version).join("a.wasm"), "same size").unwrap();
        }
        symlink("..1", at("..data")).unwrap();
        symlink("..data/a.wasm", at("a.wasm")).unwrap();
        let before = look(folder.path()).unwrap();
        assert_eq!(kinds(&before), [("a", FileKind::File)]);
        assert_eq!(look(folder.path()).unwrap().plugins, before.plugins);
        symlink("..2", at("..data_tmp")).unwrap();
        fs::rename(at("..data_tmp"), at("..data")).unwrap();
        let after = look(folder.path()).unwrap();
        assert_ne!(after.plugins, before.plugins);
    }

    // Rule 8.1.
    #[test]
    fn each_way_to_replace_a_file_is_another_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a.wasm"), "one").unwrap();
        let mut seen = vec![look(folder.path()).unwrap().plugins];
        let mut other = || {
            let now = look(folder.path()).unwrap().plugins;
            assert!(!seen.contains(&now));
            seen.push(now);
        };
        fs::write(at("a.wasm"), "three").unwrap();
        other();
        fs::write(at("b"), "three").unwrap();
        fs::rename(at("b"), at("a.wasm")).unwrap();
        other();
        fs::write(at("a.toml"), "").unwrap();
        other();
        fs::remove_file(at("a.wasm")).unwrap();
        other();
    }
}
