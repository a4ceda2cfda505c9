//! The invariants of CO: it stores exactly the events that the sites wrote, and
//! its commands count as done only if they were executed.

use std::sync::Arc;

use colony_core::event::{Body, Event, Incarnation};

use crate::world::World;

impl World {
    /// The events that CO has stored are those the LO has written.
    pub(crate) fn check_acknowledged(
        &mut self,
        site: usize,
        incarnation: Incarnation,
        batch: &[Arc<Event>],
    ) {
        let local = &self.roles.sites[site];
        let key = (local.name.clone(), incarnation);
        let Some(stored) = self.roles.central.events.get(&key) else { return };
        let count = stored.len();
        let late = local.core.log().incarnation != incarnation;
        if batch.is_empty() || late || local.uplink.rewound {
            return;
        }
        let differs =
            count > local.log.len() || stored.last().is_some_and(|it| it.0 != local.log[count - 1]);
        self.checker.acknowledged.insert(key, count);
        if differs {
            let name = local.name.clone();
            self.violate(format!("LO {name} has lost or changed an acknowledged event"));
        }
    }

    /// CO counts a command as done only if that very command was executed.
    pub(crate) fn check_orders(&mut self, site: usize, batch: &[Arc<Event>]) {
        let name = &self.roles.sites[site].name;
        let open = self.roles.central.core.commands_open(name);
        let done = batch.iter().filter_map(|it| {
            let Body::CommandDone { number, .. } = &it.body else { return None };
            *number
        });
        let wrong = done.into_iter().find_map(|number| {
            let given = open.iter().find(|it| it.number == Some(number))?;
            let did = self.checker.orders.get(&(site, number))?;
            (*did != given.action).then(|| format!("{:?}, but {did:?} was", given.action))
        });
        if let Some(what) = wrong {
            self.violate(format!("CO takes an order for executed: {what}"));
        }
    }
}
