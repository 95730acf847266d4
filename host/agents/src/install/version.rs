//! Finds the installed version of an agent, and compares it with the versions that the adapter supports.

use crate::Agent;
use crate::install::process;
use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

/// Maximum time in which an agent has to print its version. On a busy machine, an agent that is a large script needs
/// several seconds.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The relation of a version to the supported versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionSupport {
    /// Older than the oldest supported version.
    Older,
    /// Between the oldest and the newest supported version.
    Supported,
    /// Newer than the newest version that was tested.
    Newer,
    /// The version or the supported versions are unknown.
    Unknown,
}

/// Runs an agent's program with `--version`, without a shell and with empty standard input. `path` is the value of
/// `PATH` that the program gets. The program needs `PATH` to find other programs, such as the interpreter of a script.
///
/// # Errors
/// One sentence that says why the version is unknown.
pub fn ask(program: &Path, path: &OsStr) -> Result<String, String> {
    let words: [OsString; 2] = [program.into(), "--version".into()];
    let directory = program.parent().unwrap_or(Path::new("/"));
    let scratch = tempfile::tempdir().map_err(|error| format!("no temporary directory can be made ({error})"))?;
    // Gemini CLI leaves temporary files in its home whenever it starts.
    let variables = [("PATH", path), ("GEMINI_CLI_HOME", scratch.path().as_os_str())];
    let ended =
        process::run(&words, directory, &variables, b"", TIMEOUT).map_err(|error| format!("`--version` {error}"))?;
    let text = String::from_utf8_lossy(&ended.stdout);
    let errors = String::from_utf8_lossy(&ended.stderr);
    number_in(&text).or_else(|| number_in(&errors)).ok_or_else(|| "`--version` prints no version".to_owned())
}

/// Returns the first number with a dot in a text, such as `2.1.330` in `2.1.330 (Claude Code)`.
pub fn number_in(text: &str) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    let words =
        text.split(|c: char| !is_part(c)).map(|word| word.trim_start_matches('v').trim_end_matches(['.', '-', '+']));
    let mut versions =
        words.filter(|word| word.len() <= 60 && word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'));
    versions.next().map(str::to_owned)
}

/// Compares a version with the versions that the adapter supports.
pub fn support(agent: &Agent, version: &str) -> VersionSupport {
    let (oldest, newest) = agent.versions;
    match (numbers(version), numbers(oldest), numbers(newest)) {
        (Some(version), Some(oldest), _) if version.cmp(&oldest) == Ordering::Less => VersionSupport::Older,
        (Some(version), _, Some(newest)) if version.cmp(&newest) == Ordering::Greater => VersionSupport::Newer,
        (Some(_), Some(_), Some(_)) => VersionSupport::Supported,
        _ => VersionSupport::Unknown,
    }
}

/// Returns the numbers of a version, without the part after the first `-` or `+` and without trailing zeros.
fn numbers(version: &str) -> Option<Vec<u64>> {
    let number = version.split(['-', '+']).next().unwrap_or_default();
    let numbers: Result<Vec<u64>, _> = number.split('.').map(str::parse).collect();
    let mut numbers = numbers.ok()?;
    while numbers.last() == Some(&0) {
        numbers.pop();
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::{VersionSupport, number_in, support};
    use crate::by_name;

    #[test]
    fn a_version_is_found_in_what_an_agent_says() {
        for (text, version) in [
            ("2.1.330 (Claude Code)\n", Some("2.1.330")),
            ("codex-cli 0.169.0\n", Some("0.169.0")),
            ("agent v1.0.102-beta.1.", Some("1.0.102-beta.1")),
            ("no number here 7", None),
            ("", None),
        ] {
            assert_eq!(number_in(text).as_deref(), version, "{text}");
        }
    }

    #[test]
    fn a_version_is_older_or_newer_by_its_numbers() {
        let agent = by_name("claude-code").unwrap().agent();
        for (version, is) in [
            ("2.1.294", VersionSupport::Older),
            ("2.1.295", VersionSupport::Supported),
            ("2.1.330-rc.1", VersionSupport::Supported),
            ("2.1.1000", VersionSupport::Newer),
            ("2.10", VersionSupport::Newer),
            ("latest", VersionSupport::Unknown),
        ] {
            assert_eq!(support(agent, version), is, "{version}");
        }
    }
}
