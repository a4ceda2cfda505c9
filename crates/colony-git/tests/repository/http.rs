//! The hosted repository over smart HTTP: git, colony's writer and a site's reader.

use colony_git::{Auth, Deployments, Error, Remote, Secret, Watch};
use tempfile::TempDir;

use crate::kit::server::Server;
use crate::kit::tls::Fleet;
use crate::kit::{Person, git, git_try, put, site, written_text};

const HELLO: &str = "deployments/home/hello.yaml";
/// `x-access-token:t0k`
const LOGIN: &str = "Basic eC1hY2Nlc3MtdG9rZW46dDBr";

#[test]
fn people_clone_and_push() {
    let (keep, repo) = hosted();
    let server = Server::start(&dir(&keep), None, None);
    put(&repo, HELLO, "a: 1\n");
    let person = Person::of(&server.url("http"));
    assert_eq!(person.read(HELLO), "a: 1\n");
    // Large enough that git sends it in chunks, and asks for enough that it packs its requests.
    for number in 0..40 {
        person.put(&format!("noise/{number}"), noise(number)).commit("by hand");
    }
    person.push();
    assert_eq!(repo.head().expect("readable").expect("a head").as_str(), person.head());
    put(&repo, HELLO, "a: 2\n");
    assert_eq!(person.pull().read(HELLO), "a: 2\n");
    for version in ["0", "1", "2"] {
        let config = format!("protocol.version={version}");
        git(&person.dir, &["-c", &config, "fetch", "-q", "origin"]);
        git(&person.dir, &["-c", &config, "push", "-q", "origin", "HEAD:refs/heads/other", "-f"]);
    }
}

#[test]
fn a_push_that_breaks_the_rules_is_refused_with_a_reason() {
    let (keep, repo) = hosted();
    let server = Server::start(&dir(&keep), None, None);
    put(&repo, HELLO, "a: 1\n");
    let person = Person::of(&server.url("http"));
    git(&person.dir, &["commit", "-q", "--amend", "-m", "other"]);
    let (ok, said) = git_try(&person.dir, &["push", "--force", "origin", "main"]);
    assert!(!ok && said.contains("non-fast-forward"), "{said}");
}

#[test]
fn a_site_follows_by_http() {
    let (keep, repo) = hosted();
    let server = Server::start(&dir(&keep), None, None);
    let remote = Remote { url: server.url("http"), auth: Auth::None };
    let watch = Watch::open(&keep.path().join("watch"), remote, "main").expect("opens");
    let mut base = None;
    for number in 0..5 {
        put(&repo, HELLO, &format!("a: {number}\n"));
        let head = watch.fetch().expect("reachable");
        assert_eq!(head, repo.head().expect("readable"));
        let commit = watch.commit(&site("home"), base.as_ref()).expect("readable").expect("more");
        assert_eq!((commit.files.len(), commit.rewritten), (1, false));
        base = Some(commit.revision);
    }
    assert_eq!(watch.fetch().expect("nothing new"), base);
    assert_eq!(server.connections(), 1, "a connection is kept");
}

#[test]
fn a_kept_connection_that_ended_is_opened_anew() {
    let (keep, repo) = hosted();
    let server = Server::start(&dir(&keep), None, None);
    let addr = server.addr;
    let remote = Remote { url: server.url("http"), auth: Auth::None };
    let watch = Watch::open(&keep.path().join("watch"), remote, "main").expect("opens");
    watch.fetch().expect("reachable");
    drop(server);
    let error = watch.fetch().expect_err("no server there");
    assert!(matches!(error, Error::Remote { .. }), "{error:?}");
    let server = Server::start_at(addr, &dir(&keep), None, None);
    put(&repo, HELLO, "a: 1\n");
    assert_eq!(watch.fetch().expect("reachable"), repo.head().expect("readable"));
    assert_eq!(server.connections(), 1);
}

/// `--no-tags` asks for nothing that needs a process at the server.
#[test]
fn people_who_are_behind_get_what_is_missing() {
    let (keep, repo) = hosted();
    let server = Server::start(&dir(&keep), None, None);
    put(&repo, HELLO, "a: 1\n");
    let person = Person::of(&server.url("http"));
    for number in 0..90 {
        put(&repo, &format!("deployments/s{}/app.yaml", number % 7), &format!("a: {number}\n"));
        if [0, 3, 89].contains(&number) {
            git(&person.dir, &["fetch", "-q", "--no-tags", "origin"]);
            git(&person.dir, &["fsck", "--strict", "--full"]);
            let head = git(&person.dir, &["rev-parse", "origin/main"]);
            assert_eq!(repo.head().expect("readable").expect("a head").as_str(), head);
        }
    }
    person.pull().put(HELLO, "a: 2\n").commit("by hand").push();
    git(&dir(&keep), &["fsck", "--strict", "--full"]);
}

#[test]
fn merges_reach_a_site_whole() {
    let (keep, _repo) = hosted();
    let server = Server::start(&dir(&keep), None, None);
    let person = Person::of(&server.url("http"));
    person.put(HELLO, "a: 1\n").commit("first").push();
    let remote = Remote { url: server.url("http"), auth: Auth::None };
    let watch = Watch::open(&keep.path().join("watch"), remote, "main").expect("opens");
    let base = watch.fetch().expect("reachable");
    git(&person.dir, &["checkout", "-q", "-b", "side"]);
    person.put("deployments/home/side.yaml", "a: 1\n").put("a/b/c/d", "deep\n").commit("side");
    git(&person.dir, &["checkout", "-q", "main"]);
    person.put("deployments/home/main.yaml", "a: 1\n").commit("main");
    git(&person.dir, &["merge", "-q", "--no-ff", "-m", "both", "side"]);
    git(&person.dir, &["mv", "a/b", "deployments/home/moved"]);
    person.commit("moved").push();
    watch.fetch().expect("reachable");
    let commit = watch.commit(&site("home"), base.as_ref()).expect("readable").expect("more");
    assert_eq!((commit.files.len(), commit.rewritten), (3, false));
    git(&keep.path().join("watch"), &["fsck", "--strict", "--full"]);
}

#[test]
fn a_token_lets_colony_write_and_nobody_else() {
    let (keep, _repo) = hosted();
    let server = Server::start(&dir(&keep), Some(LOGIN), None);
    let remote = |auth| Remote { url: server.url("http"), auth };
    let token = remote(Auth::Token(Secret::new("t0k")));
    let repo = Deployments::remote(&keep.path().join("a"), token.clone(), "main").expect("opens");
    assert_eq!(
        written_text(&put(&repo, HELLO, "a: 1\n")),
        format!("commit done[{HELLO}] conflicts[]")
    );
    let watch = Watch::open(&keep.path().join("b"), token, "main").expect("opens");
    assert_eq!(watch.fetch().expect("let in"), repo.head().expect("readable"));

    for auth in [Auth::None, Auth::Token(Secret::new("wr0ng"))] {
        repo.set_remote(remote(auth.clone())).expect("an address");
        let error = repo.refresh().expect_err("not let in");
        assert!(matches!(error, Error::Refused { .. }), "{error:?}");
        let blob = repo.blob_at(HELLO).expect("readable");
        let change = crate::kit::edit(HELLO, blob.as_ref(), Some("a: 2\n"));
        let error = repo.write(&crate::kit::batch(vec![change])).expect_err("not let in");
        assert!(matches!(error, Error::Refused { .. }), "{error:?}");
        assert!(!format!("{error:?}").contains("wr0ng"), "{error:?}");
    }
}

#[test]
fn a_push_whose_answer_was_lost_is_found_again() {
    let (keep, hosted) = hosted();
    let server = Server::start(&dir(&keep), None, None);
    let remote = Remote { url: server.url("http"), auth: Auth::None };
    let repo = Deployments::remote(&keep.path().join("a"), remote, "main").expect("opens");
    repo.refresh().expect("reachable");
    server.lose_answer();
    let written = put(&repo, HELLO, "a: 1\n");
    assert_eq!(written_text(&written), format!("commit done[{HELLO}] conflicts[]"));
    assert_eq!(written.revision, hosted.head().expect("readable"));
    assert_eq!(git(&dir(&keep), &["rev-list", "--count", "main"]), "2");
}

#[test]
fn a_server_that_is_not_there_is_worth_another_try() {
    let keep = TempDir::new().expect("a folder");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    // Numbers of an address are not a server's answer.
    let url = format!("http://{}/401/403.git", listener.local_addr().expect("an address"));
    drop(listener);
    let remote = Remote { url, auth: Auth::None };
    let watch = Watch::open(&keep.path().join("a"), remote, "main").expect("opens");
    let error = watch.fetch().expect_err("no server there");
    assert!(matches!(error, Error::Remote { .. }) && error.is_transient(), "{error:?}");
}

#[test]
fn a_site_shows_its_certificate() {
    let (keep, repo) = hosted();
    let fleet = Fleet::new();
    let server = Server::start(&dir(&keep), None, Some(fleet.acceptor()));
    let remote = |tls| Remote { url: server.url("https"), auth: Auth::Mtls { tls } };
    let known = remote(fleet.client(true));
    let watch = Watch::open(&keep.path().join("a"), known, "main").expect("opens");
    assert_eq!(watch.fetch().expect("let in"), repo.head().expect("readable"));
    let stranger = remote(fleet.client(false));
    let watch = Watch::open(&keep.path().join("b"), stranger.clone(), "main").expect("opens");
    let error = watch.fetch().expect_err("not let in");
    assert!(matches!(error, Error::Remote { .. }), "{error:?}");
    let written = Deployments::remote(&keep.path().join("c"), stranger, "main");
    assert!(matches!(written, Err(Error::Address { .. })));
}

#[test]
fn a_renewed_certificate_is_shown_with_the_next_fetch() {
    let (keep, repo) = hosted();
    let fleet = Fleet::new();
    let server = Server::start(&dir(&keep), None, Some(fleet.acceptor()));
    let url = server.url("https");
    let with = |number| Remote {
        url: url.clone(),
        auth: Auth::Mtls { tls: fleet.numbered_client(number) },
    };
    let watch = Watch::open(&keep.path().join("a"), with(7), "main").expect("opens");
    watch.fetch().expect("let in");
    watch.set_remote(with(8));
    watch.fetch().expect("let in");
    assert_eq!(server.connections(), 2, "another certificate is another connection");

    let addr = server.addr;
    drop(server);
    watch.set_remote(with(7));
    let server = Server::start_at(addr, &dir(&keep), None, Some(fleet.acceptor_without(&[7])));
    let error = watch.fetch().expect_err("revoked");
    assert!(error.to_string().contains("does not take this site's certificate"), "{error}");
    put(&repo, HELLO, "a: 1\n");
    watch.set_remote(with(8));
    assert_eq!(watch.fetch().expect("let in"), repo.head().expect("readable"));
    drop(server);
}

fn hosted() -> (TempDir, Deployments) {
    let keep = TempDir::new().expect("a folder");
    let repo = Deployments::hosted(&dir(&keep)).expect("opens");
    (keep, repo)
}

fn dir(keep: &TempDir) -> std::path::PathBuf {
    keep.path().join("deployments.git")
}

/// Bytes that do not pack well.
fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2654435761).wrapping_add(1);
    let next = std::iter::repeat_with(move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 56) as u8
    });
    next.take(64 * 1024).collect()
}
