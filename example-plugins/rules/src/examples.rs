//! Checks the examples of rows, with the same matching as for events.
//!
//! An example is a call of Claude Code in a session in [`WORKSPACE`], or a text.

use crate::answer::Answer;
use crate::compile::{CompiledRow, RuleSet};
use crate::judge::{Asked, Hit, Spoken};
use crate::shell::Miss;
use crate::world::{OfExample, World};
use hookhost_contract::rule::{ExampleTable, LayeredRow, Mistake, RuleExample, RuleOn};
use hookhost_guest::prelude::*;
use serde_json::{Map, Value};

/// The directory of examples, and their workspace.
const WORKSPACE: &str = "/work/project";

/// An example, as rows compare it.
enum Example {
    Call(Box<ToolCall>),
    Text(RuleOn, String, Option<Box<ToolCall>>),
}

/// Returns the examples that are not as their rows say, and the rows that an earlier row makes superfluous. `written` are the rows with
/// examples, in order.
pub(crate) fn mistakes(rules: &RuleSet, written: &[(u16, LayeredRow)]) -> Vec<Mistake> {
    // The rows that can make a later row superfluous: those of the user, and those of projects.
    let mut rejecting = [Vec::new(), Vec::new()];
    let mut mistakes = Vec::new();
    let mut written = written.iter().peekable();
    for (at, row) in (0..).zip(&rules.rows) {
        let earlier = &mut rejecting[usize::from(row.of_project)];
        if let Some((_, layered)) = written.next_if(|(written, _)| *written == at) {
            mistakes.extend(Row { rules, at, layered }.mistakes(earlier));
        }
        if matches!(row.answer, Answer::Reject(_)) && !row.observe && !row.has_mode && !row.conditions.any() {
            earlier.push(at);
        }
    }
    mistakes
}

/// A command that contains each kind of common syntax.
const USUAL: &str = "cd src && cargo test --workspace 2>&1 | grep -n \"$X\" > 'out.log'; git commit -m \"$(date)\"";

/// Judges a usual command. This first run sets up the parser and the allocator, and every event then starts with their memory.
pub(crate) fn run_usual(rules: &RuleSet) {
    let table = ExampleTable { command: Some(USUAL.to_owned()), ..ExampleTable::default() };
    let session = session(&table);
    if let Ok(call) = call_of(&RuleOn::Shell, &table, &session) {
        rules.hits(&OfExample::new(&table), &session, &call, Asked::All);
    }
}

/// A row with its examples.
struct Row<'a> {
    rules: &'a RuleSet,
    at: u16,
    layered: &'a LayeredRow,
}

impl<'a> Row<'a> {
    fn compiled(&self) -> &'a CompiledRow {
        self.rules.row(self.at)
    }

    /// Returns the mistakes of a row. `earlier` are the rows that may make it superfluous.
    fn mistakes(&self, earlier: &[u16]) -> Vec<Mistake> {
        let row = &self.layered.row;
        // The answers of a mode are those of a time, and the row has another effect at other times.
        let may_be_shadowed = self.compiled().answer.stops() && !self.compiled().has_mode && !row.stops.is_empty();
        // The earlier rows that reject each of `stops` so far.
        let mut shadowing = if may_be_shadowed { earlier.to_vec() } else { Vec::new() };
        let stops = row.stops.iter().enumerate().map(|(at, example)| (format!("stops.{at}"), example, true));
        let passes = row.passes.iter().enumerate().map(|(at, example)| (format!("passes.{at}"), example, false));
        let mut mistakes: Vec<Mistake> = Vec::new();
        for (key, example, is_stopped) in stops.chain(passes) {
            let mut nobody = Vec::new();
            let others = if is_stopped { &mut shadowing } else { &mut nobody };
            let message = self.mistake(example, is_stopped, others);
            mistakes.extend(message.map(|message| Mistake { row: self.at.into(), key, part: None, message }));
        }
        if let ([], Some(other)) = (&*mistakes, shadowing.first()) {
            let message = format!(
                "`{}` has no effect, because `{}` before it already rejects each of its `stops`: remove one of the rules, or add an \
                 example that only this rule stops",
                row.id,
                self.rules.row(*other).id
            );
            mistakes.push(Mistake { row: self.at.into(), key: String::new(), part: None, message });
        }
        mistakes
    }

    /// Returns the reason why an example is not as it should be. Of `others`, leaves those that match it, too.
    fn mistake(&self, example: &RuleExample, is_stopped: bool, others: &mut Vec<u16>) -> Option<String> {
        let id = &self.layered.row.id;
        let (table, session, example) = match self.read(example) {
            Ok(read) => read,
            Err(why) => return Some(why),
        };
        let asks_for = |name: &String| {
            let name = name.strip_prefix('!').unwrap_or(name);
            self.compiled().conditions.past().any(|asked| asked == ("since", name))
        };
        if let Some(name) = table.after.iter().find(|name| !asks_for(name)) {
            let name = name.trim_start_matches('!');
            return Some(format!("this example says something about `{name}`, which `{id}` does not ask about"));
        }
        let mut asked = std::mem::take(others);
        asked.push(self.at);
        let hits = self.hits(&OfExample::new(&table), &session, &example, Asked::Only(&asked));
        let hit_of = |at: u16| hits.iter().find(|hit| std::ptr::eq(hit.row, self.rules.row(at)));
        let hit = hit_of(self.at);
        others.extend(asked.iter().copied().filter(|at| *at != self.at && hit_of(*at).is_some()));
        if let Some(why) = hit.and_then(|hit| hit.found.unreadable.as_ref()) {
            return Some(format!("this example of `{id}` is no example, because {why}"));
        }
        match (hit, is_stopped) {
            (None, true) => {
                Some(format!("`{id}` does not stop this example: {}", self.missed(&table, &session, &example)))
            }
            (Some(hit), false) => Some(format!("`{id}` stops this example: {}", held(hit))),
            _ => None,
        }
    }

    fn hits(&self, world: &dyn World, session: &Session, example: &Example, asked: Asked<'_>) -> Vec<Hit<'a>> {
        match example {
            Example::Call(call) => self.rules.hits(world, session, call, asked),
            Example::Text(on, text, call) => {
                let call = call.as_deref();
                self.rules.hits_of_text(Spoken { world, session, on, text, call, failed: false }, asked)
            }
        }
    }

    /// Makes the call or text of an example.
    fn read(&self, example: &RuleExample) -> Result<(ExampleTable, Session, Example), String> {
        let on = self.layered.row.on.first().cloned().unwrap_or(RuleOn::Shell);
        let table = match example {
            RuleExample::Text(text) => of_text(&on, text),
            RuleExample::Table(table) => ExampleTable::clone(table),
        };
        let session = session(&table);
        let example = match (&on, &table.text) {
            (RuleOn::Spawn, Some(text)) => {
                Example::Call(Box::new(call("Task", &Value::Null, Action::SpawnAgent(text.clone()))))
            }
            (RuleOn::Prompt | RuleOn::Text | RuleOn::Result | RuleOn::Session | RuleOn::TaskComplete, text) => {
                let is_of_call = table.tool.is_some() || table.command.is_some();
                let call = is_of_call.then(|| call_of(&on, &table, &session)).transpose()?;
                Example::Text(on, text.clone().unwrap_or_default(), call.map(Box::new))
            }
            _ => Example::Call(Box::new(call_of(&on, &table, &session)?)),
        };
        Ok((table, session, example))
    }

    /// Says which key of the row does not hold for an example.
    fn missed(&self, table: &ExampleTable, session: &Session, example: &Example) -> String {
        let world = OfExample::new(table);
        self.hits(&world, session, example, Asked::Only(&[self.at]));
        if let Some(why) = world.why_not() {
            return why;
        }
        let list = |values: &[String]| values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
        let row = &self.layered.row;
        let read = match example {
            Example::Call(call) => shown(call),
            Example::Text(_, text, None) => format!("the text `{text}`"),
            Example::Text(_, text, Some(call)) => format!("the text `{text}` of {}", shown(call)),
        };
        let (true, Example::Call(call)) = (row.on.contains(&RuleOn::Shell), example) else {
            let keys = row.matchers().map(|(key, values)| format!(", and `{key}` is {}", list(values)));
            return format!("it is read as {read}{}", keys.collect::<String>());
        };
        match self.rules.miss(self.compiled(), session, call) {
            Some((Miss::Program, command)) => format!("it runs `{command}`, and `program` is {}", list(&row.program)),
            Some((Miss::Flags, command)) => format!("it runs `{command}` without one of {}", list(&row.flags)),
            Some((Miss::Args, command)) => format!("it runs `{command}` without an argument like {}", list(&row.args)),
            None => format!("it is read as {read}"),
        }
    }
}

/// Returns the session of an example.
fn session(table: &ExampleTable) -> Session {
    Session {
        id: "example".into(),
        agent: "claude-code".into(),
        turn: 1,
        depth: 0,
        cwd: table.cwd.clone().unwrap_or_else(|| WORKSPACE.to_owned()),
        workspace: WORKSPACE.into(),
        interactive: true,
    }
}

/// Says what an example in one string is, depending on what its row is about.
fn of_text(on: &RuleOn, text: &str) -> ExampleTable {
    let given = Some(text.to_owned());
    match on {
        RuleOn::Shell => ExampleTable { command: given, ..ExampleTable::default() },
        RuleOn::Write | RuleOn::Read | RuleOn::Delete => ExampleTable { path: given, ..ExampleTable::default() },
        RuleOn::Web => ExampleTable { url: given, ..ExampleTable::default() },
        RuleOn::Mcp => {
            let (server, tool) = text.split_once('/').map_or((None, text), |(server, tool)| (Some(server), tool));
            ExampleTable { server: server.map(str::to_owned), tool: Some(tool.to_owned()), ..ExampleTable::default() }
        }
        RuleOn::Tool(_) => ExampleTable { tool: given, ..ExampleTable::default() },
        _ => ExampleTable { text: given, ..ExampleTable::default() },
    }
}

/// Makes the call of an example.
fn call_of(on: &RuleOn, table: &ExampleTable, session: &Session) -> Result<ToolCall, String> {
    let ExampleTable { command, path, url, server, tool, arguments, text, .. } = table;
    let mut arguments = arguments.clone().unwrap_or_default();
    if let Some(text) = text.as_ref().filter(|_| *on != RuleOn::Result) {
        arguments.insert("content".to_owned(), json!(text));
    }
    if let Some(command) = command {
        let shell = ShellCommand { command: command.clone(), cwd: session.cwd.clone(), dialect: ShellDialect::Posix };
        return Ok(call("Bash", &json!({ "command": command }), Action::Shell(shell)));
    }
    if let Some(url) = url {
        return Ok(call(
            tool.as_deref().unwrap_or("WebFetch"),
            &with(&arguments, "url", url),
            Action::Fetch(url.clone()),
        ));
    }
    if let Some(path) = path {
        let (usual, action) = match on {
            RuleOn::Read => ("Read", Action::ReadFile(path.clone())),
            RuleOn::Delete => ("delete_file", Action::WriteFiles(vec![path.clone()])),
            _ => ("Write", Action::WriteFiles(vec![path.clone()])),
        };
        return Ok(call(tool.as_deref().unwrap_or(usual), &with(&arguments, "file_path", path), action));
    }
    let tool =
        tool.as_ref().ok_or("the example names no call: give it a `command`, `path`, `url`, `tool` or `text`")?;
    if server.is_some() || *on == RuleOn::Mcp {
        let name = format!("mcp__{}__{tool}", server.as_deref().unwrap_or("server"));
        return Ok(call(
            &name,
            &Value::Object(arguments),
            Action::Mcp(McpTool { server: server.clone(), tool: tool.clone() }),
        ));
    }
    // Which argument is a file or a command is found by its name, as for any unknown tool.
    Ok(call(tool, &Value::Object(arguments), Action::Other(String::new())))
}

/// Returns arguments with one more.
fn with(arguments: &Map<String, Value>, key: &str, value: &str) -> Value {
    let mut arguments = arguments.clone();
    arguments.insert(key.to_owned(), json!(value));
    Value::Object(arguments)
}

fn call(name: &str, arguments: &Value, action: Action) -> ToolCall {
    ToolCall {
        id: "example".into(),
        name: name.to_owned(),
        arguments: arguments.to_string(),
        action,
        origin: ToolOrigin::Builtin,
    }
}

/// Says what a call does.
fn shown(call: &ToolCall) -> String {
    match &call.action {
        Action::Shell(shell) => format!("the command `{}`", shell.command),
        Action::ReadFile(path) => format!("a call that reads `{path}`"),
        Action::WriteFiles(paths) => format!("a call that writes `{}`", paths.join("`, `")),
        Action::Fetch(url) => format!("a request to `{url}`"),
        Action::Mcp(mcp) => {
            let server = mcp.server.as_deref().unwrap_or("unknown");
            format!("a call of the tool `{}` of the server `{server}`", mcp.tool)
        }
        Action::SpawnAgent(_) => "the start of a sub-agent".to_owned(),
        Action::Other(_) => format!("a call of the tool `{}`", call.name),
    }
}

/// Says why a row matches.
fn held(hit: &Hit<'_>) -> String {
    match &hit.found.held {
        Some(("flags", flag)) => format!("`{flag}` is one of its `flags`"),
        Some(("args", operand)) => format!("`{operand}` matches its `args`"),
        Some(("program", program)) => format!("it runs `{program}`"),
        Some(("path", pattern)) => {
            format!("`{}` matches `{pattern}`", hit.found.path.as_deref().unwrap_or_default())
        }
        Some((key @ ("host" | "server" | "tool" | "url"), value)) => format!("the {key} is `{value}`"),
        Some((_, part)) => format!("it has `{part}`"),
        None => "the rule has no key that leaves it out".to_owned(),
    }
}
