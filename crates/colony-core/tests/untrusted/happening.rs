//! Everything that can happen to a site, sensible or not.

use colony_core::attempt::{Failure, Revision, Revisions};
use colony_core::code::Code;
use colony_core::event::HoldScope;
use colony_core::id::{DeploymentId, NodeName, PlacementId};
use colony_core::site::{Action, Seed, SeedDeployment, SeedNode, SeedPlacement};
use colony_core::state::State;
use colony_margo::status::{ColonyStatus, Overall, State as Reported, StatusError};
use colony_margo::{DeploymentStatus, Digest, ManifestVersion};
use colony_testkit::{App, blob, deployment_id};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

const NODES: &[&str] = &["a", "b", "c", "stranger"];
const APPS: &[&str] = &["hello", "world", "third", "fourth"];

#[derive(Debug, Clone)]
pub(crate) enum Happening {
    Commit {
        files: Vec<Written>,
        base: Base,
        rewritten: bool,
    },
    Join(NodeName),
    Capable {
        node: NodeName,
        architecture: &'static str,
    },
    Heard {
        node: NodeName,
        have: Option<Claim>,
    },
    Status {
        node: NodeName,
        adopted: Number,
        status: Box<DeploymentStatus>,
    },
    Command {
        number: Option<u64>,
        expired: bool,
        action: Action,
    },
    Pass {
        mono: u64,
        wall: u64,
        entropy: u64,
    },
    Fence {
        by: u32,
    },
    Crash,
    /// A new orchestrator takes the site over with this, and then reads Git.
    TakeOver {
        seed: Box<Seed>,
        files: Vec<Written>,
    },
}

/// A file of a commit.
#[derive(Debug, Clone)]
pub(crate) enum Written {
    App(App),
    /// The id of one deployment under the name of another.
    Clash {
        name: &'static str,
        id: &'static str,
    },
    Broken {
        name: &'static str,
    },
    Gone {
        name: &'static str,
    },
    Site(&'static str),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Base {
    Right,
    Other,
    Everything,
}

/// A manifest that a node claims to hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    pub(crate) version: Number,
    /// `true` for the right one.
    pub(crate) etag: Option<bool>,
}

/// A number, as it is or relative to the node's manifest version.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Number {
    Current,
    Older,
    Newer,
    Exactly(u64),
}

pub(crate) fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        5 => commit(),
        2 => node().prop_map(Happening::Join),
        3 => capable(),
        3 => (node(), option::of(claim())).prop_map(|(node, have)| Happening::Heard { node, have }),
        10 => status(),
        5 => command(),
        4 => pass(),
        1 => Just(Happening::Crash),
        1 => prop_oneof![
            8 => take_over(),
            1 => (0..3u32).prop_map(|by| Happening::Fence { by }),
        ],
    ]
}

fn commit() -> impl Strategy<Value = Happening> {
    let base =
        prop_oneof![8 => Just(Base::Right), 1 => Just(Base::Other), 1 => Just(Base::Everything)];
    let rewritten = prop::bool::weighted(0.05);
    (vec(written(), 0..4), base, rewritten).prop_map(|(files, base, rewritten)| Happening::Commit {
        files,
        base,
        rewritten,
    })
}

fn written() -> impl Strategy<Value = Written> {
    let app = || select(APPS);
    prop_oneof![
        8 => self::app().prop_map(Written::App),
        1 => (app(), app()).prop_map(|(name, id)| Written::Clash { name, id }),
        1 => app().prop_map(|name| Written::Broken { name }),
        1 => app().prop_map(|name| Written::Gone { name }),
        1 => select(&[
            "labels: {}\n",
            "maintenanceWindows:\n  - {from: '22:00', to: '04:00', utcOffset: '+14:00'}\n",
            "maintenanceWindows:\n  - {days: [], from: '22:00', to: '22:00', utcOffset: '-14:00'}\n",
            "maintenanceWindows: 7\n",
        ]).prop_map(Written::Site),
    ]
}

fn app() -> impl Strategy<Value = App> {
    let settings = select(&[
        "",
        "onFailure: stop\nretry: {installs: 1}",
        "onFailure: rollback-node\nretry: {installs: 1}",
        "retry: {installs: 1}\nsoak: 0s",
        "replicas: 1",
        "selector: {zone: north}",
        "strategy: {type: all-at-once}\nprogressDeadline: 0s",
        "strategy: {type: rolling, maxUnavailable: 50%}",
    ]);
    let versions = select(&["1.0.0", "2.0.0", "3.0.0"]);
    let arm = "capacityRequirements:\n  cpu: {cores: 1, architectures: [arm64]}";
    (select(APPS), versions, settings, select(vec!["", "", arm]), select(&["*", "*", "*", "b"]))
        .prop_map(|(name, version, settings, constraints, target)| {
            App::new(name, version).with(settings).needing(constraints).on(target)
        })
}

fn capable() -> impl Strategy<Value = Happening> {
    (node(), select(&["amd64", "arm64"]))
        .prop_map(|(node, architecture)| Happening::Capable { node, architecture })
}

fn claim() -> impl Strategy<Value = Claim> {
    (number(), option::of(any::<bool>())).prop_map(|(version, etag)| Claim { version, etag })
}

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        8 => Just(Number::Current),
        2 => Just(Number::Older),
        1 => Just(Number::Newer),
        1 => select(&[0, 1, 1 << 32, (1 << 53) - 2, (1 << 53) - 1, 1 << 53, u64::MAX - 1, u64::MAX])
            .prop_map(Number::Exactly),
    ]
}

fn status() -> impl Strategy<Value = Happening> {
    let id = prop_oneof![
        9 => deployment().prop_map(|it| it.to_string()),
        1 => ".{0,12}",
    ];
    let state = select(&[
        Reported::Installed,
        Reported::Installed,
        Reported::Installing,
        Reported::Pending,
        Reported::Failed,
        Reported::Removing,
        Reported::Removed,
    ]);
    let report = option::of(prop_oneof![3 => 0..200u64, 1 => Just(u64::MAX)]);
    let log = option::of(vec(".{0,9}", 0..3));
    let settling = option::of(prop_oneof![3 => 0..9_000u64, 1 => Just(u64::MAX)]);
    (node(), id, number(), state, option::of(error()), report, log, settling).prop_map(
        |(node, id, adopted, state, error, report, log, settling)| {
            let status = DeploymentStatus {
                deployment_id: id,
                device_id: None,
                adopted_manifest_version: ManifestVersion::FIRST,
                status: Overall { state, error },
                components: vec![],
                colony: Some(ColonyStatus { report, log, running: None, settling }),
            };
            Happening::Status { node, adopted, status: Box::new(status) }
        },
    )
}

fn error() -> impl Strategy<Value = StatusError> {
    let code = prop_oneof![
        3 => select(&["unhealthy", "image-missing", "disk-full", "removal-failed", ""])
            .prop_map(str::to_owned),
        1 => ".{0,9}",
    ];
    let text = || ".{0,9}";
    (code, text(), text()).prop_map(|(code, source, message)| StatusError { code, source, message })
}

fn command() -> impl Strategy<Value = Happening> {
    let number = option::of(prop_oneof![5 => 0..50u64, 1 => Just(u64::MAX)]);
    (number, prop::bool::weighted(0.1), action())
        .prop_map(|(number, expired, action)| Happening::Command { number, expired, action })
}

fn action() -> impl Strategy<Value = Action> {
    let note = ".{0,5}";
    prop_oneof![
        (scope(), note).prop_map(|(scope, note)| Action::Hold { scope, note }),
        scope().prop_map(|scope| Action::ReleaseHold { scope }),
        Just(Action::ReleaseRemoval),
        (1..5u64).prop_map(|it| Action::AcceptHistory { commit: colony_testkit::commit_id(it) }),
        deployment().prop_map(|deployment| Action::ReleaseQuarantine { deployment }),
        (deployment(), option::of(node()))
            .prop_map(|(deployment, node)| Action::Retry { deployment, node }),
        deployment().prop_map(|deployment| Action::Rollback { deployment }),
        (deployment(), option::of(node()))
            .prop_map(|(deployment, node)| Action::Force { deployment, node }),
        node().prop_map(|node| Action::Cordon { node }),
        node().prop_map(|node| Action::Uncordon { node }),
        node().prop_map(|node| Action::Retire { node }),
    ]
}

fn scope() -> impl Strategy<Value = HoldScope> {
    prop_oneof![Just(HoldScope::Site), deployment().prop_map(HoldScope::Deployment)]
}

/// Time only goes forward; the wall clock says what it likes.
fn pass() -> impl Strategy<Value = Happening> {
    let mono = prop_oneof![
        6 => 0..20_000u64,
        2 => 0..2_000_000u64,
        1 => Just(1 << 62),
    ];
    let wall = prop_oneof![
        4 => 1_794_225_600_000..1_795_225_600_000u64,
        1 => select(&[0, 1, u64::MAX - 1, u64::MAX]),
    ];
    (mono, wall, any::<u64>()).prop_map(|(mono, wall, entropy)| Happening::Pass {
        mono,
        wall,
        entropy,
    })
}

fn take_over() -> impl Strategy<Value = Happening> {
    (seed(), vec(written(), 0..5))
        .prop_map(|(seed, files)| Happening::TakeOver { seed: Box::new(seed), files })
}

fn seed() -> impl Strategy<Value = Seed> {
    let nodes = vec((node(), any::<bool>()), 0..4).prop_map(|it| {
        it.into_iter().map(|(name, cordoned)| SeedNode {
            name,
            cordoned,
            capabilities: None,
            since: None,
        })
    });
    let placements = btree_map((deployment(), node()), seed_placement(), 0..6);
    let holds = vec(scope(), 0..2);
    (nodes, vec(seed_deployment(), 0..4), placements, holds, any::<u8>()).prop_map(
        |(nodes, deployments, placements, holds, done)| {
            let hold = |it| (it, serde_json::from_value(hold_json()).expect("a hold"));
            let placements = placements
                .into_iter()
                .map(|((deployment, node), it)| SeedPlacement {
                    id: PlacementId { deployment, node },
                    ..it
                })
                .collect();
            Seed {
                nodes: nodes.collect(),
                deployments,
                placements,
                holds: holds.into_iter().map(hold).collect(),
                commands_done: u64::from(done),
            }
        },
    )
}

fn hold_json() -> serde_json::Value {
    serde_json::json!({"by": "ana", "note": "", "since": 0})
}

fn seed_deployment() -> impl Strategy<Value = SeedDeployment> {
    (app(), any::<bool>(), any::<bool>(), prop::bool::weighted(0.1)).prop_map(
        |(app, has_good, withdrawn, broken)| {
            let text = app.text(&"home".parse().expect("a name"));
            let text = if broken { "id: 7\n".to_owned() } else { text };
            let wanted = Revision { blob: blob(&text), workload: Digest::of(text.as_bytes()) };
            SeedDeployment {
                id: deployment_id(&app.name),
                name: app.name.parse().expect("a name"),
                last_converged: has_good.then(|| wanted.clone()),
                texts: vec![(wanted.blob.clone(), text)],
                accepted: wanted,
                withdrawn,
                quarantine: vec![],
                rejected: Default::default(),
                stopped: None,
                rollout: Default::default(),
                rolled_back: None,
                since: None,
                commit: None,
            }
        },
    )
}

/// The maker of the seed sets its id.
fn seed_placement() -> impl Strategy<Value = SeedPlacement> {
    let states: Vec<State> = State::all().collect();
    let attempt = prop_oneof![5 => 0..4u32, 1 => Just(u32::MAX)];
    let revision = || {
        option::of(app()).prop_map(|it| {
            let text = it?.text(&"home".parse().expect("a name"));
            Some(Revision { blob: blob(&text), workload: Digest::of(text.as_bytes()) })
        })
    };
    (select(states), attempt, revision(), revision(), any::<bool>(), any::<bool>()).prop_map(
        |(state, attempt, target, last_good, failed, staged)| SeedPlacement {
            id: PlacementId {
                deployment: deployment_id("hello"),
                node: "a".parse().expect("a name"),
            },
            state,
            attempt,
            revisions: Revisions { target, last_good },
            failure: failed.then(|| Failure::new(Code::EngineError, "")),
            staged,
            since: None,
        },
    )
}

fn node() -> impl Strategy<Value = NodeName> {
    select(NODES).prop_map(|it| it.parse().expect("a name"))
}

fn deployment() -> impl Strategy<Value = DeploymentId> {
    select(APPS).prop_map(deployment_id)
}
