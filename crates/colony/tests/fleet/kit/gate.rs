//! A way to a server that can be shut: then no server answers at its address,
//! or be so narrow that everything takes its time.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Gate {
    /// `127.0.0.1:<port>`
    pub(crate) address: String,
    target: String,
    narrow: Arc<AtomicBool>,
    /// The streams of an open gate.
    open: Option<Arc<Mutex<Vec<TcpStream>>>>,
}

impl Gate {
    pub(crate) fn open(target: &str) -> Gate {
        let address = format!("127.0.0.1:{}", super::free_port());
        let (target, narrow) = (target.to_owned(), Arc::default());
        let mut gate = Gate { address, target, narrow, open: None };
        gate.reopen();
        gate
    }

    pub(crate) fn reopen(&mut self) {
        let listener = TcpListener::bind(&self.address).unwrap();
        let streams = Arc::new(Mutex::new(Vec::new()));
        self.open = Some(Arc::clone(&streams));
        let (target, narrow) = (self.target.clone(), Arc::clone(&self.narrow));
        thread::spawn(move || {
            // Shutting the gate drops the streams and connects once.
            for stream in listener.incoming().flatten() {
                if Arc::strong_count(&streams) == 1 {
                    return;
                }
                let _ = join(&stream, &target, &streams, &narrow);
            }
        });
    }

    /// Some 100 kB pass in a second.
    pub(crate) fn narrow(&self, narrow: bool) {
        self.narrow.store(narrow, Ordering::Relaxed);
    }

    pub(crate) fn shut(&mut self) {
        let Some(streams) = self.open.take() else { return };
        for stream in streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(streams);
        let _ = TcpStream::connect(&self.address);
        let shut = || TcpListener::bind(&self.address).ok();
        drop(super::wait("the gate to shut", shut));
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if self.open.take().is_some() {
            let _ = TcpStream::connect(&self.address);
        }
    }
}

fn join(
    client: &TcpStream,
    target: &str,
    streams: &Mutex<Vec<TcpStream>>,
    narrow: &Arc<AtomicBool>,
) -> io::Result<()> {
    let server = TcpStream::connect(target)?;
    streams.lock().unwrap().extend([client.try_clone()?, server.try_clone()?]);
    pass(client.try_clone()?, server.try_clone()?, Arc::clone(narrow));
    pass(server, client.try_clone()?, Arc::clone(narrow));
    Ok(())
}

fn pass(mut from: TcpStream, mut to: TcpStream, narrow: Arc<AtomicBool>) {
    thread::spawn(move || {
        let mut piece = [0; 10_000];
        while let Ok(size @ 1..) = from.read(&mut piece) {
            if to.write_all(&piece[..size]).is_err() {
                break;
            }
            if narrow.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(100));
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}
