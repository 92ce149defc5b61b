//! What the host says of what a plugin said (rules 9.1 and 9.4).

use std::sync::Arc;

use super::rate::Lines;
use super::secrets::Secrets;
use crate::handler::Voice;
use crate::limits::GUEST_LINE;
use crate::line;

/// One mount's: the secrets that no line tells, and the plugin's share of the log.
pub(super) struct Spoken {
    /// Of all instances of the plugin.
    pub(super) lines: Arc<Lines>,
    /// Of the mount's environment.
    pub(super) secrets: Secrets,
}

impl Voice for Spoken {
    fn words(&self, text: &str) -> String {
        let (text, cut) = self.secrets.cut(text, GUEST_LINE, 0);
        line::part(&text, cut > 0)
    }

    fn may_say(&self) -> bool {
        self.lines.may_write()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::GUEST_LINES;

    // Rules 9.1 and 9.4.
    #[test]
    fn the_hosts_own_lines_are_short_tell_no_secret_and_stay_lines() {
        let spoken = Spoken {
            lines: Arc::new(Lines::new("p".into(), "d".into())),
            secrets: Secrets::of(["hunter22", "with\rreturn"]),
        };
        let table = [
            ("send to hunter22\nforged", "send to ***\\nforged"),
            ("the header \"with\\rreturn\"", "the header \"***\""),
        ];
        for (text, words) in table {
            assert_eq!(spoken.words(text), words);
        }
        let long = spoken.words(&"hunter22 and ".repeat(100_000));
        assert!(long.len() <= GUEST_LINE && !long.contains("hunter"));
        assert!(long.ends_with(" […]"));
    }

    // Rule 9.4.
    #[test]
    fn what_the_host_says_of_a_plugin_is_of_the_plugins_share() {
        let lines = Arc::new(Lines::new("p".into(), "d".into()));
        let spoken = Spoken {
            lines: Arc::clone(&lines),
            secrets: Secrets::default(),
        };
        let said = (0..3 * GUEST_LINES).filter(|_| spoken.may_say()).count();
        assert!(said >= GUEST_LINES as usize && said < 2 * GUEST_LINES as usize);
        assert!((0..10).any(|_| !lines.may_write()));
    }
}
