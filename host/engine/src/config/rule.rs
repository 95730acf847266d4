//! `[[rule]]`: rules in words, which the plugin `rules` judges.

use super::{
    Layer, Origin, Problem,
    decode::decode,
    entry_rules::name_rule,
    names,
    place::Place,
    tree::{Node, Value, join},
};
use crate::contract::action::is_known_tool;
use crate::contract::rule::{AnswerKey, MAX_EXAMPLES, MAX_PATTERN, MAX_TEXT, Mistake, RuleExample, RuleOn, RuleRow};

/// One rule in words.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Rule {
    /// The content of the table. If a mode changes the answer, this is the answer that applies.
    pub row: RuleRow,
    /// File and line of the rule.
    pub origin: Origin,
    /// The table with the positions of its keys.
    node: Node,
    /// The content before a mode has changed the answer.
    pub(super) written: Option<Box<RuleRow>>,
}

impl Rule {
    /// Reads a table, and checks everything that can be checked without the plugin.
    pub(super) fn read(node: &Node, origin: Origin, problems: &mut Vec<Problem>) -> Option<Self> {
        let before = problems.len();
        let row: RuleRow = decode("rule", node, problems)?;
        // What else is wrong may follow from a misspelt key.
        if problems.len() > before {
            return None;
        }
        let rule = Self { row, origin, node: node.clone(), written: None };
        for (path, why) in mistakes(&rule.row, rule.origin.layer) {
            // An index in a list is shown by the position alone.
            let key = join("rule", path.split('.').next().unwrap_or_default());
            let place = &node.nearest_to(&keys(&path)).place;
            problems.push(Problem::new(place, format!("`{}`: {why}", key.trim_end_matches('.'))).about(&key));
        }
        // The plugin reads the conditions only of rules without another mistake.
        if problems.len() > before {
            problems.extend(condition_mistakes(&rule.row).iter().map(|mistake| rule.problem_of(mistake)));
        }
        (problems.len() == before).then_some(rule)
    }

    /// Returns the content of the table as the file has it.
    #[must_use]
    pub fn written(&self) -> &RuleRow {
        self.written.as_deref().unwrap_or(&self.row)
    }

    /// Returns the mistake that the plugin has found in this rule, with its position in the file.
    pub(super) fn problem_of(&self, mistake: &Mistake) -> Problem {
        let node = self.node.nearest_to(&keys(&mistake.key));
        let place = match (&mistake.part, &node.value) {
            (Some(part), Value::String(text)) => node.place.part(text, part),
            _ => node.place.clone(),
        };
        Problem::new(&place, &mistake.message).about(&join("rule", &mistake.key))
    }

    /// Returns the bytes of the file from the head of the table to the end of its last value.
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        self.node.place.range.start..self.node.end()
    }

    /// Returns true if the rule is in a file of a project.
    pub(super) fn is_of_project(&self) -> bool {
        self.origin.layer == Layer::Project
    }

    /// Returns the position of the value of a key.
    pub(super) fn place(&self, key: &str) -> Place {
        self.node.nearest_to(&[key]).place.clone()
    }

    /// Returns the problem that a rule at `earlier` has the same id.
    pub(super) fn repeats(&self, earlier: &Self) -> Problem {
        let id = &self.row.id;
        let message =
            format!("the id `{id}` is taken: the rule at {} has it, and no rule overrides another", earlier.origin);
        Problem::new(&self.place("id"), message).about("rule.id")
    }

    /// Returns the problem that the files of a layer have too many rules, of which this is the first.
    pub(super) fn is_too_many(&self, most: usize) -> Problem {
        let message = format!("there are more than {most} rules in these files: merge rules that have the same answer");
        Problem::new(&self.node.place, message).about("rule")
    }
}

fn keys(path: &str) -> Vec<&str> {
    path.split('.').filter(|key| !key.is_empty()).collect()
}

/// Returns the mistakes in a row: the key, and the sentence after it.
fn mistakes(row: &RuleRow, layer: Layer) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut find = |key: &str, why: String| found.push((key.to_owned(), why));
    if let Err(why) = name_rule(&row.id) {
        find("id", why);
    }
    if row.on.is_empty() {
        find("on", "the list is empty: name what the rule is about, such as `shell`".to_owned());
    }
    for (at, on) in row.on.iter().enumerate() {
        if let Err(why) = on_rule(on, row) {
            find(&format!("on.{at}"), why);
        }
    }
    // A wrong word is not reported again for each key that does not fit it.
    let of_words = || row.on.iter().filter(|on| on_rule(on, row).is_ok());
    for (key, _) in row.matchers() {
        if let Some(on) = of_words().find(|on| !on.matchers().contains(&key)) {
            find(key, unfit(key, on, on.matchers()));
        }
    }
    if row.within.is_some() && row.after.is_empty() {
        find("within", "it is the time that `after` looks at: name in `after` what has to occur".to_owned());
    }
    answer_rules(row, layer, &mut find);
    if row.mode.is_some() && layer == Layer::Project {
        find("mode", "a rule in a project's file has no mode, because modes are the user's: take it out".to_owned());
    }
    if row.instead.is_some() && row.reject.is_none() && row.ask.is_none() {
        find("instead", "only `reject` and `ask` stop something, so only they can say what to do instead".to_owned());
    }
    example_rules(row, &mut find);
    length_rules(row, &mut find);
    found
}

/// Returns the mistakes in the conditions of a row.
#[cfg(feature = "config-file")]
fn condition_mistakes(row: &RuleRow) -> Vec<Mistake> {
    let conditions = [("when", &row.when), ("unless", &row.unless)].into_iter();
    let texts = conditions.filter_map(|(key, text)| Some((key, text.as_ref().filter(|text| text.len() <= MAX_TEXT)?)));
    let wrong = texts.filter_map(|(key, text)| Some((key, hookhost_conditions::Condition::compile(text).err()?)));
    let mistake = |key: &str, error: hookhost_conditions::ConditionError| Mistake {
        row: 0,
        key: key.to_owned(),
        part: Some(error.range.clone()),
        message: error.to_string(),
    };
    wrong.flat_map(|(key, errors)| errors.into_iter().map(move |error| mistake(key, error))).collect()
}

/// Without configuration files, there are no rules.
#[cfg(not(feature = "config-file"))]
fn condition_mistakes(_row: &RuleRow) -> Vec<Mistake> {
    Vec::new()
}

/// Checks that a row has one answer, which fits what the row is about and whose file it is in.
fn answer_rules(row: &RuleRow, layer: Layer, find: &mut impl FnMut(&str, String)) {
    let answers = row.answers();
    let Some(first) = answers.first() else {
        let known: Vec<String> = AnswerKey::ALL.iter().map(|answer| format!("`{}`", answer.name())).collect();
        return find("", format!("the rule has no answer: give it one of {}", known.join(", ")));
    };
    if let Some(second) = answers.get(1) {
        find(second.name(), format!("a rule has one answer, and this one has `{}` too: write two rules", first.name()));
    }
    for answer in answers.iter().copied() {
        let name = answer.name();
        if let Some(on) = row.on.iter().find(|on| !on.answers().contains(&answer)) {
            find(name, unfit(name, on, &on.answers().iter().map(|answer| answer.name()).collect::<Vec<_>>()));
        }
        if layer == Layer::Project && !matches!(answer, AnswerKey::Reject | AnswerKey::Ask | AnswerKey::Note) {
            find(
                name,
                "a rule in a project's file can only `reject`, `ask` or `note`: write it in your own file".to_owned(),
            );
        }
    }
    if row.change.as_ref().is_some_and(serde_json::Map::is_empty) {
        find("change", "the table is empty: name an argument and its new value".to_owned());
    }
    if row.redact.is_some() && row.text.is_empty() {
        find("redact", "`text` is missing: it says what is replaced".to_owned());
    }
}

fn example_rules(row: &RuleRow, find: &mut impl FnMut(&str, String)) {
    for (key, examples, missing) in [
        ("stops", &row.stops, "give an example that the rule stops: it is tried when the rule loads"),
        ("passes", &row.passes, "give an example, similar to those of `stops`, that the rule lets pass"),
    ] {
        if row.needs_examples() && examples.is_empty() {
            find(key, missing.to_owned());
        }
        if examples.len() > MAX_EXAMPLES {
            find(
                key,
                format!("a rule has at most {MAX_EXAMPLES} examples of a kind, and these are {}", examples.len()),
            );
        }
        for (at, example) in examples.iter().enumerate() {
            let length = match example {
                RuleExample::Text(text) => text.len(),
                RuleExample::Table(table) => serde_json::to_string(table).map_or(0, |json| json.len()),
            };
            if length > MAX_TEXT {
                find(&format!("{key}.{at}"), too_long("an example", length, MAX_TEXT));
            }
        }
    }
}

fn length_rules(row: &RuleRow, find: &mut impl FnMut(&str, String)) {
    let RuleRow { reject, ask, note, remind, redact, label, instead, when, unless, within, .. } = row;
    let texts = [
        ("reject", reject),
        ("ask", ask),
        ("note", note),
        ("remind", remind),
        ("redact", redact),
        ("label", label),
        ("instead", instead),
        ("when", when),
        ("unless", unless),
        ("within", within),
    ];
    for (key, text) in texts.iter().filter_map(|(key, text)| Some((key, text.as_ref()?))) {
        if text.trim().is_empty() && *key != "redact" {
            find(key, "the text is empty: write one sentence".to_owned());
        }
        if text.len() > MAX_TEXT {
            find(key, too_long("a text", text.len(), MAX_TEXT));
        }
    }
    for (key, values) in row.matchers().chain([("after", &row.after)]) {
        for (at, value) in values.iter().enumerate() {
            let key = format!("{key}.{at}");
            if value.is_empty() {
                find(&key, "the text is empty: take it out, or write what the rule is about".to_owned());
            }
            if value.len() > MAX_PATTERN {
                find(&key, too_long("a pattern", value.len(), MAX_PATTERN));
            }
        }
    }
}

fn too_long(what: &str, length: usize, most: usize) -> String {
    format!("{what} has at most {most} bytes, and this one has {length}")
}

fn unfit(key: &str, on: &RuleOn, known: &[&str]) -> String {
    let advice = match known {
        [] => "leave it out".to_owned(),
        known => format!("known there: `{}`", known.join("`, `")),
    };
    format!("`on = \"{}\"` has no `{key}`: {advice}", on.name())
}

/// Checks that a word names something. A misspelt word would otherwise be the name of a tool that does not exist.
fn on_rule(on: &RuleOn, row: &RuleRow) -> Result<(), String> {
    let RuleOn::Tool(tool) = on else { return Ok(()) };
    let of_commands = row.matchers().find(|(key, _)| RuleOn::Shell.matchers().contains(key));
    if let Some((key, _)) = of_commands.filter(|_| !row.on.contains(&RuleOn::Shell)) {
        return Err(format!("`{tool}` is a tool, and `{key}` is about commands: did you mean `shell`?"));
    }
    let words: Vec<&str> = RuleOn::WORDS.iter().map(|(word, _)| *word).collect();
    if tool.contains(['*', '?', '[']) || tool.starts_with("mcp__") || is_known_tool(tool) {
        return Ok(());
    }
    let nearest = names::nearest(tool, words.iter().copied());
    let advice = names::advice(nearest, &words, "words");
    Err(format!(
        "`{tool}` is neither a word nor a tool of a known agent: {advice}; for another tool, write a pattern such as `{tool}*`"
    ))
}
