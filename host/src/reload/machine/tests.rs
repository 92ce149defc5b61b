//! Every transition, on a clock that is passed in.

use std::time::Duration;

use super::super::stamp::{FileKind, FileStamp};
use super::*;

fn file(of: u64) -> FileStamp {
    FileStamp {
        kind: FileKind::File,
        place: (1, of),
        size: of,
        modified: (0, 0),
        changed: (0, 0),
    }
}

/// A plugin with a mount file, of this code.
fn stamp(wasm: u64) -> Stamp {
    Stamp {
        wasm: file(wasm),
        toml: Some(file(1)),
    }
}

fn bare(wasm: u64) -> Stamp {
    Stamp {
        toml: None,
        ..stamp(wasm)
    }
}

fn content(wasm: u64, toml: u64) -> Content {
    Content {
        wasm: Digest::of(&[wasm as u8]),
        toml: (toml > 0).then(|| Digest::of(&[toml as u8])),
    }
}

fn refusal(of: Option<Content>, unfinished: bool) -> Refusal {
    Refusal {
        unfinished,
        digest: of.map(|content| content.wasm),
        content: of,
        reason: "bad".into(),
    }
}

/// The folder has the files of this code; `Not` no file.
fn seen(wasm: u64) -> Event {
    Event::Seen(Some(stamp(wasm)))
}
const NOT: Event = Event::Seen(None);

fn fine(wasm: u64) -> Event {
    Event::Loaded {
        of: stamp(wasm),
        result: Ok(content(wasm, 1)),
    }
}

fn bad(wasm: u64) -> Event {
    Event::Loaded {
        of: stamp(wasm),
        result: Err(refusal(Some(content(wasm, 1)), false)),
    }
}

fn half(wasm: u64) -> Event {
    Event::Loaded {
        of: stamp(wasm),
        result: Err(refusal(Some(content(wasm, 1)), true)),
    }
}

const LIVE: Event = Event::Taken(Ok(()));

fn closed(wasm: u64) -> Event {
    Event::Taken(Err(refusal(Some(content(wasm, 1)), false)))
}

fn words(actions: &[Action]) -> String {
    let word = |action: &Action| match action {
        Action::Load(stamp) => format!("load {}", stamp.wasm.size),
        Action::Discard => "discard".into(),
        Action::Take { how, version } => format!("{how:?} {version}").to_lowercase(),
        Action::Report(_) => "report".into(),
        Action::Restored => "restored".into(),
        Action::Remove => "remove".into(),
    };
    actions.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// What happens after so many milliseconds, and what is done then.
type Step = (u64, Event, &'static str);

/// Plays a script to a machine and answers it.
fn play(name: &str, mut machine: Machine, steps: &[Step]) -> Machine {
    let start = Instant::now();
    for (place, (ms, event, expected)) in steps.iter().enumerate() {
        let now = start + Duration::from_millis(*ms);
        let actions = machine.step(now, event.clone());
        assert_eq!(
            words(&actions),
            *expected,
            "{name}, step {place}: {event:?}"
        );
    }
    machine
}

fn serving(wasm: u64) -> Machine {
    Machine::started(stamp(wasm), Ok(content(wasm, 1)))
}

fn number(machine: &Machine) -> Option<u64> {
    machine.serving().map(|version| version.number)
}

// Rules 8.1, 8.2, 8.4 and 8.5: the transitions, one after the other.
#[test]
fn every_transition_of_a_plugin() {
    let new = Machine::new;
    let table: Vec<(&str, Machine, Vec<Step>, Option<u64>)> = vec![
        (
            "a new file is loaded once it has stood still, and opened",
            new(),
            vec![
                (0, NOT, ""),
                (10, seen(1), ""),
                (100, seen(1), ""),
                (260, seen(1), "load 1"),
                (300, seen(1), ""),
                (400, fine(1), "open 1"),
                (450, seen(1), ""),
                (500, LIVE, ""),
                (2500, seen(1), ""),
            ],
            Some(1),
        ),
        (
            "a file that keeps changing has to settle first",
            new(),
            vec![
                (0, seen(1), ""),
                (200, seen(2), ""),
                (400, seen(3), ""),
                (640, seen(3), ""),
                (650, seen(3), "load 3"),
            ],
            None,
        ),
        (
            "a file that vanishes before it was loaded was nothing",
            new(),
            vec![(0, seen(1), ""), (100, NOT, ""), (2200, NOT, "")],
            None,
        ),
        (
            "other code is swapped in",
            serving(1),
            vec![
                (0, seen(2), ""),
                (250, seen(2), "load 2"),
                (300, fine(2), "swap 2"),
                (310, LIVE, ""),
            ],
            Some(2),
        ),
        (
            "of several changes the last one is live in the end",
            serving(1),
            vec![
                (0, seen(2), ""),
                (250, seen(2), "load 2"),
                (300, seen(3), ""),
                (400, fine(2), "discard"),
                (500, seen(4), ""),
                (750, seen(4), "load 4"),
                (760, seen(5), ""),
                (770, bad(4), "discard"),
                (1100, seen(5), "load 5"),
                (1200, fine(5), "swap 2"),
                (1210, seen(6), ""),
                (1220, LIVE, ""),
                (1470, seen(6), "load 6"),
                (1500, fine(6), "swap 3"),
                (1510, LIVE, ""),
            ],
            Some(3),
        ),
        (
            "a content that serves reloads nothing, however its file came",
            serving(1),
            vec![
                (0, seen(2), ""),
                (250, seen(2), "load 2"),
                (
                    300,
                    Event::Loaded {
                        of: stamp(2),
                        result: Ok(content(1, 1)),
                    },
                    "discard",
                ),
                (400, seen(2), ""),
            ],
            Some(1),
        ),
        (
            "another mount file mounts the same code again",
            serving(1),
            vec![
                (0, seen(2), ""),
                (250, seen(2), "load 2"),
                (
                    300,
                    Event::Loaded {
                        of: stamp(2),
                        result: Ok(content(1, 2)),
                    },
                    "remount 2",
                ),
                (310, LIVE, ""),
            ],
            Some(2),
        ),
        (
            "a mount file that is gone for a moment was replaced",
            serving(1),
            vec![
                (0, Event::Seen(Some(bare(1))), ""),
                (1900, Event::Seen(Some(bare(1))), ""),
                (1950, seen(1), ""),
                (2200, seen(1), "load 1"),
                (2300, fine(1), "discard"),
            ],
            Some(1),
        ),
        (
            "a mount file that stays away is taken as gone",
            serving(1),
            vec![
                (0, Event::Seen(Some(bare(1))), ""),
                (2000, Event::Seen(Some(bare(1))), "load 1"),
                (
                    2100,
                    Event::Loaded {
                        of: bare(1),
                        result: Ok(content(1, 0)),
                    },
                    "remount 2",
                ),
                (2200, LIVE, ""),
            ],
            Some(2),
        ),
        (
            "a refusal is said at once and once, and the old version serves on",
            serving(1),
            vec![
                (0, seen(2), ""),
                (250, seen(2), "load 2"),
                (300, bad(2), "report"),
                (400, seen(2), ""),
                (500, seen(3), ""),
                (750, seen(3), "load 3"),
                (
                    800,
                    Event::Loaded {
                        of: stamp(3),
                        result: Err(refusal(Some(content(2, 1)), false)),
                    },
                    "",
                ),
            ],
            Some(1),
        ),
        (
            "another bad content is said too",
            serving(1),
            vec![
                (0, seen(2), ""),
                (250, seen(2), "load 2"),
                (300, bad(2), "report"),
                (500, seen(3), ""),
                (750, seen(3), "load 3"),
                (800, bad(3), "report"),
            ],
            Some(1),
        ),
        (
            "a refused plugin whose file becomes good serves",
            Machine::started(stamp(1), Err(refusal(None, false))),
            vec![
                (0, seen(1), ""),
                (5000, seen(2), ""),
                (5250, seen(2), "load 2"),
                (5300, fine(2), "open 1"),
                (5310, LIVE, ""),
            ],
            Some(1),
        ),
        (
            "going back to what serves ends the refusal",
            serving(1),
            vec![
                (0, seen(2), ""),
                (250, seen(2), "load 2"),
                (300, bad(2), "report"),
                (400, seen(1), ""),
                (650, seen(1), "load 1"),
                (700, fine(1), "discard, restored"),
                (800, seen(2), ""),
                (1050, seen(2), "load 2"),
                (1100, bad(2), "report"),
            ],
            Some(1),
        ),
        (
            "what looks unfinished is refused once it has stood still for long, and loaded once more",
            serving(1),
            vec![
                (0, seen(2), ""),
                (250, seen(2), "load 2"),
                (300, half(2), ""),
                (1000, seen(2), ""),
                (1999, seen(2), ""),
                (2000, seen(2), "load 2"),
                (2010, half(2), "report"),
                (2100, seen(2), ""),
            ],
            Some(1),
        ),
        (
            "what looked unfinished and grows is loaded when it is whole",
            serving(1),
            vec![
                (0, seen(2), ""),
                (250, seen(2), "load 2"),
                (300, half(2), ""),
                (1000, seen(3), ""),
                (1250, seen(3), "load 3"),
                (1300, fine(3), "swap 2"),
                (1310, LIVE, ""),
            ],
            Some(2),
        ),
        (
            "gone for less than two seconds is replaced",
            serving(1),
            vec![
                (0, NOT, ""),
                (1999, NOT, ""),
                (1999, seen(2), ""),
                (2249, seen(2), "load 2"),
                (2300, fine(2), "swap 2"),
                (2310, LIVE, ""),
            ],
            Some(2),
        ),
        (
            "gone for two seconds is removed, and the versions of a file that comes again count on",
            serving(1),
            vec![
                (0, NOT, ""),
                (2000, NOT, "remove"),
                (3000, NOT, ""),
                (4000, seen(1), ""),
                (4250, seen(1), "load 1"),
                (4300, fine(1), "open 2"),
                (4310, LIVE, ""),
            ],
            Some(2),
        ),
        (
            "what is gone when its load ends is not taken",
            serving(1),
            vec![
                (0, seen(2), ""),
                (250, seen(2), "load 2"),
                (300, NOT, ""),
                (400, fine(2), "discard"),
                (500, NOT, ""),
                (2400, NOT, "remove"),
            ],
            None,
        ),
        (
            "what goes while its queues are opened is removed after that",
            new(),
            vec![
                (0, seen(1), ""),
                (250, seen(1), "load 1"),
                (300, fine(1), "open 1"),
                (400, NOT, ""),
                (3000, NOT, ""),
                (3100, LIVE, ""),
                (5100, NOT, "remove"),
            ],
            None,
        ),
        (
            "queues that cannot be opened refuse the version, and the old one serves on",
            serving(1),
            vec![
                (0, seen(2), ""),
                (250, seen(2), "load 2"),
                (300, fine(2), "swap 2"),
                (400, closed(2), "report"),
                (500, seen(2), ""),
                (600, seen(3), ""),
                (850, seen(3), "load 3"),
                (900, fine(3), "swap 2"),
                (910, LIVE, ""),
            ],
            Some(2),
        ),
        (
            "a refused plugin is tried again where something beside its files has changed",
            serving(1),
            vec![
                (0, Event::TryAgain, ""),
                (10, seen(2), ""),
                (260, seen(2), "load 2"),
                (300, bad(2), "report"),
                (1000, Event::TryAgain, ""),
                (1250, seen(2), "load 2"),
                (1300, fine(2), "swap 2"),
                (1310, LIVE, ""),
            ],
            Some(2),
        ),
        (
            "an answer that nobody waits for is thrown away",
            serving(1),
            vec![(0, fine(2), "discard"), (10, LIVE, ""), (20, closed(2), "")],
            Some(1),
        ),
    ];
    for (name, machine, steps, version) in table {
        let machine = play(name, machine, &steps);
        assert_eq!(number(&machine), version, "{name}");
    }
}

// Rule 8.2: the supervisor looks when something may be due, and not for nothing.
#[test]
fn it_says_when_it_must_be_looked_at_again() {
    let now = Instant::now();
    let mut machine = serving(1);
    assert_eq!(machine.wake(), None);
    machine.step(now, seen(2));
    assert_eq!(machine.wake(), Some(now + SETTLED_FOR));
    machine.step(now, NOT);
    assert_eq!(machine.wake(), Some(now + REPLACED_WITHIN));
    machine.step(now, Event::Seen(Some(bare(1))));
    assert_eq!(machine.wake(), Some(now + REPLACED_WITHIN));
    machine.step(now + REPLACED_WITHIN, Event::Seen(Some(bare(1))));
    assert_eq!(machine.wake(), None, "it is being loaded");
}

// Rule 8.4: files that never served leave nothing behind.
#[test]
fn a_plugin_that_never_served_is_forgotten_when_it_is_gone() {
    let now = Instant::now();
    let over = now + REPLACED_WITHIN;
    let refused = Machine::started(stamp(1), Err(refusal(None, false)));
    for (mut machine, forgotten) in [(refused, true), (serving(1), false)] {
        machine.step(now, NOT);
        assert!(!machine.is_nothing());
        machine.step(over, NOT);
        assert_eq!(machine.is_nothing(), forgotten);
        assert!(machine.refused().is_none());
    }
}
