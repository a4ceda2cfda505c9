//! `colony deploy`

use std::collections::BTreeMap;

use clap::Args;
use serde_json::Value;

use colony_api::request::DeployRequest;

use super::setting::SettingArgs;
use crate::cli::reference::{NodeRef, Patience, Setting};

/// Deploy an application, or change where and how it runs
///
/// A deployment is known by its name: the first `deploy` creates it, the next
/// ones change what they mention and leave the rest. The change is one commit
/// in the deployments repository; sites pick it up from there.
///
/// Without `--version` the version is the newest release in the catalog, also
/// where an older one runs; a pre-release only if there is no release. If
/// `--set`, `--profile`, `--node` or a setting is given, each site keeps the
/// version it has; a new site gets the one that the other sites of the command
/// have in common, else the newest release.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, disable_version_flag = true)]
pub(crate) struct Deploy {
    /// The application's id; `colony app list` shows them
    pub(crate) application: String,
    /// A version of the catalog [default: the newest release; with `--set`,
    /// `--profile`, `--node` or a setting, the version that a site has]
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
    /// A parameter of the application, checked against its schema; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<Setting>,
    /// A deployment profile [default: the one that fits the most nodes]
    #[arg(long)]
    pub(crate) profile: Option<String>,
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
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
}

const EXAMPLES: &str = "\
Examples:
  colony deploy hello --watch                          the newest release, to the only site
  colony deploy hello --version 1.1 --site home,plant-b --watch
  colony deploy hello --set greeting='Hi there' --dry-run
  colony deploy camera --node plant-b/b2 --name camera-b2
  colony deploy camera --selector line=3 --max-unavailable 25% --on-failure stop
  colony deploy camera --strategy canary --canary 20% --steps 50% --soak 5m --promote manual
  colony deploy camera --clear selector,strategy       back to every node, one at a time

Exit codes:
  0 installed, or nothing to change    1 failed    2 the plan has changes (--dry-run)
  3 rolled back                        4 done except on nodes that are offline
  5 still going on (--timeout)         6 superseded by a later change
  64 the command line cannot be understood";

impl Deploy {
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.application)
    }

    pub(crate) fn request(&self) -> DeployRequest {
        let text = |it: &Setting| (it.key.clone(), Value::String(it.value.clone()));
        let sites = self.node.iter().map(|it| it.site.clone());
        DeployRequest {
            application: self.application.clone(),
            version: self.version.clone(),
            name: self.name.clone(),
            sites: self.site.iter().cloned().chain(sites).collect(),
            node: self.node.as_ref().map(NodeRef::to_string),
            parameters: self.set.iter().map(text).collect::<BTreeMap<_, _>>(),
            profile: self.profile.clone(),
            settings: self.settings.change(),
            dry_run: self.dry_run,
            plan_hash: None,
        }
    }
}
