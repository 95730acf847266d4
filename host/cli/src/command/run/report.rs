//! What a run shows while it runs: the model's text on the standard output, what happens beside it on the standard
//! error; or, for programs, all of it as one JSON object a line.

use crate::output::{
    self,
    brief::{SHOWN, cut, short},
    one_line, printable,
    style::{CHANGED, DIM, ERROR, NAME, WARNING},
};
use hookhost_agent::agent::{AgentEvent, Refused, Reporter, RunOutcome};
use serde_json::Value;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Most lines of a tool's result that are shown.
const LINES: usize = 5;

/// For programs: one JSON object a line.
#[derive(Debug)]
pub(super) struct ForPrograms;

impl Reporter for ForPrograms {
    fn report(&self, event: &AgentEvent) {
        line(event);
    }
}

/// Writes one object. Whoever reads may go away; the run goes on.
pub(super) fn line(object: &impl serde::Serialize) {
    let _ = output::print_json_line(object);
}

/// For people: short, coloured on a terminal.
#[derive(Debug, Default)]
pub(super) struct ForPeople {
    shown: Mutex<Shown>,
}

/// What is on the screen.
#[derive(Debug, Default)]
struct Shown {
    /// The model's text stands there without a line break behind it.
    mid_line: bool,
    /// Calls whose result is the refusal that has been shown.
    refused: HashSet<String>,
    /// The call whose start stands in the last line: its result needs no name.
    last_started: Option<String>,
    /// Why a task ended, where another one follows.
    ended: Option<String>,
    tasks: usize,
    /// Tasks that have ended, and that wait.
    queue: (u32, usize),
}

impl Reporter for ForPeople {
    fn report(&self, event: &AgentEvent) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if let AgentEvent::Text { text } = event {
            shown.mid_line = !text.ends_with('\n');
            let _ = output::print(&printable(text));
            return;
        }
        let text = shown.describe(event);
        match event {
            AgentEvent::ToolStarted { id, .. } => shown.last_started = Some(id.clone()),
            _ if !text.is_empty() => shown.last_started = None,
            _ => {}
        }
        if !text.is_empty() || matches!(event, AgentEvent::Answer { .. }) {
            shown.end_line();
        }
        output::note(&text);
    }
}

impl ForPeople {
    /// The last lines.
    pub(super) fn finish(&self, outcome: &RunOutcome) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.end_line();
        let usage = &outcome.usage;
        let calls =
            if outcome.turns == 1 { "1 model call".to_owned() } else { format!("{} model calls", outcome.turns) };
        let mut text = format!("{DIM}{calls}, {} tokens in, {} out{DIM:#}\n", usage.input_tokens, usage.output_tokens);
        if let Some(transcript) = &outcome.transcript {
            let _ = writeln!(text, "{DIM}transcript: {}{DIM:#}", one_line(&transcript.to_string_lossy()));
        }
        output::note(&text);
    }
}

impl Shown {
    fn end_line(&mut self) {
        if std::mem::take(&mut self.mid_line) {
            let _ = output::print("\n");
        }
    }

    fn describe(&mut self, event: &AgentEvent) -> String {
        match event {
            AgentEvent::SessionStarted { session, provider, model, .. } => {
                format!("{DIM}session {session}: {model} of {provider}{DIM:#}\n")
            }
            AgentEvent::Notice { text } => notice(text),
            AgentEvent::ContextGathered { instructions, skills } => context(instructions, skills),
            AgentEvent::TaskStarted { prompt, title } => self.task(prompt, title.as_deref()),
            AgentEvent::TaskEnded { reason, .. } => {
                self.ended.clone_from(reason);
                String::new()
            }
            AgentEvent::Queue { ended, waiting } => {
                self.queue = (*ended, *waiting);
                String::new()
            }
            AgentEvent::PlanSubmitted { title, tasks } => plan(title, tasks),
            AgentEvent::PlanEnded { title, tasks, completed } => {
                format!("{NAME}plan{NAME:#} {} ended: {completed} of {tasks} tasks done\n", one_line(title))
            }
            AgentEvent::Subagent { depth, event, .. } => self.below(*depth, event),
            AgentEvent::Compacted { messages, before, after } => {
                format!(
                    "{DIM}summarised {messages} messages: the next request has {after} tokens, not {before}{DIM:#}\n"
                )
            }
            AgentEvent::Changed { event, by, before, after } => {
                format!("{CHANGED}changed{CHANGED:#} {event} by {}{}\n", names(by), difference(before, after))
            }
            AgentEvent::Refused { event, refusal } => {
                format!("{ERROR}refused{ERROR:#} {event} {}\n", because(refusal))
            }
            AgentEvent::Retrying { error, wait } => {
                format!("{WARNING}retrying{WARNING:#} in {:.1} s: {}\n", wait.as_secs_f64(), one_line(error))
            }
            AgentEvent::TextHeld { bytes } => {
                format!(
                    "{DIM}text beside tool calls is not shown: plugins see final text first ({bytes} bytes){DIM:#}\n"
                )
            }
            AgentEvent::Answered { by } => {
                format!("{CHANGED}answered{CHANGED:#} by {by}, in the model's place\n")
            }
            AgentEvent::ToolChanged { name, by, before, after, .. } => {
                format!(
                    "{CHANGED}changed{CHANGED:#} {NAME}{}{NAME:#} by {}{}\n",
                    one_line(name),
                    names(by),
                    difference(before, after)
                )
            }
            AgentEvent::ToolRefused { id, name, arguments, refusal } => {
                self.refused.insert(id.clone());
                let (name, arguments) = (one_line(name), short(arguments));
                format!("{ERROR}refused{ERROR:#} {NAME}{name}{NAME:#} {arguments} {}\n", because(refusal))
            }
            AgentEvent::ToolAnswered { name, by, .. } => {
                format!("{CHANGED}answered{CHANGED:#} {NAME}{}{NAME:#} by {by}, in the tool's place\n", one_line(name))
            }
            AgentEvent::ToolStarted { name, arguments, .. } => {
                format!("{NAME}{}{NAME:#} {}\n", one_line(name), short(arguments))
            }
            AgentEvent::ResultChanged { name, by, .. } => {
                format!("{CHANGED}changed{CHANGED:#} the result of {NAME}{}{NAME:#} by {}\n", one_line(name), names(by))
            }
            AgentEvent::ResultWithheld { id, name, refusal } => {
                self.refused.insert(id.clone());
                format!(
                    "{ERROR}withheld{ERROR:#} the result of {NAME}{}{NAME:#} {}\n",
                    one_line(name),
                    because(refusal)
                )
            }
            AgentEvent::ToolFinished { id, .. } if self.refused.remove(id) => String::new(),
            AgentEvent::ToolFinished { id, name, text, is_error } => {
                let follows = self.last_started.as_ref() == Some(id);
                let label =
                    if follows { String::new() } else { format!("{NAME}{}{NAME:#} answered\n", one_line(name)) };
                label + &result(text, *is_error)
            }
            _ => String::new(),
        }
    }

    /// The first task is the user's own prompt, which needs no telling.
    fn task(&mut self, prompt: &str, title: Option<&str>) -> String {
        self.tasks += 1;
        let ended = self.ended.take().map(|reason| format!("{WARNING}ended{WARNING:#} {}\n", one_line(&reason)));
        if self.tasks == 1 {
            return String::new();
        }
        let (done, waiting) = self.queue;
        format!(
            "{}{NAME}task{NAME:#} {} {DIM}({done} done, {waiting} waiting){DIM:#}\n",
            ended.unwrap_or_default(),
            cut(&one_line(title.unwrap_or(prompt)), SHOWN)
        )
    }

    /// What happens in a sub-agent, further in: its text is its result, which is shown as such.
    fn below(&mut self, depth: u32, event: &AgentEvent) -> String {
        let text = match event {
            AgentEvent::SessionStarted { session, .. } => format!("{DIM}sub-agent {session}{DIM:#}\n"),
            AgentEvent::Queue { .. } | AgentEvent::TaskStarted { .. } | AgentEvent::TaskEnded { .. } => String::new(),
            event => self.describe(event),
        };
        let margin = "  ".repeat(usize::try_from(depth.min(8)).unwrap_or_default());
        text.lines().map(|line| format!("{margin}{line}\n")).collect()
    }
}

/// The tasks that the model has planned.
fn plan(title: &str, tasks: &[String]) -> String {
    let mut shown = format!("{NAME}plan{NAME:#} {}\n", one_line(title));
    for (place, task) in tasks.iter().enumerate() {
        let _ = writeln!(shown, "  {DIM}{}. {}{DIM:#}", place + 1, cut(&one_line(task), SHOWN));
    }
    shown
}

/// What the model is told beside the system prompt.
fn context(instructions: &[PathBuf], skills: &[String]) -> String {
    let files: Vec<_> = instructions.iter().map(|file| one_line(&file.to_string_lossy())).collect();
    let row = |what: &str, names: &[String]| match names {
        [] => String::new(),
        names => format!("{DIM}{what}: {}{DIM:#}\n", names.join(", ")),
    };
    row("instructions", &files) + &row("skills", skills)
}

/// Something that the user should know.
pub(super) fn notice(text: &str) -> String {
    format!("{WARNING}note:{WARNING:#} {}\n", one_line(text))
}

fn names(by: &[String]) -> String {
    by.join(", ")
}

/// Who said no, and why; what kind of no is told apart.
fn because(refusal: &Refused) -> String {
    let Refused { by, cause, reason, code } = refusal;
    let by = names(by);
    let reason = one_line(reason);
    let code = code.as_deref().map(|code| format!(" {DIM}[{}]{DIM:#}", one_line(code))).unwrap_or_default();
    match *cause {
        "rejected" => format!("by {by}: {reason}{code}"),
        "failed" | "timed out" => format!("since {by} {cause}: it {reason}"),
        "disagreed" => format!("since {by} {cause}: {reason}"),
        "not recorded" => format!("since the audit log cannot be written: {reason}"),
        cause => format!("({cause}, asked by {by}): {reason}"),
    }
}

/// What changed: of two objects the members that differ, else the whole.
fn difference(before: &Value, after: &Value) -> String {
    let (Value::Object(old), Value::Object(new)) = (before, after) else { return changed("", before, after) };
    let keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
    let differ = keys.filter(|key| old.get(*key) != new.get(*key));
    let of = |object: &serde_json::Map<String, Value>, key: &String| object.get(key).cloned().unwrap_or_default();
    differ.map(|key| changed(&one_line(key), &of(old, key), &of(new, key))).collect()
}

fn changed(what: &str, before: &Value, after: &Value) -> String {
    let label = if what.is_empty() { String::new() } else { format!("{what}: ") };
    // Text that was hidden is not told.
    if before.as_str() == Some("") {
        return format!("\n  {DIM}{label}now{DIM:#} {}", short(after));
    }
    format!("\n  {DIM}{label}was{DIM:#} {}\n  {DIM}{label}now{DIM:#} {}", short(before), short(after))
}

/// The first lines of a result.
fn result(text: &str, is_error: bool) -> String {
    let style = if is_error { WARNING } else { DIM };
    let lines: Vec<_> = text.lines().collect();
    let mut shown = String::new();
    for line in lines.iter().take(LINES) {
        let _ = writeln!(shown, "  {style}{}{style:#}", cut(&one_line(line), SHOWN));
    }
    if lines.len() > LINES {
        let _ = writeln!(shown, "  {DIM}… {} more lines{DIM:#}", lines.len() - LINES);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    fn refused(cause: &'static str) -> Refused {
        Refused { by: vec!["guard".into()], cause, reason: "uses too much\u{1b}[2J".into(), code: Some("x.y".into()) }
    }

    #[test]
    fn rejected_failed_timed_out_and_not_approved_read_differently() {
        let texts = ["rejected", "failed", "timed out", "not approved"].map(|cause| plain(&because(&refused(cause))));
        assert_eq!(
            texts,
            [
                "by guard: uses too much\u{fffd}[2J [x.y]",
                "since guard failed: it uses too much\u{fffd}[2J",
                "since guard timed out: it uses too much\u{fffd}[2J",
                "(not approved, asked by guard): uses too much\u{fffd}[2J",
            ]
        );
    }

    #[test]
    fn a_change_shows_the_members_that_differ_and_no_others() {
        let before = json!({ "command": "make", "timeout_ms": 5 });
        let after = json!({ "command": "timeout 60 make", "timeout_ms": 5 });
        assert_eq!(plain(&difference(&before, &after)), "\n  command: was make\n  command: now timeout 60 make");
    }

    #[test]
    fn a_refusal_is_shown_once_although_it_is_the_calls_result_too() {
        let mut shown = Shown::default();
        let id = "1".to_owned();
        let name = "bash".to_owned();
        let refusal = refused("rejected");
        let event =
            AgentEvent::ToolRefused { id: id.clone(), name: name.clone(), arguments: json!({"command": "x"}), refusal };
        assert!(plain(&shown.describe(&event)).starts_with("refused bash command=x by guard: "));
        let finished = AgentEvent::ToolFinished { id, name, text: "Rejected by guard".into(), is_error: true };
        assert_eq!(shown.describe(&finished), "");
        assert_eq!(plain(&shown.describe(&finished)), "bash answered\n  Rejected by guard\n");
    }

    #[test]
    fn a_result_that_does_not_follow_its_calls_start_is_told_with_its_tools_name() {
        let finished =
            AgentEvent::ToolFinished { id: "1".into(), name: "bash".into(), text: "x".into(), is_error: false };
        let mut shown = Shown { last_started: Some("1".into()), ..Shown::default() };
        assert_eq!(plain(&shown.describe(&finished)), "  x\n");
        shown.last_started = Some("2".into());
        assert_eq!(plain(&shown.describe(&finished)), "bash answered\n  x\n");
    }

    #[test]
    fn a_long_result_is_cut() {
        let text = (1..=8).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
        assert_eq!(plain(&result(&text, false)), "  1\n  2\n  3\n  4\n  5\n  … 3 more lines\n");
        assert_eq!(cut("äöü", 2), "äö…");
    }
}
