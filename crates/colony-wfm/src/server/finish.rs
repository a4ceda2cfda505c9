//! Requests that change state run to completion.
//!
//! A server drops a handler when its client disconnects. The handler's work
//! would then stop at any point: a transaction before its commit, a program in
//! the middle of its work, a wake-up after a write.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::{Method, StatusCode};

/// Runs every request but GET and HEAD in its own task, which ends when the
/// handler does, even if the client has disconnected.
pub async fn finish(request: Request, next: Next) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    match tokio::spawn(next.run(request)).await {
        Ok(response) => response,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The whole process is shutting down.
            Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Waker};

    use axum::Router;
    use axum::body::Body;
    use axum::routing::any;
    use tokio::sync::{Notify, mpsc};
    use tower::ServiceExt as _;

    use super::*;

    #[tokio::test]
    async fn only_a_request_that_changes_nothing_ends_with_its_client() {
        check("POST", "begun, done").await;
        check("PUT", "begun, done").await;
        check("DELETE", "begun, done").await;
        check("GET", "begun, dropped").await;
        check("HEAD", "begun, dropped").await;
    }

    /// Sends a request, disconnects when its handler has begun, and lets the
    /// handler continue.
    async fn check(method: &str, expected: &str) {
        let (tell, mut told) = mpsc::unbounded_channel();
        let go_on = Arc::new(Notify::new());
        let router = router(tell, go_on.clone());
        let request = Request::builder().method(method).body(Body::empty()).unwrap();
        let mut seen = Vec::new();
        {
            let mut answer = pin!(router.oneshot(request));
            while seen.is_empty() {
                let polled = answer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(polled.is_pending(), "{polled:?}");
                tokio::task::yield_now().await;
                seen.extend(told.try_recv());
            }
        }
        go_on.notify_one();
        seen.extend(told.recv().await);
        assert_eq!(seen.join(", "), expected, "{method}");
    }

    fn router(tell: mpsc::UnboundedSender<&'static str>, go_on: Arc<Notify>) -> Router {
        let handler = async move || {
            let mut end = End { tell, how: "dropped" };
            end.tell.send("begun").unwrap();
            go_on.notified().await;
            end.how = "done";
        };
        Router::new().route("/", any(handler)).layer(axum::middleware::from_fn(finish))
    }

    /// Reports how the handler ended.
    struct End {
        tell: mpsc::UnboundedSender<&'static str>,
        how: &'static str,
    }

    impl Drop for End {
        fn drop(&mut self) {
            self.tell.send(self.how).unwrap();
        }
    }
}
