//! A wake-up that is never lost and never counted.

use std::sync::Arc;

use tokio::sync::Notify;

/// Cheap to clone. Several wake-ups before the waiter looks count as one.
#[derive(Debug, Clone, Default)]
pub struct Signal(Arc<Notify>);

impl Signal {
    pub fn wake(&self) {
        self.0.notify_one();
    }

    /// Waits for the next wake-up; one that came before counts. For one waiter.
    pub async fn woken(&self) {
        self.0.notified().await;
    }
}
