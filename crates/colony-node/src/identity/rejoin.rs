//! Joining again when the identity does not work: the node was retired, or the
//! invitation is for another site.
//!
//! The next identity is obtained beside the old one and replaces it when it is
//! complete, so a crash at any point leaves an identity that works or one that
//! can be completed. Files of the old identity, including the state, are moved
//! to `former/<n>`: the node takes over running containers by their labels.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use tracing::warn;

use colony_wfm::{ClientError, token};

use crate::Config;
use crate::identity::{self, Identity};
use crate::manager::{Manager, refuses_node};

const IDENTITY: &str = "identity";
const NEXT: &str = "identity.next";
const FORMER: &str = "former";
/// The files that belong to an identity and move with it.
const PARTS: [&str; 2] = ["state", IDENTITY];

/// Why the invitation requires another identity; `None` if this one works, or
/// if the site does not answer.
pub(crate) async fn reason(identity: &Identity, token: &str) -> Option<String> {
    let claims = match token::read(token) {
        Ok(claims) => claims,
        Err(error) => {
            warn!("the invitation is not used: {error}");
            return None;
        }
    };
    if claims.site != identity.site {
        return Some(format!("the invitation is for site {}", claims.site));
    }
    if !identity.credentials.trusts(&claims.pin) {
        return Some(format!("site {} has another authority than before", claims.site));
    }
    refusal(identity).await.map(|it| it.to_string())
}

/// The error that the site returns, if it refuses the identity.
async fn refusal(identity: &Identity) -> Option<ClientError> {
    let manager = Manager::new(identity).ok()?;
    for _ in &identity.urls {
        match manager.client().manifest(None, None, Duration::ZERO).await {
            Ok(_) => return None,
            Err(error) if refuses_node(&error) => return Some(error),
            Err(_) => manager.try_next_address(),
        }
    }
    None
}

pub(crate) async fn replace(
    config: &Config,
    token: &str,
    old: &Identity,
    reason: &str,
) -> anyhow::Result<Identity> {
    warn!("the identity of node {} of site {} is replaced: {reason}", old.name, old.site);
    let joined = identity::join(&config.data.join(NEXT), token, config).await;
    let joined = joined.with_context(|| {
        format!("this machine was node {} of site {} ({reason})", old.name, old.site)
    })?;
    finish(&config.data)?;
    Ok(joined)
}

/// Puts the next identity into its place if it is complete.
pub(crate) fn finish(data: &Path) -> anyhow::Result<()> {
    let next = data.join(NEXT);
    let complete = identity::load(&next).is_ok_and(|it| it.is_some());
    if !complete {
        return Ok(());
    }
    let swap = || {
        set_aside(data)?;
        fs::rename(&next, data.join(IDENTITY))?;
        fs::File::open(data)?.sync_all()
    };
    swap().with_context(|| format!("could not replace the identity in {}", data.display()))
}

fn set_aside(data: &Path) -> io::Result<()> {
    let present = PARTS.iter().filter(|it| data.join(it).exists());
    let present: Vec<&&str> = present.collect();
    if present.is_empty() {
        return Ok(());
    }
    let folder = free_folder(&data.join(FORMER));
    fs::create_dir_all(&folder)?;
    present.into_iter().try_for_each(|it| fs::rename(data.join(it), folder.join(it)))
}

fn free_folder(former: &Path) -> PathBuf {
    let mut number = 1;
    loop {
        let folder = former.join(number.to_string());
        if !folder.exists() {
            return folder;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use colony_wfm::Authority;

    use super::*;
    use crate::kit::sample;
    use crate::kit::stand_in::StandIn;

    #[test]
    fn what_belonged_to_the_old_identity_is_kept_aside() {
        let data = tempfile::tempdir().expect("a directory");
        let data = data.path();
        for round in ["1", "2"] {
            for part in PARTS {
                fs::create_dir_all(data.join(part)).expect("a directory");
                fs::write(data.join(part).join("of"), round).expect("a file");
            }
            set_aside(data).expect("it is moved");
        }
        for round in ["1", "2"] {
            for part in PARTS {
                let kept = fs::read_to_string(data.join(FORMER).join(round).join(part).join("of"));
                assert_eq!(kept.expect("it is kept"), round);
                assert!(!data.join(part).exists());
            }
        }
    }

    #[tokio::test]
    async fn an_invitation_of_another_site_or_authority_replaces_the_identity() {
        let (own, other) = (sample::authority(), sample::authority());
        let identity = sample::identity(&own);
        let said = async |site: &str, authority: &Authority| {
            reason(&identity, &sample::invitation(site, "https://127.0.0.1:1", authority))
                .await
                .unwrap_or_default()
        };
        assert_eq!(said("attic", &own).await, "the invitation is for site attic");
        assert_eq!(said("home", &other).await, "site home has another authority than before");
        assert_eq!(said("home", &own).await, "", "no site answers, so nothing is known");
        assert_eq!(reason(&identity, "col1_broken").await, None);
    }

    #[tokio::test]
    async fn a_node_that_its_site_refuses_needs_another_identity() {
        check(&[403], true).await;
        check(&[200], false).await;
        check(&[503], false).await;
    }

    async fn check(statuses: &'static [u16], refused: bool) {
        let site = StandIn::start(statuses).await;
        let urls = vec![site.url.clone()];
        let identity = Identity { urls, ..sample::identity(&site.authority) };
        let token = sample::invitation(sample::SITE, &site.url, &site.authority);
        let reason = reason(&identity, &token).await;
        assert_eq!(reason.is_some(), refused, "{statuses:?}: {reason:?}");
        assert_eq!(site.seen(), ["/api/v1/deployments"]);
    }

    #[tokio::test]
    async fn an_invitation_is_used_where_the_identity_leads_nowhere() {
        let site = StandIn::start(&[200]).await;
        let data = tempfile::tempdir().expect("a directory");
        let old = sample::identity(&sample::authority());
        identity::save(&data.path().join(IDENTITY), &old).expect("it is kept");
        let join = Some(sample::invitation(sample::SITE, &site.url, &site.authority));
        let config = Config { join, ..sample::config(data.path()) };

        let found = identity::obtain(&config).await.expect("it joins");

        assert_ne!(found.credentials, old.credentials);
        assert_eq!((found.name.as_str(), found.urls), ("n1", vec![site.url.clone()]));
        let kept = identity::load(&data.path().join(IDENTITY)).expect("it is read");
        assert!(kept.is_some_and(|it| it.credentials == found.credentials));
        assert_eq!(site.seen(), ["/colony/v1/join"]);
    }

    #[test]
    fn a_complete_identity_takes_the_place_of_the_old_one() {
        let data = tempfile::tempdir().expect("a directory");
        let data = data.path();
        let (old, new) = (sample::authority(), sample::authority());
        identity::save(&data.join(IDENTITY), &sample::identity(&old)).expect("it is kept");
        identity::save(&data.join(NEXT), &sample::identity(&new)).expect("it is kept");
        finish(data).expect("it is replaced");
        let load = |it: &str| identity::load(&data.join(it)).expect("it is read");
        assert!(load(IDENTITY).is_some_and(|it| it.credentials.trusts(&new.fingerprint())));
        assert!(
            load("former/1/identity").is_some_and(|it| it.credentials.trusts(&old.fingerprint()))
        );
        assert!(load(NEXT).is_none());
        finish(data).expect("there is nothing left to do");
    }

    #[test]
    fn an_identity_that_is_not_complete_replaces_nothing() {
        let data = tempfile::tempdir().expect("a directory");
        let data = data.path();
        fs::create_dir_all(data.join(IDENTITY)).expect("a directory");
        fs::create_dir_all(data.join(NEXT)).expect("a directory");
        finish(data).expect("there is nothing to do");
        assert!(data.join(IDENTITY).exists() && !data.join(FORMER).exists());
    }
}
