//! The files that a patch text names, in the two formats that agents use: `*** Update File:` blocks and unified diffs.

/// Every path that the patch creates, changes, moves or deletes, once each, in order.
pub(super) fn paths(patch: &str) -> Vec<String> {
    const BLOCKS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let mut paths: Vec<String> = Vec::new();
    for line in patch.lines() {
        let block = BLOCKS.iter().find_map(|prefix| line.trim_start().strip_prefix(prefix)).map(str::trim);
        if let Some(path) = block.or_else(|| diff_path(line))
            && !paths.iter().any(|known| known == path)
        {
            paths.push(path.to_owned());
        }
    }
    paths
}

/// The path of a unified diff's header line, without git's `a/` and `b/` and without the time stamp.
fn diff_path(line: &str) -> Option<&str> {
    if let Some(path) = line.strip_prefix("rename to ").or_else(|| line.strip_prefix("rename from ")) {
        return Some(path.trim());
    }
    let path = line.strip_prefix("--- ").or_else(|| line.strip_prefix("+++ "))?;
    let path = path.split('\t').next()?.trim();
    let path = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
    (path != "/dev/null" && !path.is_empty()).then_some(path)
}
