//! One request over any stream, as far as tests need it.

use std::io::{Read, Write};

/// Sends a request and returns the status, the head and the body.
pub(crate) fn exchange(
    mut stream: impl Read + Write,
    method: &str,
    path: &str,
    headers: &str,
    body: &[u8],
) -> std::io::Result<(u16, String, Vec<u8>)> {
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Length: {length}\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let cut = answer.windows(4).position(|it| it == b"\r\n\r\n").unwrap_or(answer.len());
    let head = String::from_utf8_lossy(&answer[..cut]).into_owned();
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    let body = answer.get(cut + 4..).unwrap_or_default().to_vec();
    let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    Ok((status, head, if chunked { joined(&body) } else { body }))
}

fn joined(mut chunks: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(cut) = chunks.windows(2).position(|it| it == b"\r\n") {
        let size = String::from_utf8_lossy(&chunks[..cut]).trim().to_owned();
        let size = usize::from_str_radix(&size, 16).unwrap_or(0);
        let Some(chunk) = chunks.get(cut + 2..cut + 2 + size).filter(|it| !it.is_empty()) else {
            break;
        };
        body.extend_from_slice(chunk);
        chunks = chunks.get(cut + 4 + size..).unwrap_or_default();
    }
    body
}
