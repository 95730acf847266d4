//! Rules as data: read from catalogues and config, compiled once, checked against each command.

mod answers;
mod compact;
mod depth;
mod embedded;
mod given;
mod matching;
mod pattern;
mod programs;
mod regex;
mod registry;
pub(crate) mod schema;
mod sql;
mod verbs;

pub(crate) use embedded::Embedded;
pub(crate) use matching::Subject;
pub(crate) use registry::{Compiled, Hit, Mode, Registry, Settings, stack_name};
pub(crate) use schema::{Catalogue, Rule, Severity};
use shell_words::{text, words};
pub(crate) use text::Text;

/// The catalogues whose rules apply in every mode.
pub(crate) const FLOOR: [&str; 2] = ["hookhost/floor", "hookhost/self-defence"];

/// A set of texts.
pub(crate) type Texts = litemap::LiteMap<String, ()>;

/// The name of the catalogue of custom rules in reports.
pub(crate) const CUSTOM: &str = "custom";
