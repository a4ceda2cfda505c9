//! Which changes go into the next commit, and its message.

use std::collections::BTreeSet;

use colony_git::{Batch, Edit};
use colony_store::{Change, ChangeEdit};

use crate::fault::Fault;

/// The most changes of one commit.
const CHANGES_PER_COMMIT: usize = 500;

/// The changes for the next commit: the oldest ones, up to the first that edits a
/// path again.
pub(super) fn next_changes(open: Vec<Change>) -> Vec<Change> {
    let mut paths = BTreeSet::new();
    let fits = |change: &Change| change.edits.iter().all(|it| paths.insert(it.path.clone()));
    open.into_iter().take(CHANGES_PER_COMMIT).take_while(fits).collect()
}

/// Refuses edits that Git would never accept, before they are queued.
pub(crate) fn must_be_writable<'a>(
    edits: impl Iterator<Item = &'a ChangeEdit>,
) -> Result<(), Fault> {
    let edits: Vec<Edit> = edits.map(edit).collect();
    Edit::check_all(&edits).map_err(|it| Fault::invalid(it.to_string()))
}

fn edit(it: &ChangeEdit) -> Edit {
    let ChangeEdit { path, expected, text, only_with } = it.clone();
    Edit { path, expected, text, only_with }
}

pub(super) fn build(changes: &[Change], at_unix: i64) -> Batch {
    let edits = changes.iter().flat_map(|it| &it.edits).map(edit).collect();
    let mut trailers: Vec<(String, String)> =
        changes.iter().flat_map(|it| it.trailers.iter().cloned()).collect();
    trailers.sort();
    trailers.dedup();
    Batch { message: message(changes), trailers, author: author(changes), at_unix, edits }
}

fn message(changes: &[Change]) -> String {
    match changes {
        [one] => one.message.clone(),
        many => {
            let lines: Vec<String> = many.iter().map(|it| format!("- {}", it.message)).collect();
            format!("{} changes\n\n{}", many.len(), lines.join("\n"))
        }
    }
}

fn author(changes: &[Change]) -> String {
    let actors: BTreeSet<&str> = changes.iter().map(|it| it.actor.as_str()).collect();
    match actors.first() {
        Some(one) if actors.len() == 1 => (*one).to_owned(),
        _ => "colony".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use colony_core::time::Timestamp;

    #[test]
    fn changes_share_a_commit_until_a_path_comes_twice() {
        check("a b c", 3, "3 changes\n\n- change a\n- change b\n- change c");
        check("a a b", 1, "change a");
        check("a b a", 2, "2 changes\n\n- change a\n- change b");
    }

    #[test]
    fn commit_has_the_name_of_its_only_author() {
        let by = |actor: &str, path| Change { actor: actor.to_owned(), ..change(path) };
        for (changes, expected) in [
            (vec![by("ana", "a")], "ana"),
            (vec![by("ana", "a"), by("ana", "b")], "ana"),
            (vec![by("ana", "a"), by("bob", "b")], "colony"),
        ] {
            assert_eq!(build(&changes, 0).author, expected);
        }
    }

    #[test]
    fn edits_that_git_would_never_take_are_refused() {
        let edits = |paths: &str| paths.split(' ').flat_map(|it| change(it).edits).collect();
        let refused = |edits: Vec<ChangeEdit>| must_be_writable(edits.iter()).is_err();
        assert!(!refused(edits("a b")));
        assert!(refused(edits("a a")), "a path comes twice");
        assert!(refused(edits("a ../b")), "a path leaves the repository");
    }

    #[track_caller]
    fn check(paths: &str, taken: usize, expected: &str) {
        let changes = next_changes(paths.split(' ').map(change).collect());
        assert_eq!(changes.len(), taken);
        assert_eq!(build(&changes, 0).message, expected);
    }

    fn change(path: &str) -> Change {
        let edit =
            ChangeEdit { path: path.to_owned(), expected: None, text: None, only_with: None };
        Change {
            id: path.to_owned(),
            at: Timestamp(0),
            actor: "ana".to_owned(),
            message: format!("change {path}"),
            trailers: Vec::new(),
            edits: vec![edit],
        }
    }
}
