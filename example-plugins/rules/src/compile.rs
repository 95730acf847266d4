//! Compiles the rows of a configuration.

use crate::answer::Answer;
use crate::checks::Wrong;
use crate::conditions::Conditions;
use crate::names::Names;
use crate::shell::ShellMatcher;
use crate::{checks, examples, paths};
use call_paths::Patterns;
use hookhost_contract::rule::{LayeredRow, Mistake, RuleOn, RuleRow, RulesConfig};
use litemap::LiteMap;
use shell_guard_rules::arguments::Programs;
use shell_reader::lower;

/// The rows of a configuration.
#[derive(Debug)]
pub(crate) struct RuleSet {
    pub(crate) rows: Vec<CompiledRow>,
    pub(crate) programs: Programs,
    /// The numbers of the rows about commands of each program, by its name in lower case.
    pub(crate) by_program: LiteMap<String, Vec<u16>>,
    /// The numbers of the rows about commands of any program, or of programs with a name that ends with `*`.
    pub(crate) any_program: Vec<u16>,
    /// True if a row is about commands.
    pub(crate) has_shell: bool,
    /// True if a condition asks how often a call came.
    pub(crate) keeps_calls: bool,
}

/// A row, ready to be compared.
#[derive(Debug)]
pub(crate) struct CompiledRow {
    pub(crate) id: String,
    pub(crate) of_project: bool,
    pub(crate) observe: bool,
    /// True if a mode has given the row its answer.
    pub(crate) has_mode: bool,
    /// True if a condition counts how often the row matches.
    pub(crate) is_counted: bool,
    pub(crate) on: Vec<RuleOn>,
    pub(crate) shell: ShellMatcher,
    /// The patterns of paths, or `None` if every path matches.
    pub(crate) path: Option<Patterns>,
    pub(crate) url: Names,
    pub(crate) host: Names,
    pub(crate) server: Names,
    pub(crate) tool: Names,
    /// The patterns of tools in `on`.
    pub(crate) tools: Names,
    pub(crate) texts: Vec<String>,
    pub(crate) conditions: Conditions,
    /// The names in the row's texts that only a candidate can answer.
    pub(crate) facts: Vec<String>,
    pub(crate) answer: Answer,
    pub(crate) instead: Option<String>,
    /// Parts of a text that show that a command that cannot be read may be one that the row is about.
    hints: Vec<String>,
}

impl RuleSet {
    /// Compiles and checks all rows.
    ///
    /// # Errors
    /// Returns all mistakes, in the order of the rows.
    pub(crate) fn compile(config: &RulesConfig) -> Result<Self, Vec<Mistake>> {
        let mut mistakes = Vec::new();
        let mut rows = Vec::with_capacity(config.rule.len());
        for (at, LayeredRow { of_project, row }) in config.rule.iter().enumerate() {
            match CompiledRow::new(row, *of_project) {
                Ok(row) => rows.push(row),
                Err(wrong) => mistakes.extend(wrong.into_iter().map(|wrong| wrong.in_row(at))),
            }
        }
        let counted: Vec<String> = rows.iter().flat_map(|row| row.conditions.counted()).map(str::to_owned).collect();
        rows.iter_mut().for_each(|row| row.is_counted = counted.contains(&row.id));
        mistakes.extend(unknown_rules(config, &rows));
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let programs = Programs::embedded().map_err(|why| vec![Wrong::at("", why).in_row(0)])?;
        let set = Self::indexed(rows, programs);
        let mistakes = examples::mistakes(&set, &config.rule);
        examples::run_usual(&set);
        if mistakes.is_empty() { Ok(set) } else { Err(mistakes) }
    }

    fn indexed(rows: Vec<CompiledRow>, programs: Programs) -> Self {
        let keeps_calls = rows.iter().any(|row: &CompiledRow| row.conditions.ask_for("same_call"));
        let mut set =
            Self { rows, programs, by_program: LiteMap::new(), any_program: Vec::new(), has_shell: false, keeps_calls };
        for (at, row) in (0..).zip(&set.rows).filter(|(_, row)| row.on.contains(&RuleOn::Shell)) {
            set.has_shell = true;
            let names = || row.shell.programs.iter().map(|program| program.name.as_str());
            if row.shell.programs.is_empty() || names().any(|name| name.ends_with('*')) {
                set.any_program.push(at);
                continue;
            }
            for name in names() {
                let numbers = set.by_program.entry(lower(name).into_owned()).or_default();
                if numbers.last() != Some(&at) {
                    numbers.push(at);
                }
            }
        }
        set
    }
}

impl CompiledRow {
    fn new(row: &RuleRow, of_project: bool) -> Result<Self, Vec<Wrong>> {
        let mut wrong = checks::mistakes(row);
        let conditions = Conditions::compile(row).map_err(|mistakes| wrong.extend(mistakes)).ok();
        let answer = Answer::of(row);
        if answer.is_none() {
            wrong.push(Wrong::at("", "the row has no answer"));
        }
        let (Some(conditions), Some(answer), []) = (conditions, answer, &*wrong) else { return Err(wrong) };
        let tools = row.on.iter().filter_map(|on| if let RuleOn::Tool(pattern) = on { Some(pattern) } else { None });
        Ok(Self {
            id: row.id.clone(),
            of_project,
            observe: row.observe,
            has_mode: row.mode.is_some(),
            is_counted: false,
            on: row.on.to_vec(),
            shell: ShellMatcher::new(row),
            path: paths::patterns(row).map_err(|message| vec![Wrong::at("path", message)])?,
            url: Names::new(&*row.url),
            host: Names::new(&*row.host),
            server: Names::new(&*row.server),
            tool: Names::new(&*row.tool),
            tools: Names::new(tools),
            texts: row.text.to_vec(),
            conditions,
            facts: checks::facts_in_texts(row),
            answer,
            instead: row.instead.clone(),
            hints: hints(row),
        })
    }

    /// Returns true if only a part of the calls of a kind is what the row is about, and fixed parts of it are known.
    pub(crate) fn has_hints(&self) -> bool {
        !self.hints.is_empty()
    }

    /// Returns true if a text that cannot be read may be a command that the row is about.
    pub(crate) fn is_hinted_at(&self, text: &str) -> bool {
        let is_of_commands = self.on.contains(&RuleOn::Shell);
        match self.hints.as_slice() {
            [] => is_of_commands,
            hints => {
                hints.iter().any(|hint| if is_of_commands { has_word(text, hint) } else { text.contains(&**hint) })
            }
        }
    }
}

/// Returns the conditions that count a rule that does not exist.
fn unknown_rules(config: &RulesConfig, rows: &[CompiledRow]) -> Vec<Mistake> {
    // A project must not decide what a rule of the user counts.
    let is_known = |id: &str, row: &CompiledRow| {
        config.rule.iter().any(|other| other.row.id == id && (row.of_project || !other.of_project))
    };
    let mut mistakes = Vec::new();
    for row in rows {
        let at = config.rule.iter().position(|layered| layered.row.id == row.id).unwrap_or_default();
        for id in row.conditions.counted().filter(|id| !is_known(id, row)) {
            let message = format!("`{}` counts the rule `{id}`, which does not exist", row.id);
            mistakes.push(Wrong::at("", message).in_row(at));
        }
    }
    mistakes
}

/// Returns the fixed parts of the most telling matcher of a row.
fn hints(row: &RuleRow) -> Vec<String> {
    let program = |program: &String| program.split(' ').next().unwrap_or_default().to_owned();
    let matchers = [&row.path, &row.host, &row.url, &row.flags, &row.args];
    if !row.program.is_empty() {
        return row.program.iter().map(program).collect();
    }
    let fixed = |pattern: &String| {
        let pattern = if pattern.starts_with('!') { "" } else { pattern };
        pattern
            .split(['*', '?', '[', ']'])
            .max_by_key(|part| part.len())
            .unwrap_or_default()
            .trim_matches('/')
            .to_owned()
    };
    let hints = matchers.into_iter().find(|matcher| !matcher.is_empty()).into_iter().flat_map(|matcher| matcher.iter());
    hints.map(fixed).filter(|hint| !hint.is_empty()).collect()
}

/// Returns true if a text has a word, not as a part of a longer name. `*` at the end of the word stands for any ending.
fn has_word(text: &str, word: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let begin = word.trim_end_matches('*');
    text.match_indices(begin).any(|(at, _)| {
        let is_end = begin.len() < word.len() || !text[at + begin.len()..].starts_with(is_of_name);
        is_end && !text[..at].ends_with(is_of_name)
    })
}

#[cfg(test)]
mod tests {
    use super::has_word;

    #[test]
    fn a_word_is_no_part_of_a_longer_name() {
        for (text, word) in [("a;git x", "git"), ("git", "git"), ("mkfs.ext4 'x", "mkfs*"), ("(remove-x", "remove-*")] {
            assert!(has_word(text, word), "{text}");
        }
        for (text, word) in [("legit", "git"), ("github", "git"), ("git-x", "git"), ("", "git")] {
            assert!(!has_word(text, word), "{text}");
        }
    }
}
