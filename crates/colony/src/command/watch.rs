//! Shows a deployment until it has reached an end.
//!
//! Follows the server's events and looks again when one of the deployment
//! arrives. Only how far images are is no event: while something is being
//! installed, it looks once a second. Whoever stops watching stops nothing else.

use std::collections::BTreeSet;
use std::time::Duration;

use colony_api::request::EventQuery;
use colony_api::view::{DeploymentView, Outcome};
use colony_api::{Client, EventStream, Signal};
use colony_core::state::State;

use crate::command::INTERRUPTED;
use crate::command::follow::interrupted;
use crate::output::end::{self, Goal};
use crate::output::{Live, Out, deployment};

/// Events come in bursts: one look after the last of them is enough.
const BURST: Duration = Duration::from_millis(40);
/// How often ages on the screen move.
const TICK: Duration = Duration::from_secs(1);

/// Watches `name` from the event `after` on.
pub(super) async fn watch(
    client: &Client,
    name: &str,
    goal: Goal,
    after: Option<String>,
    out: &mut Out,
) -> anyhow::Result<u8> {
    let query = EventQuery { deployment: Some(name.to_owned()), ..EventQuery::default() };
    let mut events = client.event_follow(query, after).await?;
    let mut screen = Screen::default();
    let stop = interrupted();
    tokio::pin!(stop);
    loop {
        screen.look(client, name, out).await?;
        if screen.is_end() {
            return screen.finish(name, goal, out);
        }
        tokio::select! {
            changed = wait(client, name, &mut events, &mut screen, out) => changed?,
            () = &mut stop => {
                out.note(&end::left_running(screen.view.as_ref(), name))?;
                return Ok(INTERRUPTED);
            }
        }
    }
}

/// Waits for the next change, with the screen kept fresh meanwhile.
async fn wait(
    client: &Client,
    name: &str,
    events: &mut EventStream,
    screen: &mut Screen,
    out: &mut Out,
) -> anyhow::Result<()> {
    loop {
        match tokio::time::timeout(TICK, events.next()).await {
            Err(_) => {
                screen.tick(client, name, out).await?;
                if screen.is_end() {
                    return Ok(());
                }
            }
            Ok(Ok(Signal::Event(_))) => break,
            Ok(Ok(Signal::Reset | Signal::Resumed)) => return Ok(()),
            Ok(Ok(Signal::Lost(why))) => {
                out.note(&format!("connection lost ({why}); trying again"))?;
                screen.live = Live::default();
            }
            Ok(Err(error)) => return Err(error.into()),
        }
    }
    while let Ok(Ok(Signal::Event(_))) = tokio::time::timeout(BURST, events.next()).await {}
    Ok(())
}

/// What is known and what of it was shown.
#[derive(Default)]
struct Screen {
    view: Option<DeploymentView>,
    gone: bool,
    live: Live,
    printed: BTreeSet<String>,
}

impl Screen {
    async fn look(&mut self, client: &Client, name: &str, out: &mut Out) -> anyhow::Result<()> {
        match client.deployment_show(name).await {
            Ok(view) => self.view = Some(view),
            Err(error) if error.is_not_found() && self.view.is_some() => self.gone = true,
            Err(error) => return Err(error.into()),
        }
        self.draw(out)
    }

    /// What only a look can tell. A server that does not answer is the
    /// stream's to speak of.
    async fn tick(&mut self, client: &Client, name: &str, out: &mut Out) -> anyhow::Result<()> {
        if self.view.as_ref().is_some_and(installs)
            && let Ok(view) = client.deployment_show(name).await
        {
            self.view = Some(view);
        }
        self.draw(out)
    }

    fn outcome(&self) -> Outcome {
        match &self.view {
            _ if self.gone => Outcome::Deleted,
            Some(view) => view.outcome,
            None => Outcome::InProgress,
        }
    }

    fn is_end(&self) -> bool {
        self.outcome().is_end()
    }

    fn draw(&mut self, out: &mut Out) -> anyhow::Result<()> {
        let Some(view) = &self.view else { return Ok(()) };
        let look = out.look();
        let lines = deployment::lines(view, &look);
        if out.is_live() {
            return out.draw(&self.live.frame(&lines, &look));
        }
        // Ages and amounts move all the time: a line is told again when its news are others.
        for (_, line) in lines {
            if self.printed.insert(news(&line)) {
                tell(out, &line)?;
            }
        }
        Ok(())
    }

    fn finish(self, name: &str, goal: Goal, out: &mut Out) -> anyhow::Result<u8> {
        let outcome = self.outcome();
        let Some(view) = &self.view else { return Ok(end::exit_code(outcome, goal)) };
        if !out.is_for_people() {
            out.show(view, deployment::show)?;
            return Ok(end::exit_code(outcome, goal));
        }
        let end = end::end(view, goal, &out.look());
        if self.gone {
            out.data(&format!("{name} DELETED"))?;
        } else {
            out.data(&end.says.join("\n"))?;
        }
        out.note(&end.hints.join("\n"))?;
        Ok(end::exit_code(outcome, goal))
    }
}

/// Images may be on their way.
fn installs(view: &DeploymentView) -> bool {
    let mut placements = view.sites.iter().flat_map(|it| &it.placements);
    placements.any(|it| matches!(it.state, State::Installing | State::Updating))
}

/// Lines are data only where a person asked for them.
fn tell(out: &mut Out, line: &str) -> anyhow::Result<()> {
    if out.is_for_people() { out.data(line) } else { out.note(line) }
}

/// The line without its ages and amounts: digits before a unit, or before `of`.
fn news(line: &str) -> String {
    const UNITS: [&str; 7] = ["s", "min", "h", "d", "of", "kB", "MB"];
    let bare = |it: &str| it.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned();
    let words: Vec<String> = line.split(' ').map(bare).collect();
    let is_age = |at: usize| {
        words[at].bytes().all(|it| it.is_ascii_digit())
            && words.get(at + 1).is_some_and(|it| UNITS.contains(&it.as_str()))
    };
    let kept = line.split(' ').enumerate().filter(|(at, _)| !is_age(*at));
    kept.map(|it| it.1).collect::<Vec<_>>().join(" ")
}
