//! A site, its projection, and the plan that is made from the projection.

use std::collections::{BTreeMap, BTreeSet};

use colony_core::fleet::Fleet;
use colony_core::id::{BlobId, DeploymentName, NodeName, SiteName};
use colony_core::plan::{
    NextFile, Plan, PlanAction, PlanTarget, Request, SiteSnapshot, Snapshot, plan,
};
use colony_core::site::SiteSettings;
use colony_core::time::Timestamp;
use colony_core::why::AnswerUpdate;
use colony_testkit::{App, Plant, blob, deployment_id, site_answers};

/// The site `home` and what the central orchestrator knows of it.
pub(crate) struct World {
    pub(crate) plant: Plant,
    pub(crate) fleet: Fleet,
    pub(crate) settings: SiteSettings,
    pub(crate) force: bool,
    versions: BTreeMap<BlobId, String>,
    before: Option<String>,
    sent: usize,
}

pub(crate) fn home() -> SiteName {
    "home".parse().expect("a name")
}

pub(crate) fn hello() -> DeploymentName {
    "hello".parse().expect("a name")
}

pub(crate) fn app(version: &str, settings: &str) -> App {
    App::new("hello", version).with(settings)
}

impl World {
    /// A site with these nodes: `a`, or `a:line=press`.
    pub(crate) fn new(nodes: &str) -> World {
        let mut fleet = Fleet::new();
        fleet.site_add(&home());
        fleet.join(&home(), Timestamp(0), false).expect("no other orchestrator");
        let (plant, settings) = (Plant::new(), SiteSettings::default());
        let versions = BTreeMap::new();
        let mut world =
            World { plant, fleet, settings, force: false, versions, before: None, sent: 0 };
        for node in nodes.split_whitespace() {
            let (name, label) = node.split_once(':').unwrap_or((node, ""));
            let label = label.split_once('=').map(|(key, value)| format!(r#""{key}":"{value}""#));
            world.plant.join_with(name, "amd64", &label.unwrap_or_default());
        }
        world.plant.pass(1);
        world.sync();
        world
    }

    /// The same, with `hello` installed.
    pub(crate) fn installed(nodes: &str, settings: &str) -> World {
        let mut world = World::new(nodes);
        world.deploy(&app("1.0.0", settings));
        world.converge();
        world
    }

    pub(crate) fn sync(&mut self) {
        let fresh = &self.plant.events[self.sent..];
        let applied = self.fleet.apply(&home(), fresh, self.plant.now.wall);
        let _ = applied.expect("the log continues");
        self.sent = self.plant.events.len();
        let changed = site_answers(&self.plant.site, self.plant.now);
        let number = self.sent as u64 + 1;
        let answers = AnswerUpdate { session: 1, number, complete: true, changed };
        self.fleet.answers_apply(&home(), &answers).expect("the site is known");
    }

    pub(crate) fn deploy(&mut self, app: &App) {
        let text = app.text(&home());
        self.versions.insert(blob(&text), app.version.clone());
        if app.name == "hello" {
            self.before = Some(text);
        }
        self.plant.deploy(app);
        self.sync();
    }

    pub(crate) fn converge(&mut self) {
        self.plant.converge();
        self.plant.pass(1);
        self.plant.converge();
        self.sync();
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let view = self.fleet.site(&home()).expect("home exists").clone();
        let site =
            SiteSnapshot { view, settings: self.settings.clone(), before: self.before.clone() };
        Snapshot {
            sites: BTreeMap::from([(home(), site)]),
            versions: self.versions.clone(),
            now: self.plant.now.wall,
        }
    }

    pub(crate) fn plan_text(&self, text: Option<String>) -> Plan {
        let file = NextFile { site: home(), text, carried: BTreeSet::new() };
        plan(&Request { name: hello(), files: vec![file], force: self.force }, &self.snapshot())
    }

    pub(crate) fn plan(&self, app: &App) -> Plan {
        self.plan_text(Some(app.text(&home())))
    }

    /// The plan says this, and then it happens.
    #[track_caller]
    pub(crate) fn check(&mut self, app: &App, expected: &str) -> Plan {
        let plan = self.plan(app);
        assert_eq!(texts(&plan.targets), expected);
        self.apply(app, &plan);
        plan
    }

    /// Applies a plan and compares it with what the site does.
    #[track_caller]
    pub(crate) fn apply(&mut self, app: &App, plan: &Plan) {
        let before = self.attempts();
        self.deploy(app);
        self.follows(plan);
        self.converge();
        let after = self.attempts();
        for target in plan.targets.iter().filter(|it| it.action == PlanAction::Unchanged) {
            let node = target.node.as_ref().expect("a node");
            assert_eq!(before.get(node), after.get(node), "{node} was to stay as it is");
        }
    }

    /// The site's choice is that of the plan.
    #[track_caller]
    fn follows(&self, plan: &Plan) {
        let deployment = self.plant.site.deployment(&deployment_id("hello")).expect("it is there");
        let removed: BTreeSet<&NodeName> = named(plan, is_removal);
        let runs: BTreeSet<&NodeName> =
            named(plan, |it| !is_removal(it) && it.action != PlanAction::Refused);
        let listed: BTreeSet<&NodeName> = named(plan, |it| !is_removal(it));
        let chosen: BTreeSet<&NodeName> = deployment.nodes().iter().collect();
        let waiting = |it: &&&NodeName| {
            let node = self.plant.site.site_node(it).expect("a node");
            node.capabilities().is_some()
        };
        let runs: BTreeSet<&NodeName> = runs.iter().filter(waiting).copied().collect();
        assert!(runs.is_subset(&chosen), "{plan:#?}\nchosen {chosen:?}");
        assert!(chosen.is_subset(&listed), "{plan:#?}\nchosen {chosen:?}");
        assert!(removed.is_disjoint(&chosen), "{plan:#?}\nchosen {chosen:?}");
        let leaving = self.plant.site.placements().filter(|it| !chosen.contains(&it.id.node));
        for it in leaving {
            let own = it.id.deployment == deployment_id("hello");
            assert!(!own || removed.contains(&it.id.node) || it.since < self.plant.now.wall);
        }
    }

    fn attempts(&self) -> BTreeMap<NodeName, u32> {
        let own =
            self.plant.site.placements().filter(|it| it.id.deployment == deployment_id("hello"));
        own.map(|it| (it.id.node.clone(), it.attempt_number())).collect()
    }
}

fn named(plan: &Plan, is: impl Fn(&PlanTarget) -> bool) -> BTreeSet<&NodeName> {
    plan.targets.iter().filter(|it| is(it)).filter_map(|it| it.node.as_ref()).collect()
}

fn is_removal(target: &PlanTarget) -> bool {
    target.end() == PlanAction::Remove
}

/// `a create 1, b refused 1 (would fit but is cordoned)`
pub(crate) fn texts(targets: &[PlanTarget]) -> String {
    let text = |it: &PlanTarget| {
        let node = it.node.as_ref().map_or("*".to_owned(), ToString::to_string);
        let later = it.later.map(|it| format!(" {}", it.name())).unwrap_or_default();
        let version = |it: &Option<String>| it.as_deref().unwrap_or("-").replace(".0.0", "");
        let (from, to) = (version(&it.from_version), version(&it.to_version));
        let reason = it.reason.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
        format!("{node} {}{later} {from}>{to}{reason}", it.action.name())
    };
    targets.iter().map(text).collect::<Vec<_>>().join(", ")
}
