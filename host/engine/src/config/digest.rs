//! The SHA-256 digest, which identifies the exact content of a file.

use std::{fmt, io, path::Path, str::FromStr};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::files::{self, Guard, Links};

/// A SHA-256 digest (FIPS 180-4). In text form, it has 64 hexadecimal digits. The host writes the digits in lower case
/// but also accepts upper case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

/// The text is not a digest.
#[derive(Debug, thiserror::Error)]
#[error("a SHA-256 digest is 64 hexadecimal digits, and this is {0}")]
pub struct InvalidDigest(String);

impl Digest {
    /// Returns the digest of these bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the digest of a file's content. The file is read in pieces.
    ///
    /// # Errors
    /// Fails if the file cannot be opened or read, or is not a regular file.
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

    /// Returns the digest of 32 zero bytes, which means that there is no digest.
    pub(crate) const fn zero() -> Self {
        Self([0; 32])
    }

    pub(crate) const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Calls `with` with the hexadecimal digits. Each record of an event contains two digests for each plugin, so for
    /// speed, the digits are created on the stack and without `fmt`.
    fn with_digits<T>(&self, with: impl FnOnce(&str) -> T) -> T {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut digits = [b'0'; 64];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(&self.0) {
            pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
        // The digits are ASCII, so this cannot fail.
        with(std::str::from_utf8(&digits).unwrap_or_default())
    }

    /// Returns the 32 bytes.
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
