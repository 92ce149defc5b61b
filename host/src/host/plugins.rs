//! The plugins of a folder, loaded and checked before anything is asked of SQS.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing::{error, info, warn};

use crate::config::{
    HostConfig, Level, Note, Resolved, SqsSubscription, mount_files_without_plugin, resolve,
};
use crate::handler::Handler;
use crate::plugin::{Guests, LoadError, Plugin};
use crate::reload::folder;
use crate::reload::load::{self, Candidate, Loaded, Loader};
use crate::reload::machine::Refusal;
use crate::reload::stamp::{Stamp, Stem};
use crate::reload::surroundings::{Mount, granted};

/// The plugins of a folder, and their mounts as the folder's files say.
pub struct Plugins {
    /// Those that load, by name.
    pub loaded: Vec<Arc<Plugin>>,
    /// Files that cannot be plugins.
    pub refused: Vec<LoadError>,
    /// Mounts, problems and notes.
    pub resolved: Resolved,
    pub(super) loader: Loader,
    pub(super) found: Vec<Found>,
}

/// A plugin of the folder.
pub(super) struct Found {
    pub(super) stem: Stem,
    /// Its files as they were loaded.
    pub(super) stamp: Stamp,
    pub(super) loaded: Result<Sound, Refusal>,
}

/// A plugin that can serve, as far as its files show.
pub(super) struct Sound {
    pub(super) candidate: Box<Candidate>,
    pub(super) mounts: Vec<Mount>,
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
        let look = {
            let folder = folder.to_owned();
            let look = tokio::task::spawn_blocking(move || folder::look(&folder));
            look.await.map_err(std::io::Error::other)??
        };
        let files = look.plugins.into_iter().collect();
        let mut plugins = Self::load_files(guests, config, folder, files).await;
        let orphans = look.orphans.iter().map(PathBuf::as_path);
        let notes = mount_files_without_plugin(orphans);
        plugins.resolved.notes.extend(notes);
        Ok(plugins)
    }

    /// Loads the plugins of these names from `folder`, each with the mount file beside it, and
    /// checks every mount. A name that has no file is passed over.
    pub async fn load(
        guests: &Arc<Guests>,
        config: &HostConfig,
        folder: &Path,
        names: &[&str],
    ) -> Self {
        let stems = names.iter().map(|name| OsStr::new(name).to_owned());
        let files = stems.filter_map(|stem| Some((folder::plugin(folder, &stem)?, stem)));
        let files = files.map(|(stamp, stem)| (stem, stamp)).collect();
        Self::load_files(guests, config, folder, files).await
    }

    async fn load_files(
        guests: &Arc<Guests>,
        config: &HostConfig,
        folder: &Path,
        files: Vec<(Stem, Stamp)>,
    ) -> Self {
        let loader = Loader::at_the_start(guests, folder, config);
        let (mut found, mut refused) = (Vec::new(), Vec::new());
        for (stem, stamp) in files {
            let loaded = match loader.load(&stem, stamp, None).await {
                Ok(Loaded::New(candidate)) => Ok(Sound {
                    candidate,
                    mounts: Vec::new(),
                }),
                // Nothing serves yet that it could be the same as.
                Ok(Loaded::Same(_)) => continue,
                Err(refusal) => {
                    refused.push(LoadError {
                        file: loader.file(&stem),
                        digest: refusal.digest,
                        reason: refusal.reason.to_string(),
                    });
                    Err(refusal)
                }
            };
            found.push(Found {
                stem,
                stamp,
                loaded,
            });
        }
        let sound = || found.iter().filter_map(|found| found.loaded.as_ref().ok());
        let settings: Vec<_> = sound()
            .map(|sound| sound.candidate.settings.clone())
            .collect();
        let mut plugins = Self {
            loaded: sound()
                .map(|sound| Arc::clone(&sound.candidate.plugin))
                .collect(),
            refused,
            resolved: resolve(config, &settings),
            loader,
            found,
        };
        plugins.mount();
        plugins
    }

    /// Gives each plugin its mounts. One with a problem in any of them is refused as a whole.
    fn mount(&mut self) {
        for found in &mut self.found {
            let Ok(sound) = &mut found.loaded else {
                continue;
            };
            let plugin = &sound.candidate.plugin;
            let name = plugin.name();
            let mounts = self.resolved.subscriptions.iter();
            let mounts = mounts.filter(|mount| mount.plugin == name).cloned();
            match granted(plugin, mounts) {
                Ok(mounts) => sound.mounts = mounts,
                Err(problems) => self.resolved.problems.extend(problems),
            }
            let problems = self.resolved.problems.iter();
            let problems = problems.filter(|problem| problem.plugin.as_deref() == Some(name));
            let problems: Vec<_> = problems.cloned().collect();
            if !problems.is_empty() {
                found.loaded = Err(load::refusal(sound.candidate.content, &problems));
            }
        }
    }

    /// Whether anything keeps the service from starting.
    pub fn has_problems(&self) -> bool {
        !self.refused.is_empty() || !self.resolved.problems.is_empty()
    }

    /// Each mount with the plugin that handles its messages.
    pub fn mounts(&self) -> Vec<(SqsSubscription, Arc<dyn Handler>)> {
        let sound = self.found.iter().filter_map(|f| f.loaded.as_ref().ok());
        sound
            .flat_map(|sound| {
                sound.mounts.iter().map(|mount| {
                    let plugin = &sound.candidate.plugin;
                    let handler = plugin.mounted(mount.grants.clone());
                    (mount.subscription.clone(), handler)
                })
            })
            .collect()
    }

    /// Logs what is wrong and what is worth saying.
    pub fn log(&self) {
        for refused in &self.refused {
            error!("{refused}");
        }
        for problem in &self.resolved.problems {
            error!("{}", problem.line());
        }
        self.log_notes();
    }

    /// Logs what is worth saying.
    pub fn log_notes(&self) {
        for note in &self.resolved.notes {
            log_note(note);
        }
    }
}

/// Logs something worth saying.
pub(super) fn log_note(note: &Note) {
    match note.level {
        Level::Warn => warn!("{}", note.line()),
        Level::Info => info!("{}", note.line()),
    }
}
