//! Admission of nodes: issues identities for tokens, and maps them to names.
//!
//! Works without central, because tokens carry its signature. A token admits
//! one node. If the answer was lost, the node may repeat the request with the
//! same key, as long as no other node has taken the name.

use std::time::Duration;

use colony_core::id::NodeName;
use colony_core::margo::{Digest, Problem, ProblemType};
use colony_core::site::Input;
use colony_store::{LocalStore, NodeIdentity};
use colony_wfm::join::{token_refused, token_used};
use colony_wfm::token::{self, Claims};
use colony_wfm::{
    Authority, IdentityError, JoinRequest, Joined, SpiffeId, TokenKind, requested_key,
};
use serde_json::json;
use tokio::sync::Mutex;
use tracing::info;

use super::keys::Keys;
use crate::brain::Brain;
use crate::clock::Clock;
use crate::home::Membership;
use crate::problem;

const LIFETIME: Duration = Duration::from_secs(30 * 86_400);
const SCOPE: &str = "node-token";
/// How many keys of former owners of a name are kept.
const FORMER: usize = 32;

/// The site's certificate authority and the identities it has issued.
#[derive(Debug)]
pub(crate) struct Enrollment {
    brain: Brain,
    store: LocalStore,
    authority: Authority,
    site_node: Membership,
    keys: Keys,
    /// Identities are issued one at a time: a node may send two requests at
    /// once.
    turn: Mutex<()>,
}

/// The keys that an identity inherits from the one before.
#[derive(Debug, Default)]
struct Past {
    before: Option<String>,
    former: Vec<String>,
}

impl Enrollment {
    pub(crate) fn new(
        brain: Brain,
        store: LocalStore,
        authority: Authority,
        site_node: Membership,
        keys: Keys,
    ) -> Enrollment {
        Enrollment { brain, store, authority, site_node, keys, turn: Mutex::default() }
    }

    /// The node that an identity of this site belongs to.
    pub(super) fn client(&self, id: &SpiffeId) -> Result<NodeName, Problem> {
        let site = self.site_node.site.as_str();
        let own = id.trust_domain() == self.authority.trust_domain();
        let client = id.as_wfm_client().filter(|it| own && it.0 == site).map(|it| it.1);
        let node = client.and_then(|it| it.parse().ok());
        node.ok_or_else(|| {
            let said = format!("`{id}` is not a node of site `{site}`");
            Problem::new(ProblemType::NotAuthorized).detail(said)
        })
    }

    /// Refuses the certificate of a former owner of the name.
    pub(super) fn check_key(&self, node: &NodeName, key: Option<Digest>) -> Result<(), Problem> {
        if self.keys.accepts(node, key) {
            return Ok(());
        }
        let said = format!("this certificate is not the one in force of `{node}`: join again");
        Err(Problem::new(ProblemType::NotAuthorized).detail(said))
    }

    /// `POST /colony/v1/join`
    pub(crate) async fn join(&self, request: JoinRequest) -> Result<Joined, Problem> {
        let claims = self.verify(&request.token)?;
        if !self.brain.notifiers().is_seeded() {
            return Err(problem::later(2, "what belongs to this site is not known yet"));
        }
        let asked = key_of(&request.csr)?;
        let key = format!("{SCOPE}:{}", claims.id);
        let _turn = self.turn.lock().await;
        let given = self.store.note_get(&key).await.map_err(|it| failed(&it))?;
        if let Some(given) = given.filter(|it| it["key"] == asked.as_str()) {
            return self.repeat(&given, &asked, &request.csr).await;
        }
        let node = self.choose(request.name.as_deref())?;
        let note = (key, json!({ "key": asked, "node": node.as_str() }));
        let fresh = self.store.once((SCOPE, &claims.id), Clock::wall(), note).await;
        if !fresh.map_err(|it| failed(&it))? {
            return Err(token_used());
        }
        colony_process::fail::hit(colony_process::fail::Point::LocalTokenUsed);
        self.admit(node, &request.csr).await
    }

    fn verify(&self, token: &str) -> Result<Claims, Problem> {
        let claims = token::verify(token, &self.site_node.token_public, Clock::unix());
        let claims = claims.map_err(|it| token_refused(&it))?;
        if claims.kind != TokenKind::Node || claims.site != self.site_node.site.as_str() {
            let said = format!("the token is not for a node of site `{}`", self.site_node.site);
            return Err(Problem::new(ProblemType::NotAuthorized).detail(said));
        }
        Ok(claims)
    }

    /// The requested name, or one that is free.
    fn choose(&self, wished: Option<&str>) -> Result<NodeName, Problem> {
        let invalid = |it: colony_core::id::NameError| {
            Problem::new(ProblemType::InvalidRequest).detail(it.to_string())
        };
        let Some(wished) = wished else {
            let random = uuid::Uuid::new_v4().simple().to_string();
            return format!("node-{}", &random[..6]).parse().map_err(invalid);
        };
        let node: NodeName = wished.parse().map_err(invalid)?;
        if self.brain.notifiers().has(&node) {
            let said = format!(
                "site `{}` has a node `{node}`: choose another name with `--name`, or retire it \
                 first with `colony node retire {}/{node}`",
                self.site_node.site, self.site_node.site
            );
            return Err(Problem::about_blank(409).detail(said));
        }
        Ok(node)
    }

    /// Repeats a join with the same token and key, whose answer was lost.
    async fn repeat(
        &self,
        given: &serde_json::Value,
        asked: &str,
        csr: &str,
    ) -> Result<Joined, Problem> {
        let node = given["node"].as_str().and_then(|it| it.parse::<NodeName>().ok());
        let node = node.ok_or_else(token_used)?;
        let known = self.known(&node).await?;
        if known.as_ref().is_some_and(|it| is_over(it, asked)) {
            return Err(token_used());
        }
        if !self.brain.notifiers().has(&node) {
            return self.admit(node, csr).await;
        }
        let known = known.filter(|it| it.key.as_deref() == Some(asked)).ok_or_else(token_used)?;
        self.issue(&node, csr, Past { before: known.before, former: known.former }).await
    }

    /// Adds the node to the site before the node receives its identity.
    async fn admit(&self, node: NodeName, csr: &str) -> Result<Joined, Problem> {
        let past = Past { before: None, former: former(self.known(&node).await?) };
        let joined = self.issue(&node, csr, past).await?;
        self.brain.step(Input::Joined(node.clone())).await.map_err(problem::of_brain)?;
        colony_process::fail::hit(colony_process::fail::Point::LocalNodeAdmitted);
        info!(node = %node, "a node joined");
        Ok(joined)
    }

    /// Issues the next certificate of a node that presents its current one.
    pub(super) async fn renew(&self, node: &NodeName, csr: &str) -> Result<Joined, Problem> {
        let _turn = self.turn.lock().await;
        let before = self.keys.stays(node).map(|it| it.to_string());
        let former = self.known(node).await?.map(|it| it.former).unwrap_or_default();
        self.issue(node, csr, Past { before, former }).await
    }

    async fn known(&self, node: &NodeName) -> Result<Option<NodeIdentity>, Problem> {
        self.store.node_get(node.as_str()).await.map_err(|it| failed(&it))
    }

    /// A certificate for the name, signed by the site.
    async fn issue(&self, node: &NodeName, csr: &str, past: Past) -> Result<Joined, Problem> {
        let site = self.site_node.site.as_str();
        let refuse = |error: &dyn std::error::Error| {
            Problem::new(ProblemType::InvalidRequest).detail(error.to_string())
        };
        let id = SpiffeId::wfm_client(self.authority.trust_domain(), site, node.as_str());
        let id = id.map_err(|it| refuse(&it))?;
        let chain = self.authority.sign(csr, &id, &[], Clock::unix(), LIFETIME);
        let chain = chain.map_err(|it| refuse(&it))?;
        let issued = identity(node, &chain, key_of(csr)?, past);
        self.store.node_put(&issued).await.map_err(|it| failed(&it))?;
        self.keys.put(&issued);
        colony_process::fail::hit(colony_process::fail::Point::LocalNodeIssued);
        Ok(Joined {
            chain,
            roots: self.authority.root_pem().to_owned(),
            name: node.as_str().to_owned(),
            site: site.to_owned(),
        })
    }
}

/// The digest of the public key in a CSR.
fn key_of(csr: &str) -> Result<String, Problem> {
    let invalid =
        |it: IdentityError| Problem::new(ProblemType::InvalidRequest).detail(it.to_string());
    requested_key(csr).map(|it| it.to_string()).map_err(invalid)
}

fn identity(node: &NodeName, chain: &str, key: String, past: Past) -> NodeIdentity {
    let issued = Clock::wall();
    NodeIdentity {
        name: node.as_str().to_owned(),
        fingerprint: Digest::of(chain.as_bytes()).to_string(),
        issued,
        expires: issued.after(LIFETIME),
        retired: false,
        before: past.before.filter(|it| *it != key),
        former: past.former.into_iter().filter(|it| *it != key).collect(),
        key: Some(key),
    }
}

/// The key belongs to a retired node or to a former owner of the name.
fn is_over(known: &NodeIdentity, key: &str) -> bool {
    let retired = known.retired && known.key.as_deref().is_none_or(|it| it == key);
    retired || known.former.iter().any(|it| it == key)
}

/// The keys of all owners of the name so far.
fn former(known: Option<NodeIdentity>) -> Vec<String> {
    let Some(known) = known else { return Vec::new() };
    let mut all = known.former;
    all.extend(known.before.into_iter().chain(known.key));
    all.split_off(all.len().saturating_sub(FORMER))
}

fn failed(error: &colony_store::Error) -> Problem {
    problem::internal("keep the identity of a node", error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_machines_that_had_the_name_are_remembered() {
        assert_eq!(former(None), Vec::<String>::new());
        assert_eq!(former(Some(node("c", Some("b"), &["a"]))), ["a", "b", "c"]);
        let many: Vec<String> = (0..40).map(|it| it.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let kept = former(Some(node("now", None, &many)));
        assert_eq!((kept.len(), kept[0].as_str(), kept[31].as_str()), (FORMER, "9", "now"));
    }

    #[test]
    fn a_key_is_over_with_its_node_or_its_machine() {
        let current = node("b", None, &["a"]);
        let retired = NodeIdentity { retired: true, ..current.clone() };
        let keyless = NodeIdentity { key: None, ..retired.clone() };
        check(&current, "a over, b good, c good");
        check(&retired, "a over, b over, c good");
        check(&keyless, "a over, b over, c over");
    }

    #[test]
    fn an_identity_does_not_keep_its_own_key_as_a_former_one() {
        let name = "n".parse().expect("a name");
        let past = |before: &str| Past {
            before: Some(before.to_owned()),
            former: vec!["a".to_owned(), "k".to_owned()],
        };
        let same = identity(&name, "chain", "k".to_owned(), past("k"));
        assert_eq!(
            (same.before, same.former, same.key),
            (None, vec!["a".into()], Some("k".into()))
        );
        let other = identity(&name, "chain", "k".to_owned(), past("b"));
        assert_eq!((other.before.as_deref(), other.retired), (Some("b"), false));
        assert_eq!(other.expires, other.issued.after(LIFETIME));
    }

    #[track_caller]
    fn check(known: &NodeIdentity, expected: &str) {
        let said = |key: &str| match is_over(known, key) {
            true => format!("{key} over"),
            false => format!("{key} good"),
        };
        assert_eq!(["a", "b", "c"].map(said).join(", "), expected);
    }

    fn node(key: &str, before: Option<&str>, former: &[&str]) -> NodeIdentity {
        let past = Past::default();
        let given = identity(&"n".parse().expect("a name"), "chain", key.to_owned(), past);
        let former = former.iter().map(|it| (*it).to_owned()).collect();
        NodeIdentity { before: before.map(str::to_owned), former, ..given }
    }
}
