//! The output of containers, and the last lines of removed ones.
//!
//! `logs/<deployment>/<component>.<service>.log` holds the last lines of the
//! container that was removed last; every file and their number is bounded.
//! Staged containers have separate files, and leave one only if they were
//! unhealthy: the active container prints the output of a healthy one again.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use colony_core::attempt::Failure;
use colony_core::margo::DeploymentId;
use tracing::debug;

use crate::containers::api::{OutputRange, Take};
use crate::containers::engine::ContainerEngine;
use crate::containers::engine_error::EngineError;
use crate::containers::survey::ObservedContainer;
use crate::file;
use crate::logs::log_line::{Position, Printed};
use crate::logs::{LogPage, LogQuery, SHOWN_BYTES, page};
use crate::oci::archive::disk;

const KEPT_LINES: u32 = 500;
const KEPT_BYTES: usize = 64 << 10;
/// How many deployments keep old logs.
const KEPT_DEPLOYMENTS: usize = 100;
/// The most bytes of one page of a followed log.
const PAGE_BYTES: usize = 128 << 10;
/// How long an engine may take to return the output of one container.
const TAIL_TIME: Duration = Duration::from_secs(15);
const SUFFIX: &str = ".log";
/// Marks staged containers in file names; no service has such a name.
const STAGED: &str = "@staged";
/// The same mark as shown to people.
const STAGED_SHOWN: &str = " (staged)";

impl ContainerEngine {
    pub(crate) async fn logs(
        &self,
        deployment: &DeploymentId,
        query: &LogQuery,
    ) -> Result<LogPage, Failure> {
        match query.previous {
            true => self.logs_kept(deployment, query).await,
            false => self.logs_running(deployment, query).await,
        }
    }

    async fn logs_running(
        &self,
        deployment: &DeploymentId,
        query: &LogQuery,
    ) -> Result<LogPage, Failure> {
        let failed = |it: EngineError| it.failed("read the logs");
        let mut seen = self.survey(Some(deployment)).await.map_err(failed)?;
        seen.retain(|it| !it.unborn);
        seen.sort_by_key(place);
        let several = seen.iter().any(|it| it.owner.component != seen[0].owner.component);
        let names = seen.iter().map(|it| if several { place(it) } else { service(it) });
        let names: Vec<String> = names.collect();
        query.check_service(&names)?;
        let position = Position::read(query.after.as_deref().unwrap_or_default());
        let (mut lines, share) = (Vec::new(), PAGE_BYTES / seen.len().max(1));
        for (it, name) in seen.iter().zip(&names).filter(|it| query.wants(it.1)) {
            let printed = match query.after {
                Some(_) => self.next(&it.id, name, &position, query, share).await,
                None => self.tail_read(&it.id, query.limit(), query.since).await,
            };
            lines.push((name.clone(), printed.map_err(failed)?));
        }
        Ok(page(lines, position))
    }

    async fn logs_kept(
        &self,
        deployment: &DeploymentId,
        query: &LogQuery,
    ) -> Result<LogPage, Failure> {
        let folder = self.log_folder(deployment);
        let names = file::names(&folder).await.map_err(|it| disk(&it))?;
        let places: Vec<&str> = names.iter().filter_map(|it| it.strip_suffix(SUFFIX)).collect();
        let shown: Vec<String> = places.iter().map(|it| kept_name(it, &places)).collect();
        query.check_service(&shown)?;
        let mut lines = Vec::new();
        for (place, name) in places.iter().zip(&shown).filter(|it| query.wants(it.1)) {
            let path = folder.join(format!("{place}{SUFFIX}"));
            let bytes = file::read(&path).await.map_err(|it| disk(&it))?.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            let mut printed: Vec<Printed> = text.lines().map(Printed::read).collect();
            printed.retain(|it| query.is_recent(it));
            let surplus = printed.len().saturating_sub(query.limit() as usize);
            lines.push((name.clone(), printed.split_off(surplus)));
        }
        Ok(page(lines, Position::default()))
    }

    /// The last lines a container printed.
    pub(crate) async fn tail(&self, id: &str, lines: u32) -> Result<Vec<String>, EngineError> {
        let printed = self.tail_read(id, lines, None).await?;
        Ok(printed.into_iter().map(|it| it.text).collect())
    }

    async fn tail_read(
        &self,
        id: &str,
        lines: u32,
        since: Option<u64>,
    ) -> Result<Vec<Printed>, EngineError> {
        let range = OutputRange { tail: Some(lines), since };
        let mut text: Vec<u8> = Vec::new();
        self.each_part(id, range, &mut |part| {
            text.extend_from_slice(part);
            // Only the end is needed.
            if text.len() > 2 * SHOWN_BYTES {
                text.drain(..text.len() - SHOWN_BYTES);
            }
            true
        })
        .await?;
        let text = String::from_utf8_lossy(&text);
        let mut printed: Vec<Printed> = text.lines().map(Printed::read).collect();
        let surplus = printed.len().saturating_sub(lines as usize);
        Ok(printed.split_off(surplus))
    }

    /// The output of a container after a position, up to `bytes`: the rest
    /// follows with the next page, so that no line is lost.
    async fn next(
        &self,
        id: &str,
        name: &str,
        position: &Position,
        query: &LogQuery,
        bytes: usize,
    ) -> Result<Vec<Printed>, EngineError> {
        let since = position.since(name).or(query.since);
        let (mut reader, mut page) = (position.reader(name), Vec::new());
        let (mut rest, mut room) = (Vec::new(), bytes);
        let mut take = |line: &[u8], page: &mut Vec<Printed>| {
            let line = Printed::read(&String::from_utf8_lossy(line));
            if reader.is_new(&line) && query.is_recent(&line) {
                room = room.saturating_sub(line.text.len() + name.len());
                page.push(line);
            }
            room > 0 && page.len() < query.limit() as usize
        };
        let mut more = true;
        self.each_part(id, OutputRange { tail: None, since }, &mut |part| {
            rest.extend_from_slice(part);
            while let Some(end) = rest.iter().position(|it| *it == b'\n').filter(|_| more) {
                let line: Vec<u8> = rest.drain(..=end).collect();
                more = take(&line, &mut page);
            }
            more
        })
        .await?;
        if more && !rest.is_empty() {
            take(&rest, &mut page);
        }
        Ok(page)
    }

    /// Reads until the output ends, or `take` has enough.
    async fn each_part(
        &self,
        id: &str,
        range: OutputRange,
        take: Take<'_>,
    ) -> Result<(), EngineError> {
        let read = self.api.output(id, range, take);
        tokio::time::timeout(TAIL_TIME, read).await.unwrap_or(Err(EngineError::Timeout))
    }

    /// Keeps the last lines of a container that is about to be removed.
    pub(crate) async fn keep_log(&self, seen: &ObservedContainer) {
        if seen.unborn || (seen.owner.staged && self.is_well(seen)) {
            return;
        }
        let Ok(lines) = self.tail_read(&seen.id, KEPT_LINES, None).await else { return };
        if lines.is_empty() {
            return;
        }
        let lines: Vec<String> = lines.iter().map(Printed::write).collect();
        let mut text = lines.join("\n").into_bytes();
        text.drain(..text.len().saturating_sub(KEPT_BYTES));
        let mark = if seen.owner.staged { STAGED } else { "" };
        let name = format!("{}.{}{mark}{SUFFIX}", seen.owner.component, seen.owner.service);
        let path = self.log_folder(&seen.owner.deployment).join(name);
        if let Err(error) = file::replace(&path, text, 0o600).await {
            debug!("could not keep the log of a container: {error}");
        }
    }

    /// Removes the logs of all but the deployments that wrote last.
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

fn place(seen: &ObservedContainer) -> String {
    format!("{}/{}", seen.owner.component, service(seen))
}

fn service(seen: &ObservedContainer) -> String {
    let mark = if seen.owner.staged { STAGED_SHOWN } else { "" };
    format!("{}{mark}", seen.owner.service)
}

/// The display name of a kept file. Names of components have no dot.
fn kept_name(place: &str, all: &[&str]) -> String {
    let component = |it: &str| it.split('.').next().unwrap_or_default().to_owned();
    let several = all.iter().any(|it| component(it) != component(place));
    let service = place.split_once('.').map_or(place, |it| it.1);
    let name = if several { place.replacen('.', "/", 1) } else { service.to_owned() };
    name.replace(STAGED, STAGED_SHOWN)
}
