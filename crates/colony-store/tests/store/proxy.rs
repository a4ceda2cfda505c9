//! A way to Postgres that goes silent in the middle of a conversation.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::Notify;

/// Listens on TCP and passes everything on to a Unix socket.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    socket: PathBuf,
    /// The word of a client after which it no longer hears anything.
    word: Mutex<Option<&'static str>>,
    silent: Notify,
}

impl Proxy {
    pub(crate) async fn start(socket: PathBuf) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Shared { socket, word: Mutex::default(), silent: Notify::new() };
        let shared = Arc::new(shared);
        let serving = shared.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serving.clone().serve(client));
            }
        });
        Proxy { port, shared }
    }

    /// The next connection that says `word` gets no answer to it.
    pub(crate) fn silence_after(&self, word: &'static str) {
        *self.shared.word.lock().expect("no panic") = Some(word);
    }

    /// Resolves when a connection has gone silent.
    pub(crate) async fn silent(&self) {
        self.shared.silent.notified().await;
    }
}

impl Shared {
    async fn serve(self: Arc<Shared>, client: TcpStream) {
        let server = UnixStream::connect(&self.socket).await.expect("the server listens");
        let (mut hears, mut says) = client.into_split();
        let (mut answers, mut asks) = server.into_split();
        let silent = AtomicBool::new(false);
        let forth = pass(&mut hears, &mut asks, |bytes| {
            silent.fetch_or(self.is_word(bytes), Ordering::Relaxed);
            silent.load(Ordering::Relaxed)
        });
        let back = pass(&mut answers, &mut says, |_| silent.load(Ordering::Relaxed));
        tokio::select! {
            () = forth => {}
            () = back => {}
        }
    }

    fn is_word(&self, bytes: &[u8]) -> bool {
        let mut word = self.word.lock().expect("no panic");
        let said = word.is_some_and(|it| bytes.windows(it.len()).any(|at| at == it.as_bytes()));
        if said {
            *word = None;
            self.silent.notify_one();
        }
        said
    }
}

/// Copies until one side ends, but for what is swallowed.
async fn pass(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    swallows: impl Fn(&[u8]) -> bool,
) {
    let mut buffer = [0; 8_192];
    while let Ok(size @ 1..) = from.read(&mut buffer).await {
        if !swallows(&buffer[..size]) && to.write_all(&buffer[..size]).await.is_err() {
            return;
        }
    }
}
