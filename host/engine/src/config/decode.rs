//! Converts the document tree to the caller's types with serde. The decoder knows the position of each value and the
//! spelling of each key. So an error for any `Deserialize` type names the file, the line, the column and the most
//! similar known key. Every unknown key is reported, whether or not the type has `deny_unknown_fields`. There is one
//! exception: a type with `#[serde(flatten)]` hides its keys from the decoder. The attributes of such a type decide
//! whether it accepts unknown keys.

use std::{cell::RefCell, fmt};

use serde::{
    Deserialize,
    de::{
        self, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, Unexpected, Visitor, value::StrDeserializer,
    },
    forward_to_deserialize_any,
};

use super::{
    names,
    place::Place,
    problem::Problem,
    tree::{Key, Node, Value, join},
};

/// Reads a value of type `T`. Adds a problem to `problems` if the value cannot be read, and for each unknown key. After
/// an unknown key, the decoder continues to look for further problems.
pub(super) fn decode<'de, T: Deserialize<'de>>(path: &str, node: &'de Node, problems: &mut Vec<Problem>) -> Option<T> {
    let unknown = RefCell::new(Vec::new());
    let result = T::deserialize(Decoder { node, path: path.to_owned(), unknown: &unknown });
    problems.extend(unknown.into_inner());
    match result {
        Ok(value) => Some(value),
        Err(fault) => {
            problems.push(fault.into_problem(path, &node.place));
            None
        }
    }
}

/// Returns the problem for an unknown key.
pub(super) fn unknown_key(key: &Key, path: &str, known: &[&str]) -> Problem {
    let nearest = names::nearest(&key.name, known.iter().copied());
    let (place, advice) = if path.is_empty() {
        (String::new(), names::advice(nearest, known, "sections"))
    } else {
        (format!(" in `{path}`"), names::advice(nearest, known, "keys"))
    };
    Problem::new(&key.place, format!("unknown key `{}`{place}: {advice}", key.name))
        .about(&join(path, &key.name))
        .near(nearest)
}

/// The reason why a value could not be read. The callers add the position of the value.
#[derive(Debug)]
struct Fault {
    message: String,
    nearest: Option<String>,
    at: Option<(String, Place)>,
}

impl Fault {
    fn at(mut self, path: &str, place: &Place) -> Self {
        self.at.get_or_insert_with(|| (path.to_owned(), place.clone()));
        self
    }

    fn into_problem(self, path: &str, place: &Place) -> Problem {
        let (path, place) = self.at.unwrap_or_else(|| (path.to_owned(), place.clone()));
        Problem::new(&place, format!("`{path}`: {}", self.message)).about(&path).near(self.nearest.as_deref())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { message: message.to_string(), nearest: None, at: None }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::custom(format!("expected {}, found {}", expected_word(&expected.to_string()), found_word(found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let expected = expected.to_string();
        Self::custom(match found {
            Unexpected::Signed(number) => {
                format!("{number} is out of range: {} belongs there", expected_word(&expected))
            }
            _ => format!("{found} is not {}", expected_word(&expected)),
        })
    }

    fn unknown_variant(given: &str, known: &'static [&'static str]) -> Self {
        // The mode of version 0.1.
        if given == "audit" && known.contains(&"observe") {
            return Self::custom(
                "`audit` is now `observe`: write `observe`, or run `hookhost update`, which changes your own file",
            );
        }
        let nearest = names::nearest(given, known.iter().copied());
        let advice = names::advice(nearest, known, "words");
        Self { nearest: nearest.map(str::to_owned), ..Self::custom(format!("unknown word {given:?}: {advice}")) }
    }

    fn unknown_field(given: &str, known: &'static [&'static str]) -> Self {
        let nearest = names::nearest(given, known.iter().copied());
        let advice = names::advice(nearest, known, "keys");
        Self { nearest: nearest.map(str::to_owned), ..Self::custom(format!("unknown key `{given}`: {advice}")) }
    }

    fn missing_field(name: &'static str) -> Self {
        Self::custom(format!("the key `{name}` is missing"))
    }
}

/// Returns the kind of the value, in TOML's terms. The content of a string is not included, because it can be long, and
/// because the line of the file is shown anyway.
fn found_word(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Str(_) => "a string".to_owned(),
        Unexpected::Seq => "an array".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        Unexpected::Bool(value) => format!("`{value}`"),
        Unexpected::Signed(_) | Unexpected::Unsigned(_) => "a whole number".to_owned(),
        Unexpected::Float(_) => "a number with a fraction".to_owned(),
        other => other.to_string(),
    }
}

/// Returns the expected type, in TOML's terms.
fn expected_word(expected: &str) -> &str {
    match expected {
        "a boolean" => "`true` or `false`",
        "i8" | "i16" | "i32" | "i64" => "a whole number",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "f32" | "f64" => "a number",
        "a sequence" => "an array",
        "a map" => "a table",
        other if other.starts_with("struct ") => "a table",
        other if other.starts_with("a nonzero") => "a whole number other than 0",
        other => other,
    }
}

#[derive(Clone)]
struct Decoder<'de, 'a> {
    node: &'de Node,
    path: String,
    unknown: &'a RefCell<Vec<Problem>>,
}

impl<'de, 'a> Decoder<'de, 'a> {
    fn child(&self, name: &str, node: &'de Node) -> Self {
        Self { node, path: join(&self.path, name), unknown: self.unknown }
    }

    /// Returns the entries of a table in the form that serde reads.
    fn entries(&self, entries: impl Iterator<Item = &'de (Key, Node)> + 'de) -> Entries<'de, 'a> {
        Entries { parent: self.clone(), rest: Box::new(entries), value: None }
    }

    fn unexpected(&self) -> Unexpected<'de> {
        match &self.node.value {
            Value::String(text) => Unexpected::Str(text),
            Value::Datetime(_) => Unexpected::Other("a date or time"),
            Value::Integer(number) => Unexpected::Signed(*number),
            Value::Float(number) => Unexpected::Float(*number),
            Value::Boolean(value) => Unexpected::Bool(*value),
            Value::Array(_) => Unexpected::Seq,
            Value::Table(_) => Unexpected::Map,
        }
    }

    fn visit<V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::String(text) | Value::Datetime(text) => visitor.visit_borrowed_str(text),
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(value) => visitor.visit_bool(*value),
            Value::Array(items) => visitor.visit_seq(Items { parent: self.clone(), rest: items.iter() }),
            Value::Table(table) => visitor.visit_map(self.entries(table.iter())),
        }
    }
}

impl<'de> Deserializer<'de> for Decoder<'de, '_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.visit(visitor).map_err(|fault| fault.at(&self.path, &self.node.place))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let Value::Table(table) = &self.node.value else {
            let found = Fault::invalid_type(self.unexpected(), &"a table");
            return Err(found.at(&self.path, &self.node.place));
        };
        let unknown = table.iter().filter(|(key, _)| !fields.contains(&key.name.as_str()));
        self.unknown.borrow_mut().extend(unknown.map(|(key, _)| unknown_key(key, &self.path, fields)));
        let known = table.iter().filter(move |(key, _)| fields.contains(&key.name.as_str()));
        visitor.visit_map(self.entries(known)).map_err(|fault| fault.at(&self.path, &self.node.place))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let result = match &self.node.value {
            Value::String(word) => {
                let word: StrDeserializer<'_, Fault> = word.as_str().into_deserializer();
                visitor.visit_enum(word)
            }
            Value::Table(table) => match table.iter().collect::<Vec<_>>()[..] {
                [(key, node)] => visitor.visit_enum(Variant { key, content: self.child(&key.name, node) }),
                _ => Err(Fault::custom("a table with one key belongs here, which says what it holds")),
            },
            _ => Err(Fault::invalid_type(self.unexpected(), &"a word")),
        };
        result.map_err(|fault| fault.at(&self.path, &self.node.place))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

/// A table of the form `{ variant = content }`.
struct Variant<'de, 'a> {
    key: &'de Key,
    content: Decoder<'de, 'a>,
}

impl<'de> de::EnumAccess<'de> for Variant<'de, '_> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Fault> {
        let word: StrDeserializer<'_, Fault> = self.key.name.as_str().into_deserializer();
        let variant = seed.deserialize(word).map_err(|fault| fault.at(&self.content.path, &self.key.place))?;
        Ok((variant, self))
    }
}

impl<'de> de::VariantAccess<'de> for Variant<'de, '_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        let fault = Fault::custom("this word has no value");
        Err(fault.at(&self.content.path, &self.key.place))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        seed.deserialize(self.content)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        self.content.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        self.content.deserialize_struct("", fields, visitor)
    }
}

struct Entries<'de, 'a> {
    parent: Decoder<'de, 'a>,
    rest: Box<dyn Iterator<Item = &'de (Key, Node)> + 'de>,
    value: Option<&'de (Key, Node)>,
}

impl<'de> de::MapAccess<'de> for Entries<'de, '_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        self.value = self.rest.next();
        let Some((key, _)) = self.value else { return Ok(None) };
        let word: StrDeserializer<'_, Fault> = key.name.as_str().into_deserializer();
        seed.deserialize(word).map(Some).map_err(|fault| fault.at(&join(&self.parent.path, &key.name), &key.place))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let (key, node) = self.value.take().ok_or_else(|| Fault::custom("a value was read before its key"))?;
        let child = self.parent.child(&key.name, node);
        let path = child.path.clone();
        // An error of serde's `try_from` has no position yet.
        seed.deserialize(child).map_err(|fault| fault.at(&path, &node.place))
    }
}

struct Items<'de, 'a> {
    parent: Decoder<'de, 'a>,
    rest: std::slice::Iter<'de, Node>,
}

impl<'de> de::SeqAccess<'de> for Items<'de, '_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some(node) = self.rest.next() else { return Ok(None) };
        let child = Decoder { node, ..self.parent.clone() };
        seed.deserialize(child).map(Some).map_err(|fault| fault.at(&self.parent.path, &node.place))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}
