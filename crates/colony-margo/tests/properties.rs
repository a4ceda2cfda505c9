//! Properties of every parser and writer, over arbitrary and damaged input.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use colony_margo::bundle::{self, Limits};
use colony_margo::{
    ApplicationDeployment, ApplicationDescription, ApplicationId, Capabilities, Cores,
    DeploymentId, DeploymentStatus, DeviceTarget, Digest, Json, ManifestVersion, Problem, Quantity,
    Repository, Revision, StateManifest, Timeout, canonical, yaml,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

const DOCUMENTS: [&[u8]; 4] = [
    include_bytes!("data/pump-monitor.yaml"),
    include_bytes!("data/pump-deployment.yaml"),
    include_bytes!("data/pump-box.json"),
    include_bytes!("data/pump-status.json"),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..300)) {
        parse_as_everything(&bytes);
    }

    #[test]
    fn arbitrary_yaml_like_text_never_panics(text in "([a-z]|[-:?,{}\\[\\]&*!|>'\"%@`#~ \n\t0-9]){0,120}") {
        parse_as_everything(text.as_bytes());
    }

    #[test]
    fn damaged_bundles_never_panic(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = bundle::pack([(&DeploymentId::from_bytes([1; 16]), DOCUMENTS[1])]);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = bundle::unpack(&bytes, &Limits::default());
    }

    #[test]
    fn texts_never_panic_and_read_back(text in "\\PC{0,40}|[0-9a-z.:/*_ -]{0,40}|[0-9]{1,22} ?[KMGTPE]i|[0-9]{1,5}m[0-9]{1,5}s") {
        read_back::<Digest>(&text);
        read_back::<DeploymentId>(&text);
        read_back::<ApplicationId>(&text);
        read_back::<DeviceTarget>(&text);
        read_back::<Revision>(&text);
        read_back::<Repository>(&text);
        read_back::<Timeout>(&text);
        read_back::<Quantity>(&text);
    }

    #[test]
    fn written_yaml_reads_back(value in json()) {
        let text = yaml::emit(&value);
        let node = yaml::parse(text.as_bytes(), &yaml::Limits::default());
        prop_assert_eq!(node.unwrap().to_json(), value, "{}", text);
    }

    #[test]
    fn written_yaml_reads_the_same_elsewhere(value in json()) {
        let text = yaml::emit(&value);
        let options = serde_saphyr::options! { strict_booleans: true };
        let other: Json = serde_saphyr::from_str_with_options(&text, options).unwrap();
        prop_assert_eq!(other, value, "{}", text);
    }

    #[test]
    fn canonical_json_is_json_and_stable(value in json()) {
        let bytes = canonical::to_vec(&value);
        let again: Json = serde_json::from_slice(&bytes).unwrap();
        prop_assert_eq!(canonical::to_vec(&again), bytes);
        prop_assert_eq!(same_numbers(&again), same_numbers(&value));
    }

    #[test]
    fn bundles_read_back(documents in btree_map(any::<[u8; 16]>(), vec(any::<u8>(), 0..200), 0..8)) {
        let documents: BTreeMap<DeploymentId, Vec<u8>> =
            documents.into_iter().map(|(id, it)| (DeploymentId::from_bytes(id), it)).collect();
        let bytes = bundle::pack(documents.iter().map(|(id, it)| (id, it.as_slice())));
        let expected: Vec<(String, Vec<u8>)> =
            documents.into_iter().map(|(id, it)| (format!("{id}.yaml"), it)).collect();
        prop_assert_eq!(bundle::unpack(&bytes, &Limits::default()).unwrap(), expected);
    }

    #[test]
    fn manifests_read_back(number in 1..(1_u64 << 53), documents in btree_map(any::<[u8; 16]>(), vec(any::<u8>(), 0..50), 0..5)) {
        let documents: Vec<(DeploymentId, Vec<u8>)> =
            documents.into_iter().map(|(id, it)| (DeploymentId::from_bytes(id), it)).collect();
        let (manifest, _) = StateManifest::new(ManifestVersion::new(number).unwrap(), &documents);
        prop_assert_eq!(StateManifest::parse(&manifest.to_bytes()).unwrap(), manifest);
    }

    #[test]
    fn cores_are_written_as_numbers(cores in 0.0..1e6_f64) {
        let written = serde_json::to_value(Cores::new(cores)).unwrap();
        prop_assert_eq!(written.as_f64(), Some(cores));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn damaged_documents_never_panic(document in 0..DOCUMENTS.len(), damage in vec(damage(), 1..4)) {
        let mut bytes = DOCUMENTS[document].to_vec();
        for (at, length, insert) in damage {
            let at = at.index(bytes.len() + 1);
            let end = (at + length).min(bytes.len());
            bytes.splice(at..end, insert);
        }
        parse_as_everything(&bytes);
    }
}

fn damage() -> impl Strategy<Value = (prop::sample::Index, usize, Vec<u8>)> {
    let scraps = prop::sample::select(vec![
        &b"["[..],
        b"{",
        b"}",
        b"\n",
        b"- ",
        b": ",
        b"&a ",
        b"*a",
        b"null",
        b"-1",
        b"1e999",
        b"\"",
        b"x",
        b"!!binary ",
        b"\xff",
        b"\0",
        b"\t",
        b"<<",
        b"---\n",
        b"18446744073709551616",
        b"\\ud800",
    ]);
    (any::<prop::sample::Index>(), 0..20_usize, scraps.prop_map(<[u8]>::to_vec))
}

/// Whatever is read must also be writable, and read the same again.
fn parse_as_everything(bytes: &[u8]) {
    if let Ok(parsed) = ApplicationDescription::parse(bytes) {
        let again = ApplicationDescription::parse(parsed.value.to_yaml().as_bytes()).unwrap();
        assert_eq!(again.value, parsed.value);
    }
    if let Ok(parsed) = ApplicationDeployment::parse(bytes) {
        let again = ApplicationDeployment::parse(parsed.value.to_yaml().as_bytes()).unwrap();
        assert_eq!(again.value, parsed.value);
    }
    if let Ok(parsed) = Capabilities::parse(bytes) {
        let written = serde_json::to_vec(&parsed.value).unwrap();
        assert_eq!(Capabilities::parse(&written).unwrap().value, parsed.value);
    }
    if let Ok(parsed) = DeploymentStatus::parse(bytes) {
        let written = serde_json::to_vec(&parsed.value).unwrap();
        assert_eq!(DeploymentStatus::parse(&written).unwrap().value, parsed.value);
    }
    let _ = StateManifest::parse(bytes);
    let _ = serde_json::from_slice::<Problem>(bytes);
    let _ = bundle::unpack(bytes, &Limits::default());
    let _ = yaml::parse(bytes, &yaml::Limits::default()).map(|it| yaml::emit(&it.to_json()));
}

fn read_back<T: std::str::FromStr + ToString + PartialEq + std::fmt::Debug>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        assert_eq!(value.to_string().parse::<T>().ok(), Some(value));
    }
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        any::<f64>().prop_filter("finite", |it| it.is_finite()).prop_map(Json::from),
        text().prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Json::from),
            btree_map(text(), inner, 0..5).prop_map(|it| it.into_iter().collect()),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-z /.:#-]{0,12}",
        "[0-9.eE+_:-]{1,8}",
        "(y|n|yes|no|on|off|true|false|null|~|True|NO)",
    ]
}

/// The value with every number as the double that canonical JSON knows.
fn same_numbers(value: &Json) -> Json {
    match value {
        Json::Number(number) => Json::from(number.as_f64().unwrap() + 0.0),
        Json::Array(items) => items.iter().map(same_numbers).collect(),
        Json::Object(entries) => {
            entries.iter().map(|(key, value)| (key.clone(), same_numbers(value))).collect()
        }
        Json::Null | Json::Bool(_) | Json::String(_) => value.clone(),
    }
}
