//! Paths as text: from any spelling to the one that patterns are compared with. Nothing here asks a file system, so
//! symbolic links stay as they are.

/// A path in its one spelling: absolute where its root is known, `/` between the parts, no `.`, no `..` but at the
/// start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Normal {
    /// `/work/project/a` or `c:/work/a`.
    Absolute(String),
    /// Below a folder that is not known, such as `$DIR` or somebody's `~`.
    Below(String),
}

/// Where relative paths begin, and what `~` is.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// The working directory; absent where it is not known.
    pub(crate) cwd: Option<String>,
    home: Option<String>,
}

impl Places {
    /// `home` is guessed from `cwd` where that lies in one.
    pub(crate) fn new(cwd: &str) -> Self {
        let cwd = forward(cwd);
        let home = home_of(&cwd);
        Self { cwd: is_absolute(&cwd).then(|| clean(&cwd)), home }
    }

    /// The same, from another directory.
    pub(crate) fn within(&self, directory: &str) -> Self {
        let cwd = match self.normal(directory) {
            Normal::Absolute(path) => Some(path),
            Normal::Below(_) => None,
        };
        Self { cwd, home: self.home.clone() }
    }

    /// The one spelling of `path`.
    pub(crate) fn normal(&self, path: &str) -> Normal {
        let path = forward(path.trim());
        let path =
            path.strip_prefix("file://").map_or(path.as_str(), |path| path.strip_prefix("localhost").unwrap_or(path));
        if let Some(rest) = strip_root(path, &["~", "$HOME", "${HOME}"]) {
            return below(self.home.as_deref(), rest);
        }
        if let Some(rest) = strip_root(path, &["$PWD", "${PWD}"]) {
            return below(self.cwd.as_deref(), rest);
        }
        if is_absolute(path) {
            let path = clean(path);
            return through_process(&path).unwrap_or(Normal::Absolute(path));
        }
        // `~somebody/x` and `$DIR/x`: what they stand for is not known.
        if path.starts_with(['~', '$']) {
            return below(None, path.split_once('/').map_or("", |(_, rest)| rest));
        }
        below(self.cwd.as_deref(), path)
    }
}

fn below(root: Option<&str>, rest: &str) -> Normal {
    match root {
        Some(root) => Normal::Absolute(clean(&format!("{root}/{rest}"))),
        None => Normal::Below(clean(rest)),
    }
}

/// Linux names each process's directories by links in `/proc`: another spelling of any path. `path` is clean.
fn through_process(path: &str) -> Option<Normal> {
    let mut parts = path.strip_prefix("/proc/")?.split('/');
    let is_process =
        |part: &str| matches!(part, "self" | "thread-self") || part.bytes().all(|byte| byte.is_ascii_digit());
    parts.next().filter(|part| is_process(part))?;
    let mut link = parts.next()?;
    if link == "task" {
        parts.next()?;
        link = parts.next()?;
    }
    if link == "fd" {
        parts.next()?;
    }
    let rest = parts.collect::<Vec<_>>().join("/");
    match link {
        "root" => Some(Normal::Absolute(format!("/{rest}"))),
        // Whose working directory or open folder it is, is not known.
        "cwd" | "fd" => Some(Normal::Below(rest)),
        _ => None,
    }
}

fn strip_root<'a>(path: &'a str, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| match path.strip_prefix(name) {
        Some("") => Some(""),
        Some(rest) => rest.strip_prefix('/'),
        None => None,
    })
}

/// Windows separates by `\` too.
fn forward(path: &str) -> String {
    path.replace('\\', "/")
}

/// Whether it begins at a root: `/` or a Windows drive.
pub(crate) fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || has_drive(path)
}

fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [drive, b':', b'/', ..] if drive.is_ascii_alphabetic())
}

/// Without `.`, `..`, doubled and trailing slashes. A `..` above a root stays at the root, as the kernel has it.
pub(crate) fn clean(path: &str) -> String {
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

/// `path` as seen from `base`, with `..` where it lies elsewhere. Both are clean and absolute.
pub(crate) fn relative(path: &str, base: &str) -> String {
    let parts = |path: &str| path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let (path, base) = (parts(path), parts(base));
    let shared = path.iter().zip(&base).take_while(|(one, other)| one == other).count();
    let up = base.len() - shared;
    let parts = std::iter::repeat_n("..".to_owned(), up).chain(path.into_iter().skip(shared));
    parts.collect::<Vec<_>>().join("/")
}

/// The home that a path lies in, as the common systems lay them out.
fn home_of(path: &str) -> Option<String> {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let first = parts.next()?;
    match (first, parts.next(), parts.next()) {
        ("root", _, _) => Some("/root".into()),
        ("home" | "Users", Some(name), _) => Some(format!("/{first}/{name}")),
        (drive, Some("Users"), Some(name)) if drive.ends_with(':') => Some(format!("{drive}/Users/{name}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Normal, Places, clean, relative};

    #[test]
    fn one_file_has_one_spelling() {
        let places = Places::new("/home/me/project/src");
        for path in [
            "/home/me/project/infra/x",
            "../infra/x",
            "./../infra//x",
            "/home/me/project/./a/../infra/x/",
            "~/project/infra/x",
            "$HOME/project/infra/x",
            "${PWD}/../infra/x",
            "..\\infra\\x",
            "file:///home/me/project/infra/x",
            "/../../home/me/project/infra/x",
            " ../infra/x ",
        ] {
            assert_eq!(places.normal(path), Normal::Absolute("/home/me/project/infra/x".into()), "{path}");
        }
    }

    #[test]
    fn what_lies_below_the_unknown_is_known_from_there_on() {
        let places = Places::new("/srv/project");
        for path in ["~/infra/x", "$DIR/infra/x", "~you/infra/./x"] {
            assert_eq!(places.normal(path), Normal::Below("infra/x".into()), "{path}");
        }
    }

    #[test]
    fn the_links_of_processes_are_followed() {
        let places = Places::new("/srv/project");
        let absolute = |path: &str| Normal::Absolute(path.into());
        for (path, normal) in [
            ("/proc/self/root/srv/project/infra/x", absolute("/srv/project/infra/x")),
            ("/proc/self/cwd/infra/x", Normal::Below("infra/x".into())),
            ("/proc/12/cwd/../cwd/infra/x", Normal::Below("infra/x".into())),
            ("/proc/12/task/13/cwd/infra/x", Normal::Below("infra/x".into())),
            ("/proc/thread-self/fd/3/infra/x", Normal::Below("infra/x".into())),
            ("/proc/cpuinfo", absolute("/proc/cpuinfo")),
            ("/proc/self/status", absolute("/proc/self/status")),
            ("/srv/proc/self/cwd/x", absolute("/srv/proc/self/cwd/x")),
        ] {
            assert_eq!(places.normal(path), normal, "{path}");
        }
    }

    #[test]
    fn a_windows_drive_is_a_root() {
        let places = Places::new(r"C:\work\project");
        assert_eq!(places.normal(r"..\..\..\x"), Normal::Absolute("C:/x".into()));
        assert_eq!(places.normal("infra/x"), Normal::Absolute("C:/work/project/infra/x".into()));
    }

    #[test]
    fn relative_paths_lead_back_to_where_they_came_from() {
        assert_eq!(relative("/a/b/c", "/a"), "b/c");
        assert_eq!(relative("/a/x", "/a/b/c"), "../../x");
        assert_eq!(relative("/a", "/a"), "");
        assert_eq!(clean("/a/b/c/../../x"), "/a/x");
        assert_eq!(clean("../../x"), "../../x");
    }
}
