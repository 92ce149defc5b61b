//! From a file to a plugin: read, compiled, linked, instantiated once, asked for its descriptor.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use wasmtime::component::Component;

use super::allowance::Allowance;
use super::bindings::batch::BatchHandlerPre;
use super::bindings::single::SingleHandlerPre;
use super::call::{Calling, Linked};
use super::contained::contained;
use super::contract::{Exported, exported};
use super::digest::Digest;
use super::engine::Guests;
use super::log::Subject;
use super::measure::measure;
use super::module::Format;
use super::mounted::Plugin;
use super::rate::Lines;
use crate::handler::{Failure, HandlerKind, Reason};
use crate::limits::DESCRIPTOR_TIMEOUT;
use crate::shown::Shown;

/// A file that cannot be a plugin. The author of the plugin mends it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}{}: {}", Shown::sentence(&file.to_string_lossy()), short(digest), Shown::sentence(reason))]
pub struct LoadError {
    /// The file.
    pub file: PathBuf,
    /// Its digest, where it could be read.
    pub digest: Option<Digest>,
    /// What is wrong and what to do.
    pub reason: String,
}

fn short(digest: &Option<Digest>) -> String {
    digest.map_or(String::new(), |digest| format!(" ({})", digest.short()))
}

/// What a plugin's file says of itself.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    /// The plugin's name.
    pub name: String,
    /// The SHA-256 of the file.
    pub digest: Digest,
    /// The world: `single-handler` or `batch-handler`.
    pub world: &'static str,
    /// The contract and its version: `queuelet:handler@0.1.0`.
    pub wit: String,
    /// The settings of its descriptor.
    pub descriptor: serde_json::Map<String, serde_json::Value>,
    /// What it imports, by name.
    pub imports: Vec<String>,
    /// Its size in bytes.
    pub size: u64,
    /// Whether it is a core module, which becomes a component when it is loaded.
    pub core_module: bool,
}

/// A file that has been read and compiled.
pub(crate) struct Compiled {
    name: Arc<str>,
    digest: Digest,
    component: Component,
    exported: Exported,
    size: u64,
    format: Format,
}

/// Loads the plugin in `file`.
///
/// # Errors
/// [`LoadError`] says what the file is instead of a plugin, or how it failed.
pub async fn load(guests: &Arc<Guests>, file: &Path) -> Result<Plugin, LoadError> {
    let (plugin, _) = load_compiled(guests, file).await?;
    Ok(plugin)
}

/// Loads the plugin in `file` and says what it is.
///
/// # Errors
/// As [`load`].
pub async fn inspect(guests: &Arc<Guests>, file: &Path) -> Result<Inspection, LoadError> {
    let (plugin, compiled) = load_compiled(guests, file).await?;
    let imports = compiled
        .component
        .component_type()
        .imports(guests.engine())
        .map(|(name, _)| name.to_owned())
        .collect();
    Ok(Inspection {
        name: plugin.name.to_string(),
        digest: plugin.digest,
        world: match compiled.exported.kind {
            HandlerKind::Single => "single-handler",
            HandlerKind::Batch => "batch-handler",
        },
        wit: format!("{}@{}", super::contract::CONTRACT, plugin.contract),
        descriptor: plugin
            .descriptor
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().into()))
            .collect(),
        imports,
        size: compiled.size,
        core_module: compiled.format == Format::Module,
    })
}

async fn load_compiled(guests: &Arc<Guests>, file: &Path) -> Result<(Plugin, Compiled), LoadError> {
    let compiled = {
        let (guests, path) = (Arc::clone(guests), file.to_owned());
        // Compiling takes from milliseconds to seconds of CPU, so not on the I/O runtime.
        let work = tokio::task::spawn_blocking(move || {
            let content =
                crate::file::read(&path, crate::file::PLUGIN).map_err(|error| LoadError {
                    file: path.clone(),
                    digest: None,
                    reason: format!("it cannot be read: {error}"),
                })?;
            compile(&guests, &path, &content)
        });
        work.await.unwrap_or_else(|panic| {
            Err(LoadError {
                file: file.to_owned(),
                digest: None,
                reason: format!("compiling it panicked; please report this: {panic}"),
            })
        })?
    };
    let plugin = probe(guests, file, &compiled).await?;
    Ok((plugin, compiled))
}

/// Links what was compiled from `file`, instantiates it once, and asks it for its descriptor.
pub(crate) async fn probe(
    guests: &Arc<Guests>,
    file: &Path,
    compiled: &Compiled,
) -> Result<Plugin, LoadError> {
    let fail = |reason: String| LoadError {
        file: file.to_owned(),
        digest: Some(compiled.digest),
        reason: one_line(&reason),
    };
    let linked = link(guests, compiled).map_err(fail)?;
    let short: Arc<str> = compiled.digest.short().into();
    let lines = Arc::new(Lines::new(Arc::clone(&compiled.name), Arc::clone(&short)));
    let allowance = Allowance::probe(Arc::clone(&lines));
    let probed = ask(guests, &compiled.name, &short, linked.clone(), allowance)
        .await
        .map_err(|failure| fail(undescribed(&failure)))?;
    Ok(Plugin {
        name: Arc::clone(&compiled.name),
        digest: compiled.digest,
        short,
        contract: compiled.exported.version.clone(),
        descriptor: probed.descriptor,
        memory: probed.memory,
        standard: Arc::new(Allowance::standard(lines)),
        linked,
        guests: Arc::clone(guests),
        lane: guests.lane(&compiled.name),
    })
}

/// Compiles the content of `file`. It takes from milliseconds to seconds of CPU.
pub(crate) fn compile(guests: &Guests, file: &Path, content: &[u8]) -> Result<Compiled, LoadError> {
    let digest = Digest::of(content);
    let refuse = |reason: String| LoadError {
        file: file.to_owned(),
        digest: Some(digest),
        reason: one_line(&reason),
    };
    let format = Format::of(content).map_err(refuse)?;
    let compiled = contained(|| {
        measure(content)?;
        let encoded = format.component(content)?;
        measure(&encoded)?;
        Component::new(guests.engine(), &encoded)
            .map_err(|error| format!("it does not compile: {error:#}"))
    });
    let component = compiled
        .unwrap_or_else(|panic| Err(format!("the compiler failed on it: {panic}")))
        .map_err(refuse)?;
    let ty = component.component_type();
    let exported = exported(ty.exports(guests.engine()).map(|(name, _)| name)).map_err(refuse)?;
    let Some(name) = file.file_stem().and_then(|stem| stem.to_str()) else {
        let reason = "its name is not UTF-8 text, and it is named by it everywhere: rename it";
        return Err(refuse(reason.into()));
    };
    Ok(Compiled {
        name: name.into(),
        digest,
        component,
        exported,
        size: content.len() as u64,
        format,
    })
}

fn link(guests: &Guests, compiled: &Compiled) -> Result<Linked, String> {
    let missing = |error: wasmtime::Error| {
        format!(
            "it does not fit this host: {}; a handler may import log, context and publish of \
             {}, WASI 0.2, and wasi:http to make requests",
            one_line(&format!("{error:#}")),
            super::contract::CONTRACT,
        )
    };
    let pre = guests
        .linker()
        .instantiate_pre(&compiled.component)
        .map_err(missing)?;
    match compiled.exported.kind {
        HandlerKind::Single => SingleHandlerPre::new(pre).map(Linked::Single),
        HandlerKind::Batch => BatchHandlerPre::new(pre).map(Linked::Batch),
    }
    .map_err(missing)
}

/// Why a plugin did not say what it is. No mount is asked yet, so none of its settings is to blame.
fn undescribed(failure: &Failure) -> String {
    match failure.reason {
        Reason::Timeout => format!(
            "its descriptor could not be read: it had not said it after {DESCRIPTOR_TIMEOUT:?}, in \
             which every plugin must"
        ),
        _ => format!("its descriptor could not be read: {failure}"),
    }
}

/// What an instance says and shows.
struct Probed {
    descriptor: Vec<(String, String)>,
    /// The bytes of memory that it begins with.
    memory: usize,
}

/// Asks a fresh instance for its settings, which also shows that it can be instantiated.
async fn ask(
    guests: &Arc<Guests>,
    name: &Arc<str>,
    short: &Arc<str>,
    linked: Linked,
    allowance: Allowance,
) -> Result<Probed, Failure> {
    let subject = Subject {
        plugin: Arc::clone(name),
        digest: Arc::clone(short),
        queue: "".into(),
        message: None,
    };
    let calling = Calling {
        guests: Arc::clone(guests),
        lane: guests.lane_of_probe(),
        linked,
        allowance: Arc::new(allowance),
        subject,
        publishing: None,
        limit: Some(DESCRIPTOR_TIMEOUT),
        messages: 0,
        reuse: None,
    };
    let lane = Arc::clone(&calling.lane);
    let asked = calling.probe(async |warm| {
        Ok(Probed {
            descriptor: warm.settings().await?,
            memory: warm.store.data().initial_memory(),
        })
    });
    guests.run(&lane, asked).await
}

/// A reason in one line and of the length of one: names of the plugin's author stand in it.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Shown::sentence(&line).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_error_is_one_line_whatever_the_file_and_its_author_say() {
        let error = LoadError {
            file: "plugins/a\nb.wasm".into(),
            digest: None,
            reason: format!("it exports \u{1b}[2J{}", "x".repeat(90_000)),
        };
        let text = error.to_string();
        let begins = "plugins/a\\nb.wasm: it exports \\u{1b}[2Jxxx";
        assert!(text.starts_with(begins), "{text}");
        assert!(text.len() < 5000, "{}", text.len());
    }

    #[test]
    fn a_descriptor_that_hangs_is_not_blamed_on_a_setting() {
        let hangs = undescribed(&Failure::new(Reason::Timeout, "the limit (`timeout`)"));
        assert!(hangs.contains("after 5s"), "{hangs}");
        assert!(!hangs.contains("`timeout`"), "{hangs}");
        let traps = undescribed(&Failure::new(Reason::Trap, "it panicked"));
        assert!(traps.ends_with("read: trap: it panicked"), "{traps}");
    }
}
