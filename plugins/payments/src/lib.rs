//! Takes payments in batches, and says of each what becomes of it.
//!
//! A payment that cannot be read at all is not among those handed over: it fails on its own and
//! comes back, and the rest of its batch is not held up by it.

use std::time::Duration;

use queuelet_guest::{Delivery, HandlerOutcome, SqsQueue, log, subscriber};
use serde::Deserialize;

#[derive(Deserialize)]
struct Payment {
    id: String,
    /// In cents.
    amount: u64,
    provider: Provider,
    #[serde(default)]
    cancelled: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Provider {
    Ready,
    /// It asks to be tried again in a moment, and is ready then.
    Busy,
}

#[subscriber(SqsQueue::new("payments").batch(10))]
fn settle(payments: &[Delivery<Payment>]) -> Vec<HandlerOutcome> {
    payments
        .iter()
        .map(|delivery| outcome(&delivery.value, delivery.context.receive_count()))
        .collect()
}

fn outcome(payment: &Payment, receive_count: Option<u32>) -> HandlerOutcome {
    if payment.cancelled || payment.amount == 0 {
        log::info!("nothing to pay", payment = payment.id);
        return HandlerOutcome::drop();
    }
    if matches!(payment.provider, Provider::Busy) && receive_count == Some(1) {
        return HandlerOutcome::retry_after(Duration::from_secs(1));
    }
    log::info!("paid", payment = payment.id, amount = payment.amount);
    HandlerOutcome::ack()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payment(amount: u64, provider: Provider) -> Payment {
        Payment {
            id: "p-1".into(),
            amount,
            provider,
            cancelled: false,
        }
    }

    #[test]
    fn a_payment_of_nothing_or_one_that_was_cancelled_is_dropped() {
        assert_eq!(
            outcome(&payment(0, Provider::Ready), Some(1)),
            HandlerOutcome::Drop
        );
        let cancelled = Payment {
            cancelled: true,
            ..payment(500, Provider::Busy)
        };
        assert_eq!(outcome(&cancelled, Some(1)), HandlerOutcome::Drop);
    }

    #[test]
    fn a_busy_provider_is_tried_again_once() {
        let busy = payment(500, Provider::Busy);
        let again = HandlerOutcome::RetryAfter(Duration::from_secs(1));
        assert_eq!(outcome(&busy, Some(1)), again);
        assert_eq!(outcome(&busy, Some(2)), HandlerOutcome::Ack);
    }

    #[test]
    fn a_payment_that_goes_through_is_acked() {
        assert_eq!(
            outcome(&payment(500, Provider::Ready), Some(1)),
            HandlerOutcome::Ack
        );
    }
}
