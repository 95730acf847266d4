//! The paths that a rule denies for reading or writing whatever else holds. Patterns have the meaning that they have in rules
//! (`docs/rules.md`): a name without a slash is that name anywhere, a path is one of the project, of the home (`~/`) or of the machine, and
//! each covers what is below it.

use super::Places;
use super::draft::{Draft, Origin};
use super::places::matching;
use crate::plan::Treatment;
use hookhost_conditions::glob::Glob;
use hookhost_contract::rule::{RuleOn, RuleRow};
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

/// Maximum number of files of the project that are compared with patterns. More would delay the start.
const MAX_FILES: usize = 20_000;

/// A rule whose paths the kernel can guard.
struct PathRule {
    reason: String,
    treatment: Treatment,
    /// Patterns of absolute paths, in lower case, of files that only a walk through the project finds.
    anywhere: Vec<Glob>,
    /// Patterns of absolute paths. As in rules, case matters for exceptions.
    excepted: Vec<Glob>,
}

pub(super) fn add(draft: &mut Draft<'_>, rules: &[RuleRow]) {
    let project = draft.places.project.clone();
    let mut walked = Vec::new();
    for row in rules.iter().filter(|row| row.reject.is_some() && !row.observe) {
        let has = |on: RuleOn| row.on.contains(&on);
        let treatment = match () {
            () if has(RuleOn::Read) => Treatment::Hidden,
            () if has(RuleOn::Write) => Treatment::ReadOnly,
            () if has(RuleOn::Delete) => {
                let sentence =
                    "is about deletions, which the kernel cannot tell from changes: hookhost alone enforces it";
                draft.gap(&project, format!("the rule `{}` {sentence}", row.id));
                continue;
            }
            () => continue,
        };
        if has(RuleOn::Read) && !has(RuleOn::Write) {
            let sentence = "is about reading alone, and what the kernel hides cannot be written either";
            draft.gap(&project, format!("the rule `{}` {sentence}", row.id));
        }
        match condition(row) {
            Some(condition) => {
                draft
                    .gap(&project, format!("the rule `{}` depends on {condition}: hookhost alone enforces it", row.id));
            }
            None => walked.push(rule(draft, row, treatment)),
        }
    }
    walked.retain(|rule| !rule.anywhere.is_empty());
    if walked.is_empty() {
        return;
    }
    let is_complete = walk(&project, &mut |path, _| {
        let lower = path.to_string_lossy().to_lowercase();
        let found = walked.iter().filter(|rule| rule.anywhere.iter().any(|glob| glob.covers(&lower)));
        let found: Vec<&PathRule> = found.collect();
        found.iter().for_each(|rule| guard(draft, rule, path));
        found.is_empty()
    });
    let what = if is_complete {
        "files that appear later are not guarded"
    } else {
        "it has so many files that not all were compared"
    };
    for rule in walked {
        draft.gap(
            &project,
            format!(
                "the {} names files anywhere: they are guarded in {}, and {what}",
                rule.reason,
                draft.places.shown(&project)
            ),
        );
    }
}

/// Returns what a rule depends on besides paths.
fn condition(row: &RuleRow) -> Option<&'static str> {
    match () {
        () if row.has_conditions() || row.mode.is_some() => Some("a condition"),
        () if row.matchers().any(|(name, _)| name != "path") => Some("a tool or a text"),
        () if row.path.iter().all(|path| path.starts_with('!')) => Some("no path"),
        () => None,
    }
}

/// Guards the paths of a rule that have their place, and returns the patterns of the others.
fn rule(draft: &mut Draft<'_>, row: &RuleRow, treatment: Treatment) -> PathRule {
    let places = draft.places;
    let (excepted, wanted): (Vec<&String>, Vec<&String>) =
        row.path.iter().partition(|pattern| pattern.starts_with('!'));
    let excepted = excepted.iter().filter_map(|pattern| Glob::new(&absolute(places, &pattern[1..])?.0).ok()).collect();
    let mut rule = PathRule { reason: format!("rule `{}`", row.id), treatment, anywhere: Vec::new(), excepted };
    for pattern in wanted {
        match absolute(places, pattern) {
            Some((_, Some(place))) => {
                draft.watch(&place, treatment, Origin::Rule, &rule.reason);
                matching(&place).iter().for_each(|path| guard(draft, &rule, path));
            }
            Some((text, None)) if !pattern.starts_with(['~', '/']) => {
                rule.anywhere.extend(Glob::new(&text.to_lowercase()).ok());
            }
            _ => {
                let sentence = format!(
                    "the {} has the path `{pattern}`, in which the kernel does not guard: hookhost alone enforces it",
                    rule.reason
                );
                draft.gap(&places.project, sentence);
            }
        }
    }
    rule
}

/// Returns the pattern of absolute paths for a pattern of a rule, and the place if no walk is needed to find the files. Returns `None` for
/// a pattern that names everything, or that leaves its directory.
fn absolute(places: &Places<'_>, pattern: &str) -> Option<(String, Option<PathBuf>)> {
    let base = pattern.trim_end_matches('/');
    let base = base.strip_suffix("/**").unwrap_or(base);
    let base = base.strip_prefix("./").unwrap_or(base);
    if base.is_empty() || matches!(base, "**" | "~") || base.split('/').any(|name| name == "..") {
        return None;
    }
    if !base.contains('/') {
        return Some((format!("**/{base}"), None));
    }
    let (directory, rest) = match (base.strip_prefix("~/"), base.strip_prefix('/')) {
        (Some(rest), _) => (&places.home, rest),
        (_, Some(rest)) => (&places.root, rest),
        _ => (&places.project, base),
    };
    let rest: Vec<&str> = rest.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    let rest = rest.join("/");
    if rest.is_empty() {
        return None;
    }
    // A directory can be called like a pattern.
    let fixed: String = directory
        .to_string_lossy()
        .chars()
        .map(|c| if "*?[".contains(c) { format!("[{c}]") } else { c.to_string() })
        .collect();
    let place = (!rest.split('/').any(|name| name == "**")).then(|| directory.join(&rest));
    Some((format!("{}/{rest}", fixed.trim_end_matches('/')), place))
}

/// Guards a path that a rule matches, but for the rule's exceptions.
fn guard(draft: &mut Draft<'_>, rule: &PathRule, path: &Path) {
    let is_excepted = |path: &Path| rule.excepted.iter().any(|glob| glob.covers(&path.to_string_lossy()));
    if is_excepted(path) {
        return;
    }
    let places = draft.places;
    let own =
        [&places.home, &places.config, &places.state, &places.cache, &places.project, &places.directory].into_iter();
    if rule.treatment == Treatment::Hidden && own.chain(&places.programs).any(|own| own.starts_with(path)) {
        let sentence = "which hooks and programs need inside: hookhost alone enforces it";
        draft.gap(path, format!("the {} is about reading {}, {sentence}", rule.reason, places.shown(path)));
        return;
    }
    let has_exceptions = path.is_dir() && !rule.excepted.is_empty();
    if !has_exceptions || rule.treatment == Treatment::ReadOnly {
        draft.add_existing(path, rule.treatment, Origin::Rule, &rule.reason);
    }
    if !has_exceptions {
        return;
    }
    let is_complete = walk(path, &mut |path, kind| {
        match (is_excepted(path), rule.treatment) {
            // A link could lead to any other guarded file.
            (true, Treatment::ReadOnly) if !kind.is_symlink() => {
                draft.add_existing(path, Treatment::Writable, Origin::Rule, &rule.reason);
            }
            (false, Treatment::Hidden) if !kind.is_dir() => {
                draft.add_existing(path, Treatment::Hidden, Origin::Rule, &rule.reason);
            }
            _ => {}
        }
        !is_excepted(path)
    });
    if rule.treatment == Treatment::Hidden {
        let what = if is_complete { "later are not" } else { "there in such numbers are not all" };
        let sentence = format!(
            "the {} has exceptions in {}, so its files are hidden one by one, and those that appear {what}",
            rule.reason,
            draft.places.shown(path)
        );
        draft.gap(path, sentence);
    }
}

/// Calls `visit` for each file and directory below a directory, and goes into a directory if it returns true. Links are not followed.
/// Returns false if there are too many files.
fn walk(directory: &Path, visit: &mut dyn FnMut(&Path, FileType) -> bool) -> bool {
    let (mut left, mut directories) = (MAX_FILES, vec![directory.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            // The objects of git have no names that a rule could mean.
            let is_objects =
                entry.file_name() == "objects" && path.parent().is_some_and(|parent| parent.ends_with(".git"));
            if left == 0 {
                return false;
            }
            left -= 1;
            if visit(&path, kind) && kind.is_dir() && !is_objects {
                directories.push(path);
            }
        }
    }
    true
}
