//! Processes: started in a role of this program, and what the system says of one.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};

/// The hundredths of a second in which Linux tells the CPU time of a process, on every machine.
const TICKS: f64 = 100.0;

/// A process that ends with its owner.
pub(crate) struct Started(pub(crate) Child);

impl Drop for Started {
    fn drop(&mut self) {
        // One that has ended already is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Started {
    /// Starts this program again. What it says on stdout is for its owner to read.
    pub(crate) fn again(prepare: impl FnOnce(&mut Command)) -> anyhow::Result<Self> {
        Self::program(&std::env::current_exe()?, prepare)
    }

    /// Starts a program. What it says on stdout is for its owner to read.
    pub(crate) fn program(
        program: &Path,
        prepare: impl FnOnce(&mut Command),
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        prepare(&mut command);
        Ok(Self(command.spawn()?))
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

/// The CPU time that a process has used, in seconds.
///
/// # Errors
/// Where it has ended.
pub(crate) fn cpu(process: u32) -> anyhow::Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    cpu_of(&stat).with_context(|| format!("process {process}"))
}

fn cpu_of(stat: &str) -> anyhow::Result<f64> {
    // The name, in parentheses, may have anything in it.
    let (_, fields) = stat.rsplit_once(") ").context("no name")?;
    let fields: Vec<_> = fields.split(' ').collect();
    ensure!(!matches!(fields.first(), Some(&("Z" | "X"))), "it ended");
    // utime and stime: the 14th and 15th field, of which two are gone.
    let ticks = |place: usize| -> anyhow::Result<f64> {
        let field = fields.get(place).context("too few fields")?;
        Ok(field.parse::<u32>()?.into())
    };
    Ok((ticks(11)? + ticks(12)?) / TICKS)
}

/// The most memory that a process had, in KiB.
///
/// # Errors
/// Where it has ended.
pub(crate) fn peak_kib(process: u32) -> anyhow::Result<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    peak_of(&status).with_context(|| format!("process {process} has no VmHWM"))
}

fn peak_of(status: &str) -> Option<u32> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_is_found_behind_any_name() {
        let stat = "7 (a) R 9) S 1 7 7 0 -1 4194304 100 0 0 0 150 25 0 0 20 0 8 0 1 2 3";
        assert_eq!(cpu_of(stat).expect("it is there"), 1.75);
    }

    #[test]
    fn a_process_that_ended_has_no_cpu_time() {
        let stat = "7 (host) Z 1 7 7 0 -1 4194304 100 0 0 0 150 25 0 0 20 0 8 0 1 2 3";
        assert!(cpu_of(stat).is_err());
    }

    #[test]
    fn the_peak_is_that_of_resident_memory() {
        let status = "VmPeak:\t 9000 kB\nVmHWM:\t   5120 kB\nVmRSS:\t 4096 kB\n";
        assert_eq!(peak_of(status), Some(5120));
    }

    #[test]
    fn this_process_has_both() {
        let own = std::process::id();
        assert!(cpu(own).is_ok());
        assert!(peak_kib(own).is_ok_and(|kib| kib > 0));
    }
}
