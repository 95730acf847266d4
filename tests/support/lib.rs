//! Support for the whole-system tests: a user with directories of their own, the built `hookhost`, and built plugins.
//!
//! Nothing of the real user is read or changed. If a binary or a plugin is missing, the test fails with the command that builds it; it
//! is never skipped.

mod entry;
mod server;
mod wat_plugin;

pub use entry::{ALL_EVENTS_GRANTS, Entry};
pub use server::{Reply, Server};
pub use wat_plugin::WatPlugin;

use sha2::{Digest as _, Sha256};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A user: a home directory, and a project in it.
#[derive(Debug)]
pub struct User {
    directory: TempDir,
}

/// The end of a command.
#[derive(Debug)]
pub struct Ended {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// All of the standard output.
    pub stdout: String,
    /// All of the standard error.
    pub stderr: String,
}

impl User {
    /// Makes a user who has never used hookhost.
    #[must_use]
    pub fn new() -> Self {
        let user = Self { directory: tempfile::tempdir().expect("a temporary directory") };
        std::fs::create_dir_all(user.project()).expect("the project's directory");
        user
    }

    /// Returns a path below the home directory.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        // The directory's own name may contain symbolic links, and hookhost prints paths without links.
        self.directory.path().canonicalize().expect("the home directory").join(name)
    }

    /// The project, which is the working directory of every command.
    #[must_use]
    pub fn project(&self) -> PathBuf {
        self.directory.path().canonicalize().expect("the home directory").join("project")
    }

    /// The user's own configuration file.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.path("config/hookhost.toml")
    }

    /// Writes a file of the project.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.project().join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("the file's directory");
        std::fs::write(&path, content).expect("the file");
        path
    }

    /// Writes the user's own configuration.
    pub fn configure(&self, text: &str) -> PathBuf {
        let file = self.config_file();
        std::fs::create_dir_all(self.path("config")).expect("the configuration's directory");
        std::fs::write(&file, text).expect("the configuration");
        file
    }

    /// Returns the command, not started, with this user's directories and an empty input.
    #[must_use]
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(hookhost());
        command.args(arguments).current_dir(self.project()).stdin(Stdio::null());
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.path("."));
        command.env("HOOKHOST_CONFIG_DIR", self.path("config"));
        command.env("HOOKHOST_STATE_DIR", self.path("state"));
        // An agent may run the tests, and commands refuse below an agent. A debug build does not examine the parents of this process.
        command.env("HOOKHOST_TEST_PROCESS", std::process::id().to_string());
        // Compiling the test plugin takes seconds, so all users share the cache.
        command.env("HOOKHOST_CACHE_DIR", profile_directory().join("hookhost-tests-cache"));
        command
    }

    /// Runs the command to its end.
    #[must_use]
    pub fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ended {
        Ended::of(&mut self.command(arguments))
    }

    /// Runs the command to its end, with this input.
    #[must_use]
    pub fn run_with_input<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>, input: &str) -> Ended {
        let file = self.path("input");
        std::fs::write(&file, input).expect("the input");
        Ended::of(self.command(arguments).stdin(std::fs::File::open(file).expect("the input")))
    }

    /// Sends an event, and returns the printed object.
    #[must_use]
    pub fn dispatch(&self, event: &str, payload: &serde_json::Value) -> (Ended, serde_json::Value) {
        let ended = self.run_with_input(["dispatch", event, "--payload", "-"], &payload.to_string());
        let object = serde_json::from_str(&ended.stdout)
            .unwrap_or_else(|error| panic!("dispatch printed no JSON object ({error}): {ended:#?}"));
        (ended, object)
    }

    /// The database with this user's audit log.
    #[must_use]
    pub fn log_file(&self) -> PathBuf {
        self.path("state/hookhost.db")
    }

    /// The records of this user's audit log, in order.
    #[must_use]
    pub fn records(&self) -> Vec<serde_json::Value> {
        let ended = self.run(["audit", "show", "--all", "--json"]);
        ended.expect(0, &[]);
        ended.stdout.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
    }

    /// Waits for these records and returns all: the resident host writes some of them a moment after its reply.
    ///
    /// # Panics
    /// If they do not arrive within 60 s.
    #[must_use]
    #[track_caller]
    pub fn records_once(&self, are_there: impl Fn(&[serde_json::Value]) -> bool) -> Vec<serde_json::Value> {
        let began = std::time::Instant::now();
        loop {
            let records = self.records();
            if are_there(&records) {
                return records;
            }
            assert!(began.elapsed() < std::time::Duration::from_secs(60), "{records:#?}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    /// Returns this user's sessions, the last used first, as printed by `hookhost session show --json`. It fails if one is damaged.
    #[must_use]
    pub fn sessions(&self) -> Vec<serde_json::Value> {
        let object = |arguments: &[&str]| {
            let ended = self.run(arguments);
            ended.expect(0, &[]);
            serde_json::from_str::<serde_json::Value>(&ended.stdout).expect("JSON")
        };
        let listed = object(&["session", "list", "--all", "--json"]);
        let sessions = listed.as_array().expect("a list").iter();
        let whole = |session: &serde_json::Value| {
            let session = object(&["session", "show", "--json", session["id"].as_str().expect("an id")]);
            assert!(
                session["damaged"] == serde_json::json!([]) && session["missing"] == serde_json::json!([]),
                "{session}"
            );
            session
        };
        sessions.map(whole).collect()
    }
}

impl Default for User {
    fn default() -> Self {
        Self::new()
    }
}

impl Ended {
    /// Runs a command to its end.
    pub fn of(command: &mut Command) -> Self {
        let output = command.output().expect("hookhost can be started");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Fails unless the command ended with this code, and printed these texts on standard error.
    #[track_caller]
    pub fn expect(&self, code: i32, said: &[&str]) -> &Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        for text in said {
            assert!(self.stderr.contains(text), "{text:?} is not in {self:#?}");
        }
        self
    }
}

/// Returns the built command. `cargo test --workspace` builds it, and so does `cargo build -p hookhost-cli`.
#[must_use]
pub fn hookhost() -> PathBuf {
    if let Some(named) = std::env::var_os("HOOKHOST_BIN") {
        return PathBuf::from(named);
    }
    let built = profile_directory().join(format!("hookhost{}", std::env::consts::EXE_SUFFIX));
    assert!(built.exists(), "{} is not there: run `cargo build -p hookhost-cli`", built.display());
    built
}

/// Returns a built plugin, such as `all-events`.
#[must_use]
pub fn plugin(name: &str) -> PathBuf {
    let directory = match std::env::var_os("HOOKHOST_PLUGINS") {
        Some(named) => PathBuf::from(named),
        None => profile_directory().parent().expect("the target directory").join("plugins"),
    };
    let file = directory.join(format!("{}.wasm", name.replace('-', "_")));
    assert!(file.exists(), "{} is not there: run `cargo xtask plugins`", file.display());
    file
}

/// Returns `target/debug` for a test at `target/debug/deps/name-hash`.
fn profile_directory() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    test.parent().and_then(Path::parent).expect("the profile's directory").to_owned()
}

/// Returns the SHA-256 of a file, in the form of the allowlist.
#[must_use]
pub fn digest(file: &Path) -> String {
    let bytes = std::fs::read(file).expect("the file");
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
