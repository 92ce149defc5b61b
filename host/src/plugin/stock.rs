//! What is kept warm, by whom it may be used again, and which of it goes first: no waiting and no
//! clock in it.
//!
//! Each pool is a stack: what was used last is used next, so that what is not needed grows old at
//! the bottom, and is what goes when somebody else needs the room.

use std::collections::{BTreeMap, HashMap, VecDeque};

use tokio::time::Instant;

/// Whose instances are used again by whom: those of one mount of one version of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct PoolId(u64);

/// Everything that is kept warm in the host.
pub(super) struct Stock<T> {
    pools: HashMap<PoolId, VecDeque<Kept<T>>>,
    /// Where each lies, the longest idle first.
    order: BTreeMap<u64, PoolId>,
    next: u64,
}

struct Kept<T> {
    since: u64,
    until: Option<Instant>,
    value: T,
}

impl<T> Stock<T> {
    pub(super) fn new() -> Self {
        Self {
            pools: HashMap::new(),
            order: BTreeMap::new(),
            next: 0,
        }
    }

    /// A new pool, with nothing in it.
    pub(super) fn open(&mut self) -> PoolId {
        let id = PoolId(self.number());
        self.pools.insert(id, VecDeque::new());
        id
    }

    /// The end of a pool. What was in it is the caller's to drop.
    pub(super) fn close(&mut self, pool: PoolId) -> Vec<T> {
        let kept = self.pools.remove(&pool).unwrap_or_default();
        for kept in &kept {
            self.order.remove(&kept.since);
        }
        kept.into_iter().map(|kept| kept.value).collect()
    }

    /// Keeps something until it is too old. A pool that is closed gives it back.
    pub(super) fn put(&mut self, pool: PoolId, until: Option<Instant>, value: T) -> Result<(), T> {
        let since = self.number();
        let Some(kept) = self.pools.get_mut(&pool) else {
            return Err(value);
        };
        kept.push_back(Kept {
            since,
            until,
            value,
        });
        self.order.insert(since, pool);
        Ok(())
    }

    /// What was put last.
    pub(super) fn take(&mut self, pool: PoolId) -> Option<T> {
        let kept = self.pools.get_mut(&pool)?.pop_back()?;
        self.order.remove(&kept.since);
        Some(kept.value)
    }

    /// What has been idle the longest, whosever it is.
    pub(super) fn evict(&mut self) -> Option<T> {
        let (_, pool) = self.order.pop_first()?;
        let kept = self.pools.get_mut(&pool)?.pop_front()?;
        Some(kept.value)
    }

    /// What is too old by now.
    pub(super) fn too_old(&mut self, now: Instant) -> Vec<T> {
        let mut old = Vec::new();
        for pool in self.pools.values_mut() {
            let (go, stay): (VecDeque<_>, _) = std::mem::take(pool)
                .into_iter()
                .partition(|kept| kept.until.is_some_and(|until| until <= now));
            *pool = stay;
            for kept in go {
                self.order.remove(&kept.since);
                old.push(kept.value);
            }
        }
        old
    }

    /// When the next one will be too old.
    pub(super) fn next_too_old(&self) -> Option<Instant> {
        let kept = self.pools.values().flatten();
        kept.filter_map(|kept| kept.until).min()
    }

    /// How much there is.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Everything.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.pools.values().flatten().map(|kept| &kept.value)
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_was_used_last_is_used_next_and_what_idles_longest_goes_first() {
        let mut stock = Stock::new();
        let (a, b) = (stock.open(), stock.open());
        for (pool, value) in [(a, 1), (b, 2), (a, 3), (b, 4), (a, 5)] {
            assert_eq!(stock.put(pool, None, value), Ok(()));
        }
        assert_eq!(stock.take(a), Some(5));
        assert_eq!(stock.evict(), Some(1));
        assert_eq!(stock.evict(), Some(2), "whosever it is");
        assert_eq!(stock.take(a), Some(3));
        assert_eq!(stock.take(a), None, "what others keep is not for it");
        assert_eq!((stock.len(), stock.iter().count()), (1, 1));
        assert_eq!(stock.evict(), Some(4));
        assert_eq!(stock.evict(), None);
    }

    #[test]
    fn a_closed_pool_keeps_nothing() {
        let mut stock = Stock::new();
        let (a, b) = (stock.open(), stock.open());
        stock.put(a, None, 1).expect("it is open");
        stock.put(b, None, 2).expect("it is open");
        assert_eq!(stock.close(a), [1]);
        assert_eq!(stock.put(a, None, 3), Err(3), "a call that ended later");
        assert_eq!(stock.take(a), None);
        assert_eq!((stock.len(), stock.evict()), (1, Some(2)));
    }

    #[tokio::test]
    async fn what_is_too_old_goes_wherever_it_lies() {
        let now = Instant::now();
        let after = |secs| Some(now + Duration::from_secs(secs));
        let mut stock = Stock::new();
        let (a, b) = (stock.open(), stock.open());
        for (pool, until, value) in [
            (a, after(9), 1),
            (a, after(3), 2),
            (b, after(5), 3),
            (b, None, 4),
        ] {
            stock.put(pool, until, value).expect("it is open");
        }
        assert_eq!(stock.next_too_old(), after(3));
        let mut old = stock.too_old(now + Duration::from_secs(5));
        old.sort();
        assert_eq!(old, [2, 3]);
        assert_eq!(stock.next_too_old(), after(9));
        assert_eq!(
            (stock.evict(), stock.evict(), stock.evict()),
            (Some(1), Some(4), None)
        );
    }
}
