//! Changes that wait for Git.

use colony_api::view::ChangeView;

use crate::output::RenderOptions;
use crate::output::table::table;

pub(crate) fn list(views: &[ChangeView], look: &RenderOptions) -> String {
    let rows = views.iter().map(|it| {
        [it.id.clone(), look.ago(it.at), it.actor.clone(), it.message.clone(), files(it, look)]
    });
    table(["ID", "ACCEPTED", "BY", "CHANGE", "FILES"], rows, look)
}

/// The first file, and how many more; all of them in a wide table.
fn files(view: &ChangeView, look: &RenderOptions) -> String {
    match (view.paths.as_slice(), look.wide) {
        ([], _) => "-".to_owned(),
        ([one], _) => one.clone(),
        (all, true) => all.join(", "),
        ([first, more @ ..], false) => format!("{first} and {} more", more.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use colony_core::time::Timestamp;

    #[test]
    fn changes_are_listed_with_what_they_write() {
        let look =
            RenderOptions { wide: false, now: Timestamp(1_000_000), width: None, colour: false };
        let change = |id: &str, paths: &[&str]| ChangeView {
            id: id.to_owned(),
            at: Timestamp(400_000),
            actor: "ana".to_owned(),
            message: "Deploy hello 1.1".to_owned(),
            paths: paths.iter().map(|it| (*it).to_owned()).collect(),
            waits_for: None,
        };
        let all =
            [change("a1", &["sites/home.yaml"]), change("b2", &["x.yaml", "y.yaml", "z.yaml"])];
        insta::assert_snapshot!(list(&all, &look), @r"
        ID  ACCEPTED    BY   CHANGE            FILES
        a1  10 min ago  ana  Deploy hello 1.1  sites/home.yaml
        b2  10 min ago  ana  Deploy hello 1.1  x.yaml and 2 more
        ");
    }
}
