//! Shows a deployment until it has reached an end.
//!
//! Follows the server's events and requests the deployment again when one of
//! its events arrives. The progress of images is not an event: while something
//! is being installed, the deployment is requested once a second. Ending a
//! watch does not affect the deployment.

use std::collections::BTreeMap;
use std::time::Duration;

use colony_api::request::EventQuery;
use colony_api::view::{DeploymentView, EventView, Outcome};
use colony_api::{Client, EventStream, Signal};
use colony_core::state::State;
use tokio::time::Instant;

use crate::cli::Patience;
use crate::command::follow::interrupted;
use crate::command::{INTERRUPTED, STILL_GOING_ON, SUPERSEDED};
use crate::output::view::end::{self, Goal};
use crate::output::view::{deployment, talk};
use crate::output::{Live, Out};

/// Events come in bursts: one request after the last of them is enough. A state
/// that may be the end is looked at sooner, if the last look was this long ago.
const BURST: Duration = Duration::from_millis(40);
/// How long the final request for the reasons may take.
const WHY: Duration = Duration::from_secs(5);
/// How often ages on the screen are updated.
const TICK: Duration = Duration::from_secs(1);

/// The deployment to watch, the goal, and the longest time.
pub(super) struct Watch<'a> {
    pub(super) name: &'a str,
    pub(super) goal: Goal,
    /// The version that was deployed, to notice a later change.
    pub(super) version: Option<String>,
    pub(super) patience: Patience,
}

impl Watch<'_> {
    /// Watches from the event `after` on.
    pub(super) async fn run(
        &self,
        client: &Client,
        after: Option<String>,
        out: &mut Out,
    ) -> anyhow::Result<u8> {
        let query = EventQuery { deployment: Some(self.name.to_owned()), ..EventQuery::default() };
        let mut screen = Screen::default();
        let (stop, time) = (interrupted(), elapsed(self.patience.timeout));
        tokio::pin!(stop, time);
        tokio::select! {
            ended = self.follow(client, (query, after), &mut screen, out) => ended?,
            () = &mut stop => {
                out.note(&end::left_running(screen.view.as_ref(), self.name))?;
                return Ok(INTERRUPTED);
            }
            () = &mut time => return self.give_up(client, screen, out).await,
        }
        if let Some(other) = screen.superseded(self) {
            let (name, version) = (self.name, self.version.as_deref().unwrap_or_default());
            out.note(&format!("{name} {version} was superseded: another change deployed {other}"))?;
            screen.finish(self.name, self.goal, out)?;
            return Ok(SUPERSEDED);
        }
        screen.finish(self.name, self.goal, out)
    }

    async fn follow(
        &self,
        client: &Client,
        (query, after): (EventQuery, Option<String>),
        screen: &mut Screen,
        out: &mut Out,
    ) -> anyhow::Result<()> {
        let mut events = client.event_follow(query, after).await?;
        loop {
            screen.look(client, self, out).await?;
            if screen.is_end() {
                return Ok(());
            }
            wait(client, self.name, &mut events, screen, out).await?;
        }
    }

    /// The time is up: prints what is not done, and why.
    async fn give_up(&self, client: &Client, screen: Screen, out: &mut Out) -> anyhow::Result<u8> {
        out.note(&end::left_running(screen.view.as_ref(), self.name))?;
        let why = client.deployment_why(self.name, None);
        let why = tokio::time::timeout(WHY, why).await;
        match (why, &screen.view) {
            (Ok(Ok(why)), _) if out.is_for_people() => out.show(&why, talk::why)?,
            (Ok(Ok(why)), Some(view)) => {
                let why = out.clean(&why)?;
                out.note(&talk::why(&why, &out.look()))?;
                out.show(view, deployment::show)?;
            }
            (Ok(Ok(_)), None) => {}
            (Ok(Err(error)), _) => out.note(&format!("why is not known: {error}"))?,
            (Err(_), _) => out.note("why is not known: the server does not answer")?,
        }
        Ok(STILL_GOING_ON)
    }
}

/// Resolves when `patience` has elapsed; never without one.
async fn elapsed(patience: Option<Duration>) {
    match patience {
        Some(patience) => tokio::time::sleep(patience).await,
        None => std::future::pending().await,
    }
}

/// Waits for the next change and keeps the screen fresh meanwhile.
async fn wait(
    client: &Client,
    name: &str,
    events: &mut EventStream,
    screen: &mut Screen,
    out: &mut Out,
) -> anyhow::Result<()> {
    let mut may_end = loop {
        match tokio::time::timeout(TICK, events.next()).await {
            Err(_) => {
                screen.tick(client, name, out).await?;
                if screen.is_end() {
                    return Ok(());
                }
            }
            Ok(Ok(Signal::Event(event))) => break may_be_end(&event),
            Ok(Ok(Signal::Reset | Signal::Resumed)) => return Ok(()),
            Ok(Ok(Signal::Lost(why))) => {
                out.note(&format!("connection lost ({why}); trying again"))?;
                screen.live = Live::default();
            }
            Ok(Err(error)) => return Err(error.into()),
        }
    };
    loop {
        let last = screen.looked.filter(|_| may_end).unwrap_or_else(Instant::now);
        match tokio::time::timeout_at(last + BURST, events.next()).await {
            Ok(Ok(Signal::Event(event))) => may_end |= may_be_end(&event),
            Ok(_) | Err(_) => return Ok(()),
        }
    }
}

/// A placement has reached a state in which it may stay.
fn may_be_end(event: &EventView) -> bool {
    let body = event.body.get("body").unwrap_or(&event.body);
    let to = body.get("to").and_then(|it| it.as_str());
    to.is_some_and(|it| it.parse().is_ok_and(State::is_final))
}

/// The last view, and what of it was printed.
#[derive(Default)]
struct Screen {
    view: Option<DeploymentView>,
    /// When the server was asked for the view.
    looked: Option<Instant>,
    gone: bool,
    live: Live,
    /// The last lines of each place, without their ages.
    printed: BTreeMap<String, Vec<String>>,
}

impl Screen {
    async fn look(
        &mut self,
        client: &Client,
        watch: &Watch<'_>,
        out: &mut Out,
    ) -> anyhow::Result<()> {
        self.looked = Some(Instant::now());
        let expected = self.view.is_some() || watch.goal == Goal::Absent;
        match client.deployment_show(watch.name).await {
            Ok(view) => self.view = Some(out.clean(&view)?),
            Err(error) if error.is_not_found() && expected => self.gone = true,
            Err(error) => return Err(error.into()),
        }
        self.draw(out)
    }

    /// Updates what no event announces. An error is ignored: the event stream
    /// reports a lost connection.
    async fn tick(&mut self, client: &Client, name: &str, out: &mut Out) -> anyhow::Result<()> {
        if self.view.as_ref().is_some_and(installs)
            && let Ok(view) = client.deployment_show(name).await
        {
            self.view = Some(out.clean(&view)?);
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

    /// The version that a later change installed in place of the watched one.
    fn superseded(&self, watch: &Watch<'_>) -> Option<String> {
        let installed = self.view.as_ref().filter(|it| it.outcome == Outcome::Installed)?;
        let other = installed.version.clone().filter(|_| watch.goal == Goal::Present && !self.gone);
        other.filter(|it| watch.version.as_ref().is_some_and(|wanted| wanted != it))
    }

    fn draw(&mut self, out: &mut Out) -> anyhow::Result<()> {
        let Some(view) = &self.view else { return Ok(()) };
        let look = out.look();
        let lines = deployment::lines(view, &look);
        if out.is_live() {
            return out.draw(&self.live.frame(&lines, &look));
        }
        // Ages and amounts change all the time: a line is printed again only if
        // something else in it has changed.
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (_, line) in &lines {
            all.entry(about(line)).or_default().push(news(line));
        }
        for (_, line) in lines {
            let about = about(&line);
            if self.printed.get(&about) != all.get(&about) {
                tell(out, &line)?;
            }
        }
        self.printed.append(&mut all);
        Ok(())
    }

    fn finish(self, name: &str, goal: Goal, out: &mut Out) -> anyhow::Result<u8> {
        let code = end::exit_code(self.outcome(), goal);
        match self.view {
            Some(mut view) if !out.is_for_people() => {
                if self.gone {
                    view.outcome = Outcome::Deleted;
                    view.sentence = "DELETED".to_owned();
                    view.sites.clear();
                }
                out.show(&view, deployment::show)?;
            }
            _ if self.gone => out.data(&format!("{name} DELETED"))?,
            Some(view) => {
                let end = end::end(&view, goal);
                out.data(&end.says.join("\n"))?;
                out.note(&end.hints.join("\n"))?;
            }
            None => {}
        }
        Ok(code)
    }
}

/// Images may be being pulled.
fn installs(view: &DeploymentView) -> bool {
    let mut placements = view.sites.iter().flat_map(|it| &it.placements);
    placements.any(|it| matches!(it.state, State::Installing | State::Updating))
}

/// Prints a line: as data for people, to stderr with JSON or YAML.
fn tell(out: &mut Out, line: &str) -> anyhow::Result<()> {
    if out.is_for_people() { out.data(line) } else { out.note(line) }
}

/// The subject of a line: its first two columns, the deployment and the place.
fn about(line: &str) -> String {
    line.split("  ").take(2).collect::<Vec<_>>().join("  ")
}

/// The line without its ages (`2 min` is `119 s` a second before) and amounts:
/// digits before a unit, or before `of`.
fn news(line: &str) -> String {
    const AGES: [&str; 4] = ["s", "min", "h", "d"];
    const UNITS: [&str; 3] = ["of", "kB", "MB"];
    let bare = |it: &str| it.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned();
    let words: Vec<String> = line.split(' ').map(bare).collect();
    let is_digits = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    let is_number = |at: usize| is_digits(&words[at]);
    let is_in = |at: usize, units: &[&str]| words.get(at).is_some_and(|it| units.contains(&&**it));
    let moves = |at: usize| {
        let is_unit = at > 0 && is_number(at - 1) && is_in(at, &AGES);
        is_unit || is_number(at) && (is_in(at + 1, &AGES) || is_in(at + 1, &UNITS))
    };
    let kept = line.split(' ').enumerate().filter(|(at, _)| !moves(*at));
    kept.map(|it| it.1).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_in_another_unit_is_no_news() {
        check("hello  home/b1  offline 119 s", "hello  home/b1  offline 2 min", true);
        check("hello  home/b1  pulls 3 of 9 MB", "hello  home/b1  pulls 8 of 9 MB", true);
        check("hello  home/b1  step 1 is open", "hello  home/b1  step 2 is open", false);
    }

    #[track_caller]
    fn check(before: &str, after: &str, same: bool) {
        assert_eq!(news(before) == news(after), same, "{before}, {after}");
    }
}
