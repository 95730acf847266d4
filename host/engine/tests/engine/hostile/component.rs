//! From a file of `tests/hostile/` to a component, and to an entry of the allowlist for it.

use hookhost::config::{Config, Digest, Entry, Layer, Source};
use std::fs;
use std::path::{Path, PathBuf};

/// What surrounds the core module that a file holds.
const SKELETON: &str = include_str!("../../../../../tests/hostile/skeleton/component.wat");

/// What a file need not define, each with what it is known by.
const DEFAULTS: [(&str, &str); 4] = [
    ("(export \"realloc\")", "(export \"realloc\" (func $realloc))"),
    ("(export \"done\")", "(func (export \"done\") (param i32))"),
    ("(export \"again\")", "(func (export \"again\"))"),
    ("(func $bad", "(func $bad (param i32 i32) (result i32) (call $keep))"),
];

/// `setup`, where the file has a function for it.
const SETUP: (&str, &str) = (
    "(func $configure",
    r#"(func $configure (param "config" string) (result (result (error string)))
        (canon lift (core func $instance "configure") (memory $mem) (realloc (core func $instance "realloc"))))
    (instance $setup (export "configure" (func $configure)))
    (export "hookhost:hooks/setup@0.1.0" (instance $setup))"#,
);

/// `session-start`, where the file has a function for it: an event whose answer is a list.
const TASKS: (&str, &str) = (
    "(func $tasks",
    r#"(func $tasks (param "session" $session) (result (list $task))
        (canon lift (core func $instance "tasks") (memory $mem) (realloc (core func $instance "realloc"))))
    (instance $begun (export "handle" (func $tasks)))
    (export "hookhost:hooks/session-start@0.1.0" (instance $begun))"#,
);

/// A plugin of `tests/hostile/`.
pub(crate) struct Shape {
    pub(crate) name: String,
    /// What the file says in lines that begin with `;;@`.
    directives: Vec<String>,
    pub(crate) bytes: Vec<u8>,
    /// Bytes that the file then has, most of them nowhere on disk.
    size: Option<u64>,
}

impl Shape {
    /// Of a file in the text format of core modules.
    pub(crate) fn read(name: &str) -> Self {
        let path = directory().join(name).with_extension("wat");
        let module = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self::of_module(name, &module)
    }

    pub(crate) fn of_module(name: &str, module: &str) -> Self {
        let bytes = bytes(name, module, "prompt-submit");
        let directives = module.lines().filter_map(|line| line.strip_prefix(";;@ ")).map(str::to_owned).collect();
        Self { name: name.to_owned(), directives, bytes, size: None }
    }

    pub(crate) fn of_bytes(name: &str, bytes: Vec<u8>) -> Self {
        Self { name: name.to_owned(), directives: Vec::new(), bytes, size: None }
    }

    pub(crate) fn of_size(mut self, size: u64) -> Self {
        self.size = Some(size);
        self
    }

    /// Whether it misbehaves at some events only.
    pub(crate) fn behaves_at_times(&self) -> bool {
        !self.says("never behaves")
    }

    /// Whether it misbehaves where a session begins, rather than at a prompt.
    pub(crate) fn is_about_tasks(&self) -> bool {
        self.says("at session-start")
    }

    /// Whether nobody else on its thread has a turn before it is stopped.
    pub(crate) fn keeps_the_thread(&self) -> bool {
        self.says("keeps the thread")
    }

    fn says(&self, directive: &str) -> bool {
        self.directives.iter().any(|said| said == directive)
    }

    /// An entry for it. It has fuel and time for long, so that what the file limits is reached first on a slow machine
    /// too, and the grants of what the skeleton imports.
    pub(crate) fn entry(&self, directory: &Path) -> Entry {
        let path = directory.join(&self.name).with_extension("wasm");
        fs::write(&path, &self.bytes).unwrap();
        if let Some(size) = self.size {
            fs::File::options().append(true).open(&path).unwrap().set_len(size).unwrap();
        }
        let given = self.directives.iter().filter_map(|said| said.strip_prefix("limits: "));
        let mut limits = vec!["fuel = 100_000_000_000", "compute = \"60s\"", "deadline = \"60s\""];
        for limit in given.flat_map(|given| given.split(", ")) {
            let key = limit.split(' ').next().unwrap_or_default();
            limits.retain(|other| !other.starts_with(key));
            limits.push(limit);
        }
        let text = format!(
            "[[plugin]]\nname = \"{}\"\npath = '{}'\nsha256 = \"{}\"\n[plugin.grants]\nstate = {{}}\n[plugin.limits]\n{}",
            self.name,
            path.display(),
            if self.says("digest of another file") {
                Digest::of_bytes(b"another")
            } else {
                Digest::of_bytes(&self.bytes)
            },
            limits.join("\n"),
        );
        let config = Config::parse(&text, &Source::new(directory.join("hookhost.toml"), Layer::Chosen), &[]);
        config.unwrap_or_else(|error| panic!("{}: {error}", self.name)).entries()[0].clone()
    }
}

/// A plugin that subscribes to another event, and behaves.
pub(crate) fn neighbour() -> Shape {
    Shape::of_bytes("neighbour", bytes("neighbour", "", "finalize-content"))
}

/// The directory of the files.
pub(crate) fn directory() -> PathBuf {
    // The benchmarks compile this file, too, and their package is in another directory.
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|directory| directory.join("tests/hostile"));
    above.find(|directory| directory.is_dir()).expect("the directory tests/hostile")
}

/// The component around a core module; what is one already is left as it is.
pub(crate) fn bytes(name: &str, module: &str, interface: &str) -> Vec<u8> {
    if module.lines().any(|line| line.starts_with("(component")) {
        return wat::parse_str(module).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let missing = DEFAULTS.iter().filter(|(known_by, _)| !module.contains(known_by));
    let mut defaults: String = missing.map(|(_, default)| *default).collect();
    let mut exports = String::new();
    for ((known_by, export), function) in [(SETUP, "configure"), (TASKS, "tasks")] {
        if module.contains(known_by) {
            defaults.push_str(&format!("(export \"{function}\" (func ${function}))"));
            exports.push_str(export);
        }
    }
    let text = SKELETON
        .replace("(;INTERFACE;)", interface)
        .replace("(;DEFAULTS;)", &defaults)
        .replace("(;EXPORTS;)", &exports)
        .replace("(;MODULE;)", &format!("{module}\n"));
    wat::parse_str(text).unwrap_or_else(|error| panic!("{name}: {error}"))
}
