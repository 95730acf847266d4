//! Patterns of paths, and the check of paths against these patterns.
//!
//! `*` and `?` do not match a `/`, but `**` does, and `[a-z]` matches one character. A pattern stands for the named path and everything
//! below it.
//! A pattern without a slash is a name in any directory (`.env*`). A pattern with a slash is a path relative to the workspace. If it
//! begins with a slash, it is an absolute path, and if it begins with `~/`, it is a path in any home directory.

use hookhost_conditions::glob::{Comparison, Glob, Pairs};
use shell_reader::UNKNOWN;
use shell_reader::guarded::Reach;
use shell_reader::path::{self, Normal};

const WILDCARDS: [char; 3] = ['*', '?', '['];

/// One configured pattern, in every form that a path is compared with. If case does not matter, it is in lower case.
#[derive(Debug)]
struct PathPattern {
    /// The pattern as configured.
    written: String,
    forms: Vec<Glob>,
    /// The directories before the first wildcard. Removing one of these directories removes protected files.
    stem: String,
    /// The pairs of characters that each matching path contains.
    pairs: Pairs,
    ignore_case: bool,
}

/// The protected patterns and their exceptions.
#[derive(Debug)]
pub struct Patterns {
    protected: Vec<PathPattern>,
    allowed: Vec<PathPattern>,
}

/// A path that a call would write, read or delete.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    pub path: Normal,
    pub reach: Reach,
    /// True if the wildcards of a shell pattern do not match a dot at the beginning of a name.
    pub spares_dots: bool,
}

/// The spellings of a path: the path itself, and the path relative to the workspace.
#[derive(Clone, Debug, Default)]
pub struct Spellings {
    exact: Vec<String>,
    lower: Vec<String>,
    pairs: Pairs,
}

impl Spellings {
    /// Returns the pairs of characters of all spellings.
    #[must_use]
    pub fn pairs(&self) -> Pairs {
        self.pairs
    }

    /// Returns the spellings of a target.
    #[must_use]
    pub fn new(target: &Target, workspace: &str) -> Self {
        let exact = spellings(&target.path, workspace);
        let lower: Vec<String> = exact.iter().map(|path| path.to_lowercase()).collect();
        // Some other letters become ASCII letters in lower case, such as the sign for kelvin.
        let pairs = lower.iter().fold(Pairs::default(), |pairs, path| pairs.and(Pairs::of(path)));
        Self { exact, lower, pairs }
    }
}

impl Target {
    /// Returns true if other files than the path itself may be touched, too.
    #[must_use]
    pub fn reaches_others(&self) -> bool {
        self.reach.wild || self.reach.extent.is_whole()
    }
}

impl Patterns {
    /// # Errors
    /// Returns an error if a pattern is not a valid glob. The error names the pattern.
    pub fn new(protected: &[String], allowed: &[String], ignore_case: bool) -> Result<Self, String> {
        // For exceptions, case matters, because on some systems a name in another case is another file.
        Ok(Self { protected: compile(protected, ignore_case)?, allowed: compile(allowed, false)? })
    }

    /// Returns the pairs of characters of each protected pattern. Every path that the pattern matches has them, except if a target
    /// [reaches other files](Target::reaches_others).
    pub fn pairs(&self) -> impl Iterator<Item = Pairs> {
        self.protected.iter().map(|pattern| pattern.pairs)
    }

    /// Returns the pattern that matches `target`, if the target is not an exception.
    pub fn protecting(&self, target: &Target, workspace: &str) -> Option<&str> {
        self.matching(target, &Spellings::new(target, workspace), workspace)
    }

    /// Does the same as [`Patterns::protecting`], with spellings that were made before.
    pub fn matching(&self, target: &Target, spellings: &Spellings, workspace: &str) -> Option<&str> {
        let found = self.protected.iter().find(|pattern| {
            let reaches = |path: &String| pattern.stem_lies_in(path, target, workspace);
            pattern.match_any(spellings) || (target.reaches_others() && spellings.exact.iter().any(reaches))
        })?;
        (!self.is_excepted(target, workspace)).then_some(found.written.as_str())
    }

    /// Returns true if the target is one of the exceptions.
    pub fn is_excepted(&self, target: &Target, workspace: &str) -> bool {
        if !target.reach.wild {
            return self.is_allowed(&target.path, workspace);
        }
        // What a pattern of the shell matches lies below the directory before its first wildcard.
        let Normal::Absolute(path) = &target.path else { return false };
        let is_open = |c| WILDCARDS.contains(&c) || c == UNKNOWN;
        // In some shells, `.*` matches `..`.
        if path.split('/').any(|name| name.starts_with('.') && name.contains(is_open)) {
            return false;
        }
        let directory = path.find(is_open).and_then(|at| path[..at].rsplit_once('/'));
        directory.is_some_and(|(directory, _)| self.is_allowed(&Normal::Absolute(directory.to_owned()), workspace))
    }

    /// Returns true if the path is an exception. The path must be completely known.
    fn is_allowed(&self, path: &Normal, workspace: &str) -> bool {
        let Normal::Absolute(absolute) = path else { return false };
        let relative = path::relative(absolute, workspace);
        let pairs = Pairs::of(absolute).and(Pairs::of(&relative));
        let spellings = Spellings { lower: Vec::new(), exact: vec![absolute.clone(), relative], pairs };
        self.allowed.iter().any(|pattern| pattern.match_any(&spellings))
    }
}

impl PathPattern {
    /// Returns true if one of the spellings of a path matches.
    fn match_any(&self, spellings: &Spellings) -> bool {
        let Spellings { exact, lower, pairs } = spellings;
        let spellings = if self.ignore_case { lower } else { exact };
        let fits = |path: &String| self.forms.iter().any(|form| form.covers(path));
        // A path of which nothing is known may be any file, so only a pattern for all files matches it.
        let is_unknown = || spellings.is_empty() && self.forms.iter().any(|form| form.covers(""));
        pairs.may_contain(self.pairs) && (spellings.iter().any(|path| !path.is_empty() && fits(path)) || is_unknown())
    }

    /// Returns true if the write affects the stem. The target is then a directory above the stem, or its wildcards match the stem.
    fn stem_lies_in(&self, path: &str, target: &Target, workspace: &str) -> bool {
        if self.stem.is_empty() {
            return false;
        }
        let path = self.fold(path);
        let is_of_home = self.stem.starts_with("~/");
        let path = match is_of_home {
            true => match in_home(&path) {
                Some(path) => path,
                None => return false,
            },
            false => path,
        };
        if is_of_home && path.is_empty() {
            return target.reach.extent.is_whole();
        }
        let stem = if path::is_absolute(&path) && !path::is_absolute(&self.stem) {
            path::clean(&format!("{}/{}", self.fold(workspace), self.stem))
        } else {
            self.stem.clone()
        };
        let above = ancestors(&stem);
        let is_whole = target.reach.extent.is_whole();
        if !target.reach.wild {
            return is_whole && above.contains(&path.as_str());
        }
        // A command that removes `*` also removes everything in the directories that match. A command that writes `in*/x` writes below
        // `in*`.
        let reached = if is_whole { &above[..] } else { &above[..1] };
        let comparison = if target.spares_dots { Comparison::VisiblePath } else { Comparison::Path };
        let fits = |pattern: &str, stems: &[&str]| {
            let pattern = Glob::of_shell(pattern);
            stems.iter().any(|stem| !stem.is_empty() && pattern.matches(stem, comparison))
        };
        let heads = ancestors(&path);
        let below = heads.iter().skip(1).filter(|head| head.contains(WILDCARDS));
        fits(&path, reached) || below.into_iter().any(|head| fits(head, &above[..1]))
    }

    fn fold(&self, path: &str) -> String {
        if self.ignore_case { path.to_lowercase() } else { path.to_owned() }
    }
}

/// Returns a path in any user's home as `~/x`, and the empty path for a directory that contains homes. Returns `None` for other paths. The
/// path may have wildcards.
fn in_home(path: &str) -> Option<String> {
    if path == "~" || path.starts_with("~/") {
        return Some(path.to_owned());
    }
    // On Windows, the name of a drive precedes the path.
    let path = path.get(2..).filter(|_| path.as_bytes().get(1) == Some(&b':')).unwrap_or(path);
    let inner = path.strip_prefix('/')?;
    let (first, rest) = inner.split_once('/').unwrap_or((inner, ""));
    let below = |rest: &str| if rest.is_empty() { "~".to_owned() } else { format!("~/{rest}") };
    match first {
        "root" => Some(below(rest)),
        "home" | "Users" | "users" if rest.is_empty() => Some(String::new()),
        "home" | "Users" | "users" => Some(below(rest.split_once('/').map_or("", |(_, rest)| rest))),
        "" => Some(String::new()),
        first if rest.is_empty() && first.contains(WILDCARDS) => Some(String::new()),
        _ => None,
    }
}

/// Returns a path and the directories above it, in that order. The last directory is `/`, or the empty string for a relative path.
fn ancestors(path: &str) -> Vec<&str> {
    let mut all = vec![path];
    all.extend(path.rmatch_indices('/').map(|(at, _)| if at == 0 { "/" } else { &path[..at] }));
    if !path.starts_with('/') {
        all.push("");
    }
    all
}

/// Returns all spellings of a path. These are the path itself and the path relative to the workspace. If the root of the path is unknown,
/// any directory may be the workspace or a home, so each ending of the path is included, also as `~/ENDING`.
fn spellings(path: &Normal, workspace: &str) -> Vec<String> {
    match path {
        Normal::Absolute(absolute) => vec![absolute.clone(), path::relative(absolute, workspace)],
        Normal::Below(path) => {
            let ends = path.match_indices('/').map(|(at, _)| path[at + 1..].to_owned());
            let mut all: Vec<String> = ends.collect();
            if !path.is_empty() {
                all.push(path.clone());
            }
            let of_home: Vec<String> =
                all.iter().filter(|end| !end.starts_with(WILDCARDS)).map(|end| format!("~/{end}")).collect();
            all.extend(of_home);
            all
        }
    }
}

fn compile(patterns: &[String], ignore_case: bool) -> Result<Vec<PathPattern>, String> {
    patterns.iter().map(|written| pattern(written, ignore_case)).collect()
}

/// Compiles a pattern, which protects the named path and everything below it. A pattern without a slash is a name in any directory. A
/// pattern with a slash is a path relative to the workspace or, if the slash comes first, an absolute path.
fn pattern(written: &str, ignore_case: bool) -> Result<PathPattern, String> {
    if written.contains(['{', '}']) {
        return Err(format!("the pattern `{written}` has braces, which are not understood here: write two patterns"));
    }
    let folded = if ignore_case { written.to_lowercase() } else { written.to_owned() };
    let trimmed = folded.trim_end_matches('/');
    let is_name = !trimmed.contains('/');
    let cleaned = path::clean(trimmed);
    let base = cleaned.strip_suffix("/**").unwrap_or(&cleaned);
    if base.is_empty() || base == "/" {
        return Err(format!("the pattern `{written}` names nothing: `**` stands for everything"));
    }
    // A name covers the path of this name, too.
    let mut forms = vec![if is_name { format!("**/{base}") } else { base.to_owned() }];
    if let Some(rest) = base.strip_prefix("~/") {
        for home in ["/home/*", "/Users/*", "/root", "?:/Users/*"] {
            let home = if ignore_case { home.to_lowercase() } else { home.to_owned() };
            forms.push(format!("{home}/{rest}"));
        }
    }
    let compile = |form: &String| Glob::new(form).map_err(|why| format!("the pattern `{written}` is no glob: {why}"));
    let forms: Vec<Glob> = forms.iter().map(compile).collect::<Result<_, _>>()?;
    let pairs = compile(&base.strip_prefix("~/").unwrap_or(base).to_owned())?.pairs();
    Ok(PathPattern { written: written.to_owned(), forms, stem: stem(base), pairs, ignore_case })
}

/// Returns the directories before the first wildcard. If the pattern is a single name, returns the text of the name before the wildcard.
fn stem(base: &str) -> String {
    let Some(wildcard) = base.find(WILDCARDS) else { return base.to_owned() };
    let fixed = &base[..wildcard];
    fixed.rsplit_once('/').map_or(fixed, |(directories, _)| directories).to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Patterns, Reach, Target};
    use shell_reader::path::Normal;

    fn guards(pattern: &str, path: &str) -> bool {
        let rules = Patterns::new(&[pattern.into()], &[], true).unwrap();
        let target = Target { path: Normal::Absolute(path.into()), reach: Reach::default(), spares_dots: false };
        rules.protecting(&target, "/w").is_some()
    }

    #[test]
    fn a_name_is_protected_anywhere_and_a_path_in_its_place() {
        for (pattern, path, expected) in [
            ("infra/**", "/w/infra/a/b", true),
            ("infra/**", "/w/infra", true),
            ("infra/**", "/w/infrastructure/a", false),
            ("infra/**", "/w/x/infra/a", false),
            ("infra/", "/w/infra/a", true),
            (".env*", "/w/.env.local", true),
            (".env*", "/w/a/b/.env", true),
            (".env*", "/w/a/env", false),
            ("*.pem", "/w/keys/a.pem", true),
            ("a/*.txt", "/w/a/b/c.txt", false),
            ("a/**/c.txt", "/w/a/b/c.txt", true),
            ("a/**/c.txt", "/w/a/c.txt", true),
            ("./infra/../infra/*.tf", "/w/infra/a.tf", true),
            ("/etc/**", "/etc/passwd", true),
            ("../other/**", "/other/x", true),
            ("~/.ssh/**", "/home/me/.ssh/id", true),
            ("Infra/**", "/w/iNFRA/x", true),
            ("key*", "/w/\u{212a}EYS", true),
            ("**", "/w/x", true),
        ] {
            assert_eq!(guards(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn removing_a_directory_removes_what_is_below() {
        let rules = Patterns::new(&["a/infra/*.tf".into()], &[], true).unwrap();
        let falls = |path: &str, whole: bool, wild| {
            let reach = Reach { extent: whole.into(), wild, ..Reach::default() };
            rules.protecting(&Target { path: Normal::Absolute(path.into()), reach, spares_dots: false }, "/w").is_some()
        };
        for path in ["/w/a/infra", "/w/a", "/w", "/"] {
            assert!(falls(path, true, false), "{path}");
            assert!(!falls(path, false, false), "{path}");
        }
        assert!(falls("/w/a/inf*", false, true));
        assert!(falls("/w/*", true, true));
        assert!(!falls("/w/*", false, true));
        assert!(!falls("/w/b*", true, true));
        assert!(!falls("/w/b", true, false));
    }

    #[test]
    fn a_path_in_a_home_is_protected_in_any_home_and_the_workspace_is_no_home() {
        let rules = Patterns::new(&["~/.ssh/**".into()], &[], true).unwrap();
        let target = |path: Normal, whole: bool, wild| {
            let reach = Reach { extent: whole.into(), wild, ..Reach::default() };
            rules.protecting(&Target { path, reach, spares_dots: false }, "/w").is_some()
        };
        let absolute = |path: &str, whole, wild| target(Normal::Absolute(path.into()), whole, wild);
        for path in ["/root/.ssh/config", "/home/me/.ssh", "/Users/me/.SSH/id", "c:/users/me/.ssh/id"] {
            assert!(absolute(path, false, false), "{path}");
        }
        for path in ["/root", "/home/me", "/home", "/Users", "/"] {
            assert!(absolute(path, true, false) && !absolute(path, false, false), "{path}");
        }
        for path in ["/home/me/*", "/home/*", "/*", "/root/.s*"] {
            assert!(absolute(path, true, true), "{path}");
        }
        for path in ["/w", "/w/x", "/home/me/work", "/home/me/.sshx", "/tmp"] {
            assert!(!absolute(path, true, false), "{path}");
        }
        for path in ["/w/*", "/w/x/*", "/home/me/work/*", "/home/me/b*"] {
            assert!(!absolute(path, true, true), "{path}");
        }
        // `~/.ssh/config` in a project outside of any home, and `$DIR/*`.
        assert!(target(Normal::Below(".ssh/config".into()), false, false));
        assert!(!target(Normal::Below("src/config".into()), false, false));
        assert!(!target(Normal::Below("*".into()), true, true));
    }

    #[test]
    fn an_invalid_glob_is_named() {
        for pattern in ["a/[", "a**b", "{a,b}", "/", ""] {
            let error = Patterns::new(&[pattern.into()], &[], true).unwrap_err();
            assert!(error.contains(&format!("`{pattern}`")), "{error}");
        }
    }
}
