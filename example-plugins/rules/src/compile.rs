//! Compiles the rows of a configuration.

use crate::answer::Answer;
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
}

/// A row, ready to be compared.
#[derive(Debug)]
pub(crate) struct CompiledRow {
    pub(crate) id: String,
    pub(crate) of_project: bool,
    pub(crate) observe: bool,
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
    pub(crate) fn compile(config: RulesConfig) -> Result<Self, Vec<Mistake>> {
        let mut mistakes = Vec::new();
        let mut rows = Vec::with_capacity(config.rule.len());
        for (at, LayeredRow { of_project, row }) in config.rule.iter().enumerate() {
            let wrong = checks::mistakes(row);
            let compiled = if wrong.is_empty() { CompiledRow::new(row, *of_project) } else { Err(wrong) };
            match compiled {
                Ok(row) => rows.push(row),
                Err(wrong) => mistakes.extend(wrong.into_iter().map(|wrong| Mistake {
                    row: at,
                    key: wrong.key,
                    part: wrong.part,
                    message: wrong.message,
                })),
            }
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let whole = |message| vec![Mistake { row: 0, key: String::new(), part: None, message }];
        let set = Self::indexed(rows, Programs::embedded().map_err(whole)?);
        let mistakes = examples::mistakes(&set, &config.rule);
        if mistakes.is_empty() { Ok(set) } else { Err(mistakes) }
    }

    fn indexed(rows: Vec<CompiledRow>, programs: Programs) -> Self {
        let mut set = Self { rows, programs, by_program: LiteMap::new(), any_program: Vec::new(), has_shell: false };
        for (at, row) in (0..).zip(&set.rows).filter(|(_, row)| row.on.contains(&RuleOn::Shell)) {
            set.has_shell = true;
            let names = || row.shell.programs.iter().map(|program| program.name.as_str());
            if row.shell.programs.is_empty() || names().any(|name| name.ends_with('*')) {
                set.any_program.push(at);
                continue;
            }
            for name in names() {
                let numbers = set.by_program.entry(lower(name).into_owned()).or_insert_with(Vec::new);
                if numbers.last() != Some(&at) {
                    numbers.push(at);
                }
            }
        }
        set
    }
}

impl CompiledRow {
    fn new(row: &RuleRow, of_project: bool) -> Result<Self, Vec<checks::Wrong>> {
        let conditions = Conditions::compile(row).map_err(|wrong| {
            wrong.into_iter().map(|(key, message)| checks::Wrong::at(key, message)).collect::<Vec<_>>()
        });
        let path = paths::patterns(row).map_err(|message| vec![checks::Wrong::at("path", message)]);
        let answer = Answer::of(row).ok_or_else(|| vec![checks::Wrong::at("", "the row has no answer".to_owned())]);
        let tools = row.on.iter().filter_map(|on| if let RuleOn::Tool(pattern) = on { Some(pattern) } else { None });
        Ok(Self {
            id: row.id.clone(),
            of_project,
            observe: row.observe,
            on: row.on.to_vec(),
            shell: ShellMatcher::new(row),
            path: path?,
            url: Names::new(&*row.url),
            host: Names::new(&*row.host),
            server: Names::new(&*row.server),
            tool: Names::new(&*row.tool),
            tools: Names::new(tools),
            texts: row.text.to_vec(),
            conditions: conditions?,
            answer: answer?,
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

/// Returns the fixed parts of the most telling matcher of a row.
fn hints(row: &RuleRow) -> Vec<String> {
    let program = |program: &String| program.split(' ').next().unwrap_or_default().trim_end_matches('*').to_owned();
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

/// Returns true if a text has a word, not as a part of a longer name.
fn has_word(text: &str, word: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_of_name) && !text[at + word.len()..].starts_with(is_of_name))
}
