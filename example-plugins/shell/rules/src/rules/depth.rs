//! Estimates whether a path is a large part of a home directory or of the system. For example, deleting `~/Documents` is a mistake, but
//! deleting `~/.cache/tool` may be intended.

/// Directories of a home that tools fill again.
const CACHES: [&str; 9] = [".cache", ".npm", ".gradle", ".m2", ".ivy2", ".yarn", ".bun", ".nuget", ".Trash"];

/// Directories of the system whose subdirectories are as important as other top-level directories.
const LARGE: [&str; 5] = ["usr", "var", "system", "library", "windows"];

/// Directories of `/var` that the system fills again.
const FILLED_AGAIN: [&str; 4] = ["cache", "log", "tmp", "crash"];

/// Returns true if a clean path is a large part of the system or of a home directory. An unknown path is treated as large.
pub(super) fn is_large(path: Option<&str>) -> bool {
    let Some(path) = path else { return true };
    let is_all = |part: &str| !part.is_empty() && part.chars().all(|c| matches!(c, '*' | '?' | '.'));
    let path = path.trim_end_matches('/');
    let path = path.rsplit_once('/').filter(|(_, last)| is_all(last)).map_or(path, |(directory, _)| directory);
    let drive = path.find(":/").map_or(path, |at| &path[at + 1..]);
    let parts: Vec<&str> = drive.split('/').filter(|part| !part.is_empty()).collect();
    let inner = match parts.as_slice() {
        [home, inner @ ..] if home.starts_with('~') => inner,
        [home, _, inner @ ..] if matches!(home.to_ascii_lowercase().as_str(), "home" | "users") => inner,
        ["root", inner @ ..] => inner,
        [top, inner] if LARGE.contains(&top.to_ascii_lowercase().as_str()) => {
            return !(*top == "var" && FILLED_AGAIN.contains(inner));
        }
        parts => return parts.len() < 2,
    };
    match inner {
        [] => true,
        [directory] => !CACHES.contains(directory),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_large;

    #[test]
    fn a_path_is_large_by_what_it_leads_to() {
        for large in [
            "/usr",
            "/etc",
            "/etc/*",
            "/usr/lib",
            "/usr/*",
            "/var/lib",
            "/home/me",
            "/home",
            "/root",
            "/root/*",
            "~",
            "~/*",
            "~/Documents",
            "~/.ssh",
            "/Users/me/Desktop",
            "C:/Windows",
            "C:/Users/me",
            "C:/Windows/System32",
            "/opt",
            "~you",
            "/home/me/.ssh/*",
        ] {
            assert!(is_large(Some(large)), "{large}");
        }
        for small in [
            "~/.cache",
            "~/.cache/pip",
            "/usr/local/lib/x",
            "/opt/tool",
            "/etc/nginx",
            "/var/log",
            "/var/log/*",
            "/mnt/x",
            "/home/me/work/x",
            "/usr/lib/x/*",
            "/var/lib/apt/lists/*",
            "C:/Users/me/AppData/Local",
        ] {
            assert!(!is_large(Some(small)), "{small}");
        }
        assert!(is_large(None));
    }
}
