//! The question `why`, asked while a fault lasts: whatever is not as it should
//! be has an answer, by the central orchestrator or, where that is what broke,
//! by the site.

use serde_json::{Value, json};

use crate::bed::Bed;
use crate::kit::{Said, wait};

/// What waits longer than any test lasts, so that there is something to ask.
pub(crate) const WAITS: &str = "waits";
/// What is ordered while somebody is down.
pub(crate) const ASKED: &str = "asked";

impl Bed {
    /// While the fault lasts: why is that not installed? Whoever lives is
    /// asked, and it is not installed: nothing here is left to chance.
    #[track_caller]
    pub(crate) fn why(&mut self, name: &str, down: &str) {
        let shown = self.asked_of(down, &["deployment", "show", name]).ok().json();
        assert_ne!(shown["outcome"], "installed", "there is nothing to ask: {shown:#}");
        let why = self.asked_of(down, &["why", name]).ok().json();
        self.record.asked += 1;
        self.record.answered += u64::from(is_specific(&why));
    }

    fn asked_of(&self, down: &str, question: &[&str]) -> Said {
        let socket = self.fleet.path().join("home/local/local.sock").display().to_string();
        let at_site: &[&str] = if down == "central" { &["--socket", &socket] } else { &[] };
        self.fleet.type_in(&[question, &["-o", "json"], at_site].concat())
    }

    /// Where nothing is on its way when somebody goes down: an order given to
    /// those who are left, or, if nobody takes one, what waited before.
    #[track_caller]
    pub(crate) fn ask(&mut self, down: &str) {
        if down == "central" {
            return self.why(WAITS, down);
        }
        self.order();
        self.why(ASKED, down);
    }

    /// Something is ordered that will be there in the end.
    #[track_caller]
    pub(crate) fn order(&mut self) {
        assert_eq!(self.deploy(ASKED), 0);
        self.ordered = true;
    }

    /// Something that waits and that the site knows, to be asked about when the
    /// central orchestrator is down.
    #[track_caller]
    pub(crate) fn leave_waiting(&self) {
        let deploy = ["deploy", "hello", "--name", WAITS, "--version", "1.0", "--site", "home"];
        self.fleet.type_in(&[&deploy[..], &["--delay", "24h", "--yes"]].concat()).ok();
        let known = || self.asked_of("central", &["deployment", "show", WAITS]).code == 0;
        wait("the site to know it", || known().then_some(()));
    }

    /// There is nothing to ask about, whatever happens, and this is why.
    pub(crate) fn nothing_to_ask(&mut self, because: &'static str) {
        self.unasked = Some(because);
    }
}

/// A cause, whose it is, and what happens next; and no word of not knowing.
fn is_specific(why: &Value) -> bool {
    let reasons = why["reasons"].as_array().cloned().unwrap_or_default();
    let filled = |it: &Value, key: &str| it[key].as_str().is_some_and(|it| !it.is_empty());
    let said = |it: &Value| filled(it, "sentence") && filled(it, "owner");
    !reasons.is_empty() && reasons.iter().all(said) && why["summary"] != json!("")
}
