//! The seed of a small site, as the central orchestrator knows it.

use std::collections::BTreeMap;

use colony_core::attempt::Revisions;
use colony_core::id::PlacementId;
use colony_core::site::{Content, Rollout, Seed, SeedDeployment, SeedNode, SeedPlacement};

use crate::make::{App, blob, deployment_id};

/// A seed for the site `home`: on node `a` the app was in `state`, at its
/// fourth attempt.
pub fn seed(app: &App, state: &str) -> Seed {
    let name = "a".parse().expect("a name");
    Seed {
        nodes: vec![SeedNode { name, cordoned: false, capabilities: None, since: None }],
        deployments: vec![deployment(app)],
        placements: vec![placement(app, state)],
        ..Seed::default()
    }
}

fn deployment(app: &App) -> SeedDeployment {
    let text = app.text(&"home".parse().expect("a name"));
    let Content::Deployment(document) = app.file(&"home".parse().expect("a name")).content else {
        panic!("not a deployment: {text}");
    };
    SeedDeployment {
        id: deployment_id(&app.name),
        name: document.name.clone(),
        accepted: document.revision.clone(),
        last_converged: None,
        withdrawn: false,
        quarantine: vec![],
        rejected: BTreeMap::new(),
        stopped: None,
        rollout: Rollout::default(),
        rolled_back: None,
        since: None,
        commit: None,
        texts: vec![(blob(&text), text)],
    }
}

fn placement(app: &App, state: &str) -> SeedPlacement {
    let node = "a".parse().expect("a name");
    SeedPlacement {
        id: PlacementId { deployment: deployment_id(&app.name), node },
        state: state.parse().expect("a state"),
        attempt: 4,
        revisions: Revisions { target: Some(deployment(app).accepted), last_good: None },
        failure: None,
        staged: false,
        since: None,
    }
}
