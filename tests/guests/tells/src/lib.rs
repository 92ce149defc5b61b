//! Tells what stands in its environment, in the way that the body says: `print TOKEN`.

use std::env;

use queuelet_guest::{HandlerOutcome, Reply, SqsQueue, log, subscriber};

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
        _ => return Err(HandlerOutcome::fail("no such way")),
    }
    Ok(Vec::new())
}
