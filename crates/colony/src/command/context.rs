//! `colony context …`

use serde_json::json;

use crate::cli::context::{self, ContextCommand, Contexts};
use crate::output::Out;

pub(super) fn run(command: ContextCommand, out: &mut Out) -> anyhow::Result<u8> {
    let path = context::path()?;
    let mut contexts = Contexts::load(&path)?;
    match command {
        ContextCommand::List => list(&contexts, out)?,
        ContextCommand::Use { name } => {
            contexts.get(Some(&name))?;
            contexts.current = Some(name.clone());
            contexts.save(&path)?;
            out.note(&format!("{name} is the current context"))?;
        }
    }
    Ok(0)
}

/// Lists the contexts, without their tokens.
fn list(contexts: &Contexts, out: &mut Out) -> anyhow::Result<()> {
    let row = |(name, it): (&String, &context::Context)| {
        let current = contexts.current.as_ref() == Some(name);
        json!({"name": name, "server": it.server, "socket": it.socket, "current": current})
    };
    let rows: Vec<_> = contexts.contexts.iter().map(row).collect();
    out.show(&rows, |_, _| lines(contexts))?;
    if rows.is_empty() {
        out.note("no server is known; start one here with `colony up`")?;
    }
    Ok(())
}

fn lines(contexts: &Contexts) -> String {
    let line = |(name, it): (&String, &context::Context)| {
        let mark = if contexts.current.as_ref() == Some(name) { "*" } else { " " };
        let socket = it.socket.as_ref().map(|it| it.display().to_string());
        let place = it.server.clone().or(socket).unwrap_or_default();
        format!("{mark} {name}  {place}\n")
    };
    contexts.contexts.iter().map(line).collect()
}
