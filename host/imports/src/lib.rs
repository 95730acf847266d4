//! Translates the rules that agents of other vendors have of their own into `[[rule]]` tables, and rows back into settings of agents.
//!
//! All modules are pure: they read no file and run no plugin. [`Format::read`] returns rows with examples, and an [`Omission`] for each
//! rule that no row can express. A row stops at least the calls that its original stops. Where it stops others, too, or where it cannot
//! see some of them, its comments say so. Whoever uses the rows lets the plugin `rules` check them first.
//!
//! A module uses only modules above it in this list:
//!
//! | module | purpose |
//! |---|---|
//! | `proposal` | a row with comments, and its text in TOML |
//! | `import` | the result of an import, and the text and line of each rule |
//! | `draft` | a row that is being made, with its answer and its examples |
//! | `command` | the beginning of a command as `program`, `flags` and `args` |
//! | `path` | patterns of paths, from the syntax of `.gitignore` |
//! | `expression` | simple regular expressions as the texts that they match |
//! | `permission_lists` | lists of rules in JSON, as Claude Code and Cursor have them |
//! | `starlark` | calls with literal arguments |
//! | `front_matter` | the flat subset of YAML at the beginning of a Markdown file |
//! | `claude_code`, `codex`, `gemini_cli`, `hookify`, `cursor` | the formats, one file each |
//! | `format` | the list of formats, and the files of each |
//! | `export` | rows as settings of an agent |

#![deny(missing_docs)]

mod claude_code;
mod codex;
mod command;
mod cursor;
mod draft;
mod export;
mod expression;
mod format;
mod front_matter;
mod gemini_cli;
mod hookify;
mod import;
mod path;
mod permission_lists;
mod proposal;
mod starlark;

pub use command::{CommandShape, shapes};
pub use export::{Export, exporters};
pub use format::{FORMATS, Format, Place};
pub use import::{Import, Imported, Omission, Owner, SourceFile, Unreadable, Written, slug};
pub use proposal::{Proposal, to_toml};
