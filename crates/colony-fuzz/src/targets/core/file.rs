//! Files of the deployments repository.

use colony_core::document::{Document, Side, Target, workload};
use colony_core::id::{NodeName, SiteName};
use colony_core::margo::yaml::{self, Limits, Node, Value};
use colony_core::margo::{ApplicationDeployment, Digest};
use colony_core::node::Plan;
use colony_core::site::{Content, File, SiteSettings};
use colony_core::time::Timestamp;

use crate::{Outcome, hold};

const WEEK: u64 = 7 * 24 * 60 * 60 * 1000;

pub(super) fn document(input: &[u8]) -> Outcome {
    let site: SiteName = "home".parse().expect("a name");
    let blob = Digest::of(input).hex().parse().expect("64 hex digits");
    let file = File::read(&site, "deployments/home/app.yaml", &blob, input);
    match file.content {
        Content::Deployment(document) => {
            hold::findings(input, &document.warnings);
            taken(&document, input);
            Outcome::document(&serde_json::to_value(&document.spec).expect("JSON"))
        }
        Content::Refused(found) => {
            assert!(found.iter().all(|it| it.file.is_some()), "a finding without its file");
            let bare: Vec<_> = found
                .iter()
                .cloned()
                .map(|it| colony_core::margo::Finding { file: None, ..it })
                .collect();
            hold::refusal(input, &bare);
            Outcome::found(&found)
        }
        Content::Site(_) | Content::Purge(_) | Content::Gone => {
            panic!("a deployment was read as something else")
        }
    }
}

fn taken(document: &Document, input: &[u8]) {
    assert_eq!(document.text.as_bytes(), input, "the text is not the file");
    let (name, revision) = (&document.name, &document.revision);
    let again = document.spec.to_yaml();
    let again = ApplicationDeployment::parse(again.as_bytes()).expect("our YAML is read").value;
    assert_eq!(workload(&again), revision.workload, "{name}: written again, the workload differs");
    let node: NodeName = match &document.target {
        Target::Any => "n1".parse().expect("a name"),
        Target::Node(node) => node.clone(),
    };
    let wire = document.wire(&node, 7, Side::Active);
    let device = node.as_str().parse().expect("a node is a device");
    match Plan::read(document.id(), &device, &wire) {
        Ok(plan) => {
            assert_eq!(plan.attempt, Some(7));
            assert_eq!(workload(&plan.document), revision.workload, "the wire is another workload");
        }
        Err(failure) => {
            let many = document.spec.spec.profile.components.len() > 64;
            assert!(many, "the node refuses what the site took: {failure:?}");
        }
    }
}

pub(super) fn settings(input: &[u8]) -> Outcome {
    let settings = match SiteSettings::parse(input) {
        Ok(settings) => settings,
        Err(found) => {
            hold::refusal(input, &found);
            return Outcome::found(&found);
        }
    };
    for now in [0, 1, 1_794_225_600_000, u64::MAX] {
        opens(&settings, now);
    }
    times(&yaml::parse(input, &Limits::default()).expect("it was read"));
    Outcome::taken(
        format!("{settings:?}").chars().filter(|it| !it.is_ascii_lowercase()).collect::<String>(),
    )
}

/// A window that opens does so later, within a week, and is then open.
fn opens(settings: &SiteSettings, now: u64) {
    let Some(at) = settings.opens(Timestamp(now)) else { return };
    assert!(at.0 >= now || now > u64::MAX - WEEK, "opens at {at:?}, before {now}");
    assert!(at.0.saturating_sub(now) <= WEEK, "opens at {at:?}, a week after {now}");
    if now < u64::MAX - 2 * WEEK {
        assert_eq!(settings.opens(at), None, "not open when it opens");
    }
}

/// Times that were taken look like times.
fn times(root: &Node) {
    let windows = root.get("maintenanceWindows").map(|it| &it.value);
    let Some(Value::Seq(windows)) = windows else { return };
    for window in windows {
        for key in ["from", "to"] {
            let Some(Value::Scalar { text, .. }) = window.get(key).map(|it| &it.value) else {
                continue;
            };
            let plain = text.bytes().all(|it| it.is_ascii_digit() || it == b':');
            assert!(plain && text.len() == 5, "`{text}` was taken as a time");
        }
        if let Some(Value::Scalar { text, .. }) = window.get("utcOffset").map(|it| &it.value) {
            let plain = text.bytes().skip(1).all(|it| it.is_ascii_digit() || it == b':');
            assert!(plain && text.len() == 6, "`{text}` was taken as an offset");
        }
    }
}
