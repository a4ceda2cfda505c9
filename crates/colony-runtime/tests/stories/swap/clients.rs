//! Clients of a published port.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::time::Instant;

use crate::stories::world::World;

const PATIENCE: Duration = Duration::from_secs(60);

/// What a client saw that asked again and again.
pub(super) struct Seen {
    pub(super) pages: Vec<String>,
    pub(super) failures: Vec<String>,
    pub(super) gap: Duration,
}

/// Clients of one port, over the loopback address and over that of the network.
pub(super) struct Clients {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Seen>>,
}

/// The address of this machine in its network.
pub(super) fn lan() -> IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("192.0.2.200:9").unwrap();
    socket.local_addr().unwrap().ip()
}

fn connect(address: IpAddr, port: u16) -> std::io::Result<TcpStream> {
    let address = SocketAddr::new(address, port);
    let stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    Ok(stream)
}

pub(super) fn page(address: IpAddr, port: u16) -> Result<String, String> {
    let ask = || {
        let mut stream = connect(address, port)?;
        stream.write_all(b"GET / HTTP/1.0\r\nHost: web\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        std::io::Result::Ok(answer)
    };
    let answer = ask().map_err(|it| it.to_string())?;
    answer.lines().last().map(str::to_owned).ok_or_else(|| "an empty answer".to_owned())
}

/// Reads the slow page as far as it comes. Returns when the first line is there.
pub(super) fn download(address: IpAddr, port: u16) -> JoinHandle<Vec<String>> {
    let mut stream = connect(address, port).unwrap();
    stream.write_all(b"GET /cgi-bin/slow HTTP/1.0\r\nHost: web\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let is_body = |it: &String| ["one", "two", "end"].contains(&it.as_str());
    let first = lines.find(is_body).expect("the transfer begins");
    std::thread::spawn(move || std::iter::once(first).chain(lines.filter(is_body)).collect())
}

impl Clients {
    /// Returns when each has been answered.
    pub(super) fn start(port: u16) -> Clients {
        let stop = Arc::new(AtomicBool::new(false));
        let begun = Arc::new(Barrier::new(3));
        let client = |address| {
            let (stop, begun) = (Arc::clone(&stop), Arc::clone(&begun));
            std::thread::spawn(move || ask_until(&stop, &begun, address, port))
        };
        let threads = [Ipv4Addr::LOCALHOST.into(), lan()].map(client).into();
        begun.wait();
        Clients { stop, threads }
    }

    pub(super) fn end(self) -> Vec<Seen> {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().map(|it| it.join().unwrap()).collect()
    }

    /// Ends them; they saw these pages in this order and no failure.
    #[track_caller]
    pub(super) fn check(self, world: &World, expected: &[&str]) {
        for (seen, over) in self.end().into_iter().zip(["loopback", "network"]) {
            println!("{}, {over}: longest gap {:?}", world.engine.kind, seen.gap);
            assert_eq!(seen.failures, Vec::<String>::new(), "{over}");
            assert_eq!(seen.pages, expected, "{over}");
        }
    }
}

fn ask_until(stop: &AtomicBool, begun: &Barrier, address: IpAddr, port: u16) -> Seen {
    let first = page(address, port);
    begun.wait();
    let pages = vec![first.expect("the old version answers")];
    let mut seen = Seen { pages, failures: Vec::new(), gap: Duration::ZERO };
    let (begin, mut last) = (Instant::now(), Instant::now());
    while !stop.load(Ordering::Relaxed) && begin.elapsed() < PATIENCE {
        match page(address, port) {
            Ok(page) => {
                seen.gap = seen.gap.max(last.elapsed());
                last = Instant::now();
                if seen.pages.last() != Some(&page) {
                    seen.pages.push(page);
                }
            }
            Err(failure) => seen.failures.push(failure),
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    seen.gap = seen.gap.max(last.elapsed());
    seen
}
