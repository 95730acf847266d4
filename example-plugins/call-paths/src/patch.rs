//! Finds patches in the arguments of a call.

use hookhost_contract::action::paths_of_patch;
use serde_json::Value;

/// Returns the paths in all patches that a call applies. If the call names the files that it writes, a diff may be the content of one of
/// these files. In that case, only an argument with the name of a patch is read.
pub fn in_arguments(arguments: &Value, writes_named_files: bool) -> Vec<String> {
    let mut paths = Vec::new();
    visit(arguments, "", &mut |name, text| {
        let name = name.to_ascii_lowercase();
        let called_a_patch = name.contains("patch") || name.contains("diff");
        let applied = text.trim_start().starts_with("*** Begin Patch");
        if !writes_named_files || called_a_patch || applied {
            paths.extend(paths_of_patch(text));
        }
    });
    paths
}

/// Returns the paths that a patch in `text` deletes.
pub fn deleted(text: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut previous = "";
    for line in text.lines().map(str::trim_start) {
        if let Some(path) = line.strip_prefix("*** Delete File:") {
            paths.push(path.trim().to_owned());
        } else if line.starts_with("+++ /dev/null") || line.starts_with("--- /dev/null") && previous.starts_with("*** ")
        {
            paths.extend(paths_of_patch(&format!("{previous}\n{line}\n")));
        }
        previous = line;
    }
    paths
}

/// Calls `see` with every string in a JSON value and with the name of the member that contains the string.
pub fn visit(value: &Value, name: &str, see: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) => see(name, text),
        Value::Array(values) => values.iter().for_each(|value| visit(value, name, see)),
        Value::Object(members) => members.iter().for_each(|(name, value)| visit(value, name, see)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::deleted;

    #[test]
    fn only_deleted_files_of_a_patch_are_deleted() {
        let blocks = "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Delete File: d/e\n*** End Patch";
        assert_eq!(deleted(blocks), ["d/e"]);
        assert_eq!(deleted("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"), ["x"]);
        assert!(deleted("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n").is_empty());
    }
}
