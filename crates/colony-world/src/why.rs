//! `why` in any state: every subject that is not final has an answer, at its
//! site and at the central orchestrator, and the answer contains information.

use colony_core::fleet::Fleet;
use colony_core::site::Site;
use colony_core::state::State;
use colony_core::time::{Now, Timestamp};
use colony_core::why::{self, Why};
use colony_testkit::{is_open, is_vague};

/// All answers, and the first that is missing or says nothing.
#[derive(Debug, Default)]
pub struct Inquiry {
    pub answers: Vec<Why>,
    pub problem: Option<String>,
}

impl Inquiry {
    /// Asks a site about all its subjects.
    pub fn of_site(core: &Site, now: Now) -> Inquiry {
        let mut all = Inquiry::default();
        all.take(why::site(core, now), now.wall, !core.is_ready(), || "the site".to_owned());
        for it in core.deployments() {
            let answers = why::deployment_by_id(core, &it.id, now);
            all.take(answers, now.wall, is_open(core, it), || it.name.to_string());
        }
        for it in core.placements() {
            let answer = why::placement(core, &it.id, now);
            let open = !it.state().is_final();
            all.take(answer, now.wall, open, || format!("{} which is {}", it.id, it.state()));
        }
        for it in core.site_nodes() {
            let well = it.is_online() && !it.is_cordoned() && it.capabilities().is_some();
            all.take(why::node(core, &it.name), now.wall, !well, || format!("node {}", it.name));
        }
        all
    }

    /// Asks the central orchestrator about all deployments.
    pub fn of_central(fleet: &Fleet, now: Timestamp) -> Inquiry {
        let mut all = Inquiry::default();
        for (site, view) in fleet.sites() {
            let own = fleet.deployment_names().filter(|it| fleet.sites_of(it).any(|s| s.0 == site));
            for name in own {
                let standing = view.rollup_status(name);
                let answers = fleet.why(site, name, None, now).unwrap_or_default();
                let open = !standing.is_at_rest();
                all.take(answers, now, open, || format!("{name} which is {standing} at {site}"));
            }
            let failed = view.placements.values().flat_map(|it| it.values());
            let mut failed = failed.filter(|it| matches!(it.state, State::Failed(_)));
            if let Some(it) = failed.find(|it| it.failure.is_none()) {
                all.problem.get_or_insert(format!("it is not known how {} has failed", it.id));
            }
        }
        all
    }

    /// Adds the answers about one subject.
    fn take(
        &mut self,
        answers: impl IntoIterator<Item = Why>,
        now: Timestamp,
        is_open: bool,
        subject: impl FnOnce() -> String,
    ) {
        let before = self.answers.len();
        self.answers.extend(answers);
        let own = &self.answers[before..];
        if own.is_empty() && is_open {
            self.problem.get_or_insert_with(|| format!("there is no why for {}", subject()));
        }
        if let Some(vague) = own.iter().map(|it| it.text(now)).find(|it| is_vague(it)) {
            self.problem.get_or_insert_with(|| format!("the answer is only: {vague}"));
        }
    }
}
