//! The answers a site sent: why something there is not as it should be.

use crate::fleet::pen::Pen;
use crate::fleet::{Fleet, Head, RowKey, SiteView, UnknownSite};
use crate::id::{NodeName, SiteName};
use crate::time::Wall;
use crate::why::{AnswerKey, AnswerUpdate, Cause, NodeCause, Why};

/// The most answers that are kept of one site.
const ANSWER_LIMIT: usize = 50_000;

/// What became of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswersTaken {
    /// Stored, now or before.
    Stored,
    /// An earlier update is missing: the site sends all its answers again.
    Incomplete,
}

impl Fleet {
    /// Takes answers over; the same update twice changes nothing, nor does one
    /// that arrives after a later one, or after the next run of the site's
    /// orchestrator has sent its own.
    pub fn answers_apply(
        &mut self,
        site: &SiteName,
        update: &AnswerUpdate,
    ) -> Result<AnswersTaken, UnknownSite> {
        let mut pen = self.pen(site)?;
        let head = &mut pen.view.head;
        match head.answers_order(update) {
            AnswersOrder::Late => return Ok(AnswersTaken::Stored),
            AnswersOrder::Gap => return Ok(AnswersTaken::Incomplete),
            AnswersOrder::Next => {}
        }
        if update.complete {
            pen.forget_answers();
        }
        for (key, whys) in &update.changed {
            pen.set_answer(key, whys);
        }
        pen.view.head.answers = Some((update.session, update.number));
        pen.mark(RowKey::Site);
        Ok(AnswersTaken::Stored)
    }
}

/// Where an update stands among those that were stored.
enum AnswersOrder {
    Next,
    Late,
    Gap,
}

impl Head {
    fn answers_order(&self, update: &AnswerUpdate) -> AnswersOrder {
        let (session, number) = (update.session, update.number);
        match self.answers {
            Some(known) if known.0 == session && number <= known.1 => AnswersOrder::Late,
            Some(known) if known.0 == session && number == known.1 + 1 => AnswersOrder::Next,
            // Sessions rise: an earlier one speaks of the past, however late it comes.
            Some(known) if known.0 > session => AnswersOrder::Gap,
            Some(_) | None if update.complete => AnswersOrder::Next,
            Some(_) | None => AnswersOrder::Gap,
        }
    }
}

impl Pen<'_> {
    pub(super) fn forget_answers(&mut self) {
        self.view.head.answers = None;
        let keys: Vec<AnswerKey> = self.view.answers.keys().cloned().collect();
        keys.iter().for_each(|it| self.set_answer(it, &[]));
    }

    fn set_answer(&mut self, key: &AnswerKey, whys: &[Why]) {
        let room = self.view.answers.len() < ANSWER_LIMIT || self.view.answers.contains_key(key);
        match whys {
            [] => drop(self.view.answers.remove(key)),
            _ if !room => return,
            _ => drop(self.view.answers.insert(key.clone(), whys.to_vec())),
        }
        if let AnswerKey::File(name) = key {
            match whys {
                [] => self.unlink(name),
                _ => self.link(name),
            }
        }
        let key = key.clone();
        self.mark(|site| RowKey::Answer(site, key));
    }
}

impl SiteView {
    /// The site's own words about `key`.
    pub fn answers_about(&self, key: &AnswerKey) -> &[Why] {
        self.answers.get(key).map_or(&[], Vec::as_slice)
    }

    /// When a node that is late or offline was heard last, as the site says.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other causes do not say")]
    pub fn node_last_heard(&self, node: &NodeName) -> Option<Wall> {
        let answers = self.answers_about(&AnswerKey::Node(node.clone())).iter();
        answers.flat_map(Why::causes).find_map(|it| match it {
            Cause::Node(
                NodeCause::NodeOffline { last_heard, .. }
                | NodeCause::NodeSuspect { last_heard, .. },
            ) => Some(*last_heard),
            _ => None,
        })
    }
}
