//! Plans: from a request to the files that are written into Git.
//!
//! A request is answered from one reading of Git, the catalog and one snapshot of
//! the fleet. The core's `plan` computes what the next files mean for every
//! node; this module drafts the files and queues the change. Applying a plan
//! stores the intent in one transaction before the response; the Git writer
//! does the rest. A plan's hash covers blobs, contents and targets, not which
//! nodes are online.

mod apply;
mod carry;
mod delete;
mod deploy;
mod draft;
mod hash;
mod inputs;
mod render;
mod rollback;
mod settings;
mod values;

use std::collections::BTreeSet;

use colony_api::view::{FileDiff, PlanView};
use colony_core::id::{BlobId, DeploymentId, DeploymentName, SiteName};
use colony_core::plan::NextFile;
use colony_core::site::Action;
use colony_store::ChangeEdit;

use crate::app::App;
use crate::auth::Operator;
use crate::fault::Fault;
use crate::view::no_deployment;

pub(crate) use apply::{apply, turn};
pub(crate) use delete::{DeleteOptions, delete};
pub(crate) use deploy::deploy;
pub(crate) use inputs::sites_by_name;
pub(crate) use rollback::rollback;

/// The changes to make, and their effects.
#[derive(Debug)]
pub(crate) struct Plan {
    pub view: PlanView,
    /// The next file of each target, also where it does not change.
    next: Vec<PlannedFile>,
    /// The edits, by site.
    pub edits: Vec<(SiteName, ChangeEdit)>,
    /// The marks of purges to write or to remove with them, by site.
    marks: Vec<(SiteName, ChangeEdit)>,
    /// Orders that are sent to sites in addition.
    pub commands: Vec<(SiteName, Action)>,
    /// Removals that need no confirmation once the site has begun.
    pub forces: Vec<(SiteName, DeploymentId)>,
    /// The subject of the commit.
    pub message: String,
}

/// The next file of a site.
#[derive(Debug)]
struct PlannedFile {
    file: NextFile,
    /// Its id was just generated.
    fresh: bool,
}

impl PlannedFile {
    fn new(site: &SiteName, text: Option<String>) -> PlannedFile {
        let file = NextFile { site: site.clone(), text, carried: BTreeSet::new() };
        PlannedFile { file, fresh: false }
    }
}

impl Plan {
    fn new(view: PlanView, message: String) -> Plan {
        Plan {
            view,
            next: Vec::new(),
            edits: Vec::new(),
            marks: Vec::new(),
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
        let same = before.map(|it| it.1.as_str()) == after.as_deref();
        if same {
            return;
        }
        self.show_diff(&path, before.map(|it| it.1.as_str()), after.as_deref());
        let expected = before.map(|it| it.0.clone());
        let edit = ChangeEdit { path, expected, text: after, only_with: None };
        self.edits.push((site.clone(), edit));
    }

    fn show_diff(&mut self, path: &str, before: Option<&str>, after: Option<&str>) {
        let diff = colony_git::unified_diff(before.unwrap_or(""), after.unwrap_or(""));
        self.view.files.push(FileDiff { path: path.to_owned(), diff });
    }

    /// The file that the plan removes at a site.
    fn removed_file(&self, site: &SiteName) -> Option<String> {
        let mut edits = self.edits.iter();
        edits.find(|it| it.0 == *site && it.1.text.is_none()).map(|it| it.1.path.clone())
    }

    fn sites(&self) -> BTreeSet<SiteName> {
        let edited = self.edits.iter().chain(&self.marks).map(|it| it.0.clone());
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
        settings: Vec::new(),
        steps: Vec::new(),
        pulls: Vec::new(),
        files: Vec::new(),
        purges: Vec::new(),
        findings: Vec::new(),
        refusal: None,
    }
}

/// `home, plant-b and 3 more`.
fn sites_text<'a>(sites: impl IntoIterator<Item = &'a SiteName>) -> String {
    colony_api::render::listed(sites, "nowhere")
}

/// The problem of a request for a deployment that is not at its sites, or
/// nowhere.
fn not_at_sites(app: &App, operator: &Operator, name: &DeploymentName, sites: &[String]) -> Fault {
    let fleet = app.brain.snapshot();
    let is_elsewhere = fleet.sites_of(name).any(|it| operator.sees(it.0));
    match !sites.is_empty() && is_elsewhere {
        true => Fault::not_found(format!("deployment `{name}` is not at {}", sites.join(", "))),
        false => no_deployment(&fleet, operator, name),
    }
}
