//! Compressed bodies of Git clients.

use std::io::Read;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;

use crate::Error;

/// Unpacks a body sent with `Content-Encoding: gzip`, up to `limit` bytes.
pub fn gunzip(body: &[u8], limit: usize) -> Result<Bytes, Error> {
    let mut text = Vec::new();
    let bound = limit as u64 + 1;
    let unpacked = MultiGzDecoder::new(body).take(bound).read_to_end(&mut text);
    unpacked.map_err(|it| Error::Git { doing: "unpack a request", problem: it.to_string() })?;
    if text.len() > limit {
        let what = "the unpacked request".to_owned();
        return Err(Error::TooLarge { what, found: text.len() as u64, limit: limit as u64 });
    }
    Ok(Bytes::from(text))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn unpacking_is_bounded() {
        let packed = pack(&vec![0; 1_000_000]);
        assert!(packed.len() < 2_000);
        assert_eq!(gunzip(&packed, 1_000_000).expect("fits").len(), 1_000_000);
        assert!(matches!(gunzip(&packed, 999_999), Err(Error::TooLarge { .. })));
        assert!(matches!(gunzip(b"no gzip", 10), Err(Error::Git { .. })));
    }

    fn pack(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }
}
