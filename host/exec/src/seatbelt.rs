//! The policy as a profile of Seatbelt, the sandbox of macOS (`sandbox-exec -f FILE COMMAND`). Sources: the profiles of
//! google-gemini/gemini-cli (`packages/cli/src/utils/sandbox-macos-*.sb`) and of openai/codex (`seatbelt_base_policy.sbpl`), which show the
//! language. Of several rules that match, the last one counts. No profile was run on macOS yet.
//!
//! The profile does not have what a watch does: keys of files that an agent writes itself are not restored, and a file that appears behind a
//! link, such as below `/etc`, is not covered.

use crate::plan::Treatment;
use crate::policy::{Absent, NetworkAccess, Policy};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

/// Returns the profile. A path that does not exist is covered, too, because Seatbelt compares names.
pub fn profile(policy: &Policy) -> String {
    let mut text = String::from(
        "(version 1)\n(allow default)\n\n; Processes outside cannot be signalled.\n(deny signal)\n(allow signal (target same-sandbox))\n",
    );
    match &policy.network {
        NetworkAccess::All => {}
        NetworkAccess::None => text.push_str("\n(deny network*)\n"),
        // The proxy decides which hosts.
        NetworkAccess::Hosts(_) => {
            text.push_str("\n(deny network*)\n(allow network-outbound (remote ip \"localhost:*\"))\n");
        }
    }
    let absent = policy.absent.iter().map(|Absent { path, treatment, reason }| (path, *treatment, reason));
    let guards = policy.guards.iter().map(|guard| (&guard.path, guard.treatment, &guard.reason));
    let mut all: Vec<_> = guards.chain(absent).collect();
    // An exception follows the directory in which it lies, as directories precede what is in them.
    all.sort_by_key(|(path, ..)| *path);
    let mut parents = BTreeSet::new();
    text.push('\n');
    for (path, treatment, reason) in all {
        let operation = match treatment {
            Treatment::ReadOnly => "deny file-write*",
            Treatment::Hidden => "deny file-read* file-write*",
            Treatment::Masked => "deny network-outbound",
            Treatment::Writable => "allow file-write*",
        };
        let reason: String = reason.chars().filter(|c| !c.is_control()).collect();
        let _ = writeln!(text, "({operation} {}) ; {reason}", filter(path, treatment));
        if treatment != Treatment::Writable {
            parents.extend(path.ancestors().skip(1).filter(|parent| parent.parent().is_some()));
        }
    }
    text.push_str("\n; A directory above cannot be moved away.\n");
    for parent in parents {
        let _ = writeln!(text, "(deny file-write-unlink {})", filter(parent, Treatment::Masked));
    }
    text
}

/// Returns the filter for a path: the path with everything below it, or only the path itself for a socket.
fn filter(path: &Path, treatment: Treatment) -> String {
    let text = path.to_string_lossy();
    if text.contains(['*', '?']) {
        return format!("(regex #\"^{}(/|$)\")", pattern(&text));
    }
    let name = if treatment == Treatment::Masked { "literal" } else { "subpath" };
    format!("({name} {})", quoted(&text))
}

/// Converts a pattern into a regular expression.
fn pattern(text: &str) -> String {
    let mut regex = String::new();
    for c in text.chars() {
        match c {
            '*' => regex.push_str("[^/]*"),
            '?' => regex.push_str("[^/]"),
            // A quotation mark would end the expression.
            '"' => regex.push('.'),
            c if "\\.+()[]{}|^$".contains(c) => regex.extend(['\\', c]),
            c => regex.push(c),
        }
    }
    regex
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::{filter, profile};
    use crate::export::tests::{golden, policy};
    use crate::plan::Treatment;
    use crate::policy::NetworkAccess;
    use std::path::Path;

    #[test]
    fn the_profile_is_the_golden_one() {
        golden("seatbelt.sb", &profile(&policy(NetworkAccess::Hosts(vec!["github.com".into()]))));
    }

    #[test]
    fn a_name_cannot_end_its_filter() {
        let filter = |path: &str| filter(Path::new(path), Treatment::ReadOnly);
        assert_eq!(filter("/a\")(allow default)(\\"), r#"(subpath "/a\")(allow default)(\\")"#);
        assert_eq!(filter("/a.b/x*"), r##"(regex #"^/a\.b/x[^/]*(/|$)")"##);
    }
}
