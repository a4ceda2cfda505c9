//! The authority of a site's own domain, as it is on record.
//!
//! Invitations of nodes carry its fingerprint, so an attacker that could change
//! it would make invited nodes join another server. The first report of an
//! orchestrator sets it; a different one is refused until an admin accepts it,
//! or until another orchestrator has joined.

use std::collections::BTreeMap;

use colony_core::event::{CentralEvent, Incarnation};
use colony_core::id::SiteName;
use colony_core::time::Timestamp;
use colony_store::{CentralStore, Write};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::{Local, Operator};
use crate::brain::own_event;
use crate::fault::Fault;

const PREFIX: &str = "site-authority/";

/// The record of each site.
#[derive(Debug, Default)]
pub(crate) struct Authorities(Mutex<BTreeMap<SiteName, State>>);

#[derive(Debug)]
struct State {
    record: Record,
    /// The fingerprint that was refused last, so that it is recorded as an
    /// event only once.
    refused: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// The orchestrator that reported it.
    incarnation: Incarnation,
    fingerprint: String,
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    OnRecord,
    /// The first report of this orchestrator.
    First,
    Other {
        on_record: String,
        /// It was refused before.
        again: bool,
    },
}

impl Authorities {
    /// Reads the records from before a restart.
    pub(crate) async fn restore(store: &CentralStore) -> Result<Authorities, colony_store::Error> {
        let authorities = Authorities::default();
        for (key, value) in store.notes(PREFIX).await? {
            let site = key.strip_prefix(PREFIX).and_then(|it| it.parse::<SiteName>().ok());
            if let (Some(site), Ok(record)) = (site, serde_json::from_value::<Record>(value)) {
                authorities.set(&site, record);
            }
        }
        Ok(authorities)
    }

    fn set(&self, site: &SiteName, record: Record) {
        self.0.lock().insert(site.clone(), State { record, refused: None });
    }

    fn judge(&self, site: &SiteName, reported: &Record) -> Verdict {
        let mut sites = self.0.lock();
        let Some(State { record, refused }) = sites.get_mut(site) else { return Verdict::First };
        if record.incarnation < reported.incarnation {
            return Verdict::First;
        }
        if record.fingerprint == reported.fingerprint {
            return Verdict::OnRecord;
        }
        let again = refused.as_ref() == Some(&reported.fingerprint);
        *refused = Some(reported.fingerprint.clone());
        Verdict::Other { on_record: record.fingerprint.clone(), again }
    }
}

/// Refuses a report that names another authority than the one on record.
pub(super) async fn check(
    app: &App,
    local: &Local,
    fingerprint: &str,
    now: Timestamp,
) -> Result<(), Fault> {
    let site = &local.site;
    let incarnation = local.incarnation.unwrap_or_default();
    let reported = Record { incarnation, fingerprint: fingerprint.to_owned() };
    let actor = format!("site:{site}");
    match app.authorities.judge(site, &reported) {
        Verdict::OnRecord => Ok(()),
        Verdict::First => {
            let event =
                CentralEvent::SiteAuthorityKnown { fingerprint: reported.fingerprint.clone() };
            record(app, site, reported, (&event, &actor), now).await
        }
        Verdict::Other { on_record, again } => {
            if !again {
                let event = CentralEvent::SiteAuthorityRefused {
                    fingerprint: fingerprint.to_owned(),
                    known: on_record.clone(),
                };
                write(app, site, (&event, &actor), None, now).await?;
            }
            Err(Fault::refused(format!(
                "site {site} reports the authority {fingerprint}, but {on_record} is on record; if \
                 it was replaced on purpose, an admin accepts it with `colony site trust {site} \
                 {fingerprint}`"
            )))
        }
    }
}

/// Records the authority of a site's current orchestrator, as stated by an
/// admin.
pub(crate) async fn accept(
    app: &App,
    operator: &Operator,
    site: &SiteName,
    fingerprint: String,
    now: Timestamp,
) -> Result<(), Fault> {
    let incarnation = app.brain.read().await?.site(site).and_then(|it| it.incarnation());
    let Some(incarnation) = incarnation else {
        return Err(Fault::refused(format!("no orchestrator has joined site {site} yet")));
    };
    let accepted = Record { incarnation, fingerprint };
    let event = CentralEvent::SiteAuthorityAccepted { fingerprint: accepted.fingerprint.clone() };
    record(app, site, accepted, (&event, &operator.name), now).await
}

async fn record(
    app: &App,
    site: &SiteName,
    record: Record,
    event: (&CentralEvent, &str),
    now: Timestamp,
) -> Result<(), Fault> {
    let note = (format!("{PREFIX}{site}"), json!(record));
    write(app, site, event, Some(note), now).await?;
    app.authorities.set(site, record);
    Ok(())
}

async fn write(
    app: &App,
    site: &SiteName,
    (event, actor): (&CentralEvent, &str),
    note: Option<(String, Value)>,
    now: Timestamp,
) -> Result<(), Fault> {
    let events = vec![own_event(event, actor, now, (Some(site), None))];
    let write = Write { events, notes: note.into_iter().collect(), ..Write::default() };
    app.brain.write(|_| Ok(((), write))).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_authority_needs_another_orchestrator_or_an_admin() {
        let authorities = Authorities::default();
        let site: SiteName = "home".parse().expect("a name");
        let record = |incarnation, it: &str| Record { incarnation, fingerprint: it.to_owned() };
        let check = |reported: Record, expected: Verdict| {
            assert_eq!(authorities.judge(&site, &reported), expected, "{reported:?}");
        };
        let other = |again| Verdict::Other { on_record: "a".to_owned(), again };

        check(record(0, "a"), Verdict::First);
        authorities.set(&site, record(0, "a"));
        check(record(0, "a"), Verdict::OnRecord);
        check(record(0, "b"), other(false));
        check(record(0, "b"), other(true));
        check(record(0, "c"), other(false));
        check(record(1, "b"), Verdict::First);
        authorities.set(&site, record(1, "b"));
        check(record(1, "b"), Verdict::OnRecord);
    }
}
