//! The table `env` of a mount file.

use std::collections::BTreeMap;
use std::path::Path;

use secrecy::SecretString;

use super::document::{Node, Table};
use super::problem::{Class, Place, Problem};
use super::sandbox::EnvValue;
use super::vocabulary::{Kind, Name};

/// Reads the table. No problem shows what stands in it: it may be a secret.
pub(super) fn read(table: Table) -> Result<BTreeMap<String, EnvValue>, Vec<Problem>> {
    let mut values = BTreeMap::new();
    let mut problems = Vec::new();
    for entry in table.entries {
        let value = name(&entry.key).and_then(|()| match entry.node {
            Node::Text(text) | Node::Bare(text) => value(text, &entry.place),
            other => Err(format!("it takes one value, and this is {}", other.kind())),
        });
        match value {
            Ok(value) => {
                values.insert(entry.key, value);
            }
            Err(message) => problems.push(
                Problem::new(Class::Config, message)
                    .setting(&format!("{}.{}", Name::Env.key(), entry.key))
                    .allowed(Kind::Env.allowed())
                    .at(&entry.place),
            ),
        }
    }
    if problems.is_empty() {
        Ok(values)
    } else {
        Err(problems)
    }
}

fn name(name: &str) -> Result<(), String> {
    match name.chars().find(|c| *c == '=' || c.is_control()) {
        Some(c) => Err(format!("its name holds {c:?}, which no variable's can")),
        None if name.is_empty() => Err("its name is empty".to_owned()),
        None => Ok(()),
    }
}

fn value(text: String, place: &Place) -> Result<EnvValue, String> {
    if let Some(name) = text.strip_prefix("env:") {
        return match name {
            "" => Err("it names no variable; write env:NAME, or text:env: if that is meant".into()),
            name if name.contains(['=', '\0']) => Err("no variable has such a name".into()),
            name => Ok(EnvValue::Env(name.to_owned())),
        };
    }
    if let Some(path) = text.strip_prefix("file:") {
        if path.is_empty() {
            return Err(
                "it names no file; write file:/PATH, or text:file: if that is meant".into(),
            );
        }
        let folder = match place {
            Place::File { file, .. } => file.parent().unwrap_or(Path::new("")),
            Place::Descriptor => Path::new(""),
        };
        return Ok(EnvValue::File(folder.join(path)));
    }
    let text = text.strip_prefix("text:").unwrap_or(&text);
    if text.contains('\0') {
        return Err("it holds a NUL, which no value of an environment can".into());
    }
    Ok(EnvValue::Text(SecretString::from(text)))
}

/// The names and where each value comes from.
pub(super) fn shown(values: &BTreeMap<String, EnvValue>) -> String {
    if values.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<_> = values
        .iter()
        .map(|(name, value)| format!("{name} ({value})"))
        .collect();
    shown.join(", ")
}
