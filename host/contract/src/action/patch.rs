//! The files that a patch text names, in the two formats that agents use: `*** Update File:` blocks and unified diffs.

/// Every path that the patch creates, changes, moves, copies or deletes, once each, in order.
pub(super) fn paths(patch: &str) -> Vec<String> {
    const BLOCKS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    const PLAIN: [&str; 4] = ["rename from ", "rename to ", "copy from ", "copy to "];
    let mut paths: Vec<String> = Vec::new();
    let mut add = |path: String| {
        if path != "/dev/null" && !path.is_empty() && !paths.contains(&path) {
            paths.push(path);
        }
    };
    for line in patch.lines() {
        let after = |prefixes: &[&str]| prefixes.iter().find_map(|prefix| line.trim_start().strip_prefix(prefix));
        if let Some(path) = after(&BLOCKS) {
            add(path.trim().to_owned());
        } else if let Some(path) = after(&PLAIN) {
            add(unquoted(path.trim()));
        } else if let Some(path) = line.strip_prefix("--- ").or_else(|| line.strip_prefix("+++ ")) {
            add(without_side(path));
        } else if let Some(both) = line.strip_prefix("diff --git ") {
            // Both sides name one file, except a rename, whose paths have lines of their own.
            if let Some(at) = both.rfind(" b/").or_else(|| both.rfind(" \"b/")) {
                add(without_side(&both[..at]));
                add(without_side(&both[at + 1..]));
            }
        }
    }
    paths
}

/// The path of a header line, without git's `a/` and `b/` and without the time stamp.
fn without_side(path: &str) -> String {
    let path = unquoted(path.split('\t').next().unwrap_or_default().trim());
    let bare = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/"));
    bare.unwrap_or(&path).to_owned()
}

/// A path as git quotes it where it holds unusual bytes: in double quotes, with C's escapes.
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
