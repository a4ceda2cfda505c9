//! `colony token …`

use clap::{Args, Subcommand, ValueEnum};

use colony_api::request::TokenAdd;

use super::reference::lifetime;

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    Create(TokenCreate),
    /// All tokens, without their secrets
    List,
    /// End a token at once
    Delete {
        name: String,
    },
}

/// Make a token for a person or a program
///
/// The secret is printed once and cannot be shown again; only its hash is kept.
/// Everything done with it stands in the events under its name.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    colony token create ci --role operator --site plant-b --lifetime 90d\n  \
    colony token create wall --role viewer\n  \
    COLONY_TOKEN=$(colony token create ann --role admin) colony status")]
pub(crate) struct TokenCreate {
    /// The actor of everything it does
    pub(crate) name: String,
    /// What it may do
    #[arg(long, value_enum)]
    pub(crate) role: TokenRole,
    /// Sites by comma [default: all]
    #[arg(long, value_delimiter = ',', value_name = "SITE,…")]
    pub(crate) site: Vec<String>,
    /// How long it is good for: 12h, 90d [default: until it is deleted]
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    pub(crate) lifetime: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TokenRole {
    /// Looks
    Viewer,
    /// Deploys, holds, invites nodes and pushes to Git
    Operator,
    /// Adds sites and tokens
    Admin,
}

impl TokenCreate {
    pub(crate) fn request(self) -> TokenAdd {
        let role = match self.role {
            TokenRole::Viewer => "viewer",
            TokenRole::Operator => "operator",
            TokenRole::Admin => "admin",
        };
        TokenAdd {
            name: self.name,
            role: role.to_owned(),
            sites: self.site,
            lifetime_seconds: self.lifetime,
        }
    }
}
