//! What must hold of a host that is never restarted and serves plugins of any kind. Each ends with
//! exit code 1 where it does not hold:
//!
//! ```text
//! cargo run --release -p benches -- compare     what a message costs beside the AWS SDK and a peer
//! cargo run --release -p benches -- cost        what queuelet itself costs a message
//! cargo run --release -p benches -- leak        memory stays flat whatever a guest leaks
//! cargo run --release -p benches -- neighbour   a plugin is quick whatever its neighbours do
//! cargo run --release -p benches -- reload      replacing a plugin holds up no message
//! ```

mod claim;
mod compare;
mod host;
mod leak;
mod machine;
mod neighbour;
mod order;
mod process;
mod reload;
mod role;
mod sample;
mod server;

use std::process::ExitCode;

/// It counts for `cost`. For everybody else it is the system's.
#[global_allocator]
static ALLOCATOR: benches::cost::Counting = benches::cost::Counting;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime starts");
    if let Some(role) = role::Role::of_this_process() {
        return runtime.block_on(role.play());
    }
    let mut arguments = std::env::args().skip(1);
    let holds = match arguments.next().as_deref() {
        Some("compare") => compare::holds(arguments),
        Some("cost") => benches::cost::holds(arguments),
        Some("leak") => runtime.block_on(leak::holds()),
        Some("neighbour") => runtime.block_on(neighbour::holds()),
        Some("reload") => runtime.block_on(reload::holds()),
        _ => {
            eprintln!("usage: benches compare|cost|leak|neighbour|reload");
            return ExitCode::from(2);
        }
    };
    if holds {
        ExitCode::SUCCESS
    } else {
        eprintln!("this does not hold");
        ExitCode::FAILURE
    }
}
