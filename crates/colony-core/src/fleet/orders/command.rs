//! Orders of central for a site: numbered, durable, expiring, executed once.

use crate::fleet::events::projection_writer::ProjectionWriter;
use crate::fleet::{Fleet, RowKey, UnknownSite};
use crate::id::SiteName;
use crate::site::{Action, Command};
use crate::time::Timestamp;

impl Fleet {
    /// Queues an order for the site's next poll.
    pub fn command(
        &mut self,
        site: &SiteName,
        action: Action,
        by: &str,
        expires: Timestamp,
    ) -> Result<Command, UnknownSite> {
        let writer = &mut self.writer(site)?;
        let head = &mut writer.view.head;
        let number = head.commands_last.max(head.commands_done).saturating_add(1);
        head.commands_last = number;
        let command =
            Command { number: Some(number), by: by.to_owned(), expires: Some(expires), action };
        writer.view.commands.insert(number, command.clone());
        writer.mark(RowKey::Site);
        writer.mark(|site| RowKey::Command(site, number));
        Ok(command)
    }

    /// The commands that the site has not acknowledged, in order. Expired
    /// commands are included, because the site acknowledges them, too.
    pub fn commands_open(&self, site: &SiteName) -> Vec<&Command> {
        let view = self.sites.get(site).into_iter();
        view.flat_map(|it| it.commands.values()).collect()
    }
}

impl ProjectionWriter<'_> {
    pub(in crate::fleet) fn command_done(&mut self, number: u64) {
        let head = &mut self.view.head;
        head.commands_done = head.commands_done.max(number);
        // The site ignores lower numbers from here on, so these are done, too.
        while let Some(entry) = self.view.commands.first_entry()
            && *entry.key() <= number
        {
            let number = *entry.key();
            entry.remove();
            self.mark(|site| RowKey::Command(site, number));
        }
    }
}
