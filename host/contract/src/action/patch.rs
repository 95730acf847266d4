//! Finds the files in a patch: in `*** Update File:` blocks of agents, in unified and context diffs, and in git's
//! diffs.

const BLOCKS: [&str; 4] = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];
/// Lines that look like the header of a context diff but are not headers.
const MARKS: [&str; 3] = ["*** Begin Patch", "*** End Patch", "*** End of File"];
const PLAIN: [&str; 4] = ["rename from ", "rename to ", "copy from ", "copy to "];

/// Returns every path that a patch in `text` creates, changes, moves, copies or deletes. Each path occurs once, in the
/// order of the text. Returns an empty list if there is no patch.
///
/// ```
/// use hookhost_contract::action::paths_of_patch;
///
/// assert_eq!(paths_of_patch("--- a/x\n+++ \"b/\\171\"\n@@ -1 +1 @@\n-a\n+b\n"), ["x", "y"]);
/// ```
#[must_use]
pub fn paths_of_patch(text: &str) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    let mut add = |path: String| {
        if path != "/dev/null" && !path.is_empty() && !paths.contains(&path) {
            paths.push(path);
        }
    };
    let mut is_of_git = false;
    let mut previous = "";
    // A single header names a file if a change follows, because `patch` needs no second header. The two headers need
    // not be adjacent.
    let mut headers: Vec<String> = Vec::new();
    for line in text.lines() {
        // `patch` accepts a patch whose lines are all indented.
        let line = line.trim_start();
        let after = |prefixes: &[&'static str]| prefixes.iter().find_map(|prefix| line.strip_prefix(prefix));
        // A unified diff has `---` and `+++`, and a context diff has `***` and `---`.
        let old = match (previous.get(..4), line.get(..4)) {
            (Some("--- "), Some("+++ ")) | (Some("*** "), Some("--- ")) => previous.get(4..),
            _ => None,
        };
        if is_change(line) {
            headers.drain(..).for_each(&mut add);
        } else if after(&BLOCKS).is_none()
            && after(&MARKS).is_none()
            && let Some(path) = after(&["--- ", "+++ ", "*** "])
        {
            headers.push(without_side(path));
        }
        if let Some(path) = after(&BLOCKS) {
            add(path.trim().to_owned());
        } else if let Some(path) = after(&["Index: "]) {
            add(without_side(path));
        } else if let Some(both) = after(&["diff --git "]) {
            is_of_git = true;
            // Both sides name the same file, except for a rename, whose paths have their own lines.
            if let Some(at) = both.rfind(" b/").or_else(|| both.rfind(" \"b/")) {
                add(without_side(&both[..at]));
                add(without_side(&both[at + 1..]));
            }
        } else if let Some(path) = after(&PLAIN).filter(|_| is_of_git) {
            add(unquoted(path.trim()));
        } else if let Some(old) = old {
            add(without_side(old));
            add(without_side(&line[4..]));
        }
        previous = line;
    }
    paths
}

/// Returns true if a change begins with this line, in a unified, a context or a normal diff.
fn is_change(line: &str) -> bool {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ',');
    let is_normal = digits.len() < line.len()
        && digits.strip_prefix(['a', 'c', 'd']).is_some_and(|rest| {
            !rest.is_empty() && rest.trim_end().bytes().all(|byte| byte.is_ascii_digit() || byte == b',')
        });
    line.starts_with("@@ -") || line.starts_with("***************") || is_normal
}

/// Returns the path of a header line, without git's `a/` and `b/` and without the time stamp.
fn without_side(path: &str) -> String {
    let path = unquoted(path.split('\t').next().unwrap_or_default().trim());
    let bare = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/"));
    bare.unwrap_or(&path).to_owned()
}

/// Returns a path without git's quotes: double quotes with C's escapes, for a path with unusual bytes.
fn unquoted(path: &str) -> String {
    let Some(inner) = path.strip_prefix('"').and_then(|path| path.strip_suffix('"')) else { return path.to_owned() };
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    if let Some(digit) = rest.next_if(|next| (b'0'..=b'7').contains(next)) {
                        value = value * 8 + u32::from(digit - b'0');
                    }
                }
                bytes.push(u8::try_from(value & 0xff).unwrap_or_default());
            }
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::paths_of_patch;

    #[test]
    fn each_format_names_its_files() {
        let blocks = "*** Begin Patch\n*** Update File: infra/a.tf\n*** Move to: infra/b.tf\n@@\n-x\n+y\n*** Add File: c\n+z\n*** Delete File: d\n*** End Patch";
        assert_eq!(paths_of_patch(blocks), ["infra/a.tf", "infra/b.tf", "c", "d"]);
        let unified = "--- a/x.txt\t2024-01-01\n+++ b/x.txt\t2024-01-01\n@@ -1 +1 @@\n-a\n+b";
        assert_eq!(paths_of_patch(unified), ["x.txt"]);
        let indented = "  --- x\n  +++ y\n  @@ -1 +1 @@\n  -a\n  +b";
        assert_eq!(paths_of_patch(indented), ["x", "y"]);
        assert_eq!(paths_of_patch("--- /dev/null\n+++ \"b/new file\"\n"), ["new file"]);
        let context =
            "*** old/f\t2024-01-01\n--- new/f\t2024-01-01\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n";
        assert_eq!(paths_of_patch(context)[..2], ["old/f", "new/f"]);
        assert_eq!(paths_of_patch("Index: f\n====\n1c1\n< a\n---\n> b\n"), ["f"]);
        let renamed = "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to z\n";
        assert_eq!(paths_of_patch(renamed), ["x", "y", "z"]);
        let quoted = "--- \"a/.cl\\141ude/settings.json\"\n+++ \"b/.cl\\141ude/settings.json\"\n";
        assert_eq!(paths_of_patch(quoted), [".claude/settings.json"]);
    }

    #[test]
    fn a_header_alone_names_its_file_where_a_change_follows() {
        for (text, path) in [
            ("--- ok\njunk\n+++ infra/m.tf\n@@ -1 +1 @@\n-a\n+b\n", "infra/m.tf"),
            ("+++ infra/m.tf\n@@ -1 +1 @@\n-a\n+b\n", "infra/m.tf"),
            ("--- infra/m.tf\n@@ -1 +1 @@\n-a\n+b\n", "infra/m.tf"),
            ("*** infra/m.tf\n***************\n*** 1 ****\n! a\n", "infra/m.tf"),
            ("--- infra/m.tf\n1c1\n< a\n---\n> b\n", "infra/m.tf"),
        ] {
            assert!(paths_of_patch(text).iter().any(|named| named == path), "{text:?}: {:?}", paths_of_patch(text));
        }
    }

    #[test]
    fn ordinary_text_names_none() {
        assert!(paths_of_patch("a\n--- b\n*** c\n+++\nrename to d\n---\n+++ e\n").is_empty());
    }
}
