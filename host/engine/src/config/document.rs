//! Reads other TOML files of a person with the messages of a configuration file.

use std::{path::Path, sync::Arc};

use serde::de::DeserializeOwned;

use super::{
    Layer, Problem, Problems,
    decode::decode,
    place::{Place, Text},
    tree::{Node, Value},
};

/// A TOML document in which every key and value has its position.
#[derive(Debug)]
pub struct Document {
    root: Node,
}

/// A mistake that the types of a document do not express.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The keys and indices that lead to the value. If there is no such value, the mistake is shown at the deepest
    /// existing one.
    pub path: Vec<String>,
    /// The mistake and the correction, in one sentence.
    pub message: String,
}

impl Document {
    /// Parses the text of a file. Messages name this file.
    ///
    /// # Errors
    /// If the text is not TOML.
    pub fn parse(file: &Path, text: &str) -> Result<Self, Problems> {
        let place = Place {
            file: Arc::new(Text { path: file.to_owned(), layer: Layer::Chosen, text: text.to_owned() }),
            range: 0..0,
        };
        let table = super::toml::parse(&place.file).map_err(Problems::of)?;
        Ok(Self { root: Node { place, value: Value::Table(table) } })
    }

    /// Converts the document. As in a configuration file, a key that the type does not have is a mistake.
    ///
    /// # Errors
    /// If there are mistakes.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Problems> {
        let mut problems = Vec::new();
        let value = decode("", &self.root, &mut problems);
        match value {
            Some(value) => Problems::none_or(problems, value),
            None => Err(Problems::of(problems)),
        }
    }

    /// Gives mistakes their positions.
    ///
    /// # Errors
    /// If there are mistakes.
    pub fn check(&self, mistakes: Vec<Mistake>) -> Result<(), Problems> {
        let problem = |Mistake { path, message }| Problem::new(&self.place(&path), message).about(&path.join("."));
        Problems::none_or(mistakes.into_iter().map(problem).collect(), ())
    }

    /// Returns the line of a value, from 1.
    #[must_use]
    pub fn line(&self, path: &[String]) -> usize {
        self.place(path).line()
    }

    fn place(&self, path: &[String]) -> Place {
        let keys: Vec<_> = path.iter().map(String::as_str).collect();
        self.root.nearest_to(&keys).place.clone()
    }
}
