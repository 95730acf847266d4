//! Proposals: rules in words that wait until a person accepts or rejects them. Each is a file in the state directory.

use crate::exit::CliError;
use crate::nearest::nearest;
use crate::output::quoted;
use crate::rows::MAX_BYTES;
use anyhow::anyhow;
use hookhost::config::UserDirectories;
use hookhost::files::{self, Guard, Links, Lock, NewFile};
use hookhost_agents::clock::now;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::PathBuf;

/// Maximum number of proposals that wait.
const MAX_PROPOSALS: usize = 20;

/// Maximum size of a proposal's file, in bytes. Each byte of the rules can need an escape.
const MAX_FILE_BYTES: u64 = 8 * MAX_BYTES as u64;

/// Rules that wait for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Proposal {
    /// The name, which is the name of the file.
    pub(crate) name: String,
    /// Time of the proposal, in milliseconds since the Unix epoch.
    pub(crate) time: u64,
    /// Who wrote the rules.
    pub(crate) by: String,
    /// What the person asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sentence: Option<String>,
    /// The `[[rule]]` tables.
    pub(crate) rules: String,
}

/// Stores rules as a proposal. The proposal has the name of the first rule, or another one that is similar.
///
/// # Errors
/// Fails if too many proposals wait, or if the file cannot be written.
pub(crate) fn store(
    places: &UserDirectories,
    first_id: &str,
    by: &str,
    sentence: Option<&str>,
    rules: &str,
) -> Result<Proposal, CliError> {
    let directory = directory(places);
    let unwritable = |error: &dyn std::fmt::Display| {
        CliError::from(anyhow!("the proposal cannot be written to {}: {error}", directory.display()))
    };
    files::make_own_directory(&places.state).map_err(|error| unwritable(&error))?;
    let _lock = Lock::take(&places.state).map_err(|error| unwritable(&error))?;
    let all = all(places)?;
    if let Some(same) = all.iter().find(|proposal| proposal.rules == rules) {
        return Ok(same.clone());
    }
    if all.len() >= MAX_PROPOSALS {
        let why = format!("{MAX_PROPOSALS} proposals wait already: a person must accept or reject some of them first");
        return Err(CliError::usage(why).advise("hookhost rule proposals"));
    }
    let is_free = |name: &String| !all.iter().any(|proposal| proposal.name == *name);
    let names = std::iter::once(first_id.to_owned()).chain((2..).map(|number| format!("{first_id}-{number}")));
    let name = names.into_iter().find(is_free).unwrap_or_default();
    let proposal = Proposal {
        name,
        time: now(),
        by: by.to_owned(),
        sentence: sentence.map(str::to_owned),
        rules: rules.to_owned(),
    };
    files::make_own_directory(&directory).map_err(|error| unwritable(&error))?;
    let text = serde_json::to_vec(&proposal).map_err(|error| unwritable(&error))?;
    files::replace(&file(places, &proposal.name), &text, NewFile::Private).map_err(|error| unwritable(&error))?;
    Ok(proposal)
}

/// Returns the proposals, the oldest first. A file that others could have written is left out.
///
/// # Errors
/// Fails if the directory cannot be read.
pub(crate) fn all(places: &UserDirectories) -> Result<Vec<Proposal>, CliError> {
    let directory = directory(places);
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(anyhow!("{} cannot be read: {error}", directory.display()).into()),
    };
    let read = |path: PathBuf| {
        let bytes = files::read(&path, Guard::OnlyMineToWrite, Links::Refused, MAX_FILE_BYTES).ok()?;
        let proposal: Proposal = serde_json::from_slice(&bytes).ok()?;
        (path == file(places, &proposal.name)).then_some(proposal)
    };
    let mut all: Vec<Proposal> = entries.flatten().filter_map(|entry| read(entry.path())).collect();
    all.sort_by(|one, other| (one.time, &one.name).cmp(&(other.time, &other.name)));
    Ok(all)
}

/// Returns the proposal of this name, or the only one if no name is given.
///
/// # Errors
/// Fails if there is no such proposal, or if there are several and none is named.
pub(crate) fn find(places: &UserDirectories, name: Option<&str>) -> Result<Proposal, CliError> {
    let mut all = all(places)?;
    let Some(name) = name else {
        return match (all.pop(), all.len()) {
            (None, _) => {
                Err(CliError::usage("no proposal waits")
                    .advise("hookhost rule \"what the rule should do, in your words\""))
            }
            (Some(only), 0) => Ok(only),
            (Some(newest), _) => Err(CliError::usage("several proposals wait: name one")
                .advise("hookhost rule proposals")
                .advise(format!("hookhost rule accept {}", quoted(&newest.name)))),
        };
    };
    if let Some(found) = all.iter().find(|proposal| proposal.name == name) {
        return Ok(found.clone());
    }
    let error = CliError::usage(format!("there is no proposal {}", quoted(name)));
    Err(match nearest(name, all.iter().map(|proposal| proposal.name.as_str())) {
        Some(near) => error.advise(format!("hookhost rule accept {}", quoted(near))),
        None => error.advise("hookhost rule proposals"),
    })
}

/// Removes a proposal.
///
/// # Errors
/// Fails if its file cannot be removed.
pub(crate) fn remove(places: &UserDirectories, proposal: &Proposal) -> Result<(), CliError> {
    let file = file(places, &proposal.name);
    fs::remove_file(&file).map_err(|error| anyhow!("{} cannot be removed: {error}", file.display()).into())
}

fn directory(places: &UserDirectories) -> PathBuf {
    places.state.join("proposals")
}

/// Returns the file of a proposal. A name has only the characters of a rule's id.
fn file(places: &UserDirectories, name: &str) -> PathBuf {
    directory(places).join(format!("{name}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposals_are_named_after_their_first_rule_and_bounded_and_the_same_rules_wait_once() {
        let directory = tempfile::tempdir().unwrap();
        let places = UserDirectories::new(directory.path().join("config"), directory.path().join("state"));
        assert!(find(&places, None).is_err());
        let first = store(&places, "a", "ada", None, "one").unwrap();
        assert_eq!(store(&places, "a", "ada", None, "one").unwrap(), first);
        assert_eq!(find(&places, None).unwrap(), first);
        let second = store(&places, "a", "ada", Some("a wish"), "two").unwrap();
        assert_eq!((second.name.as_str(), all(&places).unwrap().len()), ("a-2", 2));
        assert!(find(&places, None).unwrap_err().message().contains("name one"));
        for number in 2..MAX_PROPOSALS {
            store(&places, "a", "ada", None, &number.to_string()).unwrap();
        }
        assert!(store(&places, "a", "ada", None, "more").unwrap_err().message().contains("20 proposals wait"));
        remove(&places, &first).unwrap();
        store(&places, "a", "ada", None, "more").unwrap();
    }
}
