//! Which messages one call carries. Pure.

use std::collections::VecDeque;

use super::check::size;
use crate::limits::MAX_BATCH;
use crate::sqs::api::Outgoing;

/// A message that waits to go out.
#[derive(Debug)]
pub(super) struct Waiting {
    /// The position of the message that it is sent for.
    pub(super) source: usize,
    pub(super) message: Outgoing,
    size: usize,
}

impl Waiting {
    pub(super) fn new(source: usize, message: Outgoing) -> Self {
        Self {
            source,
            size: size(&message),
            message,
        }
    }
}

/// Takes what the next call carries: up to ten messages of at most `room` bytes together, in their
/// order, and at least one of what waits.
///
/// To a FIFO target no call carries two messages of one group: its entries succeed and fail each by
/// itself, and the second would be in the queue before the first.
pub(super) fn next_call(waiting: &mut VecDeque<Waiting>, fifo: bool, room: usize) -> Vec<Waiting> {
    let (mut call, mut left, mut filled) = (Vec::<Waiting>::new(), VecDeque::new(), 0);
    let mut full = false;
    while let Some(next) = waiting.pop_front() {
        let in_turn = !fifo || !shares_group(&next, call.iter().chain(&left));
        full |= call.len() == usize::from(MAX_BATCH);
        full |= in_turn && !call.is_empty() && filled + next.size > room;
        if full || !in_turn {
            left.push_back(next);
        } else {
            filled += next.size;
            call.push(next);
        }
    }
    *waiting = left;
    call
}

fn shares_group<'a>(one: &Waiting, others: impl Iterator<Item = &'a Waiting>) -> bool {
    let mut others = others;
    others.any(|other| other.message.group_id == one.message.group_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: usize = 1000;

    fn waiting(messages: &[(usize, &str)]) -> VecDeque<Waiting> {
        let one = |(n, (bytes, group)): (usize, &(usize, &str))| {
            let message = Outgoing {
                body: "x".repeat(*bytes),
                group_id: Some((*group).to_owned()),
                ..Outgoing::default()
            };
            Waiting::new(n, message)
        };
        messages.iter().enumerate().map(one).collect()
    }

    /// The sources of each call.
    fn calls(messages: &[(usize, &str)], fifo: bool) -> Vec<Vec<usize>> {
        let mut waiting = waiting(messages);
        let mut calls = Vec::new();
        while !waiting.is_empty() {
            let call = next_call(&mut waiting, fifo, ROOM);
            calls.push(call.iter().map(|w| w.source).collect());
        }
        calls
    }

    #[test]
    fn a_call_carries_ten_messages_at_most() {
        let sizes: Vec<_> = calls(&[(1, "g"); 23], false).iter().map(Vec::len).collect();
        assert_eq!(sizes, [10, 10, 3]);
    }

    #[test]
    fn a_call_carries_no_more_bytes_than_it_may() {
        assert_eq!(
            calls(
                &[(600, "a"), (400, "b"), (1, "c"), (1000, "d"), (2000, "e")],
                false
            ),
            [vec![0, 1], vec![2], vec![3], vec![4]],
            "the last is larger than any call may be, which AWS is left to say"
        );
    }

    // Rule 6.4: order within a group is what a FIFO target is for.
    #[test]
    fn no_call_carries_two_messages_of_a_group_to_a_fifo_target() {
        let messages = [(1, "a"), (1, "a"), (1, "b"), (1, "a"), (1, "b")];
        assert_eq!(calls(&messages, true), [vec![0, 2], vec![1, 4], vec![3]]);
        assert_eq!(calls(&messages, false), [vec![0, 1, 2, 3, 4]]);
    }

    #[test]
    fn what_found_no_room_keeps_its_place_in_its_group() {
        let messages = [(600, "a"), (600, "b"), (1, "b"), (1, "c")];
        assert_eq!(calls(&messages, true), [vec![0], vec![1, 3], vec![2]]);
    }
}
