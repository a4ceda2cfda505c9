//! What differs between the file a site has and the next one.

use std::collections::{BTreeMap, BTreeSet};

use colony_margo::{ApplicationDeployment, Json};

use super::{NextFile, Plan, PlanAction, PlanPull, SiteSnapshot, ValueChange};
use crate::document::{EXTENSION, FileFacts};
use crate::fleet::SiteView;
use crate::id::{BlobId, DeploymentName, SiteName};

type Values = BTreeMap<String, Json>;

/// Adds what changes in the file of one site, and what its nodes have to pull.
pub(super) fn add_to(plan: &mut Plan, file: &NextFile, site: &SiteSnapshot) {
    let before = site.before.as_deref().and_then(parsed);
    let Some(after) = file.text.as_deref().and_then(parsed) else { return };
    let mut parameters = changes(&file.site, values(before.as_ref()), values(Some(&after)));
    if before.is_none() {
        parameters.retain(|it| file.carried.contains(&it.name));
    }
    plan.parameters.extend(parameters);
    if let Some(before) = &before {
        plan.settings.extend(changes(&file.site, settings(before), settings(&after)));
    }
    pulls(plan, &file.site, before.as_ref(), &after);
}

fn parsed(text: &str) -> Option<ApplicationDeployment> {
    ApplicationDeployment::parse(text.as_bytes()).ok().map(|it| it.value)
}

/// All parameter values of a deployment, defaults too.
pub fn values(deployment: Option<&ApplicationDeployment>) -> Values {
    let parameters = deployment.into_iter().flat_map(|it| &it.spec.parameters);
    parameters.filter_map(|(name, it)| Some((name.clone(), it.value.clone()?))).collect()
}

/// colony's own settings, and the nodes the file names.
fn settings(deployment: &ApplicationDeployment) -> Values {
    let own = deployment.spec.extensions.get(EXTENSION).into_iter().flatten();
    let mut settings: Values = own.map(|(key, value)| (key.clone(), value.clone())).collect();
    settings.insert("node".to_owned(), Json::from(deployment.metadata.device_id.to_string()));
    settings
}

fn changes(site: &SiteName, before: Values, after: Values) -> Vec<ValueChange> {
    let change = |(name, from, to)| ValueChange { site: site.clone(), name, from, to };
    differing(before, after).into_iter().map(change).collect()
}

/// A name, and the value before and after.
type Difference = (String, Option<Json>, Option<Json>);

fn differing(mut before: Values, mut after: Values) -> Vec<Difference> {
    let names: BTreeSet<String> = before.keys().chain(after.keys()).cloned().collect();
    let pairs = names.into_iter().map(|it| {
        let (from, to) = (before.remove(&it), after.remove(&it));
        (it, from, to)
    });
    pairs.filter(|it| it.1 != it.2).collect()
}

/// What differs between two files of a deployment, as clauses:
/// `version 1.0 → 1.1`, `parameter greeting "A" → "B"`, `replicas 3 → 1`.
/// Empty where one of them is missing or cannot be read.
pub fn difference(before: Option<&str>, after: Option<&str>) -> Vec<String> {
    let (before, after) = (before.and_then(parsed), after.and_then(parsed));
    let (Some(before), Some(after)) = (before, after) else { return Vec::new() };
    let (from, to) = (FileFacts::of(&before), FileFacts::of(&after));
    let mut clauses = Vec::new();
    let mut differs = |what: &str, from: &str, to: &str| {
        if from != to {
            clauses.push(format!("{what} {from} → {to}"));
        }
    };
    differs("application", &from.application, &to.application);
    differs("version", &from.version, &to.version);
    differs("profile", &before.spec.profile.kind, &after.spec.profile.kind);
    if clauses.is_empty() && packages(&before) != packages(&after) {
        clauses.push("packages".to_owned());
    }
    let parameters = differing(values(Some(&before)), values(Some(&after)));
    let settings = differing(settings(&before), settings(&after));
    clauses.extend(parameters.iter().map(|it| format!("parameter {}", clause(it))));
    clauses.extend(settings.iter().map(clause));
    clauses
}

/// `greeting "A" → "B"`, with long values cut.
fn clause((name, from, to): &Difference) -> String {
    const LONG: usize = 40;
    let value = |it: &Option<Json>| {
        let text = it.as_ref().map_or("unset".to_owned(), ToString::to_string);
        match text.char_indices().nth(LONG) {
            Some((at, _)) => format!("{}…", &text[..at]),
            None => text,
        }
    };
    format!("{name} {} → {}", value(from), value(to))
}

/// A node that has the application pulls only the packages that are new.
fn pulls(
    plan: &mut Plan,
    site: &SiteName,
    before: Option<&ApplicationDeployment>,
    after: &ApplicationDeployment,
) {
    let had = before.map(packages).unwrap_or_default();
    for package in packages(after) {
        let pulls = |action| match action {
            PlanAction::Create => true,
            PlanAction::Update | PlanAction::Restart => !had.contains(&package),
            PlanAction::Remove
            | PlanAction::Unchanged
            | PlanAction::Deferred
            | PlanAction::Refused => false,
        };
        let own = plan.targets.iter().filter(|it| it.site == *site && pulls(it.action));
        let own = own.filter_map(|it| Some(format!("{site}/{}", it.node.as_ref()?)));
        let targets: Vec<String> = own.collect();
        match plan.pulls.iter_mut().find(|it| it.package == package) {
            Some(known) => known.targets.extend(targets),
            None if targets.is_empty() => {}
            None => plan.pulls.push(PlanPull { package, targets }),
        }
    }
}

fn packages(deployment: &ApplicationDeployment) -> BTreeSet<String> {
    let components = deployment.spec.profile.components.iter();
    let package = |it: &colony_margo::Component| {
        format!("{}:{}", it.properties.repository, it.properties.revision)
    };
    components.map(package).collect()
}

/// The blobs whose versions a plan of the deployment names at a site.
pub fn versions_named<'a>(
    view: &'a SiteView,
    name: &'a DeploymentName,
) -> impl Iterator<Item = &'a BlobId> {
    view.deployments_named(name).flat_map(|it| {
        let placed = view.placements_of(&it.id).flat_map(|it| it.revisions.iter());
        placed.chain(&it.last_converged).map(|it| &it.blob)
    })
}

/// A placeholder for a blob whose id is not known yet.
pub fn no_blob() -> BlobId {
    let zeros = "0".repeat(40);
    zeros.parse().unwrap_or_else(|_| unreachable!("forty digits are a blob id"))
}
