//! Renders a report, which takes longer than a received message stays hidden.
//!
//! The queue hides a message for two seconds and the work takes five. The host extends the time for
//! as long as the handler works, so each report is rendered once.

use std::thread;
use std::time::Duration;

use queuelet_guest::{HandlerOutcome, SqsQueue, log, subscriber};
use serde::Deserialize;

#[derive(Deserialize)]
struct Report {
    title: String,
}

#[subscriber(SqsQueue::new("reports").visibility(Duration::from_secs(2)))]
fn publish_report(report: &Report) -> HandlerOutcome {
    log::info!("rendering", title = report.title);
    thread::sleep(Duration::from_secs(5));
    log::info!("rendered", title = report.title);
    HandlerOutcome::ack()
}
