//! Content digests, written `sha256:<64 lower-case hex digits>`.
//!
//! The same text is used in manifests, URLs and (quoted) ETags. A digest is
//! always computed over the exact bytes that were sent, never over a
//! re-serialisation.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

const PREFIX: &str = "sha256:";
const HEX_LENGTH: usize = 64;
const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The SHA-256 of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// Why a text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    #[error("digest has no algorithm; expected `sha256:` and 64 hex digits")]
    NoAlgorithm,
    #[error("digest algorithm `{0}` is unknown; expected `sha256`")]
    UnknownAlgorithm(String),
    #[error("digest has {0} hex digits; expected 64")]
    Length(usize),
    #[error("digest has the upper-case digit `{0}`; expected lower case")]
    UpperCase(char),
    #[error("digest has the character `{0}`; expected lower-case hex digits")]
    NotHex(char),
}

impl Digest {
    /// Computes the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// The 32 bytes of the digest.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first 12 hex digits, for people.
    pub fn short(&self) -> String {
        self.hex().chars().take(12).collect()
    }

    /// The 64 hex digits without the algorithm.
    pub fn hex(&self) -> String {
        let digit = |it: u8| char::from(DIGITS[usize::from(it)]);
        self.0.iter().flat_map(|it| [digit(it >> 4), digit(it & 15)]).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({})", self.short())
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Digest, DigestError> {
        let (algorithm, hex) = text.split_once(':').ok_or(DigestError::NoAlgorithm)?;
        if algorithm != "sha256" {
            return Err(DigestError::UnknownAlgorithm(algorithm.chars().take(32).collect()));
        }
        // The characters are checked first: a shortened digest ends in dots,
        // and an error about its length alone would mislead.
        let digits = hex.chars().map(digit).collect::<Result<Vec<u8>, _>>()?;
        if digits.len() != HEX_LENGTH {
            return Err(DigestError::Length(digits.len()));
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair[0] << 4 | pair[1];
        }
        Ok(Digest(bytes))
    }
}

fn digit(c: char) -> Result<u8, DigestError> {
    match c {
        '0'..='9' => Ok(c as u8 - b'0'),
        'a'..='f' => Ok(c as u8 - b'a' + 10),
        'A'..='F' => Err(DigestError::UpperCase(c)),
        _ => Err(DigestError::NotHex(c)),
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn digest_of_nothing_is_the_well_known_one() {
        assert_eq!(Digest::of(b"").to_string(), EMPTY);
        assert_eq!(Digest::of(b"").short(), "e3b0c44298fc");
        assert_eq!(EMPTY.parse(), Ok(Digest::of(b"")));
    }

    #[test]
    fn every_flaw_is_named() {
        check("", "digest has no algorithm; expected `sha256:` and 64 hex digits");
        check("sha512:00", "digest algorithm `sha512` is unknown; expected `sha256`");
        check("SHA256:00", "digest algorithm `SHA256` is unknown; expected `sha256`");
        check("sha256:", "digest has 0 hex digits; expected 64");
        check("sha256:abc", "digest has 3 hex digits; expected 64");
        check("sha256:aB", "digest has the upper-case digit `B`; expected lower case");
        check("sha256:b5c6...", "digest has the character `.`; expected lower-case hex digits");
        check("sha256: ä", "digest has the character ` `; expected lower-case hex digits");
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(text.parse::<Digest>().unwrap_err().to_string(), expected);
        assert!(serde_json::from_value::<Digest>(text.into()).is_err());
    }
}
