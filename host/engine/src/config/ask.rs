//! `[[ask]]` of version 0.1, which `[[rule]]` has replaced. Nothing reads the table except to show the rule that replaces it.

use std::ops::Range;

use super::{
    Problem,
    place::Place,
    rule::on_rule,
    tree::{Node, Value},
};
use crate::contract::rule::RuleOn;

/// The rule that replaces an `[[ask]]` table. It asks about at least the same calls. Its words also mean commands that do the
/// same as the tools, and a table with both `tools` and `actions` becomes a rule about these tools.
pub(super) struct Replacement<'a> {
    node: &'a Node,
    id: String,
    on: Vec<String>,
    /// The key from which `on` was made.
    from: &'static str,
    question: String,
}

impl<'a> Replacement<'a> {
    /// Returns the replacements of these tables. Each has an id of its own.
    pub(super) fn of_all(nodes: &'a [Node]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for node in nodes {
            let mut one = Self::of(node);
            let same = all.iter().filter(|other| other.on == one.on).count();
            if same > 0 {
                one.id = format!("{}-{}", one.id, same + 1);
            }
            all.push(one);
        }
        all
    }

    fn of(node: &'a Node) -> Self {
        let (tools, actions) = (texts(node, "tools"), texts(node, "actions"));
        let is_about_tools = !tools.is_empty() && !tools.contains(&"*");
        let on: Vec<String> = match () {
            () if is_about_tools => tools.into_iter().map(pattern).collect(),
            () if actions.is_empty() => vec!["*".to_owned()],
            () => actions.into_iter().map(|action| word(action).to_owned()).collect(),
        };
        let usual = if is_about_tools { "May the tool {tool} run?" } else { "May this call run?" };
        let question = value(node, "question").and_then(text).unwrap_or(usual).to_owned();
        let from = if is_about_tools { "tools" } else { "actions" };
        Self { node, id: id(&on), on, from, question }
    }

    /// Returns the problem that the file has the table, with the rule to write instead.
    pub(super) fn problem(&self) -> Problem {
        let sentence =
            "`[[ask]]` is now `[[rule]]`: write the rule below, or run `hookhost update`, which changes your own file";
        let Self { id, question, .. } = self;
        let rule = format!("[[rule]]\nid = {}\non = {}\nask = {}", quoted(id), self.written_on(), quoted(question));
        Problem::new(&self.node.place, sentence).about("ask").followed_by(&rule)
    }

    /// Returns the ranges of the file to replace, each with its new text. Everything else stays, such as
    /// comments. Returns an empty list if the table has not the usual form.
    pub(super) fn edits(&self) -> Vec<(Range<usize>, String)> {
        let Place { file, range } = &self.node.place;
        let (Some(header), Value::Table(table)) = (file.text.get(range.start..), &self.node.value) else {
            return Vec::new();
        };
        let Some(end) = header.find("]]").filter(|_| header.starts_with("[[")) else { return Vec::new() };
        let on = format!("on = {}", self.written_on());
        let ask = format!("ask = {}", quoted(&self.question));
        let mut edits = vec![(range.start..range.start + end + 2, format!("[[rule]]\nid = {}", quoted(&self.id)))];
        for (key, node) in table.iter() {
            let whole = key.place.range.start..node.place.range.end;
            edits.push(match key.name.as_str() {
                "question" => (whole, ask.clone()),
                key if key == self.from => (whole, on.clone()),
                // The person sees what the rule was about.
                _ => (whole.clone(), commented(&file.text[whole])),
            });
        }
        for (key, line) in [(self.from, on), ("question", ask)] {
            if value(self.node, key).is_none() {
                edits[0].1.push_str(&format!("\n{line}"));
            }
        }
        edits
    }

    fn written_on(&self) -> String {
        match &self.on[..] {
            [one] => quoted(one),
            many => format!("[{}]", many.iter().map(|one| quoted(one)).collect::<Vec<_>>().join(", ")),
        }
    }
}

/// Returns the value of a key of the table.
fn value<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
    if let Value::Table(table) = &node.value { table.get(key) } else { None }
}

fn text(node: &Node) -> Option<&str> {
    if let Value::String(text) = &node.value { Some(text) } else { None }
}

/// Returns the strings in the array of a key.
fn texts<'a>(node: &'a Node, key: &str) -> Vec<&'a str> {
    let Some(Node { value: Value::Array(items), .. }) = value(node, key) else { return Vec::new() };
    items.iter().filter_map(text).collect()
}

/// Returns the word of a rule for an action. No word means the other calls, so the rule is then about every call.
fn word(action: &str) -> &'static str {
    match action {
        "shell" => "shell",
        "read-file" => "read",
        "write-files" => "write",
        "fetch" => "web",
        "mcp" => "mcp",
        "spawn-agent" => "spawn",
        _ => "*",
    }
}

/// Returns the pattern of a rule for the pattern of a tool's name. A name that a rule would not take as a tool's gets a `*`.
fn pattern(tool: &str) -> String {
    let on = RuleOn::from(tool);
    let is_tool = matches!(on, RuleOn::Tool(_)) && on_rule(&on).is_ok();
    if is_tool { tool.to_owned() } else { format!("{tool}*") }
}

/// Returns the id of a rule about these calls.
fn id(on: &[String]) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let words: String = format!("ask-{}", on.join("-")).chars().map(kept).take(60).collect();
    let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
    if words.len() == 1 { "ask-all".to_owned() } else { words.join("-") }
}

/// Returns a text as a TOML string. The escapes of JSON that occur here are the same in TOML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn commented(text: &str) -> String {
    format!("# {}", text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns a text with these edits, which do not overlap.
pub(super) fn edited(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    // An edit does not move what precedes it.
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut text = text.to_owned();
    edits.iter().for_each(|(range, new)| text.replace_range(range.clone(), new));
    text
}
