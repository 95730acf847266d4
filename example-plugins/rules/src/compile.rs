//! Compiles the rows of a configuration.

use crate::answer::Answer;
use crate::checks::Wrong;
use crate::conditions::Conditions;
use crate::names::Names;
use crate::paths::RowPattern;
use crate::shell::ShellMatcher;
use crate::{checks, examples, paths};
use call_paths::Patterns;
use hookhost_conditions::vocabulary;
use hookhost_contract::rule::{
    LayeredRow, MAX_PROJECT_ROWS, MAX_USER_ROWS, Mistake, RuleOn, RuleRow, RulesConfig, is_label,
};
use litemap::LiteMap;
use shell_guard_rules::arguments::Programs;
use shell_reader::lower;

/// The rows of a configuration.
#[derive(Debug)]
pub struct RuleSet {
    #[expect(
        clippy::vec_box,
        reason = "each row takes the memory of the row of the configuration, which is freed then"
    )]
    pub(crate) rows: Vec<Box<CompiledRow>>,
    pub(crate) programs: Programs,
    /// The numbers of the rows about commands of each program, by its name in lower case and the first word of the subcommand, which is
    /// empty if there is none.
    pub(crate) by_program: LiteMap<String, LiteMap<String, Vec<u16>>>,
    /// The numbers of the rows about commands of any program, or of programs with a name that ends with `*`.
    pub(crate) any_program: Vec<u16>,
    /// The numbers of the rows about calls of tools by their names.
    pub(crate) of_tools: Vec<u16>,
    /// The patterns of the rows about files, by the way of touching them, in the order of [`paths::TOUCHES`].
    pub(crate) of_files: [Vec<RowPattern>; paths::TOUCHES.len()],
    /// The numbers of the rows with each word, in the order of [`RuleOn::WORDS`].
    by_word: [Vec<u16>; RuleOn::WORDS.len()],
    /// True if a row is one of a project.
    pub(crate) has_project: bool,
    /// True if a condition asks how often a call came.
    pub(crate) keeps_calls: bool,
    /// The numbers of the rows that give the session a label about which conditions ask.
    pub(crate) labelling: Vec<u16>,
    /// True if a condition asks which files the calls of the run have written.
    pub(crate) keeps_files: bool,
}

/// Rows in boxes: each takes the memory of a row of the configuration, which is freed then.
type Rows = Vec<Box<CompiledRow>>;

/// A row, ready to be compared.
#[derive(Debug)]
pub(crate) struct CompiledRow {
    pub(crate) id: String,
    pub(crate) of_project: bool,
    pub(crate) observe: bool,
    /// True if a condition asks when the row last matched.
    pub(crate) is_remembered: bool,
    /// True if a mode has given the row its answer.
    pub(crate) has_mode: bool,
    /// True if a condition asks how often the row matched.
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
    pub fn compile(config: RulesConfig) -> Result<Self, Vec<Mistake>> {
        if config.rule.len() > MAX_USER_ROWS + MAX_PROJECT_ROWS {
            let message = format!("there are {} rules, and at most {MAX_USER_ROWS} are possible", config.rule.len());
            return Err(vec![Wrong::at("", message).in_row(MAX_USER_ROWS)]);
        }
        let mut mistakes = Vec::new();
        let mut rows = Vec::with_capacity(config.rule.len());
        // The rows that are checked again below. The compiled rows take the memory of the others.
        let mut checked = Vec::new();
        for (at, layered) in (0..).zip(config.rule) {
            match CompiledRow::new(&layered.row, layered.of_project) {
                Ok(row) => rows.push(Box::new(row)),
                Err(wrong) => mistakes.extend(wrong.into_iter().map(|wrong| wrong.in_row(at.into()))),
            }
            if layered.row.has_conditions() || layered.row.has_examples() {
                checked.push((at, layered));
            }
        }
        let owned = |(function, id): (&str, &str)| (function == "count", id.to_owned());
        let past: Vec<(bool, String)> = rows.iter().flat_map(|row| row.conditions.past()).map(owned).collect();
        for (is_counted, id) in past {
            if let Some(row) = rows.iter_mut().find(|row| row.id == id) {
                row.is_remembered = true;
                row.is_counted |= is_counted;
            }
        }
        // A name of a row with a mistake is not among the compiled rows.
        if mistakes.is_empty() {
            mistakes = unknown_names(&checked, &rows);
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let programs = Programs::embedded().map_err(|why| vec![Wrong::at("", why).in_row(0)])?;
        let set = Self::indexed(rows, programs);
        let mistakes = examples::mistakes(&set, &checked);
        if mistakes.is_empty() { Ok(set) } else { Err(mistakes) }
    }

    fn indexed(rows: Rows, programs: Programs) -> Self {
        let ask_for = |name: &str| rows.iter().any(|row| row.conditions.ask_for(name));
        let has_project = rows.iter().any(|row| row.of_project);
        let keeps_calls = ask_for("same_call");
        let keeps_files = ask_for("written_by_agent") || ask_for("created_by_agent");
        let asked = |label: &str| rows.iter().any(|row| row.conditions.ask_about(label));
        let is_labelling = |row: &CompiledRow| !row.observe && row.answer.label().is_some_and(asked);
        let labelling = (0..).zip(&rows).filter(|(_, row)| is_labelling(row)).map(|(at, _)| at).collect();
        let (any_program, of_tools) = (Vec::new(), Vec::new());
        let (by_program, of_files, by_word) = (LiteMap::new(), Default::default(), std::array::from_fn(|_| Vec::new()));
        let mut set = Self {
            rows,
            programs,
            by_program,
            any_program,
            of_tools,
            of_files,
            by_word,
            has_project,
            keeps_calls,
            labelling,
            keeps_files,
        };
        for (at, row) in (0..).zip(&set.rows) {
            for on in &row.on {
                let numbers = word(on).map_or(&mut set.of_tools, |word| &mut set.by_word[word]);
                if numbers.last() != Some(&at) {
                    numbers.push(at);
                }
                if let Some(touch) = paths::touch(on) {
                    set.of_files[touch].extend(RowPattern::of(at, row.path.as_ref()));
                }
            }
            if !row.on.contains(&RuleOn::Shell) {
                continue;
            }
            let programs = &row.shell.programs;
            if programs.is_empty() || programs.iter().any(|program| program.name.ends_with('*')) {
                set.any_program.push(at);
                continue;
            }
            for program in programs {
                let of_program = set.by_program.entry(lower(&program.name).into_owned()).or_default();
                let numbers = of_program.entry(program.first_word().to_owned()).or_default();
                if numbers.last() != Some(&at) {
                    numbers.push(at);
                }
            }
        }
        set
    }

    pub(crate) fn row(&self, at: u16) -> &CompiledRow {
        &self.rows[usize::from(at)]
    }

    /// Returns the numbers of the rows with a word.
    pub(crate) fn rows_on(&self, on: &RuleOn) -> &[u16] {
        word(on).map_or(&[], |word| &self.by_word[word])
    }
}

/// Returns the number of a word, which is `None` for the pattern of a tool.
fn word(on: &RuleOn) -> Option<usize> {
    RuleOn::WORDS.iter().position(|(_, word)| word == on)
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
            is_remembered: false,
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

    /// Returns true if a text that cannot be read may be about the row. Without fixed parts, any text may be.
    pub(crate) fn is_hinted_at(&self, text: &str) -> bool {
        let is_of_commands = self.on.contains(&RuleOn::Shell);
        let is_in = |hint: &String| if is_of_commands { has_word(text, hint) } else { text.contains(&**hint) };
        self.hints.is_empty() || self.hints.iter().any(is_in)
    }
}

/// Returns the names of `after`, `since`, `count` and `has` that no rule and no label has. A rule of the user can only follow rules of the user:
/// elsewhere, those of a project do not exist.
fn unknown_names(checked: &[(u16, LayeredRow)], rows: &[Box<CompiledRow>]) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    for (at, LayeredRow { row: written, .. }) in checked {
        let Some(row) = rows.iter().find(|row| row.id == written.id) else { continue };
        let known = || rows.iter().filter(|other| row.of_project || !other.of_project);
        let ids = || known().map(|other| other.id.as_str());
        let others = || ids().filter(|id| *id != row.id);
        let labels = || known().filter_map(|other| other.answer.label());
        for (function, name) in row.conditions.past() {
            // A plugin may add a label such as `read:secret`. Any other name that no row has is a misspelt one.
            let may_be_label = || labels().any(|label| label == name) || (name.contains(':') && is_label(name));
            let is_rule = function != "has" && ids().any(|id| id == name);
            if is_rule || (function != "count" && may_be_label()) {
                continue;
            }
            let (what, meant) = match function {
                "count" => ("no rule", vocabulary::nearest(name, others())),
                "has" => ("no label", vocabulary::nearest(name, labels())),
                _ => ("neither a rule nor a label", vocabulary::nearest(name, others().chain(labels()))),
            };
            let hint = meant.map_or_else(String::new, |meant| format!(": did you mean `{meant}`?"));
            let is_named = |written: &String| written.strip_prefix('!').unwrap_or(written) == name;
            let of_after = || written.after.iter().position(is_named).map(|place| (format!("after.{place}"), None));
            let of_conditions =
                [("when", &written.when), ("unless", &written.unless)].into_iter().find_map(|(key, text)| {
                    let begin = text.as_ref()?.find(&format!("(\"{name}\""))? + 2;
                    Some((key.to_owned(), Some(begin..begin + name.len())))
                });
            let (key, part) = of_conditions.or_else(of_after).unwrap_or_default();
            let message = format!("`{}` asks about `{name}`, which is {what}{hint}", row.id);
            mistakes.push(Wrong { key, part, message }.in_row((*at).into()));
        }
    }
    mistakes
}

/// Returns the fixed parts of the most telling matcher of a row. Returns none if one of its values has no fixed part, or if it has only
/// exceptions.
fn hints(row: &RuleRow) -> Vec<String> {
    let program = |program: &String| program.split(' ').next().unwrap_or_default().to_owned();
    let matchers = [&row.path, &row.host, &row.url, &row.flags, &row.args];
    if !row.program.is_empty() {
        return row.program.iter().map(program).collect();
    }
    let fixed = |pattern: &String| {
        pattern
            .split(['*', '?', '[', ']'])
            .max_by_key(|part| part.len())
            .unwrap_or_default()
            .trim_matches('/')
            .to_owned()
    };
    let values =
        matchers.into_iter().find(|matcher| !matcher.is_empty()).into_iter().flat_map(|matcher| matcher.iter());
    let hints: Vec<String> = values.filter(|value| !value.starts_with('!')).map(fixed).collect();
    if hints.iter().any(String::is_empty) { Vec::new() } else { hints }
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
