//! Does to its host what the body says, to use up what the host has. It acks what the host survives
//! by refusing, and what is meant to end it never returns.

// Generated code has no documentation.
#![allow(missing_docs)]

use std::hint::black_box;
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::thread;
use std::time::Duration;

use queuelet_guest::{HandlerOutcome, Reply, SqsQueue, log, publish, subscriber};

wit_bindgen::generate!({
    inline: "
        package tests:hostile;

        world hostile {
            import wasi:random/random@0.2.0;
            import wasi:io/poll@0.2.0;
            import wasi:clocks/monotonic-clock@0.2.0;
        }

        package wasi:random@0.2.0 {
            interface random {
                get-random-bytes: func(len: u64) -> list<u8>;
                get-random-u64: func() -> u64;
            }
        }

        package wasi:io@0.2.0 {
            interface poll {
                resource pollable {
                    ready: func() -> bool;
                    block: func();
                }
                poll: func(in: list<borrow<pollable>>) -> list<u32>;
            }
        }

        package wasi:clocks@0.2.0 {
            interface monotonic-clock {
                use wasi:io/poll@0.2.0.{pollable};
                type instant = u64;
                type duration = u64;
                now: func() -> instant;
                resolution: func() -> duration;
                subscribe-instant: func(when: instant) -> pollable;
                subscribe-duration: func(when: duration) -> pollable;
            }
        }
    ",
    world: "hostile",
    generate_all,
});

use wasi::clocks::monotonic_clock::subscribe_duration;
use wasi::io::poll::poll;
use wasi::random::random::get_random_bytes;

const LARGE: usize = 100 << 20;
const HOUR: u64 = 3_600_000_000_000;

#[subscriber(SqsQueue, reply)]
fn harm(body: &[u8]) -> Result<Vec<Reply>, HandlerOutcome> {
    let text = String::from_utf8_lossy(body);
    if text == "reply" {
        return Ok(vec![Reply::new(vec![b'x'; LARGE])]);
    }
    Err(do_as_told(&text))
}

fn do_as_told(text: &str) -> HandlerOutcome {
    match text.split_once(' ').unwrap_or((text, "")) {
        ("spin", _) => loop {
            black_box(());
        },
        ("sleep", ms) => {
            thread::sleep(Duration::from_millis(ms.parse().expect("a number")));
            HandlerOutcome::ack()
        }
        ("grow", _) => {
            let mut kept = Vec::new();
            loop {
                kept.push(black_box(vec![0xa5_u8; 1 << 20]));
            }
        }
        ("exit", _) => std::process::exit(1),
        ("recurse", _) => HandlerOutcome::fail(recurse(1)),
        ("recurse-in-memory", _) => HandlerOutcome::fail(recurse_in_memory(&mut [0; 64], 0)),
        ("abort", _) => std::process::abort(),
        ("fail", _) => HandlerOutcome::fail("x".repeat(1 << 20)),
        ("print", _) => loop {
            println!("a line of a flood");
        },
        ("print-on-one-line", _) => loop {
            let _ = io::stderr().write_all(&[b'x'; 4096]);
        },
        ("log", _) => loop {
            log::info!("a line of a flood", field = "value");
        },
        ("publish", _) => loop {
            let _ = publish("a-very-long-name".repeat(10_000), Reply::new("x"));
        },
        ("log-much", _) => {
            log::info!("{}", "x".repeat(LARGE / 4));
            HandlerOutcome::ack()
        }
        ("random", "all") => ended_by(get_random_bytes(u64::MAX)),
        ("random", _) => loop {
            black_box(get_random_bytes(1 << 20));
        },
        ("handles", _) => {
            let mut kept = Vec::new();
            loop {
                kept.push(subscribe_duration(HOUR));
            }
        }
        ("poll", _) => {
            let kept: Vec<_> = (0..5_000).map(|_| subscribe_duration(HOUR)).collect();
            let all: Vec<_> = kept.iter().cycle().take(500_000).collect();
            ended_by(poll(&all))
        }
        ("far", _) => ended_by(poll(&[&subscribe_duration(u64::MAX)])),
        ("sockets", port) => sockets(port.parse().expect("a port")),
        _ => HandlerOutcome::ack(),
    }
}

/// Of what the host must not answer.
fn ended_by<T>(_: T) -> HandlerOutcome {
    HandlerOutcome::dead_letter("the host did it")
}

/// Needs nothing but the host's stack.
#[inline(never)]
fn recurse(depth: u64) -> u64 {
    match depth {
        0 => 0,
        _ => recurse(depth.wrapping_add(2)).wrapping_mul(3) ^ depth,
    }
}

/// Needs a stack that the guest keeps in its own memory.
#[expect(unconditional_recursion, reason = "that is the harm")]
fn recurse_in_memory(on_the_stack: &mut [u64; 64], depth: u64) -> u64 {
    on_the_stack[(depth % 64) as usize] = depth;
    let mut next = black_box(*on_the_stack);
    recurse_in_memory(&mut next, depth + 1) + next[0]
}

/// Tries every way to the network that there is.
fn sockets(port: u16) -> HandlerOutcome {
    let address = ("127.0.0.1", port);
    let tries: [(&str, io::Result<()>); 5] = [
        ("connect", TcpStream::connect(address).map(drop)),
        ("listen", TcpListener::bind(("127.0.0.1", 0)).map(drop)),
        ("udp", UdpSocket::bind(("0.0.0.0", 0)).map(drop)),
        ("lookup", ("localhost", port).to_socket_addrs().map(drop)),
        (
            "connect by name",
            TcpStream::connect(("localhost", port)).map(drop),
        ),
    ];
    let mut open = Vec::new();
    for (way, tried) in tries {
        match tried {
            Ok(()) => open.push(way),
            Err(error) => println!("{way}: {error}"),
        }
    }
    if open.is_empty() {
        HandlerOutcome::ack()
    } else {
        HandlerOutcome::fail(open.join(", "))
    }
}
