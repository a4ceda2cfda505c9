//! The effect of a request at one site, node by node.
//!
//! A node gets no deployment for one of three reasons: the selection leaves it
//! out (a *misfit*: `choice::Unfit`), its device cannot run the document
//! (`why_device_cannot`), or the site *withholds* the revision, which it has
//! quarantined or the node has rejected (`why_withheld`). All of them appear in
//! the plan as `PlanAction::Refused` with a reason.
//!
//! Revisions have the names of `site/deployment.rs`: accepted, effective, wanted.

use std::collections::BTreeSet;

use colony_margo::{Digest, Finding};

use super::nodes::{self, ReportedNodes};
use super::{
    NextFile, Plan, PlanAction, PlanTarget, Request, SiteSnapshot, Snapshot, difference, steps,
    wait,
};
use crate::choice::{self, Candidate, Candidates, Choice, Unfit};
use crate::document::{Document, Strategy, Target};
use crate::fleet::{DeploymentView, PlacementView};
use crate::id::{DeploymentName, NodeName, SiteName};
use crate::site::is_colony_node;
use crate::state::State;
use crate::time::HumanDuration;

/// How many nodes that do not fit a warning names.
const MISFITS_NAMED: usize = 5;

pub(super) struct SitePlanner<'a> {
    pub site: &'a SiteName,
    pub name: &'a DeploymentName,
    pub snapshot: &'a SiteSnapshot,
    pub fleet: &'a Snapshot,
    force: bool,
    /// `None`: no file.
    document: Option<Result<Document, Vec<Finding>>>,
}

impl<'a> SitePlanner<'a> {
    pub(super) fn new(
        request: &'a Request,
        file: &'a NextFile,
        snapshot: &'a SiteSnapshot,
        fleet: &'a Snapshot,
    ) -> SitePlanner<'a> {
        let (site, name) = (&file.site, &request.name);
        let read = |it: &String| Document::parse(site, name, &difference::no_blob(), it.as_bytes());
        let document = file.text.as_ref().map(read);
        SitePlanner { site, name, snapshot, fleet, force: request.force, document }
    }

    /// Adds the targets of the site; returns the number of nodes that run the
    /// deployment, now or later.
    pub(super) fn add_to(&self, plan: &mut Plan) -> usize {
        let targets = match &self.document {
            None => self.removals(None),
            Some(Err(findings)) => vec![self.invalid_target(findings)],
            Some(Ok(document)) => DocumentPlanner::new(self, document).add_to(plan),
        };
        let runs = |it: &&PlanTarget| !matches!(it.end(), PlanAction::Remove | PlanAction::Refused);
        let node_count = targets.iter().filter(runs).count();
        plan.targets.extend(targets);
        node_count
    }

    /// The removals of the deployments of this name other than `keep`.
    fn removals(&self, keep: Option<&Document>) -> Vec<PlanTarget> {
        let view = &self.snapshot.view;
        let others = view.deployments_named(self.name).filter(|it| {
            let kept = keep.is_some_and(|keep| *keep.id() == it.id);
            !kept && (keep.is_none() || !it.withdrawn)
        });
        let placed = others.flat_map(|it| view.placements_of(&it.id).map(move |p| (it, p)));
        placed.map(|(it, placement)| self.removal_target(it, placement)).collect()
    }

    pub(super) fn removal_target(
        &self,
        it: &DeploymentView,
        placement: &PlacementView,
    ) -> PlanTarget {
        let reason = wait::hold(&self.snapshot.view, Some(it)).map(|it| waits(&it));
        let target = self.target(Some(&placement.id.node), PlanAction::Remove, None);
        // The reason of a deferred removal is its offline node. Otherwise a hold
        // comes first: it delays a removal, even a forced one.
        let is_immediate = target.action == PlanAction::Remove;
        let reason = if is_immediate { reason.or(target.reason) } else { target.reason };
        PlanTarget { from_version: self.version(placement), reason, ..target }
    }

    fn invalid_target(&self, findings: &[Finding]) -> PlanTarget {
        let first = findings.first().map(ToString::to_string).unwrap_or_default();
        let target = self.target(None, PlanAction::Refused, None);
        PlanTarget { reason: Some(format!("the file is not valid: {first}")), ..target }
    }

    /// A target of `action`; deferred if the node or the site is offline. A forced
    /// removal waits for the site only.
    pub(super) fn target(
        &self,
        node: Option<&NodeName>,
        action: PlanAction,
        document: Option<&Document>,
    ) -> PlanTarget {
        let target = PlanTarget {
            site: self.site.clone(),
            node: node.cloned(),
            action,
            later: None,
            from_version: None,
            to_version: document.map(|it| crate::document::version(&it.spec)),
            reason: None,
        };
        if matches!(action, PlanAction::Unchanged | PlanAction::Refused) {
            return target;
        }
        let why_offline = |node| wait::offline(&self.snapshot.view, node, self.fleet.now);
        let (node_or_site, site) = (why_offline(node), why_offline(None));
        let forced = self.force && action == PlanAction::Remove;
        match node_or_site {
            Some(reason) if !forced || site.is_some() => target.deferred(action, reason),
            Some(reason) => {
                let reason = format!("forced: {reason}; its removal stays unconfirmed");
                PlanTarget { reason: Some(reason), ..target }
            }
            None if forced => {
                let reason = "forced: not waited for; its removal may stay unconfirmed";
                PlanTarget { reason: Some(reason.to_owned()), ..target }
            }
            None => target,
        }
    }

    pub(super) fn version(&self, placement: &PlacementView) -> Option<String> {
        let blob = &placement.revisions.target.as_ref()?.blob;
        self.fleet.versions.get(blob).cloned()
    }

    /// Classifies a change of the workload by the version of the application.
    pub(super) fn change(&self, placement: &PlacementView, to: Option<&str>) -> PlanAction {
        let from = self.version(placement);
        let same = from.is_some() && from.as_deref() == to;
        if same { PlanAction::Restart } else { PlanAction::Update }
    }
}

fn waits(what: &str) -> String {
    format!("will wait: {what}")
}

/// Plans for a site whose next file is valid.
pub(super) struct DocumentPlanner<'a> {
    pub planner: &'a SitePlanner<'a>,
    pub document: &'a Document,
    /// The deployment that the site has under the document's id.
    pub deployment: Option<&'a DeploymentView>,
}

impl<'a> DocumentPlanner<'a> {
    fn new(planner: &'a SitePlanner<'a>, document: &'a Document) -> DocumentPlanner<'a> {
        let deployment = planner.snapshot.view.deployments.get(document.id());
        DocumentPlanner { planner, document, deployment }
    }

    fn add_to(&self, plan: &mut Plan) -> Vec<PlanTarget> {
        let view = &self.planner.snapshot.view;
        let current = self.deployment.map(|it| nodes::current(view, it)).unwrap_or_default();
        let nodes = ReportedNodes::new(view, self.deployment);
        let choice = choice::choose(self.document, &current, &nodes);
        let mut targets = self.planner.removals(Some(self.document));
        targets.extend(choice.remove.iter().filter_map(|it| self.deselected_target(it)));
        let mut selected: Vec<&NodeName> = choice.keep.iter().chain(&choice.add).copied().collect();
        selected.sort();
        targets.extend(selected.iter().map(|it| self.selected_target(it)));
        let explained: BTreeSet<&NodeName> = selected.into_iter().chain(current.iter()).collect();
        targets.extend(self.misfit_targets(&nodes, &choice, &explained));
        let selected: BTreeSet<&NodeName> =
            choice.keep.iter().chain(&choice.add).copied().collect();
        plan.warnings.extend(self.shortage(&nodes, &choice, &selected));
        plan.warnings.extend(self.shortage_for_two_versions(&targets));
        steps::add_to(plan, self, &targets);
        targets
    }

    fn placement(&self, node: &NodeName) -> Option<&'a PlacementView> {
        nodes::placement(&self.planner.snapshot.view, self.deployment?, node)
    }

    fn deselected_target(&self, node: &NodeName) -> Option<PlanTarget> {
        let placement = self.placement(node)?;
        Some(self.planner.removal_target(self.deployment?, placement))
    }

    /// The target of a node that keeps or gets the deployment.
    fn selected_target(&self, node: &NodeName) -> PlanTarget {
        let workload = self.document.revision.workload;
        let Some(placement) = self.placement(node) else {
            let effective =
                self.deployment.map_or(Some(workload), |it| it.workload_effective(workload));
            return self.creation_target(node, effective);
        };
        let wanted = self.deployment.and_then(|it| it.workload_wanted(workload, placement));
        let runs = nodes::target(placement).filter(|_| !placement.state.is_leaving());
        let target = match (wanted, runs) {
            // Nothing of it is on the node yet, and the site would not start it.
            (None, Some(_)) if placement.state == State::Pending => self.withheld_target(node),
            (None, Some(_)) => {
                let target = self.planner.target(Some(node), PlanAction::Remove, None);
                let reason = self.why_withheld(node).or_else(|| target.reason.clone());
                PlanTarget { reason, ..target }
            }
            (wanted, None) => self.creation_target(node, wanted),
            (Some(wanted), Some(runs)) if wanted == runs => self.unchanged_target(node, wanted),
            (Some(wanted), Some(_)) => self.change_target(node, wanted, placement),
        };
        PlanTarget { from_version: self.planner.version(placement), ..target }
    }

    fn creation_target(&self, node: &NodeName, wanted: Option<Digest>) -> PlanTarget {
        let workload = self.document.revision.workload;
        if wanted != Some(workload) && self.why_withheld(node).is_some() {
            return self.withheld_target(node);
        }
        match self.why_device_cannot(node) {
            Some(reason) => self.refused_target(node, reason),
            None => self.maybe_waiting_target(node, PlanAction::Create),
        }
    }

    fn unchanged_target(&self, node: &NodeName, wanted: Digest) -> PlanTarget {
        let workload = self.document.revision.workload;
        if wanted == workload {
            return self.planner.target(Some(node), PlanAction::Unchanged, Some(self.document));
        }
        // A file that only changes the policy of a withheld revision may be written.
        let is_policy_change = self.deployment.is_some_and(|it| it.accepted.workload == workload);
        let refused = self.withheld_target(node);
        match is_policy_change {
            true => PlanTarget { action: PlanAction::Unchanged, ..refused },
            false => refused,
        }
    }

    fn change_target(
        &self,
        node: &NodeName,
        wanted: Digest,
        placement: &PlacementView,
    ) -> PlanTarget {
        if wanted != self.document.revision.workload {
            let to_version = self.fallback_version();
            let action = self.planner.change(placement, to_version.as_deref());
            let target = self.planner.target(Some(node), action, None);
            let reason = target.reason.clone().or_else(|| self.why_withheld(node));
            return PlanTarget { to_version, reason, ..target };
        }
        if let Some(reason) = self.why_device_cannot(node) {
            return self.refused_target(node, reason);
        }
        let version = crate::document::version(&self.document.spec);
        self.maybe_waiting_target(node, self.planner.change(placement, Some(&version)))
    }

    fn fallback_version(&self) -> Option<String> {
        let good = self.deployment?.last_converged.as_ref()?;
        self.planner.fleet.versions.get(&good.blob).cloned()
    }

    /// A target that may have to wait for a hold or a window.
    fn maybe_waiting_target(&self, node: &NodeName, action: PlanAction) -> PlanTarget {
        let (planner, now) = (self.planner, self.planner.fleet.now);
        let target = planner.target(Some(node), action, Some(self.document));
        let wait = || {
            let hold = wait::hold(&planner.snapshot.view, self.deployment);
            let start = || wait::start(planner.snapshot, self.deployment, self.document, now);
            hold.or_else(start).map(|it| waits(&it))
        };
        let reason = target.reason.clone().or_else(wait);
        PlanTarget { reason, ..target }
    }

    fn withheld_target(&self, node: &NodeName) -> PlanTarget {
        let reason = self.why_withheld(node).unwrap_or_else(|| "refused by the site".to_owned());
        self.refused_target(node, reason)
    }

    fn refused_target(&self, node: &NodeName, reason: String) -> PlanTarget {
        let target = self.planner.target(Some(node), PlanAction::Refused, Some(self.document));
        PlanTarget { reason: Some(reason), ..target }
    }

    /// Why the site does not run the document's revision on a node.
    fn why_withheld(&self, node: &NodeName) -> Option<String> {
        let (deployment, now) = (self.deployment?, self.planner.fleet.now);
        let (site, name) = (self.planner.site, self.planner.name);
        let workload = self.document.revision.workload;
        let version = crate::document::version(&self.document.spec);
        let release = format!("release it with `colony quarantine release {name} --site {site}`");
        if let Some(it) = deployment.quarantine.get(&workload) {
            let (code, since) = (&it.failure.code, HumanDuration(now.since(it.since)));
            return Some(format!(
                "{version} is quarantined at {site} ({code}, {since} ago); {release}"
            ));
        }
        let rejected = deployment.rejected.get(node).filter(|it| it.workload == workload)?;
        let code = &rejected.failure.code;
        Some(format!("node {node} rejected {version} ({code}); {release}"))
    }

    /// Why a selected node cannot run it.
    fn why_device_cannot(&self, node: &NodeName) -> Option<String> {
        let capabilities = self.planner.snapshot.view.nodes.get(node)?.capabilities.as_ref()?;
        if is_blue_green(self.document) && !is_colony_node(capabilities) {
            return Some(
                "not a node of colony's own: it cannot run two versions at once".to_owned(),
            );
        }
        self.document.spec.spec.profile.accepted_by(capabilities).err()
    }

    /// Targets of nodes that do not fit although the file allows them, and of the
    /// site as a whole if there is no other target. `explained` have a target
    /// already.
    fn misfit_targets(
        &self,
        nodes: &ReportedNodes<'_>,
        choice: &Choice<'_>,
        explained: &BTreeSet<&NodeName>,
    ) -> Vec<PlanTarget> {
        let mut targets = Vec::new();
        if self.document.settings.replicas.is_none() || choice.missing > 0 {
            let others = nodes.candidates().filter(|it| !explained.contains(it.name));
            targets.extend(others.filter_map(|it| self.misfit_target(&it)));
        }
        if choice.keep.is_empty() && choice.add.is_empty() && targets.is_empty() {
            targets.push(self.site_target(nodes));
        }
        targets
    }

    /// The target of one node that does not fit, unless the file itself leaves it
    /// out (`is_choice`).
    fn misfit_target(&self, node: &Candidate<'_>) -> Option<PlanTarget> {
        let unfit = choice::fitness(self.document, node).err().filter(|it| !it.is_choice())?;
        let reason = unfit.text(node.capabilities)?;
        if unfit == Unfit::NoCapabilities {
            let action = PlanAction::Create;
            let target = self.planner.target(Some(node.name), action, Some(self.document));
            return Some(target.deferred(action, reason));
        }
        Some(self.refused_target(node.name, reason))
    }

    /// The target of the site as a whole, if no node can run the deployment.
    fn site_target(&self, nodes: &ReportedNodes<'_>) -> PlanTarget {
        let (named, known) = match &self.document.target {
            Target::Node(node) => (Some(node), nodes.candidate(node).is_some()),
            Target::Any => (None, nodes.candidates().next().is_some()),
        };
        let target = self.planner.target(named, PlanAction::Create, Some(self.document));
        if !known {
            let reason = target.reason.clone().unwrap_or_else(|| match named {
                Some(node) => format!("node {node} has not joined the site yet"),
                None => "no node has joined the site yet".to_owned(),
            });
            return target.deferred(PlanAction::Create, reason);
        }
        let reason = format!("no node fits: {}", self.misfits(nodes, &BTreeSet::new()));
        PlanTarget { action: PlanAction::Refused, later: None, reason: Some(reason), ..target }
    }

    /// A warning where too few nodes fit.
    fn shortage(
        &self,
        nodes: &ReportedNodes<'_>,
        choice: &Choice<'_>,
        selected: &BTreeSet<&NodeName>,
    ) -> Option<String> {
        let found = choice.keep.len() + choice.add.len();
        if choice.missing == 0 || found == 0 {
            return None;
        }
        let wanted = found + choice.missing;
        let misfits = self.misfits(nodes, selected);
        let misfits = if misfits.is_empty() { "no other node".to_owned() } else { misfits };
        let site = self.planner.site;
        Some(format!("{site}: only {found} of {wanted} replicas have a node: {misfits}"))
    }

    /// `b needs label line=press, device has no such label; c would fit but is cordoned`
    fn misfits(&self, nodes: &ReportedNodes<'_>, except: &BTreeSet<&NodeName>) -> String {
        let others = || nodes.candidates().filter(|it| !except.contains(it.name));
        let text = |it: Candidate<'_>| {
            let unfit = choice::fitness(self.document, &it).err()?;
            Some(format!("{} {}", it.name, unfit.text(it.capabilities)?))
        };
        let mut texts: Vec<String> = others().filter_map(text).collect();
        let more = texts.len().saturating_sub(MISFITS_NAMED);
        texts.truncate(MISFITS_NAMED);
        if more > 0 {
            texts.push(format!("and {more} more"));
        }
        texts.join("; ")
    }

    /// Warnings for nodes without the resources to run two versions at the same
    /// time, as blue-green does.
    fn shortage_for_two_versions(&self, targets: &[PlanTarget]) -> Vec<String> {
        let constraints = self.document.spec.spec.profile.constraints.as_ref();
        let Some(constraints) = constraints.filter(|_| is_blue_green(self.document)) else {
            return Vec::new();
        };
        let changed = targets
            .iter()
            .filter(|it| matches!(it.action, PlanAction::Update | PlanAction::Restart));
        let lacks = changed.filter_map(|it| {
            let node = it.node.as_ref()?;
            let device = self.planner.snapshot.view.nodes.get(node)?.capabilities.as_ref()?;
            let lacks = constraints.lacks_for_two(device);
            let lacks: Vec<String> = lacks.iter().map(ToString::to_string).collect();
            let text = format!("{}/{node} runs both versions for a while", it.site);
            (!lacks.is_empty()).then(|| format!("{text}: {}", lacks.join("; ")))
        });
        lacks.collect()
    }
}

pub(super) fn is_blue_green(document: &Document) -> bool {
    matches!(document.settings.strategy, Strategy::BlueGreen(_))
}
