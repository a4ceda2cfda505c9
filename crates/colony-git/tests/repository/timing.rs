//! How long a fetch takes over TLS with certificates, as a site does it. Prints, and asserts no time.

use std::time::{Duration, Instant};

use colony_git::{Auth, Deployments, Remote, Watch};
use tempfile::TempDir;

use crate::kit::put;
use crate::kit::server::Server;
use crate::kit::tls::Fleet;

const ROUNDS: usize = 40;

#[test]
#[ignore = "prints times: cargo nextest run -p colony-git --run-ignored only --no-capture times"]
fn times_of_a_fetch() {
    let keep = TempDir::new().expect("a folder");
    let dir = keep.path().join("deployments.git");
    let repo = Deployments::hosted(&dir).expect("opens");
    let fleet = Fleet::new();
    let server = Server::start(&dir, None, Some(fleet.acceptor()));
    let remote = Remote { url: server.url("https"), auth: Auth::Mtls { tls: fleet.client(true) } };
    let watch = Watch::open(&keep.path().join("watch"), remote, "main").expect("opens");
    let (mut news, mut nothing) = (Vec::new(), Vec::new());
    for number in 0..ROUNDS {
        let path = format!("deployments/home/app-{}.yaml", number % 10);
        put(&repo, &path, &format!("number: {number}\n"));
        news.push(timed(|| {
            assert_eq!(watch.fetch().expect("fetched"), repo.head().expect("read"))
        }));
        nothing.push(timed(|| drop(watch.fetch().expect("fetched"))));
    }
    println!("a commit:    {}", percentiles(news));
    println!("nothing new: {}", percentiles(nothing));
    println!("connections: {}", server.connections());
}

#[expect(clippy::disallowed_methods, reason = "the real time is what is printed")]
fn timed(act: impl FnOnce()) -> Duration {
    let began = Instant::now();
    act();
    began.elapsed()
}

fn percentiles(mut all: Vec<Duration>) -> String {
    all.sort();
    let at = |percent: usize| all[(all.len() - 1) * percent / 100].as_secs_f64() * 1000.0;
    format!("p10 {:.1} ms, p50 {:.1} ms, p90 {:.1} ms", at(10), at(50), at(90))
}
