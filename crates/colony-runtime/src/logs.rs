//! What containers print, and the end of what those printed that are gone.
//!
//! `logs/<deployment>/<component>.<service>.log` holds the last lines of the
//! container that was removed last; every file and their number is bounded.
//! Staged containers have files of their own, and leave one only if they were
//! not well: what a good one said is said again by the active one.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use bollard::container::LogOutput;
use bollard::query_parameters::LogsOptions;
use colony_core::attempt::Failure;
use colony_margo::DeploymentId;
use futures_util::StreamExt;
use tracing::debug;

use crate::archive::disk;
use crate::file;
use crate::runtime::Inner;
use crate::survey::Seen;
use crate::trouble::Trouble;

const KEPT_LINES: u32 = 500;
const KEPT_BYTES: usize = 64 << 10;
/// Of how many deployments old logs are kept.
const KEPT_DEPLOYMENTS: usize = 100;
/// Most that is shown at once.
const SHOWN_LINES: u32 = 10_000;
const SHOWN_BYTES: usize = 4 << 20;
const LINE_LIMIT: usize = 4 << 10;
/// How long an engine may take for what one container printed.
const TAIL_TIME: Duration = Duration::from_secs(15);
const SUFFIX: &str = ".log";
/// In a file's name; no service has such a name.
const STAGED: &str = "@staged";
/// What people read instead.
const STAGED_SHOWN: &str = " (staged)";

impl Inner {
    pub(crate) async fn logs(
        &self,
        deployment: &DeploymentId,
        previous: bool,
        lines: u32,
    ) -> Result<Vec<(String, String)>, Failure> {
        let lines = lines.min(SHOWN_LINES);
        match previous {
            true => self.logs_kept(deployment, lines).await,
            false => self.logs_running(deployment, lines).await,
        }
    }

    async fn logs_running(
        &self,
        deployment: &DeploymentId,
        lines: u32,
    ) -> Result<Vec<(String, String)>, Failure> {
        let failed = |it: Trouble| it.failed("read the logs");
        let mut seen = self.survey(Some(deployment)).await.map_err(failed)?;
        seen.sort_by_key(place);
        let several = seen.iter().any(|it| it.owner.component != seen[0].owner.component);
        let mut logs = Vec::new();
        for it in seen.iter().filter(|it| !it.unborn) {
            let name = if several { place(it) } else { service(it) };
            let tail = self.tail(&it.id, lines).await.map_err(failed)?;
            logs.extend(tail.into_iter().map(|line| (name.clone(), line)));
        }
        Ok(logs)
    }

    async fn logs_kept(
        &self,
        deployment: &DeploymentId,
        lines: u32,
    ) -> Result<Vec<(String, String)>, Failure> {
        let folder = self.log_folder(deployment);
        let names = file::names(&folder).await.map_err(|it| disk(&it))?;
        let places: Vec<&str> = names.iter().filter_map(|it| it.strip_suffix(SUFFIX)).collect();
        // Names of components have no dot.
        let component = |it: &str| it.split('.').next().unwrap_or_default().to_owned();
        let several = places.iter().any(|it| component(it) != component(places[0]));
        let mut logs = Vec::new();
        for place in &places {
            let service = place.split_once('.').map_or(*place, |it| it.1);
            let name = if several { place.replacen('.', "/", 1) } else { service.to_owned() };
            let name = name.replace(STAGED, STAGED_SHOWN);
            let path = folder.join(format!("{place}{SUFFIX}"));
            let bytes = file::read(&path).await.map_err(|it| disk(&it))?.unwrap_or_default();
            let tail = last(&String::from_utf8_lossy(&bytes), lines as usize);
            logs.extend(tail.into_iter().map(|line| (name.clone(), line)));
        }
        Ok(logs)
    }

    /// The last lines a container printed.
    pub(crate) async fn tail(&self, id: &str, lines: u32) -> Result<Vec<String>, Trouble> {
        let tail = tokio::time::timeout(TAIL_TIME, self.tail_read(id, lines)).await;
        tail.unwrap_or(Err(Trouble::Slow))
    }

    async fn tail_read(&self, id: &str, lines: u32) -> Result<Vec<String>, Trouble> {
        let options = LogsOptions {
            stdout: true,
            stderr: true,
            tail: lines.to_string(),
            ..LogsOptions::default()
        };
        let mut parts = Box::pin(self.docker.logs(id, Some(options)));
        let mut text: Vec<u8> = Vec::new();
        while let Some(part) = parts.next().await {
            match part.map(LogOutput::into_bytes).map_err(Trouble::from) {
                Ok(part) => text.extend_from_slice(&part),
                Err(trouble) if trouble.is_gone() => break,
                Err(trouble) => return Err(trouble),
            }
            // The end is what matters.
            if text.len() > 2 * SHOWN_BYTES {
                text.drain(..text.len() - SHOWN_BYTES);
            }
        }
        Ok(last(&String::from_utf8_lossy(&text), lines as usize))
    }

    /// Keeps the end of what a container printed that is about to go.
    pub(crate) async fn keep_log(&self, seen: &Seen) {
        if seen.unborn || (seen.owner.staged && self.is_well(seen)) {
            return;
        }
        let Ok(lines) = self.tail(&seen.id, KEPT_LINES).await else { return };
        if lines.is_empty() {
            return;
        }
        let mut text = lines.join("\n").into_bytes();
        text.drain(..text.len().saturating_sub(KEPT_BYTES));
        let mark = if seen.owner.staged { STAGED } else { "" };
        let name = format!("{}.{}{mark}{SUFFIX}", seen.owner.component, seen.owner.service);
        let path = self.log_folder(&seen.owner.deployment).join(name);
        if let Err(error) = file::replace(&path, text, 0o600).await {
            debug!("could not keep the log of a container: {error}");
        }
    }

    /// Forgets the logs of all but the deployments that wrote last.
    pub(crate) async fn logs_prune(&self) -> Result<(), Failure> {
        let root = self.config.dir.join("logs");
        let mut folders: Vec<(SystemTime, PathBuf)> = Vec::new();
        for name in file::names(&root).await.map_err(|it| disk(&it))? {
            let path = root.join(name);
            let written = tokio::fs::metadata(&path).await.and_then(|it| it.modified());
            folders.push((written.unwrap_or(SystemTime::UNIX_EPOCH), path));
        }
        folders.sort();
        let surplus = folders.len().saturating_sub(KEPT_DEPLOYMENTS);
        for (_, path) in &folders[..surplus] {
            tokio::fs::remove_dir_all(path).await.map_err(|it| disk(&it))?;
        }
        Ok(())
    }

    fn log_folder(&self, deployment: &DeploymentId) -> PathBuf {
        self.config.dir.join("logs").join(deployment.as_str())
    }
}

fn place(seen: &Seen) -> String {
    format!("{}/{}", seen.owner.component, service(seen))
}

fn service(seen: &Seen) -> String {
    let mark = if seen.owner.staged { STAGED_SHOWN } else { "" };
    format!("{}{mark}", seen.owner.service)
}

fn last(text: &str, lines: usize) -> Vec<String> {
    let all: Vec<&str> = text.lines().collect();
    let tail = &all[all.len().saturating_sub(lines)..];
    tail.iter().map(|it| it.trim_end().chars().take(LINE_LIMIT).collect()).collect()
}
