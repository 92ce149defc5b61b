//! What may change of a queue while the host runs is read again now and then.

use std::sync::Arc;

use super::api::{QueueAttributes, QueueUrl, SqsApi};
use super::open::QueueState;
use crate::error::CallError;
use crate::limits::ATTRIBUTES_REREAD;
use crate::observe::Observer;

/// Reads the queue's attributes every few minutes, for ever: its redrive policy, and its own
/// visibility timeout where the mount names none (rule 1.5). What cannot be read stays as it was.
pub async fn keep_reading(
    api: Arc<dyn SqsApi>,
    queue: QueueUrl,
    state: Arc<QueueState>,
    visibility_named: bool,
    observer: Observer,
) {
    loop {
        tokio::time::sleep(ATTRIBUTES_REREAD).await;
        // It is read again soon enough.
        let _ = read_once(&*api, &queue, &state, visibility_named, &observer).await;
    }
}

/// Reads them now, and answers what was read. A visibility that the mount names is in force whatever
/// the queue's own is.
pub(super) async fn read_once(
    api: &dyn SqsApi,
    queue: &QueueUrl,
    state: &QueueState,
    visibility_named: bool,
    observer: &Observer,
) -> Result<QueueAttributes, CallError> {
    let read = api.queue_attributes(queue).await?;
    let visibility = read.visibility.filter(|_| !visibility_named);
    let in_force = QueueAttributes {
        visibility,
        ..read.clone()
    };
    state.take(&in_force, observer);
    Ok(read)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sqs::scripted::Scripted;

    // Rule 1.5: both are read again, and a visibility that the mount names stays in force.
    #[tokio::test(start_paused = true)]
    async fn a_queue_is_read_again_every_few_minutes_whatever_the_mount_names() {
        for (named, want) in [(true, 30), (false, 60)] {
            let api = Scripted::new();
            api.has_attributes(QueueAttributes {
                visibility: Some(Duration::from_secs(60)),
                redrive: Some(crate::sqs::RedrivePolicy {
                    dead_letter: "arn:aws:sqs:eu-west-1:123456789012:dead".into(),
                    max_receive_count: 3,
                }),
                ..QueueAttributes::default()
            });
            let state = Arc::new(QueueState::new(Duration::from_secs(30), None));
            let reading = keep_reading(
                api.clone(),
                QueueUrl::new("http://sqs/q"),
                Arc::clone(&state),
                named,
                Observer::of_a_test(),
            );
            let _ = tokio::time::timeout(ATTRIBUTES_REREAD * 5 / 2, reading).await;
            assert_eq!(api.reads(), 2);
            assert_eq!(state.max_receive_count(), Some(3));
            assert_eq!(state.visibility(), Duration::from_secs(want));
        }
    }
}
