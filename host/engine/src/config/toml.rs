//! Parses TOML into a document in which every key and value has its position in the text.

use std::{borrow::Cow, ops::Range, sync::Arc};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    place::{Place, Text},
    problem::Problem,
    tree::{Key, Node, Table, Value, join},
};

/// Returns the document's table. If the text has a syntax error, the function fails with the first such error.
/// Otherwise it fails if numbers are out of range, and reports all of them.
pub(super) fn parse(file: &Arc<Text>) -> Result<Table, Vec<Problem>> {
    let document = DeTable::parse(&file.text).map_err(|error| {
        let range = error.span().unwrap_or_default();
        // The parser's message "duplicate key" does not name the key.
        let what = match file.text.get(range.clone()) {
            Some(text) if !text.trim().is_empty() && !text.contains('\n') => format!(", at `{text}`"),
            _ => String::new(),
        };
        let what = format!("{}{what}", error.message());
        let message = format!("this is not TOML: {}", usual_mistake(&file.text, &range, &what).unwrap_or(what));
        vec![Problem::new(&Place { file: Arc::clone(file), range }, message)]
    })?;
    let mut reader = Reader { file, problems: Vec::new() };
    let table = reader.table("", document.into_inner());
    if reader.problems.is_empty() { Ok(table) } else { Err(reader.problems) }
}

/// Returns a sentence about a mistake that people often make, if the error of the parser at this range comes from one.
fn usual_mistake(text: &str, range: &Range<usize>, error: &str) -> Option<String> {
    let is_typographic = |c: char| matches!(c, '“' | '”' | '„' | '‟' | '‘' | '’' | '‚' | '«' | '»');
    if let Some(found) = text.get(range.clone()).and_then(|part| part.chars().find(|c| is_typographic(*c))) {
        return Some(format!("`{found}` is a typographic quotation mark: write `\"`"));
    }
    let (before, after) = (text.get(..range.start)?, text.get(range.start..)?);
    // After the list, the file ends, or a table or a key begins.
    let rest = after.trim_start();
    let begins_key = rest.lines().next().is_none_or(|line| line.starts_with('[') || line.contains('='));
    let opens = |line: &str| line.split_once('=').is_some_and(|(_, value)| value.trim_start().starts_with('['));
    let (at, line) = before.lines().enumerate().filter(|(_, line)| opens(line)).last()?;
    let key = line.split('=').next().unwrap_or_default().trim();
    (error.contains("array") && begins_key).then(|| format!("the list of `{key}` in line {} has no `]`", at + 1))
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
        table.into_iter().map(entry).collect()
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

    /// Records a problem and returns an arbitrary value. The value does not matter, because a document with a problem
    /// is not used.
    fn refuse(&mut self, path: &str, place: &Place, message: &str) -> Value {
        self.problems.push(Problem::new(place, format!("`{path}`: {message}")).about(path));
        Value::Boolean(false)
    }
}
