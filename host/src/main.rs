//! The `queuelet` command.

fn main() -> std::process::ExitCode {
    queuelet::cli::main()
}
