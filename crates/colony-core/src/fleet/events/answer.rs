//! The answers a site sent: why something there is not as it should be.

use crate::fleet::events::projection_writer::ProjectionWriter;
use crate::fleet::{Fleet, Head, RowKey, SiteView, UnknownSite};
use crate::id::{NodeName, SiteName};
use crate::time::Timestamp;
use crate::why::{AnswerKey, AnswerUpdate, Cause, NodeCause, Why};

/// The maximum number of answers kept per site.
const ANSWER_LIMIT: usize = 50_000;

/// The result of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswersTaken {
    /// Stored by this request or an earlier one.
    Stored,
    /// An earlier update is missing: the site sends all its answers again.
    Incomplete,
}

impl Fleet {
    /// Stores the answers of an update. An update changes nothing if it was
    /// stored before, if a later one was stored, or if a later run of the site
    /// orchestrator has sent its own answers.
    pub fn answers_apply(
        &mut self,
        site: &SiteName,
        update: &AnswerUpdate,
    ) -> Result<AnswersTaken, UnknownSite> {
        let mut writer = self.writer(site)?;
        let head = &mut writer.view.head;
        match head.answers_order(update) {
            AnswersOrder::Late => return Ok(AnswersTaken::Stored),
            AnswersOrder::Gap => return Ok(AnswersTaken::Incomplete),
            AnswersOrder::Next => {}
        }
        if update.complete {
            writer.forget_answers();
        }
        for (key, whys) in &update.changed {
            writer.set_answer(key, whys);
        }
        writer.view.head.answers = Some((update.session, update.number));
        writer.mark(RowKey::Site);
        Ok(AnswersTaken::Stored)
    }
}

/// The position of an update relative to the stored ones.
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
            // Session numbers rise: an update of an earlier session is
            // outdated, no matter when it arrives.
            Some(known) if known.0 > session => AnswersOrder::Gap,
            Some(_) | None if update.complete => AnswersOrder::Next,
            Some(_) | None => AnswersOrder::Gap,
        }
    }
}

impl ProjectionWriter<'_> {
    pub(in crate::fleet) fn forget_answers(&mut self) {
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
    /// The answers that the site sent about `key`.
    pub fn answers_about(&self, key: &AnswerKey) -> &[Why] {
        self.answers.get(key).map_or(&[], Vec::as_slice)
    }

    /// When a late or offline node last sent a request, as reported by the
    /// site.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other causes do not say")]
    pub fn node_last_heard(&self, node: &NodeName) -> Option<Timestamp> {
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
