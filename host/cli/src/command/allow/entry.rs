//! Builds an entry from the command line. The entry is written as TOML and parsed like a configuration file, so that the same
//! rules and messages apply.

use crate::args::AllowArgs;
use crate::configuration::SECTIONS;
use crate::exit::CliError;
use hookhost::command::Inspection;
use hookhost::config::{Code, Config, ConfigError, Entry, Layer, OnFailure, Source, UserDirectories};
use std::path::Path;
use toml::{Table, Value};

/// The values that a plugin proposes for its allowlist entry.
#[derive(Clone, Copy, Default)]
pub(super) struct Proposed {
    pub(super) priority: Option<i32>,
    pub(super) on_failure: Option<OnFailure>,
}

/// A grant that a plugin needs.
struct NeededGrant<'a> {
    key: &'a str,
    /// The line of `[plugin.grants]`.
    text: &'a str,
}

/// The optional grant that is proposed. All others have a value that only the user can choose.
const PROPOSED: &str = "labels = true";

/// Returns the grants without which the plugin does not load, and the optional grant that is proposed.
fn needed(inspection: &Inspection) -> impl Iterator<Item = NeededGrant<'_>> {
    let optional = inspection.optional_grants.iter().filter(|line| *line == PROPOSED);
    let lines = inspection.grants.iter().chain(optional);
    lines.map(|line| NeededGrant { key: line.split('=').next().unwrap_or(line).trim(), text: line })
}

/// Returns the existing entry with the file's current digest.
pub(super) fn renewed(args: &AllowArgs, old: &Entry, inspection: &Inspection) -> Result<Entry, CliError> {
    let changes = !args.grants.is_empty()
        || !args.entry.is_empty()
        || !args.set.is_empty()
        || args.config_json.is_some()
        || args.priority.is_some()
        || args.disabled
        || args.name.as_ref().is_some_and(|name| *name != old.name);
    if changes {
        let at = old.origin.as_ref().map(ToString::to_string).unwrap_or_default();
        return Err(CliError::usage(format!(
            "{} is on the allowlist already, at {at}: change its entry there; this command would only pin its new digest",
            old.name
        )));
    }
    let mut entry = old.clone();
    if let Code::File { digest, .. } = &mut entry.code {
        *digest = inspection.digest;
    }
    Ok(entry)
}

/// Returns a new entry.
pub(super) fn new(
    args: &AllowArgs,
    named: &Path,
    inspection: &Inspection,
    proposed: Proposed,
    file: &Path,
    places: &UserDirectories,
) -> Result<Entry, CliError> {
    let wasm = std::path::absolute(named).unwrap_or_else(|_| named.to_owned());
    let path = wasm.to_str().ok_or_else(|| CliError::usage(format!("the path {} is not UTF-8", wasm.display())))?;
    let mut entry = further_keys(args)?;
    entry.insert("name".into(), Value::String(args.name.clone().unwrap_or_else(|| name_of(named))));
    entry.insert("path".into(), Value::String(path.to_owned()));
    entry.insert("sha256".into(), Value::String(inspection.digest.to_string()));
    if let Some(priority) = args.priority.or(proposed.priority) {
        entry.insert("priority".into(), Value::Integer(priority.into()));
    }
    if let Some(on_failure) = proposed.on_failure {
        entry.entry("on-failure").or_insert_with(|| on_failure.name().into());
    }
    if args.disabled {
        entry.insert("enabled".into(), Value::Boolean(false));
    }
    let grants = grants(args, inspection)?;
    if !grants.is_empty() {
        entry.insert("grants".into(), Value::Table(grants));
    }
    let config = config(args)?;
    if !config.is_empty() {
        entry.insert("config".into(), Value::Table(config));
    }
    let document = Table::from_iter([("plugin".to_owned(), Value::Array(vec![Value::Table(entry)]))]);
    // Directories in grants are relative to the file that will contain the entry.
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let source = Source::new(file, Layer::Chosen).with_home(places.home.clone());
    let read = Config::parse(&document.to_string(), &source, SECTIONS).map_err(in_the_flags)?;
    let mut entry = read.entries().first().cloned().ok_or_else(|| CliError::usage("the flags give no entry"))?;
    // The entry is not in a file yet.
    entry.origin = None;
    Ok(entry)
}

/// Removes line numbers from the errors. They would refer to a text that this program generated and the user never sees.
fn in_the_flags(error: ConfigError) -> CliError {
    match error {
        ConfigError::Invalid(problems) => {
            let messages: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
            CliError::usage(format!("the flags do not give a valid entry: {}", messages.join("; ")))
        }
        other => CliError::usage(other),
    }
}

/// Makes the name of an entry from the file's name without its extension.
fn name_of(wasm: &Path) -> String {
    let stem = wasm.file_stem().unwrap_or_default().to_string_lossy();
    stem.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '-' }).collect()
}

/// Returns the keys that `--entry` sets. No other flag sets these keys.
fn further_keys(args: &AllowArgs) -> Result<Table, CliError> {
    const FLAGS: [(&str, &str); 7] = [
        ("name", "--name"),
        ("path", "the argument"),
        ("sha256", "the file"),
        ("priority", "--priority"),
        ("enabled", "--disabled"),
        ("grants", "--grant"),
        ("config", "--set"),
    ];
    let mut entry = Table::new();
    for line in &args.entry {
        let parsed: Table = line.parse().map_err(|_| {
            CliError::usage(format!("--entry {line:?} is not a line of [[plugin]], such as `mode = \"observe\"`"))
        })?;
        for (key, value) in parsed {
            if let Some((_, flag)) = FLAGS.iter().find(|(known, _)| *known == key) {
                return Err(CliError::usage(format!("--entry cannot give `{key}`: use {flag}")));
            }
            if entry.insert(key.clone(), value).is_some() {
                return Err(CliError::usage(format!("--entry gives `{key}` twice")));
            }
        }
    }
    Ok(entry)
}

/// Returns the grants that the flags give. All other grants that the plugin needs are added with default values.
fn grants(args: &AllowArgs, inspection: &Inspection) -> Result<Table, CliError> {
    let mut grants = Table::new();
    for line in &args.grants {
        let parsed: Table = line.parse().map_err(|_| {
            CliError::usage(format!("--grant {line:?} is not a line of [plugin.grants], such as `transcript = true`"))
        })?;
        for (key, value) in parsed {
            if grants.insert(key.clone(), value).is_some() {
                return Err(CliError::usage(format!("--grant gives `{key}` twice")));
            }
        }
    }
    for needed in needed(inspection).filter(|needed| !args.grants_key(needed.key)) {
        let only_you = match needed.key {
            "model" => {
                Some("it imports `model`, and you have to choose the model: add --grant '{}' with a model of yours")
            }
            _ => None,
        };
        if let Some(only_you) = only_you {
            return Err(CliError::usage(only_you.replace("{}", needed.text)));
        }
        let parsed: Table = needed.text.parse().map_err(anyhow::Error::new)?;
        grants.extend(parsed);
    }
    Ok(grants)
}

impl AllowArgs {
    /// Returns true if a `--grant` has this key.
    fn grants_key(&self, key: &str) -> bool {
        self.grants.iter().any(|line| line.parse::<Table>().is_ok_and(|table| table.contains_key(key)))
    }
}

/// Returns the settings of `--config-json` with the keys of `--set` added.
fn config(args: &AllowArgs) -> Result<Table, CliError> {
    let mut config = match &args.config_json {
        None => Table::new(),
        Some(text) => {
            let wrong = |why: &dyn std::fmt::Display| {
                CliError::usage(format!("--config-json is not a JSON object for a configuration: {why}"))
            };
            let object: serde_json::Map<String, serde_json::Value> =
                serde_json::from_str(text).map_err(|error| wrong(&error))?;
            Table::try_from(object).map_err(|error| wrong(&error))?
        }
    };
    for set in &args.set {
        let (key, value) =
            set.split_once('=').ok_or_else(|| CliError::usage(format!("--set {set:?} is not KEY=VALUE")))?;
        put(&mut config, key.trim(), value_of(value))
            .map_err(|why| CliError::usage(format!("--set {set:?} cannot be: {why}")))?;
    }
    Ok(config)
}

/// Parses a TOML value. Text that is not TOML becomes a string.
fn value_of(text: &str) -> Value {
    let parsed = format!("value = {text}").parse::<Table>().ok().filter(|table| table.len() == 1);
    parsed.and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::String(text.to_owned()))
}

fn put(table: &mut Table, key: &str, value: Value) -> Result<(), String> {
    match key.split_once('.') {
        _ if key.is_empty() || key.starts_with('.') || key.ends_with('.') => Err("a key is empty".to_owned()),
        Some((first, rest)) => match table.entry(first).or_insert_with(|| Value::Table(Table::new())) {
            Value::Table(inner) => put(inner, rest, value),
            _ => Err(format!("`{first}` is no table")),
        },
        None => {
            table.insert(key.to_owned(), value);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_toml_or_otherwise_a_text() {
        assert_eq!(value_of("3"), Value::Integer(3));
        assert_eq!(value_of("[\"infra/**\"]"), Value::Array(vec!["infra/**".into()]));
        assert_eq!(value_of("30s"), Value::String("30s".into()));
        assert_eq!(value_of("1\nother = 2"), Value::String("1\nother = 2".into()));
        assert_eq!(value_of(""), Value::String(String::new()));
    }

    #[test]
    fn a_dotted_key_goes_into_a_table() {
        let mut table = Table::new();
        put(&mut table, "a.b", 1.into()).unwrap();
        put(&mut table, "a.c", 2.into()).unwrap();
        assert_eq!(table.to_string(), "[a]\nb = 1\nc = 2\n");
        assert_eq!(put(&mut table, "a.b.c", 3.into()), Err("`b` is no table".into()));
        assert!(put(&mut table, "a.", 3.into()).is_err());
    }

    #[test]
    fn a_name_is_made_from_the_files() {
        assert_eq!(name_of(Path::new("/x/path_guard.wasm")), "path-guard");
        assert_eq!(name_of(Path::new("my guard.v2.wasm")), "my-guard.v2");
    }
}
