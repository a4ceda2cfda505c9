//! A file written by hand, `git push`, and the container runs.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use tokio::process::Command;

use crate::clock::{self, Samples};
use crate::fleet::{Fleet, SITE};
use crate::measurement::deploy::VERSION;
use crate::story::Story;
use crate::table::{Table, ratio, time};

/// A clone of the hosted repository.
#[derive(Debug)]
struct Clone {
    dir: PathBuf,
}

#[derive(Debug, Default)]
struct Measured {
    whole: Samples,
    after: Samples,
    push: Samples,
}

pub(crate) async fn measure(
    fleet: &Fleet,
    story: &mut Story,
    node: &str,
    repeats: usize,
    bare: &Samples,
) -> anyhow::Result<Table> {
    story.deploy("pattern", VERSION, node).await?;
    let clone = Clone::make(fleet).await?;
    let pattern = std::fs::read_to_string(clone.file("pattern"))?;
    let mut measured = Measured::default();
    for repeat in 0..repeats {
        let name = format!("pushed-{repeat}");
        clone.git(&["pull", "-q", "--rebase"]).await?;
        clone.commit(&name, &pattern).await?;
        let begun = clock::now();
        clone.git(&["push", "-q"]).await?;
        let pushed = clock::now();
        story.reached(&name, "INSTALLED").await?;
        let seen = clock::now();
        measured.push.add(pushed - begun);
        measured.after.add(seen.saturating_duration_since(pushed));
        measured.whole.add(seen - begun);
        story.delete(&name).await?;
    }
    story.delete("pattern").await?;
    Ok(measured.table(repeats, node, bare))
}

impl Clone {
    async fn make(fleet: &Fleet) -> anyhow::Result<Clone> {
        let dir = fleet.setup.dir.join("clone");
        let mut command = Command::new(&fleet.setup.colony);
        command.args(["repo", "clone"]).arg(&dir).env("COLONY_CONTEXTS", fleet.contexts());
        let cloned = command.output().await.context("could not run `colony repo clone`")?;
        let said = String::from_utf8_lossy(&cloned.stderr);
        ensure!(cloned.status.success(), "could not clone the repository: {said}");
        Ok(Clone { dir })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.join(format!("deployments/{SITE}/{name}.yaml"))
    }

    /// The pattern under another name and id, committed.
    async fn commit(&self, name: &str, pattern: &str) -> anyhow::Result<()> {
        let id = format!("id: \"{}\"", uuid::Uuid::new_v4());
        let lines = pattern.lines().map(|it| match it {
            it if it.starts_with("id: ") => id.clone(),
            "  name: pattern" => format!("  name: {name}"),
            other => other.to_owned(),
        });
        let text = lines.collect::<Vec<_>>().join("\n") + "\n";
        let file: &Path = &self.file(name);
        std::fs::write(file, text)?;
        self.git(&["add", "."]).await?;
        let who = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"];
        self.git(&[&who[..], &["commit", "-q", "-m", "By hand"]].concat()).await
    }

    async fn git(&self, words: &[&str]) -> anyhow::Result<()> {
        let mut git = Command::new("git");
        // What is set for other repositories must not reach this one.
        let set = std::env::vars_os().map(|it| it.0);
        for name in set.filter(|it| it.as_encoded_bytes().starts_with(b"GIT_")) {
            git.env_remove(name);
        }
        let ran = git.arg("-C").arg(&self.dir).args(words).output().await?;
        let said = String::from_utf8_lossy(&ran.stderr);
        ensure!(ran.status.success(), "git {}: {said}", words.join(" "));
        Ok(())
    }
}

impl Measured {
    fn table(&self, repeats: usize, node: &str, bare: &Samples) -> Table {
        let title = format!("By hand: `git push` into the hosted repository, {repeats} repeats");
        let columns = ["what", "median", "p95", "ratio of medians to the baseline above"];
        let mut table = Table::new(title, &columns);
        let mut row = |what: &str, it: &Samples| {
            let (median, p95) = (it.median(), it.p95());
            table.row([what.to_owned(), time(median), time(p95), ratio(median, bare.median())]);
        };
        row("`git push` begins → INSTALLED seen at CO", &self.whole);
        row("– of it until `git push` returns", &self.push);
        row("– of it after that", &self.after);
        table.note(format!("On {node}; each push adds one new file."))
    }
}
