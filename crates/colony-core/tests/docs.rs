//! The documents name exactly what the code knows, and their examples are valid.

use colony_core::document::{Document, OnFailure, Settings, Strategy, Unavailable};
use colony_core::site::{SiteSettings, Window};
use colony_core::time::Spoken;
use colony_core::why::Cause;
use colony_testkit::blob;

#[test]
fn settings_of_a_deployment_are_documented() {
    let mut keys = Vec::new();
    for key in Settings::KEYS {
        keys.push((*key).to_owned());
        let below = match *key {
            "strategy" => Settings::STRATEGY_KEYS,
            "retry" => Settings::RETRY_KEYS,
            _ => &[],
        };
        keys.extend(below.iter().map(|it| format!("{key}.{it}")));
    }
    check_keys("deployment-settings.md", "## A deployment", &keys);
}

#[test]
fn settings_of_a_site_are_documented() {
    let own = SiteSettings::KEYS.iter().map(|it| (*it).to_owned());
    let windows = Window::KEYS.iter().map(|it| format!("maintenanceWindows.{it}"));
    let keys: Vec<String> = own.chain(windows).collect();
    check_keys("deployment-settings.md", "## A site", &keys);
}

#[test]
fn defaults_of_a_deployment_are_documented() {
    // Without `..`, so that a setting that is added has to be documented.
    let Settings {
        strategy,
        on_failure,
        selector,
        replicas,
        install_tries,
        update_tries,
        progress_deadline,
        soak,
        follow,
    } = Settings::default();
    let once = Strategy::Rolling { max_unavailable: Unavailable::Count(1) };
    assert_eq!((strategy, on_failure), (once, OnFailure::RollbackSite));
    assert_eq!((selector.len(), replicas, follow), (0, None, None));
    check_default("strategy", "rolling, one node at a time");
    check_default("strategy.maxUnavailable", "`1`");
    check_default("strategy.canary", "`1`");
    check_default("strategy.steps", "`[]`");
    check_default("strategy.soak", "`1m`");
    check_default("strategy.promote", "`auto`");
    check_default("onFailure", "`rollback-site`");
    check_default("selector", "`{}`");
    check_default("replicas", "every node that fits");
    check_default("retry.installs", &format!("`{install_tries}`"));
    check_default("retry.updates", &format!("`{update_tries}`"));
    check_default("follow", "absent");
    assert_eq!((Spoken(progress_deadline).to_string(), soak.as_secs()), ("10 min".to_owned(), 60));
    check_default("progressDeadline", "`10m`");
    check_default("soak", "`1m`");
}

#[test]
fn examples_of_settings_are_valid() {
    let text = document("deployment-settings.md");
    let examples: Vec<&str> =
        text.split("```yaml\n").skip(1).filter_map(|it| it.split("```").next()).collect();
    let [deployment, site] = examples.as_slice() else { panic!("two examples: {examples:?}") };
    let (at, name) = ("plant-a".parse().expect("a name"), "pump".parse().expect("a name"));

    let read = Document::parse(&at, &name, &blob(deployment), deployment.as_bytes());

    assert_eq!(read.map(|it| it.warnings), Ok(Vec::new()));
    let settings = SiteSettings::parse(site.as_bytes()).expect("valid settings");
    assert_eq!(settings.windows.len(), 2);
}

#[test]
fn causes_of_why_are_documented() {
    let names: Vec<String> = Cause::ALL_NAMES.iter().map(|it| (*it).to_owned()).collect();
    check_keys("why.md", "## The causes", &names);
}

/// Compares the first column of the tables below `heading` with `expected`.
#[track_caller]
fn check_keys(file: &str, heading: &str, expected: &[String]) {
    let found: Vec<String> = rows(&document(file), heading).into_iter().map(|it| it.0).collect();
    let missing: Vec<_> = expected.iter().filter(|it| !found.contains(it)).collect();
    let unknown: Vec<_> = found.iter().filter(|it| !expected.contains(it)).collect();
    assert!(missing.is_empty(), "docs/{file} does not name {missing:?}");
    assert!(unknown.is_empty(), "docs/{file} names {unknown:?}, which the code does not know");
    assert_eq!(found.len(), expected.len(), "docs/{file} names something twice");
}

#[track_caller]
fn check_default(key: &str, expected: &str) {
    let rows = rows(&document("deployment-settings.md"), "## A deployment");
    let row = rows.iter().find(|it| it.0 == key).expect("the key is documented");
    assert_eq!(row.1, expected, "default of `{key}`");
}

/// Key and third column of every table row below `heading`.
fn rows(text: &str, heading: &str) -> Vec<(String, String)> {
    let below = text.lines().skip_while(|it| !it.starts_with(heading)).skip(1);
    let section = below.take_while(|it| !it.starts_with("## "));
    let row = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix("| `")?.split(" | ").collect();
        let key = cells.first()?.strip_suffix('`')?;
        Some((key.to_owned(), (*cells.get(2)?).to_owned()))
    };
    section.filter_map(row).collect()
}

fn document(file: &str) -> String {
    let path = format!("{}/../../docs/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the document is readable")
}
