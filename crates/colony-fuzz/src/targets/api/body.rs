//! Bodies: whatever is sent between people, orchestrators and nodes as JSON.
//!
//! The lists name every type of the modules they speak of; a test compares them
//! with the source, so that a new one is not forgotten.

use colony_api::{problem, request, site, view};
use colony_wfm::{health, join, manager_request};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Outcome;

/// A type under its module's name, and whether an input is one.
struct Body {
    name: &'static str,
    take: fn(&[u8]) -> bool,
}

macro_rules! bodies {
    ($($from:ident: $($name:ident)+;)+) => {
        &[$($(Body {
            name: concat!(stringify!($from), "::", stringify!($name)),
            take: sent::<$from::$name>,
        }),+),+]
    };
}

/// Before anybody is known, then what orchestrators and nodes send, then people.
const REQUESTS: &[Body] = bodies! {
    join: JoinRequest RenewRequest Joined;
    site: SiteJoinRequest SiteRenewRequest EventBatch NodesReport NodeHealth PullHealth LogAnswer
        BatchAnswer Hints HintsQuery SiteLogRequest SiteJoined SiteRenewed GitAccess GitAuth;
    manager_request: ManagerRequests LogRequest LogAnswer LogLine;
    health: NodeReport Readiness PullView;
    request: DeployRequest SiteAdd SiteTrust Invite RegistryAdd Lint Hold Release ReleaseWhat Steer
        QuarantineRelease Retry Rollback TokenAdd DeleteQuery EventQuery LogsQuery SiteQuery
        ListQuery;
    problem: Fenced;
};

const VIEWS: &[Body] = bodies! {
    view: InviteView InviteKind Accepted WhyView ReasonView CauseView LogsView LogLine RepoView
        ChangeView PlacementView Deferred FailureView DeploymentView DeploymentSite QuarantineView
        RolledBackView RolloutView PausedView StoppedView ConflictView HistoryView FileDiff HistoryEntry
        NodeView NodePlacement EventView EventPage ApplicationView ApplicationDetail ProfileView
        ParameterView RegistryView LintView DeployAnswer PlanView SiteView NodeCounts HoldView
        TokenView StatusView Role RolloutStanding DeploymentSummary Attention;
};

pub(super) fn request(input: &[u8]) -> Outcome {
    each(REQUESTS, input)
}

pub(super) fn view(input: &[u8]) -> Outcome {
    each(VIEWS, input)
}

/// The names tell inputs apart: those of the types that took it.
fn each(bodies: &[Body], input: &[u8]) -> Outcome {
    if let Err(error) = serde_json::from_slice::<serde_json::Value>(input) {
        return Outcome::refused(error);
    }
    let taken: Vec<&str> = bodies.iter().filter(|it| (it.take)(input)).map(|it| it.name).collect();
    Outcome::taken_by(&taken)
}

fn sent<T: DeserializeOwned + Serialize>(input: &[u8]) -> bool {
    let Ok(value) = serde_json::from_slice::<T>(input) else { return false };
    again(&value);
    true
}

/// What was taken is sent on as it was taken.
pub(super) fn again<T: DeserializeOwned + Serialize>(value: &T) {
    let text = serde_json::to_string(value).expect("JSON");
    let read: T = serde_json::from_str(&text)
        .unwrap_or_else(|it| panic!("we send what we refuse: {it}\n{text}"));
    assert_eq!(serde_json::to_string(&read).expect("JSON"), text, "sent on it differs");
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn every_type_of_these_modules_is_read() {
        check("request", "colony-api/src/request.rs", REQUESTS);
        check("site", "colony-api/src/site.rs", REQUESTS);
        check("problem", "colony-api/src/problem.rs", REQUESTS);
        check("join", "colony-wfm/src/join.rs", REQUESTS);
        check("manager_request", "colony-wfm/src/manager_request.rs", REQUESTS);
        check("health", "colony-wfm/src/health.rs", REQUESTS);
        check("view", "colony-api/src/view", VIEWS);
    }

    #[test]
    fn every_body_of_the_published_api_is_read() {
        let text = std::fs::read_to_string(crates().join("../docs/openapi.json"));
        let document: serde_json::Value = serde_json::from_str(&text.expect("it")).expect("JSON");
        let listed: BTreeSet<&str> =
            REQUESTS.iter().filter_map(|it| it.name.split("::").last()).collect();
        let mut asked = Vec::new();
        bodies_of(&document, &mut asked);
        assert!(asked.len() > 10, "{asked:?}");
        let missing: Vec<&String> =
            asked.iter().filter(|it| !listed.contains(it.as_str())).collect();
        assert!(missing.is_empty(), "add to REQUESTS: {missing:?}");
    }

    /// The list has the types of the module that can be read, no more and no less.
    #[track_caller]
    fn check(module: &str, path: &str, bodies: &[Body]) {
        let prefix = format!("{module}::");
        let listed: BTreeSet<String> = bodies
            .iter()
            .filter_map(|it| it.name.strip_prefix(&prefix))
            .map(str::to_owned)
            .collect();
        let found: BTreeSet<String> =
            files(&crates().join(path)).iter().flat_map(|it| readable(it)).collect();
        assert_eq!(listed, found, "the list in {} and {path}", file!());
    }

    fn crates() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    fn files(path: &Path) -> Vec<String> {
        let paths = match std::fs::read_dir(path) {
            Ok(entries) => entries.map(|it| it.expect("an entry").path()).collect(),
            Err(_) => vec![path.to_owned()],
        };
        paths.iter().map(|it| std::fs::read_to_string(it).expect("source")).collect()
    }

    /// The names behind `derive(… Deserialize …)`.
    fn readable(source: &str) -> Vec<String> {
        let pieces = source.split("#[derive(").skip(1);
        let readable =
            pieces.filter(|it| it.split(")]").next().is_some_and(|it| it.contains("Deserialize")));
        readable.filter_map(name).collect()
    }

    fn name(piece: &str) -> Option<String> {
        let at = piece.find("pub struct ").into_iter().chain(piece.find("pub enum ")).min()?;
        let name = piece[at..].split_whitespace().nth(2)?;
        Some(name.trim_end_matches(['{', ';', '(']).to_owned())
    }

    fn bodies_of(json: &serde_json::Value, out: &mut Vec<String>) {
        if let Some(body) = json.get("requestBody") {
            let name = body.pointer("/content/application~1json/schema/$ref");
            let name = name.and_then(|it| it.as_str()?.rsplit('/').next());
            out.push(name.unwrap_or("a body without a name").to_owned());
        }
        let inner = json.as_object().into_iter().flat_map(serde_json::Map::values);
        inner.chain(json.as_array().into_iter().flatten()).for_each(|it| bodies_of(it, out));
    }
}
