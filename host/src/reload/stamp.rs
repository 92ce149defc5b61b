//! What one look at the folder sees of a plugin: enough to tell that something has changed, and
//! nothing of what stands in the files.

use std::ffi::OsString;
use std::path::Path;

/// What is at a path, symbolic links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// A file, which alone is ever opened.
    File,
    /// A folder.
    Folder,
    /// A link to something that is not there.
    Dangling,
    /// What could block whoever opens it, or never end.
    Special(&'static str),
    /// Something that the host may not look at, or cannot.
    Unseen(std::io::ErrorKind),
}

impl FileKind {
    /// Why it cannot be read, where it cannot.
    pub(crate) fn trouble(self) -> Option<String> {
        match self {
            Self::File => None,
            Self::Folder => Some("it is a folder, not a file".into()),
            Self::Dangling => Some("it is a link to something that is not there".into()),
            Self::Special(what) => Some(format!("it is {what}, not a file")),
            Self::Unseen(why) => Some(format!("it cannot be read: {why}")),
        }
    }
}

/// What is at a path, and when it was changed. Two that are equal have one content, as far as a
/// look can tell; links are followed, so a link that leads elsewhere is another stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp {
    pub(crate) kind: FileKind,
    /// Device and inode, where the system has them.
    pub(crate) place: (u64, u64),
    pub(crate) size: u64,
    /// When the content changed: seconds and nanoseconds since 1970.
    pub(crate) modified: (i64, i64),
    /// When anything of it changed, its permissions included.
    pub(crate) changed: (i64, i64),
}

/// A plugin's files: the `.wasm`, and the mount file beside it where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) wasm: FileStamp,
    pub(crate) toml: Option<FileStamp>,
}

/// The name of a plugin's files without their endings. It may be no text; such a plugin is refused.
pub(crate) type Stem = OsString;

/// The paths of a plugin's two files.
pub(crate) fn files(folder: &Path, stem: &Stem) -> (std::path::PathBuf, std::path::PathBuf) {
    let with = |ending: &str| {
        let mut name = stem.clone();
        name.push(ending);
        folder.join(name)
    };
    (with(".wasm"), with(".toml"))
}
