//! The SHA-256 digest that names a file's exact content.

use std::{fmt, io, path::Path, str::FromStr};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::files::{self, Guard, Links};

/// A SHA-256 digest (FIPS 180-4); 64 hexadecimal digits in text, lower case where the host writes it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

/// The text is no digest.
#[derive(Debug, thiserror::Error)]
#[error("a SHA-256 digest is 64 hexadecimal digits, and this is {0}")]
pub struct InvalidDigest(String);

impl Digest {
    /// The digest of these bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of a file's content, read in pieces.
    ///
    /// # Errors
    /// If the file cannot be opened or read, or is not a regular file.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        let mut hasher = Sha256::new();
        let mut file = files::open(path, Guard::Anybodys, Links::Followed)?;
        let mut piece = [0; 16 * 1024];
        loop {
            match io::Read::read(&mut file, &mut piece)? {
                0 => return Ok(Self(hasher.finalize().into())),
                n => hasher.update(&piece[..n]),
            }
        }
    }

    /// 32 bytes of 0, in place of a digest where there is nothing to digest.
    pub(crate) const fn zero() -> Self {
        Self([0; 32])
    }

    pub(crate) const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Gives its digits to `with`. They are made without `fmt` and on the stack: each record of an event has two digests of each
    /// plugin.
    fn with_digits<T>(&self, with: impl FnOnce(&str) -> T) -> T {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut digits = [b'0'; 64];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(&self.0) {
            pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
        // They are ASCII.
        with(std::str::from_utf8(&digits).unwrap_or_default())
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_digits(|digits| f.write_str(digits))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        if let Some(odd) = text.chars().find(|c| !c.is_ascii_hexdigit()) {
            return Err(InvalidDigest(format!("a text with {odd:?} in it")));
        }
        if text.len() != 64 {
            return Err(InvalidDigest(format!("{} digits long", text.len())));
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = pair.iter().fold(0, |sum, digit| sum << 4 | hex_value(*digit));
        }
        Ok(Self(bytes))
    }
}

const fn hex_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20).wrapping_sub(b'a').wrapping_add(10),
    }
}

impl TryFrom<String> for Digest {
    type Error = InvalidDigest;

    fn try_from(text: String) -> Result<Self, InvalidDigest> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.with_digits(str::to_owned)
    }
}
