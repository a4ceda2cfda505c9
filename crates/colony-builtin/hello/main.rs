//! The server of the application that comes with colony: one page, one check.
//!
//! `hello` serves on port 8080; `hello check` asks it once and ends with 1 if
//! the answer is not 200. It runs alone in an image without anything else.

use std::env;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

const PORT: u16 = 8080;
const PATIENCE: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let done = match env::args().nth(1).as_deref() {
        Some("check") => check(),
        _ => serve(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    let version = env::var("HELLO_VERSION").unwrap_or_default();
    let greeting = env::var("HELLO_GREETING").unwrap_or_default();
    let broken = env::var_os("HELLO_BROKEN").is_some();
    let status = if broken { "500 Internal Server Error" } else { "200 OK" };
    let page = format!("{greeting}\nhello {version}\n");
    let listener = TcpListener::bind(("0.0.0.0", PORT))?;
    println!("hello {version} serves on port {PORT}");
    for stream in listener.incoming().flatten() {
        if answer(stream, status, &page).is_ok() {
            println!("GET / {}", &status[..3]);
        }
    }
    Ok(())
}

fn answer(mut stream: TcpStream, status: &str, page: &str) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = [0; 4096];
    if stream.read(&mut request)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let length = page.len();
    let head = "Content-Type: text/plain; charset=utf-8\r\nConnection: close";
    write!(stream, "HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {length}\r\n\r\n{page}")
}

fn check() -> io::Result<()> {
    let here = SocketAddr::from(([127, 0, 0, 1], PORT));
    let mut stream = TcpStream::connect_timeout(&here, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: hello\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.split_whitespace().nth(1) {
        Some("200") => Ok(()),
        other => Err(io::Error::other(format!("GET / {}", other.unwrap_or("nothing")))),
    }
}
