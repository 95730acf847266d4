//! Restores keys of a settings file that an agent writes itself: the keys get back the value that they had at the start, and everything
//! else stays as the agent wrote it.

mod git_config;

pub(crate) use git_config::hooks_of;

use hookhost_agents::install::json;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstObject, CstRootNode};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::path::Path;
use toml_edit::{DocumentMut, Item, Table, TableLike};

/// The format of a file of which keys are restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum FileFormat {
    /// JSON, with or without comments.
    Json,
    /// TOML.
    Toml,
    /// The configuration of git. Its keys have two or three parts, such as `core.hooksPath` and `filter.*.clean`.
    GitConfig,
}

impl FileFormat {
    /// Returns the format of an agent's settings file, by its name.
    pub(crate) fn of(path: &Path) -> Self {
        if path.extension().is_some_and(|end| end == "toml") { Self::Toml } else { Self::Json }
    }
}

/// The reason why keys cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {which} text {why}, so single keys cannot be restored: put back the whole text of the start")]
pub struct NotRestorable {
    which: &'static str,
    why: String,
}

fn start(why: impl Into<String>) -> NotRestorable {
    NotRestorable { which: "earlier", why: why.into() }
}

fn present(why: impl Into<String>) -> NotRestorable {
    NotRestorable { which: "present", why: why.into() }
}

/// Maximum number of keys of a JSON file that are restored one by one, because each one is looked for from the top of the file.
const MAX_CHANGED: usize = 200;

/// A path of keys from the top of a file.
type KeyPath = Vec<String>;

/// Returns the present text of a file with the keys that it had at the start, or `None` if they are unchanged. `before` is the text of the
/// start, or `None` if the file did not exist. A key is a path joined by dots, and `*` in it stands for any key.
///
/// # Errors
/// If one of the texts cannot be read.
pub fn restored(
    format: FileFormat,
    before: Option<&str>,
    now: &str,
    keys: &[String],
) -> Result<Option<String>, NotRestorable> {
    let before = before.unwrap_or_default();
    match format {
        FileFormat::Json => restored_json(before, now, keys),
        FileFormat::Toml => restored_toml(before, now, keys),
        FileFormat::GitConfig => git_config::restored(before, now, keys),
    }
}

fn restored_json(before: &str, now: &str, keys: &[String]) -> Result<Option<String>, NotRestorable> {
    let read = |text: &str| if text.trim().is_empty() { Ok(Value::Object(Map::new())) } else { json::value(text) };
    let (old, new) = (read(before).map_err(|why| start(why.0))?, read(now).map_err(|why| present(why.0))?);
    let changed = changed(&old, &new, keys);
    if changed.is_empty() {
        return Ok(None);
    }
    if changed.len() > MAX_CHANGED {
        return Err(present(format!("has more than {MAX_CHANGED} changed keys")));
    }
    let text = if now.trim().is_empty() { "{}\n" } else { now };
    let bare = text.trim_start_matches('\u{feff}');
    let root = CstRootNode::parse(bare, &ParseOptions::default())
        .map_err(|why| present(format!("is not valid JSON ({why})")))?;
    let top = root.object_value().ok_or_else(|| present("is not a JSON object"))?;
    for path in &changed {
        put_json(&top, path, at(&old, path));
    }
    let edited = format!("{}{root}", &text[..text.len() - bare.len()]);
    check(&old, &json::value(&edited).map_err(|why| present(why.0))?, keys)?;
    Ok(Some(edited))
}

/// Sets the value at a path, or removes the member. An object is made, or takes the place of another value, only for a value to set.
fn put_json(top: &CstObject, path: &[String], value: Option<&Value>) {
    let Some((last, parents)) = path.split_last() else { return };
    let mut object = top.clone();
    for key in parents {
        let inner = match (object.object_value(key), value) {
            (Some(inner), _) => Some(inner),
            (None, None) => return,
            (None, Some(_)) => {
                if let Some(property) = object.get(key) {
                    property.remove();
                }
                object.object_value_or_create(key)
            }
        };
        let Some(inner) = inner else { return };
        object = inner;
    }
    match (object.get(last), value) {
        (Some(property), Some(value)) => property.set_value(json::input(value)),
        (None, Some(value)) => drop(object.append(last, json::input(value))),
        (Some(property), None) => property.remove(),
        (None, None) => {}
    }
}

fn restored_toml(before: &str, now: &str, keys: &[String]) -> Result<Option<String>, NotRestorable> {
    let parse = |text: &str| text.trim_start_matches('\u{feff}').parse::<DocumentMut>();
    let (old, mut new) =
        (parse(before).map_err(|_| start("is not TOML"))?, parse(now).map_err(|_| present("is not TOML"))?);
    let old_value = value_of(old.as_item());
    let changed = changed(&old_value, &value_of(new.as_item()), keys);
    if changed.is_empty() {
        return Ok(None);
    }
    for path in &changed {
        let item = path.iter().try_fold(old.as_item(), |item, key| item.as_table_like()?.get(key));
        put_toml(new.as_table_mut(), path, item);
    }
    let edited = new.to_string();
    let reread = parse(&edited).map_err(|_| present("cannot be edited"))?;
    check(&old_value, &value_of(reread.as_item()), keys)?;
    Ok(Some(edited))
}

fn put_toml(table: &mut dyn TableLike, path: &[String], item: Option<&Item>) {
    let Some((key, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        match item {
            Some(item) => drop(table.insert(key, item.clone())),
            None => drop(table.remove(key)),
        }
        return;
    }
    if item.is_some() && !table.get(key).is_some_and(Item::is_table_like) {
        let mut inner = Table::new();
        inner.set_implicit(true);
        table.insert(key, Item::Table(inner));
    }
    if let Some(inner) = table.get_mut(key).and_then(Item::as_table_like_mut) {
        put_toml(inner, rest, item);
    }
}

/// Returns a value of TOML as JSON, for comparisons.
pub(crate) fn value_of(item: &Item) -> Value {
    use toml_edit::Value as Toml;
    fn members(table: &dyn TableLike) -> Value {
        Value::Object(table.iter().map(|(key, item)| (key.to_owned(), value_of(item))).collect())
    }
    match item {
        Item::None => Value::Null,
        Item::Table(table) => members(table),
        Item::ArrayOfTables(tables) => Value::Array(tables.iter().map(|table| members(table)).collect()),
        Item::Value(value) => match value {
            Toml::String(text) => Value::String(text.value().clone()),
            Toml::Integer(number) => Value::from(*number.value()),
            Toml::Float(number) => Value::String(format!("float {}", number.value())),
            Toml::Boolean(value) => Value::Bool(*value.value()),
            Toml::Datetime(time) => Value::String(format!("time {}", time.value())),
            Toml::Array(array) => {
                Value::Array(array.iter().map(|value| value_of(&Item::Value(value.clone()))).collect())
            }
            Toml::InlineTable(table) => members(table),
        },
    }
}

/// Returns the paths that the keys match in one of the values, and at which the values differ.
fn changed(old: &Value, new: &Value, keys: &[String]) -> Vec<KeyPath> {
    let mut paths = BTreeSet::new();
    for key in keys {
        let parts: Vec<&str> = key.split('.').collect();
        collect(old, &parts, &[], &mut paths);
        collect(new, &parts, &[], &mut paths);
    }
    paths.into_iter().filter(|path| at(old, path) != at(new, path)).collect()
}

fn collect(value: &Value, keys: &[&str], at: &[String], found: &mut BTreeSet<KeyPath>) {
    let Some((key, rest)) = keys.split_first() else {
        found.insert(at.to_owned());
        return;
    };
    for (name, value) in value.as_object().into_iter().flatten().filter(|(name, _)| *key == "*" || name == key) {
        collect(value, rest, &[at, std::slice::from_ref(name)].concat(), found);
    }
}

fn at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.as_object()?.get(key))
}

/// Checks that an edited text has the keys of the start, and no others.
fn check(old: &Value, edited: &Value, keys: &[String]) -> Result<(), NotRestorable> {
    if changed(old, edited, keys).is_empty() { Ok(()) } else { Err(present("keeps a key after its edit")) }
}

#[cfg(test)]
mod tests;
