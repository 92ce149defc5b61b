//! The mount file of a plugin: `plugins/NAME.toml` beside `plugins/NAME.wasm` (SPEC 1.12).

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::document::{self, Node, Table};
use super::layer::Reading;
use super::problem::{Class, Level, Note, Place, Problem};

/// The key of the tables of a file that mounts its plugin more than once.
const MOUNT: &str = "mount";

/// A mount file that was read from the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountFile {
    /// Its path, as problems are to name it.
    pub path: PathBuf,
    /// What stands in it.
    pub text: String,
}

/// The mounts of a plugin, as they are written.
#[derive(Debug)]
pub(super) struct Mounts {
    /// What holds for each of them unless it says otherwise.
    pub(super) common: Reading,
    /// One or more.
    pub(super) tables: Vec<Mount>,
}

/// One mount, as it is written.
#[derive(Debug)]
pub(super) struct Mount {
    pub(super) reading: Reading,
    pub(super) place: Place,
}

impl Mounts {
    /// The one mount of a plugin that has no file: the descriptor alone.
    pub(super) fn of_descriptor() -> Self {
        Mounts {
            common: Reading::default(),
            tables: vec![Mount {
                reading: Reading::default(),
                place: Place::Descriptor,
            }],
        }
    }

    /// Reads a mount file.
    ///
    /// # Errors
    ///
    /// Every place where it is not TOML. Problems of settings are in the readings.
    pub(super) fn read(file: &MountFile) -> Result<Self, Vec<Problem>> {
        let mut root = document::parse(&file.path, &file.text)?;
        let place = root.place.clone();
        let Some(index) = root.entries.iter().position(|entry| entry.key == MOUNT) else {
            return Ok(Mounts {
                common: Reading::default(),
                tables: vec![Mount {
                    reading: Reading::mount(root.entries, &[MOUNT]),
                    place,
                }],
            });
        };
        let mounts = root.entries.remove(index);
        let mut common = Reading::mount(root.entries, &[MOUNT]);
        let tables = match mounts.node {
            Node::Tables(tables) => tables,
            other => {
                let message = match &other {
                    Node::Table(_) => {
                        "write [[mount]], with two brackets: a file may have several of them"
                            .to_owned()
                    }
                    other => format!(
                        "it takes tables, and this is {}; write [[mount]] over each mount",
                        other.kind()
                    ),
                };
                common.problems.push(
                    Problem::new(Class::Config, message)
                        .setting(MOUNT)
                        .at(&mounts.place),
                );
                // So that what stands in a `[mount]` is judged as well.
                match other {
                    Node::Table(table) => vec![table],
                    _ => vec![Table {
                        entries: Vec::new(),
                        place: mounts.place,
                    }],
                }
            }
        };
        let tables = tables.into_iter().map(|table| Mount {
            reading: Reading::mount(table.entries, &[]),
            place: table.place,
        });
        Ok(Mounts {
            common,
            tables: tables.collect(),
        })
    }
}

/// A warning for each mount file of a plugin folder that has no `.wasm` beside it: its mounts are
/// not served.
///
/// `files` are the files of the folder, in any order. A `queuelet.toml` among them is the host's.
pub fn mount_files_without_plugin<'a>(files: impl IntoIterator<Item = &'a Path>) -> Vec<Note> {
    let (mut mounts, mut plugins) = (BTreeSet::new(), BTreeSet::new());
    for file in files {
        match file.extension().and_then(OsStr::to_str) {
            Some("toml") if file.file_name() != Some(OsStr::new("queuelet.toml")) => {
                mounts.insert(file);
            }
            Some("wasm") => {
                plugins.insert(file.with_extension(""));
            }
            _ => {}
        }
    }
    mounts
        .into_iter()
        .filter(|mount| !plugins.contains(&mount.with_extension("")))
        .map(|mount| {
            let plugin = mount.file_stem().unwrap_or_default().to_string_lossy();
            let message = format!("nothing is mounted: there is no {plugin}.wasm beside it");
            Note::new(Level::Warn, message)
                .at(&Place::file(mount))
                .of(&plugin, None)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // SPEC 1.12
    #[test]
    fn a_mount_file_without_its_plugin_is_warned_of() {
        let files = [
            "plugins/a.toml",
            "plugins/a.wasm",
            "plugins/b.toml",
            "plugins/b.v2.wasm",
            "plugins/queuelet.toml",
            "plugins/README.md",
        ];
        let notes = mount_files_without_plugin(files.iter().map(Path::new));
        let places: Vec<_> = notes
            .iter()
            .map(|note| note.place.clone().unwrap())
            .collect();
        assert_eq!(places, [Place::file(Path::new("plugins/b.toml"))]);
        assert_eq!(notes[0].level, Level::Warn);
        assert_eq!(notes[0].plugin.as_deref(), Some("b"));
    }
}
