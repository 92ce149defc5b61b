//! Sleeps for ever: it sits in a call of the host, and burns nothing.
//!
//! It is written by hand, without the attribute.

use std::thread;
use std::time::Duration;

use queuelet_guest::{Body, Context, Handle};

struct Sleeper;

impl<'m> Handle<Body<'m>> for Sleeper {
    type Output = ();

    async fn handle(&self, _: Body<'m>, _: &Context) {
        loop {
            thread::sleep(Duration::from_secs(3_600));
        }
    }
}

queuelet_guest::export!(Sleeper);
