//! The whole fleet at a glance.

use std::collections::BTreeSet;

use colony_api::view::{
    Attention, DeploymentSummary, DeploymentView, Outcome, Role, SitePresence, SiteView, StatusView,
};
use colony_core::id::{NodeName, SiteName};
use colony_core::state::State;
use colony_core::time::{Spoken, Wall};

use super::{deployments, sites};
use crate::app::App;
use crate::auth::Operator;
use crate::clock;
use crate::fault::Fault;
use crate::health;

/// How many files that no site reads are named.
const STRAYS: usize = 10;

/// What `colony status` shows.
pub(crate) async fn status(app: &App, operator: &Operator) -> Result<StatusView, Fault> {
    let sites = sites(app, operator).await?;
    let deployments = deployments(app, operator).await?;
    let reasons = health::reasons(app).await;
    let at = clock::wall();
    let mut attention = attention(&sites, &deployments, at);
    attention.extend(sites.iter().flat_map(|it| of_nodes(app, it)));
    attention.extend(strays(app, operator).await?);
    Ok(StatusView {
        role: Role::Central,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        url: app.url().to_owned(),
        ready: reasons.is_empty(),
        reasons,
        commit: app.repo.head().borrow().clone(),
        at,
        attention,
        deployments: deployments.iter().map(summary).collect(),
        sites,
    })
}

/// Files of deployments that no site reads; who sees some sites only does not see them.
async fn strays(app: &App, operator: &Operator) -> Result<Vec<Attention>, Fault> {
    if !operator.sees_all() {
        return Ok(Vec::new());
    }
    let known: BTreeSet<String> =
        app.brain.read().await?.sites().map(|it| it.0.to_string()).collect();
    let found = app.repo.call("look for strays", move |git| git.strays(&known)).await;
    // The status says elsewhere that Git does not answer.
    let found = found.unwrap_or_default();
    let mut shown: Vec<Attention> = found.iter().take(STRAYS).map(|it| stray(it)).collect();
    if let Some(more) = found.len().checked_sub(STRAYS + 1) {
        let sentence = format!("{} more files that no site reads", more + 1);
        shown.push(Attention { subject: "deployments/".to_owned(), sentence, act: None });
    }
    Ok(shown)
}

fn stray(path: &str) -> Attention {
    let site = path.split('/').nth(1).filter(|_| path.split('/').count() > 2);
    let (sentence, act) = match site {
        Some(site) => {
            let name = site.parse::<SiteName>().ok();
            let act = name.map(|it| format!("colony site add {it}, or move the file"));
            (format!("nothing reads this file: there is no site `{site}`"), act)
        }
        None => ("nothing reads this file: expected deployments/<site>/<name>.yaml".into(), None),
    };
    Attention { subject: path.to_owned(), sentence, act }
}

fn summary(view: &DeploymentView) -> DeploymentSummary {
    let placements = || view.sites.iter().flat_map(|it| &it.placements);
    DeploymentSummary {
        name: view.name.clone(),
        application: view.application.clone(),
        version: view.version.clone(),
        outcome: view.outcome,
        sentence: view.sentence.clone(),
        sites: view.sites.len() as u64,
        installed: placements().filter(|it| it.state == State::Installed).count() as u64,
        placements: placements().count() as u64,
    }
}

/// What does not go on by itself, the gravest first.
fn attention(sites: &[SiteView], deployments: &[DeploymentView], now: Wall) -> Vec<Attention> {
    let mut attention: Vec<Attention> = deployments.iter().filter_map(of_deployment).collect();
    attention.extend(sites.iter().flat_map(|it| of_site(it, now)));
    attention
}

fn of_deployment(view: &DeploymentView) -> Option<Attention> {
    let name = &view.name;
    let site = view.sites.iter().find(|it| !it.quarantine.is_empty());
    let act = match view.outcome {
        Outcome::Failed => Some(format!("colony why {name}")),
        Outcome::RolledBack => {
            site.map(|it| format!("colony quarantine release {name} --site {}", it.site))
        }
        Outcome::Installed | Outcome::InProgress | Outcome::Deferred | Outcome::Deleted => {
            return None;
        }
    };
    Some(Attention { subject: name.to_string(), sentence: view.sentence.clone(), act })
}

/// Nodes that say themselves that they cannot do their job.
fn of_nodes(app: &App, site: &SiteView) -> Vec<Attention> {
    if site.presence != SitePresence::Online {
        return Vec::new();
    }
    let said = |(node, reasons): (NodeName, Vec<String>)| Attention {
        subject: format!("{}/{node}", site.name),
        sentence: format!("not ready: {}", reasons.join("; ")),
        act: None,
    };
    app.reports.unready(&site.name).into_iter().map(said).collect()
}

fn of_site(site: &SiteView, now: Wall) -> Vec<Attention> {
    let name = &site.name;
    let said = |sentence: String, act: Option<String>| Attention {
        subject: name.to_string(),
        sentence,
        act,
    };
    let mut found = Vec::new();
    match (site.presence, site.last_heard) {
        (SitePresence::Offline, Some(heard)) => {
            let ago = Spoken(now.since(heard));
            found.push(said(
                format!("not heard for {ago}"),
                Some(format!("colony why --site {name}")),
            ));
        }
        (SitePresence::Online, _) if !site.ready => {
            found.push(said(format!("not ready: {}", site.reasons.join("; ")), None));
        }
        (SitePresence::Online | SitePresence::Expected | SitePresence::Offline, _) => {}
    }
    for hold in &site.holds {
        let what = serde_json::to_value(hold.what).unwrap_or_default();
        let what = what.as_str().unwrap_or("hold").to_owned();
        let act = format!("colony release --site {name} --what {what}");
        found.push(said(format!("{what} by {}: {}", hold.by, hold.note), Some(act)));
    }
    found.extend(site.findings.iter().take(3).map(|it| said(format!("refuses {it}"), None)));
    found
}
