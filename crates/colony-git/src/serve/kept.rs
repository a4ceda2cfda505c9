//! State kept between requests: the open repository, and a few answers.
//!
//! After a commit, every affected site sends the same request, byte for byte,
//! at about the same time. The first is computed, the others get a copy. An
//! answer to a fetch stays valid while its objects exist: it names both ends,
//! and the hosted branch is never rewritten. References are read each time.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use gix::ThreadSafeRepository;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::protocol_v2::{self, Request};
use crate::error::Error;
use crate::repo;

/// How many requests are computed at a time; the others wait without a thread.
const TURNS: usize = 2;
/// How many answers are kept, and how many bytes of them.
const ANSWERS: usize = 16;
const ANSWER_BYTES: usize = 4 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct KeptAnswers {
    dir: PathBuf,
    turns: Semaphore,
    /// Opened on first use; closed after an error.
    repo: Mutex<Option<ThreadSafeRepository>>,
    answers: Mutex<Answers>,
}

impl KeptAnswers {
    pub(super) fn new(dir: &Path) -> KeptAnswers {
        KeptAnswers {
            dir: dir.to_owned(),
            turns: Semaphore::new(TURNS),
            repo: Mutex::default(),
            answers: Mutex::default(),
        }
    }

    /// The answer, if no child process is needed for it. After an error here
    /// the request is left to git.
    pub(super) async fn answer(self: &Arc<KeptAnswers>, body: &Bytes) -> Option<Bytes> {
        let request = protocol_v2::parsed(body)?;
        let is_fetch = request.is_fetch();
        if is_fetch && let Some(answer) = self.known(body) {
            return Some(answer);
        }
        let _turn = self.turns.acquire().await.ok()?;
        // The request before may have been the same.
        if is_fetch && let Some(answer) = self.known(body) {
            return Some(answer);
        }
        let (kept, question) = (Arc::clone(self), body.clone());
        let made = tokio::task::spawn_blocking(move || kept.make(&question)).await.ok()??;
        if is_fetch {
            self.answers.lock().put(body.clone(), made.clone());
        }
        Some(made)
    }

    fn known(&self, body: &Bytes) -> Option<Bytes> {
        self.answers.lock().get(body)
    }

    fn make(&self, body: &[u8]) -> Option<Bytes> {
        let request = protocol_v2::parsed(body)?;
        match self.work_out(&request) {
            Ok(made) => made.map(Bytes::from),
            Err(error) => {
                self.repo.lock().take();
                tracing::debug!("git answers what could not be answered in the process: {error}");
                None
            }
        }
    }

    fn work_out(&self, request: &Request<'_>) -> Result<Option<Vec<u8>>, Error> {
        protocol_v2::answer(&repo::local(&self.open()?), request)
    }

    fn open(&self) -> Result<ThreadSafeRepository, Error> {
        let mut held = self.repo.lock();
        if let Some(repo) = &*held {
            return Ok(repo.clone());
        }
        let repo = repo::open(&self.dir)?;
        *held = Some(repo.clone());
        Ok(repo)
    }
}

/// The newest answers, each with its request.
#[derive(Debug, Default)]
struct Answers(VecDeque<(Bytes, Bytes)>);

impl Answers {
    fn get(&self, question: &Bytes) -> Option<Bytes> {
        self.0.iter().find(|it| it.0 == question).map(|it| it.1.clone())
    }

    fn put(&mut self, question: Bytes, answer: Bytes) {
        let weight = |it: &(Bytes, Bytes)| it.0.len() + it.1.len();
        let new = (question, answer);
        if weight(&new) > ANSWER_BYTES || self.get(&new.0).is_some() {
            return;
        }
        self.0.push_back(new);
        while self.0.len() > ANSWERS || self.0.iter().map(weight).sum::<usize>() > ANSWER_BYTES {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::line;
    use super::*;
    use crate::{Batch, Deployments, Edit};

    #[tokio::test]
    async fn equal_fetches_share_one_answer_and_references_are_read_each_time() {
        let keep = tempfile::TempDir::new().expect("a folder");
        let git = Deployments::hosted(keep.path()).expect("opens");
        let (old, head) = (commit(&git, "a"), commit(&git, "b"));
        let kept = Arc::new(KeptAnswers::new(keep.path()));
        let fetch = body("fetch", &[format!("want {head}"), format!("have {old}"), "done".into()]);
        let refs = body("ls-refs", &[]);

        let first = kept.answer(&fetch).await.expect("answered");
        let second = kept.answer(&fetch).await.expect("answered");
        assert_eq!(first.as_ptr(), second.as_ptr(), "it is the same memory");
        assert!(shows(&kept.answer(&refs).await.expect("answered"), &head));

        let newer = commit(&git, "c");
        assert!(shows(&kept.answer(&refs).await.expect("answered"), &newer));
        let fetch =
            body("fetch", &[format!("want {newer}"), format!("have {head}"), "done".into()]);
        assert_ne!(kept.answer(&fetch).await.expect("answered"), first);
    }

    /// Writes a file and returns the head of the branch.
    fn commit(git: &Deployments, text: &str) -> String {
        let path = format!("deployments/home/{text}.yaml");
        let edits =
            vec![Edit { path, expected: None, text: Some(text.to_owned()), only_with: None }];
        let (message, author) = (text.to_owned(), "ana".to_owned());
        let batch = Batch { message, trailers: Vec::new(), author, at_unix: 1, edits };
        git.write(&batch).expect("written").head.expect("a commit").to_string()
    }

    fn body(command: &str, arguments: &[String]) -> Bytes {
        let mut body = Vec::new();
        line::text(&mut body, &format!("command={command}"));
        line::delimiter(&mut body);
        arguments.iter().for_each(|it| line::text(&mut body, it));
        line::flush(&mut body);
        Bytes::from(body)
    }

    fn shows(refs: &Bytes, head: &str) -> bool {
        String::from_utf8_lossy(refs).contains(&format!("{head} refs/heads/main"))
    }

    #[test]
    fn the_newest_answers_are_kept_up_to_a_count_and_a_size() {
        let mut answers = Answers::default();
        let text = |it: usize| Bytes::from(format!("question {it}"));
        for number in 0..=ANSWERS {
            answers.put(text(number), Bytes::from_static(b"answer"));
        }
        assert_eq!(answers.get(&text(0)), None, "the oldest gives way");
        assert!(answers.get(&text(1)).is_some() && answers.get(&text(ANSWERS)).is_some());

        answers.put(text(98), Bytes::from(vec![0; ANSWER_BYTES - 40]));
        assert!(answers.get(&text(98)).is_some() && answers.0.len() < 5, "it fills the space");
        answers.put(text(99), Bytes::from(vec![0; ANSWER_BYTES]));
        assert_eq!(answers.get(&text(99)), None, "one that has no room is not kept");
    }
}
