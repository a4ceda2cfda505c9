//! The central orchestrator's projection: a site's log, batch by batch.

use colony_core::event::verify;
use colony_core::fleet::{BATCH_LIMIT, Fleet};
use colony_core::id::SiteName;
use colony_core::time::Timestamp;

use crate::Scale;
use crate::chain::log;
use crate::clock::repeated;
use crate::table::{Table, rate, ratio, time};

pub(crate) fn run(scale: &Scale) -> Table {
    let (start, events) = log(scale.events);
    let home: SiteName = "home".parse().expect("a name");
    let checked = repeated(scale.rounds, || verify(start.clone(), &events).expect("one log"));
    let applied = repeated(scale.rounds, || {
        let mut fleet = Fleet::new();
        fleet.site_add(&home);
        fleet.join(&home, Timestamp(0), false).expect("no orchestrator was there");
        for batch in events.chunks(BATCH_LIMIT) {
            let _ = fleet.apply(&home, batch, Timestamp(0)).expect("the log continues");
        }
        fleet
    });

    let title = format!("Projection of CO: {} events in batches of {BATCH_LIMIT}", events.len());
    let mut table = Table::new(title, &["what", "time", "events", "ratio to baseline"]);
    for (name, it) in [("baseline: `event::verify`", checked), ("`Fleet::apply`", applied)] {
        table.row([name.to_owned(), time(it), rate(events.len(), it), ratio(it, checked)]);
    }
    table
}
