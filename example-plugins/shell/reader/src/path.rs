//! Normalizes paths as text, so that they can be compared. Nothing here accesses a file system, so symbolic links stay as they are.

use super::ascii::Ascii as _;
use crate::word::UNKNOWN;
use std::borrow::Cow;

/// A normalized path. The path is absolute if its root is known. It has `/` between components, no `.`, and `..` only at the start.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Normal {
    /// `/work/project/a` or `c:/work/a`.
    Absolute(String),
    /// A path below an unknown directory, such as `$DIR` or another user's `~`.
    Below(String),
}

/// Removes `.`, `..`, and doubled and trailing slashes. A `..` above a root stays at the root, as in the kernel.
pub fn clean(path: &str) -> String {
    if is_clean(path) {
        return path.to_owned();
    }
    let mut parts: Vec<&str> = Vec::new();
    let absolute = path.starts_with('/');
    let rooted = usize::from(has_drive(path));
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.len() > rooted && parts.last() != Some(&"..") => {
                parts.pop();
            }
            ".." if absolute || rooted > 0 => {}
            part => parts.push(part),
        }
    }
    format!("{}{}", if absolute { "/" } else { "" }, parts.join("/"))
}

/// Returns true if [`clean`] would not change the path. This is the case for most paths.
fn is_clean(path: &str) -> bool {
    let parts = path.strip_prefix('/').unwrap_or(path).as_bytes();
    let mut begin = 0;
    for at in 0..=parts.len() {
        if parts.get(at).is_none_or(|byte| *byte == b'/') {
            if matches!(&parts[begin..at], b"" | b"." | b"..") {
                return false;
            }
            begin = at + 1;
        }
    }
    true
}

/// Resolves a path through the links below `/proc`. Linux lists the directories and open files of each process there, so these links give
/// every path further spellings. `path` must be clean.
pub(crate) fn through_process(path: &str) -> Option<Normal> {
    if let Some(rest) = path.strip_prefix("/dev/fd/") {
        return rest.halves(b'/').map(|(_, rest)| Normal::Below(rest.to_owned()));
    }
    let (process, rest) = path.strip_prefix("/proc/")?.halves(b'/')?;
    let is_any = process.has_one_of(&[b'*', b'?', b'[', UNKNOWN as u8]);
    let is_number = process.bytes().all(|byte| byte.is_ascii_digit());
    if !is_any && !is_number && !matches!(process, "self" | "thread-self") {
        return None;
    }
    let (mut link, mut rest) = parted(rest);
    if link == "task" {
        (link, rest) = parted(parted(rest).1);
    }
    if link == "fd" {
        rest = parted(rest).1;
    }
    match link {
        "root" => {
            let path = format!("/{rest}");
            Some(through_process(&path).unwrap_or(Normal::Absolute(path)))
        }
        // The process is unknown, so its working directory or open file is unknown too.
        "cwd" | "fd" => Some(Normal::Below(rest.to_owned())),
        _ => None,
    }
}

/// Splits a path into its first component and the rest.
fn parted(path: &str) -> (&str, &str) {
    path.halves(b'/').unwrap_or((path, ""))
}

/// Returns true if a path begins at a root: `/` or a Windows drive.
pub fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || has_drive(path)
}

/// Returns `path` relative to `base`, with `..` if `path` does not lie in `base`. Both must be clean and absolute.
pub fn relative(path: &str, base: &str) -> String {
    let parts = |path: &str| path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let (path, base) = (parts(path), parts(base));
    let shared = path.iter().zip(&base).take_while(|(one, other)| one == other).count();
    let up = base.len() - shared;
    let parts = std::iter::repeat_n("..".to_owned(), up).chain(path.into_iter().skip(shared));
    parts.collect::<Vec<_>>().join("/")
}

/// Returns `path` relative to `directory`, if `path` is that directory or lies in it.
#[must_use]
pub fn below<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    match path.strip_prefix(directory) {
        Some("") => Some(""),
        Some(rest) if directory == "/" => Some(rest),
        Some(rest) => rest.strip_prefix('/'),
        None => None,
    }
}

pub(crate) fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [drive, b':', rest @ ..] if drive.is_ascii_alphabetic() && rest.first().is_none_or(|b| *b == b'/'))
}

/// Replaces backslashes, which Windows uses, with slashes.
pub(crate) fn slashed(path: &str) -> Cow<'_, str> {
    if path.as_bytes().contains(&b'\\') { path.replace('\\', "/").into() } else { path.into() }
}

/// Returns the home directory that contains a path, according to the usual layouts of systems.
pub(crate) fn home_of(path: &str) -> Option<String> {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    match (parts.next()?, parts.next(), parts.next()) {
        ("root", _, _) => Some("/root".into()),
        (first @ ("home" | "Users"), Some(name), _) => Some(format!("/{first}/{name}")),
        (drive, Some("Users"), Some(name)) if drive.ends_with(':') => Some(format!("{drive}/Users/{name}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Normal, clean, is_clean, relative, through_process};

    #[test]
    fn what_is_clean_stays_as_it_is() {
        let parts = ["", ".", "..", "a", "C:", "...", "é"];
        let paths = parts.iter().flat_map(|a| parts.map(|b| parts.map(|c| [*a, b, c].join("/"))));
        for path in paths.flatten().chain(parts.map(str::to_owned)) {
            let inner = path.strip_prefix('/').unwrap_or(&path);
            let expected = inner.split('/').all(|part| !matches!(part, "" | "." | ".."));
            assert_eq!(is_clean(&path), expected, "{path}");
            assert!(!expected || clean(&format!("./{path}")) == path.trim_start_matches('/'), "{path}");
        }
    }

    #[test]
    fn relative_paths_lead_back_to_where_they_came_from() {
        assert_eq!(relative("/a/b/c", "/a"), "b/c");
        assert_eq!(relative("/a/x", "/a/b/c"), "../../x");
        assert_eq!(relative("/a", "/a"), "");
        assert_eq!(clean("/a/b/c/../../x"), "/a/x");
        assert_eq!(clean("../../x"), "../../x");
    }

    #[test]
    fn the_links_of_any_process_lead_elsewhere() {
        let below = |path: &str| Some(Normal::Below(path.into()));
        assert_eq!(through_process("/proc/self/root/etc/x"), Some(Normal::Absolute("/etc/x".into())));
        assert_eq!(through_process("/proc/1/root/proc/self/root/etc"), Some(Normal::Absolute("/etc".into())));
        for path in ["/proc/*/cwd/x", "/proc/[0-9]*/cwd/x", "/proc/\u{1A}/cwd/x", "/proc/self/fd/3/x", "/dev/fd/3/x"] {
            assert_eq!(through_process(path), below("x"), "{path}");
        }
        for path in ["/proc/self/status", "/proc/cpuinfo", "/dev/fd/63", "/procs/self/cwd"] {
            assert_eq!(through_process(path), None, "{path}");
        }
    }
}
