//! Turns the rows that match into answers: verdicts, reminders and findings.
//!
//! Rejections come first, then changes in the order of the file, then questions.

use crate::answer::{Answer, MAX_FILLED, change, cut, filled, redacted, redacted_json, sentence, shown, strings_of};
use crate::compile::{CompiledRow, RuleSet};
use crate::files;
use crate::judge::{Asked, Found, Hit, Spoken};
use crate::memory::Memory;
use crate::world::OfEvent;
use call_paths::CommandLine;
use hookhost_contract::rule::RuleOn;
use hookhost_guest::prelude::*;
use serde_json::Value;

/// Maximum number of times that rows change a call before it is rejected.
const MAX_CHANGES: u32 = 5;

/// Maximum number of findings about one event. The host accepts twice as many.
const MAX_FINDINGS: usize = 32;

/// Maximum length of the text of a finding, in bytes. [`MAX_FINDINGS`] fit into the record of an event.
const MAX_EXPLANATION: usize = 500;

/// Maximum length of a reminder, in bytes. The host accepts 4 KiB with its key.
const MAX_REMINDER: usize = 3_800;

/// Maximum length of a question to which further rows add theirs, in bytes.
const MAX_QUESTION: usize = 16 * 1024;

/// The key of a change that replaces the command of a shell.
const COMMAND: &str = "command";

impl RuleSet {
    /// Judges a call. After a change, all rows are compared with the changed call. Only the host can tell what changed arguments of a tool
    /// that it knows mean, so it asks again about them.
    pub fn verdict(&self, session: &Session, call: &ToolCall) -> ToolCallVerdict {
        let memory = Memory::of_call(call);
        if self.keeps_calls {
            memory.note_call(call);
        }
        if self.keeps_files {
            files::note_before(session, call);
        }
        let mut findings = Findings::default();
        let verdict = self.verdict_of_rounds(session, call, memory, &mut findings);
        findings.report(memory, matches!(verdict, ToolCallVerdict::Reject(_)));
        verdict
    }

    /// Judges a call and what the rows make of it.
    fn verdict_of_rounds<'a>(
        &'a self,
        session: &Session,
        call: &ToolCall,
        memory: Memory,
        findings: &mut Findings<'a>,
    ) -> ToolCallVerdict {
        let world = OfEvent(memory);
        let (mut call, longest) = (call.clone(), call.arguments.len() + MAX_FILLED);
        let mut changed = None;
        for round in event::round().. {
            let hits = self.hits(&world, session, &call, Asked::All);
            findings.add(&hits);
            if let Some(refusal) = hits.iter().find_map(Hit::refusal) {
                return refusal.into();
            }
            let effective = || hits.iter().filter(|hit| !hit.row.observe);
            let (next, change) = match effective().find_map(|hit| hit.changed(session, &call)) {
                Some(Ok(changed)) => changed,
                Some(Err(refusal)) => return refusal.into(),
                None => {
                    effective().for_each(Hit::take_effect);
                    // A question is about the call that would run, so the host asks again about a changed call.
                    return changed.map_or_else(|| question(&hits), |change: Change| change.verdict(call));
                }
            };
            let length = next.action.shell().map_or(0, |shell| shell.command.len()).max(next.arguments.len());
            if round > MAX_CHANGES || length > longest {
                break;
            }
            if let Some(before) = changed.filter(|before| *before != change) {
                return before.verdict(call);
            }
            call = next;
            if !change.is_understood(&call.action) {
                return change.verdict(call);
            }
            changed = Some(change);
        }
        Refusal::new("the rules change this call again and again, so it cannot run").code("rules.changes").into()
    }

    /// Judges a prompt or a final text.
    pub fn text_verdict(&self, session: &Session, on: &RuleOn, text: &str) -> TextVerdict {
        let memory = Memory::of(&event::id());
        let spoken = Spoken { world: &OfEvent(memory), session, on, text, call: None, failed: false };
        match self.redacted(spoken, None, memory) {
            Err(refusal) => refusal.into(),
            Ok(Some((text, _))) => TextVerdict::replace(text),
            Ok(None) => Verdict::keep(),
        }
    }

    /// Judges the result of a tool.
    pub fn result_verdict(&self, session: &Session, call: &ToolCall, result: &ToolResult) -> ToolResultVerdict {
        if self.keeps_files {
            // What is not remembered is not the agent's, so nothing is lost.
            let _ = files::note_after(call);
        }
        let memory = Memory::of(&event::id());
        let (world, failed) = (&OfEvent(memory), result.is_error);
        let spoken = Spoken { world, session, on: &RuleOn::Result, text: &result.text, call: Some(call), failed };
        match self.redacted(spoken, result.raw.as_deref(), memory) {
            Err(refusal) => refusal.into(),
            Ok(Some((text, raw))) => ToolResultVerdict::replace(ToolResult { text, raw, is_error: result.is_error }),
            Ok(None) => Verdict::keep(),
        }
    }

    /// Judges the beginning of a session.
    pub(crate) fn begin(&self, session: &Session) {
        let (hits, _) = self.of_event(session, &RuleOn::Session);
        hits.iter().filter(|hit| !hit.row.observe).for_each(Hit::take_effect);
    }

    /// Judges the end of a task. A rejection makes the agent continue.
    pub fn completion_verdict(&self, session: &Session, completion: &Completion) -> CompletionVerdict {
        if completion.status != "success" {
            return Verdict::allow();
        }
        let (_, refusal) = self.of_event(session, &RuleOn::TaskComplete);
        refusal.map_or_else(Verdict::allow, |refusal| CompletionVerdict::go_on([Task::new(refusal.reason)]))
    }

    /// Judges an event that has neither a call nor a text. Returns the rows that match, and the first rejection.
    fn of_event(&self, session: &Session, on: &RuleOn) -> (Vec<Hit<'_>>, Option<Refusal>) {
        let memory = Memory::of(&event::id());
        let spoken = Spoken { world: &OfEvent(memory), session, on, text: "", call: None, failed: false };
        let hits = self.hits_of_text(spoken, Asked::All);
        let refusal = report(&hits, memory, false);
        (hits, refusal)
    }

    /// Returns a text and the raw result with all redactions, or `None` if nothing is redacted.
    fn redacted(
        &self,
        spoken: Spoken<'_>,
        raw: Option<&str>,
        memory: Memory,
    ) -> Result<Option<(String, Option<String>)>, Refusal> {
        let mut hits = self.hits_of_text(spoken, Asked::All);
        // The raw result may contain parts that the text does not.
        let in_raw = raw.map(strings_of).unwrap_or_default();
        let in_raw = self.hits_of_text(Spoken { text: &in_raw, ..spoken }, Asked::All);
        let is_new = |hit: &Hit<'_>| !hits.iter().any(|other| other.row.id == hit.row.id);
        let further: Vec<Hit<'_>> = in_raw.into_iter().filter(is_new).collect();
        hits.extend(further);
        let has_run = spoken.call.is_some();
        let refusal = report(&hits, memory, has_run);
        let effective = || hits.iter().filter(|hit| !hit.row.observe);
        if has_run || refusal.is_none() {
            effective().for_each(Hit::take_effect);
        }
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        let (mut text, mut raw) = (spoken.text.to_owned(), raw.map(str::to_owned));
        let mut is_redacted = false;
        for hit in effective() {
            let Answer::Redact(mark) = &hit.row.answer else { continue };
            is_redacted = true;
            text = redacted(&text, &hit.row.texts, mark).unwrap_or(text);
            raw = raw.map(|raw| redacted_json(&raw, &hit.row.texts, mark).unwrap_or(raw));
        }
        Ok(is_redacted.then_some((text, raw)))
    }
}

/// What a change replaces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Command,
    Arguments,
}

impl Change {
    /// Returns true if the action of the changed call is known without the host.
    fn is_understood(self, action: &Action) -> bool {
        self == Self::Command || matches!(action, Action::Mcp(_) | Action::Other(_))
    }

    /// Returns the verdict that makes the change. The host writes a command into the arguments, because it knows the tools.
    fn verdict(self, call: ToolCall) -> ToolCallVerdict {
        match self {
            Self::Command => ToolCallVerdict::rewrite(call.action),
            Self::Arguments => ToolCallVerdict::Modify(call.arguments),
        }
    }
}

impl Hit<'_> {
    /// Returns the text of the answer.
    fn text(&self) -> String {
        match &self.row.answer {
            Answer::Reject(text) | Answer::Ask(text) | Answer::Note(text) | Answer::Remind(text) => {
                sentence(text, &self.found)
            }
            Answer::Change(_) => "the call gets other arguments".to_owned(),
            Answer::Redact(_) => "parts of the text are replaced".to_owned(),
            Answer::Label(label) => format!("the session gets the label `{label}`"),
        }
    }

    /// Returns the text of the answer, followed by what the model should do instead.
    fn text_and_instead(&self, between: &str) -> String {
        match &self.row.instead {
            Some(instead) => {
                let text = self.text();
                // `a. Instead: b`, whatever sign the text ends with.
                let end = if text.ends_with(['.', '!', '?']) || between == "\n" { "" } else { "." };
                format!("{text}{end}{between}Instead: {}", sentence(instead, &self.found))
            }
            None => self.text(),
        }
    }

    /// Returns true if the row rejects the call or text.
    pub(crate) fn rejects(&self) -> bool {
        matches!(self.row.answer, Answer::Reject(_)) && self.found.unreadable.is_none() && !self.row.observe
    }

    fn refusal(&self) -> Option<Refusal> {
        self.rejects().then(|| {
            let refusal = Refusal::new(self.text_and_instead(" ")).code(&self.row.id);
            if self.row.instead.is_some() { refusal.retryable() } else { refusal }
        })
    }

    /// Returns the question of the row.
    fn question(&self) -> Option<String> {
        match (&self.found.unreadable, &self.row.answer) {
            (Some(why), _) => Some(format!("{why}, and it may be what `{}` is about. Run it?", self.row.id)),
            (None, Answer::Ask(_)) => Some(self.text_and_instead("\n")),
            _ => None,
        }
    }

    /// Reminds the model, or labels the session.
    fn take_effect(&self) {
        match &self.row.answer {
            Answer::Remind(_) => {
                let text = cut(self.text(), MAX_REMINDER);
                effects::remind(&Reminder::new(text).dedupe_key(format!("rules.{}", self.row.id)));
            }
            Answer::Label(label) => labels::add(label),
            _ => {}
        }
    }

    /// Returns true if the row changes calls, and has nothing to change in this one.
    pub(crate) fn is_done(&self, session: &Session, call: &ToolCall) -> bool {
        matches!(self.row.answer, Answer::Change(_)) && self.changed(session, call).is_none()
    }

    /// Returns the call as the row changes it, or the reason why the row cannot change it. Returns `None` if the row changes nothing.
    fn changed(&self, session: &Session, call: &ToolCall) -> Option<Result<(ToolCall, Change), Refusal>> {
        let Answer::Change(set) = &self.row.answer else { return None };
        if let (Action::Shell(shell), Some(Value::String(command)), 1) = (&call.action, set.get(COMMAND), set.len()) {
            let command = filled(command, &self.found.as_spelt());
            let Some(line) = self.with_command(session, shell, &command) else {
                return Some(Err(self.unchanged(&command)));
            };
            let action = Action::Shell(shell.with_command(&line));
            return (line != shell.command).then(|| Ok((ToolCall { action, ..call.clone() }, Change::Command)));
        }
        let before: Value = call.arguments().ok()?;
        let mut after = before.clone();
        change(&mut after, set, &self.found.as_spelt());
        (after != before).then(|| Ok((ToolCall { arguments: after.to_string(), ..call.clone() }, Change::Arguments)))
    }

    /// Returns the command line with this command in place of the one that the row found. Several commands take the place of one only
    /// if it is the whole line. Returns `None` if they cannot.
    fn with_command(&self, session: &Session, shell: &ShellCommand, command: &str) -> Option<String> {
        if self.found.program.is_none() {
            return Some(command.to_owned());
        }
        let place = self.found.place.clone()?;
        // After `timeout 60 {command}`, the command stands where the change has put it.
        let before = shell.command.get(place.clone())?;
        let is_changed = |at: usize| {
            let (head, rest) = shell.command.split_at_checked(place.start.checked_sub(at)?)?;
            let begins = head.is_empty() || head.ends_with(|c: char| c.is_whitespace() || ";&|(".contains(c));
            Some(begins && rest.starts_with(command))
        };
        if command.match_indices(before).any(|(at, _)| is_changed(at) == Some(true)) {
            return Some(shell.command.clone());
        }
        let is_all = shell.command.get(place.clone())? == shell.command.trim();
        if !is_all && !CommandLine::read(&shell.with_command(command), session).is_single() {
            return None;
        }
        let mut line = shell.command.clone();
        line.replace_range(place, command);
        Some(line)
    }

    /// Returns the refusal of a call whose command cannot be changed.
    fn unchanged(&self, command: &str) -> Refusal {
        let before = shown(self.found.command.as_deref().unwrap_or_default());
        let reason = format!(
            "`{before}` cannot be changed where it stands, because it is a part of another command. Run by itself: {}",
            shown(command)
        );
        Refusal::new(reason).code(&self.row.id).retryable()
    }

    fn finding(&self) -> Finding {
        let Found { unreadable, held, path, .. } = &self.found;
        let severity = if self.row.answer.stops() { Severity::Warning } else { Severity::Info };
        let explanation = cut(unreadable.clone().unwrap_or_else(|| self.text()), MAX_EXPLANATION);
        let path = path.as_deref().map(shown);
        let action = match (self.row.observe, unreadable) {
            (true, _) => "observe",
            (false, Some(_)) => "ask",
            (false, None) => self.row.answer.key(),
        };
        let mut details =
            json!({ "path": path, "held": held.as_ref().map(|(key, value)| json!({ *key: shown(value) })) });
        if self.row.observe {
            details["would"] = self.row.answer.key().into();
        }
        Finding::new(&self.row.id, severity, explanation).action(action).details(&details)
    }
}

/// Returns one question for all rows that ask. The rows of the user come first, and the code names the first row.
fn question(hits: &[Hit<'_>]) -> ToolCallVerdict {
    let asking = hits.iter().filter(|hit| !hit.row.observe);
    let mut asking = asking.filter_map(|hit| Some((&hit.row.id, hit.question()?)));
    let Some((code, mut question)) = asking.next() else { return Verdict::allow() };
    let mut further = 0;
    for (_, text) in asking {
        if question.len() + text.len() < MAX_QUESTION {
            question = question + "\n" + &text;
        } else {
            further += 1;
        }
    }
    if further > 0 {
        question += &format!("\n{further} further rules ask about it.");
    }
    Escalation::new(question).code(code).into()
}

/// The rows that match an event, with their findings: those of the user's rows, and those of projects.
#[derive(Default)]
struct Findings<'a> {
    listed: [Vec<Finding>; 2],
    /// The number of findings that are not listed.
    further: usize,
    rows: Vec<&'a CompiledRow>,
}

impl<'a> Findings<'a> {
    /// Adds each row that matches for the first time.
    fn add(&mut self, hits: &[Hit<'a>]) {
        for hit in hits {
            if self.rows.iter().any(|row| row.id == hit.row.id) {
                continue;
            }
            self.rows.push(hit.row);
            let listed = &mut self.listed[usize::from(hit.row.of_project)];
            if listed.len() < MAX_FINDINGS {
                listed.push(hit.finding());
            } else {
                self.further += 1;
            }
        }
    }

    /// Reports the findings, those of the user's rows first, and remembers the matches about which conditions ask. What is rejected does not
    /// happen, so only rows that stop it have then matched. If there are too many findings, the last says how many are missing: the host does
    /// not accept more, and the event would fail.
    fn report(self, memory: Memory, is_rejected: bool) {
        let listed = || self.listed.iter().flatten();
        listed().take(MAX_FINDINGS).for_each(effects::report);
        let further = self.further + listed().count().saturating_sub(MAX_FINDINGS);
        if further > 0 {
            let explanation = format!("{further} further rules match");
            effects::report(&Finding::new("rules.further", Severity::Info, explanation));
        }
        for row in self.rows.iter().filter(|row| row.is_remembered && (!is_rejected || row.answer.stops())) {
            memory.note_match(&row.id, row.is_counted);
        }
    }
}

/// Reports and remembers the rows that match a text or an event, and returns the first rejection. What has run has happened, also if its
/// result is rejected.
fn report(hits: &[Hit<'_>], memory: Memory, has_run: bool) -> Option<Refusal> {
    let mut findings = Findings::default();
    findings.add(hits);
    let refusal = hits.iter().find_map(Hit::refusal);
    findings.report(memory, refusal.is_some() && !has_run);
    refusal
}
