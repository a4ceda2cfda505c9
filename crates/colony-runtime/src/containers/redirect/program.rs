//! The programs `iptables-save` and `iptables-restore`.
//!
//! A machine may have two variants, for the two packet filters of Linux. What
//! one of them sets up the other does not show, so a redirect uses the variant
//! that shows the engine's rules.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

use super::rules::Saved;

const TIME_LIMIT: Duration = Duration::from_secs(20);
/// The wait for the lock that `iptables` of other processes hold, in seconds.
const LOCK: &str = "5";
const OUTPUT_LIMIT: usize = 32 << 20;
const MESSAGE_LIMIT: usize = 300;
const VARIANTS: [&str; 3] = ["iptables", "iptables-nft", "iptables-legacy"];
/// Lie beyond the usual `PATH` of a service.
const FOLDERS: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Iptables {
    save: PathBuf,
    restore: PathBuf,
}

impl Iptables {
    /// The variants that can be used without loading the older packet filter
    /// into the kernel.
    pub(super) fn variants() -> Vec<Iptables> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(FOLDERS.map(PathBuf::from));
        let folders: Vec<PathBuf> = folders.collect();
        let find = |name: String| folders.iter().map(|it| it.join(&name)).find(|it| it.is_file());
        let mut known: Vec<PathBuf> = Vec::new();
        let mut found = Vec::new();
        for variant in VARIANTS {
            let programs = (find(format!("{variant}-save")), find(format!("{variant}-restore")));
            let (Some(save), Some(restore)) = programs else { continue };
            let real = save.canonicalize().unwrap_or_else(|_| save.clone());
            if !known.contains(&real) && (!is_legacy(&real) || legacy_is_in_use()) {
                known.push(real);
                found.push(Iptables { save, restore });
            }
        }
        found
    }

    pub(super) async fn save(&self) -> Result<Saved, String> {
        let output = self.run(&self.save, &[], "").await?;
        if output.stdout.len() > OUTPUT_LIMIT {
            return Err(format!(
                "{}: more than {OUTPUT_LIMIT} bytes of rules",
                self.save.display()
            ));
        }
        Ok(Saved::parse(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Changes rules, without those that are not mentioned.
    pub(super) async fn apply(&self, rules: &str) -> Result<(), String> {
        if rules.is_empty() {
            return Ok(());
        }
        self.run(&self.restore, &["--noflush", "-w", LOCK], rules).await.map(drop)
    }

    async fn run(&self, program: &Path, arguments: &[&str], input: &str) -> Result<Output, String> {
        let failed = |why: String| format!("{}: {why}", program.display());
        let mut command = Command::new(program);
        command.args(arguments).env("LC_ALL", "C").kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|it| failed(it.to_string()))?;
        let stdin = child.stdin.take();
        let ended = async {
            let write = async {
                // A program that ended early says why.
                if let Some(mut stdin) = stdin {
                    let _ = stdin.write_all(input.as_bytes()).await;
                }
            };
            tokio::join!(child.wait_with_output(), write).0
        };
        let ended = timeout(TIME_LIMIT, ended).await;
        let ended = ended.map_err(|_| failed(format!("did not end within {TIME_LIMIT:?}")))?;
        let output = ended.map_err(|it| failed(it.to_string()))?;
        match output.status.success() {
            true => Ok(output),
            false => Err(failed(first_line(&output.stderr))),
        }
    }
}

fn first_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().find(|it| !it.trim().is_empty()).unwrap_or("failed without a message");
    line.chars().filter(|it| !it.is_control()).take(MESSAGE_LIMIT).collect()
}

fn is_legacy(program: &Path) -> bool {
    program.to_string_lossy().contains("legacy")
}

/// The kernel has tables of the older packet filter.
fn legacy_is_in_use() -> bool {
    let tables = std::fs::read_to_string("/proc/net/ip_tables_names");
    tables.is_ok_and(|it| it.lines().any(|it| it == "nat"))
}
