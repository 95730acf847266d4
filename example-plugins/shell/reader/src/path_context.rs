//! Resolves and classifies paths by their text and by the known directories, such as the workspace and the home. Nothing here accesses a
//! file system.

use super::Class;
use super::ascii::Ascii as _;
use super::path::{Normal, below, clean, has_drive, home_of, is_absolute, slashed, through_process};
use super::word::{UNKNOWN, Word};

/// Directories of the system, separated by spaces.
pub(super) const SYSTEM: &str = " bin boot dev etc home lib lib32 lib64 media mnt opt proc root run sbin srv sys usr var users \
                      library system applications volumes windows programdata ";

/// Placeholders for the directories that `$TMPDIR` and `mktemp` name.
pub(crate) const MADE_UP: [&str; 2] = ["/tmp/session", "/tmp/mktemp"];

/// Directories that contain only a tool's output, separated by spaces.
pub(super) const MADE_AGAIN: &str = " node_modules dist build target .next .nuxt .turbo coverage __pycache__ .pytest_cache .mypy_cache .ruff_cache \
                          .venv venv .gradle .parcel-cache .svelte-kit .tox htmlcov .nyc_output .eggs ";

/// hookhost's own directories, relative to a home.
pub(super) const HOST: [&str; 5] = [
    ".config/hookhost",
    ".local/state/hookhost",
    ".cache/hookhost",
    "AppData/Roaming/hookhost",
    "AppData/Local/hookhost",
];

/// Caches in a home, which programs fill again by themselves. If a path has a slash at the end, each entry of this directory is a cache.
pub(super) const CACHES: [&str; 19] = [
    ".cache/",
    "Library/Caches/",
    ".npm/_cacache",
    ".npm/_npx",
    ".npm/_logs",
    ".cargo/registry/cache",
    ".cargo/registry/src",
    ".cargo/registry/index",
    ".cargo/git/checkouts",
    ".gradle/caches",
    ".yarn/cache",
    ".yarn/berry/cache",
    ".pnpm-store",
    ".local/share/pnpm/store",
    ".bun/install/cache",
    "go/pkg/mod/cache",
    ".ccache",
    "Library/Developer/Xcode/DerivedData",
    "AppData/Local/Temp/",
];

/// The directories that relative paths and `~` refer to.
#[derive(Clone, Debug)]
pub struct PathContext {
    workspace: String,
    home: Option<String>,
}

impl PathContext {
    pub fn new(workspace: &str) -> Self {
        let workspace = clean(&slashed(workspace));
        let home = home_of(&workspace);
        Self { workspace, home }
    }

    pub fn workspace(&self) -> &str {
        &self.workspace
    }

    /// Uses the home that contains `path`, if the workspace does not lie in a home.
    #[must_use]
    pub fn or_home_of(mut self, path: &str) -> Self {
        self.home = self.home.or_else(|| home_of(&slashed(path)));
        self
    }

    /// Normalizes `path` relative to `cwd`. The path is an argument of a tool and not a word of a shell. Nevertheless, `~`, `$HOME`, `$PWD`
    /// and `file://` have their usual meaning. Other variables are unknown.
    pub fn spelt(&self, path: &str, cwd: Option<&str>) -> Normal {
        let path = slashed(path.trim());
        let path = without_scheme(&path);
        let rest_after = |names: &[&str]| {
            let rest = names.iter().find_map(|name| path.strip_prefix(name));
            rest.filter(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut word = if let Some(rest) = rest_after(&["$HOME", "${HOME}"]) {
            Word::literal(format!("~{rest}"))
        } else if let Some(rest) = rest_after(&["$PWD", "${PWD}"]) {
            Word::literal(format!(".{rest}"))
        } else if path.starts_with('$') {
            Word::literal(path.replacen('$', &UNKNOWN.to_string(), 1))
        } else {
            Word::literal(path)
        };
        word.home = word.text.starts_with('~');
        self.resolve(&word, cwd)
    }

    /// Normalizes the path that `word` denotes, relative to `cwd`. Patterns stay unchanged, and so do unknown parts that are not at the
    /// beginning of the path.
    pub fn resolve(&self, word: &Word, cwd: Option<&str>) -> Normal {
        let text = slashed(&word.text);
        if let Some(rest) = leads_out(&text) {
            return Normal::Below(clean(rest));
        }
        if word.home {
            let (user, rest) = text.halves(b'/').unwrap_or((&text, ""));
            return match &self.home {
                Some(home) if user == "~" => known(clean(&format!("{home}/{rest}"))),
                _ => Normal::Below(clean(rest)),
            };
        }
        let text = without_scheme(&text);
        if text.starts_with(UNKNOWN) {
            return Normal::Below(behind_first(text));
        }
        match self.absolute(text, false, cwd) {
            Some(path) if path.starts_with('~') => Normal::Below(behind_first(&path)),
            Some(path) => known(path),
            None => Normal::Below(clean(text)),
        }
    }

    /// Returns the directory after `cd word` in `cwd`, or `None` if that directory is unknown.
    pub fn directory(&self, word: &Word, cwd: Option<&str>) -> Option<String> {
        let is_harmless = |class| matches!(class, Class::Inside | Class::Temporary);
        if word.doubt.is_some() && is_harmless(self.surely(word, cwd)) {
            return None;
        }
        self.path(word, cwd)
    }

    /// Returns the path that `word` denotes, with the likely value of a doubtful part. Returns `None` if the path is unknown.
    pub fn path(&self, word: &Word, cwd: Option<&str>) -> Option<String> {
        if leads_out(&word.text).is_some() {
            return None;
        }
        // A pattern stands for any file that it matches. A pattern that may match `..` could lead anywhere.
        let may_lead_up = |part: &str| part.starts_with('.') && part.has_one_of(b"*?[") && may_be(part, "..");
        if !word.is_known() || (word.glob && word.text.split('/').any(may_lead_up)) {
            return None;
        }
        self.absolute(&word.text, word.home, cwd)
    }

    /// Classifies the path that `word` denotes relative to `cwd`. If two classes are possible, returns the class that needs more care.
    pub fn class(&self, word: &Word, cwd: Option<&str>) -> Class {
        match (self.surely(word, cwd), word.doubt) {
            (Class::Inside | Class::Temporary, Some(at)) => {
                let known = word.text.get(..at).unwrap_or_default();
                let word = Word { text: format!("{known}{UNKNOWN}"), home: word.home && at > 0, ..Word::default() };
                self.surely(&word, cwd)
            }
            (class, _) => class,
        }
    }

    /// Classifies a word as if no part of it were doubtful.
    pub(super) fn surely(&self, word: &Word, cwd: Option<&str>) -> Class {
        let text = &*slashed(&word.text);
        if leads_out(text).is_some() {
            return Class::Unknown;
        }
        if let Some(at) = text.find(UNKNOWN) {
            // The unknown part may be empty. So `/$X` may be `/`, but if a known part precedes the unknown part in the same component, the
            // component is not empty.
            let slash = text[..at].rfind('/');
            let named = slash.map_or(0, |slash| slash + 1) < at;
            let directory = match slash {
                Some(0) => "/",
                Some(slash) => &text[..slash],
                None if named => ".",
                None => return Class::Unknown,
            };
            return match self.class_of(directory, word.home, cwd, named) {
                Class::Workspace => Class::Unknown,
                Class::Outside if is_temporary_root(&clean(directory)) => Class::Temporary,
                class => class,
            };
        }
        match glob_directory(text).filter(|_| word.glob) {
            Some((directory, all)) => self.class_of(directory, word.home, cwd, !all),
            None => self.class_of(text, word.home, cwd, false),
        }
    }

    /// Returns the path of a file in the workspace, relative to the workspace.
    pub fn in_workspace(&self, word: &Word, cwd: Option<&str>) -> Option<String> {
        let path = self.absolute(&word.text, word.home, cwd).filter(|_| word.is_known() && !word.glob)?;
        below(&path, &self.workspace).filter(|inner| !inner.is_empty()).map(str::to_owned)
    }

    /// If `within` is true, classifies an entry of the directory `text`. Otherwise classifies `text` itself with everything below it.
    fn class_of(&self, text: &str, home: bool, cwd: Option<&str>, within: bool) -> Class {
        let Some(path) = self.absolute(text, home, cwd) else { return Class::Unknown };
        if within {
            self.class_of_absolute(&format!("{}/*", path.trim_end_matches('/')))
        } else {
            self.class_of_absolute(&path)
        }
    }

    /// Classifies an absolute path. A link of a process below `/proc` gets the class of its target, if the target is known and the class of
    /// the target needs more care.
    fn class_of_absolute(&self, path: &str) -> Class {
        let class = self.class_of_place(path);
        if class != Class::System || !path.starts_with("/proc/") {
            return class;
        }
        match through_process(path) {
            Some(Normal::Absolute(real)) => match self.class_of_place(&real) {
                Class::Inside | Class::Temporary | Class::Device | Class::Outside => class,
                dearer => dearer,
            },
            _ => class,
        }
    }

    fn class_of_place(&self, path: &str) -> Class {
        if self.is_hosts(path) {
            return Class::Host;
        }
        if let Some(inner) = below(path, &self.workspace) {
            return match inner {
                "" => Class::Workspace,
                ".git" => Class::Repository,
                _ => Class::Inside,
            };
        }
        if path == "/" || (path.len() <= 3 && has_drive(path)) {
            return Class::Root;
        }
        if below(&self.workspace, path).is_some() {
            return Class::Above;
        }
        let in_home = self.home.as_deref().and_then(|home| below(path, home));
        if path.starts_with('~') || in_home.is_some() {
            let inner = in_home.or_else(|| path.strip_prefix("~/"));
            return if inner.is_some_and(is_cache) { Class::Temporary } else { Class::Home };
        }
        if is_temporary_root(path) {
            return Class::Outside;
        }
        if is_temporary(path) {
            return Class::Temporary;
        }
        if below(path, "/dev").is_some() {
            return Class::Device;
        }
        if ["/home", "/Users", "/root"]
            .iter()
            .any(|directory| below(path, directory).is_some_and(|inner| !inner.is_empty()))
        {
            return Class::Home;
        }
        let rest = if has_drive(path) { &path[2..] } else { path };
        let first = rest.trim_start_matches('/').split('/').next().unwrap_or_default().to_ascii_lowercase();
        let is_system = SYSTEM.contains(&format!(" {first} ")) || first == "*" || first.starts_with("program files");
        if is_system { Class::System } else { Class::Outside }
    }

    /// Returns true if the path lies in one of hookhost's own directories, in any home.
    fn is_hosts(&self, path: &str) -> bool {
        // Fast check for most paths.
        if !path.contains("hookhost") {
            return false;
        }
        let known = home_of(path).or_else(|| self.home.clone()).unwrap_or_else(|| "~".into());
        let inner = below(path, &known).or_else(|| path.strip_prefix('~')?.halves(b'/').map(|(_, inner)| inner));
        inner.is_some_and(|inner| HOST.iter().any(|directory| below(inner, directory).is_some()))
    }

    /// Returns the clean absolute path. It begins with `~` if the home is unknown.
    fn absolute(&self, text: &str, home: bool, cwd: Option<&str>) -> Option<String> {
        let text = &*slashed(text);
        if home {
            let (user, rest) = text.halves(b'/').unwrap_or((text, ""));
            return Some(match (&self.home, user) {
                (Some(home), "~") => clean(&format!("{home}/{rest}")),
                _ => clean_below(user, rest),
            });
        }
        if is_absolute(text) {
            return Some(clean(text));
        }
        cwd.map(|cwd| match cwd.strip_prefix('~') {
            Some(rest) => clean_below("~", &format!("{rest}/{text}")),
            None => clean(&format!("{cwd}/{text}")),
        })
    }
}

/// Returns true if a path in a home is a cache that programs fill again, or lies in such a cache.
pub(super) fn is_cache(inner: &str) -> bool {
    CACHES.iter().any(|cache| match cache.strip_suffix('/') {
        // The path must name an entry of this directory.
        Some(directory) => {
            below(inner, directory).is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphanumeric()))
        }
        None => below(inner, cache).is_some(),
    })
}

/// Returns true if a path is a directory that a tool creates again, or lies in `node_modules`.
pub(crate) fn is_made_again(word: &Word) -> bool {
    let text = word.text.trim_end_matches('/');
    let last = text.rsplit('/').next().unwrap_or_default();
    let is_named = !last.is_empty() && MADE_AGAIN.contains(&format!(" {last} "));
    word.doubt.is_none() && !text.contains("..") && !last.has(b' ') && (is_named || text.contains("node_modules/"))
}

/// Returns the part of the path after the last `..` that leads out of an unknown directory or out of a placeholder for a directory. A path
/// with such a `..` may lead anywhere.
pub(super) fn leads_out(text: &str) -> Option<&str> {
    // Fast check: most paths have no `..`.
    if !text.as_bytes().array_windows().any(|pair| pair == b"..") {
        return None;
    }
    let made_up = MADE_UP.iter().find_map(|directory| below(text, directory)).map(|rest| text.len() - rest.len());
    let unknown = || text.find(UNKNOWN).map(|at| text[at..].find('/').map_or(text.len(), |slash| at + slash));
    let begin = made_up.or_else(unknown)?;
    let (mut depth, mut at, mut out) = (0_i32, begin, None);
    for part in text[begin..].split('/') {
        at += part.len() + 1;
        match part {
            "" | "." => {}
            ".." => depth -= 1,
            // The unknown part may be `..`.
            part if part.has(UNKNOWN as u8) => {}
            _ => depth += 1,
        }
        if depth < 0 {
            out = text.get(at..).or(Some(""));
            depth = 0;
        }
    }
    out
}

/// Removes the scheme of a `file://` address.
pub(super) fn without_scheme(path: &str) -> &str {
    path.strip_prefix("file://").map_or(path, |path| path.strip_prefix("localhost").unwrap_or(path))
}

/// Returns a clean path with a known root. Links below `/proc` are resolved as far as possible.
pub(super) fn known(path: String) -> Normal {
    through_process(&path).unwrap_or(Normal::Absolute(path))
}

/// Returns the path after its first component.
pub(super) fn behind_first(path: &str) -> String {
    clean(path.halves(b'/').map_or("", |(_, rest)| rest))
}

/// Returns true if a path lies in a directory for temporary files.
pub(crate) fn is_temporary(path: &str) -> bool {
    let directories = ["/tmp", "/var/tmp", "/private/tmp", "/dev/shm", "/var/folders"];
    directories.iter().any(|directory| below(path, directory).is_some())
}

pub(super) fn is_temporary_root(path: &str) -> bool {
    ["/tmp", "/var/tmp", "/private/tmp"].contains(&path)
}

/// Returns the directory in which a pattern matches. The flag is true if the pattern matches everything there.
pub(super) fn glob_directory(text: &str) -> Option<(&str, bool)> {
    const ALL: [&str; 5] = [".*", "*.*", ".[!.]*", ".[^.]*", ".??*"];
    let at = text.find(['*', '?', '['])?;
    let slash = text[..at].rfind('/');
    let part = slash.map_or(0, |slash| slash + 1);
    let (pattern, rest) = text[part..].halves(b'/').unwrap_or((&text[part..], ""));
    let all = |pattern: &str| pattern.chars().all(|c| c == '*' || c == '?') || ALL.contains(&pattern);
    let directory = match slash {
        Some(0) => "/",
        Some(slash) => &text[..slash],
        None => ".",
    };
    let rest_is_all = rest.split('/').all(|part| part.is_empty() || part == "." || all(part));
    Some((directory, all(pattern) && rest_is_all))
}

/// Returns true if a shell pattern can match a name.
pub(super) fn may_be(pattern: &str, name: &str) -> bool {
    let mut left = pattern.chars();
    match left.next() {
        None => name.is_empty(),
        Some('*') => (0..=name.len()).filter_map(|at| name.get(at..)).any(|name| may_be(left.as_str(), name)),
        Some('[') if let Some((class, rest)) = left.as_str().halves(b']') => {
            let is_list = !class.has_one_of(b"!^-[");
            name.strip_prefix(|c| !is_list || class.contains(c)).is_some_and(|name| may_be(rest, name))
        }
        Some(c) => name.strip_prefix(|first| c == '?' || first == c).is_some_and(|name| may_be(left.as_str(), name)),
    }
}

pub(super) fn clean_below(root: &str, rest: &str) -> String {
    let path = clean(rest.trim_start_matches('/'));
    match path.as_str() {
        "" => root.to_owned(),
        // The parent directory of a home contains the other homes.
        path if path.starts_with("..") => "/home".into(),
        path => format!("{root}/{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, Normal, PathContext, Word};

    pub(super) fn class(text: &str, cwd: &str) -> Class {
        let word = Word {
            text: text.replace('$', "\u{1A}"),
            home: text.starts_with('~'),
            glob: text.contains(['*', '?']),
            ..Word::default()
        };
        PathContext::new("/home/me/project").class(&word, Some(cwd))
    }

    #[test]
    fn paths_are_told_apart_by_where_they_lead() {
        for (text, expected) in [
            ("/", Class::Root),
            ("//", Class::Root),
            ("/.", Class::Root),
            ("/*", Class::Root),
            ("/../..", Class::Root),
            ("C:\\", Class::Root),
            ("C:\\*", Class::Root),
            ("/usr", Class::System),
            ("/u*", Class::System),
            ("/$", Class::Root),
            ("/etc/x", Class::System),
            ("~", Class::Above),
            ("~/*", Class::Above),
            ("~/Documents", Class::Home),
            ("~you/x", Class::Home),
            ("~/.config/hookhost", Class::Host),
            ("~/.config/hookhost/*", Class::Host),
            ("~you/.local/state/hookhost/trust.json", Class::Host),
            ("/home/me/.config/../.config/hookhost/keys.toml", Class::Host),
            ("../.cache/hookhost/compiled", Class::Host),
            ("~/.config/hookhost-other", Class::Home),
            (".config/hookhost", Class::Inside),
            ("~/project/build", Class::Inside),
            ("..", Class::Above),
            ("../sibling", Class::Home),
            ("/home", Class::Above),
            (".", Class::Workspace),
            ("*", Class::Workspace),
            ("./*", Class::Workspace),
            (".*", Class::Workspace),
            ("../project", Class::Workspace),
            (".git", Class::Repository),
            ("*.o", Class::Inside),
            ("*/build", Class::Inside),
            ("build/*", Class::Inside),
            ("build/$", Class::Inside),
            ("build-$", Class::Inside),
            ("$", Class::Unknown),
            ("./$", Class::Unknown),
            ("$/..", Class::Unknown),
            ("build/$/..", Class::Unknown),
            ("build/$/a/..", Class::Inside),
            ("build/../$", Class::Unknown),
            ("/tmp/session/../etc", Class::Unknown),
            ("/tmp/session/a/../b", Class::Temporary),
            ("/tmp/x", Class::Temporary),
            ("/tmp/$", Class::Temporary),
            ("/tmp", Class::Outside),
            ("/data", Class::Outside),
            ("/dev/sda", Class::Device),
        ] {
            assert_eq!(class(text, "/home/me/project"), expected, "{text}");
        }
        assert_eq!(class("*", "/"), Class::Root);
        assert_eq!(class("*", "/home/me/project/build"), Class::Inside);
        assert_eq!(PathContext::new("/w").class(&Word::literal("x"), None), Class::Unknown);
    }

    fn spelt(path: &str, cwd: &str) -> Normal {
        let context = PathContext::new(cwd);
        context.spelt(path, Some(context.workspace()))
    }

    fn absolute(path: &str) -> Normal {
        Normal::Absolute(path.into())
    }

    #[test]
    fn one_file_has_one_spelling() {
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
            assert_eq!(spelt(path, "/home/me/project/src"), absolute("/home/me/project/infra/x"), "{path}");
        }
    }

    #[test]
    fn what_lies_below_the_unknown_is_known_from_there_on() {
        for path in ["~/infra/x", "$DIR/infra/x", "~you/infra/./x"] {
            assert_eq!(spelt(path, "/srv/project"), Normal::Below("infra/x".into()), "{path}");
        }
        let context = PathContext::new("/srv/project");
        assert_eq!(context.resolve(&Word::literal("\u{1A}x/infra/x"), None), Normal::Below("infra/x".into()));
        assert_eq!(context.resolve(&Word::literal("infra/x"), None), Normal::Below("infra/x".into()));
        assert_eq!(context.resolve(&Word::literal("infra/x"), Some("~/a")), Normal::Below("a/infra/x".into()));
        assert_eq!(context.resolve(&Word::literal("\u{1A}/../../infra/x"), None), Normal::Below("infra/x".into()));
    }

    #[test]
    fn the_links_of_processes_are_followed() {
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
            assert_eq!(spelt(path, "/srv/project"), normal, "{path}");
        }
        for (path, expected) in [
            ("/proc/self/root", Class::Root),
            ("/proc/self/root/home/me/.config/hookhost/keys.toml", Class::Host),
            ("/proc/self/root/home/me", Class::Above),
            ("/proc/self/root/tmp/x", Class::System),
            ("/proc/self/status", Class::System),
        ] {
            assert_eq!(class(path, "/home/me/project"), expected, "{path}");
        }
    }

    #[test]
    fn a_windows_drive_is_a_root() {
        assert_eq!(spelt(r"..\..\..\x", r"C:\work\project"), absolute("C:/x"));
        assert_eq!(spelt("infra/x", r"C:\work\project"), absolute("C:/work/project/infra/x"));
    }
}
