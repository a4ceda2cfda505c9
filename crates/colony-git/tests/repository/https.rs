//! A repository behind TLS and a token, as Git servers have it.

use colony_git::Deployments;
use tempfile::TempDir;

use crate::child::Child;
use crate::kit::git;
use crate::kit::server::Server;
use crate::kit::tls::Fleet;

/// `x-access-token:t0k`
const LOGIN: &str = "Basic eC1hY2Nlc3MtdG9rZW46dDBr";

#[test]
fn a_token_lets_in_over_tls() {
    let world = World::new();
    assert_eq!(world.output_with("t0k", Some(&world.fleet)), "fetch: ok\nwrite: ok");
    let upstream = world.keep.path().join("deployments.git");
    assert_eq!(git(&upstream, &["show", "main:x"]), "y");
}

#[test]
fn a_wrong_token_is_refused_and_says_what_to_set() {
    let world = World::new();
    let told = world.output_with("wr0ng", Some(&world.fleet));
    assert_eq!(told.matches(": refused: ").count(), 2, "{told}");
    assert_eq!(told.matches("`git.token-file`").count(), 2, "{told}");
    assert!(!told.contains("wr0ng"), "{told}");
}

#[test]
fn a_server_of_an_unknown_authority_says_what_to_set() {
    let world = World::new();
    let other = Fleet::new();
    for trusted in [None, Some(&other)] {
        let told = world.output_with("t0k", trusted);
        assert_eq!(told.matches(": failed: ").count(), 2, "{told}");
        assert_eq!(told.matches("SSL_CERT_FILE").count(), 2, "{told}");
    }
}

struct World {
    keep: TempDir,
    fleet: Fleet,
    server: Server,
}

impl World {
    fn new() -> World {
        let keep = TempDir::new().expect("a folder");
        let dir = keep.path().join("deployments.git");
        Deployments::hosted(&dir).expect("opens");
        let fleet = Fleet::new();
        let server = Server::start(&dir, Some(LOGIN), Some(fleet.open_acceptor()));
        World { keep, fleet, server }
    }

    fn output_with(&self, token: &str, trusted: Option<&Fleet>) -> String {
        let own = TempDir::new().expect("a folder");
        let file = own.path().join("authorities.pem");
        let variables = trusted.map(|it| {
            std::fs::write(&file, it.ca()).expect("a file");
            ("SSL_CERT_FILE", file.display().to_string())
        });
        let url = self.server.url("https");
        let child =
            Child { url: &url, token: Some(token), variables: variables.into_iter().collect() };
        child.run(own.path())
    }
}
