//! A plugins folder that a test fills.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::guests;

/// A plugins folder, gone with the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().expect("there is room for a folder"))
    }

    /// A folder with one plugin.
    pub(crate) fn with(guest: &str, mount: &str) -> Self {
        Self::new().and(guest, guest, mount)
    }

    /// This folder with a plugin more: a guest under a name, and what its mount file says.
    pub(crate) fn and(self, guest: &str, name: &str, mount: &str) -> Self {
        self.plugin(guest, name)
            .write(&format!("{name}.toml"), mount)
    }

    /// This folder with a plugin more that has no mount file.
    pub(crate) fn plugin(self, guest: &str, name: &str) -> Self {
        let wasm = self.file(&format!("{name}.wasm"));
        std::fs::copy(guests::wasm(guest), wasm).expect("the guest can be copied");
        self
    }

    /// This folder with a file more.
    pub(crate) fn write(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        std::fs::write(self.file(name), content).expect("the folder can be written");
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// The path as an argument.
    pub(crate) fn arg(&self) -> &str {
        self.path().to_str().expect("temporary paths are text")
    }
}
