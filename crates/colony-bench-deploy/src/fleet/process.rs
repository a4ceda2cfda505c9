//! One process of colony: how it is started, ended and weighed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use tokio::process::{Child, Command};

use crate::fleet::maps::{self, Part};

/// A role that runs. It is killed if it is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    program: PathBuf,
    pub(crate) log: PathBuf,
}

/// What the kernel says of a process's memory, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Weight {
    /// Private pages, and a share of those others have mapped too.
    pub(crate) pss: u64,
    /// The part of it that no file stands behind.
    pub(crate) anonymous: u64,
    pub(crate) rss: u64,
}

impl Process {
    /// Starts `program`; what it logs is added to `log`.
    pub(crate) fn start(
        program: &Path,
        arguments: &[&str],
        environment: &[(&str, String)],
        log: &Path,
    ) -> anyhow::Result<Process> {
        let file = File::options().create(true).append(true).open(log);
        let file = file.with_context(|| format!("could not write {}", log.display()))?;
        let mut command = Command::new(program);
        command.args(arguments).envs(environment.iter().cloned()).kill_on_drop(true);
        // With backtraces enabled, a process reads the tables for them into memory.
        command.env_remove("RUST_BACKTRACE");
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let child = command.spawn();
        let child = child.with_context(|| format!("could not start {}", program.display()))?;
        let program = program.canonicalize()?;
        Ok(Process { child, program, log: log.to_owned() })
    }

    /// Asks it to end, and waits until it has.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        if let Some(id) = self.child.id() {
            let told = Command::new("kill").arg(id.to_string()).status().await?;
            ensure!(told.success(), "could not end process {id}");
        }
        self.child.wait().await?;
        Ok(())
    }

    /// Whether it still runs; an error tells where its log is.
    pub(crate) fn check(&mut self) -> anyhow::Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => anyhow::bail!("a role ended ({status}), see {}", self.log.display()),
        }
    }

    pub(crate) fn weight(&self) -> anyhow::Result<Weight> {
        Ok(read(&self.told("smaps_rollup")?))
    }

    /// The processor time of it and of the children it has waited for.
    pub(crate) fn cpu(&self) -> anyhow::Result<Duration> {
        cpu(&self.told("stat")?).context("could not read the process's times")
    }

    /// Where its memory is.
    pub(crate) fn parts(&self) -> anyhow::Result<Vec<(Part, u64)>> {
        Ok(maps::parts(&self.told("smaps")?, &self.program.display().to_string()))
    }

    fn told(&self, file: &str) -> anyhow::Result<String> {
        let id = self.child.id().context("the process has ended")?;
        Ok(std::fs::read_to_string(format!("/proc/{id}/{file}"))?)
    }
}

/// A field that the kernel gives in kB.
pub(crate) fn bytes(text: &str, key: &str) -> u64 {
    let line = text.lines().find_map(|it| it.strip_prefix(key)?.strip_suffix("kB"));
    line.and_then(|it| it.trim().parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn read(rollup: &str) -> Weight {
    let bytes = |key| bytes(rollup, key);
    Weight { pss: bytes("Pss:"), anonymous: bytes("Pss_Anon:"), rss: bytes("Rss:") }
}

/// The kernel counts hundredths of a second for everyone who asks by `/proc`.
const TICK: Duration = Duration::from_millis(10);

/// User and system time, of the process and of its children: fields 14 to 17.
/// The second field is a name in brackets that may hold anything.
fn cpu(stat: &str) -> Option<Duration> {
    let (_, rest) = stat.rsplit_once(')')?;
    let times: Vec<u32> = rest
        .split_whitespace()
        .skip(11)
        .take(4)
        .map(|it| it.parse().ok())
        .collect::<Option<_>>()?;
    Some(TICK * times.iter().sum::<u32>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_stand_behind_the_name_whatever_that_is() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4 900 0 0 0 120 30 4 6 20 0 9 0 100 1 1";
        assert_eq!(cpu(stat), Some(Duration::from_millis(1600)));
        assert_eq!(cpu("7 (a) S 1"), Some(Duration::ZERO));
        assert_eq!(cpu("nothing"), None);
    }

    #[test]
    fn a_rollup_is_read_in_bytes() {
        let text = "00400000-7ffd [rollup]\nRss:   5000 kB\nPss:   3000 kB\nPss_Anon:   1000 kB\n";
        let weight = read(text);
        assert_eq!((weight.rss, weight.pss), (5_120_000, 3_072_000));
        assert_eq!(weight.anonymous, 1_024_000);
    }
}
