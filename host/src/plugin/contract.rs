//! Which version of the contract a component was built for, and what kind of handler it is.

use crate::handler::HandlerKind;

/// The package of the contract.
pub const CONTRACT: &str = "queuelet:handler";

/// The versions of the contract that this host serves.
pub const SERVED: &[&str] = &["0.1.0"];

/// What a component's exports say of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Exported {
    pub(super) kind: HandlerKind,
    pub(super) version: String,
}

/// Reads the kind and the version off the names of a component's exports.
///
/// # Errors
/// A line that says what is there, what is missing, and which versions are served (rule 8.6).
pub(super) fn exported<'a>(names: impl Iterator<Item = &'a str>) -> Result<Exported, String> {
    let (mut descriptor, mut kinds, mut others) = (None, Vec::new(), Vec::new());
    for name in names {
        match interface(name) {
            Some(("descriptor", version)) => descriptor = Some(version),
            Some(("single", version)) => kinds.push((HandlerKind::Single, version)),
            Some(("batch", version)) => kinds.push((HandlerKind::Batch, version)),
            _ => others.push(name),
        }
    }
    let (kind, version) = match kinds.as_slice() {
        [one] => *one,
        [] => {
            return Err(format!(
                "it exports neither {CONTRACT}/single nor {CONTRACT}/batch, so it is no handler; {}",
                match others.as_slice() {
                    [] => "it exports nothing else".to_owned(),
                    others => format!("it exports {}", others.join(", ")),
                }
            ));
        }
        _ => {
            return Err(format!(
                "it exports both {CONTRACT}/single and {CONTRACT}/batch; a handler exports one"
            ));
        }
    };
    if !SERVED.contains(&version) {
        return Err(format!(
            "it was built for {CONTRACT}@{version}, and this host serves {}: build it with an SDK \
             of that version, or update the host",
            served()
        ));
    }
    match descriptor {
        Some(same) if same == version => Ok(Exported {
            kind,
            version: version.to_owned(),
        }),
        Some(other) => Err(format!(
            "it exports {CONTRACT}/{kind}@{version} but {CONTRACT}/descriptor@{other}; both must \
             be of one version"
        )),
        None => Err(format!(
            "it exports {CONTRACT}/{kind}@{version} but no {CONTRACT}/descriptor@{version}, which \
             every handler must have"
        )),
    }
}

fn served() -> String {
    let versions: Vec<_> = SERVED.iter().map(|v| format!("{CONTRACT}@{v}")).collect();
    versions.join(", ")
}

/// `("single", "0.1.0")` of `queuelet:handler/single@0.1.0`.
fn interface(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix(CONTRACT)?
        .strip_prefix('/')?
        .split_once('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Result<Exported, String> {
        exported(names.iter().copied())
    }

    // Rule 8.6.
    #[test]
    fn the_version_and_the_kind_are_read_off_the_exports() {
        let exported = of(&[
            "queuelet:handler/descriptor@0.1.0",
            "queuelet:handler/batch@0.1.0",
        ]);
        assert_eq!(
            exported,
            Ok(Exported {
                kind: HandlerKind::Batch,
                version: "0.1.0".into()
            })
        );
    }

    #[test]
    fn a_refusal_names_what_is_there_and_what_is_missing() {
        let table: [(&[&str], &[&str]); 5] = [
            (
                &[
                    "queuelet:handler/descriptor@9.0.0",
                    "queuelet:handler/single@9.0.0",
                ],
                &["queuelet:handler@9.0.0", "queuelet:handler@0.1.0"],
            ),
            (
                &["wasi:cli/run@0.2.3"],
                &["no handler", "wasi:cli/run@0.2.3"],
            ),
            (
                &["queuelet:handler/single@0.1.0"],
                &["no queuelet:handler/descriptor"],
            ),
            (
                &[
                    "queuelet:handler/single@0.1.0",
                    "queuelet:handler/batch@0.1.0",
                ],
                &["both"],
            ),
            (&[], &["exports nothing"]),
        ];
        for (names, says) in table {
            let error = of(names).unwrap_err();
            for word in says {
                assert!(error.contains(word), "{error}");
            }
        }
    }
}
