//! Manifests and bundles: made, read, and refused.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::error::Error;

use colony_margo::bundle::{self, Limits};
use colony_margo::manifest::{ManifestVersion, VersionError};
use colony_margo::{DeploymentId, Digest, StateManifest};
use flate2::Compression;
use flate2::write::GzEncoder;

const ID: &str = "6f1c2a34-0d5e-4b7a-9c11-2f8e7d6a5b40";
const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#[test]
fn manifest_of_documents_reads_back() {
    let documents = [document(2, "b"), document(1, "a")];
    let (manifest, bundle) = StateManifest::new(version(7), &documents);
    let bytes = manifest.to_bytes();

    assert_eq!(StateManifest::parse(&bytes).unwrap(), manifest);
    assert_eq!(manifest.etag(), Digest::of(&bytes));
    let reference = manifest.bundle.as_ref().unwrap();
    assert_eq!(reference.digest, Digest::of(bundle.as_ref().unwrap()));
    assert_eq!(reference.url, format!("/api/v1/bundles/{}", reference.digest));
    let ids: Vec<&DeploymentId> = manifest.deployments.iter().map(|it| &it.deployment_id).collect();
    assert_eq!(ids, [&documents[1].0, &documents[0].0]);
}

#[test]
fn empty_manifest_has_a_null_bundle() {
    let (manifest, bundle) = StateManifest::new(ManifestVersion::FIRST, &[]);
    let text = String::from_utf8(manifest.to_bytes()).unwrap();
    assert_eq!(text, r#"{"bundle":null,"deployments":[],"manifestVersion":1}"#);
    assert_eq!(bundle, None);
    assert_eq!(StateManifest::parse(text.as_bytes()).unwrap(), manifest);
}

#[test]
fn versions_stay_where_json_is_exact() {
    assert_eq!(ManifestVersion::new(0), Err(VersionError::Zero));
    assert_eq!(ManifestVersion::new(1 << 53), Err(VersionError::TooLarge(1 << 53)));
    assert_eq!(version((1 << 53) - 1).next(), Err(VersionError::TooLarge(1 << 53)));
    assert_eq!(version(1).next(), Ok(version(2)));
}

#[test]
fn manifests_are_refused_with_the_reason() {
    let bundle = format!(
        r#"{{"mediaType":"application/vnd.margo.bundle.v1+tar+gzip","digest":"{DIGEST}","url":"/b"}}"#
    );
    let entry = format!(r#"{{"deploymentId":"{ID}","digest":"{DIGEST}","url":"/d","later":1}}"#);
    let manifest = |bundle: &str, deployments: &str| {
        format!(
            r#"{{"manifestVersion":3,"bundle":{bundle},"deployments":[{deployments}],"_client_cert":"x"}}"#
        )
    };
    let good = manifest(&bundle, &entry);
    check(&good, "");
    check(&(good.clone() + "\n"), "");
    check(
        &good.replace("sha256:", "sha512:"),
        "bundle has an invalid digest: digest algorithm `sha512` is unknown; expected `sha256`",
    );
    check(
        &manifest(&bundle, &entry.replace("sha256", "md5")),
        "deployments[0] has an invalid digest: digest algorithm `md5` is unknown; expected `sha256`",
    );
    check(&manifest("null", &entry), "manifest has deployments but no bundle");
    check(&manifest(&bundle, ""), "manifest has a bundle but no deployments");
    check(
        &manifest(&bundle.replace("v1+", "v2+"), &entry),
        "bundle has the media type `application/vnd.margo.bundle.v2+tar+gzip`; expected `application/vnd.margo.bundle.v1+tar+gzip`",
    );
    check(
        &manifest(&bundle, &format!("{entry},{entry}")),
        "manifest lists deployment `6f1c2a34-0d5e-4b7a-9c11-2f8e7d6a5b40` twice",
    );
    check(
        &good.replace(ID, "pump"),
        "deployments[0] has an invalid deployment id: deployment id `pump` has the character `p`; expected a UUID such as `6f1c2a34-0d5e-4b7a-9c11-2f8e7d6a5b40`",
    );
    check(
        &good.replace(":3,", ":0,"),
        "manifest has an invalid version: manifest version is 0; the first one is 1",
    );
    check(
        &good.replace(":3,", ":18446744073709551615,"),
        "manifest has an invalid version: manifest version 18446744073709551615 is not below 2^53, where JSON numbers are exact",
    );
    check(
        &good.replace(":3,", ":-1,"),
        "manifest is not JSON of the right form: invalid value: integer `-1`, expected u64 at line 1 column 21",
    );
    check(
        r#"{"manifestVersion":3,"deployments":[]}"#,
        "manifest is not JSON of the right form: missing field `bundle` at line 1 column 38",
    );
    check(
        &good.replace("\"_client_cert\"", "\"bundle\""),
        "manifest is not JSON of the right form: duplicate field `bundle` at line 1 column 365",
    );
    check(&" ".repeat(5 << 20), "manifest has 5242880 bytes; at most 4194304 are read");
}

#[test]
fn same_deployments_give_the_same_bundle() {
    let (one, two) = (document(1, "a: 1\n"), document(2, "b: 2\n"));
    let pack = |documents: &[&(DeploymentId, Vec<u8>)]| {
        bundle::pack(documents.iter().map(|it| (&it.0, it.1.as_slice())))
    };
    let bytes = pack(&[&one, &two]);
    assert_eq!(bytes, pack(&[&two, &one]));
    insta::assert_snapshot!(Digest::of(&bytes), @"sha256:326ed1e488448152ff45d62dc3cc40b3eec94236de8716b7b5fd328599cf6348");
    let files = bundle::unpack(&bytes, &Limits::default()).unwrap();
    let names: Vec<String> = files.iter().map(|it| it.0.clone()).collect();
    assert_eq!(names, [format!("{}.yaml", one.0), format!("{}.yaml", two.0)]);
    assert_eq!((&files[0].1, &files[1].1), (&one.1, &two.1));
}

#[test]
fn unsafe_bundles_are_refused() {
    use tar::EntryType::{Directory, Link, Regular, Symlink};
    unpack(&[("a.yaml", Regular, 1)], "a.yaml");
    unpack(&[("./a.yaml", Regular, 1)], "a.yaml");
    unpack(&[("a.yaml", Symlink, 0)], "bundle entry `a.yaml` is not a plain file");
    unpack(&[("a.yaml", Link, 0)], "bundle entry `a.yaml` is not a plain file");
    unpack(&[("dir/", Directory, 0)], "bundle entry `dir/` is not a plain file");
    unpack(&[("/a.yaml", Regular, 1)], "bundle entry `/a.yaml` is not a file name at the root");
    unpack(&[("../a.yaml", Regular, 1)], "bundle entry `../a.yaml` is not a file name at the root");
    unpack(&[("d/a.yaml", Regular, 1)], "bundle entry `d/a.yaml` is not a file name at the root");
    unpack(&[("..", Regular, 1)], "bundle entry `..` is not a file name at the root");
    unpack(&[("a", Regular, 1), ("a", Regular, 1)], "bundle has the file `a` twice");
    unpack(
        &[("a", Regular, 1), ("b", Regular, 1), ("c", Regular, 1)],
        "bundle has more than 2 files",
    );
    unpack(&[("a", Regular, 60), ("b", Regular, 60)], "bundle unpacks to more than 100 bytes");
    unpack(&[("a", Regular, 10_000_000)], "bundle unpacks to more than 100 bytes");
}

#[test]
fn bundles_that_are_too_large_or_broken_are_refused() {
    let told = |bytes: &[u8], limit| {
        let limits = Limits { compressed: limit, ..Limits::default() };
        bundle::unpack(bytes, &limits).unwrap_err().to_string()
    };
    assert_eq!(told(&[0; 11], 10), "bundle has 11 bytes; at most 10 are read");
    assert_eq!(told(b"not a gzip", 10), "could not read the bundle");
    let good = bundle::pack([(&document(1, "").0, b"a: 1".as_slice())]);
    assert_eq!(told(&good[..good.len() / 2], 1000), "could not read the bundle");
}

/// Unpacks an archive with small limits; the names in it or why not.
#[track_caller]
fn unpack(entries: &[(&str, tar::EntryType, usize)], expected: &str) {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, kind, size) in entries {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(*size as u64);
        header.set_cksum();
        archive.append(&header, vec![b'x'; *size].as_slice()).unwrap();
    }
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    std::io::Write::write_all(&mut gzip, &archive.into_inner().unwrap()).unwrap();

    let limits = Limits { compressed: 1 << 20, uncompressed: 100, entries: 2 };
    let found = match bundle::unpack(&gzip.finish().unwrap(), &limits) {
        Ok(files) => files.into_iter().map(|it| it.0).collect::<Vec<_>>().join(" "),
        Err(error) => error.to_string(),
    };
    assert_eq!(found, expected);
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let found = match StateManifest::parse(text.as_bytes()) {
        Ok(_) => String::new(),
        Err(error) => match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    };
    assert_eq!(found, expected);
}

fn document(number: u8, text: &str) -> (DeploymentId, Vec<u8>) {
    (DeploymentId::from_bytes([number; 16]), text.as_bytes().to_vec())
}

fn version(number: u64) -> ManifestVersion {
    ManifestVersion::new(number).unwrap()
}
