//! Time limits for a git program that uses the network.
//!
//! Before its first output, the remote has not answered: that time is short.
//! After it, the connection is alive, and the rest may be slow.

use std::io::Read;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::{end, spawn_error};
use crate::Error;
use crate::transport::limit::now;

/// The most output of a program that is kept.
const KEPT: usize = 64 * 1024;

/// How long a program is waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    pub(crate) first_word: Duration,
    pub(crate) end: Duration,
}

/// Part of a program's output, by the pipe it was read from.
enum Word {
    Out(Vec<u8>),
    Err(Vec<u8>),
    Closed,
}

/// Runs it to its end; an error if it takes longer.
pub(crate) fn run_within(
    mut command: Command,
    doing: &'static str,
    patience: Patience,
) -> Result<Output, Error> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|it| spawn_error(it, doing))?;
    let (send, words) = channel();
    if let Some(pipe) = child.stdout.take() {
        listen(pipe, Word::Out, send.clone());
    }
    if let Some(pipe) = child.stderr.take() {
        listen(pipe, Word::Err, send);
    }
    let mut heard = LastOutput::default();
    let ended = heard.all(&words, patience);
    if let Err(problem) = ended {
        end(&mut child);
        return Err(Error::Remote { doing, problem });
    }
    let status = child.wait().map_err(|it| spawn_error(it, doing))?;
    Ok(heard.output(status))
}

/// Passes on the bytes of a pipe until its end; a thread, since pipes have no
/// timeout.
fn listen(mut pipe: impl Read + Send + 'static, word: fn(Vec<u8>) -> Word, to: Sender<Word>) {
    std::thread::spawn(move || {
        let mut buf = [0; 4096];
        while let Ok(read @ 1..) = pipe.read(&mut buf) {
            if to.send(word(buf[..read].to_vec())).is_err() {
                return;
            }
        }
        // The receiver may be gone.
        let _ = to.send(Word::Closed);
    });
}

#[derive(Default)]
struct LastOutput {
    out: Vec<u8>,
    err: Vec<u8>,
    closed: usize,
}

impl LastOutput {
    /// Reads until both pipes are closed.
    fn all(&mut self, words: &Receiver<Word>, patience: Patience) -> Result<(), String> {
        let began = now();
        while self.closed < 2 {
            let silent = self.out.is_empty() && self.err.is_empty();
            let limit = if silent { patience.first_word } else { patience.end };
            match words.recv_timeout(limit.saturating_sub(began.elapsed())) {
                Ok(word) => self.note(word),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) if silent => {
                    return Err(format!("the server did not answer within {limit:?}"));
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!("the server did not finish within {limit:?}"));
                }
            }
        }
        Ok(())
    }

    fn note(&mut self, word: Word) {
        let (kept, bytes) = match word {
            Word::Out(bytes) => (&mut self.out, bytes),
            Word::Err(bytes) => (&mut self.err, bytes),
            Word::Closed => {
                self.closed += 1;
                return;
            }
        };
        kept.extend(bytes);
        let over = kept.len().saturating_sub(KEPT);
        kept.drain(..over);
    }

    fn output(self, status: ExitStatus) -> Output {
        Output { status, stdout: self.out, stderr: self.err }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_waited_for_as_long_as_it_may_take() {
        check("echo a; echo b >&2", "ok: a b");
        check("exec sleep 600", "the server did not answer within 300ms");
        check("echo a; sleep 600", "the server did not finish within 600ms");
        check("sleep 600 & echo a", "the server did not finish within 600ms");
    }

    #[track_caller]
    fn check(script: &str, expected: &str) {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new("sh");
        command.args(["-c", script]).process_group(0);
        let (first_word, end) = (Duration::from_millis(300), Duration::from_millis(600));
        let actual = match run_within(command, "talk", Patience { first_word, end }) {
            Ok(it) => {
                let text = |it: &[u8]| String::from_utf8_lossy(it).trim().to_owned();
                format!("ok: {} {}", text(&it.stdout), text(&it.stderr))
            }
            Err(Error::Remote { problem, .. }) => problem,
            Err(other) => other.to_string(),
        };
        assert_eq!(actual, expected, "{script}");
    }
}
