//! The API is what the committed document says.

#[test]
fn the_committed_document_describes_this_api() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let actual = colony_central::openapi();
    if std::env::var_os("COLONY_BLESS").is_some() {
        std::fs::write(path, &actual).expect("docs/openapi.json is writable");
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == actual,
        "docs/openapi.json differs from the API; write it again with: \
         COLONY_BLESS=1 cargo nextest run -p colony-central the_committed_document"
    );
}

#[test]
fn every_operation_has_a_name_of_its_own() {
    let document: serde_json::Value =
        serde_json::from_str(&colony_central::openapi()).expect("JSON");
    let paths = document["paths"].as_object().expect("paths");
    let operations = paths.values().filter_map(|it| it.as_object()).flat_map(|it| it.values());
    let mut names: Vec<&str> = operations.filter_map(|it| it["operationId"].as_str()).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert!(all > 40 && names.len() == all, "{names:?}");
}
