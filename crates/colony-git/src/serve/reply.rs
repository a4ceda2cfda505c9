//! The body of an answer, streamed.
//!
//! One poll writes the request to git, reads its answer and collects its
//! stderr, so that git never blocks on one pipe while another is read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use crate::git;
use crate::repo::durable::LockHolder;

const COMPLAINT_LIMIT: usize = 8 * 1024;

/// The answer to one request. Dropping it ends git, if git produces it.
#[derive(Debug)]
pub struct Reply(Source);

#[derive(Debug)]
enum Source {
    Made(Bytes),
    Git(Box<Running>),
}

impl Reply {
    pub(super) fn made(bytes: Bytes) -> Reply {
        Reply(Source::Made(bytes))
    }

    pub(super) fn new(child: Child, body: Bytes, holder: Option<LockHolder>) -> Option<Reply> {
        Some(Reply(Source::Git(Box::new(Running::new(child, body, holder)?))))
    }
}

impl AsyncRead for Reply {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Source::Made(bytes) => {
                let part = bytes.split_to(bytes.len().min(buf.remaining()));
                buf.put_slice(&part);
                Poll::Ready(Ok(()))
            }
            Source::Git(running) => Pin::new(running).poll_read(cx, buf),
        }
    }
}

/// A git process that serves a request.
#[derive(Debug)]
struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    body: Bytes,
    stdout: ChildStdout,
    stderr: Option<ChildStderr>,
    complaint: Vec<u8>,
    /// Only for a push.
    _holder: Option<LockHolder>,
}

impl Running {
    fn new(mut child: Child, body: Bytes, holder: Option<LockHolder>) -> Option<Running> {
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take()?);
        let stderr = child.stderr.take();
        let complaint = Vec::new();
        Some(Running { child, stdin, body, stdout, stderr, complaint, _holder: holder })
    }

    fn feed(&mut self, cx: &mut Context<'_>) {
        while let Some(stdin) = &mut self.stdin {
            if !self.body.has_remaining() {
                self.stdin = None;
                return;
            }
            match Pin::new(stdin).poll_write(cx, &self.body) {
                Poll::Ready(Ok(written)) => self.body.advance(written),
                // Git has stopped reading; stdout has the reason.
                Poll::Ready(Err(_)) => self.stdin = None,
                Poll::Pending => return,
            }
        }
    }

    fn listen(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Some(stderr) = &mut self.stderr {
            let mut space = [0; 1024];
            let mut buf = ReadBuf::new(&mut space);
            match ready!(Pin::new(stderr).poll_read(cx, &mut buf)) {
                Ok(()) if !buf.filled().is_empty() => {
                    let room = COMPLAINT_LIMIT.saturating_sub(self.complaint.len());
                    self.complaint.extend(buf.filled().iter().take(room));
                }
                Ok(()) | Err(_) => self.stderr = None,
            }
        }
        Poll::Ready(())
    }

    /// Waits for the end of git: a push is complete when its process is.
    fn end(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.listen(cx));
        let mut wait = std::pin::pin!(self.child.wait());
        let status = ready!(wait.as_mut().poll(cx))?;
        if !status.success() {
            let said = git::output_text(&self.complaint);
            tracing::warn!(%status, "git could not serve a request to its end: {said}");
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Running {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.feed(cx);
        // Pending here decides nothing: stdout does.
        let _ = self.listen(cx);
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stdout).poll_read(cx, buf))?;
        if buf.filled().len() > before || buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        self.end(cx)
    }
}
