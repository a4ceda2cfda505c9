//! The documents name exactly what the code knows, and their examples are valid.

use colony_core::document::{Document, Settings, StrategyKind};
use colony_core::site::{SiteSettings, Window};
use colony_core::why::Cause;
use colony_testkit::{App, blob};

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

/// A file that states what the page calls the default reads as one that says nothing.
#[test]
fn defaults_of_a_deployment_are_documented() {
    let stated = |of: &str, keys: &[&str]| -> String {
        let rows = rows(&document("deployment-settings.md"), "## A deployment");
        let own = rows.iter().filter_map(|(key, default)| {
            let (block, name) = key.split_once('.').unwrap_or(("", key));
            let value = default.strip_prefix('`')?.strip_suffix('`')?;
            (block == of && keys.contains(&name)).then(|| format!("{name}: {value}"))
        });
        own.collect::<Vec<_>>().join(", ")
    };
    let (own, retry) = (stated("", Settings::KEYS), stated("retry", Settings::RETRY_KEYS));

    assert_eq!(settings(&format!("{{{own}, retry: {{{retry}}}}}")), Settings::default());
    for kind in [StrategyKind::Canary, StrategyKind::BlueGreen] {
        let of = |it: &str| settings(&format!("strategy: {{type: {kind}, {it}}}"));
        // Without a limit, any number of nodes may be down.
        let limit = |it: &&&str| kind == StrategyKind::Canary || **it != "maxUnavailable";
        let keys: Vec<&str> = kind.keys().iter().filter(limit).copied().collect();
        assert_eq!(of(&stated("strategy", &keys)), of(""));
    }
    let rolling = settings("strategy: {type: rolling, maxUnavailable: 1}");
    assert_eq!(rolling, Settings::default(), "rolling, one node at a time");
}

fn settings(text: &str) -> Settings {
    let (at, name) = ("home".parse().expect("a name"), "hello".parse().expect("a name"));
    let text = App::new("hello", "1.0.0").with(text).text(&at);
    let document = Document::parse(&at, &name, &blob(&text), text.as_bytes());
    document.unwrap_or_else(|it| panic!("{it:?} in\n{text}")).settings
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
    let names: Vec<String> = Cause::all_names().map(str::to_owned).collect();
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
