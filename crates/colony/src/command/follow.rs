//! Ctrl-C, for commands that stay.

/// Resolves when the person in front of it has had enough.
pub(super) async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        // Nothing will tell: the process ends as processes do.
        std::future::pending::<()>().await;
    }
}
