//! Takes orders and says what each comes to: JSON in, a reply in JSON out.
//!
//! The host sends the reply to `orders-events` before it deletes the order. An order without lines
//! gets no reply.

use queuelet_guest::{HandlerOutcome, SqsQueue, subscriber};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Order {
    id: String,
    lines: Vec<Line>,
}

#[derive(Deserialize)]
struct Line {
    quantity: u32,
    /// In cents, as are all amounts here.
    price: u64,
}

#[derive(Debug, PartialEq, Serialize)]
struct OrderAccepted {
    order: String,
    total: u64,
}

#[subscriber(SqsQueue::new("orders"), reply("orders-events"))]
fn accept(order: Order) -> Result<OrderAccepted, HandlerOutcome> {
    if order.lines.is_empty() {
        return Err(HandlerOutcome::dead_letter(format!(
            "order {} has no lines",
            order.id
        )));
    }
    let total = order
        .lines
        .iter()
        .try_fold(0u64, |sum, line| {
            u64::from(line.quantity)
                .checked_mul(line.price)?
                .checked_add(sum)
        })
        .ok_or_else(|| {
            HandlerOutcome::fail(format!(
                "order {} comes to more than can be counted",
                order.id
            ))
        })?;
    Ok(OrderAccepted {
        order: order.id,
        total,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(lines: Vec<Line>) -> Order {
        Order {
            id: "o-7".into(),
            lines,
        }
    }

    #[test]
    fn the_total_is_computed_from_the_lines() {
        let accepted = accept(order(vec![
            Line {
                quantity: 2,
                price: 350,
            },
            Line {
                quantity: 1,
                price: 99,
            },
        ]));
        assert_eq!(
            accepted,
            Ok(OrderAccepted {
                order: "o-7".into(),
                total: 799
            })
        );
    }

    #[test]
    fn an_order_without_lines_is_given_up_at_once() {
        assert!(matches!(
            accept(order(Vec::new())),
            Err(HandlerOutcome::DeadLetter(_))
        ));
    }

    #[test]
    fn a_total_that_overflows_fails() {
        let lines = vec![Line {
            quantity: 2,
            price: u64::MAX,
        }];
        assert!(matches!(accept(order(lines)), Err(HandlerOutcome::Fail(_))));
    }
}
