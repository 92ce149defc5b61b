//! `queuelet inspect`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::options::guests;
use super::{ExitAs, Outcome, print_json};
use crate::plugin::{Inspection, inspect};

/// Say what a plugin's file is.
#[derive(Debug, Args)]
pub(super) struct Inspect {
    /// The .wasm file
    file: PathBuf,
    /// Print one JSON document: digest, world, wit, descriptor, imports
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
    println!("name        {}", inspection.name);
    println!("sha256      {}", inspection.digest);
    println!("size        {} KiB", inspection.size.div_ceil(1024));
    println!("world       {}", inspection.world);
    println!("contract    {}", inspection.wit);
    for (position, (name, value)) in inspection.descriptor.iter().enumerate() {
        let head = if position == 0 { "descriptor" } else { "" };
        println!("{head:<11} {name} = {value}");
    }
    if inspection.descriptor.is_empty() {
        println!("descriptor  says nothing; the mount file must name a queue");
    }
    for (position, import) in inspection.imports.iter().enumerate() {
        let head = if position == 0 { "imports" } else { "" };
        println!("{head:<11} {import}");
    }
}
