//! Files in Git: arbitrary bytes, and documents that were nearly right.

use colony_core::document::{Document, Side, drain, workload};
use colony_core::id::{DeploymentName, SiteName};
use colony_core::site::{Content, File, SiteSettings};
use colony_margo::{ApplicationDeployment, Finding, Severity};
use colony_testkit::{App, blob};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

const SETTINGS: &str = "\
strategy: {type: rolling, maxUnavailable: 25%}
onFailure: stop
selector: {zone: north}
replicas: 3
retry: {installs: 2, updates: 1}
progressDeadline: 5m
soak: 30s
follow: stable";

const CONSTRAINTS: &str = "\
capacityRequirements: {cpu: {cores: 2, architectures: [amd64]}, memory: 1Gi}
eligibilityRules:
  - propertySelector:
      matchExpressions:
        - {key: /vendor, operator: In, values: [colony]}";

const WINDOWS: &str = "\
labels: {zone: north}
maintenanceWindows:
  - days: [mon, fri]
    from: '22:00'
    to: '04:00'
    utcOffset: '+01:00'
";

/// What tends to break a YAML reader when it stands in the wrong place.
const FRAGMENTS: &[&str] = &[
    "\n",
    "\t",
    " ",
    ": ",
    "- ",
    "{",
    "}",
    "[",
    "]",
    "&a ",
    "*a",
    "|",
    ">",
    "'",
    "\"",
    "#",
    "---\n",
    "!!int ",
    "~",
    "9",
    "-1",
    "é",
    "\u{0}",
    "\u{feff}",
    "99999999999999999999",
    "1e999",
    "<<: ",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn arbitrary_bytes_end_in_findings(bytes in vec(any::<u8>(), 0..200)) {
        check(&bytes);
    }

    #[test]
    fn damaged_documents_end_in_findings(text in damaged(document_text())) {
        check(text.as_bytes());
    }

    #[test]
    fn damaged_site_files_end_in_findings(text in damaged(WINDOWS.to_owned())) {
        check(text.as_bytes());
    }

    #[test]
    fn any_path_is_answered(path in "(deployments/|sites/|home|/|[a-zA-Zé.-]){0,6}(\\.yaml)?") {
        let text = document_text();
        let file = File::read(&home(), &path, &blob(&text), text.as_bytes());
        if let Content::Refused(findings) = &file.content {
            check_findings(findings);
        }
    }
}

#[test]
fn the_documents_to_damage_are_valid() {
    assert!(matches!(read(document_text().as_bytes()), Ok(it) if it.warnings.is_empty()));
    assert!(SiteSettings::parse(WINDOWS.as_bytes()).is_ok());
}

/// Reads the bytes as every kind of file there is.
#[track_caller]
fn check(bytes: &[u8]) {
    match read(bytes) {
        Ok(document) => check_document(&document, bytes),
        Err(findings) => check_findings(&findings),
    }
    if let Err(findings) = SiteSettings::parse(bytes) {
        check_findings(&findings);
    }
    for path in ["sites/home.yaml", "deployments/home/hello.yaml", "deployments/home/No.yaml"] {
        let file = File::read(&home(), path, &blob(""), bytes);
        if let Content::Refused(findings) = &file.content {
            check_findings(findings);
            assert!(findings.iter().all(|it| it.file.as_deref() == Some(path)), "{findings:?}");
        }
    }
}

/// What is accepted can be sent, and what is sent is the same workload.
#[track_caller]
fn check_document(document: &Document, bytes: &[u8]) {
    assert_eq!(document.text.as_bytes(), bytes, "a rollback restores the file");
    let wire = document.wire(&"a".parse().expect("a name"), 7, Side::Active);
    let sent = ApplicationDeployment::parse(&wire).expect("what is sent can be read");
    assert_eq!(workload(&sent.value), document.revision.workload);
}

/// Only a staged document says how long connections may last, and only if that
/// is not the default: documents that were offered before stay the same.
#[test]
fn a_staged_document_carries_its_drain_time() {
    let blue_green = |drain: &str| format!("strategy: {{type: blue-green{drain}}}");
    let (node, name) = ("a".parse().expect("a name"), "hello".parse().expect("a name"));
    for (settings, phase, expected, written) in [
        (blue_green(", drain: 90s"), Side::Stage, 90, true),
        (blue_green(", drain: 90s"), Side::Active, 10, false),
        (blue_green(""), Side::Stage, 10, false),
        ("strategy: {type: rolling}".to_owned(), Side::Stage, 10, false),
    ] {
        let text = App::new("hello", "1.0.0").with(&settings).text(&home());
        let document = Document::parse(&home(), &name, &blob(&text), text.as_bytes());
        let wire = document.expect("a valid file").wire(&node, 7, phase);
        let sent = ApplicationDeployment::parse(&wire).expect("what is sent can be read").value;
        assert_eq!(drain(&sent).as_secs(), expected, "{settings} {phase:?}");
        assert_eq!(
            String::from_utf8_lossy(&wire).contains("drain"),
            written,
            "{settings} {phase:?}"
        );
    }
}

#[track_caller]
fn check_findings(findings: &[Finding]) {
    assert!(findings.iter().any(|it| it.severity == Severity::Error), "{findings:?}");
    for it in findings {
        assert!(it.line >= 1 && it.column >= 1, "no position: {it:?}");
        assert!(!it.problem.is_empty(), "no problem: {it:?}");
    }
}

/// `text` after a few accidents.
fn damaged(text: String) -> impl Strategy<Value = String> {
    vec(accident(), 1..5).prop_map(move |accidents| {
        accidents.iter().fold(text.chars().collect(), |text, it| it.happen(text)).iter().collect()
    })
}

#[derive(Debug, Clone)]
enum Accident {
    Cut { from: Index, length: usize },
    Repeat { from: Index, length: usize, to: Index },
    Insert { at: Index, text: &'static str },
    Replace { at: Index, with: char },
}

fn accident() -> impl Strategy<Value = Accident> {
    let at = any::<Index>;
    prop_oneof![
        (at(), 0..40usize).prop_map(|(from, length)| Accident::Cut { from, length }),
        (at(), 0..40usize, at()).prop_map(|(from, length, to)| Accident::Repeat {
            from,
            length,
            to
        }),
        (at(), select(FRAGMENTS)).prop_map(|(at, text)| Accident::Insert { at, text }),
        (at(), any::<char>()).prop_map(|(at, with)| Accident::Replace { at, with }),
    ]
}

impl Accident {
    fn happen(&self, mut text: Vec<char>) -> Vec<char> {
        if text.is_empty() {
            return text;
        }
        let range = |from: &Index, length: usize| {
            let from = from.index(text.len());
            from..(from + length).min(text.len())
        };
        match self {
            Accident::Cut { from, length } => {
                text.drain(range(from, *length));
            }
            Accident::Repeat { from, length, to } => {
                let part = text[range(from, *length)].to_vec();
                let to = to.index(text.len());
                text.splice(to..to, part);
            }
            Accident::Insert { at, text: fragment } => {
                let at = at.index(text.len());
                text.splice(at..at, fragment.chars());
            }
            Accident::Replace { at, with } => {
                let at = at.index(text.len());
                text[at] = *with;
            }
        }
        text
    }
}

fn document_text() -> String {
    App::new("hello", "1.0.0").with(SETTINGS).needing(CONSTRAINTS).text(&home())
}

fn read(bytes: &[u8]) -> Result<Document, Vec<Finding>> {
    let name: DeploymentName = "hello".parse().expect("a name");
    Document::parse(&home(), &name, &blob(""), bytes)
}

fn home() -> SiteName {
    "home".parse().expect("a name")
}
