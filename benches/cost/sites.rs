//! Where allocations come from: the innermost line of queuelet's own that is under way.

use std::collections::HashMap;

use super::allocator::Remembered;

/// What one place in the source allocates for a message.
pub(super) struct Site {
    pub(super) place: String,
    pub(super) allocations: f64,
    pub(super) bytes: f64,
}

/// What is generated has no lines of its own: who calls it says more.
const GENERATED: &str = "plugin/bindings.rs";

/// Places in the source by how often each allocates, the most first.
pub(super) fn sites(remembered: &[Remembered], messages: usize) -> Vec<Site> {
    let mut totals: HashMap<String, (usize, usize)> = HashMap::new();
    for Remembered { bytes, who } in remembered {
        let (allocations, sum) = totals.entry(place(&who.to_string())).or_default();
        *allocations += 1;
        *sum += bytes;
    }
    let each = |total: usize| total as f64 / messages as f64;
    let mut sites: Vec<_> = totals
        .into_iter()
        .map(|(place, (allocations, bytes))| Site {
            place,
            allocations: each(allocations),
            bytes: each(bytes),
        })
        .collect();
    sites.sort_by(|a, b| {
        let most_first = b.allocations.total_cmp(&a.allocations);
        most_first.then_with(|| a.place.cmp(&b.place))
    });
    sites
}

/// The first frame of the host's in a backtrace, which has the innermost first: where it lies, and
/// the function where no line is known.
fn place(backtrace: &str) -> String {
    let mut function = "";
    let mut named = None;
    for line in backtrace.lines().map(str::trim_start) {
        if let Some(at) = line.strip_prefix("at ") {
            if let Some((_, place)) = at.split_once("host/src/")
                && !place.starts_with(GENERATED)
            {
                // Without the column.
                let place = place.rsplit_once(':').map_or(place, |(place, _)| place);
                return place.to_owned();
            }
        } else if let Some((_, name)) = line.split_once(": ") {
            function = name;
            if named.is_none() && function.trim_start_matches('<').starts_with("queuelet::") {
                named = Some(function);
            }
        }
    }
    named.map_or_else(|| format!("beside the host: {function}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_the_innermost_line_of_the_host() {
        let backtrace = "   0: alloc::alloc::alloc\n             at /rustc/1/library/alloc/src/alloc.rs:94:9\n   \
            1: queuelet::sqs::pump::Pump::take\n             at /home/a/queuelet/host/src/sqs/pump.rs:300:13\n   \
            2: queuelet::sqs::pump::Pump::run\n             at /home/a/queuelet/host/src/sqs/pump.rs:166:9\n";
        assert_eq!(place(backtrace), "sqs/pump.rs:300");
    }

    #[test]
    fn without_lines_a_place_is_the_innermost_function_of_the_host() {
        let backtrace = "   0: alloc::alloc::alloc\n   1: <queuelet::sqs::Lease as Drop>::drop\n   2: queuelet::run\n";
        assert_eq!(place(backtrace), "<queuelet::sqs::Lease as Drop>::drop");
        assert_eq!(
            place("   0: tokio::park\n   1: main\n"),
            "beside the host: main"
        );
    }
}
