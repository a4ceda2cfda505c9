//! What a plan means for every node.

use std::collections::BTreeMap;
use std::sync::Arc;

use colony_api::view::{PlanAction, PlanTarget};
use colony_core::document::{Document, Target};
use colony_core::fleet::{NodeView, PlacementView, SITE_SILENT, SiteView};
use colony_core::id::{BlobId, DeploymentName, NodeName, SiteName};
use colony_core::time::{Spoken, Wall};
use colony_margo::{Finding, Severity};

use super::draft::no_blob;
use super::fit::{barred, cramped, misfit, selected};
use super::hash::hash;
use super::{Next, Plan};
use crate::app::App;
use crate::clock;
use crate::fault::Fault;
use crate::repo::Facts;

type Versions = BTreeMap<BlobId, Arc<Facts>>;

/// Says for every node what happens there, and names the plan.
pub(super) async fn fill(app: &App, plan: &mut Plan, handle: &DeploymentName) -> Result<(), Fault> {
    let blobs = {
        let fleet = app.brain.read().await?;
        let views = plan.next.iter().filter_map(|it| fleet.site(&it.site));
        views.flat_map(|it| placed(it, handle)).filter_map(|it| blob(it).cloned()).collect()
    };
    let versions = app.repo.facts(blobs).await?;
    let fleet = app.brain.read().await?;
    let (mut targets, mut remarks) = (Vec::new(), Vec::new());
    for next in &plan.next {
        let Some(view) = fleet.site(&next.site) else { continue };
        let asked =
            Asked { site: &next.site, view, handle, versions: &versions, now: clock::wall() };
        targets.extend(asked.targets(next));
        remarks.extend(asked.cramped(next));
    }
    drop(fleet);
    remarks.iter().for_each(|it| remark(plan, it));
    plan.view.targets = targets;
    plan.view.hash = hash(plan, handle);
    Ok(())
}

/// Adds a remark to a plan.
pub(super) fn remark(plan: &mut Plan, problem: &str) {
    let finding = Finding {
        file: None,
        line: 0,
        column: 0,
        path: String::new(),
        severity: Severity::Warning,
        problem: problem.to_owned(),
        expected: String::new(),
    };
    if !plan.view.findings.contains(&finding) {
        plan.view.findings.push(finding);
    }
}

fn placed<'a>(
    view: &'a SiteView,
    handle: &'a DeploymentName,
) -> impl Iterator<Item = &'a PlacementView> {
    view.deployments_named(handle).flat_map(|it| view.placements_of(&it.id))
}

fn blob(placement: &PlacementView) -> Option<&BlobId> {
    placement.revisions.target.as_ref().map(|it| &it.blob)
}

struct Asked<'a> {
    site: &'a SiteName,
    view: &'a SiteView,
    handle: &'a DeploymentName,
    versions: &'a Versions,
    now: Wall,
}

impl Asked<'_> {
    fn targets(&self, next: &Next) -> Vec<PlanTarget> {
        let there: BTreeMap<&NodeName, &PlacementView> =
            placed(self.view, self.handle).map(|it| (&it.id.node, it)).collect();
        let Some(document) = self.document(next) else {
            return there.values().map(|it| self.removed(it)).collect();
        };
        let mut targets: Vec<PlanTarget> =
            there.values().map(|it| self.kept(it, &document)).collect();
        let mut free = self.free(&document, targets.len());
        for (node, view) in &self.view.nodes {
            if there.contains_key(node) {
                continue;
            }
            targets.extend(self.added(node, view, &document, &mut free));
        }
        if targets.is_empty() {
            targets.push(self.whole(&document));
        }
        targets
    }

    fn document(&self, next: &Next) -> Option<Document> {
        let text = next.text.as_ref()?;
        Document::parse(self.site, self.handle, &no_blob(), text.as_bytes()).ok()
    }

    /// How many more nodes the deployment may take.
    fn free(&self, document: &Document, taken: usize) -> usize {
        let replicas =
            document.settings.replicas.map(|it| usize::try_from(it).unwrap_or(usize::MAX));
        replicas.map_or(usize::MAX, |it| it.saturating_sub(taken))
    }

    fn kept(&self, placement: &PlacementView, document: &Document) -> PlanTarget {
        let node = &placement.id.node;
        if matches!(&document.target, Target::Node(it) if it != node) {
            return self.removed(placement);
        }
        let runs = placement.revisions.target.as_ref().map(|it| it.workload);
        let version = self.version(placement);
        if runs == Some(document.revision.workload) {
            return self.target(Some(node), PlanAction::Unchanged, version, Some(document));
        }
        match self.view.nodes.get(node).and_then(|it| barred(it, document)) {
            Some(reason) => self.refused(node, version, document, reason),
            None => self.target(Some(node), PlanAction::Update, version, Some(document)),
        }
    }

    fn removed(&self, placement: &PlacementView) -> PlanTarget {
        let node = Some(&placement.id.node);
        self.target(node, PlanAction::Remove, self.version(placement), None)
    }

    fn added(
        &self,
        node: &NodeName,
        view: &NodeView,
        document: &Document,
        free: &mut usize,
    ) -> Option<PlanTarget> {
        if matches!(&document.target, Target::Node(it) if it != node) || !selected(view, document) {
            return None;
        }
        if let Some(reason) = misfit(view, document) {
            return Some(self.refused(node, None, document, reason));
        }
        *free = free.checked_sub(1)?;
        Some(self.target(Some(node), PlanAction::Create, None, Some(document)))
    }

    fn refused(
        &self,
        node: &NodeName,
        version: Option<String>,
        document: &Document,
        reason: String,
    ) -> PlanTarget {
        let refused = self.target(Some(node), PlanAction::Refused, version, Some(document));
        PlanTarget { action: PlanAction::Refused, reason: Some(reason), ..refused }
    }

    /// What is to run twice for a while on a node that is made for one.
    fn cramped(&self, next: &Next) -> Vec<String> {
        let Some(document) = self.document(next) else { return Vec::new() };
        let there = placed(self.view, self.handle).map(|it| &it.id.node);
        let short = there.filter_map(|node| {
            let lacks = cramped(self.view.nodes.get(node)?, &document)?;
            Some(format!("{}/{node} runs both versions for a while: {lacks}", self.site))
        });
        short.collect()
    }

    /// The site as a whole, where no node is known that takes it.
    fn whole(&self, document: &Document) -> PlanTarget {
        let target = self.target(None, PlanAction::Create, None, Some(document));
        let reason =
            target.reason.unwrap_or_else(|| "no node of the site is known to fit yet".to_owned());
        PlanTarget { reason: Some(reason), ..target }
    }

    /// What would change on a node that is away is deferred.
    fn target(
        &self,
        node: Option<&NodeName>,
        action: PlanAction,
        from_version: Option<String>,
        document: Option<&Document>,
    ) -> PlanTarget {
        let away = self.away(node).filter(|_| action != PlanAction::Unchanged);
        PlanTarget {
            site: self.site.clone(),
            node: node.cloned(),
            action: if away.is_some() { PlanAction::Deferred } else { action },
            from_version,
            to_version: document.map(|it| Facts::of(&it.spec).version),
            reason: away,
        }
    }

    fn away(&self, node: Option<&NodeName>) -> Option<String> {
        if self.view.incarnation().is_none() {
            return Some("no orchestrator has joined the site yet".to_owned());
        }
        let silent = self.view.head.last_heard.map(|it| self.now.since(it));
        if let Some(silent) = silent.filter(|it| *it >= SITE_SILENT) {
            return Some(format!("the site is not heard for {}", Spoken(silent)));
        }
        let node = self.view.nodes.get(node?)?;
        let since = Spoken(self.now.since(node.since));
        (!node.is_online()).then(|| format!("offline {since}"))
    }

    fn version(&self, placement: &PlacementView) -> Option<String> {
        self.versions.get(blob(placement)?).map(|it| it.version.clone())
    }
}
