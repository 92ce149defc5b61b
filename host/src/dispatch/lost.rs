//! What stops a handler whose messages others may receive by now (rule 4.4).

use super::live::Serving;
use crate::config::OnLostLease;
use crate::sqs::Delivery;

/// Waits until a call for these messages is to be stopped: where it is to be at all, once the lease
/// of every one of them is lost. A batch goes on for those that it still holds.
pub(super) async fn interrupted(serving: &Serving, deliveries: &[Delivery]) {
    match serving.subscription.on_lost_lease {
        OnLostLease::Continue => std::future::pending().await,
        OnLostLease::Interrupt => {}
    }
    loop {
        for delivery in deliveries {
            delivery.lease.lost().await;
        }
        // One that is received again while another is waited for has its lease back.
        if deliveries.iter().all(|delivery| delivery.lease.is_lost()) {
            return;
        }
    }
}
