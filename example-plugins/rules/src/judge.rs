//! Finds the rows that match a call or a text. Nothing here has an effect.

use crate::candidate::Candidate;
use crate::compile::{CompiledRow, RuleSet};
use crate::paths::{Files, MatchedFile};
use crate::shell::{Held, Miss, has_flag, joined, place, started_by};
use crate::world::World;
use crate::{paths, status, web};
use call_paths::{CommandLine, ReadCall, arguments};
use hookhost_conditions::url::Address;
use hookhost_conditions::{Fact, Facts as _, Value};
use hookhost_contract::rule::RuleOn;
use hookhost_guest::prelude::*;
use litemap::LiteMap;
use shell_guard_rules::arguments::Arguments;
use shell_reader::{Command, is_known_program, leave, lower};
use std::cell::OnceCell;
use std::ops::Range;

/// What a row found, for its text and for the reason of an example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// The file as texts and conditions show it: from the workspace, or absolute. If that is unknown, as the call spells it.
    pub(crate) path: Option<String>,
    /// The file as the call spells it, for a change of the call.
    pub(crate) spelt: Option<String>,
    /// The absolute form of `path`, if it is known.
    pub(crate) absolute: Option<String>,
    /// The simple command, or the whole command line if the row is about something else.
    pub(crate) command: Option<String>,
    pub(crate) program: Option<String>,
    /// The place of the simple command in the call's command line, if the line contains it literally.
    pub(crate) place: Option<Range<usize>>,
    pub(crate) url: Option<String>,
    pub(crate) host: Option<String>,
    /// True if programs read the address differently, or a part of it is unknown.
    pub(crate) is_unclear: bool,
    pub(crate) server: Option<String>,
    pub(crate) tool: Option<String>,
    /// The last key that holds, and the part of the call or text for which it holds.
    pub(crate) held: Option<(&'static str, String)>,
    /// The reason why the call could not be read. The row then asks.
    pub(crate) unreadable: Option<String>,
    /// The values of further names in the row's texts.
    pub(crate) facts: Vec<(String, String)>,
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
            _ => {
                let fact = self.facts.iter().find(|(fact, _)| fact == name);
                return fact.map(|(_, value)| value.as_str());
            }
        };
        value.as_deref()
    }

    /// Returns the same with the file as the call spells it.
    pub(crate) fn as_spelt(&self) -> Self {
        Self { path: self.spelt.clone(), ..self.clone() }
    }

    /// Adds a simple command of a line.
    fn of(mut self, line: &CommandLine, command: &Command) -> Self {
        self.place = place(command);
        let written = self.place.clone().and_then(|place| line.text.get(place));
        self.command = Some(written.map_or_else(|| joined(command), str::to_owned));
        self
    }

    fn held(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.held = Some((key, value.into()));
        self
    }
}

/// The rows that are compared with a call or a text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked<'a> {
    All,
    /// The rows of projects, or those of the user.
    Layer {
        of_project: bool,
    },
    /// The rows with these numbers, in ascending order.
    Only(&'a [u16]),
}

impl Asked<'_> {
    fn has(self, rules: &RuleSet, row: u16) -> bool {
        match self {
            Self::All => true,
            Self::Layer { of_project } => rules.row(row).of_project == of_project,
            Self::Only(rows) => rows.binary_search(&row).is_ok(),
        }
    }
}

/// A row that matches.
#[derive(Debug)]
pub(crate) struct Hit<'a> {
    pub(crate) row: &'a CompiledRow,
    pub(crate) found: Found,
}

/// A text of the user, the model or a tool.
#[derive(Clone, Copy)]
pub(crate) struct Spoken<'a> {
    pub(crate) world: &'a dyn World,
    pub(crate) session: &'a Session,
    pub(crate) on: &'a RuleOn,
    pub(crate) text: &'a str,
    /// The call whose result the text is.
    pub(crate) call: Option<&'a ToolCall>,
    /// True if the result is an error.
    pub(crate) failed: bool,
}

/// A call, with everything that several rows need.
pub(crate) struct Subject<'a> {
    world: &'a dyn World,
    pub(crate) rules: &'a RuleSet,
    session: &'a Session,
    call: &'a ToolCall,
    read: ReadCall<'a>,
    /// The scripts and modules that the commands start, each as a command, with the numbers of its line and command.
    started: Vec<(usize, usize, Command)>,
    /// The labels that rows give the session because of this call.
    pub(crate) labels: Vec<&'a str>,
    /// The result, if the call has run.
    result: Option<Spoken<'a>>,
    files: [OnceCell<Files>; 3],
    requests: OnceCell<Vec<Address>>,
    text: OnceCell<String>,
}

impl RuleSet {
    /// Returns the rows that match. Those of projects are compared only if no row of the user rejects: otherwise they could use up the time
    /// that the rows of the user need.
    fn by_layer<'a>(&'a self, asked: Asked<'_>, matching: impl Fn(Asked<'_>) -> Vec<Hit<'a>>) -> Vec<Hit<'a>> {
        if !self.has_project || !matches!(asked, Asked::All) {
            return matching(asked);
        }
        let mut hits = matching(Asked::Layer { of_project: false });
        if !hits.iter().any(Hit::rejects) {
            hits.extend(matching(Asked::Layer { of_project: true }));
        }
        hits
    }

    /// Returns the rows that match a call: those of the user in the order of the file, then those of projects.
    pub(crate) fn hits(&self, world: &dyn World, session: &Session, call: &ToolCall, asked: Asked<'_>) -> Vec<Hit<'_>> {
        let mut subject = Subject::new(self, world, session, call, None);
        if let (Action::Shell(shell), true) =
            (&call.action, subject.read.lines.iter().any(|line| line.unreadable().is_some()))
        {
            subject.read.lines = CommandLine::read_with_parts(shell, session);
            subject.find_started();
        }
        // A call can read a secret and send it. It is unknown which of the two comes first.
        let labelling: Vec<u16> = self.labelling.iter().copied().filter(|at| asked.has(self, *at)).collect();
        let labelling = subject.matching_rows(Asked::Only(&labelling));
        subject.labels = labelling.iter().filter_map(|(at, _)| self.row(*at).answer.label()).collect();
        let hit = |(at, found)| Hit { row: self.row(at), found };
        let hits = self.by_layer(asked, |asked| subject.matching_rows(asked).into_iter().map(hit).collect());
        leave(subject);
        hits
    }

    /// Returns the rows that match a text: those of the user in the order of the file, then those of projects.
    pub(crate) fn hits_of_text(&self, spoken: Spoken<'_>, asked: Asked<'_>) -> Vec<Hit<'_>> {
        let Spoken { world, session, on, text, call, .. } = spoken;
        let subject = OnceCell::new();
        let hit = |at: &u16| {
            let row = self.row(*at);
            let found = row.matching_text(spoken)?;
            let Some(call) = call else {
                let (call, subject, arguments, command) = (None, None, None, None);
                let candidate =
                    Candidate { world, session, found: &found, call, subject, arguments, command, text: Some(text) };
                let facts = row.admits(&candidate)?;
                return Some(Hit { row, found: Found { facts, ..found } });
            };
            let subject = subject.get_or_init(|| Subject::new(self, world, session, call, Some(spoken)));
            let is_of_commands = !row.shell.fits_all() || row.conditions.ask_for_commands();
            let found = if is_of_commands { subject.ran(row, &found) } else { subject.admitted(row, found, None) };
            Some(Hit { row, found: found? })
        };
        self.by_layer(asked, |asked| {
            let rows = self.rows_on(on).iter().filter(|at| asked.has(self, **at));
            rows.filter_map(&hit).collect()
        })
    }

    /// Returns the numbers of the rows that may match a command, by its program and the subcommand that may be among its words.
    fn rows_about<'a>(&'a self, command: &'a Command) -> impl Iterator<Item = u16> {
        let is_said = |word: &str| word.is_empty() || command.args.iter().any(|arg| arg.text == word);
        let of_program = self.by_program.get(&*lower(&command.program));
        let named = of_program.into_iter().flat_map(LiteMap::iter).filter(move |(word, _)| is_said(word));
        named.flat_map(|(_, rows)| rows).chain(&self.any_program).copied()
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
    /// Returns the values of the facts in the row's texts, if the row applies to a candidate.
    fn admits(&self, candidate: &Candidate<'_>) -> Option<Vec<(String, String)>> {
        if let Some(key) = self.conditions.failing(candidate, self.answer.stops()) {
            candidate.world.note_failing(key, candidate);
            return None;
        }
        let facts = self.facts.iter().filter_map(|name| match candidate.value(name) {
            Fact::Is(Value::String(text)) => Some((name.clone(), text.into_owned())),
            Fact::Is(Value::Bool(value)) => Some((name.clone(), value.to_string())),
            Fact::Is(Value::Int(value)) => Some((name.clone(), value.to_string())),
            _ => None,
        });
        Some(facts.collect())
    }

    /// Compares a text with the row.
    fn matching_text(&self, spoken: Spoken<'_>) -> Option<Found> {
        let is_about = spoken.call.is_none_or(|call| self.is_about(call));
        let found = || spoken.call.map_or_else(Found::default, |call| self.with_names(call));
        if is_about { self.matching_part(spoken.text, found()) } else { None }
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
    fn is_about(&self, call: &ToolCall) -> bool {
        let mcp = call.action.mcp();
        let server = mcp.and_then(|mcp| mcp.server.as_deref());
        let tool = mcp.map_or(&call.name, |mcp| &mcp.tool);
        self.server.match_any(server.as_slice()) && self.tool.match_any(&[tool])
    }

    /// Returns the names of a call's tool and server, which the row is about.
    fn with_names(&self, call: &ToolCall) -> Found {
        let mcp = call.action.mcp();
        let server = mcp.and_then(|mcp| mcp.server.clone());
        let tool = mcp.map_or(&call.name, |mcp| &mcp.tool).clone();
        let held = match (self.tool.is_empty(), self.server.is_empty()) {
            (false, _) => Some(("tool", tool.clone())),
            (true, false) => server.clone().map(|server| ("server", server)),
            (true, true) => None,
        };
        Found { server, tool: Some(tool), held, ..Found::default() }
    }
}

impl<'a> Subject<'a> {
    fn new(
        rules: &'a RuleSet,
        world: &'a dyn World,
        session: &'a Session,
        call: &'a ToolCall,
        result: Option<Spoken<'a>>,
    ) -> Self {
        let (files, requests, text) = Default::default();
        let read = ReadCall::new(session, call);
        let mut subject = Self {
            world,
            rules,
            session,
            call,
            read,
            started: Vec::new(),
            labels: Vec::new(),
            result,
            files,
            requests,
            text,
        };
        subject.find_started();
        subject
    }

    /// Finds the scripts and modules that the commands start.
    fn find_started(&mut self) {
        let lines = self.read.lines.iter().enumerate();
        let commands = lines.flat_map(|(line, read)| read.commands().enumerate().map(move |(at, one)| (line, at, one)));
        self.started = commands.filter_map(|(line, at, command)| Some((line, at, started_by(command)?))).collect();
    }

    /// Returns all commands of the call with their lines.
    fn all_commands(&self) -> impl Iterator<Item = (&CommandLine, &Command)> {
        let read = self.read.lines.iter().flat_map(|line| line.commands().map(move |command| (line, command)));
        read.chain(self.started.iter().filter_map(|(line, _, command)| Some((self.read.lines.get(*line)?, command))))
    }

    /// Returns the numbers of the rows that match the call, in the order of the file, each with what it found.
    fn matching_rows(&self, asked: Asked<'_>) -> Vec<(u16, Found)> {
        let mut found = self.commands(asked);
        for at in self.candidates(asked) {
            if found.iter().any(|(other, _)| *other == at) {
                continue;
            }
            let row = self.rules.row(at);
            let matching = row.on.iter().find_map(|on| self.matching(row, on));
            found.extend(matching.or_else(|| self.unreadable(row)).map(|found| (at, found)));
        }
        found.sort_by_key(|(at, _)| *at);
        found
    }

    /// Returns what a row about results finds in the commands of the call, if its conditions hold for one of them. If the row names no
    /// command and the call has none, the conditions are evaluated without a command.
    fn ran(&self, row: &CompiledRow, found: &Found) -> Option<Found> {
        if row.shell.fits_all() && !self.all_commands().any(|(line, _)| line.is_certain) {
            return self.admitted(row, found.clone(), None);
        }
        self.all_commands().find_map(|(line, command)| {
            let held = self.held(row, command, &mut None).filter(|_| line.is_certain)?;
            let (key, value) = found.held.clone().unwrap_or((held.key, held.value));
            let of_row = Found { program: Some(held.program), ..found.clone() };
            self.admitted(row, of_row.of(line, command).held(key, value), Some(command))
        })
    }

    /// Returns the last key of a row that holds for a command, if all hold.
    fn held<'c>(&self, row: &CompiledRow, command: &'c Command, read: &mut Option<Arguments<'c>>) -> Option<Held>
    where
        'a: 'c,
    {
        let certain = read.get_or_insert_with(|| self.rules.programs.arguments(command));
        let held = row.shell.fits(command, certain).or_else(|miss| {
            let likely = self.rules.programs.likely_arguments(command, certain).ok_or(miss)?;
            row.shell.fits(command, &likely)
        });
        held.ok()
    }

    /// Returns true if a command has an option, in any spelling.
    pub(crate) fn has_flag(&self, command: &Command, flag: &str) -> bool {
        let certain = self.rules.programs.arguments(command);
        let likely = || self.rules.programs.likely_arguments(command, &certain);
        has_flag(command, &certain, flag) || likely().is_some_and(|likely| has_flag(command, &likely, flag))
    }

    /// Returns the line of a command, and the commands before it in the line.
    pub(crate) fn before<'c>(
        &'c self,
        command: &'c Command,
    ) -> Option<(&'c CommandLine, impl Iterator<Item = &'c Command>)> {
        let started = self.started.iter().find(|(.., other)| std::ptr::eq(other, command));
        let read = || {
            let mut lines = self.read.lines.iter().enumerate();
            lines.find_map(|(line, read)| Some((line, read.commands().position(|other| std::ptr::eq(other, command))?)))
        };
        let (line, at) = started.map(|(line, at, _)| (*line, *at)).or_else(read)?;
        let line = self.read.lines.get(line)?;
        Some((line, line.commands().take(at)))
    }

    /// Says whether the call's result is an error. If the shell hides how a command ended, this cannot be known of the command.
    pub(crate) fn failed(&self, command: Option<&Command>) -> Fact<'static> {
        let Some(result) = &self.result else { return Fact::Absent };
        let is_hidden =
            |command: &Command| self.before(command).is_none_or(|(line, _)| status::is_hidden(line, command));
        let has_failed = match &self.call.action {
            _ if result.failed => Some(true),
            Action::Shell(_) => status::has_failed(&self.session.agent, result.text),
            _ => Some(false),
        };
        match has_failed {
            Some(false) if command.is_some_and(is_hidden) => Fact::Unreadable,
            Some(failed) => Fact::Is(Value::from(failed)),
            None => Fact::Unreadable,
        }
    }

    /// Returns the numbers of the rows that may match the call in another way than with a simple command, in ascending order.
    fn candidates(&self, asked: Asked<'_>) -> Vec<u16> {
        if let Asked::Only(rows @ ([] | [_] | [_, _])) = asked {
            return rows.to_vec();
        }
        if self.is_unreadable() {
            return (0..).take(self.rules.rows.len()).filter(|at| asked.has(self.rules, *at)).collect();
        }
        let rows_on = |on| self.rules.rows_on(&on);
        let mut candidates = self.rules.of_tools.clone();
        for (touch, rows) in self.rules.of_files.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            candidates.extend(self.files(touch).rows(rows));
        }
        if !rows_on(RuleOn::Web).is_empty() && !self.requests().is_empty() {
            candidates.extend(rows_on(RuleOn::Web));
        }
        match &self.call.action {
            Action::Shell(_) => candidates.extend(&self.rules.any_program),
            Action::Mcp(_) => candidates.extend(rows_on(RuleOn::Mcp).iter().chain(rows_on(RuleOn::Delete))),
            Action::SpawnAgent(_) => candidates.extend(rows_on(RuleOn::Spawn)),
            _ => {}
        }
        candidates.retain(|at| asked.has(self.rules, *at));
        candidates.sort_unstable();
        candidates.dedup();
        candidates
    }

    /// Returns the rows about commands that match, each with its first command. A row that changes commands takes the first that it changes.
    fn commands(&self, asked: Asked<'_>) -> Vec<(u16, Found)> {
        let mut found: Vec<(u16, Found)> = Vec::new();
        let mut unchanged: Vec<(u16, Found)> = Vec::new();
        let has_rows = !self.rules.rows_on(&RuleOn::Shell).is_empty();
        for (line, command) in self.all_commands().filter(|_| has_rows) {
            let mut arguments = None;
            for at in self.rules.rows_about(command).filter(|at| asked.has(self.rules, *at)) {
                if found.iter().any(|(other, _)| *other == at) {
                    continue;
                }
                let row = self.rules.row(at);
                // A text that is perhaps not a command runs the programs that the rows or the reader know.
                if !line.is_certain && row.shell.programs.is_empty() && !is_known_program(&command.program) {
                    continue;
                }
                let Some(held) = self.held(row, command, &mut arguments) else { continue };
                let of_row = Found { program: Some(held.program), ..row.with_names(self.call) }.of(line, command);
                if let Some(of_row) = self.admitted(row, of_row.held(held.key, held.value), Some(command)) {
                    let hit = Hit { row, found: of_row };
                    if !hit.is_done(self.session, self.call) {
                        found.push((at, hit.found));
                    } else if !unchanged.iter().any(|(other, _)| *other == at) {
                        unchanged.push((at, hit.found));
                    }
                }
            }
            leave(arguments);
        }
        unchanged.retain(|(at, _)| !found.iter().any(|(other, _)| other == at));
        found.extend(unchanged);
        found
    }

    /// Compares the call with a row for one of its subjects other than commands.
    fn matching(&self, row: &CompiledRow, on: &RuleOn) -> Option<Found> {
        if !row.is_about(self.call) {
            return None;
        }
        let found = match on {
            // A command without a simple command, such as `> file`, is a command all the same.
            RuleOn::Shell => {
                let is_any = row.shell.fits_all() && matches!(self.call.action, Action::Shell(_));
                is_any.then(|| self.found(row))
            }
            RuleOn::Write | RuleOn::Read | RuleOn::Delete => return self.path(row, on),
            RuleOn::Web => return self.request(row),
            RuleOn::Mcp => self.call.action.mcp().and_then(|_| self.with_text(row, row.with_names(self.call))),
            RuleOn::Tool(_) => {
                let is_named = row.tools.match_any(&[&self.call.name]);
                let found = || Found { tool: Some(self.call.name.clone()), ..row.with_names(self.call) };
                is_named.then(found).and_then(|found| self.with_text(row, found))
            }
            RuleOn::Spawn => match &self.call.action {
                Action::SpawnAgent(task) => row.matching_part(task, Found::default()),
                Action::Other(kind) if kind == "spawn-agent" => {
                    row.matching_part(&self.call.arguments, Found::default())
                }
                _ => None,
            },
            _ => None,
        };
        self.admitted(row, found?, None)
    }

    /// Returns the text that the call writes or sends: its command, or the texts among its arguments.
    pub(crate) fn text(&self) -> &str {
        self.text.get_or_init(|| match &self.call.action {
            Action::Shell(shell) => shell.command.clone(),
            _ => arguments::texts(&self.read.arguments),
        })
    }

    /// Compares the text of the call with `text`.
    fn with_text(&self, row: &CompiledRow, found: Found) -> Option<Found> {
        if row.texts.is_empty() { Some(found) } else { row.matching_part(self.text(), found) }
    }

    /// Returns what a row found, if its conditions hold.
    fn admitted(&self, row: &CompiledRow, found: Found, command: Option<&Command>) -> Option<Found> {
        let (world, session) = (self.world, self.session);
        let (call, arguments) = (Some(self.call), Some(&self.read.arguments));
        let text = self.result.map(|result| result.text);
        let candidate =
            Candidate { world, session, found: &found, call, subject: Some(self), arguments, command, text };
        let facts = row.admits(&candidate)?;
        Some(Found { facts, ..found })
    }

    /// Returns the files that the call touches in one of the ways of [`paths::TOUCHES`].
    pub(crate) fn paths(&self, touch: usize) -> impl Iterator<Item = MatchedFile<'_>> {
        self.files(touch).matching(None, &self.session.workspace)
    }

    /// Returns the files that the call touches in one way.
    fn files(&self, touch: usize) -> &Files {
        let files = || Files::new(self.read.touched(paths::TOUCHES[touch]), &self.session.workspace);
        self.files[touch].get_or_init(files)
    }

    fn requests(&self) -> &[Address] {
        self.requests.get_or_init(|| web::requests(&self.read, self.call, &self.rules.programs))
    }

    /// Returns what is known of the call itself, for the texts of rows.
    fn found(&self, row: &CompiledRow) -> Found {
        Found { command: self.read.lines.first().map(|line| line.text.clone()), ..row.with_names(self.call) }
    }

    /// Returns the first file that the row is about.
    fn path(&self, row: &CompiledRow, on: &RuleOn) -> Option<Found> {
        let touch = paths::touch(on)?;
        let matching = self.files(touch).matching(row.path.as_ref(), &self.session.workspace);
        let of_path = matching.map(|MatchedFile { written, absolute, pattern }| {
            let shown = absolute.and_then(|path| paths::from_workspace(path, &self.session.workspace));
            let (path, spelt) = (Some(shown.unwrap_or(written).to_owned()), Some(written.to_owned()));
            let found = Found { path, spelt, absolute: absolute.map(str::to_owned), ..self.found(row) };
            if pattern.is_empty() { found } else { found.held("path", pattern) }
        });
        let of_tool = || self.deletes_elsewhere(row, on).then(|| self.found(row));
        let mut of_path = of_path.filter_map(|found| self.with_text(row, found));
        of_path.find_map(|found| self.admitted(row, found, None)).or_else(|| self.admitted(row, of_tool()?, None))
    }

    /// Returns true if the call deletes something that is not a file, and the row is about all deletions.
    fn deletes_elsewhere(&self, row: &CompiledRow, on: &RuleOn) -> bool {
        let tool = self.call.action.mcp().filter(|_| *on == RuleOn::Delete && row.path.is_none());
        tool.is_some_and(|mcp| arguments::deletes(&mcp.tool, &self.read.arguments))
    }

    /// Returns the first request that the row is about.
    fn request(&self, row: &CompiledRow) -> Option<Found> {
        let mut of_request = web::matching(&row.url, &row.host, self.requests()).map(|request| {
            let (url, host) = (request.urls.last().cloned(), request.hosts.last().cloned());
            let (key, value) = if row.host.is_empty() { ("url", &url) } else { ("host", &host) };
            let value = value.clone().unwrap_or_else(|| "unknown".to_owned());
            let found = Found { url, host, is_unclear: !request.is_certain(), ..self.found(row) };
            if row.host.is_empty() && row.url.is_empty() { found } else { found.held(key, value) }
        });
        of_request.find_map(|found| self.admitted(row, self.with_text(row, found)?, None))
    }

    /// Returns true if a part of the call cannot be read.
    fn is_unreadable(&self) -> bool {
        self.read.has_too_many
            || matches!(&self.call.action, Action::Other(kind) if !kind.is_empty())
            || self.read.lines.iter().any(|line| line.is_certain && line.unreadable().is_some())
    }

    /// Returns a question of a row whose answer stops calls, if a part of the call cannot be read and names what the row is about.
    fn unreadable(&self, row: &CompiledRow) -> Option<Found> {
        let is_file_unreadable = || self.files.iter().filter_map(OnceCell::get).any(|files| files.unreadable.is_some());
        if !row.answer.stops() || !(self.is_unreadable() || is_file_unreadable()) || !row.is_about(self.call) {
            return None;
        }
        let why = self.unreadable_line(row).or_else(|| self.unreadable_arguments(row))?;
        self.admitted(row, Found { unreadable: Some(why), ..self.found(row) }, None)
    }

    /// Returns the reason why a command that may be about the row cannot be read.
    fn unreadable_line(&self, row: &CompiledRow) -> Option<String> {
        if !row.on.iter().any(|on| is_kind(on, "shell")) {
            return None;
        }
        let files = row.on.iter().filter_map(paths::touch).filter_map(|touch| self.files[touch].get());
        let of_files = files.filter_map(|files| files.unreadable.as_deref()).next();
        self.read.lines.iter().filter(|line| line.is_certain).find_map(|line| {
            let why = line.unreadable().or(of_files).filter(|_| row.is_hinted_at(&line.text))?;
            Some(format!("the command cannot be read: {why}"))
        })
    }

    /// Returns the reason why a call that may be about the row cannot be read.
    fn unreadable_arguments(&self, row: &CompiledRow) -> Option<String> {
        let kind = match &self.call.action {
            _ if self.read.has_too_many => "shell",
            Action::Other(kind) if !kind.is_empty() => kind,
            _ => return None,
        };
        let is_about = row.is_hinted_at(&self.call.arguments) && row.on.iter().any(|on| is_kind(on, kind));
        is_about.then(|| "the arguments of the call cannot be read".to_owned())
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
