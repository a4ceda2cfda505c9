//! `colony change …`

use colony_api::Client;

use crate::cli::ChangeCommand;
use crate::output::Out;
use crate::output::view::change;

pub(super) async fn run(
    client: &Client,
    command: ChangeCommand,
    out: &mut Out,
) -> anyhow::Result<u8> {
    match command {
        ChangeCommand::List => {
            let views = client.change_list().await?;
            out.show(&views, |it, look| change::list(it, look))?;
            if views.is_empty() {
                out.note("no change waits for Git")?;
            } else if let Some(problem) = views.iter().find_map(|it| it.waits_for.as_ref()) {
                out.note(&format!(
                    "Git does not work, and it is tried again by itself: {problem}"
                ))?;
            }
        }
        ChangeCommand::Cancel { id } => {
            client.change_cancel(&id).await?;
            out.note(&format!("change {id} is cancelled; nothing of it was written"))?;
        }
    }
    Ok(0)
}
