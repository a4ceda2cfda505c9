//! Everything that can go wrong, and everybody who interferes.

use colony_core::event::HoldScope;
use colony_core::id::{DeploymentId, SiteName};
use colony_core::site::{Action, Command, Input};
use colony_testkit::{App, deployment_id};

use crate::network::Happening;
use crate::world::World;

/// The applications of the simulated world.
pub(crate) const APPS: [&str; 5] = ["pump", "press", "oven", "robot", "scale"];

const STRATEGIES: [&str; 6] = [
    "",
    "strategy: {type: all-at-once}",
    "strategy: {type: rolling, maxUnavailable: 2}",
    "strategy: {type: rolling, maxUnavailable: 34%}",
    "replicas: 2",
    "strategy: {type: rolling, maxUnavailable: 1}\nprogressDeadline: 3m\nsoak: 20s",
];

const POLICIES: [&str; 4] =
    ["", "onFailure: stop", "onFailure: rollback-node", "retry: {installs: 2, updates: 2}"];

const ARM_OR_AMD: &str = "capacityRequirements: {cpu: {cores: 1, architectures: [amd64, arm64]}}";

impl World {
    /// One thing happens, and the next one is planned.
    pub(crate) fn chaos(&mut self) {
        if self.calm {
            return;
        }
        self.faults += 1;
        match self.rng.range(0..100) {
            0..30 => self.edit(),
            30..36 => self.edit_badly(),
            36..58 => self.disturb_line(),
            58..72 => self.disturb_engine(),
            72..84 => self.kill_somebody(),
            84..98 => self.operate(),
            _ => self.disaster(),
        }
        let next = self.rng.range(1_000..45_000);
        self.after(next, Happening::Chaos);
    }

    fn any_site(&mut self) -> usize {
        usize::try_from(self.rng.range(0..self.sites.len() as u64)).unwrap_or(0)
    }

    fn any_node(&mut self) -> usize {
        usize::try_from(self.rng.range(0..self.nodes.len() as u64)).unwrap_or(0)
    }

    fn any_app(&mut self, site: usize) -> (String, DeploymentId) {
        let app = self.rng.pick(&APPS).copied().unwrap_or("pump");
        let name = app_name(&self.sites[site].name, app);
        let id = deployment_id(&name);
        (name, id)
    }

    fn for_a_while(&mut self) -> u64 {
        let longest = if self.rng.chance(10) { 1_500_000 } else { 120_000 };
        self.now + self.rng.range(2_000..longest)
    }

    /// Somebody deploys, updates or removes applications.
    fn edit(&mut self) {
        let site = self.any_site();
        if self.rng.chance(50) {
            let (path, text) = self.edit_one(site);
            self.note(|_| format!("operator deploys {path}"));
            return self.central_deploy(site, &path, text);
        }
        let mut changes = Vec::new();
        for _ in 0..self.rng.range(1..3) {
            changes.push(self.edit_one(site));
        }
        self.note(|_| format!("Git: {}", changed(&changes)));
        self.git.commit(changes);
    }

    fn edit_one(&mut self, site: usize) -> (String, Option<String>) {
        let (name, _) = self.any_app(site);
        let site = self.sites[site].name.clone();
        let path = format!("deployments/{site}/{name}.yaml");
        if self.rng.chance(12) {
            return (path, None);
        }
        // Four of ten versions are bad in their own way.
        let version = format!("1.0.{}", self.rng.range(0..10));
        let strategy = self.rng.pick(&STRATEGIES).copied().unwrap_or("");
        let policy = self.rng.pick(&POLICIES).copied().unwrap_or("");
        let settings = [strategy, policy].join("\n");
        let mut app = App::new(&name, &version).with(settings.trim());
        if self.rng.chance(30) {
            app = app.needing(ARM_OR_AMD);
        }
        (path, Some(app.text(&site)))
    }

    /// Somebody breaks a file, empties the site or rewrites history.
    fn edit_badly(&mut self) {
        let site = self.any_site();
        let name = self.sites[site].name.clone();
        let (app, _) = self.any_app(site);
        let path = format!("deployments/{name}/{app}.yaml");
        match self.rng.range(0..6) {
            0 => self.git.commit(vec![(path, Some("id: [oops\n".to_owned()))]),
            1 => self.git.commit(vec![(path, Some("id: 7\nspec: {}\n".to_owned()))]),
            2 => {
                let copy = format!("deployments/{name}/copy.yaml");
                let text = App::new(&app, "1.0.2").text(&name);
                self.git.commit(vec![(copy, Some(text))]);
            }
            3 => {
                let all = self.git.paths().into_iter().filter(|it| crate::git::is_of(&name, it));
                let all = all.map(|it| (it, None)).collect();
                self.git.commit(all);
            }
            4 => {
                let change = self.edit_one(site);
                self.git.rewrite(vec![change]);
            }
            _ => {
                let path = format!("sites/{name}.yaml");
                let text = "maintenanceWindows: [{from: '12:05', to: '12:20'}]\n";
                let open = self.git.blob_at_head(&path).is_some();
                self.git.commit(vec![(path, (!open).then(|| text.to_owned()))]);
            }
        }
        self.note(|_| format!("Git: somebody interferes with {name}"));
    }

    fn disturb_line(&mut self) {
        let until = self.for_a_while();
        let (site, node) = (self.any_site(), self.any_node());
        let what = match self.rng.range(0..4) {
            0 => {
                self.sites[site].wan_until = until;
                format!("{} loses CO", self.sites[site].name)
            }
            1 => {
                self.sites[site].git_until = until;
                format!("{} loses Git", self.sites[site].name)
            }
            2 => {
                self.sites[site].cut_until = until;
                format!("{} loses all its nodes", self.sites[site].name)
            }
            _ => {
                self.nodes[node].cut_until = until;
                format!("{} is cut off", self.nodes[node].name)
            }
        };
        self.note(|w| format!("{what} for {} s", (until - w.now) / 1_000));
    }

    fn disturb_engine(&mut self) {
        let until = self.for_a_while();
        let (site, node) = (self.any_site(), self.any_node());
        let index = self.rng.next();
        let edge = &mut self.nodes[node];
        let what = match self.rng.range(0..5) {
            0 => {
                edge.engine.down_until = until;
                format!("engine of {} is down", edge.name)
            }
            1 => {
                edge.engine.disk_full_until = until;
                format!("disk of {} is full", edge.name)
            }
            2 => {
                edge.engine.stubborn_until = until;
                format!("engine of {} removes nothing", edge.name)
            }
            3 => {
                edge.engine.kill(index);
                format!("a container of {} is killed", edge.name)
            }
            _ => {
                self.sites[site].registry_until = until;
                format!("registry of {} is down", self.sites[site].name)
            }
        };
        self.note(|w| format!("{what} for {} s", (until - w.now) / 1_000));
    }

    fn kill_somebody(&mut self) {
        let (site, node) = (self.any_site(), self.any_node());
        match self.rng.range(0..10) {
            0..2 => self.central_crash("by a power cut"),
            2..5 if self.sites[site].process.up => self.local_crash(site, "by a power cut"),
            5..9 if self.nodes[node].process.up => self.edge_crash(node, "by a power cut"),
            _ => self.jump_clock(site, node),
        }
    }

    fn jump_clock(&mut self, site: usize, node: usize) {
        let hours = i64::try_from(self.rng.range(0..20)).unwrap_or(0) - 10;
        let skew = hours * 3_600_000;
        if self.rng.chance(50) {
            self.sites[site].process.skew = skew;
        } else {
            self.nodes[node].process.skew = skew;
        }
        self.note(|_| format!("a clock jumps by {hours} h"));
    }

    /// Operators, through CO or at the site.
    fn operate(&mut self) {
        let (site, node) = (self.any_site(), self.any_node());
        let (_, deployment) = self.any_app(site);
        let name = self.nodes[node].name.clone();
        let note = "audit".to_owned();
        let node = self.rng.chance(50).then(|| name.clone());
        let action = match self.rng.range(0..13) {
            0 => Action::Hold { scope: HoldScope::Site, note },
            1 => Action::Hold { scope: HoldScope::Deployment(deployment), note },
            2..4 => Action::ReleaseHold { scope: HoldScope::Site },
            4 => Action::ReleaseHold { scope: HoldScope::Deployment(deployment) },
            5..7 => Action::ReleaseQuarantine { deployment },
            7 => Action::Retry { deployment, node },
            8 => Action::Rollback { deployment },
            9 => Action::Force { deployment, node },
            10 => Action::Cordon { node: name },
            11 => Action::Uncordon { node: name },
            _ => Action::ReleaseRemoval,
        };
        self.note(|w| format!("operator at {}: {action:?}", w.sites[site].name));
        if self.rng.chance(50) {
            self.central_command(site, action);
        } else if self.sites[site].process.up {
            self.local_command(site, action);
        }
    }

    pub(crate) fn local_command(&mut self, site: usize, action: Action) {
        let command = Command { number: None, by: "ana".to_owned(), expires: None, action };
        self.local_step(site, Input::Command(command));
    }

    /// A device is set up anew, or a site's LO is lost with its disk.
    fn disaster(&mut self) {
        let (site, node) = (self.any_site(), self.any_node());
        let owner = self.nodes[node].site;
        if self.rng.chance(40) {
            return self.replace_local(site);
        }
        if !self.sites[owner].process.up || self.now < self.sites[owner].cut_until {
            return;
        }
        self.note(|w| format!("{} is set up anew", w.nodes[node].name));
        self.nodes[node].process.die();
        self.nodes[node].wipe();
        self.checker.forget_node(node);
        let name = self.nodes[node].name.clone();
        self.local_step(owner, Input::Joined(name));
        self.after(5_000, Happening::EdgeUp { node });
    }
}

/// Deployment names are fleet-wide, so each site has its own.
pub(crate) fn app_name(site: &SiteName, app: &str) -> String {
    format!("{app}-{site}")
}

fn changed(changes: &[(String, Option<String>)]) -> String {
    let one = |(path, text): &(String, Option<String>)| {
        let version = text.as_ref().and_then(|it| it.split("revision: ").nth(1));
        let version = version.and_then(|it| it.lines().next()).unwrap_or("gone");
        format!("{path} {version}")
    };
    changes.iter().map(one).collect::<Vec<_>>().join(", ")
}
