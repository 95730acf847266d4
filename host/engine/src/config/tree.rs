//! A TOML document in which every key and value knows its place.

use std::{borrow::Cow, fmt, ops::Range, path::PathBuf, sync::Arc};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

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

/// The document's table, or what is wrong with it: bad syntax (the first of it), or numbers that nothing can hold.
pub(super) fn parse(file: &Arc<Text>) -> Result<Table, Vec<Problem>> {
    let document = DeTable::parse(&file.text).map_err(|error| {
        let range = error.span().unwrap_or_default();
        // The parser's "duplicate key" does not name it.
        let what = match file.text.get(range.clone()) {
            Some(text) if !text.trim().is_empty() && !text.contains('\n') => format!(", at `{text}`"),
            _ => String::new(),
        };
        let message = format!("this is not TOML: {}{what}", error.message());
        vec![Problem::new(&Place { file: Arc::clone(file), range }, message)]
    })?;
    let mut reader = Reader { file, problems: Vec::new() };
    let table = reader.table("", document.into_inner());
    if reader.problems.is_empty() { Ok(table) } else { Err(reader.problems) }
}

struct Reader<'a> {
    file: &'a Arc<Text>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn place(&self, range: Range<usize>) -> Place {
        Place { file: Arc::clone(self.file), range }
    }

    fn table(&mut self, path: &str, table: DeTable<'_>) -> Table {
        let entry = |(key, value): (Spanned<Cow<'_, str>>, _)| {
            let key = Key { place: self.place(key.span()), name: key.into_inner().into_owned() };
            let node = self.node(&join(path, &key.name), value);
            (key, node)
        };
        Table(table.into_iter().map(entry).collect())
    }

    fn node(&mut self, path: &str, value: Spanned<DeValue<'_>>) -> Node {
        let place = self.place(value.span());
        let value = match value.into_inner() {
            DeValue::String(text) => Value::String(text.into_owned()),
            DeValue::Boolean(value) => Value::Boolean(value),
            DeValue::Datetime(value) => Value::Datetime(value.to_string()),
            DeValue::Integer(digits) => match i64::from_str_radix(digits.as_str(), digits.radix()) {
                Ok(number) => Value::Integer(number),
                Err(_) => self.refuse(path, &place, &format!("{digits} does not fit in 64 bits")),
            },
            DeValue::Float(digits) => match digits.as_str().parse::<f64>() {
                Ok(number) if number.is_finite() => Value::Float(number),
                _ => self.refuse(path, &place, &format!("{digits} is not a finite number")),
            },
            DeValue::Array(items) => Value::Array(items.into_iter().map(|item| self.node(path, item)).collect()),
            DeValue::Table(table) => Value::Table(self.table(path, table)),
        };
        Node { place, value }
    }

    /// Nothing is read from a document with a problem, so any value will do.
    fn refuse(&mut self, path: &str, place: &Place, message: &str) -> Value {
        self.problems.push(Problem::new(place, format!("`{path}`: {message}")).about(path));
        Value::Boolean(false)
    }
}

/// The name of a key with those of the tables it is in.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
