//! `colony change …`

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum ChangeCommand {
    /// All changes that wait for Git, the oldest first
    List,
    /// Take a change back before it is written
    ///
    /// Nothing of it is committed. A change that is being written just now can
    /// not be cancelled any more.
    Cancel {
        /// As `colony change list` shows it
        id: String,
    },
}
