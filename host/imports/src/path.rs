//! Patterns of paths, from the syntax of `.gitignore` to the syntax of `path`.
//!
//! In both, a pattern stands for the named path and everything below it, and a pattern without a slash is a name in any directory. In
//! Claude Code, `//` begins an absolute path and `/` a path below the directory of the settings
//! (code.claude.com/docs/en/permissions, "Read and Edit").

use crate::draft::{ANY, Draft, command, list, sample};
use hookhost_contract::rule::RuleOn;

/// What `/` at the beginning of a pattern means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slash {
    /// The directory of the project.
    Project,
    /// A directory that a row cannot name.
    Unknown,
    /// The root of the file system.
    Root,
}

/// Makes a row about files.
///
/// # Errors
/// Returns the reason why no row stops at least these files.
pub(crate) fn draft(on: &RuleOn, pattern: &str, slash: Slash) -> Result<Draft, String> {
    let mut draft = Draft::about([on.clone()]);
    let below = pattern.strip_prefix("./").unwrap_or(pattern);
    if below == "." || below.chars().all(|c| matches!(c, '*' | '/')) {
        draft.differs("stricter: it stops files in every directory");
        return Ok(draft);
    }
    if pattern.contains(['{', '}', '\\']) || pattern.starts_with('!') {
        return Err(
            "a rule has no braces, backslashes and `!` in patterns of paths: write one rule for each path".to_owned()
        );
    }
    let path = rooted(pattern, slash, &mut draft)?;
    let file = sample(&path);
    let file = if path.ends_with('/') { format!("{file}{ANY}") } else { file };
    draft.row.path = list(Some(&path));
    draft.stops([file.clone()]);
    let in_command = if *on == RuleOn::Read { format!("cat {file}") } else { format!("echo a > {file}") };
    draft.row.stops.push(command(in_command));
    draft.passes(["README.md", "src/main.rs", "notes.txt"].map(str::to_owned));
    Ok(draft)
}

/// Returns the pattern with its beginning in the syntax of rows.
fn rooted(pattern: &str, slash: Slash, draft: &mut Draft) -> Result<String, String> {
    if let Some(absolute) = pattern.strip_prefix("//") {
        return Ok(format!("/{absolute}"));
    }
    if let Some(below) = pattern.strip_prefix('/') {
        return match slash {
            Slash::Root => Ok(pattern.to_owned()),
            Slash::Project if below.trim_end_matches('/').contains('/') => Ok(below.to_owned()),
            Slash::Project => Ok(format!("./{below}")),
            Slash::Unknown => {
                Err("`/` is the directory of the settings here: write `//` for an absolute path, or `~/`".to_owned())
            }
        };
    }
    if pattern.starts_with("~/") {
        draft.differs("stricter: `~` is the home directory of every user");
        return Ok(pattern.to_owned());
    }
    let below = pattern.strip_prefix("./").unwrap_or(pattern);
    let anywhere = below.strip_prefix("**/").filter(|name| !name.contains('/')).unwrap_or(below);
    if anywhere.contains("../") {
        return Err(
            "it leaves the directory in which the agent starts, and a rule does not know that directory".to_owned()
        );
    }
    Ok(if anywhere == below { of_project(anywhere, draft) } else { anywhere.to_owned() })
}

/// Returns a pattern below the project. A pattern without a slash matches in any directory, which is stricter than `./NAME`.
fn of_project(below: &str, draft: &mut Draft) -> String {
    if !below.trim_end_matches('/').contains('/') {
        draft.differs("stricter: it stops this name in every directory");
    }
    below.to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Slash, draft};
    use hookhost_contract::rule::RuleOn;

    #[test]
    fn each_beginning_of_a_pattern_keeps_its_meaning_or_becomes_stricter() {
        for (pattern, slash, path) in [
            ("//etc/hosts", Slash::Project, "/etc/hosts"),
            ("/etc/hosts", Slash::Root, "/etc/hosts"),
            ("/src/**", Slash::Project, "src/**"),
            ("/Makefile", Slash::Project, "./Makefile"),
            ("~/.ssh/**", Slash::Project, "~/.ssh/**"),
            ("./.env", Slash::Project, ".env"),
            (".env.*", Slash::Project, ".env.*"),
            ("./secrets/**", Slash::Project, "secrets/**"),
            ("**/*.pem", Slash::Project, "*.pem"),
            ("**/a/b", Slash::Project, "**/a/b"),
        ] {
            let draft = draft(&RuleOn::Read, pattern, slash).unwrap();
            assert_eq!(draft.row.path.0, [path], "{pattern}");
        }
        for all in ["**", "/", "./", "./**", "**/*", "."] {
            assert!(draft(&RuleOn::Read, all, Slash::Project).unwrap().row.path.is_empty(), "{all}");
        }
        assert_eq!(draft(&RuleOn::Read, ".*", Slash::Project).unwrap().row.path.0, [".*"]);
        for (pattern, part) in
            [("/x", "directory of the settings"), ("{a,b}", "braces"), ("../x", "leaves"), ("!a", "`!`")]
        {
            let why = draft(&RuleOn::Write, pattern, Slash::Unknown).unwrap_err();
            assert!(why.contains(part), "{pattern}: {why}");
        }
    }
}
