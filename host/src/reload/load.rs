//! Loads a plugin's files once they stand still: read once, pinned, compiled, probed (rule 8.2).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::folder;
use super::machine::{Content, Refusal};
use super::pins::Pins;
use super::stamp::{FileKind, Stamp, Stem, files};
use super::surroundings::{Mount, granted};
use crate::config::{HostConfig, MountFile, Note, PluginSettings, Problem, Resolved, resolve};
use crate::handler::Handler as _;
use crate::plugin::{Compiled, Digest, Guests, LoadError, Plugin, compile, probe};

/// A plugin that could serve, as far as its files show.
pub(crate) struct Candidate {
    /// What it was made of.
    pub(crate) content: Content,
    /// Its code.
    pub(crate) plugin: Arc<Plugin>,
    /// Its settings as they are written.
    pub(crate) settings: PluginSettings,
    /// How long the `.wasm` is.
    pub(crate) size: u64,
    /// How long loading it took.
    pub(crate) took: Duration,
}

/// What a load has found.
pub(crate) enum Loaded {
    /// The content that serves already.
    Same(Content),
    /// Another one.
    New(Box<Candidate>),
}

/// What serves of a plugin that is loaded again.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) content: Content,
    pub(crate) plugin: Arc<Plugin>,
}

/// Loads plugins of one folder.
pub(crate) struct Loader {
    guests: Arc<Guests>,
    folder: PathBuf,
    /// The list of pins, where there is one.
    pins: Option<PathBuf>,
    /// Of one thread, so that a reload leaves the other cores to handlers.
    pool: Option<rayon::ThreadPool>,
}

/// What the files of a plugin have become, without the guest's help.
enum Prepared {
    Same(Content),
    /// Only the mount file has changed.
    Reused(Read, Known),
    Compiled(Read, Box<Compiled>),
}

/// The files as they were read.
struct Read {
    content: Content,
    mount_file: Option<MountFile>,
    size: u64,
}

impl Loader {
    /// Loads with every core: nothing serves yet.
    pub(crate) fn at_the_start(guests: &Arc<Guests>, folder: &Path, config: &HostConfig) -> Self {
        Self {
            guests: Arc::clone(guests),
            folder: folder.to_owned(),
            pins: config.plugins_sha256.clone(),
            pool: None,
        }
    }

    /// The same loader for while the host serves: it compiles on one thread.
    pub(crate) fn while_serving(self) -> Self {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .thread_name(|_| "compile".into())
            // Whoever waits for the answer is told.
            .panic_handler(|_| {})
            .build();
        Self {
            // Without a thread of its own it compiles on those of the runtime.
            pool: pool.ok(),
            ..self
        }
    }

    /// The path of a plugin's `.wasm`.
    pub(crate) fn file(&self, stem: &Stem) -> PathBuf {
        files(&self.folder, stem).0
    }

    /// The folder that it loads from.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The list of pins, where there is one.
    pub(crate) fn pins(&self) -> Option<&Path> {
        self.pins.as_deref()
    }

    /// Loads the files with this stamp.
    pub(crate) async fn load(
        &self,
        stem: &Stem,
        of: Stamp,
        known: Option<Known>,
    ) -> Result<Loaded, Refusal> {
        let begun = Instant::now();
        let file = self.file(stem);
        let work = Work {
            guests: Arc::clone(&self.guests),
            folder: self.folder.clone(),
            pins: self.pins.clone(),
            stem: stem.clone(),
            of,
        };
        let (read, plugin) = match self.blocking(move || work.prepare(known)).await? {
            Prepared::Same(content) => return Ok(Loaded::Same(content)),
            Prepared::Reused(read, known) => (read, known.plugin),
            Prepared::Compiled(read, compiled) => {
                let probed = probe(&self.guests, &file, &compiled).await;
                let plugin = probed.map_err(|error| of_content(read.content, error))?;
                (read, Arc::new(plugin))
            }
        };
        Ok(Loaded::New(Box::new(Candidate {
            content: read.content,
            settings: PluginSettings {
                name: plugin.name().to_owned(),
                kind: plugin.kind(),
                descriptor: plugin.descriptor().to_vec(),
                mount_file: read.mount_file,
            },
            plugin,
            size: read.size,
            took: begun.elapsed(),
        })))
    }

    async fn blocking(
        &self,
        work: impl FnOnce() -> Result<Prepared, Refusal> + Send + 'static,
    ) -> Result<Prepared, Refusal> {
        let panicked = || {
            Err(Refusal {
                unfinished: false,
                digest: None,
                content: None,
                reason: "compiling it panicked; please report this".into(),
            })
        };
        match &self.pool {
            Some(pool) => {
                let (done, answer) = tokio::sync::oneshot::channel();
                pool.spawn(move || {
                    let _ = done.send(work());
                });
                answer.await.unwrap_or_else(|_| panicked())
            }
            None => {
                let done = tokio::task::spawn_blocking(work).await;
                done.unwrap_or_else(|_| panicked())
            }
        }
    }
}

/// One load, as far as it blocks.
struct Work {
    guests: Arc<Guests>,
    folder: PathBuf,
    pins: Option<PathBuf>,
    stem: Stem,
    of: Stamp,
}

impl Work {
    fn prepare(self, known: Option<Known>) -> Result<Prepared, Refusal> {
        let (wasm, toml) = files(&self.folder, &self.stem);
        self.is_still_there()?;
        if let Some(reason) = self.of.wasm.kind.trouble() {
            return Err(unreadable(self.of.wasm.kind, reason));
        }
        if let Some((kind, reason)) = self
            .of
            .toml
            .and_then(|toml| Some((toml.kind, toml.kind.trouble()?)))
        {
            let reason = format!("its mount file {}: {reason}", toml.display());
            return Err(unreadable(kind, reason));
        }
        let code = crate::file::read(&wasm, crate::file::PLUGIN)
            .map_err(|error| unread(None, format!("it cannot be read: {error}")))?;
        let digest = Digest::of(&code);
        let text = match self.of.toml {
            Some(_) => Some(
                crate::file::read_text(&toml, crate::file::SETTINGS).map_err(|error| {
                    let reason =
                        format!("its mount file {} cannot be read: {error}", toml.display());
                    unread(Some(digest), reason)
                })?,
            ),
            None => None,
        };
        // What was read while somebody wrote it is no content that anybody meant.
        self.is_still_there()?;
        let content = Content {
            wasm: digest,
            toml: text.as_deref().map(|text| Digest::of(text.as_bytes())),
        };
        let read = Read {
            content,
            mount_file: text.map(|text| MountFile { path: toml, text }),
            size: code.len() as u64,
        };
        let refused = |unfinished, reason: String| Refusal {
            unfinished,
            digest: Some(digest),
            content: Some(content),
            reason: reason.into(),
        };
        if let Some(list) = &self.pins {
            let name = format!("{}.wasm", self.stem.to_string_lossy());
            let checked = Pins::read(list).and_then(|pins| pins.check(&name, digest));
            checked.map_err(|reason| refused(false, format!("{}: {reason}", list.display())))?;
        }
        // After the pins: what serves may be in them no more.
        match known {
            Some(known) if known.content == content => return Ok(Prepared::Same(content)),
            Some(known) if known.content.wasm == digest => {
                return Ok(Prepared::Reused(read, known));
            }
            _ => {}
        }
        match compile(&self.guests, &wasm, &code) {
            Ok(compiled) => Ok(Prepared::Compiled(read, Box::new(compiled))),
            Err(error) if code.is_empty() => Err(refused(true, error.reason)),
            Err(error) if is_cut(&code) => {
                let reason = format!("it ends in the middle: copy it again; {}", error.reason);
                Err(refused(true, reason))
            }
            Err(error) => Err(of_content(content, error)),
        }
    }

    fn is_still_there(&self) -> Result<(), Refusal> {
        match folder::plugin(&self.folder, &self.stem) {
            Some(now) if now == self.of => Ok(()),
            Some(_) => Err(unread(None, "it changes while it is read".into())),
            None => Err(unread(None, "it vanished while it was read".into())),
        }
    }
}

fn unreadable(kind: FileKind, reason: String) -> Refusal {
    Refusal {
        // What a link leads to may be on its way.
        unfinished: kind == FileKind::Dangling,
        digest: None,
        content: None,
        reason: reason.into(),
    }
}

/// A file that could not be read may be one that is being replaced.
fn unread(digest: Option<Digest>, reason: String) -> Refusal {
    Refusal {
        unfinished: true,
        digest,
        content: None,
        reason: reason.into(),
    }
}

fn of_content(content: Content, error: LoadError) -> Refusal {
    Refusal {
        unfinished: false,
        digest: Some(content.wasm),
        content: Some(content),
        reason: error.reason.into(),
    }
}

/// Whether WebAssembly ends before its last section does, as a file that is still being copied.
fn is_cut(code: &[u8]) -> bool {
    const PREAMBLE: usize = 8;
    if code.len() <= PREAMBLE {
        return b"\0asm".starts_with(&code[..code.len().min(4)]);
    }
    if !code.starts_with(b"\0asm") {
        return false;
    }
    let mut rest = &code[PREAMBLE..];
    // Each section is its kind, its length in LEB128, and so many bytes.
    while let Some((_, after)) = rest.split_first() {
        let mut length = 0_u64;
        let mut read = 0;
        loop {
            let Some(byte) = after.get(read) else {
                return true;
            };
            length |= u64::from(byte & 0x7f) << (7 * read);
            read += 1;
            if byte & 0x80 == 0 {
                break;
            }
            if read == 5 {
                return false;
            }
        }
        let after = &after[read..];
        match usize::try_from(length).ok().and_then(|n| after.get(n..)) {
            Some(next) => rest = next,
            None => return true,
        }
    }
    false
}

/// The mounts of a plugin that could serve.
pub(crate) struct Checked {
    pub(crate) mounts: Vec<Mount>,
    pub(crate) notes: Vec<Note>,
}

/// Puts the mounts of one plugin in force, and checks everything that its files and the host's
/// surroundings show (rules 1.11, 8.2). It may block.
pub(crate) fn check(config: &HostConfig, candidate: &Candidate) -> Result<Checked, Refusal> {
    let Resolved {
        subscriptions,
        mut problems,
        notes,
    } = resolve(config, std::slice::from_ref(&candidate.settings));
    match granted(&candidate.plugin, subscriptions) {
        Ok(mounts) if problems.is_empty() => return Ok(Checked { mounts, notes }),
        Ok(_) => {}
        Err(more) => problems.extend(more),
    }
    Err(refusal(candidate.content, &problems))
}

/// Problems of a plugin's mounts as one reason.
pub(crate) fn refusal(content: Content, problems: &[Problem]) -> Refusal {
    let lines: Vec<_> = problems.iter().map(Problem::line).collect();
    Refusal {
        unfinished: false,
        digest: Some(content.wasm),
        content: Some(content),
        reason: lines.join("; ").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rule 8.2: what looks like half a copy is waited for.
    #[test]
    fn a_file_that_ends_within_a_section_is_cut() {
        let header = b"\0asm\x0d\0\x01\0";
        let with = |sections: &[u8]| [header, sections].concat();
        let long = [&[0, 0x80, 0x01][..], &[7; 128]].concat();
        for (code, cut) in [
            (Vec::new(), true),
            (b"\0as".to_vec(), true),
            (header.to_vec(), true),
            (with(&[0, 2, 1, 1]), false),
            (with(&[0, 2, 1]), true),
            (with(&[0, 2, 1, 1, 0]), true),
            (with(&[0, 0x80]), true),
            (with(&long), false),
            (with(&long[..100]), true),
            (with(&[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]), false),
            (b"hello, I am no wasm".to_vec(), false),
            (b"\x7fELF".to_vec(), false),
        ] {
            assert_eq!(is_cut(&code), cut, "{code:?}");
        }
    }
}
