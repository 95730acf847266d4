//! Entries of an allowlist, for tests.

use serde_json::Value;
use std::path::{Path, PathBuf};

/// The imports of the test plugin `all-events`, as `[plugin.grants]`.
pub const ALL_EVENTS_GRANTS: &str = "state = {}\ntranscript = true\nmodel = { name = \"small\" }\naudit = true\n";

/// An entry. Its time limits are generous, since tests run on busy machines.
#[derive(Clone, Debug)]
pub struct Entry {
    name: String,
    path: PathBuf,
    digest: String,
    keys: String,
    limits: String,
    grants: String,
    config: Option<Value>,
}

impl Entry {
    /// Makes an entry with the file's own digest and no grants.
    #[must_use]
    pub fn new(name: &str, path: &Path) -> Self {
        let digest = if path.exists() { crate::digest(path) } else { "0".repeat(64) };
        Self {
            name: name.to_owned(),
            path: path.to_owned(),
            digest,
            keys: String::new(),
            limits: "compute = \"30s\"\ndeadline = \"30s\"\n".to_owned(),
            grants: String::new(),
            config: None,
        }
    }

    /// Makes an entry for the test plugin whose configuration defines its behaviour. Everything that it imports is granted.
    #[must_use]
    pub fn all_events(name: &str, config: Value) -> Self {
        Self::new(name, &crate::plugin("all-events")).grants(ALL_EVENTS_GRANTS).config(config)
    }

    /// Adds keys of `[[plugin]]`.
    #[must_use]
    pub fn keys(mut self, lines: &str) -> Self {
        self.keys.push_str(lines);
        self.keys.push('\n');
        self
    }

    /// Sets another digest.
    #[must_use]
    pub fn digest(mut self, digest: &str) -> Self {
        self.digest = digest.to_owned();
        self
    }

    /// Replaces the lines of `[plugin.limits]`.
    #[must_use]
    pub fn limits(mut self, lines: &str) -> Self {
        self.limits = lines.to_owned();
        self
    }

    /// Sets the lines of `[plugin.grants]`.
    #[must_use]
    pub fn grants(mut self, lines: &str) -> Self {
        self.grants = lines.to_owned();
        self
    }

    /// Sets `[plugin.config]`.
    #[must_use]
    pub fn config(mut self, config: Value) -> Self {
        self.config = Some(config);
        self
    }

    /// Returns the entry's text.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let Self { name, path, digest, keys, limits, grants, config } = self;
        let path = Value::from(path.to_str().expect("UTF-8"));
        let config = config.as_ref().map(|config| format!("config = {}\n", inline(config))).unwrap_or_default();
        format!(
            "[[plugin]]\nname = \"{name}\"\npath = {path}\nsha256 = \"{digest}\"\n{keys}{config}\
             [plugin.limits]\n{limits}[plugin.grants]\n{grants}\n"
        )
    }
}

/// Prints a JSON value as an inline TOML value.
fn inline(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| format!("{} = {}", Value::from(key.as_str()), inline(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(inline).collect::<Vec<_>>().join(", ")),
        plain => plain.to_string(),
    }
}
