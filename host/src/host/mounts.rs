//! What becomes of a plugin's subscriptions when another version of it comes. Pure.

use crate::config::SqsSubscription;
use crate::handler::HandlerKind;

/// A mount, and what it is fed.
#[derive(Clone, Copy)]
pub(super) struct Fed<'a> {
    pub(super) subscription: &'a SqsSubscription,
    pub(super) kind: HandlerKind,
}

/// What becomes of a mount of the next version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The subscription at this place among the running ones goes on, its open long poll included.
    Keep(usize),
    /// A subscription is opened in the place of the one there, which is retired then.
    Instead(usize),
    /// The same on another queue.
    Moved(usize),
    /// A subscription is opened.
    Open,
}

/// Answers for each mount of the next version what becomes of it. Running subscriptions that no
/// answer names are to end (rule 8.4).
///
/// A subscription goes on where nothing has changed that it has taken up for good (rule 8.3). Where
/// another takes its place it is retired, not ended: what it holds need not come twice then, and a
/// queue that cannot be opened, for its name was mistyped perhaps, takes no work from it.
pub(super) fn plan(running: &[Fed<'_>], next: &[Fed<'_>]) -> Vec<Next> {
    let mut free: Vec<usize> = (0..running.len()).collect();
    let mut take = |of: &dyn Fn(&Fed<'_>) -> bool| {
        let at = free.iter().position(|place| of(&running[*place]))?;
        Some(free.remove(at))
    };
    // The same first, so that no other mount takes its place.
    let kept: Vec<_> = next
        .iter()
        .map(|new| {
            take(&|old| old.kind == new.kind && old.subscription.same_queue(new.subscription))
        })
        .collect();
    let instead: Vec<_> = next
        .iter()
        .zip(kept)
        .map(|(new, kept)| match kept {
            Some(place) => Some(Next::Keep(place)),
            None => {
                let queue = new.subscription.queue.name();
                take(&|old| old.subscription.queue.name() == queue).map(Next::Instead)
            }
        })
        .collect();
    instead
        .into_iter()
        .map(|next| next.or_else(|| take(&|_| true).map(Next::Moved)))
        .map(|next| next.unwrap_or(Next::Open))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::mounts_of_a_test as mounts;

    fn fed(of: &[SqsSubscription], kind: HandlerKind) -> Vec<Fed<'_>> {
        let fed = of.iter().map(|subscription| Fed { subscription, kind });
        fed.collect()
    }

    // Rules 8.3 and 8.4.
    #[test]
    fn a_subscription_goes_on_unless_its_queue_is_read_otherwise() {
        use HandlerKind::{Batch, Single};
        use Next::{Instead, Keep, Moved, Open};
        let two = "[[mount]]\nqueue = \"a\"\n[[mount]]\nqueue = \"b\"\n";
        for (old, new, kind, expected) in [
            ("queue = \"a\"", "queue = \"a\"", Single, vec![Keep(0)]),
            // What calls take with them.
            (
                "queue = \"a\"",
                "# more\nqueue = \"a\"\ntimeout = \"5s\"\nretry_delay = \"2s\"",
                Single,
                vec![Keep(0)],
            ),
            ("queue = \"a\"", "queue = \"a\"", Batch, vec![Instead(0)]),
            (
                "queue = \"a\"",
                "queue = \"a\"\nworkers = 2",
                Single,
                vec![Instead(0)],
            ),
            (
                "queue = \"a\"",
                "queue = \"a\"\nreply = \"c\"",
                Single,
                vec![Instead(0)],
            ),
            ("queue = \"a\"", "queue = \"b\"", Single, vec![Moved(0)]),
            (
                two,
                "[[mount]]\nqueue = \"c\"\n[[mount]]\nqueue = \"a\"\n",
                Single,
                vec![Moved(1), Keep(0)],
            ),
            ("queue = \"b\"", two, Single, vec![Open, Keep(0)]),
            (two, "queue = \"b\"", Single, vec![Keep(1)]),
            (
                two,
                "[[mount]]\nqueue = \"b\"\n[[mount]]\nqueue = \"a\"\nwait = \"1s\"\n",
                Single,
                vec![Keep(1), Instead(0)],
            ),
            // Twice the same queue: the one that is the same goes on.
            (
                "[[mount]]\nqueue = \"a\"\nworkers = 2\n[[mount]]\nqueue = \"a\"\n",
                "[[mount]]\nqueue = \"a\"\n[[mount]]\nqueue = \"a\"\nworkers = 3\n",
                Single,
                vec![Keep(1), Instead(0)],
            ),
            (
                "queue = \"a\"",
                "queue = \"a\"\nenabled = false",
                Single,
                vec![],
            ),
        ] {
            let (old, new) = (mounts(old), mounts(new));
            let planned = plan(&fed(&old, Single), &fed(&new, kind));
            assert_eq!(planned, expected, "{new:?}");
        }
    }
}
