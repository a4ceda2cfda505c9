//! `colony change …`

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum ChangeCommand {
    /// All changes that wait for Git, the oldest first
    List,
    /// Take a change back before it is written
    ///
    /// Nothing of it is committed. A change that is just being written can no
    /// longer be cancelled.
    Cancel {
        /// As `colony change list` shows it
        id: String,
    },
}
