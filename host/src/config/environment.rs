//! The environment of a handler, read from where its mount says (SPEC 9.1).
//!
//! A value is never shown: not by Debug, not in an error. Only the plugin is handed it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

use super::sandbox::EnvValue;

/// Names and values, as a handler finds them.
#[derive(Clone, Default)]
pub struct Environment {
    variables: Arc<[Variable]>,
}

struct Variable {
    name: String,
    value: SecretString,
    /// It was referred to, not written down, so it is nobody else's to know.
    referred: bool,
}

impl Environment {
    /// Reads every value that `env` refers to.
    ///
    /// # Errors
    /// Every name that cannot be given a value, with the reason.
    pub fn read(env: &BTreeMap<String, EnvValue>) -> Result<Self, Vec<(String, String)>> {
        Self::read_with(env, |name| std::env::var_os(name))
    }

    fn read_with(
        env: &BTreeMap<String, EnvValue>,
        host: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, Vec<(String, String)>> {
        let (mut variables, mut wrong) = (Vec::new(), Vec::new());
        for (name, value) in env {
            match check_name(name).and_then(|()| read_one(value, &host)) {
                Ok(text) => variables.push(Variable {
                    name: name.clone(),
                    value: text,
                    referred: !matches!(value, EnvValue::Text(_)),
                }),
                Err(reason) => wrong.push((name.clone(), reason)),
            }
        }
        if wrong.is_empty() {
            let variables = variables.into();
            Ok(Self { variables })
        } else {
            Err(wrong)
        }
    }

    /// Every name with its value, for the handler alone.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables
            .iter()
            .map(|variable| (variable.name.as_str(), variable.value.expose_secret()))
    }

    /// The values that were referred to.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        let referred = self.variables.iter().filter(|variable| variable.referred);
        referred.map(|variable| variable.value.expose_secret())
    }
}

/// The names alone.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.variables.iter().map(|variable| &variable.name);
        f.debug_set().entries(names).finish()
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let says = match name {
        "" => "a variable needs a name",
        name if name.contains('=') => "no name of a variable holds a =",
        name if name.contains('\0') => "no name of a variable holds a NUL",
        _ => return Ok(()),
    };
    Err(says.to_owned())
}

fn read_one(
    value: &EnvValue,
    host: impl Fn(&str) -> Option<OsString>,
) -> Result<SecretString, String> {
    let text = match value {
        EnvValue::Text(text) => text.clone(),
        EnvValue::Env(name) => {
            check_name(name)?;
            let value = host(name).ok_or_else(|| {
                format!("the host's environment has no {name}: set it for the host")
            })?;
            let text = value
                .into_string()
                .map_err(|_| format!("{name} of the host's environment is not UTF-8 text"))?;
            text.into()
        }
        EnvValue::File(path) => {
            content(path).map_err(|reason| format!("{} {reason}", path.display()))?
        }
    };
    if text.expose_secret().contains('\0') {
        return Err(format!(
            "the value of {value} holds a NUL, which no variable can"
        ));
    }
    Ok(text)
}

/// The content of a file, without the line break that editors put at the end of one.
fn content(path: &Path) -> Result<SecretString, String> {
    let content = crate::file::read(path, crate::file::VALUE)
        .map_err(|error| format!("cannot be read: {error}"))?;
    let mut text = String::from_utf8(content).map_err(|_| "is not UTF-8 text".to_owned())?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::limits::ENVIRONMENT_VALUE;

    fn read(values: &[(&str, EnvValue)]) -> Result<Environment, Vec<(String, String)>> {
        let env = values
            .iter()
            .map(|(name, value)| (name.to_string(), value.clone()))
            .collect();
        let host = |name: &str| match name {
            "TOKEN" => Some("host-token".into()),
            #[cfg(unix)]
            "BYTES" => Some(std::os::unix::ffi::OsStringExt::from_vec(vec![0xff])),
            _ => None,
        };
        Environment::read_with(&env, host)
    }

    fn file(path: &Path) -> EnvValue {
        EnvValue::File(path.to_owned())
    }

    fn refused(name: &str, value: EnvValue) -> String {
        let wrong = read(&[(name, value)]).unwrap_err();
        assert_eq!(wrong.len(), 1);
        assert_eq!(wrong[0].0, name);
        wrong[0].1.clone()
    }

    // Rule 9.1.
    #[test]
    fn values_come_from_where_the_mount_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        fs::write(&path, "from a file\n\n").unwrap();
        let environment = read(&[
            ("A", EnvValue::Text("literal".into())),
            ("B", EnvValue::Env("TOKEN".into())),
            ("C", file(&path)),
        ])
        .unwrap();
        let variables: Vec<_> = environment.variables().collect();
        let expected = [
            ("A", "literal"),
            ("B", "host-token"),
            ("C", "from a file\n"),
        ];
        assert_eq!(variables, expected);
        let secrets: Vec<_> = environment.secrets().collect();
        assert_eq!(secrets, ["host-token", "from a file\n"]);
    }

    // Rule 9.1.
    #[test]
    fn debug_shows_names_and_no_value() {
        let environment = read(&[
            ("A", EnvValue::Text("literal".into())),
            ("B", EnvValue::Env("TOKEN".into())),
        ]);
        assert_eq!(format!("{:?}", environment.unwrap()), r#"{"A", "B"}"#);
    }

    #[test]
    fn every_value_that_cannot_be_read_is_told_at_once() {
        let wrong = read(&[
            ("A", EnvValue::Env("MISSING".into())),
            ("B", EnvValue::Text("fine".into())),
            ("C", file(Path::new("/does/not/exist"))),
        ]);
        let wrong = wrong.unwrap_err();
        let names: Vec<_> = wrong.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["A", "C"]);
        assert!(wrong[0].1.contains("MISSING"), "{wrong:?}");
        assert!(wrong[1].1.contains("/does/not/exist"), "{wrong:?}");
    }

    #[test]
    fn names_that_no_environment_has_are_refused() {
        for name in ["", "A=B", "A\0"] {
            let reason = refused(name, EnvValue::Text("secret".into()));
            assert!(reason.contains("name"), "{reason}");
        }
        refused("A", EnvValue::Env("B=C".into()));
    }

    #[test]
    fn what_is_no_text_or_too_long_is_refused_and_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let mut too_long = "secret".repeat(ENVIRONMENT_VALUE / 6);
        too_long.push_str("secret");
        let contents: [(&[u8], &str); 3] = [
            (b"secret\xff", "not UTF-8"),
            (b"secret\0", "NUL"),
            (too_long.as_bytes(), "has at most 64KiB"),
        ];
        for (content, says) in contents {
            fs::write(&path, content).unwrap();
            let reason = refused("A", file(&path));
            assert!(reason.contains(says), "{reason}");
            assert!(!reason.contains("secret"), "{reason}");
        }
        #[cfg(unix)]
        assert!(refused("A", EnvValue::Env("BYTES".into())).contains("not UTF-8"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_file_is_followed_and_what_is_no_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let [target, link, pipe] = ["target", "link", "pipe"].map(|name| folder.path().join(name));
        fs::write(&target, "value\r\n").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let environment = read(&[("A", file(&link))]).unwrap();
        assert_eq!(environment.variables().next(), Some(("A", "value")));

        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        for none in [&pipe, folder.path()] {
            assert!(refused("A", file(none)).contains("not a file"));
        }
    }
}
