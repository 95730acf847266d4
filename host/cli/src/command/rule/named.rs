//! The rule that a person names, and whose it is.

use crate::configuration;
use crate::exit::CliError;
use crate::nearest::nearest;
use crate::output::quoted;
use hookhost::config::{Layer, Rule, UserDirectories};

/// The file that a rule is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The user's own hookhost.toml.
    User,
    /// The profile in force.
    Profile,
    /// The hookhost.toml of a project.
    Project,
}

impl Owner {
    pub(super) fn of(rule: &Rule, places: &UserDirectories) -> Self {
        let profile = places.profile_file();
        if rule.origin.layer == Layer::Project {
            Self::Project
        } else if rule.origin.file == profile || profile.canonicalize().is_ok_and(|file| file == rule.origin.file) {
            Self::Profile
        } else {
            Self::User
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Profile => "profile",
            Self::Project => "project",
        }
    }
}

/// Returns the rule in words of this id that applies in the working directory. `does` is the command before the id, for the advice.
pub(super) fn find(id: &str, does: &str) -> Result<Rule, CliError> {
    let (rules, off) = configuration::rules()?;
    if off.iter().any(|rule| rule.row.id == id) {
        let why = format!(
            "`rules.off` in your own hookhost.toml leaves out the rule {}: take it out there first",
            quoted(id)
        );
        return Err(CliError::usage(why));
    }
    if let Some(rule) = rules.iter().find(|rule| rule.row.id == id) {
        return Ok(rule.clone());
    }
    let error = CliError::usage(format!("no rule in words has the id {}", quoted(id)));
    Err(match nearest(id, rules.iter().map(|rule| rule.row.id.as_str())) {
        Some(near) => error.advise(format!("hookhost rule {does} {}", quoted(near))),
        None => error.advise("hookhost rule list"),
    })
}

/// Refuses a change of a project's rule, which others share. `does` says what the command does to rules.
pub(super) fn refuse_projects(rule: &Rule, places: &UserDirectories, does: &str) -> Result<(), CliError> {
    if Owner::of(rule, places) != Owner::Project {
        return Ok(());
    }
    let (id, at) = (&rule.row.id, &rule.origin);
    let why = format!(
        "the rule {id} is of the project, at {at}, and this command {does} only your own rules: change that file, and approve the change"
    );
    let file = quoted(&rule.origin.file.to_string_lossy());
    Err(CliError::usage(why).advise(format!("hookhost trust {file}")))
}
