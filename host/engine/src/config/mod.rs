//! The configuration `hookhost.toml`: parsing into checked types, layers, approvals of a project's file, and edits.
//!
//! The module guarantees the following. A file is used only if all of it is valid. An unknown key is an error, and the
//! message shows its line. A project's configuration file is parsed only after the user has approved its exact text.
//! The approved text stays in use until a new text is approved or the approval is revoked. By default, plugins get no
//! capabilities.
//!
//! Each module uses only modules above it in this table. A test checks this.
//!
//! | module | contents |
//! |---|---|
//! | `digest` | SHA-256 digests |
//! | `names` | the known name that is most similar to a misspelt name |
//! | `paths` | the paths in files, and how they are resolved |
//! | `quantity` | sizes, counts and times with their ranges |
//! | `pattern` | patterns of names |
//! | `server` | servers to which a plugin may send requests |
//! | `code` | the component or rule of an entry |
//! | `grants` | the capabilities of a plugin |
//! | `limits` | the limits of one call |
//! | `narrowing` | the tool calls that concern a plugin |
//! | `settings` | `[settings]` |
//! | `entry` | `[[plugin]]` |
//! | `entry_rules` | the rules of an entry that the types do not express |
//! | `raw` | `[[plugin]]` as parsed, before it is checked |
//! | `source` | the file that a text comes from |
//! | `place` | positions in the text of a file |
//! | `problem` | mistakes in a file, formatted like the messages of a compiler |
//! | `error` | the reasons why a configuration cannot be read |
//! | `tree` | a document in which each key and value has its position in the text |
//! | `toml` | the conversion of TOML into such a document |
//! | `decode` | the conversion of a document into types |
//! | `rule` | `[[rule]]` |
//! | `rules_section` | `[rules]`, and the further files with rules |
//! | `document` | other TOML files of a person |
//! | `file` | one file |
//! | `merged` | several files as one configuration |
//! | `rules_entry` | the entry of the plugin that judges the `[[rule]]` tables |
//! | `rules_digest` | the digest of all rules of a configuration |
//! | `project_file` | files on the disk |
//! | `trust` | the approvals of the user |
//! | `discover` | the files that apply in a directory |
//! | `edit` | changes of a file by the program |
//! | `edit_rules` | changes of the rules in words in the user's file |
//!
//! ```
//! use hookhost::config::{Config, Layer, Source};
//!
//! let text = r#"
//! [[plugin]]
//! name = "shell-guard"
//! path = "plugins/shell_guard.wasm"
//! sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
//! [plugin.limits]
//! fule = 1_000_000
//! "#;
//! let source = Source::new("/etc/hookhost.toml", Layer::Chosen);
//! let error = Config::parse(text, &source, &[]).unwrap_err();
//! assert!(error.to_string().starts_with(
//!     "/etc/hookhost.toml:7:1: unknown key `fule` in `plugin.limits`: did you mean `fuel`?"
//! ));
//! ```

mod code;
mod decode;
mod digest;
#[cfg(feature = "config-file")]
pub(crate) mod discover;
#[cfg(feature = "config-file")]
pub(crate) mod document;
#[cfg(feature = "config-file")]
pub(crate) mod edit;
#[cfg(feature = "config-file")]
pub(crate) mod edit_rules;
mod entry;
mod entry_rules;
mod error;
mod file;
mod grants;
mod limits;
mod merged;
pub(crate) mod names;
mod narrowing;
mod paths;
mod pattern;
mod place;
mod problem;
#[cfg(feature = "config-file")]
pub(crate) mod project_file;
mod quantity;
mod raw;
mod rule;
mod rules_digest;
mod rules_entry;
mod rules_section;
mod server;
mod settings;
mod source;
#[cfg(feature = "config-file")]
mod toml;
mod tree;
#[cfg(feature = "config-file")]
pub(crate) mod trust;

#[cfg(test)]
mod tests;

pub use crate::failure_policy::OnFailure;
pub use code::{Code, CodeId, CompiledComponent, ComponentBytes, NotCompiled};
pub use digest::{Digest, InvalidDigest};
#[cfg(feature = "config-file")]
pub use discover::{Discovered, Found, Inert, InertFile, UnapprovedChange};
pub use entry::{Entry, Layer, Mode, Origin};
pub(crate) use entry_rules::name_rule;
pub use error::ConfigError;
pub use grants::{Grants, ModelGrant, SecretsGrant, StateGrant};
pub use limits::Limits;
pub use merged::Config;
pub use narrowing::ActionKind;
pub use pattern::{InvalidPattern, KeyPattern, ToolPattern};
pub use problem::{Problem, Problems};
#[cfg(feature = "config-file")]
pub use project_file::{FILE_NAME, UserDirectories};
pub use rule::Rule;
pub use settings::{AuditSettings, Enforcement, OnQuestion, Settings};
pub use source::Source;

pub(crate) use server::{Server, ServerHost};
