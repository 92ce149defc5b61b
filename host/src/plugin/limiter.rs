//! How much memory an instance may have, and how large its tables may be (rule 9.2).

use wasmtime::ResourceLimiter;

/// The most elements of a guest's table: what Python and JavaScript guests need, and some.
pub(super) const TABLE_ELEMENTS: usize = 60_000;

/// The memory of one instance: of all its memories together, of which a component may have several.
#[derive(Debug)]
pub(super) struct Limiter {
    allowed: usize,
    used: usize,
    /// What the last growth added, to be taken back where it fails after all.
    last: usize,
    /// What the instance had from the beginning.
    initial: usize,
    /// Whether that may be more than `allowed`.
    is_probe: bool,
}

impl Limiter {
    /// No more than `allowed` bytes.
    pub(super) fn new(allowed: usize) -> Self {
        Self {
            allowed,
            used: 0,
            last: 0,
            initial: 0,
            is_probe: false,
        }
    }

    /// For a plugin that is asked what it is, before anybody can know what its mounts allow: it may
    /// begin with whatever it wants. Memory that nobody has written to costs nothing.
    pub(super) fn of_probe(allowed: usize) -> Self {
        Self {
            is_probe: true,
            ..Self::new(allowed)
        }
    }

    /// The bytes that the instance had from the beginning.
    pub(super) fn initial(&self) -> usize {
        self.initial
    }

    /// The bytes that the instance has now.
    pub(super) fn used(&self) -> usize {
        self.used
    }
}

/// What ends a guest that wants too much.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Full {
    #[error("it asked for {asked} bytes of memory and may have {allowed} (`memory`)")]
    Memory { asked: usize, allowed: usize },
    #[error("it asked for a table of {asked} elements and may have {TABLE_ELEMENTS}")]
    Table { asked: usize },
}

impl ResourceLimiter for Limiter {
    /// A refusal alone would reach the guest's allocator, which aborts, and the reason would be lost
    /// in a trap; so what is over the limit ends the guest. One that reaches a maximum of its own is
    /// told so.
    fn memory_growing(
        &mut self,
        has: usize,
        asks: usize,
        own_maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if own_maximum.is_some_and(|maximum| asks > maximum) {
            return Ok(false);
        }
        let more = asks.saturating_sub(has);
        let asked = self.used.saturating_add(more);
        if has == 0 {
            self.initial = self.initial.saturating_add(more);
            if self.is_probe {
                self.allowed = self.allowed.max(asked);
            }
        }
        if asked > self.allowed {
            let allowed = self.allowed;
            return Err(wasmtime::Error::new(Full::Memory { asked, allowed }));
        }
        (self.used, self.last) = (asked, more);
        Ok(true)
    }

    fn memory_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        self.used = self.used.saturating_sub(std::mem::take(&mut self.last));
        Ok(())
    }

    fn table_growing(
        &mut self,
        _: usize,
        asked: usize,
        own_maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if asked > TABLE_ELEMENTS {
            return Err(wasmtime::Error::new(Full::Table { asked }));
        }
        Ok(own_maximum.is_none_or(|maximum| asked <= maximum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(refused: wasmtime::Result<bool>) -> Full {
        refused.unwrap_err().downcast().unwrap()
    }

    // Rule 9.2.
    #[test]
    fn all_memories_of_an_instance_count_together() {
        let mut limiter = Limiter::new(1000);
        assert!(limiter.memory_growing(0, 600, None).unwrap());
        assert!(limiter.memory_growing(0, 400, None).unwrap());
        let more = full(limiter.memory_growing(400, 401, None));
        assert_eq!(
            more,
            Full::Memory {
                asked: 1001,
                allowed: 1000
            }
        );
        assert!(more.to_string().contains("1001") && more.to_string().contains("`memory`"));
        assert_eq!(limiter.used(), 1000);
    }

    // Rule 9.2.
    #[test]
    fn a_probe_takes_what_is_there_from_the_beginning_and_limits_the_rest() {
        let mut limiter = Limiter::of_probe(1000);
        assert!(limiter.memory_growing(0, 1500, None).unwrap());
        assert!(limiter.memory_growing(0, 500, None).unwrap());
        assert_eq!(limiter.initial(), 2000);
        full(limiter.memory_growing(500, 501, None));
        let mut limiter = Limiter::of_probe(1000);
        assert!(limiter.memory_growing(0, 100, None).unwrap());
        assert!(limiter.memory_growing(100, 1000, None).unwrap());
        full(limiter.memory_growing(1000, 1001, None));
    }

    #[test]
    fn growth_that_fails_after_all_is_not_counted() {
        let mut limiter = Limiter::new(1000);
        assert!(limiter.memory_growing(0, 100, None).unwrap());
        assert!(limiter.memory_growing(100, 900, None).unwrap());
        limiter
            .memory_grow_failed(wasmtime::Error::msg("no"))
            .unwrap();
        assert_eq!(limiter.used(), 100);
    }

    #[test]
    fn a_maximum_of_the_guests_own_is_no_failure() {
        let mut limiter = Limiter::new(1000);
        assert!(!limiter.memory_growing(0, 2000, Some(500)).unwrap());
        assert_eq!(limiter.used(), 0);
        assert!(!limiter.table_growing(0, 200, Some(100)).unwrap());
    }

    // Rule 9.2.
    #[test]
    fn a_table_over_the_limit_ends_the_guest() {
        let mut limiter = Limiter::new(1000);
        let tables = Some(TABLE_ELEMENTS);
        assert!(limiter.table_growing(0, TABLE_ELEMENTS, tables).unwrap());
        let asked = TABLE_ELEMENTS + 1;
        let more = limiter.table_growing(TABLE_ELEMENTS, asked, tables);
        assert_eq!(full(more), Full::Table { asked });
    }
}
