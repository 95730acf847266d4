//! Rules in words, as a person or a model writes them, and the events that they judge.

use hookhost_contract::rule::{ExampleTable, LayeredRow, OneOrMany, RuleExample, RuleOn, RuleRow, RulesConfig};
use hookhost_guest::facts::Fact;
use hookhost_guest::prelude::*;
use hookhost_guest::testing;
use rules::RuleSet;

/// The words with which a line can begin: those of rules first.
const WORDS: [&str; 40] = [
    "rule", "on", "program", "flags", "args", "path", "url", "host", "server", "tool", "text", "when", "unless",
    "reject", "ask", "note", "remind", "change", "redact", "label", "instead", "observe", "stops", "passes", "example",
    "project", "shell", "write", "read", "delete", "fetch", "mcp", "call", "prompt", "result", "say", "done", "fact",
    "after", "within",
];

/// Reads lines, judges the events among them twice, and compares the outcomes with what always holds. A line begins with one of `WORDS`.
/// Any other word stands for one of these, so that each line means something.
pub fn rules(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut script = Script::default();
    text.lines().take(200).for_each(|line| script.add(line));
    let Some(rules) = script.compiled(&script.rows) else { return };
    let outcomes = script.outcomes(&rules);
    assert_eq!(outcomes, script.outcomes(&rules), "an event is judged the same twice");
    script.rows.iter().for_each(|layered| assert_rejects(&rules, &layered.row));
    let is_observed = |layered: &&LayeredRow| layered.row.observe;
    let names_others = |layered: &LayeredRow| {
        let row = format!("{layered:?}");
        !layered.row.after.is_empty() || row.contains("count(") || row.contains("since(")
    };
    if script.rows.iter().any(|layered| layered.row.observe) && !script.rows.iter().any(names_others) {
        let others: Vec<LayeredRow> = script.rows.iter().filter(|layered| !is_observed(layered)).cloned().collect();
        let others = script.compiled(&others).expect("a rule that is only observed is needed by no other");
        assert_eq!(
            effects(&outcomes),
            effects(&script.outcomes(&others)),
            "a rule that is only observed has an effect"
        );
    }
}

/// Rows, with events and the facts of each.
#[derive(Default)]
struct Script {
    rows: Vec<LayeredRow>,
    events: Vec<Event>,
    facts: Vec<(String, String)>,
}

enum Event {
    Call(ToolCall),
    Result(ToolCall, String),
    Prompt(String),
    Text(String),
    Done,
}

/// What an event leads to.
#[derive(Debug, PartialEq)]
struct Outcome {
    verdict: String,
    reminders: Vec<String>,
    labels: Vec<String>,
    findings: Vec<String>,
}

/// Returns the outcomes without what the log gets.
fn effects(outcomes: &[Outcome]) -> Vec<(&String, &Vec<String>, &Vec<String>)> {
    outcomes.iter().map(|outcome| (&outcome.verdict, &outcome.reminders, &outcome.labels)).collect()
}

impl Script {
    fn add(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let sum = word.bytes().fold(0, |sum: usize, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let word = WORDS.iter().find(|known| **known == word).unwrap_or(&WORDS[sum % WORDS.len()]);
        match *word {
            "rule" => {
                let row = RuleRow { id: format!("r{}", self.rows.len()), on: of_words(rest), ..RuleRow::default() };
                // As the host's limits, far below them.
                if self.rows.len() < 16 {
                    self.rows.push(LayeredRow { of_project: false, row: Box::new(row) });
                }
            }
            "shell" => self.events.push(Event::Call(shell(rest))),
            "write" => self.events.push(Event::Call(call("Write", rest, Action::WriteFiles(vec![rest.into()])))),
            "read" => self.events.push(Event::Call(call("Read", rest, Action::ReadFile(rest.into())))),
            "delete" => self.events.push(Event::Call(call("delete_file", rest, Action::WriteFiles(vec![rest.into()])))),
            "fetch" => self.events.push(Event::Call(fetch(rest))),
            "mcp" => self.events.push(Event::Call(mcp(rest))),
            "call" => {
                let (name, arguments) = rest.split_once(' ').unwrap_or((rest, ""));
                self.events.push(Event::Call(call(name, arguments, Action::Other(String::new()))));
            }
            "prompt" => self.events.push(Event::Prompt(rest.into())),
            "result" => self.events.push(Event::Result(mcp("server/tool"), rest.into())),
            "say" => self.events.push(Event::Text(rest.into())),
            "done" => self.events.push(Event::Done),
            "fact" => {
                let (name, value) = rest.split_once(' ').unwrap_or((rest, ""));
                self.facts.push((name.to_owned(), value.to_owned()));
            }
            key => {
                if let Some(LayeredRow { of_project, row }) = self.rows.last_mut() {
                    *of_project |= key == "project";
                    set(row, key, rest);
                }
            }
        }
    }

    /// Compiles rows. Returns `None` if one has a mistake.
    fn compiled(&self, rows: &[LayeredRow]) -> Option<RuleSet> {
        testing::prime(|_| {});
        let compiled = RuleSet::compile(RulesConfig { rule: rows.to_vec() });
        let mistakes = compiled.as_ref().err().into_iter().flatten();
        mistakes.for_each(|mistake| assert!(mistake.row < rows.len() && !mistake.message.is_empty(), "{mistake}"));
        compiled.ok()
    }

    fn outcomes(&self, rules: &RuleSet) -> Vec<Outcome> {
        testing::prime(|host| {
            for (name, value) in &self.facts {
                let fact = match (value.as_str(), value.parse()) {
                    ("unreadable", _) => Fact::Unreadable("it cannot be read".into()),
                    (_, Ok(number)) => Fact::Number(number),
                    _ => Fact::Text(value.clone()),
                };
                host.facts.insert(name.clone(), fact);
            }
        });
        self.events.iter().map(|event| judged(rules, event)).collect()
    }
}

/// Tests that the calls of a row's `stops` are rejected.
fn assert_rejects(rules: &RuleSet, row: &RuleRow) {
    if row.reject.is_none() || row.observe || !row.after.is_empty() || row.when.is_some() || row.unless.is_some() {
        return;
    }
    testing::prime(|_| {});
    for example in &row.stops {
        let RuleExample::Text(text) = example else { continue };
        let Some(on) = row.on.first() else { continue };
        let event = match on {
            RuleOn::Shell => Event::Call(shell(text)),
            RuleOn::Write => Event::Call(call("Write", text, Action::WriteFiles(vec![text.clone()]))),
            RuleOn::Read => Event::Call(call("Read", text, Action::ReadFile(text.clone()))),
            RuleOn::Web => Event::Call(fetch(text)),
            RuleOn::Mcp => Event::Call(mcp(text)),
            RuleOn::Prompt => Event::Prompt(text.clone()),
            RuleOn::Text => Event::Text(text.clone()),
            _ => continue,
        };
        let Outcome { verdict, .. } = judged(rules, &event);
        assert!(verdict.contains("Verdict::Reject("), "`{}` lets its own example `{text}` pass: {verdict}", row.id);
    }
}

/// Sets a key of a row.
fn set(row: &mut RuleRow, key: &str, value: &str) {
    let text = || Some(value.to_owned());
    let example = || match serde_json::from_str::<ExampleTable>(value) {
        Ok(table) => RuleExample::Table(Box::new(table)),
        Err(_) => RuleExample::Text(value.to_owned()),
    };
    match key {
        "on" => row.on = of_words(value),
        "program" => row.program.0.push(value.into()),
        "flags" => row.flags.0.push(value.into()),
        "args" => row.args.0.push(value.into()),
        "path" => row.path.0.push(value.into()),
        "url" => row.url.0.push(value.into()),
        "host" => row.host.0.push(value.into()),
        "server" => row.server.0.push(value.into()),
        "tool" => row.tool.0.push(value.into()),
        "text" => row.text.0.push(value.into()),
        "after" => row.after.0.push(value.into()),
        "within" => row.within = text(),
        "when" => row.when = text(),
        "unless" => row.unless = text(),
        "reject" => row.reject = text(),
        "ask" => row.ask = text(),
        "note" => row.note = text(),
        "remind" => row.remind = text(),
        "change" => row.change = serde_json::from_str(value).ok(),
        "redact" => row.redact = text(),
        "label" => row.label = text(),
        "instead" => row.instead = text(),
        "observe" => row.observe = true,
        "stops" => row.stops.push(example()),
        "passes" | "example" => row.passes.push(example()),
        _ => {}
    }
}

fn of_words(words: &str) -> OneOrMany<RuleOn> {
    OneOrMany(words.split_whitespace().map(RuleOn::from).collect())
}

fn judged(rules: &RuleSet, event: &Event) -> Outcome {
    let session = testing::session();
    let verdict = match event {
        Event::Call(call) => format!("{:?}", rules.verdict(&session, call)),
        Event::Result(call, text) => {
            let result = ToolResult { text: text.clone(), raw: None, is_error: false };
            format!("{:?}", rules.result_verdict(&session, call, &result))
        }
        Event::Prompt(text) => format!("{:?}", rules.text_verdict(&session, &RuleOn::Prompt, text)),
        Event::Text(text) => format!("{:?}", rules.text_verdict(&session, &RuleOn::Text, text)),
        Event::Done => format!("{:?}", rules.completion_verdict(&session, &testing::completion("done"))),
    };
    testing::inspect(|host| Outcome {
        verdict,
        reminders: host.reminders.drain(..).map(|reminder| reminder.body).collect(),
        labels: host.labels.keys().cloned().collect(),
        findings: host.findings.drain(..).map(|finding| format!("{finding:?}")).collect(),
    })
}

fn call(name: &str, argument: &str, action: Action) -> ToolCall {
    let arguments = serde_json::from_str(argument).unwrap_or_else(|_| json!({ "path": argument }));
    testing::call(name, arguments, action)
}

fn fetch(url: &str) -> ToolCall {
    testing::call("WebFetch", json!({ "url": url }), Action::Fetch(url.into()))
}

fn shell(command: &str) -> ToolCall {
    let shell = ShellCommand { command: command.into(), cwd: "/work/project".into(), dialect: ShellDialect::Posix };
    testing::call("Bash", json!({ "command": command }), Action::Shell(shell))
}

/// Returns the call of a tool that is named as an example names it: `server/tool`, and perhaps its arguments.
fn mcp(text: &str) -> ToolCall {
    let (name, arguments) =
        text.split_once(" {").map_or((text, "{}".to_owned()), |(name, rest)| (name, format!("{{{rest}")));
    let (server, tool) = name.split_once('/').map_or((None, name), |(server, tool)| (Some(server.to_owned()), tool));
    let name = format!("mcp__{}__{tool}", server.as_deref().unwrap_or("server"));
    call(&name, &arguments, Action::Mcp(McpTool { server, tool: tool.into() }))
}
