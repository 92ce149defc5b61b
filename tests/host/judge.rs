//! The second judge: an SQS and SNS that others wrote, where the environment names one.
//!
//! Local mode has the authors of the host, so that one misreading of AWS could stand in both and no
//! test would see it. `.ci/run` therefore starts ministack and runs these tests again with its
//! endpoint in [`VARIABLE`]. Each test has an account of its own there. What is no judge of a test
//! stands in [`OTHERWISE`]; such a test goes to local mode again, and says so.

use std::io::{Write, stderr};
use std::process::Command;
use std::thread;

/// Names the endpoint of the second judge.
const VARIABLE: &str = "QUEUELET_TEST_ENDPOINT";

/// What the second judge does otherwise than AWS, and the tests that rest on it: their names, or
/// the beginning of several.
struct Otherwise {
    aws: &'static str,
    judge: &'static str,
    tests: &'static [&'static str],
}

/// Of ministack 1.4.21.
static OTHERWISE: &[Otherwise] = &[
    Otherwise {
        aws: "takes a message of 1 MiB",
        judge: "takes 256 KiB",
        tests: &["messages::a_message_as_large_as_sqs_takes_is_handled"],
    },
    Otherwise {
        aws: "gives the messages of a lost answer again to a receive with the same attempt id",
        judge: "knows no attempt ids",
        tests: &["fifo::a_receive_whose_answer_is_lost_is_repeated_as_the_same_attempt"],
    },
    Otherwise {
        aws: "refuses a delay above 900 s and a receive of more than 10 messages",
        judge: "takes both",
        tests: &[
            "access::check_online_finds_nothing_wrong_where_nothing_is_and_touches_no_message",
            "access::check_online_names_the_action_that_is_denied",
        ],
    },
];

/// The endpoint that this test is to use in place of local mode, if any.
pub(crate) fn of_this_test() -> Option<String> {
    let endpoint = endpoint()?;
    let thread = thread::current();
    let test = thread.name().filter(|name| name.contains("::"));
    let test =
        test.expect("a test has a thread of its own: run them with --test-threads=2 or more");
    let mut all = OTHERWISE.iter();
    let Some(why) = all.find(|why| why.tests.iter().any(|name| test.starts_with(name))) else {
        return Some(endpoint);
    };
    let Otherwise { aws, judge, .. } = why;
    say(&format!(
        "{test} left out against the second judge: AWS {aws}; this one {judge}"
    ));
    None
}

fn endpoint() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|url| !url.is_empty())
}

/// Writes a line that a test that passes is seen to write.
fn say(line: &str) {
    let _ = writeln!(stderr(), "{line}");
}

/// Whether there is one at all, and whether its table is of tests that there are.
#[test]
fn the_second_judge_is_asked_where_there_is_one() {
    let program = std::env::current_exe().expect("this is a program");
    let listed = Command::new(program)
        .args(["--list", "--format=terse"])
        .output();
    let listed = String::from_utf8(listed.expect("it lists its tests").stdout);
    let listed = listed.expect("names are text");
    for name in OTHERWISE.iter().flat_map(|why| why.tests) {
        let is_there = listed.lines().any(|test| test.starts_with(name));
        assert!(is_there, "no test is called {name}");
    }
    match endpoint() {
        Some(endpoint) => say(&format!("the second judge is {endpoint}")),
        None => say(&format!(
            "skipped: {VARIABLE} names no second SQS to run these tests against; .ci/run starts one"
        )),
    }
}
