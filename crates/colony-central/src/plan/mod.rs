//! From what somebody asked for to what is written into Git.
//!
//! A plan is made from the catalog, the fleet and the files at the head of the
//! branch; it says what would be written and what that means for every node.
//! Applying it stores the intent in one transaction before the answer; the Git
//! writer does the rest. A plan's hash covers blobs, contents and targets, not
//! what is alive.

mod apply;
mod delete;
mod deploy;
pub(crate) mod diff;
mod draft;
mod fit;
mod hash;
mod place;
mod profile;
mod rollback;
mod settings;
mod target;
mod values;

use std::collections::BTreeSet;

use colony_api::view::{FileDiff, PlanView};
use colony_core::id::{BlobId, DeploymentId, DeploymentName, SiteName};
use colony_core::site::Action;
use colony_store::ChangeEdit;

pub(crate) use apply::{apply, turn};
pub(crate) use delete::delete;
pub(crate) use deploy::deploy;
pub(crate) use place::sites_of;
pub(crate) use rollback::rollback;

/// What is to be done, and what it means.
#[derive(Debug)]
pub(crate) struct Plan {
    pub view: PlanView,
    /// What each place is to have, also where that is what it has.
    next: Vec<Next>,
    /// What is written, by site.
    pub edits: Vec<(SiteName, ChangeEdit)>,
    /// Orders that go to sites beside it.
    pub commands: Vec<(SiteName, Action)>,
    /// Removals whose confirmation nobody waits for once the site has begun.
    pub forces: Vec<(SiteName, DeploymentId)>,
    /// The subject of the commit.
    pub message: String,
}

/// The file a site is to have.
#[derive(Debug)]
struct Next {
    site: SiteName,
    /// `None`: no file.
    text: Option<String>,
    /// Its id was just drawn.
    fresh: bool,
}

impl Plan {
    fn new(view: PlanView, message: String) -> Plan {
        Plan {
            view,
            next: Vec::new(),
            edits: Vec::new(),
            commands: Vec::new(),
            forces: Vec::new(),
            message,
        }
    }

    /// Adds a file to write, unless it stays as it is.
    fn edit(
        &mut self,
        site: &SiteName,
        path: String,
        before: Option<&(BlobId, String)>,
        after: Option<String>,
    ) {
        let (was, is) = (before.map_or("", |it| it.1.as_str()), after.as_deref().unwrap_or(""));
        let same = before.is_some() == after.is_some() && was == is;
        if same {
            return;
        }
        self.view.files.push(FileDiff { path: path.clone(), diff: diff::lines(was, is) });
        let expected = before.map(|it| it.0.clone());
        self.edits.push((site.clone(), ChangeEdit { path, expected, text: after }));
    }

    /// Adds what another plan writes.
    fn take_edits(&mut self, other: Plan) {
        self.next.extend(other.next);
        self.edits.extend(other.edits);
        self.view.files.extend(other.view.files);
        self.view.parameters.extend(other.view.parameters);
    }

    fn sites(&self) -> BTreeSet<SiteName> {
        let edited = self.edits.iter().map(|it| it.0.clone());
        edited.chain(self.commands.iter().map(|it| it.0.clone())).collect()
    }
}

/// A plan that does nothing yet.
fn view(name: &DeploymentName, application: &str) -> PlanView {
    PlanView {
        hash: String::new(),
        name: name.clone(),
        application: application.to_owned(),
        version: None,
        profile: None,
        targets: Vec::new(),
        parameters: Vec::new(),
        files: Vec::new(),
        findings: Vec::new(),
    }
}

/// `home, plant-b and 3 more`.
fn said<'a>(sites: impl IntoIterator<Item = &'a SiteName>) -> String {
    let names: Vec<String> = sites.into_iter().map(ToString::to_string).collect();
    crate::catalog::listed(&names, "nowhere")
}
