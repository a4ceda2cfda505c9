//! What every operator command takes, and the server that follows from it.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, ValueEnum};

use colony_api::{Client, Server};

use super::context::{self, Context, Contexts};

/// The server to ask, and how to print.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Global {
    /// The central orchestrator, such as https://hub.local:7443
    #[arg(long, global = true, env = "COLONY_SERVER", hide_env_values = true, value_name = "URL")]
    #[arg(help_heading = "Connection")]
    pub(crate) server: Option<String>,
    /// Your token; better in the environment or a context, where `ps` does not show it
    #[arg(long, global = true, env = "COLONY_TOKEN", hide_env_values = true)]
    #[arg(help_heading = "Connection")]
    pub(crate) token: Option<String>,
    /// The fleet's CA certificate, in PEM
    #[arg(long, global = true, env = "COLONY_CA", hide_env_values = true, value_name = "FILE")]
    #[arg(help_heading = "Connection")]
    pub(crate) ca: Option<PathBuf>,
    /// Ask the local orchestrator of this machine's site, also with the WAN down
    #[arg(long, global = true, env = "COLONY_SOCKET", hide_env_values = true, value_name = "PATH")]
    #[arg(conflicts_with = "server", help_heading = "Connection")]
    pub(crate) socket: Option<PathBuf>,
    /// A name from the context file; `colony context list` shows them
    #[arg(
        long,
        global = true,
        env = "COLONY_CONTEXT",
        hide_env_values = true,
        value_name = "NAME"
    )]
    #[arg(help_heading = "Connection")]
    pub(crate) context: Option<String>,
    /// How to print what was asked for
    #[arg(short, long, global = true, value_enum, default_value = "table")]
    #[arg(help_heading = "Output")]
    pub(crate) output: Format,
}

/// How data is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Table,
    /// The table with more columns
    Wide,
    Json,
    Yaml,
}

/// Who is asked: a server, or the orchestrator behind a socket.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Server(Server),
    Socket(PathBuf),
}

impl Global {
    pub(crate) fn client(&self) -> anyhow::Result<Client> {
        match self.peer()? {
            Peer::Server(server) => Ok(Client::new(server)?),
            Peer::Socket(path) => Ok(Client::unix(&path)?),
        }
    }

    /// Reads the context file and the CA, and settles who is asked.
    pub(crate) fn peer(&self) -> anyhow::Result<Peer> {
        let contexts = Contexts::load(&context::path()?)?;
        let peer = self.choose(&contexts)?;
        let Peer::Server(mut server) = peer else { return Ok(peer) };
        if let Some(path) = &self.ca {
            let doing = || format!("could not read the CA certificate {}", path.display());
            server.ca_pem = Some(std::fs::read_to_string(path).with_context(doing)?);
        }
        Ok(Peer::Server(server))
    }

    fn choose(&self, contexts: &Contexts) -> anyhow::Result<Peer> {
        if let Some(socket) = &self.socket {
            return Ok(Peer::Socket(socket.clone()));
        }
        let known = contexts.get(self.context.as_deref())?;
        let url = self.server.clone().or_else(|| known?.server.clone());
        let Some(url) = url else {
            let socket = known.and_then(|it| it.socket.clone());
            return socket.map(Peer::Socket).context(NO_SERVER);
        };
        // A token is sent to no other server than the one it was made for.
        let known = known.filter(|it| it.server.as_deref() == Some(&url));
        let known = known.cloned().unwrap_or_default();
        let Context { token, ca, .. } = known;
        let token = self.token.clone().or(token);
        Ok(Peer::Server(Server { url, token, ca_pem: ca }))
    }
}

const NO_SERVER: &str = "no server is known: start one here with `colony up`, or say which with \
                         --server, COLONY_SERVER or `colony context use`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_to_its_own_server_only() {
        check(&[], "https://hub:7443 token hub-token ca");
        check(&["--server", "https://hub:7443"], "https://hub:7443 token hub-token ca");
        check(&["--server", "https://other:7443"], "https://other:7443");
        check(&["--server", "https://other:7443", "--token", "t"], "https://other:7443 token t");
    }

    #[test]
    fn a_context_or_a_socket_is_chosen_by_name() {
        check(&["--context", "plant"], "socket /run/colony/local.sock");
        check(&["--socket", "/x.sock"], "socket /x.sock");
        check(&["--context", "nope"], "there is no context `nope`; there are: hub, plant");
    }

    #[track_caller]
    fn check(arguments: &[&str], expected: &str) {
        let contexts = Contexts::parse(FILE).expect("a context file");
        let global = crate::cli::tests::global(arguments);
        let actual = match global.choose(&contexts) {
            Ok(Peer::Socket(path)) => format!("socket {}", path.display()),
            Ok(Peer::Server(Server { url, token, ca_pem })) => {
                let token = token.map(|it| format!(" token {it}")).unwrap_or_default();
                format!("{url}{token}{}", if ca_pem.is_some() { " ca" } else { "" })
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(actual, expected);
    }

    const FILE: &str = r#"
        current = "hub"
        [context.hub]
        server = "https://hub:7443"
        token = "hub-token"
        ca = "-----BEGIN CERTIFICATE-----"
        [context.plant]
        socket = "/run/colony/local.sock"
    "#;
}
