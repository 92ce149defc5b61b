//! The machine that something was measured on.

use std::fmt;
use std::fs;

use serde::Serialize;

/// What of it bears on the numbers.
#[derive(Serialize)]
pub(crate) struct Machine {
    cores: usize,
    cpu: String,
    kernel: String,
    aws_sdk_sqs: &'static str,
}

impl Machine {
    /// This one.
    pub(crate) fn of_this() -> Self {
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = info
            .lines()
            .find_map(|line| line.strip_prefix("model name"));
        let model = model.map(|rest| rest.trim_start_matches([' ', '\t', ':']));
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            cpu: model.unwrap_or("unknown").trim().to_owned(),
            kernel: kernel.trim().to_owned(),
            aws_sdk_sqs: aws_sdk_sqs::meta::PKG_VERSION,
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cores,
            cpu,
            kernel,
            aws_sdk_sqs,
        } = self;
        write!(
            f,
            "{cores} cores of {cpu}, Linux {kernel}; aws-sdk-sqs {aws_sdk_sqs}"
        )
    }
}
