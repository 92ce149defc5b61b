//! Between the pump and the handlers: who is called with what, and what becomes of it.
//!
//! `outcome` and `circuit` decide and are pure; `feed` hands messages out in order; `worker` calls and
//! settles; `gate` tells the pump how that goes; `subscription` owns the tasks of one mount from its
//! opening to its end.

mod circuit;
mod feed;
mod gate;
mod lines;
mod live;
mod lost;
mod outcome;
mod subscription;
mod supervise;
#[cfg(test)]
mod tests;
mod worker;

pub use live::{Live, Serving};
pub use outcome::{Settlement, answers_for, judge, retry_delay, settlement};
pub use subscription::{Ended, Mounted, run};
