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
