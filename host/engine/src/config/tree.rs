//! A document in which every key and value has its position in the text.

use super::place::Place;

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
    /// The text as written in the file.
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

    /// Returns the value at a path of keys, such as `agent.model`.
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

    /// Adds the keys of `other` that this table does not have. If both tables have a key whose value is a table, these
    /// two tables are combined in the same way. If both have a key whose value is a list, and `lists` contains the path
    /// of the key, the lists are concatenated. Any other key that both tables have is passed to `collision`, with its
    /// path.
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
    /// Returns the table, if the node is one.
    pub(super) fn table(&self) -> Option<&Table> {
        if let Value::Table(table) = &self.value { Some(table) } else { None }
    }

    /// Returns the elements of an array. Another value has none.
    pub(super) fn items(&self) -> &[Self] {
        if let Value::Array(items) = &self.value { items } else { &[] }
    }

    /// Returns where the first element of an array begins, in bytes, or where another value begins.
    pub(super) fn elements_start(&self) -> usize {
        match &self.value {
            Value::Array(nodes) => nodes.first().map_or(self.place.range.start, |first| first.place.range.start),
            _ => self.place.range.start,
        }
    }

    /// Returns the end of the node and of everything in it, in bytes.
    pub(super) fn end(&self) -> usize {
        let inner = match &self.value {
            Value::Table(table) => table.iter().map(|(_, node)| node.end()).max(),
            Value::Array(nodes) => nodes.iter().map(Self::end).max(),
            _ => None,
        };
        inner.unwrap_or_default().max(self.place.range.end)
    }

    /// Returns the node under these keys and indices. If there is no such node, returns the deepest existing node on the
    /// path to it.
    pub(super) fn nearest_to(&self, keys: &[&str]) -> &Self {
        let Some((key, rest)) = keys.split_first() else { return self };
        match &self.value {
            Value::Table(table) => table.get(key).map_or(self, |node| node.nearest_to(rest)),
            Value::Array(items) => {
                key.parse().ok().and_then(|index: usize| items.get(index)).map_or(self, |node| node.nearest_to(rest))
            }
            _ => self,
        }
    }
}

/// Returns the path of a key: the path of its table, followed by the name of the key.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
