//! Edits JSON files in place. The files may contain comments and trailing commas. An edit does not change comments, order or
//! formatting.

use crate::install::error::FileRefusal;
use crate::install::ours::{self, Ownership};
use crate::plan::{JsonDialect, JsonEntry};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstContainerNode, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;

/// The reason why a text cannot be edited. It is the end of a sentence whose subject is the file, such as "is not a
/// JSON object".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotEditable(pub String);

impl NotEditable {
    /// Returns the error for the file at `path`, which contains the text.
    pub fn refused(&self, path: &Path) -> FileRefusal {
        FileRefusal::new(path, self.to_string(), "correct it, and try again")
    }
}

/// The byte order mark that some editors write before a text.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

/// Returns the parser's options for a dialect. Some agents accept comments and trailing commas, but no agent accepts
/// other extensions of JSON.
fn options(dialect: JsonDialect) -> ParseOptions {
    ParseOptions {
        allow_comments: dialect != JsonDialect::Strict,
        allow_trailing_commas: dialect == JsonDialect::CommentsAndCommas,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// The dialect for a file that is only read, or from which hookhost's entries are removed.
const ANY: JsonDialect = JsonDialect::CommentsAndCommas;

/// Returns the text with these entries of an agent added. If the text has all entries already, it is returned
/// unchanged. An empty text becomes an object with the entries.
///
/// # Errors
/// If the text is not a JSON object in the agent's dialect, or if the keys of an entry lead to a value of the wrong
/// type.
pub fn with_entries(
    text: &str,
    entries: &[JsonEntry],
    dialect: JsonDialect,
    agent: &str,
) -> Result<String, NotEditable> {
    let is_empty = text.trim_matches(|c: char| c.is_whitespace() || c == BYTE_ORDER_MARK).is_empty();
    let text = if is_empty { "{}\n" } else { text };
    let (mark, root, top) = parse(text, dialect)?;
    let planned: HashSet<&[String]> = entries.iter().filter_map(element_of).map(|(at, _)| at).collect();
    // An older version of hookhost may have added entries at other keys.
    for (at, array) in arrays(&top) {
        if !planned.contains(at.as_slice()) {
            take_out_of(&array, agent);
        }
    }
    for entry in entries {
        match entry {
            JsonEntry::Element { at, value } => put(&array_at(&top, at)?, value, agent),
            JsonEntry::Default { at, value } => put_default(&top, at, value)?,
        }
    }
    let edited = format!("{mark}{root}");
    // Check that the agent can read the new text.
    parse(&edited, dialect)?;
    Ok(edited)
}

/// The text without hookhost's entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemainingText {
    /// The text.
    pub text: String,
    /// True if an entry of hookhost was removed.
    pub is_changed: bool,
    /// True if the remaining text contains only members that hookhost may have added, and no comments.
    pub is_only_ours: bool,
}

/// Removes hookhost's entries from a text, and the arrays and objects that are empty afterwards. Empty arrays and objects that
/// occur in `before` are kept. `before` is the text from before the first installation, if that is known. A [`JsonEntry::Default`]
/// member is removed only if it is named after hookhost. Other members, such as a version, stay, because other programs may need
/// them.
///
/// # Errors
/// If the text is not a JSON object.
pub fn without_entries(
    text: &str,
    before: Option<&str>,
    entries: &[JsonEntry],
    agent: &str,
) -> Result<RemainingText, NotEditable> {
    if text.trim().is_empty() {
        return Ok(RemainingText { text: text.to_owned(), is_changed: false, is_only_ours: false });
    }
    let (mark, root, top) = parse(text, ANY)?;
    let before = before.and_then(|before| value(before).ok());
    for (at, array) in arrays(&top) {
        if !take_out_of(&array, agent) || !array.elements().is_empty() {
            continue;
        }
        prune(&top, &at, before.as_ref());
    }
    for entry in entries {
        if let JsonEntry::Default { at, value } = entry
            && ours::is_named_after_us(at)
            && !before.as_ref().is_some_and(|before| has(before, at))
            && let Some((last, parents)) = at.split_last()
            && let Some(property) = object_of(&top, parents).and_then(|parent| parent.get(last))
            && property.value().and_then(|found| found.to_serde_value()).as_ref() == Some(value)
        {
            property.remove();
            prune(&top, parents, before.as_ref());
        }
    }
    let edited = format!("{mark}{root}");
    let left = value(&edited)?;
    let is_only_ours = left.as_object().is_some_and(|members| {
        members.iter().all(|(key, found)| {
            entries.iter().any(|entry| matches!(entry, JsonEntry::Default { at, value } if at.len() == 1 && at[0] == *key && value == found))
        })
    });
    let has_comments = edited.contains("//") || edited.contains("/*");
    Ok(RemainingText { is_changed: edited != text, is_only_ours: is_only_ours && !has_comments, text: edited })
}

/// Returns the value of a JSON text with comments.
///
/// # Errors
/// If the text is not a JSON object, or an object has a duplicate key.
pub fn value(text: &str) -> Result<Value, NotEditable> {
    value_in(text, ANY)
}

/// Returns the value of a JSON text in the dialect of an agent.
///
/// # Errors
/// As for [`value`], and if the text uses syntax that the dialect does not have.
pub fn value_in(text: &str, dialect: JsonDialect) -> Result<Value, NotEditable> {
    let (_, _, top) = parse(text, dialect)?;
    top.to_serde_value().ok_or_else(|| NotEditable("has a value that cannot be read".to_owned()))
}

/// Parses a text. Refuses an object with a duplicate key.
pub(crate) fn parse(text: &str, dialect: JsonDialect) -> Result<(&'static str, CstRootNode, CstObject), NotEditable> {
    let (mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    };
    // The tree parser accepts comments even if the options forbid them, so strict JSON needs this check.
    if dialect == JsonDialect::Strict
        && let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text)
    {
        return Err(NotEditable(format!("is not strict JSON, which is all that the agent reads ({error})")));
    }
    let root = CstRootNode::parse(text, &options(dialect)).map_err(|error| {
        let why = error.kind().to_string().to_lowercase();
        NotEditable(format!(
            "is not valid JSON (line {}, column {}: {why})",
            error.line_display(),
            error.column_display()
        ))
    })?;
    let top = root.object_value().ok_or_else(|| NotEditable("is not a JSON object".to_owned()))?;
    unique_keys(&CstContainerNode::Object(top.clone()))?;
    Ok((mark, root, top))
}

/// Refuses an object with a duplicate key, because the agent and hookhost could read different values.
fn unique_keys(node: &CstContainerNode) -> Result<(), NotEditable> {
    if let CstContainerNode::Object(object) = node {
        let mut seen = HashSet::new();
        for key in object.properties().iter().filter_map(jsonc_parser::cst::CstObjectProp::decoded_name) {
            if !seen.insert(key.clone()) {
                let key: String = key.chars().take(40).collect();
                return Err(NotEditable(format!("has the key {key:?} twice in one object")));
            }
        }
    }
    for child in node.children() {
        if let CstNode::Container(child) = child {
            unique_keys(&child)?;
        }
    }
    Ok(())
}

fn element_of(entry: &JsonEntry) -> Option<(&[String], &Value)> {
    match entry {
        JsonEntry::Element { at, value } => Some((at, value)),
        JsonEntry::Default { .. } => None,
    }
}

/// Returns the arrays that are not inside other arrays. Each array is returned with the keys that lead to it.
fn arrays(top: &CstObject) -> Vec<(Vec<String>, CstArray)> {
    fn collect(object: &CstObject, at: &[String], found: &mut Vec<(Vec<String>, CstArray)>) {
        for property in object.properties() {
            let Some(key) = property.decoded_name() else { continue };
            let at = [at, &[key]].concat();
            if let Some(array) = property.array_value() {
                found.push((at, array));
            } else if let Some(object) = property.object_value() {
                collect(&object, &at, found);
            }
        }
    }
    let mut found = Vec::new();
    collect(top, &[], &mut found);
    found
}

/// Returns the array at these keys, and creates it if it is missing.
fn array_at(top: &CstObject, at: &[String]) -> Result<CstArray, NotEditable> {
    let (last, parents) = at.split_last().ok_or_else(|| NotEditable("needs an entry without a place".to_owned()))?;
    let parent = object_at(top, parents)?;
    parent
        .array_value_or_create(last)
        .ok_or_else(|| NotEditable(format!("has `{}`, which is not an array", at.join("."))))
}

fn object_at(top: &CstObject, at: &[String]) -> Result<CstObject, NotEditable> {
    let mut object = top.clone();
    for (depth, key) in at.iter().enumerate() {
        let inner = object.object_value_or_create(key);
        object =
            inner.ok_or_else(|| NotEditable(format!("has `{}`, which is not an object", at[..=depth].join("."))))?;
    }
    Ok(object)
}

/// Puts an element into an array, in the place of all elements that belong to hookhost. Leaves the array unchanged if
/// its only element of hookhost is equal to the new element.
fn put(array: &CstArray, element: &Value, agent: &str) {
    let found = array.elements();
    let ours: Vec<(usize, Value)> = found
        .iter()
        .enumerate()
        .filter_map(|(index, node)| Some((index, node.to_serde_value()?)))
        .filter(|(_, value)| ours::share(value, agent) != Ownership::Nothing)
        .collect();
    if let [(_, only)] = ours.as_slice()
        && only == element
    {
        return;
    }
    let place = ours.iter().find(|(_, value)| ours::share(value, agent) == Ownership::Whole).map(|(index, _)| *index);
    take_out_of(array, agent);
    match place {
        Some(index) => array.insert(index, input(element)),
        None => array.append(input(element)),
    };
}

fn put_default(top: &CstObject, at: &[String], value: &Value) -> Result<(), NotEditable> {
    let Some((last, parents)) = at.split_last() else { return Ok(()) };
    let parent = object_at(top, parents)?;
    if parent.get(last).is_none() {
        parent.append(last, input(value));
    }
    Ok(())
}

/// Removes hookhost's entries from an array, and returns true if there were any. If a group also has other hooks, the
/// group stays, and only the hooks of hookhost are removed from it.
fn take_out_of(array: &CstArray, agent: &str) -> bool {
    let mut any = false;
    for node in array.elements() {
        let Some(value) = node.to_serde_value() else { continue };
        match ours::share(&value, agent) {
            Ownership::Nothing => continue,
            Ownership::Whole => node.remove(),
            Ownership::Part => {
                let hooks = node.as_object().and_then(|group| group.array_value("hooks"));
                for hook in hooks.iter().flat_map(CstArray::elements) {
                    if hook.to_serde_value().is_some_and(|hook| ours::is_ours(&hook, agent)) {
                        hook.remove();
                    }
                }
            }
        }
        any = true;
    }
    any
}

/// Removes the value at these keys if it is empty, and then each enclosing value that becomes empty. Does not remove a value that
/// also occurs in `before`.
fn prune(top: &CstObject, at: &[String], before: Option<&Value>) {
    for depth in (1..=at.len()).rev() {
        let keys = &at[..depth];
        if before.is_some_and(|before| has(before, keys)) || !remove_if_empty(top, keys) {
            break;
        }
    }
}

/// Returns the object at these keys, if there is one.
fn object_of(top: &CstObject, keys: &[String]) -> Option<CstObject> {
    keys.iter().try_fold(top.clone(), |object, key| object.object_value(key))
}

fn has(value: &Value, keys: &[String]) -> bool {
    keys.iter().try_fold(value, |value, key| value.get(key)).is_some()
}

/// Removes the member at these keys if it is an empty array or object. Returns true if the member was removed.
fn remove_if_empty(top: &CstObject, keys: &[String]) -> bool {
    let Some((last, parents)) = keys.split_last() else { return false };
    let Some(property) = object_of(top, parents).and_then(|parent| parent.get(last)) else { return false };
    let is_empty = property.array_value().is_some_and(|array| has_nothing(&CstContainerNode::Array(array)))
        || property.object_value().is_some_and(|object| has_nothing(&CstContainerNode::Object(object)));
    if is_empty {
        property.remove();
    }
    is_empty
}

/// Returns true if a node has neither members nor comments.
fn has_nothing(node: &CstContainerNode) -> bool {
    node.children_exclude_trivia_and_tokens().is_empty() && !node.children().iter().any(CstNode::is_comment)
}

/// Converts a value for an edit of a text.
pub fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests;
