//! What CO has taken: the very events the sites wrote, and orders that were
//! executed.

use colony_core::event::{Body, Event, Incarnation};

use crate::world::World;

impl World {
    /// What CO has stored is what the LO has written.
    pub(crate) fn check_acknowledged(
        &mut self,
        site: usize,
        incarnation: Incarnation,
        batch: &[Event],
    ) {
        let local = &self.sites[site];
        let key = (local.name.clone(), incarnation);
        let Some(stored) = self.central.events.get(&key) else { return };
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

    /// CO takes an order for done only if that very order was executed.
    pub(crate) fn check_orders(&mut self, site: usize, batch: &[Event]) {
        let name = &self.sites[site].name;
        let open = self.central.core.commands_open(name);
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
