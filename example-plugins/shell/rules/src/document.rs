//! Makes pages for people about the rules in the catalogues. This module is not part of a component, because a component contains no
//! examples.

use crate::config::Config;
use crate::judge::{Stop, stop};
use crate::rules::{Catalogue, Embedded, Registry, Rule, Severity};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{Display, Formatter, Result as FmtResult, Write as _};

/// A catalogue with its rules. Its [`Display`] implementation writes a Markdown page.
#[derive(Debug, Serialize)]
pub struct CataloguePage {
    /// The catalogue's id, such as `hookhost/git`.
    pub id: String,
    /// The version of the rules, such as `0.1.0`.
    pub version: String,
    /// The stack, such as `rust`, that must be in use for the rules to apply. `None` if the rules always apply.
    pub stack: Option<String>,
    /// The rules, in the order of the catalogue's file.
    pub rules: Vec<RulePage>,
}

/// A rule with its examples. Its [`Display`] implementation writes a section of its catalogue's Markdown page.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RulePage {
    /// The rule's id, such as `git.force_push`.
    pub id: String,
    /// `error`, `warning` or `info`. The severity is used to sort lists, and has no effect on the action.
    pub severity: &'static str,
    /// The action on a command that the rule catches: `deny`, `ask`, `rewrite`, `hint`, `audit` or `allow`.
    pub action: String,
    /// The kinds of harm, such as `network`.
    pub labels: Vec<String>,
    /// One or two sentences that the model reads.
    pub explanation: String,
    /// Examples of commands that the rule catches.
    pub catches: Vec<String>,
    /// Examples of similar commands that the rule leaves alone.
    pub leaves: Vec<String>,
    /// An environment variable. If the plugin may read the variable and its value is `1` or `true`, the rule has no effect.
    pub unless_env: Option<String>,
    /// Links.
    pub references: Vec<String>,
}

/// Returns the plugin's catalogues in the order in which rules of equal priority are checked.
///
/// # Errors
/// Returns one sentence if the embedded catalogues are damaged.
pub fn catalogues() -> Result<Vec<CataloguePage>, String> {
    let mut embedded = Embedded::read()?;
    let mut pages = Vec::new();
    while let Some(catalogue) = embedded.next().transpose()? {
        let Catalogue { id, version, stack, .. } = catalogue;
        let rules = std::iter::from_fn(|| embedded.rule()).map(|rule| rule.map(RulePage::from));
        pages.push(CataloguePage { id, version, stack, rules: rules.collect::<Result<_, _>>()? });
    }
    Ok(pages)
}

/// The number of rules that stop a command, by their effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleCounts {
    /// Rules that ask a person.
    pub asking: usize,
    /// Rules that deny the command.
    pub denying: usize,
}

/// Counts the rules that stop a command under this config. Rules of stacks that the config does not name are not counted.
///
/// # Errors
/// Returns one sentence that names the error in the config.
pub fn rule_counts(config: Config) -> Result<RuleCounts, String> {
    let Config { stacks, rules, .. } = config;
    let stacks = stacks.unwrap_or_default();
    let registry = Registry::new(rules)?;
    let holds = |stack: &str| stacks.iter().any(|named| named == stack);
    let mut counts = RuleCounts::default();
    for rule in registry.rules().iter().filter(|rule| rule.holds_in(&holds)) {
        match stop(rule) {
            Some(Stop::Ask) => counts.asking += 1,
            Some(Stop::Deny) => counts.denying += 1,
            None => {}
        }
    }
    Ok(counts)
}

/// Returns the Markdown files of the catalogues by file name. These are a page for each catalogue, and `README.md`, which lists the pages.
#[must_use]
pub fn files(catalogues: &[CataloguePage]) -> BTreeMap<String, String> {
    let mut index = INTRODUCTION.to_owned();
    let mut files = BTreeMap::new();
    for catalogue in catalogues {
        let name = format!("{}.md", catalogue.name());
        let _ = writeln!(index, "| [{}]({name}) | {} | {} |", catalogue.id, catalogue.rules.len(), catalogue.scope());
        files.insert(name, catalogue.to_string());
    }
    files.insert("README.md".into(), index);
    files
}

/// The beginning of `README.md`, up to the rows of its table.
const INTRODUCTION: &str = "\
# The rules of shell-guard

`hookhost rule explain --write DIR` wrote these pages. A test tries every example in them.

Each rule has a *severity*, which sorts lists, and an *action*: what the plugin does with a command that the rule catches. The
examples are judged in a project at `/work/project` whose stacks are in use. `hookhost dispatch --shell 'git push -f origin main'`
judges any command.

A rule's *labels* name the kinds of harm. The plugin's setting `answers` changes the action of rules by severity, catalogue,
label, cause or id: `answers = { \"label:network\" = \"ask\", \"rule:git.reset_hard\" = \"deny\" }`. The most specific key counts. No
answer loosens the floor or self-defence. `remove = [\"ID\"]` leaves a rule out.

The rules of a stack apply where the stack is used. Name the stacks in the plugin's settings (`stacks = [\"rust\"]`), or grant the
plugin the workspace (`read-dirs = { \"/workspace\" = \".\" }`), where it recognises them by their files. With neither, these rules
are silent, and the finding `shell-guard.stacks` reports each command that one of them would have matched.

| catalogue | rules | apply |
|---|---|---|
";

impl CataloguePage {
    /// Returns the id without its source: `git` for `hookhost/git`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.id.rsplit('/').next().unwrap_or(&self.id)
    }

    /// Returns where the rules apply: `everywhere`, or ``where `rust` is used``.
    #[must_use]
    pub fn scope(&self) -> String {
        self.stack.as_ref().map_or("everywhere".into(), |stack| format!("where `{stack}` is used"))
    }
}

impl RulePage {
    /// Returns the action as a part of a sentence about the command, such as "is denied".
    #[must_use]
    pub fn effect(&self) -> &str {
        match &*self.action {
            "deny" => "is denied",
            "ask" => "is asked about",
            "rewrite" => "is rewritten",
            "hint" => "is hinted at",
            "audit" => "is reported",
            other => other,
        }
    }
}

impl From<Rule> for RulePage {
    fn from(rule: Rule) -> Self {
        let severity = Severity::NAMES.iter().find(|(_, severity)| *severity == rule.severity);
        let default = if rule.rewrite.is_some() { "rewrite" } else { "audit" };
        Self {
            id: rule.id.to_string(),
            severity: severity.map_or("warning", |(name, _)| *name),
            action: rule.action.as_deref().unwrap_or(default).to_owned(),
            labels: rule.labels,
            explanation: rule.explanation.to_string(),
            catches: rule.catches,
            leaves: rule.leaves,
            unless_env: rule.unless_env.map(|name| name.to_string()),
            references: rule.references.iter().map(ToString::to_string).collect(),
        }
    }
}

impl Display for CataloguePage {
    fn fmt(&self, page: &mut Formatter<'_>) -> FmtResult {
        writeln!(page, "# {}\n\nThese rules apply {}. Version {}.", self.id, self.scope(), self.version)?;
        self.rules.iter().try_for_each(|rule| write!(page, "\n{rule}"))
    }
}

impl Display for RulePage {
    fn fmt(&self, page: &mut Formatter<'_>) -> FmtResult {
        writeln!(page, "## {}\n\n{}, {}. {}\n", self.id, self.severity, self.effect(), self.explanation)?;
        if !self.labels.is_empty() {
            writeln!(page, "- labels {}", codes(&self.labels))?;
        }
        writeln!(page, "- catches {}\n- leaves {}", codes(&self.catches), codes(&self.leaves))?;
        if let Some(name) = &self.unless_env {
            writeln!(page, "- silent if the plugin may read the variable `{name}` and it is `1` or `true`")?;
        }
        self.references.iter().try_for_each(|link| writeln!(page, "- see <{link}>"))
    }
}

/// Returns the texts as code, separated by commas.
fn codes(texts: &[String]) -> String {
    texts.iter().map(|text| code(text)).collect::<Vec<_>>().join(", ")
}

/// Returns the text as code, with escapes in place of characters that cannot be seen.
fn code(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| if c.is_control() || c == '\u{202e}' { c.escape_unicode().to_string() } else { c.to_string() })
        .collect();
    if escaped.contains('`') { format!("`` {escaped} ``") } else { format!("`{escaped}`") }
}

#[cfg(test)]
mod tests {
    use super::{catalogues, code, files};

    #[test]
    fn each_catalogue_has_a_page_of_its_own_with_every_rule() {
        let catalogues = catalogues().unwrap();
        let files = files(&catalogues);
        assert_eq!(files.len(), catalogues.len() + 1);
        for catalogue in &catalogues {
            let page = &files[&format!("{}.md", catalogue.name())];
            assert!(files["README.md"].contains(&format!("| [{}]({}.md) |", catalogue.id, catalogue.name())));
            for rule in &catalogue.rules {
                assert!(page.contains(&format!("\n## {}\n", rule.id)), "{}", rule.id);
            }
        }
    }

    #[test]
    fn a_command_is_shown_as_it_is_and_what_cannot_be_seen_is_escaped() {
        assert_eq!(code("ls"), "`ls`");
        assert_eq!(code("kill `pidof x`"), "`` kill `pidof x` ``");
        assert_eq!(code("a\u{1b}b\u{202e}"), "`a\\u{1b}b\\u{202e}`");
    }
}
