//! The addresses of this role and of its repository.

use std::net::SocketAddr;

use anyhow::{Context, bail};
use colony_api::site::{GitAccess, GitAuth};
use colony_git::{Auth, Deployments, Remote};
use colony_wfm::{host_of, login};

use crate::config::Config;
use crate::repo::Repo;

/// Opens the repository: hosted here, or a copy of an external one.
pub(crate) async fn open_repo(config: &Config) -> anyhow::Result<Repo> {
    let (dir, git, limits) = (config.data.clone(), config.git.clone(), config.fetch);
    let open = move || match git {
        None => {
            let dir = dir.join("deployments.git");
            Deployments::hosted(&dir).map(|it| Repo::new(it, Some(dir)))
        }
        Some(git) => {
            let remote = Remote { url: git.url.clone(), auth: git.auth.clone() };
            let opened = Deployments::remote(&dir.join("remote.git"), remote, &git.branch);
            opened.map(|it| Repo::new(it.limited(limits), None))
        }
    };
    let repo = tokio::task::spawn_blocking(open).await?;
    let repo = repo.context("could not open the deployments repository")?;
    // An unreachable server must not prevent the start: readiness reports it.
    if let Err(error) = repo.refresh().await {
        tracing::warn!("could not read the deployments repository: {error}");
    }
    Ok(repo)
}

/// Refuses a password in the address: sites and all operators see the address.
pub(crate) fn check_git(config: &Config) -> anyhow::Result<()> {
    let Some(git) = &config.git else { return Ok(()) };
    if login::password(&git.url).is_some() {
        let shown = login::without_login(&git.url);
        bail!(
            "`git.url` holds a password; put it into a file that `git.token-file` names, \
             and use {shown}"
        );
    }
    Ok(())
}

/// The address as it is shown outside this process. The user of an HTTP address
/// may be a token; the user of SSH is part of the address.
fn public_url(url: &str) -> String {
    match url.split_once("://") {
        Some(("http" | "https", _)) => login::without_login(url),
        Some(_) | None => url.to_owned(),
    }
}

/// How sites access the repository.
pub(crate) fn git_access(config: &Config, urls: &[String]) -> GitAccess {
    let own = urls.first().map_or("", String::as_str);
    match &config.git {
        None => GitAccess {
            url: format!("{own}/git/deployments.git"),
            branch: "main".to_owned(),
            auth: GitAuth::Mtls,
        },
        Some(git) => GitAccess {
            url: public_url(&git.url),
            branch: git.branch.clone(),
            auth: match git.auth {
                Auth::None => GitAuth::None,
                Auth::Token(_) => GitAuth::Token,
                Auth::Ssh => GitAuth::Ssh,
                Auth::Mtls { .. } => GitAuth::Mtls,
            },
        },
    }
}

/// The URLs of this role; made from its own port if none are configured.
pub(crate) fn urls(config: &Config, addr: SocketAddr) -> Vec<String> {
    if !config.advertise.is_empty() {
        return config.advertise.iter().map(|it| it.trim_end_matches('/').to_owned()).collect();
    }
    let host = host_of(addr.ip());
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    vec![format!("https://{host}:{}", addr.port())]
}

/// The names the certificate is for.
pub(crate) fn hosts(config: &Config) -> Vec<String> {
    let mut hosts = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    hosts.push(host_of(config.listen.ip()));
    hosts.extend(config.advertise.iter().filter_map(|it| host(it)));
    hosts.sort();
    hosts.dedup();
    hosts
}

fn host(url: &str) -> Option<String> {
    let authority = url.split_once("://").map_or(url, |it| it.1);
    let authority = authority.split('/').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => authority.split(':').next(),
    };
    host.map(str::to_owned).filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::config::GitConfig;

    #[test]
    fn no_login_of_the_repository_leaves_the_process() {
        check_shown("https://h/r.git", Some("https://h/r.git"));
        check_shown("https://ghp_secret@h/r.git", Some("https://h/r.git"));
        check_shown("ssh://git@h/r.git", Some("ssh://git@h/r.git"));
        check_shown("git@h:r.git", Some("git@h:r.git"));
        check_shown("https://ana:hunter2@h/r.git", None);
        check_shown("ssh://ana:hunter2@h/r.git", None);
    }

    /// `None` for an address that is refused.
    #[track_caller]
    fn check_shown(url: &str, expected: Option<&str>) {
        let mut config = Config::new(PathBuf::new(), "127.0.0.1:0".parse().expect("an address"));
        config.git = Some(GitConfig::new(url));
        let refused = check_git(&config).err().map(|it| it.to_string());
        match (&refused, expected) {
            (None, Some(expected)) => assert_eq!(git_access(&config, &[]).url, expected),
            (Some(text), None) => {
                assert!(text.contains("git.token-file") && !text.contains("hunter2"), "{text}");
            }
            (_, _) => panic!("{url}: {refused:?}"),
        }
    }

    #[test]
    fn the_host_of_a_url_is_found_however_it_is_written() {
        check("https://hub.local:7443", Some("hub.local"));
        check("https://[::1]:7443/x", Some("::1"));
        check("10.0.0.7", Some("10.0.0.7"));
        check("https://", None);
    }

    #[track_caller]
    fn check(url: &str, expected: Option<&str>) {
        assert_eq!(host(url).as_deref(), expected);
    }
}
