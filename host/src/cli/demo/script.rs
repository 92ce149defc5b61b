//! What the demo sends, and what must come of it.

/// A queue of the demo.
pub(super) struct Scene {
    pub(super) queue: &'static str,
    pub(super) bodies: &'static [&'static str],
    /// What must come of it.
    pub(super) expected: Expected,
    /// What a reader should look at.
    pub(super) shows: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) handled: usize,
    pub(super) replied: usize,
    pub(super) retried: usize,
    pub(super) dead_lettered: usize,
}

/// The plugins, by the names of their crates and files.
pub(super) const PLUGINS: [&str; 4] = ["report", "orders", "payments", "audit"];

/// Where the replies to orders go, as the `orders` plugin's descriptor says.
pub(super) const REPLIES: &str = "orders-events";

/// The queue whose redrive policy gives a message up, and where to.
pub(super) const REDRIVE: (&str, &str) = ("payments", "payments-dead-letters");

/// How many receives the redrive policy allows.
pub(super) const MAX_RECEIVES: u32 = 2;

pub(super) const SCENES: [Scene; 5] = [
    Scene {
        queue: "reports",
        bodies: &[
            r#"{"title":"Sales of the year"}"#,
            r#"{"title":"Stock on hand"}"#,
        ],
        expected: Expected {
            handled: 2,
            replied: 0,
            retried: 0,
            dead_lettered: 0,
        },
        shows: "a message is hidden for 2 s and takes 5 s: its lease is kept, it is handled once",
    },
    Scene {
        queue: "orders",
        bodies: &[
            r#"{"id":"o-1","lines":[{"quantity":2,"price":350}]}"#,
            r#"{"id":"o-2","lines":[{"quantity":1,"price":1999},{"quantity":3,"price":40}]}"#,
            r#"{"id":"o-3","lines":[{"quantity":10,"price":5}]}"#,
            r#"{"id":"o-4","lines":[{"quantity":1,"price":120000}]}"#,
        ],
        expected: Expected {
            handled: 4,
            replied: 4,
            retried: 0,
            dead_lettered: 0,
        },
        shows: "each order is replied to on orders-events, then deleted",
    },
    Scene {
        queue: "payments",
        bodies: &[
            r#"{"id":"p-1","amount":700,"provider":"ready"}"#,
            r#"{"id":"p-2","amount":2119,"provider":"busy"}"#,
            r#"{"id":"p-3","amount":50,"provider":"ready","cancelled":true}"#,
            r#"{"id":"p-4","amount":"#,
            r#"{"id":"p-5","amount":120000,"provider":"ready"}"#,
        ],
        // p-2 comes back once; p-4 can never be read, fails twice, and is given up.
        expected: Expected {
            handled: 4,
            replied: 0,
            retried: 3,
            dead_lettered: 1,
        },
        shows: "one call a batch, an outcome for each: ack, drop, retry_after; one cannot be read",
    },
    Scene {
        queue: "audit-eu",
        bodies: &["a login in Vienna", "a login in Porto"],
        expected: Expected {
            handled: 2,
            replied: 0,
            retried: 0,
            dead_lettered: 0,
        },
        shows: "one plugin, mounted on two queues by audit.toml",
    },
    Scene {
        queue: "audit-us",
        bodies: &["a login in Boston"],
        expected: Expected {
            handled: 1,
            replied: 0,
            retried: 0,
            dead_lettered: 0,
        },
        shows: "",
    },
];
