//! Joining with a token, and every way in which it does not work.

use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use colony_margo::Problem;
use colony_wfm::join::{JoinRequest, Joined, join, token_refused, token_used};
use colony_wfm::{
    Authority, Claims, ClientAuth, JoinError, PrivateKey, Refusal, SpiffeId, TokenError, TokenKind,
    TokenSigner, token,
};

use crate::support::{DAY, Server, Site, now};

const DOMAIN: &str = "site-a.00ff";

#[tokio::test]
async fn token_makes_a_member_once() {
    let world = World::start().await;
    let token = world.token(|_| {});
    let key = PrivateKey::generate().unwrap();
    let csr = key.csr().unwrap();
    let (joined, url) = join(&token, &csr, Some("n7"), now()).await.unwrap();
    assert_eq!((joined.name.as_str(), url), ("n7", world.server.url.clone()));
    let own = world.site.credentials(joined.chain, key.to_pem());
    assert_eq!(own.manager().unwrap(), world.site.wfm());

    let again = join(&token, &csr, Some("n8"), now()).await.unwrap_err();
    assert_eq!(
        again.to_string(),
        "invitation was already used; create another one with `colony node invite` or `colony site invite`"
    );
}

#[tokio::test]
async fn second_address_is_tried_when_nobody_answers_at_the_first() {
    let world = World::start().await;
    let token = world.token(|it| it.urls.insert(0, "https://127.0.0.1:1".into()));
    let (_, url) = join(&token, &csr(), None, now()).await.unwrap();
    assert_eq!(url, world.server.url);
}

#[tokio::test]
async fn reasons_are_told() {
    let world = World::start().await;
    let url = world.server.url.clone();
    let foreign = TokenSigner::generate().unwrap().sign(&world.claims());
    check(&foreign, &format!("{url} refused to join: invitation is not signed by this fleet"))
        .await;
    let expired = world.token(|it| it.expires = now() - 60);
    check(&expired, "invitation expired 60 seconds ago; create another one with `colony node invite` or `colony site invite`").await;
    check("col1_x", "invitation is malformed; copy all of it, it begins with `col1_`").await;
    check(&world.token(|it| it.pin = "sha256:1".into()), "invitation is malformed").await;
    let nobody = world.token(|it| it.urls.clear());
    check(&nobody, "no server of the invitation could be reached: it names none").await;
    let away = world.token(|it| it.urls = vec!["https://127.0.0.1:1".into(), "hub".into()]);
    let expected = "no server of the invitation could be reached: https://127.0.0.1:1: could not connect to 127.0.0.1:1: Connection refused";
    check(&away, expected).await;
}

#[tokio::test]
async fn server_of_another_authority_never_sees_the_token() {
    let world = World::start().await;
    let other = Authority::create(DOMAIN, now()).unwrap().fingerprint();
    let error = join(&world.token(|it| it.pin = other), &csr(), None, now()).await.unwrap_err();
    assert!(matches!(error, JoinError::Unreachable(_)), "{error:?}");
    assert!(error.to_string().contains("does not present the pinned authority"), "{error}");
    assert_eq!(world.server.connections(), 0);
}

#[tokio::test]
async fn roots_other_than_the_pinned_are_not_believed() {
    let world = World::start().await;
    let token = world.token(|it| it.site = "liar".into());
    let error = join(&token, &csr(), None, now()).await.unwrap_err().to_string();
    assert!(
        error.ends_with("cannot be trusted: its roots are not those of the invitation"),
        "{error}"
    );
}

#[tokio::test]
async fn broken_request_is_refused_and_the_token_still_good() {
    let world = World::start().await;
    let token = world.token(|_| {});
    let error = join(&token, "nonsense", None, now()).await.unwrap_err().to_string();
    assert!(error.contains("certificate request is refused"), "{error}");
    join(&token, &csr(), None, now()).await.unwrap();
}

async fn check(token: &str, expected: &str) {
    let error = join(token, &csr(), None, now()).await.unwrap_err().to_string();
    assert!(error.starts_with(expected), "{error}");
}

fn csr() -> String {
    PrivateKey::generate().unwrap().csr().unwrap()
}

/// A site that lets nodes join.
struct World {
    site: Site,
    signer: TokenSigner,
    server: Server,
}

#[derive(Clone)]
struct JoinState {
    authority: Authority,
    public: String,
    used: Arc<Mutex<Vec<String>>>,
}

impl World {
    async fn start() -> World {
        let site = Site::new(DOMAIN);
        let signer = TokenSigner::generate().unwrap();
        let (authority, public) = (site.authority.clone(), signer.public());
        let door = JoinState { authority, public, used: Arc::default() };
        let app = Router::new().route(colony_wfm::join::PATH, post(admit)).with_state(door);
        let server = Server::start(app, &site.server(), ClientAuth::Optional).await;
        World { site, signer, server }
    }

    fn claims(&self) -> Claims {
        Claims {
            kind: TokenKind::Node,
            id: "t1".into(),
            site: "a".into(),
            urls: vec![self.server.url.clone()],
            pin: self.site.authority.fingerprint(),
            expires: now() + 3600,
            replace: false,
        }
    }

    fn token(&self, change: impl FnOnce(&mut Claims)) -> String {
        let mut claims = self.claims();
        change(&mut claims);
        self.signer.sign(&claims)
    }
}

async fn admit(
    State(door): State<JoinState>,
    Json(request): Json<JoinRequest>,
) -> Result<Json<Joined>, Refusal> {
    let verified = token::verify(&request.token, &door.public, now());
    let claims = verified.map_err(|it: TokenError| token_refused(&it))?;
    if door.used.lock().unwrap().contains(&claims.id) {
        return Err(token_used().into());
    }
    let name = request.name.unwrap_or("n1".into());
    let id = SpiffeId::wfm_client(DOMAIN, "a", &name).unwrap();
    let chain = door.authority.sign(&request.csr, &id, &[], now(), DAY);
    let chain = chain.map_err(|it| Problem::about_blank(400).detail(it.to_string()))?;
    let liar = Authority::create(DOMAIN, now()).unwrap();
    let root = if claims.site == "liar" { liar } else { door.authority };
    door.used.lock().unwrap().push(claims.id);
    Ok(Json(Joined { chain, roots: root.root_pem().to_owned(), name, site: claims.site }))
}
