//! The official examples, which are not part of this repository: read and
//! written again when they are found.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::path::PathBuf;

use colony_margo::manifest::ManifestError;
use colony_margo::{
    ApplicationDeployment, ApplicationDescription, Capabilities, DeploymentStatus, Json,
    StateManifest,
};

#[test]
fn official_examples_are_read_and_written_again() {
    let Some(folder) = folder() else {
        println!("official examples not found, nothing checked (set MARGO_EXAMPLES)");
        return;
    };
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let bytes = std::fs::read(&path).unwrap();
        check(&name, &bytes);
        checked += 1;
    }
    assert!(checked >= 10, "only {checked} examples");
}

#[track_caller]
fn check(name: &str, bytes: &[u8]) {
    match name.split('-').next().unwrap() {
        "ApplicationDescription" => {
            let first = ApplicationDescription::parse(bytes).unwrap();
            assert_eq!(first.warnings, [], "{name}");
            let again = ApplicationDescription::parse(first.value.to_yaml().as_bytes()).unwrap();
            assert_eq!(first, again, "{name}");
        }
        "ApplicationDeployment" => {
            let first = ApplicationDeployment::parse(bytes).unwrap();
            assert_eq!(first.warnings, [], "{name}");
            let again = ApplicationDeployment::parse(first.value.to_yaml().as_bytes()).unwrap();
            assert_eq!(first, again, "{name}");
        }
        "DeviceCapabilities" => {
            let first = Capabilities::parse(bytes).unwrap();
            assert_eq!(serde_json::to_value(&first.value).unwrap(), json(bytes), "{name}");
        }
        "DeploymentStatus" => assert!(DeploymentStatus::parse(bytes).is_ok(), "{name}"),
        "StateManifest" => check_manifest(name, bytes),
        _ => panic!("no reader for {name}"),
    }
}

fn check_manifest(name: &str, bytes: &[u8]) {
    let parsed = StateManifest::parse(bytes);
    if !name.contains("truncated") {
        assert!(parsed.is_ok(), "{name}: {parsed:?}");
        return;
    }
    let Err(ManifestError::Digest { at, source }) = parsed else { panic!("{parsed:?}") };
    assert_eq!(at, "bundle");
    assert!(source.to_string().contains("character `.`"), "{source}");
}

fn folder() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/margo/examples/pr3");
    let folder = std::env::var_os("MARGO_EXAMPLES").map_or(PathBuf::from(beside), PathBuf::from);
    folder.is_dir().then_some(folder)
}

fn json(bytes: &[u8]) -> Json {
    serde_json::from_slice(bytes).unwrap()
}
