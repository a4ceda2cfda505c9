//! `colony repo …`: clones the deployments repository with the git program.
//!
//! The token reaches git through its environment and the clone's own
//! configuration, never through an argument that `ps` shows.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use tokio::process::Command;

use colony_api::Server;
use colony_api::view::RepoView;

use crate::cli::{Global, Peer, RepoCommand};
use crate::output::Out;
use crate::output::view::talk;

pub(super) async fn run(
    global: &Global,
    command: RepoCommand,
    out: &mut Out,
) -> anyhow::Result<u8> {
    let view = global.client()?.repo().await?;
    match command {
        RepoCommand::Show => out.show(&view, talk::repo)?,
        RepoCommand::Clone { directory } => {
            let directory = directory.unwrap_or_else(|| PathBuf::from("deployments"));
            clone(global, &view, &directory, out).await?;
        }
    }
    Ok(0)
}

async fn clone(
    global: &Global,
    view: &RepoView,
    directory: &Path,
    out: &mut Out,
) -> anyhow::Result<()> {
    ensure!(!directory.exists(), "{} exists already", directory.display());
    let access = Access::of(global, view)?;
    out.note(&access.clone_command(view, directory))?;
    let ca = access.write_ca(&std::env::temp_dir())?;
    let cloned = git_clone(view, directory, &access.settings(&view.url, ca.as_deref())).await;
    if let Some(ca) = &ca {
        fs::remove_file(ca).context("could not remove the copy of the CA certificate")?;
    }
    cloned?;
    access.keep(&view.url, directory)?;
    out.data(&directory.display().to_string())
}

/// The credentials that git needs.
#[derive(Debug, Default)]
struct Access {
    token: Option<String>,
    ca_pem: Option<String>,
}

impl Access {
    /// A repository on an external server has credentials of its own, which git
    /// knows.
    fn of(global: &Global, view: &RepoView) -> anyhow::Result<Access> {
        if !view.hosted {
            return Ok(Access::default());
        }
        match global.peer()? {
            Peer::Server(Server { token, ca_pem, .. }) => Ok(Access { token, ca_pem }),
            Peer::Socket(_) => bail!("a site's socket holds no repository: ask the central server"),
        }
    }

    fn clone_command(&self, view: &RepoView, directory: &Path) -> String {
        let with = match (&self.token, &self.ca_pem) {
            (Some(_), Some(_)) => ", with your token and the fleet's CA",
            (Some(_), None) => ", with your token",
            (None, _) => "",
        };
        let (url, branch) = (&view.url, &view.branch);
        let kept = if self.token.is_some() { "; both stay in its .git/config" } else { "" };
        format!("git clone --branch {branch} {url} {}{with}{kept}", directory.display())
    }

    /// Writes a copy of the CA below `folder`, where git can read it.
    fn write_ca(&self, folder: &Path) -> anyhow::Result<Option<PathBuf>> {
        let Some(pem) = &self.ca_pem else { return Ok(None) };
        let path = folder.join(format!("colony-ca-{}.pem", std::process::id()));
        write_private(&path, pem).context("could not write the CA certificate for git")?;
        Ok(Some(path))
    }

    /// Settings of git, only for requests below `url`.
    fn settings(&self, url: &str, ca: Option<&Path>) -> Vec<(String, String)> {
        let token = self
            .token
            .as_ref()
            .map(|it| (format!("http.{url}.extraHeader"), format!("Authorization: Bearer {it}")));
        let ca = ca.map(|it| (format!("http.{url}.sslCAInfo"), it.display().to_string()));
        token.into_iter().chain(ca).collect()
    }

    /// Stores the credentials in the clone, so that `git pull` and `git push`
    /// work there.
    fn keep(&self, url: &str, directory: &Path) -> anyhow::Result<()> {
        let own = directory.join(".git");
        let own = own.canonicalize().context("git made no clone")?;
        let ca = self.ca_pem.as_ref().map(|pem| (own.join("colony-ca.pem"), pem));
        if let Some((path, pem)) = &ca {
            write_private(path, pem).context("could not keep the CA certificate")?;
        }
        let mut section = String::new();
        for (key, value) in self.settings(url, ca.as_ref().map(|it| it.0.as_path())) {
            let key = key.rsplit('.').next().unwrap_or(&key).to_owned();
            section += &format!("\t{key} = {}\n", quoted(&value));
        }
        if section.is_empty() {
            return Ok(());
        }
        let text = format!("[http {}]\n{section}", quoted(url));
        append_private(&own.join("config"), &text).context("could not keep the way in")
    }
}

/// Quotes a text for git's configuration.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

async fn git_clone(
    view: &RepoView,
    directory: &Path,
    settings: &[(String, String)],
) -> anyhow::Result<()> {
    let mut git = Command::new("git");
    // Settings for another repository must not apply to this one.
    for (name, _) in
        std::env::vars_os().filter(|(it, _)| it.as_encoded_bytes().starts_with(b"GIT_"))
    {
        git.env_remove(name);
    }
    git.env("GIT_TERMINAL_PROMPT", "0").env("GIT_CONFIG_COUNT", settings.len().to_string());
    for (at, (key, value)) in settings.iter().enumerate() {
        git.env(format!("GIT_CONFIG_KEY_{at}"), key);
        git.env(format!("GIT_CONFIG_VALUE_{at}"), value);
    }
    git.args(["clone", "--branch", &view.branch, "--", &view.url]).arg(directory);
    let status = git.status().await.context("could not start git; install it: apt install git")?;
    ensure!(status.success(), "git clone ended with {status}");
    Ok(())
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)?.write_all(text.as_bytes())
}

fn append_private(path: &Path, text: &str) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    fs::OpenOptions::new().append(true).open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const URL: &str = "https://hub:7443/git/deployments.git";

    #[tokio::test]
    async fn git_reads_the_way_in_back_and_nobody_else_does() {
        let folder = tempfile::tempdir().expect("a folder");
        git(folder.path(), &["init", "-q", "."]).await;
        let access = Access { token: Some("a\"b".into()), ca_pem: Some("PEM".into()) };

        access.keep(URL, folder.path()).expect("kept");

        let read = async |key: &str, url: &str| {
            git(folder.path(), &["config", "--get-urlmatch", key, url]).await
        };
        assert_eq!(read("http.extraHeader", URL).await, "Authorization: Bearer a\"b");
        assert_eq!(read("http.extraHeader", "https://elsewhere/x.git").await, "");
        let ca = read("http.sslCAInfo", URL).await;
        assert_eq!(fs::read_to_string(ca).expect("the CA"), "PEM");
        let mode =
            fs::metadata(folder.path().join(".git/config")).expect("it").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[tokio::test]
    async fn a_repository_elsewhere_is_cloned_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let origin = folder.path().join("origin");
        fs::create_dir(&origin).expect("a folder");
        git(&origin, &["init", "-q", "-b", "main", "."]).await;
        let who = ["-c", "user.name=ann", "-c", "user.email=ann@example.com"];
        git(&origin, &[&who[..], &["commit", "-q", "--allow-empty", "-m", "first"]].concat()).await;
        let view = RepoView {
            url: origin.display().to_string(),
            branch: "main".into(),
            hosted: false,
            auth: colony_api::site::GitAuth::None,
            how: String::new(),
        };
        let mut out = Out::buffers(crate::cli::Format::Table, std::io::sink(), std::io::sink());
        let target = folder.path().join("clone");

        clone(&Global::default(), &view, &target, &mut out).await.expect("cloned");

        assert_eq!(git(&target, &["log", "--format=%s"]).await, "first");
        let again = clone(&Global::default(), &view, &target, &mut out).await;
        assert!(again.expect_err("it is there").to_string().ends_with("exists already"));
    }

    async fn git(folder: &Path, arguments: &[&str]) -> String {
        let done = Command::new("git").current_dir(folder).args(arguments).output().await;
        let done = done.expect("git is needed: apt install git");
        String::from_utf8(done.stdout).expect("UTF-8").trim().to_owned()
    }
}
