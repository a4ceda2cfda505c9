//! The context `here`, with the credentials of the first operator, for the user
//! that started a central orchestrator.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::Context as _;

use colony_api::{Client, Server};
use colony_central::Central;

use crate::cli::context::{self, Context, Contexts};

/// The context of the central orchestrator on this machine.
const NAME: &str = "here";

/// Stores the address of `central` and the credentials of its first operator.
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

/// On this machine, the unspecified address is replaced by the loopback
/// address.
fn own(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    address
}
