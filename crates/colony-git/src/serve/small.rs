//! A fetch by a client that is a few commits behind, as sites are.

use std::collections::BTreeSet;

use gix::{ObjectId, Repository};

use super::line;
use crate::error::{Error, doing};
use crate::repo::pack::{self, Item};
use crate::repo::{self, Entry};

const DOING: &str = "collect the new objects";
/// A larger fetch is left to git, which packs better and does not hold it in
/// memory.
const COMMITS_LIMIT: usize = 64;
const OBJECTS_LIMIT: usize = 4096;
const BYTES_LIMIT: u64 = 4 * 1024 * 1024;

#[derive(Debug, Default)]
struct Question {
    wants: Vec<ObjectId>,
    haves: Vec<ObjectId>,
    done: bool,
}

pub(super) fn fetch(repo: &Repository, arguments: &[&[u8]]) -> Result<Option<Vec<u8>>, Error> {
    let Some(question) = read(arguments) else { return Ok(None) };
    let common: Vec<ObjectId> =
        question.haves.iter().copied().filter(|it| repo.find_commit(*it).is_ok()).collect();
    if common.is_empty() || question.wants.iter().any(|it| repo.find_commit(*it).is_err()) {
        return Ok(None);
    }
    let Some(items) = news(repo, &question.wants, &common)? else { return Ok(None) };
    let mut packed = Vec::new();
    pack::write(repo, &items, &mut packed)?;
    Ok(Some(reply_lines(&question, &common, &packed)))
}

/// Parses a plain fetch; a shallow, filtered or tagged one is left to git.
fn read(arguments: &[&[u8]]) -> Option<Question> {
    let mut question = Question::default();
    for argument in arguments {
        let text = std::str::from_utf8(argument).ok()?;
        match text.split_once(' ') {
            Some(("want", id)) => question.wants.push(repo::object_id(id)?),
            Some(("have", id)) => question.haves.push(repo::object_id(id)?),
            None if text == "done" => question.done = true,
            None if matches!(text, "thin-pack" | "no-progress" | "ofs-delta") => (),
            Some(_) | None => return None,
        }
    }
    (!question.wants.is_empty()).then_some(question)
}

/// The objects of the commits that none of `common` reaches; `None` if there
/// are too many.
fn news(
    repo: &Repository,
    wants: &[ObjectId],
    common: &[ObjectId],
) -> Result<Option<Vec<Item>>, Error> {
    let walk = repo.rev_walk(wants.iter().copied()).with_hidden(common.iter().copied());
    let mut found = NewObjects::default();
    for step in walk.all().map_err(doing(DOING))?.take(COMMITS_LIMIT + 1) {
        found.commit(repo, step.map_err(doing(DOING))?.id)?;
        if found.is_much(repo)? {
            return Ok(None);
        }
    }
    Ok(Some(found.items))
}

#[derive(Default)]
struct NewObjects {
    items: Vec<Item>,
    seen: BTreeSet<ObjectId>,
    commits: usize,
    /// How many of the items are in `bytes`.
    weighed: usize,
    bytes: u64,
}

impl NewObjects {
    /// Only differences to the first parent are added: that parent is part of
    /// the answer too, or the client already has it with its objects.
    fn commit(&mut self, repo: &Repository, id: ObjectId) -> Result<(), Error> {
        self.commits += 1;
        self.push(id);
        let commit = repo.find_commit(id).map_err(doing(DOING))?;
        let parent = commit.parent_ids().next().map(gix::Id::detach);
        let old = parent.map(|it| repo::tree_of(repo, it)).transpose()?;
        self.folder(repo, old, repo::tree_of(repo, id)?)
    }

    fn folder(
        &mut self,
        repo: &Repository,
        old: Option<ObjectId>,
        new: ObjectId,
    ) -> Result<(), Error> {
        let mut folders = vec![(old, new)];
        while let Some((old, new)) = folders.pop() {
            if old == Some(new) || !self.push(new) || self.items.len() > OBJECTS_LIMIT {
                continue;
            }
            let before = old.map(|it| repo::entries(repo, it)).transpose()?.unwrap_or_default();
            let before: std::collections::HashMap<Vec<u8>, Entry> = before.into_iter().collect();
            for (name, entry) in repo::entries(repo, new)? {
                let same = before.get(&name);
                if entry.mode.is_commit() || same.is_some_and(|it| it.id == entry.id) {
                    continue;
                }
                match entry.mode.is_tree() {
                    true => {
                        let old = same.filter(|it| it.mode.is_tree()).map(|it| it.id);
                        folders.push((old, entry.id));
                    }
                    false => drop(self.push(entry.id)),
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, id: ObjectId) -> bool {
        let new = self.seen.insert(id);
        if new {
            self.items.push(Item { id, like: None });
        }
        new
    }

    fn is_much(&mut self, repo: &Repository) -> Result<bool, Error> {
        if self.commits > COMMITS_LIMIT || self.items.len() > OBJECTS_LIMIT {
            return Ok(true);
        }
        for item in &self.items[self.weighed..] {
            self.bytes += repo::size_of(repo, item.id)?.unwrap_or_default();
        }
        self.weighed = self.items.len();
        Ok(self.bytes > BYTES_LIMIT)
    }
}

fn reply_lines(question: &Question, common: &[ObjectId], packed: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(packed.len() + 1024);
    if !question.done {
        line::text(&mut out, "acknowledgments");
        common.iter().for_each(|it| line::text(&mut out, &format!("ACK {it}")));
        line::text(&mut out, "ready");
        line::delimiter(&mut out);
    }
    line::text(&mut out, "packfile");
    line::data(&mut out, packed);
    line::flush(&mut out);
    out
}
