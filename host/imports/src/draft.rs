//! A row that is being made, with its answer and its examples.

use crate::import::{Import, Imported, Written};
use crate::proposal::Proposal;
use hookhost_contract::action::is_known_tool;
use hookhost_contract::rule::{ExampleTable, MAX_EXAMPLES, MAX_TEXT, OneOrMany, RuleExample, RuleOn, RuleRow};

/// Stands for any text in an example. It is a word that no other rule names, so that an example is about its own rule.
pub(crate) const ANY: &str = "any";

/// The reason why a rule that allows has no row.
pub(crate) const ALLOWS: &str = "a rule of hookhost allows nothing; the agent goes on applying its own rule";

/// A row without an answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) row: RuleRow,
    pub(crate) differences: Vec<String>,
    /// Number of `passes` at the beginning of the list that the rule itself names.
    pub(crate) own_passes: usize,
}

/// The answer of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Reject,
    Ask,
    Remind,
}

/// What the rules of an agent answer.
#[derive(Clone, Debug)]
pub(crate) struct Decision<'a> {
    pub(crate) answer: Answer,
    /// The reason that the rule gives.
    pub(crate) reason: Option<&'a str>,
}

/// The agent whose rules are imported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    /// The first part of ids.
    pub(crate) name: &'static str,
    /// The name for people.
    pub(crate) title: &'static str,
}

impl Draft {
    /// Makes a row about these subjects.
    pub(crate) fn about(on: impl IntoIterator<Item = RuleOn>) -> Self {
        Self { row: RuleRow { on: OneOrMany(on.into_iter().collect()), ..RuleRow::default() }, ..Self::default() }
    }

    /// Makes a row about calls of the tools with these names. The name of a tool that hookhost does not know becomes a pattern, because a
    /// row with an unknown word would not load.
    pub(crate) fn about_tools<'a>(tools: impl IntoIterator<Item = &'a str>) -> Self {
        let mut differs = false;
        let mut named = |tool: &str| {
            let is_word = is_known_tool(tool) || tool.contains(['*', '?', '[']);
            differs |= !is_word;
            RuleOn::Tool(if is_word { tool.to_owned() } else { format!("{tool}*") })
        };
        let mut draft = Self::about(tools.into_iter().map(&mut named).collect::<Vec<_>>());
        if differs {
            draft.differs("stricter: it stops every tool whose name begins so");
        }
        draft
    }

    /// Makes a row about a server of MCP, and about one of its tools if a name is given.
    pub(crate) fn about_mcp(server: Option<&str>, tool: Option<&str>) -> Self {
        let [server, tool] = [server, tool].map(|name| name.filter(|name| *name != "*"));
        let mut draft = Self::about([RuleOn::Mcp]);
        draft.row.server = list(server);
        draft.row.tool = list(tool);
        if server.is_some() || tool.is_some() {
            let (server, tool) =
                (server.map_or_else(|| ANY.to_owned(), sample), tool.map_or_else(|| ANY.to_owned(), sample));
            draft.stops([format!("{server}/{tool}")]);
            draft.passes([format!("{server}/another"), format!("another/{tool}"), "another/thing".to_owned()]);
        }
        draft
    }

    /// Makes a row about requests to a host.
    pub(crate) fn about_host(host: &str) -> Self {
        let mut draft = Self::about([RuleOn::Web]);
        if host != "*" {
            draft.row.host = list(Some(host));
            let name = sample(host);
            draft.stops([format!("https://{name}/")]);
            draft.row.stops.push(command(format!("curl https://{name}/a")));
            draft.passes(["https://another.example/".to_owned()]);
        }
        draft.differs("stricter: it also stops commands such as `curl` that send a request there");
        draft
    }

    pub(crate) fn differs(&mut self, difference: impl Into<String>) {
        let difference = difference.into();
        if !self.differences.contains(&difference) {
            self.differences.push(difference);
        }
    }

    pub(crate) fn stops(&mut self, texts: impl IntoIterator<Item = String>) {
        self.row.stops.extend(texts.into_iter().map(RuleExample::Text).take(MAX_EXAMPLES));
    }

    pub(crate) fn passes(&mut self, texts: impl IntoIterator<Item = String>) {
        self.row.passes.extend(texts.into_iter().map(RuleExample::Text).take(MAX_EXAMPLES));
    }

    /// Adds the row of a rule to an import.
    pub(crate) fn add_to(
        mut self,
        import: &mut Import,
        source: Source,
        name: &str,
        decision: &Decision<'_>,
        written: Written,
    ) {
        let text = decision.reason.map(plain).filter(|reason| !reason.is_empty());
        let subject = subject(&self.row);
        let reject = || format!("{subject} is denied by the rules of {}", source.title);
        let answer = match decision.answer {
            Answer::Reject => &mut self.row.reject,
            Answer::Ask => &mut self.row.ask,
            Answer::Remind => &mut self.row.remind,
        };
        *answer = Some(text.unwrap_or_else(|| match decision.answer {
            Answer::Reject => reject(),
            Answer::Ask => question(&self.row.on, subject),
            Answer::Remind => format!("the rules of {} warn about {subject}", source.title),
        }));
        let comments = std::iter::once(written.to_string()).chain(self.differences.iter().cloned()).collect();
        if import.remember(&self.row) {
            self.row.id = import.id(source.name, name);
            let Self { row, differences, own_passes } = self;
            import.rows.push(Imported { proposal: Proposal { row, comments }, written, differences, own_passes });
        }
    }
}

/// Returns an example of a row about files or the web that is a command.
pub(crate) fn command(command: String) -> RuleExample {
    RuleExample::Table(Box::new(ExampleTable { command: Some(command), ..ExampleTable::default() }))
}

/// Returns a list of at most one value.
pub(crate) fn list(value: Option<&str>) -> OneOrMany<String> {
    OneOrMany(value.map(str::to_owned).into_iter().collect())
}

/// Returns a text that a glob matches.
pub(crate) fn sample(glob: &str) -> String {
    let (mut text, mut rest) = (String::new(), glob);
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        match c {
            '*' => {
                let stars = rest.len() - rest.trim_start_matches('*').len();
                length = stars;
                text.push_str(ANY);
            }
            '?' => text.push('a'),
            '[' => {
                let end = rest.find(']').unwrap_or(0);
                let class = rest.get(1..end).unwrap_or_default();
                text.push(class.chars().next().filter(|c| *c != '!').unwrap_or('a'));
                length = end + 1;
            }
            other => text.push(other),
        }
        rest = &rest[length..];
    }
    text
}

/// Returns a text of a person without braces, which would name a value of the call.
fn plain(text: &str) -> String {
    let mut text = text.trim().replace('{', "(").replace('}', ")");
    text.truncate(text.floor_char_boundary(MAX_TEXT));
    text
}

/// Returns the call as the texts of a row name it.
fn subject(row: &RuleRow) -> &'static str {
    match row.on.first() {
        Some(RuleOn::Shell) => "{program}",
        Some(RuleOn::Read | RuleOn::Write | RuleOn::Delete) => "{path}",
        Some(RuleOn::Web) => "{host}",
        Some(RuleOn::Prompt) => "this prompt",
        _ => "{tool}",
    }
}

fn question(on: &[RuleOn], subject: &str) -> String {
    match on.first() {
        Some(RuleOn::Shell) => format!("Run {subject}?"),
        Some(RuleOn::Read) => format!("Read {subject}?"),
        Some(RuleOn::Write | RuleOn::Delete) => format!("Change {subject}?"),
        Some(RuleOn::Web) => format!("Send a request to {subject}?"),
        Some(RuleOn::Mcp) => format!("Call {subject} of {{server}}?"),
        _ => format!("Call {subject}?"),
    }
}

#[cfg(test)]
mod tests {
    use super::{plain, sample};

    #[test]
    fn a_sample_is_a_text_that_the_glob_matches() {
        for (glob, text) in
            [("a*b", "aanyb"), ("**/x", "any/x"), ("[bc]?", "ba"), ("[!b]", "a"), ("x[", "xa"), ("x", "x")]
        {
            assert_eq!(sample(glob), text, "{glob}");
        }
    }

    #[test]
    fn a_reason_names_no_value() {
        assert_eq!(plain(" use {path} "), "use (path)");
    }
}
