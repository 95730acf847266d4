//! Runs an agent without the caller's environment, and with a time limit.

use crate::place::Place;
use anyhow::{Context as _, Result};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit of an agent. On an idle machine, the slowest agent needs a tenth of this time.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A program to start, with its arguments and variables.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) variables: Vec<(String, String)>,
}

impl Start {
    /// Creates a `Start` of a program with these arguments.
    pub(crate) fn new(program: PathBuf, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Self { program, arguments, variables: Vec::new() }
    }

    /// Adds variables.
    pub(crate) fn with(mut self, variables: &[(&str, &str)]) -> Self {
        self.variables.extend(variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())));
        self
    }
}

/// The result of a program that has ended.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    /// The exit code, or `None` if a signal ended the program, for example at the time limit.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Describes the exit code and the output, to explain a failure.
    pub(crate) fn said(&self) -> String {
        format!("exit code {:?}\n{}\n{}", self.code, self.stdout.trim_end(), self.stderr.trim_end())
    }
}

/// Returns the environment variables of every program of a case.
pub(crate) fn variables(place: &Place) -> Vec<(String, String)> {
    let node = place.cache.join(crate::npm::NODE.directory()).join("node_modules/node/bin");
    let text = |path: &Path| path.to_string_lossy().into_owned();
    vec![
        ("PATH".into(), format!("{}:/usr/local/bin:/usr/bin:/bin", text(&node))),
        ("HOME".into(), text(&place.home())),
        ("TMPDIR".into(), text(&place.temporary())),
        ("TERM".into(), "xterm".into()),
        ("LANG".into(), "C.UTF-8".into()),
        // Only this directory of hookhost is not below the home directory. All cases share it, because they use the same compiled plugins.
        ("HOOKHOST_CACHE_DIR".into(), text(&place.compiled())),
    ]
}

/// Runs a program in the project until it ends, for at most `limit`.
///
/// # Errors
/// If the program cannot be started.
pub(crate) fn run(place: &Place, start: &Start, limit: Duration) -> Result<Ended> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let output = |name: &str| place.root.join(format!("{number:02}.{name}"));
    let (stdout, stderr) = (output("stdout"), output("stderr"));
    let file = |path: &Path| File::create(path).with_context(|| format!("cannot make {}", path.display()));
    let mut command = Command::new(&start.program);
    command.args(&start.arguments).env_clear().envs(variables(place)).envs(start.variables.iter().cloned());
    command.current_dir(place.project()).stdin(Stdio::null()).stdout(file(&stdout)?).stderr(file(&stderr)?);
    let mut child = command.spawn().with_context(|| format!("cannot start {}", start.program.display()))?;
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if begun.elapsed() > limit {
            child.kill()?;
            break child.wait()?;
        }
        // The standard library has no function that waits for a process with a time limit, so the exit code is polled.
        thread::sleep(Duration::from_millis(10));
    };
    let read = |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Ended { code: status.code(), stdout: read(&stdout)?, stderr: read(&stderr)? })
}
