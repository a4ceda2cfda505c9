//! Good and bad edits in Git.

use colony_core::id::{DeploymentId, SiteName};
use colony_core::purge::mark_path;
use colony_world::{App, deployment_id};

use crate::check::strategy::STEPS;
use crate::world::World;

const STRATEGIES: [&str; 8] = [
    "",
    "strategy: {type: all-at-once}",
    "strategy: {type: rolling, maxUnavailable: 2}",
    "strategy: {type: rolling, maxUnavailable: 34%}",
    "replicas: 2",
    "replicas: 4",
    "selector: {zone: wet}",
    "strategy: {type: rolling, maxUnavailable: 1}\nprogressDeadline: 3m\nsoak: 20s",
];

const POLICIES: [&str; 6] = [
    "",
    "removeImage: true",
    "onFailure: stop",
    "onFailure: rollback-node",
    "retry: {installs: 2, updates: 2}",
    "delay: 40s",
];

const EITHER: &str = "capacityRequirements: {cpu: {cores: 1, architectures: [amd64, arm64]}}";
const ONE: &str = "capacityRequirements: {cpu: {cores: 1, architectures: [amd64]}}";
/// A rule that the node itself also checks before it runs a workload.
const RULE: &str = "eligibilityRules:
  - propertySelector:
      matchExpressions:
        - {key: /cpus/0/architecture, operator: In, values: [amd64]}";

/// A path in Git, and its content after the change.
type Edit = (String, Option<String>);

impl World {
    /// An operator deploys, updates or removes applications.
    pub(super) fn edit(&mut self) {
        let site = self.any_site();
        if self.rng.chance(50) {
            let ((path, text), mark) = self.edit_one(site);
            self.note(|_| format!("operator deploys {path}, and {mark:?}"));
            let site = self.roles.sites[site].name.clone();
            return self.central_deploy(&site, &path, text, mark);
        }
        if self.rng.chance(5) {
            return self.deploy_ahead();
        }
        if self.rng.chance(20) {
            return self.race_a_rollback();
        }
        let mut changes = Vec::new();
        for _ in 0..self.rng.range(1..3) {
            let (file, mark) = self.edit_one(site);
            changes.extend([Some(file), mark].into_iter().flatten());
        }
        self.note(|_| format!("Git: {}", changed(&changes)));
        self.roles.git.commit(changes);
    }

    /// An operator deploys to a site that no LO has joined.
    fn deploy_ahead(&mut self) {
        let Some(site) = self.announced.clone() else { return };
        let app = App::new(&super::app_name(&site, "pump"), &self.any_version());
        let path = format!("deployments/{site}/{}.yaml", app.name);
        self.note(|_| format!("operator deploys {path}, where no LO has joined"));
        self.central_deploy(&site, &path, Some(app.text(&site)), None);
    }

    /// The change of one deployment's file, and of the mark of its purge.
    fn edit_one(&mut self, site: usize) -> (Edit, Option<Edit>) {
        let (name, usual) = self.any_app(site);
        let site = self.roles.sites[site].name.clone();
        let path = format!("deployments/{site}/{name}.yaml");
        let there = self.id_at(&path);
        if self.rng.chance(12) {
            let mark = mark_path(&site, &there.unwrap_or(usual));
            return ((path, None), self.rng.chance(40).then(|| (mark, Some(String::new()))));
        }
        let (id, mark) = match there {
            Some(id) => (id, None),
            None => self.id_after_deletion(&site, usual),
        };
        let (version, target) = (self.any_version(), self.any_target());
        let settings = self.any_settings();
        let mut app = App::new(&name, &version).with_id(id).on(&target).with(&settings);
        app = match self.rng.range(0..10) {
            0..3 => app.needing(EITHER),
            3 => app.needing(ONE),
            4 => app.needing(RULE),
            _ => app,
        };
        ((path, Some(app.text(&site))), mark)
    }

    /// The id in a file at Git's head.
    fn id_at(&self, path: &str) -> Option<DeploymentId> {
        let text = self.roles.git.text(self.roles.git.blob_at_head(path)?)?;
        text.lines().next()?.strip_prefix("id: ")?.parse().ok()
    }

    /// A deployment that was purged is deployed again as another one, or the
    /// author takes the purge back.
    fn id_after_deletion(
        &mut self,
        site: &SiteName,
        usual: DeploymentId,
    ) -> (DeploymentId, Option<Edit>) {
        let mark = mark_path(site, &usual);
        if self.roles.git.blob_at_head(&mark).is_none() {
            return (usual, None);
        }
        match self.rng.chance(50) {
            true => (usual, Some((mark, None))),
            false => (deployment_id(&format!("{usual} {}", self.rng.next())), None),
        }
    }

    /// Four of ten versions fail in a common way, a few in a rare one.
    fn any_version(&mut self) -> String {
        let last = if self.rng.chance(10) { self.rng.range(10..13) } else { self.rng.range(0..10) };
        format!("1.0.{last}")
    }

    /// Mostly all nodes, sometimes one node of some site, or one that does not
    /// exist.
    fn any_target(&mut self) -> String {
        match self.rng.range(0..30) {
            0 => "nobody".to_owned(), // words: allowed
            1 => {
                let node = self.any_node();
                self.roles.nodes[node].name.to_string()
            }
            _ => "*".to_owned(),
        }
    }

    fn any_settings(&mut self) -> String {
        let strategy = match self.rng.chance(35) {
            true => self.rng.pick(&STEPS),
            false => self.rng.pick(&STRATEGIES),
        };
        let strategy = strategy.copied().unwrap_or("");
        let policy = self.rng.pick(&POLICIES).copied().unwrap_or("");
        [strategy, policy].join("\n").trim().to_owned()
    }

    /// A person repairs or breaks the file that CO is about to revert.
    fn race_a_rollback(&mut self) {
        let Some(revert) = self.roles.central.core.reverts_open().into_iter().next() else {
            return;
        };
        let path = colony_world::path(&revert.site, &revert.name);
        let app = App::new(revert.name.as_str(), &self.any_version());
        let text = self.rng.chance(80).then(|| app.text(&revert.site));
        self.note(|_| format!("Git: another author is quicker than the rollback of {path}"));
        self.roles.git.commit(vec![(path, text)]);
    }

    /// A person breaks a file, removes all files of the site or rewrites
    /// history.
    pub(super) fn edit_badly(&mut self) {
        let site = self.any_site();
        let name = self.roles.sites[site].name.clone();
        let (app, _) = self.any_app(site);
        let path = format!("deployments/{name}/{app}.yaml");
        match self.rng.range(0..6) {
            0 => self.roles.git.commit(vec![(path, Some("id: [oops\n".to_owned()))]),
            1 => self.roles.git.commit(vec![(path, Some("id: 7\nspec: {}\n".to_owned()))]),
            2 => {
                let copy = format!("deployments/{name}/copy.yaml");
                let text = App::new(&app, "1.0.2").text(&name);
                self.roles.git.commit(vec![(copy, Some(text))]);
            }
            3 => {
                let all =
                    self.roles.git.paths().into_iter().filter(|it| colony_world::is_of(&name, it));
                let all = all.map(|it| (it, None)).collect();
                self.roles.git.commit(all);
            }
            4 => {
                let (change, mark) = self.edit_one(site);
                self.roles.git.rewrite([Some(change), mark].into_iter().flatten().collect());
            }
            _ => {
                let path = format!("sites/{name}.yaml");
                let text = "maintenanceWindows: [{from: '12:05', to: '12:20'}]\n";
                let open = self.roles.git.blob_at_head(&path).is_some();
                self.roles.git.commit(vec![(path, (!open).then(|| text.to_owned()))]);
            }
        }
        self.note(|_| format!("Git: an author interferes with {name}"));
    }
}

fn changed(changes: &[(String, Option<String>)]) -> String {
    let one = |(path, text): &(String, Option<String>)| {
        let version = text.as_ref().and_then(|it| it.split("revision: ").nth(1));
        let version = version.and_then(|it| it.lines().next()).unwrap_or("gone");
        format!("{path} {version}")
    };
    changes.iter().map(one).collect::<Vec<_>>().join(", ")
}
