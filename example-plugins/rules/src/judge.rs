//! Finds the rows that match a call or a text. Nothing here has an effect.

use crate::compile::{CompiledRow, RuleSet};
use crate::hosts::Request;
use crate::shell::Miss;
use crate::{paths, web};
use call_paths::{CommandLine, ReadCall, Touched};
use hookhost_contract::rule::RuleOn;
use hookhost_guest::prelude::*;
use shell_reader::{Command, is_known_program, leave, lower};
use std::cell::OnceCell;
use std::collections::BTreeSet;

/// What a row found, for its text and for the reason of an example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) path: Option<String>,
    pub(crate) command: Option<String>,
    pub(crate) program: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) server: Option<String>,
    pub(crate) tool: Option<String>,
    /// The last key that holds, and the part of the call or text for which it holds.
    pub(crate) held: Option<(&'static str, String)>,
    /// The reason why the call could not be read. The row then asks.
    pub(crate) unreadable: Option<String>,
}

impl Found {
    /// Returns the value of a name in a text.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let value = match name {
            "path" => &self.path,
            "command" => &self.command,
            "program" => &self.program,
            "url" => &self.url,
            "host" => &self.host,
            "server" => &self.server,
            "tool" => &self.tool,
            _ => &None,
        };
        value.as_deref()
    }

    fn held(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.held = Some((key, value.into()));
        self
    }
}

/// A row that matches.
#[derive(Debug)]
pub(crate) struct Hit<'a> {
    pub(crate) row: &'a CompiledRow,
    pub(crate) found: Found,
}

/// A text of the user, the model or a tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spoken<'a> {
    pub(crate) on: &'a RuleOn,
    pub(crate) text: &'a str,
    /// The call whose result the text is.
    pub(crate) call: Option<&'a ToolCall>,
}

/// A call, with everything that several rows need.
struct Subject<'a> {
    rules: &'a RuleSet,
    session: &'a Session,
    call: &'a ToolCall,
    read: ReadCall<'a>,
    touched: [OnceCell<Touched>; 3],
    requests: OnceCell<Vec<Request>>,
}

impl RuleSet {
    /// Returns the rows that match a call, in the order of the file. Only rows for which `is_asked` is true are compared.
    pub(crate) fn hits(&self, session: &Session, call: &ToolCall, is_asked: &dyn Fn(usize) -> bool) -> Vec<Hit<'_>> {
        let read = ReadCall::new(session, call);
        let subject =
            Subject { rules: self, session, call, read, touched: Default::default(), requests: OnceCell::new() };
        let mut found: Vec<(usize, Found)> = subject.commands(is_asked);
        for (at, row) in self.rows.iter().enumerate().filter(|(at, _)| is_asked(*at)) {
            let is_known = found.iter().any(|(other, _)| *other == at);
            let hit = (!is_known).then(|| row.on.iter().find_map(|on| subject.matching(row, on))).flatten();
            let hit = hit.or_else(|| (!is_known).then(|| subject.unreadable(row)).flatten());
            found.extend(hit.map(|found| (at, found)));
        }
        leave(subject);
        found.sort_by_key(|(at, _)| *at);
        let hits = found.into_iter().map(|(at, found)| Hit { row: &self.rows[at], found });
        hits.filter(|hit| hit.row.conditions.hold()).collect()
    }

    /// Returns the rows that match a text, in the order of the file.
    pub(crate) fn hits_of_text(&self, spoken: Spoken<'_>, is_asked: &dyn Fn(usize) -> bool) -> Vec<Hit<'_>> {
        let rows = self.rows.iter().enumerate().filter(|(at, row)| is_asked(*at) && row.on.contains(spoken.on));
        let hits = rows.filter_map(|(_, row)| Some(Hit { row, found: row.matching_text(spoken)? }));
        hits.filter(|hit| hit.row.conditions.hold()).collect()
    }

    /// Returns the numbers of the rows that may match a command, by its program.
    fn rows_about<'a>(&'a self, command: &Command) -> impl Iterator<Item = usize> + use<'a> {
        let named = self.by_program.get(&*lower(&command.program)).map_or(&[][..], Vec::as_slice);
        named.iter().chain(&self.any_program).map(|at| usize::from(*at))
    }

    /// Returns the first key of a row that does not hold for the command that comes closest to it, and that command.
    pub(crate) fn miss(&self, row: &CompiledRow, session: &Session, call: &ToolCall) -> Option<(Miss, String)> {
        let read = ReadCall::new(session, call);
        let misses = read.lines.iter().flat_map(CommandLine::commands).filter_map(|command| {
            let miss = row.shell.fits(command, &self.programs.arguments(command)).err()?;
            let words = command.args.iter().take(1).map(|word| word.text.as_str());
            let shown: Vec<&str> = std::iter::once(command.program.as_str()).chain(words).collect();
            Some((miss, shown.join(" ")))
        });
        misses.max_by_key(|(miss, _)| *miss)
    }
}

impl CompiledRow {
    /// Compares a text with the row.
    fn matching_text(&self, spoken: Spoken<'_>) -> Option<Found> {
        let found = spoken.call.map_or_else(|| Some(Found::default()), |call| self.matching_names(call))?;
        self.matching_part(spoken.text, found)
    }

    /// Compares the parts of a text with `text`.
    fn matching_part(&self, text: &str, found: Found) -> Option<Found> {
        if self.texts.is_empty() {
            return Some(found);
        }
        let part = self.texts.iter().find(|part| text.contains(part.as_str()))?;
        Some(found.held("text", part))
    }

    /// Compares the names of a call's tool and server with `tool` and `server`.
    fn matching_names(&self, call: &ToolCall) -> Option<Found> {
        let mcp = call.action.mcp();
        let server = mcp.and_then(|mcp| mcp.server.clone());
        let tool = mcp.map_or(&call.name, |mcp| &mcp.tool);
        let mut found = Found { server, tool: Some(tool.clone()), ..Found::default() };
        let server: Vec<&str> = found.server.as_deref().into_iter().collect();
        if !self.server.match_any(&server) || !self.tool.match_any(&[tool]) {
            return None;
        }
        if !self.server.is_empty() {
            found = found.clone().held("server", found.server.unwrap_or_default());
        }
        Some(if self.tool.is_empty() { found } else { found.held("tool", tool) })
    }
}

impl Subject<'_> {
    /// Returns the rows about commands that match, each with its first command.
    fn commands(&self, is_asked: &dyn Fn(usize) -> bool) -> Vec<(usize, Found)> {
        let mut found: Vec<(usize, Found)> = Vec::new();
        let mut seen = BTreeSet::new();
        let lines = self.read.lines.iter().filter(|_| self.rules.has_shell);
        for (line, command) in lines.flat_map(|line| line.commands().map(move |command| (line, command))) {
            let mut arguments = None;
            for at in
                self.rules.rows_about(command).filter(|at| is_asked(*at) && !seen.contains(at)).collect::<Vec<_>>()
            {
                let row = &self.rules.rows[at];
                // A text that is perhaps not a command runs the programs that the rows or the reader know.
                if !line.is_certain && row.shell.programs.is_empty() && !is_known_program(&command.program) {
                    continue;
                }
                let certain = arguments.get_or_insert_with(|| self.rules.programs.arguments(command));
                let held = row.shell.fits(command, certain).or_else(|miss| {
                    let likely = self.rules.programs.likely_arguments(command, certain).ok_or(miss)?;
                    row.shell.fits(command, &likely)
                });
                if let Ok(held) = held {
                    let command = Some(line.text.clone());
                    let of_row = Found { command, program: Some(held.program), ..Found::default() };
                    seen.insert(at);
                    found.push((at, of_row.held(held.key, held.value)));
                }
            }
            leave(arguments);
        }
        found
    }

    /// Compares the call with a row for one of its subjects other than commands.
    fn matching(&self, row: &CompiledRow, on: &RuleOn) -> Option<Found> {
        match on {
            // A command without a simple command, such as `> file`, is a command all the same.
            RuleOn::Shell => {
                let is_any = row.shell.fits_all() && matches!(self.call.action, Action::Shell(_));
                is_any.then(|| self.with_command(Found::default()))
            }
            RuleOn::Write | RuleOn::Read | RuleOn::Delete => self.path(row, on),
            RuleOn::Web => self.request(row),
            RuleOn::Mcp => self.call.action.mcp().and_then(|_| row.matching_names(self.call)),
            RuleOn::Tool(_) => {
                let is_named = row.tools.match_any(&[&self.call.name]);
                let found = is_named.then(|| row.matching_names(self.call)).flatten()?;
                Some(Found { tool: Some(self.call.name.clone()), ..found })
            }
            RuleOn::Spawn => match &self.call.action {
                Action::SpawnAgent(task) => row.matching_part(task, Found::default()),
                Action::Other(kind) if kind == "spawn-agent" => {
                    row.matching_part(&self.call.arguments, Found::default())
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the text of the command, for the texts of rows.
    fn with_command(&self, found: Found) -> Found {
        Found { command: self.read.lines.first().map(|line| line.text.clone()), ..found }
    }

    fn path(&self, row: &CompiledRow, on: &RuleOn) -> Option<Found> {
        let touch = paths::touch(on)?;
        let found = row.matching_names(self.call)?;
        let touched = self.touched[touch as usize].get_or_init(|| self.read.touched(touch));
        let (path, pattern) = paths::matching(row.path.as_ref(), touched, &self.session.workspace)?;
        let found = self.with_command(Found { path: Some(path.to_owned()), ..found });
        Some(if pattern.is_empty() { found } else { found.held("path", pattern) })
    }

    fn request(&self, row: &CompiledRow) -> Option<Found> {
        let found = row.matching_names(self.call)?;
        let requests = self.requests.get_or_init(|| web::requests(&self.read, self.call, &self.rules.programs));
        let request = web::matching(&row.url, &row.host, requests)?;
        let (url, host) = (request.urls.last().cloned(), request.hosts.last().cloned());
        let held = if row.host.is_empty() { ("url", url.clone()) } else { ("host", host.clone()) };
        let found = self.with_command(Found { url, host, ..found });
        let has_matchers = !row.host.is_empty() || !row.url.is_empty();
        Some(if has_matchers { found.held(held.0, held.1.unwrap_or_else(|| "unknown".to_owned())) } else { found })
    }

    /// Returns a question of a row whose answer stops calls, if a part of the call cannot be read and names what the row is about.
    fn unreadable(&self, row: &CompiledRow) -> Option<Found> {
        if !row.answer.stops() || !row.tool.is_empty() {
            return None;
        }
        let mut texts = self.read.lines.iter().filter(|line| line.is_certain);
        let of_line = texts.find_map(|line| {
            let why = line.unreadable()?;
            row.is_hinted_at(&line.text).then(|| format!("the command cannot be read: {why}"))
        });
        let of_call = || {
            let kind = match &self.call.action {
                _ if self.read.has_too_many => "shell",
                Action::Other(kind) => kind,
                _ => return None,
            };
            let is_hinted_at = !row.has_hints() || row.is_hinted_at(&self.call.arguments);
            let is_about = is_hinted_at && row.on.iter().any(|on| is_kind(on, kind));
            is_about.then(|| "the arguments of the call cannot be read".to_owned())
        };
        let why = of_line.or_else(of_call)?;
        Some(self.with_command(Found { unreadable: Some(why), ..Found::default() }))
    }
}

/// Returns true if the host's word for a call that it cannot read means a call that rows about `on` judge.
fn is_kind(on: &RuleOn, kind: &str) -> bool {
    match on {
        RuleOn::Shell => kind == "shell",
        RuleOn::Write | RuleOn::Delete => matches!(kind, "shell" | "write-files"),
        RuleOn::Read => matches!(kind, "shell" | "read-file"),
        RuleOn::Web => matches!(kind, "shell" | "fetch"),
        RuleOn::Mcp => kind == "mcp",
        _ => false,
    }
}
