//! The plugins of a folder, loaded and checked before anything is asked of SQS.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing::{error, info, warn};

use crate::config::{
    HostConfig, Level, MountFile, Note, PluginSettings, Resolved, SqsSubscription,
    mount_files_without_plugin, resolve,
};
use crate::file::read_text;
use crate::handler::Handler;
use crate::plugin::{Guests, LoadError, Plugin, load};

/// The plugins of a folder, and their mounts as the folder's files say.
pub struct Plugins {
    /// Those that load, by name.
    pub loaded: Vec<Arc<Plugin>>,
    /// Files that cannot be plugins.
    pub refused: Vec<LoadError>,
    /// Mounts, problems and notes.
    pub resolved: Resolved,
}

impl Plugins {
    /// Loads every `.wasm` file of `folder` and checks every mount (rules 1.11, 7.2). No network
    /// call is made.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub async fn load_folder(
        guests: &Arc<Guests>,
        config: &HostConfig,
        folder: &Path,
    ) -> std::io::Result<Self> {
        let (mut wasm, mut toml) = (Vec::new(), Vec::new());
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            match path.extension().and_then(|e| e.to_str()) {
                Some("wasm") => wasm.push(path),
                Some("toml") => toml.push(path),
                _ => {}
            }
        }
        wasm.sort();
        toml.sort();
        let mut plugins = Self::load(guests, config, &wasm).await;
        let orphans = toml
            .iter()
            .filter(|file| !wasm.contains(&file.with_extension("wasm")))
            .map(PathBuf::as_path);
        let notes = mount_files_without_plugin(orphans);
        plugins.resolved.notes.extend(notes);
        Ok(plugins)
    }

    /// Loads these `.wasm` files, each with the mount file beside it, and checks every mount.
    pub async fn load(guests: &Arc<Guests>, config: &HostConfig, wasm: &[PathBuf]) -> Self {
        let (mut loaded, mut refused, mut settings) = (Vec::new(), Vec::new(), Vec::new());
        for file in wasm {
            match load(guests, file).await {
                Ok(plugin) => {
                    match mount_file(file) {
                        Ok(mount_file) => settings.push(PluginSettings {
                            name: plugin.name().to_owned(),
                            kind: plugin.kind(),
                            descriptor: plugin.descriptor().to_vec(),
                            mount_file,
                        }),
                        Err(error) => refused.push(error),
                    }
                    loaded.push(Arc::new(plugin));
                }
                Err(error) => refused.push(error),
            }
        }
        Self {
            loaded,
            refused,
            resolved: resolve(config, &settings),
        }
    }

    /// Whether anything keeps the service from starting.
    pub fn has_problems(&self) -> bool {
        !self.refused.is_empty() || !self.resolved.problems.is_empty()
    }

    /// Each mount with the plugin that handles its messages.
    pub fn mounts(&self) -> Vec<(SqsSubscription, Arc<dyn Handler>)> {
        let by_name = |name: &str| self.loaded.iter().find(|plugin| plugin.name() == name);
        self.resolved
            .subscriptions
            .iter()
            .filter_map(|subscription| {
                let plugin = Arc::clone(by_name(&subscription.plugin)?);
                Some((subscription.clone(), plugin as Arc<dyn Handler>))
            })
            .collect()
    }

    /// Logs what is wrong and what is worth saying.
    pub fn log(&self) {
        for refused in &self.refused {
            error!("{refused}");
        }
        for problem in &self.resolved.problems {
            error!("{problem}");
        }
        for note in &self.resolved.notes {
            log_note(note);
        }
    }
}

fn log_note(note: &Note) {
    match note.level {
        Level::Warn => warn!("{note}"),
        Level::Info => info!("{note}"),
    }
}

fn mount_file(wasm: &Path) -> Result<Option<MountFile>, LoadError> {
    let path = wasm.with_extension("toml");
    match read_text(&path) {
        Ok(text) => Ok(Some(MountFile { path, text })),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(LoadError {
            reason: format!("it cannot be read: {error}"),
            file: path,
            digest: None,
        }),
    }
}
