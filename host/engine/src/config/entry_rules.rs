//! The rules for entries that the types cannot express. They apply to entries of files and to entries that a program
//! created.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::{
    Code, Entry, Grants, Limits, SecretsGrant,
    paths::{expand, shorten},
    quantity::{Count32, Count64, Handles, Instances, Memory, Size, TableElements, Tables, UpToAnHour},
    server::Server,
};

/// A rule that an entry breaks.
pub(super) struct BrokenRule {
    /// The key that breaks the rule, preceded by the keys of the tables that contain it.
    pub(super) keys: Vec<String>,
    /// The description of the mistake, which is shown after the key: "`key`: …".
    pub(super) why: String,
}

#[derive(Default)]
struct BrokenRules(Vec<BrokenRule>);

impl BrokenRules {
    fn check(&mut self, keys: &[&str], result: Result<(), String>) {
        if let Err(why) = result {
            self.0.push(BrokenRule { keys: keys.iter().map(|key| (*key).to_owned()).collect(), why });
        }
    }
}

/// Returns the rules that an entry breaks.
pub(super) fn broken(entry: &Entry) -> Vec<BrokenRule> {
    let mut broken = BrokenRules::default();
    broken.check(&["name"], name_rule(&entry.name));
    for (key, is_empty) in [
        ("events", entry.events.as_ref().is_some_and(BTreeSet::is_empty)),
        ("actions", entry.actions.as_ref().is_some_and(BTreeSet::is_empty)),
        ("tools", entry.tools.as_ref().is_some_and(Vec::is_empty)),
    ] {
        let why = "an empty list selects nothing: remove the key to select all, or set `enabled = false`";
        broken.check(&[key], if is_empty { Err(why.to_owned()) } else { Ok(()) });
    }
    limits(&entry.limits, &mut broken);
    let deadline = entry.limits.deadline(&entry.grants);
    if entry.limits.compute(&entry.grants) > deadline {
        let why = format!("longer than `deadline`, which is {deadline:?} and applies to the whole call");
        broken.check(&["limits", "compute"], Err(why));
    }
    grants(&entry.grants, &mut broken);
    broken.0
}

/// Checks the ranges of limits. In a file, parsing already ensures these ranges, but a program can set any number.
fn limits(limits: &Limits, broken: &mut BrokenRules) {
    let size = |size: usize| Size::new(size as u64).map(drop);
    let mut check = |key, result| broken.check(&["limits", key], result);
    check("fuel", Count64::new(limits.fuel.get()).map(drop));
    for (key, time) in [("compute", limits.compute), ("deadline", limits.deadline)] {
        let micros = time.map(|time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        check(key, micros.map_or(Ok(()), |micros| UpToAnHour::new(micros).map(drop)));
    }
    check("memory", Memory::new(limits.memory.get() as u64).map(drop));
    check("table-elements", TableElements::new(limits.table_elements.get().into()).map(drop));
    check("tables", Tables::new(limits.tables.get().into()).map(drop));
    check("instances", Instances::new(limits.instances.get().into()).map(drop));
    check("handles", Handles::new(limits.handles.get().into()).map(drop));
    check("input", size(limits.input.get()));
    check("output", size(limits.output.get()));
    check("log", size(limits.log.get()));
    check("http-body", size(limits.http_body.get()));
    check("capability-calls", Count32::new(limits.capability_calls.get().into()).map(drop));
}

fn grants(grants: &Grants, broken: &mut BrokenRules) {
    let Grants { env, http, capabilities, state, model, read_dirs, write_dirs, secrets, .. } = grants;
    env.iter().for_each(|name| broken.check(&["grants", "env"], env_rule(name)));
    http.iter().for_each(|host| broken.check(&["grants", "http"], Server::parse(host).map(drop)));
    capabilities.iter().for_each(|name| broken.check(&["grants", "capabilities"], name_rule(name)));
    if let Some(state) = state {
        broken.check(&["grants", "state", "quota"], Size::new(state.quota.get() as u64).map(drop));
    }
    if let Some(secrets) = secrets {
        let mut check = |key, result| broken.check(&["grants", "secrets", key], result);
        secrets.files.iter().for_each(|file| check("files", SecretsGrant::check_file(file)));
        secrets.variables.iter().for_each(|name| check("variables", env_rule(name)));
    }
    if model.as_ref().is_some_and(|model| model.name.is_empty()) {
        broken.check(&["grants", "model", "name"], Err("the name of a model must not be empty".to_owned()));
    }
    if let Some(twice) = read_dirs.keys().find(|guest| write_dirs.contains_key(*guest)) {
        let why = "this guest directory is in `read-dirs` too: keep it in one of them";
        broken.check(&["grants", "write-dirs", twice], Err(why.to_owned()));
    }
    for (key, directories) in [("read-dirs", read_dirs), ("write-dirs", write_dirs)] {
        directories.keys().for_each(|guest| broken.check(&["grants", key, guest], guest_dir_rule(guest)));
    }
}

/// Checks an entry that a program created. This includes the rules for all entries, and the restrictions that an entry
/// in a file cannot violate.
///
/// # Errors
/// Returns each broken rule in one sentence.
pub(super) fn check_program_entry(entry: &Entry) -> Result<(), String> {
    if let Some(grant) = matches!(entry.code, Code::Native(_)).then(|| entry.grants.of_sandbox()).flatten() {
        return Err(format!(
            "it is a native rule, for which the grant `{grant}` has no effect, because the rule has no sandbox"
        ));
    }
    let mut broken = BrokenRules(broken(entry));
    if let Code::File { path, .. } = &entry.code {
        broken.check(&["path"], path_rule(path));
    }
    for (key, directories) in [("read-dirs", &entry.grants.read_dirs), ("write-dirs", &entry.grants.write_dirs)] {
        for (guest, host) in directories {
            broken.check(&["grants", key, guest], path_rule(host));
        }
    }
    for (key, value) in &entry.config {
        broken.check(&["config", key], value_rule(value));
    }
    if broken.0.is_empty() {
        return Ok(());
    }
    let sentence = |BrokenRule { keys, why }| format!("`plugin.{}`: {why}", keys.join("."));
    Err(broken.0.into_iter().map(sentence).collect::<Vec<_>>().join("; "))
}

/// Checks that a configuration file could contain this path.
fn path_rule(path: &Path) -> Result<(), String> {
    expand(&shorten(path, Path::new(""))?, Path::new(""), None).map(drop)
}

/// Checks that TOML can express this value.
fn value_rule(value: &Value) -> Result<(), String> {
    match value {
        Value::Null => Err("a configuration cannot contain null".to_owned()),
        Value::Number(number) if number.as_i64().is_none() && !number.is_f64() => {
            Err(format!("{number} does not fit in 64 bits"))
        }
        Value::Array(items) => items.iter().try_for_each(value_rule),
        Value::Object(fields) => fields.values().try_for_each(value_rule),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Checks the name of an entry.
pub(crate) fn name_rule(name: &str) -> Result<(), String> {
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    let odd = name.chars().any(|c| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_' | '-'));
    if starts_well && !odd && name.len() <= 64 {
        return Ok(());
    }
    Err("a name is 1 to 64 of `A–Z a–z 0–9 . _ -` and begins with a letter or digit".to_owned())
}

fn guest_dir_rule(guest: &str) -> Result<(), String> {
    if guest.starts_with('/') && !guest.contains('\0') && guest.split('/').all(|part| part != ".." && part != ".") {
        return Ok(());
    }
    Err(format!("{guest:?} is not a guest directory: its path begins with `/` and contains neither `.` nor `..`"))
}

fn env_rule(name: &str) -> Result<(), String> {
    if name.is_empty() || name.contains(['=', '\0', '*']) {
        return Err(format!(
            "{name:?} is not the name of an environment variable: write the full name, without `=` and `*`"
        ));
    }
    Ok(())
}
