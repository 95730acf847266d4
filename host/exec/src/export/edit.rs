//! Adds settings to the text of a file, and removes them. Comments, order and formatting of everything else stay.

use super::Setting;
use crate::policy::FileFormat;
use crate::policy::restore::value_of;
use hookhost_agents::install::json::{self, NotEditable};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstNode, CstObject, CstRootNode};
use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table, TableLike};

/// A text with settings.
pub(crate) struct EditedSettings {
    pub(crate) text: String,
    /// The settings that were not there before.
    pub(crate) settings: Vec<Setting>,
    /// The settings whose place has another value.
    pub(crate) refused: Vec<Setting>,
}

/// Returns the value of a text, in which a missing file is an empty one.
pub(crate) fn value(format: FileFormat, text: &str) -> Result<Value, NotEditable> {
    match format {
        FileFormat::Toml => Ok(value_of(toml(text)?.as_item())),
        _ if text.trim().is_empty() => Ok(Value::Object(serde_json::Map::new())),
        _ => json::value(text),
    }
}

fn toml(text: &str) -> Result<DocumentMut, NotEditable> {
    text.parse().map_err(|error: toml_edit::TomlError| NotEditable(format!("is not TOML ({})", error.message())))
}

fn at<'v>(value: &'v Value, keys: &[String]) -> Option<&'v Value> {
    keys.iter().try_fold(value, |value, key| value.as_object()?.get(key))
}

/// Returns true if a value has the setting.
pub(crate) fn has(value: &Value, setting: &Setting) -> bool {
    match at(value, &setting.at) {
        Some(Value::Array(elements)) if setting.is_element => elements.contains(&setting.value),
        Some(found) => !setting.is_element && *found == setting.value,
        None => false,
    }
}

/// Adds settings. A setting whose place has a value of the user is left out.
///
/// # Errors
/// If the text is not in its format.
pub(crate) fn added(format: FileFormat, text: &str, settings: &[Setting]) -> Result<EditedSettings, NotEditable> {
    let before = value(format, text)?;
    let new: Vec<&Setting> = settings.iter().filter(|setting| !has(&before, setting)).collect();
    let text = match format {
        FileFormat::Toml => {
            let mut document = toml(text)?;
            new.iter().for_each(|setting| put_toml(document.as_table_mut(), &setting.at, setting));
            document.to_string()
        }
        _ => edit_json(text, |top| new.iter().for_each(|setting| put_json(top, setting)))?,
    };
    let after = value(format, &text)?;
    let (settings, refused) = new.into_iter().cloned().partition(|setting| has(&after, setting));
    Ok(EditedSettings { text, settings, refused })
}

/// Removes settings, and the arrays, objects and tables that are empty then and are not in `before`.
///
/// # Errors
/// If the text is not in its format.
pub(crate) fn removed(
    format: FileFormat,
    text: &str,
    settings: &[Setting],
    before: &Value,
) -> Result<String, NotEditable> {
    let now = value(format, text)?;
    let ours = settings.iter().filter(|setting| has(&now, setting));
    match format {
        FileFormat::Toml => {
            let mut document = toml(text)?;
            ours.for_each(|setting| take_toml(document.as_table_mut(), &setting.at, &setting.at, before));
            Ok(document.to_string())
        }
        _ if text.trim().is_empty() => Ok(text.to_owned()),
        _ => edit_json(text, |top| ours.for_each(|setting| take_json(top, setting, before))),
    }
}

fn edit_json(text: &str, edit: impl FnOnce(&CstObject)) -> Result<String, NotEditable> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let bare = text.trim_start_matches('\u{feff}');
    let root = CstRootNode::parse(bare, &ParseOptions::default())
        .map_err(|error| NotEditable(format!("is not valid JSON ({error})")))?;
    let top = root.object_value().ok_or_else(|| NotEditable("is not a JSON object".to_owned()))?;
    edit(&top);
    Ok(format!("{}{root}", &text[..text.len() - bare.len()]))
}

fn put_json(top: &CstObject, setting: &Setting) {
    let Some((last, parents)) = setting.at.split_last() else { return };
    let parent = parents.iter().try_fold(top.clone(), |object, key| object.object_value_or_create(key));
    let Some(parent) = parent else { return };
    if setting.is_element {
        if let Some(array) = parent.array_value_or_create(last) {
            array.ensure_multiline();
            array.append(json::input(&setting.value));
        }
    } else if parent.get(last).is_none() {
        parent.append(last, json::input(&setting.value));
    }
}

fn take_json(top: &CstObject, setting: &Setting, before: &Value) {
    let object = |keys: &[String]| keys.iter().try_fold(top.clone(), |object, key| object.object_value(key));
    for depth in (1..=setting.at.len()).rev() {
        let keys = &setting.at[..depth];
        let Some((last, parents)) = keys.split_last() else { return };
        let Some(property) = object(parents).and_then(|parent| parent.get(last)) else { return };
        let is_place = depth == setting.at.len();
        if is_place && setting.is_element {
            let elements = property.array_value().map(|array| array.elements()).unwrap_or_default();
            let ours = elements.into_iter().find(|element| element.to_serde_value().as_ref() == Some(&setting.value));
            ours.into_iter().for_each(CstNode::remove);
        }
        let is_left = match property.value() {
            Some(value) if !is_place || setting.is_element => {
                let has_comments = value.children().iter().any(CstNode::is_comment);
                let is_empty = value.to_serde_value().is_some_and(|value| {
                    value == Value::Array(Vec::new()) || value == Value::Object(Default::default())
                });
                !is_empty || has_comments || at(before, keys).is_some()
            }
            _ => false,
        };
        if is_left {
            return;
        }
        property.remove();
    }
}

fn put_toml(table: &mut dyn TableLike, keys: &[String], setting: &Setting) {
    let Some((key, rest)) = keys.split_first() else { return };
    if rest.is_empty() {
        let value: Option<toml_edit::Value> = match &setting.value {
            Value::String(text) => Some(text.into()),
            Value::Bool(value) => Some((*value).into()),
            _ => None,
        };
        if let (Some(value), None, false) = (value, table.get(key), setting.is_element) {
            table.insert(key, Item::Value(value));
        }
        return;
    }
    if table.get(key).is_none() {
        let mut inner = Table::new();
        inner.set_implicit(true);
        table.insert(key, Item::Table(inner));
    }
    if let Some(inner) = table.get_mut(key).and_then(Item::as_table_like_mut) {
        put_toml(inner, rest, setting);
    }
}

fn take_toml(table: &mut dyn TableLike, keys: &[String], all: &[String], before: &Value) {
    let Some((key, rest)) = keys.split_first() else { return };
    if !rest.is_empty() {
        let Some(inner) = table.get_mut(key).and_then(Item::as_table_like_mut) else { return };
        take_toml(inner, rest, all, before);
        let depth = all.len() - rest.len();
        if !inner.is_empty() || at(before, &all[..depth]).is_some() {
            return;
        }
    }
    table.remove(key);
}
