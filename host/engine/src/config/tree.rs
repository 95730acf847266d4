//! A document in which every key and value knows its place.

use std::{fmt, ops::Range, path::PathBuf, sync::Arc};

use super::{Layer, problem::Problem};

/// A file's text.
pub(super) struct Text {
    pub(super) path: PathBuf,
    /// Whose file it is.
    pub(super) layer: Layer,
    pub(super) text: String,
}

/// A range of bytes of a file.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) file: Arc<Text>,
    pub(super) range: Range<usize>,
}

/// Where it is, without the file's text.
impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{:?}", self.file.path.display(), self.range)
    }
}

impl Place {
    /// The line that it begins in, from 1.
    pub(super) fn line(&self) -> usize {
        self.file.text.as_bytes().iter().take(self.range.start).filter(|byte| **byte == b'\n').count() + 1
    }
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) value: Value,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    String(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    /// As it is written.
    Datetime(String),
    Array(Vec<Node>),
    Table(Table),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Table(Vec<(Key, Node)>);

#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) place: Place,
}

impl Table {
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        self.iter().find(|(key, _)| key.name == name).map(|(_, node)| node)
    }

    /// The value at a path of keys, such as `agent.model`.
    pub(super) fn at(&self, path: &str) -> Option<&Node> {
        match path.split_once('.') {
            None => self.get(path),
            Some((table, rest)) => match &self.get(table)?.value {
                Value::Table(table) => table.at(rest),
                _ => None,
            },
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(Key, Node)> {
        self.0.iter()
    }

    pub(super) fn into_iter(self) -> impl Iterator<Item = (Key, Node)> {
        self.0.into_iter()
    }

    pub(super) fn push(&mut self, key: Key, node: Node) {
        self.0.push((key, node));
    }

    /// Adds what `other` has and this has not. A key that both have is passed to `collision`, with
    /// its path, unless it is a table in both, whose keys are then added, or a list in both whose
    /// path is one of `lists`, which is then longer.
    pub(super) fn add(
        &mut self,
        path: &str,
        other: Self,
        lists: &[&str],
        collision: &mut impl FnMut(&str, &Key, &Key),
    ) {
        for (key, node) in other.0 {
            let path = join(path, &key.name);
            match self.0.iter_mut().find(|(mine, _)| mine.name == key.name) {
                None => self.0.push((key, node)),
                Some((mine, present)) => match (&mut present.value, node.value) {
                    (Value::Table(present), Value::Table(added)) => present.add(&path, added, lists, collision),
                    (Value::Array(present), Value::Array(added)) if lists.contains(&path.as_str()) => {
                        present.extend(added);
                    }
                    _ => collision(&path, mine, &key),
                },
            }
        }
    }
}

impl FromIterator<(Key, Node)> for Table {
    fn from_iter<T: IntoIterator<Item = (Key, Node)>>(entries: T) -> Self {
        Self(entries.into_iter().collect())
    }
}

impl Node {
    /// What is found under these keys, or as far along them as anything is.
    pub(super) fn nearest_to(&self, keys: &[&str]) -> &Self {
        let Some((key, rest)) = keys.split_first() else { return self };
        match &self.value {
            Value::Table(table) => table.get(key).map_or(self, |node| node.nearest_to(rest)),
            _ => self,
        }
    }
}

/// The table that a JSON object means, at a place that nobody is shown.
///
/// # Errors
/// If a configuration cannot hold a value of it.
pub(super) fn of_json(
    file: &Arc<Text>,
    object: serde_json::Map<String, serde_json::Value>,
) -> Result<Table, Vec<Problem>> {
    let place = Place { file: Arc::clone(file), range: 0..0 };
    let table = object.into_iter().map(|(name, value)| {
        let node = node_of_json(&place, &name, value)?;
        Ok((Key { name, place: place.clone() }, node))
    });
    Ok(Table(table.collect::<Result<_, Vec<Problem>>>()?))
}

fn node_of_json(place: &Place, path: &str, value: serde_json::Value) -> Result<Node, Vec<Problem>> {
    use serde_json::Value as Json;
    let refused = |what: &str| vec![Problem::new(place, format!("`{path}`: {what}")).about(path)];
    let value = match value {
        Json::Null => return Err(refused("null is no value of a configuration")),
        Json::Bool(value) => Value::Boolean(value),
        Json::String(text) => Value::String(text),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Value::Integer(number),
            (None, Some(float)) if number.is_f64() && float.is_finite() => Value::Float(float),
            _ => return Err(refused(&format!("{number} does not fit in 64 bits"))),
        },
        Json::Array(items) => {
            let items = items.into_iter().map(|item| node_of_json(place, path, item));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Json::Object(object) => {
            let table = object.into_iter().map(|(name, value)| {
                let node = node_of_json(place, &join(path, &name), value)?;
                Ok((Key { name, place: place.clone() }, node))
            });
            Value::Table(Table(table.collect::<Result<_, Vec<Problem>>>()?))
        }
    };
    Ok(Node { place: place.clone(), value })
}

/// The name of a key with those of the tables it is in.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
