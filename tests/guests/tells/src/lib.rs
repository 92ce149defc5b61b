//! Tells what stands in its environment, in the way that the body says: `print TOKEN`.

use std::env;

use queuelet_guest::{HandlerOutcome, Reply, SqsQueue, log, publish, subscriber};

#[subscriber(SqsQueue, reply)]
fn tell(body: &[u8]) -> Result<Vec<Reply>, HandlerOutcome> {
    let text = String::from_utf8_lossy(body);
    let (how, name) = text.split_once(' ').unwrap_or((&text, ""));
    let value = env::var(name).unwrap_or_else(|_| "nothing".to_owned());
    match how {
        "print" => println!("{name} is {value}"),
        "backwards" => println!("{}", value.chars().rev().collect::<String>()),
        "complain" => eprintln!("{name} is {value}"),
        "log" => log::warn!("{name} is {value}", value = value),
        "names" => {
            let mut names: Vec<_> = env::vars().map(|(name, _)| name).collect();
            names.sort_unstable();
            println!("names: {}", names.join(" "));
        }
        "fail" => return Err(HandlerOutcome::fail(format!("{name} is {value}"))),
        "panic" => panic!("{name} is {value}"),
        "dead-letter" => {
            return Err(HandlerOutcome::dead_letter(format!("{name} is {value}")));
        }
        "reply" => return Ok(vec![Reply::new(value)]),
        "reply-to" => return Ok(vec![Reply::new("x").to(value)]),
        "reply-group" => return Ok(vec![Reply::new("x").group_id(format!("{value} x"))]),
        "reply-deduplication" => return Ok(vec![Reply::new("x").deduplication_id(value)]),
        "reply-header" => return Ok(vec![Reply::new("x").header(format!("{value} x"), "y")]),
        "publish" => {
            let _ = publish(value, Reply::new("x"));
        }
        // All but the last byte of the value are within a limit of 1 KiB.
        "limit" => {
            eprint!("{}{value}", "x".repeat(1025 - value.len()));
        }
        _ => return Err(HandlerOutcome::fail("no such way")),
    }
    Ok(Vec::new())
}
