//! Requests to a site that are answered while an operator waits: logs.
//!
//! Nothing is stored: an operator waits while the question is sent down with
//! the site's next hints and the answer is sent up. If the operator stops
//! waiting, the question is withdrawn.

use std::collections::BTreeMap;
use std::sync::Arc;

use colony_core::id::SiteName;
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Open questions by site and id; ids increase.
#[derive(Debug)]
pub(crate) struct Relay<Q, A>(Arc<Mutex<Open<Q, A>>>);

type Open<Q, A> = BTreeMap<(SiteName, String), (Q, oneshot::Sender<A>)>;

/// How many questions may be open at once.
const LIMIT: usize = 1_024;

impl<Q, A> Default for Relay<Q, A> {
    fn default() -> Relay<Q, A> {
        Relay(Arc::default())
    }
}

/// An open question; dropping it withdraws it.
#[derive(Debug)]
pub(crate) struct PendingQuestion<Q, A> {
    key: (SiteName, String),
    answer: oneshot::Receiver<A>,
    relay: Arc<Mutex<Open<Q, A>>>,
}

impl<Q: Clone, A> Relay<Q, A> {
    /// Opens a question; `None` if too many are open.
    pub(crate) fn ask(
        &self,
        site: &SiteName,
        id: String,
        question: Q,
    ) -> Option<PendingQuestion<Q, A>> {
        let (sender, answer) = oneshot::channel();
        let mut open = self.0.lock();
        if open.len() >= LIMIT {
            return None;
        }
        let key = (site.clone(), id);
        open.insert(key.clone(), (question, sender));
        Some(PendingQuestion { key, answer, relay: self.0.clone() })
    }

    /// The questions that a site has not seen yet: those after the last id it
    /// saw.
    pub(crate) fn open(&self, site: &SiteName, after: Option<&str>) -> Vec<Q> {
        let open = self.0.lock();
        let mine = open.iter().filter(|(key, _)| key.0 == *site);
        let fresh = mine.filter(|(key, _)| after.is_none_or(|it| key.1.as_str() > it));
        fresh.map(|(_, (question, _))| question.clone()).collect()
    }

    /// Delivers an answer; `false` if no request waits for it.
    pub(crate) fn answer(&self, site: &SiteName, id: &str, answer: A) -> bool {
        let open = self.0.lock().remove(&(site.clone(), id.to_owned()));
        open.is_some_and(|(_, sender)| sender.send(answer).is_ok())
    }
}

impl<Q, A> PendingQuestion<Q, A> {
    /// Waits for the answer; `None` if there will be none.
    pub(crate) async fn answer(&mut self) -> Option<A> {
        (&mut self.answer).await.ok()
    }
}

impl<Q, A> Drop for PendingQuestion<Q, A> {
    fn drop(&mut self) {
        self.relay.lock().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_reaches_who_asked_and_a_dropped_question_is_gone() {
        let (relay, site) = (Relay::<&str, u8>::default(), "home".parse().unwrap());
        let mut asked = relay.ask(&site, "a".to_owned(), "q1").unwrap();
        let dropped = relay.ask(&site, "b".to_owned(), "q2").unwrap();
        assert_eq!(relay.open(&site, None), ["q1", "q2"]);
        assert_eq!(relay.open(&site, Some("a")), ["q2"]);
        drop(dropped);
        assert!(!relay.answer(&site, "b", 1));
        assert!(relay.answer(&site, "a", 7));
        assert_eq!(asked.answer().await, Some(7));
    }
}
