//! Facts about the world of an agent, which the host reads for plugins: the branch of a repository, the context of a
//! cluster, the mode of the session.
//!
//! Each source has one module. A source reads a few small files of bounded size, and environment variables of the
//! agent's process. No source starts a program or uses the network. A fact is *absent* if its source does not exist. A
//! fact is *unreadable* if the source exists and cannot be read or understood. The reasons contain names of files, and
//! no content.
//!
//! | module | what it reads |
//! |---|---|
//! | `file` | a small file, or the absence of a file |
//! | `ini` | files of sections, keys and values |
//! | `agent` | what the sender of an event knows about the agent: [`AgentContext`] |
//! | `process` | the agent's process: its environment variables, its user, its namespaces |
//! | `git` | the repository around a directory |
//! | `git_index` | the files that a repository tracks |
//! | `kube` | the configuration of `kubectl` |
//! | `cloud` | the configurations of `aws` and `gcloud` |
//! | `tools` | the configurations of `terraform` and `docker` |
//! | `reader` | the facts of one event, each read at most once |

mod agent;
mod cloud;
mod file;
mod git;
mod git_index;
mod ini;
mod kube;
mod process;
mod reader;
mod tools;

pub use agent::{AgentContext, AgentProcess, GivenFacts};
#[cfg(target_os = "linux")]
pub use process::OtherProcess;
pub use process::{OwnProcess, UnknownProcess};

pub(crate) use reader::FactReader;

use crate::contract::Fact;
use std::path::{Path, PathBuf};

/// The result of a source: a value; `None` if the source does not exist; an error with the reason if it cannot be read.
type Found<T = String> = Result<Option<T>, String>;

/// Maximum size of a fact's text, in bytes.
const MAX_TEXT: usize = 4096;

/// Converts the result of a source to a fact with a text.
fn text(found: Found) -> Fact {
    match found {
        Ok(None) => Fact::Absent,
        Ok(Some(text)) if text.len() > MAX_TEXT => Fact::Unreadable(format!("it is longer than {MAX_TEXT} bytes")),
        Ok(Some(text)) => Fact::Text(text),
        Err(why) => Fact::Unreadable(why),
    }
}

/// Converts the result of a source to a fact that is true or false.
fn flag(found: Found<bool>) -> Fact {
    match found {
        Ok(None) => Fact::Absent,
        Ok(Some(flag)) => Fact::Flag(flag),
        Err(why) => Fact::Unreadable(why),
    }
}

/// Returns the reason why a file cannot be understood.
fn not_understood(file: &Path, why: &str) -> String {
    format!("{} {why}", file.display())
}

/// Returns the home directory of the agent's user.
fn home(process: &dyn AgentProcess) -> Found<PathBuf> {
    Ok(set(process, "HOME")?.map(PathBuf::from))
}

/// Returns a variable that is set and not empty.
fn set(process: &dyn AgentProcess, name: &str) -> Found {
    Ok(process.variable(name)?.filter(|value| !value.is_empty()))
}

/// Returns the path in a variable, or a path below the home directory. A relative path begins in `at`.
fn place(process: &dyn AgentProcess, at: &Path, variable: &str, below_home: &str) -> Found<PathBuf> {
    match set(process, variable)? {
        Some(path) => Ok(Some(at.join(path))),
        None => Ok(home(process)?.map(|home| home.join(below_home))),
    }
}

#[cfg(test)]
mod tests;
