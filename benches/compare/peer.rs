//! A consumer as it is written with ruststream-sqs-sns.

use std::future::pending;
use std::num::NonZeroUsize;
use std::process::ExitCode;

use ruststream_sqs_sns::prelude::*;

use super::contestant::Handed;
use crate::order::Order;

#[subscriber(SqsQueue::new("orders"))]
async fn take(order: &Order) -> HandlerOutcome {
    if order.is_worth_something() {
        HandlerOutcome::ack()
    } else {
        HandlerOutcome::retry()
    }
}

#[subscriber(SqsQueue::new("orders"))]
async fn take_batch(orders: &[Order]) -> HandlerOutcome {
    if orders.iter().all(Order::is_worth_something) {
        HandlerOutcome::ack()
    } else {
        HandlerOutcome::retry()
    }
}

/// Consumes until it is ended.
pub(crate) async fn consume(handed: Handed, workers: u16) -> ExitCode {
    let workers = NonZeroUsize::new(workers.into()).unwrap_or(NonZeroUsize::MIN);
    let info = AppInfo::new("orders", "1.0.0");
    let app = RustStream::new(info).with_broker(SqsBroker::new(), |b| match handed {
        Handed::Single => {
            b.include(take.workers(workers));
        }
        Handed::Batch => {
            b.include(take_batch.batch(nonzero!(10)).workers(workers));
        }
    });
    match app.run_until(pending::<()>()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ruststream-sqs-sns: {error}");
            ExitCode::FAILURE
        }
    }
}
