//! `colony deploy`

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use serde_json::Value;

use colony_api::request::{self, DeployRequest};

use super::reference::{NodeRef, Patience, Setting, unavailable};

/// Deploy an application, or change where and how it runs
///
/// A deployment is known by its name: the first `deploy` creates it, the next
/// ones change what they mention and leave the rest. The change is one commit
/// in the deployments repository; sites pick it up from there.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, disable_version_flag = true)]
pub(crate) struct Deploy {
    /// The application's id; `colony app list` shows them
    pub(crate) application: String,
    /// A version of the catalog [default: the newest, or the one that runs]
    #[arg(long)]
    pub(crate) version: Option<String>,
    /// The deployment's name [default: the application's id]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Sites by comma [default: where it already is, or the only site]
    #[arg(long, value_delimiter = ',', value_name = "SITE,…")]
    pub(crate) site: Vec<String>,
    /// Only this node of its site
    #[arg(long, value_name = "SITE/NODE", conflicts_with_all = ["site", "selector", "replicas"])]
    pub(crate) node: Option<NodeRef>,
    /// Only nodes with these labels
    #[arg(long, value_delimiter = ',', value_name = "KEY=VALUE,…")]
    pub(crate) selector: Vec<Setting>,
    /// On so many nodes of each site [default: every node that matches]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) replicas: Option<u32>,
    /// A parameter of the application, checked against its schema; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<Setting>,
    /// A deployment profile [default: the one that fits the most nodes]
    #[arg(long)]
    pub(crate) profile: Option<String>,
    /// In which order the nodes of a site change [default: rolling]
    #[arg(long, value_enum)]
    pub(crate) strategy: Option<Strategy>,
    /// How many nodes of a site may be down at once: 1, 25% [default: 1]
    #[arg(long, value_name = "N|N%", value_parser = unavailable)]
    pub(crate) max_unavailable: Option<String>,
    /// Of a canary, who goes first: 1, 20%, line=press [default: 1]
    #[arg(long, value_name = "N|N%|KEY=VALUE,…")]
    pub(crate) canary: Option<String>,
    /// Of a canary or blue-green, how long a step must stay well: 5m [default: 1m]
    #[arg(long, value_name = "DURATION")]
    pub(crate) soak: Option<String>,
    /// Of a canary or blue-green, what opens the next step [default: auto]
    #[arg(long, value_enum)]
    pub(crate) promote: Option<Promote>,
    /// What a failed version does [default: rollback-site]
    #[arg(long, value_enum)]
    pub(crate) on_failure: Option<OnFailure>,
    /// Stay and show what happens until it is done
    #[arg(short, long, conflicts_with = "dry_run")]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) patience: Patience,
    /// Show the plan and the change in Git; write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

const EXAMPLES: &str = "\
Examples:
  colony deploy hello --watch                          the newest version, to the only site
  colony deploy hello --version 1.1 --site home,plant-b --watch
  colony deploy hello --set greeting='Hi there' --dry-run
  colony deploy camera --node plant-b/b2 --name camera-b2
  colony deploy camera --selector line=3 --max-unavailable 25% --on-failure stop
  colony deploy camera --strategy canary --canary 20% --soak 5m --promote manual

Exit codes:
  0 installed, or nothing to change    1 failed    2 the plan has changes (--dry-run)
  3 rolled back                        4 done except on nodes that are offline
  5 still going on (--timeout)         64 the command line cannot be understood";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Strategy {
    /// A few nodes at a time; the first failure stops the rest
    Rolling,
    AllAtOnce,
    /// A few nodes first, then the rest
    Canary,
    /// Beside the old version everywhere, then in its place
    BlueGreen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Promote {
    Auto,
    /// `colony deployment promote` does
    Manual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnFailure {
    /// Leave everything as it is and wait for an operator
    Stop,
    /// Nodes that failed go back
    RollbackNode,
    /// The whole site goes back, and refuses the version until it is released
    RollbackSite,
}

impl Deploy {
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.application)
    }

    pub(crate) fn request(&self) -> DeployRequest {
        let text = |it: &Setting| (it.key.clone(), Value::String(it.value.clone()));
        let label = |it: &Setting| (it.key.clone(), it.value.clone());
        let sites = self.node.iter().map(|it| it.site.clone());
        DeployRequest {
            application: self.application.clone(),
            version: self.version.clone(),
            name: self.name.clone(),
            sites: self.site.iter().cloned().chain(sites).collect(),
            node: self.node.as_ref().map(NodeRef::to_string),
            selector: self.selector.iter().map(label).collect::<BTreeMap<_, _>>(),
            parameters: self.set.iter().map(text).collect::<BTreeMap<_, _>>(),
            profile: self.profile.clone(),
            strategy: self.strategy(),
            on_failure: self.on_failure.map(OnFailure::into),
            replicas: self.replicas,
            dry_run: self.dry_run,
            plan_hash: None,
        }
    }

    /// A limit alone means a rolling change, and a subset alone a canary.
    fn strategy(&self) -> Option<request::Strategy> {
        let kind = match self.strategy {
            None if self.canary.is_some() => request::StrategyKind::Canary,
            None if self.max_unavailable.is_none() => return None,
            None | Some(Strategy::Rolling) => request::StrategyKind::Rolling,
            Some(Strategy::AllAtOnce) => request::StrategyKind::AllAtOnce,
            Some(Strategy::Canary) => request::StrategyKind::Canary,
            Some(Strategy::BlueGreen) => request::StrategyKind::BlueGreen,
        };
        Some(request::Strategy {
            kind,
            max_unavailable: self.max_unavailable.clone(),
            canary: self.canary.clone(),
            soak: self.soak.clone(),
            promote: self.promote.map(Promote::into),
        })
    }
}

impl From<Promote> for request::Promote {
    fn from(promote: Promote) -> request::Promote {
        match promote {
            Promote::Auto => request::Promote::Auto,
            Promote::Manual => request::Promote::Manual,
        }
    }
}

impl From<OnFailure> for request::OnFailure {
    fn from(on_failure: OnFailure) -> request::OnFailure {
        match on_failure {
            OnFailure::Stop => request::OnFailure::Stop,
            OnFailure::RollbackNode => request::OnFailure::RollbackNode,
            OnFailure::RollbackSite => request::OnFailure::RollbackSite,
        }
    }
}
