//! Checks the rules that apply in the working directory.

use crate::configuration;
use crate::directory_rules::{OBSERVES, pause_note, rule_pause_note};
use crate::exit::CliError;
use crate::output::{entry, one_line, quoted};
use hookhost::Config;
use hookhost::config::{Digest, Entry, Problem, UserDirectories};
use hookhost_agents::install::check::Check;
use hookhost_resident::{Pause, RELOAD_FAILED, RulePauses};
use serde_json::Value;

/// Number of characters of a digest that are shown.
const SHOWN: usize = 12;

/// Checks whether the decisions of the rules take effect.
pub(super) fn enforcement(directories: &UserDirectories) -> Option<Check> {
    if let Some(pause) = Pause::current(&directories.state) {
        return Some(Check::problem("pause", pause_note(&pause), "hookhost on, to end the pause"));
    }
    let found = configuration::cwd().and_then(|cwd| configuration::find(None, &cwd)).ok()?;
    found
        .config
        .settings()
        .observe
        .then(|| Check::problem("observe", OBSERVES, "hookhost on, to let your rules decide"))
}

/// Reports the rules that are switched off for some time.
pub(super) fn switched_off(directories: &UserDirectories) -> Vec<Check> {
    let off = RulePauses::current(&directories.state);
    let check = |(id, pause): (&String, &Pause)| {
        Check::problem("rule off", one_line(&rule_pause_note(id, pause)), format!("hookhost rule on {}", quoted(id)))
    };
    off.iter().map(check).collect()
}

/// Checks the rules. `running` is the status of the resident host, if one runs. In that case, the rules that the host has loaded apply,
/// even if the files have changed since then. `with_digest` adds the digest of the rules.
pub(super) fn check(running: Option<&Value>, with_digest: bool) -> Check {
    let found = configuration::cwd().and_then(|cwd| configuration::find(None, &cwd));
    let rules = running.map(|status| &status["rules"]);
    if let Some(why) = rules.and_then(|rules| rules["problem"].as_str()) {
        let says = format!("hookhost denies every call here: {}", one_line(why));
        return Check::problem("rules", says, correction(found.as_ref().err()));
    }
    let notes = rules.and_then(|rules| rules["notes"].as_array()).into_iter().flatten().filter_map(Value::as_str);
    if let Some(kept) = notes.rev().find(|note| note.starts_with(RELOAD_FAILED)) {
        let says = format!(
            "hookhost still uses your earlier rules, and denies every call after a restart: {}",
            one_line(kept)
        );
        return Check::problem("rules", says, correction(found.as_ref().err()));
    }
    match found {
        Ok(found) => of(&found.config, with_digest),
        Err(error) => not_read(&error),
    }
}

/// Returns true if the files of the rules have a mistake.
pub(super) fn cannot_be_read() -> bool {
    configuration::cwd().and_then(|cwd| configuration::find(None, &cwd)).is_err()
}

fn of(config: &Config, with_digest: bool) -> Check {
    let files: Vec<_> = configuration::files(config).map(|file| one_line(&file.to_string_lossy())).collect();
    if config.enabled().next().is_none() {
        let empty = if files.is_empty() { String::new() } else { format!(" ({} has none)", files.join(", ")) };
        let says = format!("no rules are in force here{empty}");
        return Check::problem("rules", says, "hookhost on");
    }
    if let Some(says) = config.enabled().find_map(unusable) {
        return Check::problem("rules", format!("{says}, so every call is denied"), "hookhost hooks");
    }
    let mut says = format!("in force here: {}, from {}", entry::in_force(config), files.join(", "));
    if with_digest {
        let digest = config.digest().to_string();
        says.push_str(&format!("; digest {}", digest.get(..SHOWN).unwrap_or(&digest)));
    }
    Check::ok("rules", says)
}

/// Returns the reason why the code of an entry cannot be loaded.
fn unusable(entry: &Entry) -> Option<String> {
    let (path, pinned) = (entry.code.path()?, entry.code.digest()?);
    let shown = one_line(&path.to_string_lossy());
    match Digest::of_file(path) {
        Ok(digest) if digest == pinned => None,
        Ok(_) => Some(format!("{shown} has changed since you allowed the plugin {}", entry.name)),
        Err(error) => Some(format!("{shown}, the plugin {}, cannot be read: {error}", entry.name)),
    }
}

fn not_read(error: &CliError) -> Check {
    let message = error.message();
    let first = message.lines().next().unwrap_or_default().to_owned();
    let says = format!("the configuration cannot be used, so every call is denied: {first}");
    Check::problem("rules", says, correction(Some(error)))
}

/// Returns the next step if the rules cannot be used: the line with the mistake, or the command that shows the whole error.
fn correction(error: Option<&CliError>) -> String {
    match error.and_then(CliError::mistake) {
        Some(Problem { file, line, .. }) => format!("correct line {line} of {}", quoted(&file.to_string_lossy())),
        None => "hookhost hooks".to_owned(),
    }
}
