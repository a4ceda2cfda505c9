//! `colony token …`

use colony_api::Client;

use crate::cli::TokenCommand;
use crate::output::Out;
use crate::output::view::token;

pub(super) async fn run(
    client: &Client,
    command: TokenCommand,
    out: &mut Out,
) -> anyhow::Result<u8> {
    match command {
        TokenCommand::Create(it) => {
            let view = client.token_create(&it.request()).await?;
            out.show(&view, token::created)?;
            out.note(&token::summary(&view, &out.look()))?;
        }
        TokenCommand::List => {
            out.show(&client.token_list().await?, |it, look| token::list(it, look))?
        }
        TokenCommand::Delete { name } => {
            client.token_delete(&name).await?;
            out.note(&format!("{name} is let in no more"))?;
        }
    }
    Ok(0)
}
