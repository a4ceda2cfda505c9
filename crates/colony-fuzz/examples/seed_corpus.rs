//! Writes the part of the corpus that machines write: logs, rows, seeds,
//! manifests, certificates. Run again when their form has changed:
//! `cargo run -p colony-fuzz --example seed_corpus`.

use std::collections::BTreeMap;
use std::path::Path;

use colony_core::document::Side;
use colony_core::fleet::Fleet;
use colony_core::margo::{Digest, ManifestVersion, StateManifest};
use colony_core::node::{self, Node, Policy};
use colony_core::site::{Content, RowKey};
use colony_core::time::{Monotonic, Now};
use colony_testkit::{App, Plant, blob, capabilities, deployment_id};
#[cfg(feature = "adapters")]
use colony_wfm::{Authority, PrivateKey, SpiffeId};
use serde::Serialize;

fn main() {
    let plant = story();
    let fleet = seen_from_above(&plant);
    write("core_site_rows", "story", &json(&site_rows(&plant)));
    write("core_site_rows", "empty", &json(&site_rows(&Plant::new())));
    let first = &plant.events[..12.min(plant.events.len())];
    write("core_events", "story", &json(&first));
    let kinds = one_of_each(&plant);
    write("core_events", "kinds", &json(&kinds));
    write("core_fleet_rows", "story", &json(&fleet.1));
    let text = app("1.1.0").text(plant.site.name());
    let seeded = fleet.0.seed(plant.site.name(), |it| (*it == blob(&text)).then(|| text.clone()));
    write("core_seed", "story", &json(&seeded.expect("the site").seed));
    write("core_node_rows", "story", &json(&node_rows()));
    #[cfg(feature = "adapters")]
    identities();
}

fn app(version: &str) -> App {
    App::new("hello", version)
        .with("strategy: {type: rolling, maxUnavailable: 1}\nonFailure: rollback-site")
}

/// Installed, updated, failed, rolled back; a hold and a node that is gone.
fn story() -> Plant {
    let mut plant = Plant::new();
    plant.join("a");
    plant.join("b");
    plant.deploy(&app("1.0.0"));
    plant.converge();
    plant.deploy(&app("1.1.0"));
    plant.report("a", "hello", "failed:colony.unhealthy");
    plant.pass(2);
    plant.silence("b");
    plant.pass(20);
    plant
}

fn site_rows(plant: &Plant) -> Vec<colony_core::site::Row> {
    let site = &plant.site;
    let keys = std::iter::once(RowKey::Meta)
        .chain(site.deployments().map(|it| RowKey::Deployment(it.id.clone())))
        .chain(site.placements().map(|it| RowKey::Placement(it.id.clone())))
        .chain(site.site_nodes().map(|it| RowKey::SiteNode(it.name.clone())));
    keys.filter_map(|it| site.row(&it)).collect()
}

/// The first event of each kind.
fn one_of_each(plant: &Plant) -> Vec<&colony_core::event::Event> {
    let mut seen = BTreeMap::new();
    for event in &plant.events {
        let kind = format!("{:?}", event.body).split([' ', '(']).next().map(str::to_owned);
        seen.entry(kind).or_insert(event);
    }
    seen.into_values().collect()
}

fn seen_from_above(plant: &Plant) -> (Fleet, Vec<colony_core::fleet::Row>) {
    let (mut fleet, site) = (Fleet::new(), plant.site.name());
    fleet.site_add(site);
    fleet.join(site, plant.now.wall, false).expect("no orchestrator joined before");
    let mut changed = vec![fleet.take_changed()];
    let applied = fleet.apply(site, &plant.events, plant.now.wall).expect("its log");
    changed.push(applied.changed);
    let keys: std::collections::BTreeSet<_> =
        changed.iter().flat_map(|it| it.keys().cloned()).collect();
    let rows = keys.iter().filter_map(|it| fleet.row(it)).collect();
    (fleet, rows)
}

/// A node that has taken a manifest of one document.
fn node_rows() -> Vec<node::Row> {
    let site = "home".parse().expect("a name");
    let Content::Deployment(document) = app("1.0.0").file(&site).content else { return Vec::new() };
    let wire = document.wire(&"a".parse().expect("a name"), 1, Side::Active);
    write("core_plan", "wire.yaml", &wire);
    let id = deployment_id("hello");
    let version = ManifestVersion::new(1).expect("a version");
    let (manifest, _) = StateManifest::new(version, &[(id.clone(), wire.clone())]);
    let bytes = manifest.to_bytes();
    write("margo_manifest", "one.json", &bytes);
    write("core_manifest", "one.json", &bytes);
    let (none, _) = StateManifest::new(version, &[]);
    write("core_manifest", "none.json", &none.to_bytes());
    let mut node = Node::restore("a".parse().expect("a device"), Policy::default(), []);
    let documents = BTreeMap::from([(Digest::of(&wire), wire)]);
    let now = Now { mono: Monotonic(5_000), ..Now::default() };
    let _ = node.step(node::Input::Capabilities(Box::new(capabilities("a", "amd64", ""))), now);
    let _ = node.step(node::Input::Manifest { bytes, etag: None, documents }, now);
    let _ = node.step(node::Input::Observed { taken: now.mono, containers: Vec::new() }, now);
    [node::Key::Meta, node::Key::Deployment(id)].iter().filter_map(|it| node.row(it)).collect()
}

/// Keys are thrown away; certificates and requests are public.
#[cfg(feature = "adapters")]
fn identities() {
    const NOW: i64 = 1_800_000_000;
    let authority = Authority::create("site-a.1f", NOW).expect("an authority");
    let csr = PrivateKey::generate().expect("a key").csr().expect("a request");
    let id = SpiffeId::wfm_client("site-a.1f", "a", "n-1").expect("an id");
    let lifetime = std::time::Duration::from_secs(3600);
    let chain = authority.sign(&csr, &id, &[], NOW, lifetime).expect("a certificate");
    write("wfm_request", "request.pem", csr.as_bytes());
    write("wfm_certificate", "chain.pem", chain.as_bytes());
}

fn json<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("JSON")
}

fn write(target: &str, name: &str, bytes: &[u8]) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    std::fs::create_dir_all(&dir).expect("a folder");
    std::fs::write(dir.join(name), bytes).expect("a file");
}
