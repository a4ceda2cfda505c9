//! Ctrl-C, for commands that keep running.

/// Resolves when the user presses Ctrl-C.
pub(super) async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        // Without a signal handler, Ctrl-C ends the process directly.
        std::future::pending::<()>().await;
    }
}
