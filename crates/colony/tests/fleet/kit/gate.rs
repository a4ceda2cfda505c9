//! A way to a server that can be shut: nobody answers at its address then.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

#[derive(Debug)]
pub(crate) struct Gate {
    /// `127.0.0.1:<port>`
    pub(crate) address: String,
    target: String,
    /// The streams of an open gate.
    open: Option<Arc<Mutex<Vec<TcpStream>>>>,
}

impl Gate {
    pub(crate) fn open(target: &str) -> Gate {
        let address = format!("127.0.0.1:{}", super::free_port());
        let mut gate = Gate { address, target: target.to_owned(), open: None };
        gate.reopen();
        gate
    }

    pub(crate) fn reopen(&mut self) {
        let listener = TcpListener::bind(&self.address).unwrap();
        let streams = Arc::new(Mutex::new(Vec::new()));
        self.open = Some(Arc::clone(&streams));
        let target = self.target.clone();
        thread::spawn(move || {
            // Whoever shuts the gate lets go of the streams and knocks once.
            for stream in listener.incoming().flatten() {
                if Arc::strong_count(&streams) == 1 {
                    return;
                }
                let _ = join(&stream, &target, &streams);
            }
        });
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

fn join(client: &TcpStream, target: &str, streams: &Mutex<Vec<TcpStream>>) -> io::Result<()> {
    let server = TcpStream::connect(target)?;
    streams.lock().unwrap().extend([client.try_clone()?, server.try_clone()?]);
    pass(client.try_clone()?, server.try_clone()?);
    pass(server, client.try_clone()?);
    Ok(())
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
}
