//! What one poll may cost: the manifest of a node, built from scratch.

use std::io::Write;

use colony_core::margo::Digest;
use colony_core::site::NodeManifest;
use colony_testkit::App;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::Scale;
use crate::clock::repeated;
use crate::fleet::{name, node, with_nodes};
use crate::table::{Table, ratio, time};

pub(crate) fn run(scale: &Scale) -> Table {
    let mut plant = with_nodes(1);
    let home = plant.site.name().clone();
    let app = |it| App::new(&name(it), "1.0.0").file(&home);
    plant.commit((0..scale.manifest).map(app).collect());
    let node = node(0).parse().expect("a name");
    let manifest = plant.site.manifest(&node).expect("the site is ready");
    assert_eq!(manifest.documents.len(), scale.manifest, "all are listed");

    let bare = repeated(scale.samples, || digest_and_compress(&manifest));
    let built = repeated(scale.samples, || plant.site.manifest(&node));

    let title = format!("Manifest of one node with {} deployments", scale.manifest);
    let mut table = Table::new(title, &["what", "time", "ratio to baseline"]);
    table.row([
        "baseline: SHA-256 and gzip of the same bytes".into(),
        time(bare),
        ratio(bare, bare),
    ]);
    table.row(["`Site::manifest`".into(), time(built), ratio(built, bare)]);
    table
}

fn digest_and_compress(manifest: &NodeManifest) -> (Digest, Vec<Digest>, Vec<u8>) {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
    for (_, _, text) in &manifest.documents {
        encoder.write_all(text).expect("memory takes everything");
    }
    let bundle = encoder.finish().expect("memory takes everything");
    let digests = manifest.documents.iter().map(|it| Digest::of(&it.2)).collect();
    (Digest::of(&bundle), digests, bundle)
}
