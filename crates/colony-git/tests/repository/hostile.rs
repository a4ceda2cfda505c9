//! Servers and people that send too much, or never come to an end.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use colony_git::registry::packages;
use colony_git::{Auth, Deployments, Error, FetchLimits, Remote, Watch};
use tempfile::TempDir;

use crate::kit::server::Server;
use crate::kit::{Person, bare, git_try};
use crate::remote::World;

const MIB: usize = 1024 * 1024;

#[test]
fn an_object_that_unpacks_to_more_than_allowed_is_not_fetched() {
    check(vec![0; 17 * MIB], FetchLimits::default(), "an object of more than 16777216 bytes");
    check(vec![0; 15 * MIB], FetchLimits::default(), "ok");
}

#[test]
fn a_pack_that_is_larger_than_allowed_is_not_fetched() {
    let limited = |bytes| FetchLimits { bytes, ..FetchLimits::default() };
    check(noise(200_000), limited(100_000), "more than the 100000 bytes allowed");
    check(noise(200_000), limited(300_000), "ok");
}

/// Fetches a repository that holds these bytes in one file, by path and by HTTP.
#[track_caller]
fn check(file: Vec<u8>, limits: FetchLimits, expected: &str) {
    let keep = TempDir::new().expect("a folder");
    let upstream = bare(keep.path());
    Person::of(upstream.to_str().expect("UTF-8")).put("big", file).commit("x").push();
    let server = Server::start(&upstream, None, None);
    for url in [upstream.display().to_string(), server.url("http")] {
        let remote = Remote { url: url.clone(), auth: Auth::None };
        let dir = keep.path().join(if url.starts_with("http") { "http" } else { "path" });
        let watch = Watch::open(&dir, remote, "main").expect("opens").limited(limits);
        let actual = match watch.fetch() {
            Ok(_) => "ok".to_owned(),
            Err(error @ Error::Limit { .. }) => error.to_string(),
            Err(other) => format!("{other:?}"),
        };
        assert!(actual.contains(expected), "{url}: {actual}");
        let (packs, _) = watch.footprint().expect("readable");
        assert_eq!(packs, usize::from(expected == "ok"), "nothing is left of what was refused");
    }
}

#[test]
fn a_server_that_drips_is_left_when_the_time_is_over() {
    let server = Drip::start();
    let keep = TempDir::new().expect("a folder");
    let limits = FetchLimits { time: Duration::from_millis(400), ..FetchLimits::default() };
    let remote = Remote { url: server.url.clone(), auth: Auth::None };
    let error = packages(keep.path(), &remote, None, limits).expect_err("it never ends");
    assert!(matches!(error, Error::Limit { .. }), "{error:?}");
    assert!(error.to_string().contains("timed out after 400ms"), "{error}");
}

#[test]
fn one_file_in_many_folders_does_not_fill_the_memory() {
    let world = World::empty();
    let person = world.person();
    for number in 0..70 {
        person.put(&format!("{number}/margo.yaml"), vec![b'x'; MIB]);
    }
    person.commit("many").push();
    let read = packages(&world.dir("cache"), &world.remote(), None, FetchLimits::default());
    let error = read.expect_err("too much");
    assert!(error.to_string().contains("all packages of the registry together"), "{error}");
}

#[test]
fn a_push_with_a_file_that_is_too_large_is_refused_with_the_reason() {
    let keep = TempDir::new().expect("a folder");
    let dir = keep.path().join("hosted.git");
    let repo = Deployments::hosted(&dir).expect("opens");
    let server = Server::start(&dir, None, None);
    let person = Person::of(&server.url("http"));
    person.put("fine", vec![0; MIB]).commit("fine").push();
    let head = repo.head().expect("readable");

    for (file, bytes) in [("zeros", vec![0; 40 * MIB]), ("noise", noise(MIB + 1))] {
        person.put(file, bytes).commit(file);
        let (ok, said) = git_try(&person.dir, &["push", "origin", "HEAD:main"]);
        assert!(!ok && said.contains("bytes is in the push; at most 1048576"), "{said}");
        assert_eq!(repo.head().expect("readable"), head, "the branch stays");
        person.remove(file).commit("amended");
        crate::kit::git(&person.dir, &["reset", "-q", "--hard", "origin/main"]);
    }
    person.put("small", "x").commit("small").push();
    assert_ne!(repo.head().expect("readable"), head);
}

/// Bytes that do not pack.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// A server that answers every request with a body of which a byte comes now and then.
struct Drip {
    url: String,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drip {
    fn start() -> Drip {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let addr = listener.local_addr().expect("an address");
        let (stop, stopped) = channel();
        let thread = std::thread::spawn(move || {
            let (stream, _) = listener.accept().expect("a client");
            drip(stream, &stopped);
        });
        let url = format!("http://{addr}/r.git");
        Drip { url, stop: Some(stop), thread: Some(thread) }
    }
}

fn drip(mut stream: TcpStream, stopped: &Receiver<()>) {
    let mut request = [0; 4096];
    assert_ne!(stream.read(&mut request).expect("a request"), 0);
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\
                content-type: application/x-git-upload-pack-advertisement\r\n\r\nfff0";
    stream.write_all(head.as_bytes()).expect("sent");
    while stopped.recv_timeout(Duration::from_millis(5)) == Err(RecvTimeoutError::Timeout) {
        if stream.write_all(b"x").is_err() {
            return;
        }
    }
}

impl Drop for Drip {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().map(JoinHandle::join).transpose().expect("the server does not panic");
    }
}
