//! The files that a patch changes, in the two formats that agents write: `*** Update File:` blocks and unified diffs.

use serde_json::Value;

const BLOCKS: [&str; 4] = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];

/// Every path that a patch in `text` creates, changes, moves or deletes. Empty where it holds none.
pub(crate) fn paths(text: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut diff = false;
    let mut previous = "";
    for line in text.lines() {
        let block = BLOCKS.iter().find_map(|start| line.trim_start().strip_prefix(start));
        if let Some(path) = block {
            paths.push(path.trim().to_owned());
        } else if let Some(both) = line.strip_prefix("diff --git ") {
            diff = true;
            // `a/x b/x`: where a path holds blanks the other header lines have it.
            paths.extend(both.split(' ').filter_map(header_path));
        } else if let Some(new) = line.strip_prefix("+++ ")
            && let Some(old) = previous.strip_prefix("--- ")
        {
            diff = true;
            paths.extend([old, new].into_iter().filter_map(header_path));
        } else if diff
            && let Some(path) =
                ["rename to ", "rename from ", "copy to "].iter().find_map(|start| line.strip_prefix(start))
        {
            paths.extend(header_path(path));
        }
        previous = line;
    }
    paths
}

/// Without git's `a/` and `b/`, the quotes and the time stamp.
fn header_path(path: &str) -> Option<String> {
    let path = path.split('\t').next()?.trim().trim_matches('"');
    let path = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
    (path != "/dev/null" && !path.is_empty()).then(|| path.to_owned())
}

/// The texts in a call's arguments that are patches to be applied. Where the call says which files it writes, a diff
/// may as well be what it writes into them: then only what is called a patch counts.
pub(crate) fn in_arguments(arguments: &Value, writes_named_files: bool) -> Vec<String> {
    let mut paths = Vec::new();
    visit(arguments, "", &mut |name, text| {
        let name = name.to_ascii_lowercase();
        let called_a_patch = name.contains("patch") || name.contains("diff");
        let applied = text.trim_start().starts_with("*** Begin Patch");
        if !writes_named_files || called_a_patch || applied {
            paths.extend(self::paths(text));
        }
    });
    paths
}

/// Calls `see` with every text in a JSON value, and the name of the member that it is or lies in.
pub(crate) fn visit(value: &Value, name: &str, see: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) => see(name, text),
        Value::Array(values) => values.iter().for_each(|value| visit(value, name, see)),
        Value::Object(members) => members.iter().for_each(|(name, value)| visit(value, name, see)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::paths;

    #[test]
    fn both_formats_name_their_files() {
        let blocks = "*** Begin Patch\n*** Update File: infra/a.tf\n*** Move to: infra/b.tf\n@@\n-x\n+y\n*** Add File: c\n+z\n*** Delete File: d\n*** End Patch";
        assert_eq!(paths(blocks), ["infra/a.tf", "infra/b.tf", "c", "d"]);
        assert_eq!(paths("--- a/x.txt\t2024-01-01\n+++ b/x.txt\t2024-01-01\n@@ -1 +1 @@\n-a\n+b"), ["x.txt", "x.txt"]);
        assert_eq!(paths("--- /dev/null\n+++ \"b/new file\"\n"), ["new file"]);
        assert_eq!(
            paths("diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n"),
            ["x", "y", "x", "y"]
        );
    }

    #[test]
    fn ordinary_text_names_none() {
        assert!(paths("a\n--- b\n*** c\n+++\nrename to d\n").is_empty());
    }
}
