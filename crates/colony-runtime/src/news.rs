//! Notifications that a look at the engine is needed.
//!
//! Sent by engine events and by health checks; a look covers all notifications
//! from before it began.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

#[derive(Debug, Default)]
pub(crate) struct News {
    counters: watch::Sender<NewsCounters>,
    seen: AtomicU64,
}

/// The number of notifications to all receivers, and to followers alone.
#[derive(Debug, Default)]
pub(crate) struct NewsCounters {
    all: u64,
    followers: u64,
}

impl News {
    pub(crate) fn notify(&self) {
        self.counters.send_modify(|it| it.all += 1);
    }

    /// Notifies followers and requests no look: the task that performs the
    /// action looks when it has ended.
    pub(crate) fn notify_followers(&self) {
        self.counters.send_modify(|it| it.followers += 1);
    }

    /// A look begins: it covers all notifications so far.
    pub(crate) fn look(&self) {
        self.seen.fetch_max(self.counters.borrow().all, Ordering::SeqCst);
    }

    /// Resolves when a notification was sent since the last look.
    pub(crate) async fn since_look(&self) {
        let mut counters = self.counters.subscribe();
        let unseen = |it: &NewsCounters| it.all > self.seen.load(Ordering::SeqCst);
        // The sender lives as long as `self`, so that waiting cannot fail.
        let _ = counters.wait_for(unseen).await;
    }

    /// For tasks that check a condition after each notification.
    pub(crate) fn follow(&self) -> watch::Receiver<NewsCounters> {
        self.counters.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn only_what_no_look_has_shown_is_news() {
        let news = News::default();
        assert_eq!(news.since_look().now_or_never(), None);
        news.notify();
        assert_eq!(news.since_look().now_or_never(), Some(()));
        news.look();
        assert_eq!(news.since_look().now_or_never(), None);
    }

    #[test]
    fn notified_followers_wake_alone() {
        let news = News::default();
        let mut follower = news.follow();
        follower.mark_unchanged();
        news.notify_followers();
        assert_eq!(news.since_look().now_or_never(), None);
        assert!(follower.has_changed().unwrap());
    }
}
