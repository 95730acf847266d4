//! The values of secrets that the host knows: those in files of the project, such as `.env`, and in environment variables of the
//! agent. A plugin asks where a text contains such a value, and never sees the values.
//!
//! A value is covered if it has at least [`MIN_LENGTH`] characters and is no ordinary text: words, numbers, a path, an address. An
//! ordinary text would be found in many texts that contain no secret.
//!
//! | module | what it does |
//! |---|---|
//! | `dotenv` | reads the names and values of a file |
//! | `ordinary` | tells why a value is no secret |
//! | `index` | finds values in a text |
//! | `sources` | reads the files and variables, and keeps what was read until they change |

mod dotenv;
mod index;
mod ordinary;
mod sources;

pub(crate) use sources::{KnownSecrets, Sources};

use serde::{Deserialize, Serialize};

/// Minimum length of a value that is covered, in bytes.
const MIN_LENGTH: usize = 12;

/// A place in a text at which the value of a secret was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct FoundSecret {
    /// The name of the variable.
    pub name: String,
    /// The first byte of the value in the text.
    pub start: u32,
    /// The byte after the value in the text.
    pub end: u32,
}

/// A value that is not looked for, or a file or variable that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct UncoveredSecret {
    /// The name of the variable, or the path of the file.
    pub name: String,
    /// The reason, as the end of a sentence that begins with the name.
    pub reason: String,
}
