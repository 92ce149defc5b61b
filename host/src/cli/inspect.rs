//! `queuelet inspect`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::options::guests;
use super::{ExitAs, Outcome, print_json};
use crate::plugin::{Inspection, inspect};
use crate::shown::Shown;

/// Say what a plugin's file is.
#[derive(Debug, Args)]
pub(super) struct Inspect {
    /// The .wasm file
    file: PathBuf,
    /// Print one JSON document: name, digest, size, core_module, world, wit, descriptor, imports
    #[arg(long)]
    json: bool,
}

impl Inspect {
    pub(super) async fn run(self) -> Outcome {
        let inspection = inspect(&guests()?, &self.file).await.or_input()?;
        if self.json {
            print_json(&inspection)?;
        } else {
            print(&inspection);
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn print(inspection: &Inspection) {
    say!("name        {}", Shown::word(&inspection.name));
    say!("sha256      {}", inspection.digest);
    say!("size        {} KiB", inspection.size.div_ceil(1024));
    if inspection.core_module {
        say!("format      a core module; it becomes a component when it is loaded");
    }
    say!("world       {}", inspection.world);
    say!("contract    {}", inspection.wit);
    for (position, (name, value)) in inspection.descriptor.iter().enumerate() {
        let head = if position == 0 { "descriptor" } else { "" };
        // As JSON it is quoted, and so escaped.
        let value = value.to_string();
        let (name, value) = (Shown::word(name), Shown::word(&value));
        say!("{head:<11} {name} = {value}");
    }
    if inspection.descriptor.is_empty() {
        say!("descriptor  says nothing; the mount file must name a queue");
    }
    for (position, import) in inspection.imports.iter().enumerate() {
        let head = if position == 0 { "imports" } else { "" };
        say!("{head:<11} {}", Shown::word(import));
    }
    say!(
        "granted     nothing by itself, whatever it imports: no files, no environment, no network;"
    );
    say!("            what it reads, asks and sends is what its mount lets it");
}
