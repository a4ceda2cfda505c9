//! Orders of CO for a site: numbered, durable, expiring, executed once.

use crate::fleet::pen::Pen;
use crate::fleet::{Fleet, RowKey, UnknownSite};
use crate::id::SiteName;
use crate::site::{Action, Command};
use crate::time::Wall;

impl Fleet {
    /// Queues an order for the site's next poll.
    pub fn command(
        &mut self,
        site: &SiteName,
        action: Action,
        by: &str,
        expires: Wall,
    ) -> Result<Command, UnknownSite> {
        let pen = &mut self.pen(site)?;
        let head = &mut pen.view.head;
        let number = head.commands_last.max(head.commands_done).saturating_add(1);
        head.commands_last = number;
        let command =
            Command { number: Some(number), by: by.to_owned(), expires: Some(expires), action };
        pen.view.commands.insert(number, command.clone());
        pen.mark(RowKey::Site);
        pen.mark(|site| RowKey::Command(site, number));
        Ok(command)
    }

    /// What the site has not acknowledged, in order; also what has expired,
    /// for the site acknowledges that too.
    pub fn commands_open(&self, site: &SiteName) -> Vec<&Command> {
        let view = self.sites.get(site).into_iter();
        view.flat_map(|it| it.commands.values()).collect()
    }
}

impl Pen<'_> {
    pub(super) fn command_done(&mut self, number: u64) {
        let head = &mut self.view.head;
        head.commands_done = head.commands_done.max(number);
        // The site ignores lower numbers from here on, so they are over too.
        while let Some(entry) = self.view.commands.first_entry()
            && *entry.key() <= number
        {
            let number = *entry.key();
            entry.remove();
            self.mark(|site| RowKey::Command(site, number));
        }
    }
}
