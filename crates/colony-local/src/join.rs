//! Joins the fleet as the orchestrator of a site, once: sends a token and a CSR
//! and receives an identity.
//!
//! Later starts read the result from disk and do not need central. A token
//! other than the stored one joins again, as the next incarnation.

use std::time::Duration;

use anyhow::{Context, bail};
use bytes::Bytes;
use http::Method;
use tracing::{info, warn};

use colony_api::problem::Kind;
use colony_api::site::{SiteJoinRequest, SiteJoined};
use colony_core::id::SiteName;
use colony_core::margo::Problem;
use colony_process::Backoff;
use colony_wfm::token::{self, Claims};
use colony_wfm::{Answer, Credentials, Link, PrivateKey, TokenKind, Trust, tls};

use crate::Config;
use crate::clock::Clock;
use crate::home::{Home, Membership};

const LIMIT: usize = 256 * 1024;
const TIMEOUT: Duration = Duration::from_secs(20);
const ONCE: &str = "create another one with `colony site invite`";

/// The membership from this join or an earlier one.
pub(crate) async fn membership(home: &Home, config: &Config) -> anyhow::Result<Membership> {
    let known = home.membership()?;
    let Some(token) = &config.join else {
        return known.context(
            "this machine belongs to no site yet: run `colony site add <name>` where the central \
             orchestrator is, and start here with the `--join` it prints",
        );
    };
    let claims = token::read(token)?;
    match known {
        Some(known) if known.token == claims.id => Ok(known),
        Some(known) if known.site.as_str() != claims.site => bail!(
            "this directory belongs to site `{}`, the invitation is for `{}`: use another directory",
            known.site,
            claims.site
        ),
        Some(_) | None => join(home, token, &claims, config.replace).await,
    }
}

/// Retries until central answers; a refusal is final.
async fn join(
    home: &Home,
    token: &str,
    claims: &Claims,
    replace: bool,
) -> anyhow::Result<Membership> {
    if claims.kind != TokenKind::Site {
        bail!("this invitation is for a node: start it with `colony node --join`");
    }
    let key = home.join_key()?;
    colony_process::fail::hit(colony_process::fail::Point::LocalJoinKeyStored);
    let request = SiteJoinRequest {
        token: token.to_owned(),
        csr: key.csr().context("could not make a certificate request")?,
        replace: replace || claims.replace,
    };
    let body = Bytes::from(serde_json::to_vec(&request)?);
    let mut backoff = Backoff::default();
    loop {
        claims.check_expiry(Clock::unix())?;
        match ask(claims, &body).await {
            Ok((answer, url)) => return take(home, claims, &key, &answer, url),
            Err(unreachable) => warn!("could not join yet: {unreachable}"),
        }
        tokio::time::sleep(backoff.next_delay()).await;
    }
}

/// The first answer and the address it came from; an error lists every address
/// with its reason.
async fn ask(claims: &Claims, body: &Bytes) -> Result<(Answer, String), String> {
    let mut failures = Vec::new();
    for url in &claims.urls {
        match ask_at(url, &claims.pin, body.clone()).await {
            Ok(answer) if answer.status.as_u16() < 500 => return Ok((answer, url.clone())),
            Ok(answer) => failures.push(format!("{url}: {}", refusal(&answer))),
            Err(error) => failures.push(format!("{url}: {error:#}")),
        }
    }
    Err(failures.join("; "))
}

async fn ask_at(url: &str, pin: &str, body: Bytes) -> anyhow::Result<Answer> {
    let tls = tls::client_config(None, Trust::Pin { fingerprint: pin })?;
    let link = Link::new(url, tls)?;
    let headers = [("content-type", "application/json")];
    Ok(link.send(Method::POST, "/colony/v1/join", &headers, body, LIMIT, TIMEOUT).await?)
}

fn take(
    home: &Home,
    claims: &Claims,
    key: &PrivateKey,
    answer: &Answer,
    url: String,
) -> anyhow::Result<Membership> {
    if !answer.status.is_success() {
        bail!("the central orchestrator refused to let this site in: {}", refusal(answer));
    }
    colony_process::fail::hit(colony_process::fail::Point::LocalJoinAnswered);
    let joined: SiteJoined = serde_json::from_slice(&answer.body)
        .context("could not read the answer of the central orchestrator")?;
    let site: SiteName = joined.site.parse().context("the site has no usable name")?;
    let others = claims.urls.iter().filter(|it| **it != url).cloned();
    let membership = Membership {
        site,
        incarnation: joined.incarnation,
        token: claims.id.clone(),
        central: std::iter::once(url.clone()).chain(others).collect(),
        domain: joined.domain,
        token_public: joined.token_public,
        git: joined.git,
    };
    let (chain_pem, roots_pem) = (joined.chain, joined.roots);
    let credentials = Credentials { chain_pem, key_pem: key.to_pem(), roots_pem };
    home.joined(&membership, &credentials)?;
    colony_process::fail::hit(colony_process::fail::Point::LocalJoinStored);
    info!(site = %membership.site, incarnation = membership.incarnation, "joined");
    Ok(membership)
}

/// The refusal by central as an error text, with a hint.
fn refusal(answer: &Answer) -> String {
    let Ok(problem) = serde_json::from_slice::<Problem>(&answer.body) else {
        return format!("status {}", answer.status);
    };
    let said = problem.detail.clone().unwrap_or_else(|| problem.title.clone());
    match Kind::of(&problem) {
        Some(Kind::SiteAlive) if !said.contains("--replace") => {
            format!("{said}; start with `--replace` to take it over")
        }
        Some(Kind::TokenUsed) => format!("{said}; {ONCE}"),
        Some(_) | None => said,
    }
}

#[cfg(test)]
mod tests {
    use colony_wfm::TokenSigner;

    use super::*;
    use crate::kit;

    #[tokio::test]
    async fn what_is_on_disk_decides_unless_the_token_is_another_one() {
        check(Some("t1"), None, "home as incarnation 7").await;
        check(Some("t1"), Some(("t1", "home", TokenKind::Site)), "home as incarnation 7").await;
        check(Some("t1"), Some(("t2", "attic", TokenKind::Site)), "belongs to site `home`").await;
        check(Some("t1"), Some(("t2", "home", TokenKind::Site)), "invitation expired").await;
        check(None, Some(("t2", "home", TokenKind::Site)), "invitation expired").await;
        check(None, Some(("t2", "home", TokenKind::Node)), "this invitation is for a node").await;
        check(None, None, "this machine belongs to no site yet").await;
    }

    /// Starts where the token `known` was used before, with a token that has expired.
    async fn check(known: Option<&str>, token: Option<(&str, &str, TokenKind)>, expected: &str) {
        let dir = tempfile::tempdir().expect("a folder");
        if let Some(known) = known {
            let text = serde_json::to_string(&kit::membership(known)).expect("it is JSON");
            std::fs::write(dir.path().join("site.json"), text).expect("it is written");
        }
        let mut config = Config::new(dir.path().to_owned());
        config.join = token.map(|(id, site, kind)| expired(id, site, kind));
        let found = membership(&Home::open(dir.path()), &config).await;
        let found = match found {
            Ok(it) => format!("{} as incarnation {}", it.site, it.incarnation),
            Err(error) => format!("{error:#}"),
        };
        assert!(found.contains(expected), "{found}");
    }

    fn expired(id: &str, site: &str, kind: TokenKind) -> String {
        let (id, site) = (id.to_owned(), site.to_owned());
        let urls = vec!["https://127.0.0.1:1".to_owned()];
        let pin = "sha256:00".to_owned();
        let claims = Claims { kind, id, site, urls, pin, expires: 1, replace: false };
        TokenSigner::generate().expect("a signer").sign(&claims)
    }

    #[tokio::test]
    async fn a_server_in_trouble_gives_no_answer() {
        check_ask(&[200, 403], "200 from the first").await;
        check_ask(&[499, 200], "499 from the first").await;
        check_ask(&[500, 200], "200 from the second").await;
        check_ask(&[503, 403], "403 from the second").await;
        check_ask(&[500, 503], "first: status 500 Internal Server Error; second: status 503").await;
    }

    /// Sends a join request to servers that answer with these statuses.
    async fn check_ask(statuses: &[u16], expected: &str) {
        let fleet = colony_wfm::Authority::create("fleet.example", Clock::unix()).expect("a CA");
        let mut urls = Vec::new();
        for status in statuses {
            urls.push(server(&fleet, *status).await);
        }
        let pin = fleet.fingerprint();
        let claims = token::read(&expired("t1", "home", TokenKind::Site)).expect("claims");
        let claims = Claims { urls: urls.clone(), pin, ..claims };
        let found = match ask(&claims, &Bytes::new()).await {
            Ok((answer, url)) => format!("{} from {url}", answer.status.as_u16()),
            Err(refused) => refused,
        };
        let names = urls.iter().zip(["the first", "the second"]);
        let found = names.fold(found, |it, (url, name)| it.replace(url, name));
        assert!(found.replace("the ", "").starts_with(&expected.replace("the ", "")), "{found}");
    }

    async fn server(fleet: &colony_wfm::Authority, status: u16) -> String {
        let key = PrivateKey::generate().expect("a key");
        let id = colony_wfm::SpiffeId::central("fleet.example").expect("an id");
        let (csr, hosts) = (key.csr().expect("a request"), ["127.0.0.1".to_owned()]);
        let chain = fleet.sign(&csr, &id, &hosts, Clock::unix(), TIMEOUT).expect("signed");
        let roots_pem = fleet.root_pem().to_owned();
        let own = Credentials { chain_pem: chain, key_pem: key.to_pem(), roots_pem };
        let config = tls::server_config(&own, colony_wfm::ClientAuth::Optional).expect("TLS");
        let port = colony_wfm::TlsListener::bind(([127, 0, 0, 1], 0).into(), config).await;
        let port = port.expect("a port");
        let url = format!("https://{}", port.local_addr());
        let status = http::StatusCode::from_u16(status).expect("a status");
        let router = axum::Router::new().fallback(async move || status);
        let stop = std::future::pending();
        tokio::spawn(colony_wfm::serve(port, router, colony_wfm::Peer::of, stop, TIMEOUT));
        url
    }

    #[test]
    fn the_address_that_answered_comes_first() {
        let dir = tempfile::tempdir().expect("a folder");
        let home = Home::open(dir.path());
        let key = PrivateKey::generate().expect("a key");
        let urls = ["https://a", "https://b", "https://c"].map(str::to_owned).to_vec();
        let claims = Claims {
            urls,
            ..token::read(&expired("t1", "home", TokenKind::Site)).expect("claims")
        };
        let answer = |status: u16| Answer {
            status: http::StatusCode::from_u16(status).expect("a status"),
            headers: http::HeaderMap::new(),
            body: Bytes::from(serde_json::to_vec(&joined(&key)).expect("it is JSON")),
        };

        take(&home, &claims, &key, &answer(403), "https://b".to_owned())
            .expect_err("it is refused");
        assert_eq!(home.membership().expect("it is read"), None, "nothing is kept");
        let made =
            take(&home, &claims, &key, &answer(200), "https://b".to_owned()).expect("joined");

        assert_eq!(made.central, ["https://b", "https://a", "https://c"]);
        assert_eq!(home.membership().expect("it is read"), Some(made));
        assert_eq!(home.credentials().expect("it is kept").key_pem, key.to_pem());
    }

    fn joined(key: &PrivateKey) -> SiteJoined {
        let fleet = colony_wfm::Authority::create("fleet.example", Clock::unix()).expect("a CA");
        let id = colony_wfm::SpiffeId::site_client("fleet.example", "home").expect("an id");
        let csr = key.csr().expect("a request");
        let chain = fleet.sign(&csr, &id, &[], Clock::unix(), TIMEOUT).expect("it is signed");
        SiteJoined {
            chain,
            roots: fleet.root_pem().to_owned(),
            site: "home".to_owned(),
            incarnation: 7,
            domain: "fleet.example".to_owned(),
            token_public: String::new(),
            git: kit::membership("t1").git,
        }
    }

    #[test]
    fn a_used_token_is_one_problem_whoever_tells_of_it() {
        let told = colony_wfm::join::token_used();
        assert_eq!(Kind::of(&told), Some(Kind::TokenUsed));
        assert_eq!(told, Kind::TokenUsed.problem("invitation was already used"));
    }

    #[test]
    fn refusal_of_central_is_told_with_what_helps_unless_it_says_so_itself() {
        check_refusal(Kind::SiteAlive, "heard 3 s ago", "heard 3 s ago; start with `--replace`");
        check_refusal(Kind::SiteAlive, "heard: use --replace", "heard: use --replace");
        check_refusal(Kind::TokenUsed, "already used", "already used; create another one");
        check_refusal(Kind::Refused, "the disk is full", "the disk is full");
    }

    #[track_caller]
    fn check_refusal(kind: Kind, detail: &str, expected: &str) {
        let problem = serde_json::to_vec(&kind.problem(detail)).expect("it is JSON");
        let (status, headers) = (http::StatusCode::CONFLICT, http::HeaderMap::new());
        let said = refusal(&Answer { status, headers, body: Bytes::from(problem) });
        let rest = said.strip_prefix(expected).unwrap_or_else(|| panic!("{said}"));
        assert!(!rest.contains("--replace"), "{said}");
    }
}
