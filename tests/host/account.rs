//! An account of a test's own at an SQS that all tests share, so that no two tests share a queue.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::http::Message;

/// The account that tests write into URLs and ARNs, which is local mode's.
const WRITTEN: &[u8; 12] = b"000000000000";

/// An account at an SQS that takes an access key of twelve digits for one, as emulators do.
#[derive(Clone)]
pub(crate) struct Account(String);

impl Account {
    /// One that nobody else has, of this run or another one.
    pub(crate) fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(1);
        let process = std::process::id() % 10_000_000;
        Self(format!("7{process:07}{:04}", MADE.fetch_add(1, Relaxed)))
    }

    /// Makes a request one of this account.
    pub(crate) fn ask(&self, request: &mut Message) {
        let Self(account) = self;
        let key = "Credential=";
        if let Some(at) = request.head.find(key).map(|at| at + key.len()) {
            let length = request.head[at..].find('/').unwrap_or(0);
            request.head.replace_range(at..at + length, account);
        }
        swap(&mut request.body, WRITTEN, account.as_bytes());
    }

    /// Makes an answer one that the test understands.
    pub(crate) fn answer(&self, answer: &mut Message) {
        swap(&mut answer.body, self.0.as_bytes(), WRITTEN);
    }
}

/// Both have twelve digits: no length changes.
fn swap(body: &mut [u8], from: &[u8], to: &[u8]) {
    let mut at = 0;
    while let Some(next) = body.get_mut(at..at + from.len()) {
        if next == from {
            next.copy_from_slice(to);
            at += from.len();
        } else {
            at += 1;
        }
    }
}
