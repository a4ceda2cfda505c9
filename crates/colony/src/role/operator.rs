//! Lets the person who started a central orchestrator in: the context `here`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::Context as _;

use colony_api::{Client, Server};
use colony_central::Central;

use crate::cli::context::{self, Context, Contexts};

/// The context of what runs on this machine.
const NAME: &str = "here";

/// Writes down where `central` is and how its first operator is let in.
pub(crate) fn remember(central: &Central) -> anyhow::Result<Client> {
    let server = server(central)?;
    let path = context::path()?;
    let mut contexts = Contexts::load(&path)?;
    let Server { url, token, ca_pem } = server.clone();
    contexts.put(NAME, Context { server: Some(url), token, ca: ca_pem, socket: None });
    contexts.save(&path)?;
    Ok(Client::new(server)?)
}

fn server(central: &Central) -> anyhow::Result<Server> {
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path);
        text.with_context(|| format!("could not read {}", path.display()))
    };
    let token = read(central.admin_token_path())?.trim().to_owned();
    let url = format!("https://{}", own(central.addr()));
    Ok(Server { url, token: Some(token), ca_pem: Some(read(central.ca_path())?) })
}

/// From this machine, an address for everybody is this machine's own.
fn own(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    address
}
