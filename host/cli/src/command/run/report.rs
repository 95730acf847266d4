//! Prints the progress of a run. For people, the model's text goes to standard output and everything else to standard error. For programs
//! (`--json`), everything is one JSON object per line.

use super::progress::Progress;
use crate::output::{
    self,
    difference::lines,
    markdown::MarkdownStream,
    one_line, printable,
    progress::StatusLine,
    screen,
    style::{CHANGED, DIM, ERROR, NAME, WARNING},
    truncate::{SHOWN, counted, cut, is_cut, short, tool, whole, words},
};
use hookhost_agent::agent::{AgentEvent, RejectionReport, Reporter, RunOutcome};
use hookhost_models::message::TokenUsage;
use serde_json::Value;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Maximum number of lines of a tool's result that are shown.
const LINES: usize = 5;

/// Maximum number of characters of a call's arguments that are shown next to the call's result.
const LABEL: usize = 60;

/// Maximum number of texts that are stored for `/show`.
const MAX_KEPT: usize = 100;

/// Reports for programs: one JSON object per line.
#[derive(Debug)]
pub(super) struct ForPrograms;

impl Reporter for ForPrograms {
    fn report(&self, event: &AgentEvent) {
        line(event);
    }
}

/// Writes one object. If the reader has closed the pipe, the run continues.
pub(super) fn line(object: &impl serde::Serialize) {
    let _ = output::print_json_line(object);
}

/// Reports for people: short, and coloured on a terminal.
#[derive(Debug, Default)]
pub(crate) struct ForPeople {
    shown: Mutex<OutputState>,
    progress: Arc<Mutex<Progress>>,
}

/// The state of the output.
#[derive(Debug, Default)]
struct OutputState {
    /// Set if the model's text ended without a line break. The value is the number of questions that had been shown by then. If more
    /// questions have been shown since, a question has already begun a new line.
    mid_line: Option<usize>,
    /// The streamed text, if it is rendered as Markdown.
    markdown: Option<MarkdownStream>,
    /// True if text of the streamed answer was written.
    has_text: bool,
    /// Ids of calls whose refusal was shown already. The result of such a call only repeats the refusal.
    refused: HashSet<String>,
    /// The arguments of each running call, on one line, by the call's id.
    running: HashMap<String, String>,
    /// The call whose start is in the last line, and the number of questions that had been shown by then. The result of this call is shown
    /// without the tool's name, unless another question has been shown since.
    last_started: Option<(String, usize)>,
    /// The reason why the last task ended, if another task follows.
    ended: Option<String>,
    tasks: usize,
    /// Number of tasks that have ended, and number of tasks that still wait.
    queue: (u32, usize),
    /// The full texts of shortened output, if the user can ask for them with `/show`.
    folded: Option<FoldedTexts>,
}

/// Full texts of which only a part was shown, numbered from 1.
#[derive(Debug, Default)]
struct FoldedTexts {
    texts: VecDeque<String>,
    dropped: usize,
}

impl FoldedTexts {
    /// Stores a text and returns its number.
    fn keep(&mut self, text: String) -> usize {
        if self.texts.len() == MAX_KEPT {
            self.texts.pop_front();
            self.dropped += 1;
        }
        self.texts.push_back(text);
        self.dropped + self.texts.len()
    }

    fn get(&self, number: usize) -> Option<&String> {
        self.texts.get(number.checked_sub(self.dropped + 1)?)
    }
}

impl Reporter for ForPeople {
    fn report(&self, event: &AgentEvent) {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).handle(event, Instant::now());
        let mut shown = self.shown();
        if let AgentEvent::Text { text } = event {
            shown.has_text = true;
            if screen::shows_markup() {
                let markdown = shown.markdown.get_or_insert_with(|| MarkdownStream::new(screen::columns()));
                let _ = output::print(&markdown.push(text));
                return;
            }
            shown.mid_line = (!text.ends_with('\n')).then(screen::questions);
            let _ = output::print(&printable(text));
            return;
        }
        let text = shown.describe(event);
        match event {
            AgentEvent::ToolStarted { id, .. } => shown.last_started = Some((id.clone(), screen::questions())),
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
    /// Creates a reporter that stores the full text of everything that it shortens, for [`Self::unfold`].
    pub(crate) fn folding() -> Self {
        let shown = OutputState { folded: Some(FoldedTexts::default()), ..OutputState::default() };
        Self { shown: Mutex::new(shown), ..Self::default() }
    }

    fn shown(&self) -> MutexGuard<'_, OutputState> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows slow work in the last line until the returned value is dropped.
    pub(crate) fn status_line(&self) -> Option<StatusLine> {
        let progress = Arc::clone(&self.progress);
        StatusLine::start(move || progress.lock().unwrap_or_else(PoisonError::into_inner).line(Instant::now()))
    }

    /// Prepares for the next prompt of the user.
    pub(crate) fn begin(&self) {
        let mut shown = self.shown();
        (shown.tasks, shown.ended, shown.last_started) = (0, None, None);
        shown.refused.clear();
    }

    /// Begins a new line if the last line has text.
    pub(crate) fn end_line(&self) {
        self.shown().end_line();
    }

    /// Returns the full text with this number, or the text that was shortened last.
    ///
    /// # Errors
    /// Returns a sentence if there is no such text.
    pub(crate) fn unfold(&self, number: Option<usize>) -> Result<String, String> {
        let shown = self.shown();
        let folded = shown.folded.as_ref().filter(|folded| !folded.texts.is_empty());
        let Some(folded) = folded else { return Err("nothing was shown in part so far".into()) };
        let last = folded.dropped + folded.texts.len();
        let text = folded.get(number.unwrap_or(last));
        text.cloned().ok_or_else(|| {
            format!("there is no text {}: {} to {last} are stored", number.unwrap_or(last), folded.dropped + 1)
        })
    }

    /// Prints the last lines of a run.
    pub(super) fn finish(&self, outcome: &RunOutcome) {
        self.end_line();
        let mut text = format!("{DIM}{}{DIM:#}\n", used(outcome.turns, outcome.subagent_turns, outcome.usage));
        if let Some(transcript) = &outcome.transcript {
            let _ = writeln!(text, "{DIM}transcript: {}{DIM:#}", one_line(&transcript.to_string_lossy()));
        }
        output::note(&text);
    }
}

impl OutputState {
    fn end_line(&mut self) {
        if let Some(mut markdown) = self.markdown.take() {
            let _ = output::print(&markdown.finish());
        }
        let Some(questions) = self.mid_line.take() else { return };
        if questions == screen::questions() || !std::io::stdout().is_terminal() {
            let _ = output::print("\n");
        }
    }

    fn describe(&mut self, event: &AgentEvent) -> String {
        match event {
            AgentEvent::SessionStarted { session, provider, model, .. } => {
                format!("{DIM}session {session}: {model} of {provider}{DIM:#}\n")
            }
            AgentEvent::Notice { text } => output::notice(text),
            AgentEvent::ContextGathered { instructions, skills } => context(instructions, skills),
            AgentEvent::TaskStarted { prompt, title } => self.task(prompt, title.as_deref()),
            AgentEvent::TurnStarted { .. } => {
                self.has_text = false;
                String::new()
            }
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
                format!(
                    "{NAME}plan{NAME:#} {} ended: {completed} of {} done\n",
                    cut(&one_line(title), SHOWN),
                    counted(*tasks, "task")
                )
            }
            AgentEvent::Subagent { depth, event, .. } => self.below(*depth, event),
            AgentEvent::Compacted { messages, before, after } => {
                format!(
                    "{DIM}summarised {}: the next request has {}, not {before}{DIM:#}\n",
                    counted(*messages, "message"),
                    counted(*after, "token")
                )
            }
            AgentEvent::Changed { event, by, before, after } => {
                let shown = difference(before, after);
                let fold = self.fold_difference(before, after);
                format!("{CHANGED}changed{CHANGED:#} {event} by {}{shown}{fold}\n", names(by))
            }
            AgentEvent::Rejected { event, refusal } => {
                format!("{ERROR}rejected{ERROR:#} {event} {}\n", because(refusal))
            }
            AgentEvent::Retrying { error, wait } => {
                let again = if std::mem::take(&mut self.has_text) { "; the answer above begins again" } else { "" };
                format!("{WARNING}retrying{WARNING:#} in {:.1} s: {}{again}\n", wait.as_secs_f64(), words(error))
            }
            AgentEvent::Reasoning { text } => {
                let fold = if is_long(text) { self.fold(|| text.clone()) } else { String::new() };
                result(text, false, &fold)
            }
            AgentEvent::TextHeld { bytes } => {
                format!(
                    "{DIM}text of the interrupted answer is not shown: plugins have not seen all of it ({}){DIM:#}\n",
                    counted(*bytes, "byte")
                )
            }
            AgentEvent::Answered { by } => {
                format!("{CHANGED}answered{CHANGED:#} by {by}, in the model's place\n")
            }
            AgentEvent::ToolChanged { name, by, before, after, .. } => {
                let shown = difference(before, after);
                let fold = self.fold_difference(before, after);
                let (name, by) = (tool(name), names(by));
                format!("{CHANGED}changed{CHANGED:#} {NAME}{name}{NAME:#} by {by}{shown}{fold}\n")
            }
            AgentEvent::ToolRejected { id, name, arguments, refusal } => {
                self.refused.insert(id.clone());
                let fold = self.fold_value(arguments);
                let (name, arguments) = (tool(name), short(arguments));
                format!("{ERROR}rejected{ERROR:#} {NAME}{name}{NAME:#} {arguments}{fold} {}\n", because(refusal))
            }
            AgentEvent::ToolAnswered { name, by, .. } => {
                format!("{CHANGED}answered{CHANGED:#} {NAME}{}{NAME:#} by {by}, in the tool's place\n", tool(name))
            }
            AgentEvent::ToolStarted { id, name, arguments, .. } => {
                self.running.insert(id.clone(), cut(&short(arguments), LABEL));
                let fold = self.fold_value(arguments);
                format!("{NAME}{}{NAME:#} {}{fold}\n", tool(name), short(arguments))
            }
            AgentEvent::ResultChanged { name, by, .. } => {
                format!("{CHANGED}changed{CHANGED:#} the result of {NAME}{}{NAME:#} by {}\n", tool(name), names(by))
            }
            AgentEvent::ResultWithheld { id, name, refusal } => {
                self.refused.insert(id.clone());
                format!("{ERROR}withheld{ERROR:#} the result of {NAME}{}{NAME:#} {}\n", tool(name), because(refusal))
            }
            AgentEvent::ToolFinished { id, .. } if self.refused.remove(id) => {
                self.running.remove(id);
                String::new()
            }
            AgentEvent::ToolFinished { id, name, text, is_error } => {
                let arguments = self.running.remove(id).filter(|arguments| !arguments.is_empty());
                let arguments = arguments.map(|arguments| format!(" {DIM}{arguments}{DIM:#}")).unwrap_or_default();
                let follows = self
                    .last_started
                    .as_ref()
                    .is_some_and(|(last, questions)| last == id && *questions == screen::questions());
                let label =
                    if follows { String::new() } else { format!("{NAME}{}{NAME:#}{arguments} answered\n", tool(name)) };
                let fold = if is_long(text) { self.fold(|| text.clone()) } else { String::new() };
                label + &result(text, *is_error, &fold)
            }
            _ => String::new(),
        }
    }

    /// Stores a text and returns a hint that `/show` prints the text. If texts are not stored, the hint is empty.
    fn fold(&mut self, text: impl FnOnce() -> String) -> String {
        let Some(folded) = &mut self.folded else { return String::new() };
        format!(" {DIM}(/show {}){DIM:#}", folded.keep(text()))
    }

    fn fold_value(&mut self, value: &Value) -> String {
        if is_cut(value) { self.fold(|| whole(value)) } else { String::new() }
    }

    fn fold_difference(&mut self, before: &Value, after: &Value) -> String {
        // If the old value is hidden, only the new value is shown.
        match before.as_str() {
            Some("") => self.fold_value(after),
            _ if difference(before, after).contains('…') => self.fold(|| lines(before, after, usize::MAX)),
            _ => String::new(),
        }
    }

    /// Describes the start of a task. The first task is the prompt that the user has just typed, so it gets no line.
    fn task(&mut self, prompt: &str, title: Option<&str>) -> String {
        self.tasks += 1;
        let ended = self.ended.take().map(|reason| format!("{WARNING}ended{WARNING:#} {}\n", words(&reason)));
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

    /// Describes an event of a sub-agent, indented. The text of a sub-agent gets no line here, because the same text is shown later as the
    /// sub-agent's result.
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

/// Describes the tasks that the model has planned.
fn plan(title: &str, tasks: &[String]) -> String {
    let mut shown = format!("{NAME}plan{NAME:#} {}\n", cut(&one_line(title), SHOWN));
    for (place, task) in tasks.iter().enumerate() {
        let _ = writeln!(shown, "  {DIM}{}. {}{DIM:#}", place + 1, cut(&one_line(task), SHOWN));
    }
    shown
}

/// Describes the instruction files and skills that the model gets in addition to the system prompt.
fn context(instructions: &[PathBuf], skills: &[String]) -> String {
    let files: Vec<_> = instructions.iter().map(|file| one_line(&file.to_string_lossy())).collect();
    let row = |what: &str, names: &[String]| match names {
        [] => String::new(),
        names => format!("{DIM}{what}: {}{DIM:#}\n", names.join(", ")),
    };
    row("instructions", &files) + &row("skills", skills)
}

fn names(by: &[String]) -> String {
    by.join(", ")
}

/// Returns the author and the reason of a refusal. The wording depends on the cause.
fn because(refusal: &RejectionReport) -> String {
    let RejectionReport { by, cause, reason, code, .. } = refusal;
    let by = names(by);
    let reason = words(reason);
    let code = code.as_deref().map(|code| format!(" {DIM}[{}]{DIM:#}", one_line(code))).unwrap_or_default();
    match *cause {
        "rejected" => format!("by {by}: {reason}{code}"),
        "failed" | "timed out" => format!("since {by} {cause}: it {reason}"),
        "disagreed" => format!("since {by} {cause}: {reason}"),
        "not recorded" => format!("since the audit log cannot be written: {reason}"),
        cause => format!("({cause}, asked by {by}): {reason}"),
    }
}

/// Describes the change of a value. If both values are objects, only the members that differ are shown.
fn difference(before: &Value, after: &Value) -> String {
    let (Value::Object(old), Value::Object(new)) = (before, after) else { return changed("", before, after) };
    let keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
    let differ = keys.filter(|key| old.get(*key) != new.get(*key));
    let of = |object: &serde_json::Map<String, Value>, key: &String| object.get(key).cloned().unwrap_or_default();
    differ.map(|key| changed(&one_line(key), &of(old, key), &of(new, key))).collect()
}

fn changed(what: &str, before: &Value, after: &Value) -> String {
    let label = if what.is_empty() { String::new() } else { format!("{what}: ") };
    // If the old text is hidden, only the new text is shown.
    if before.as_str() == Some("") {
        return format!("\n  {DIM}{label}now{DIM:#} {}", short(after));
    }
    format!("\n  {DIM}{label}was{DIM:#} {}\n  {DIM}{label}now{DIM:#} {}", short(before), short(after))
}

/// Describes the number of model calls and tokens, including the calls and tokens of sub-agents.
pub(crate) fn used(turns: u32, subagent_turns: u32, usage: TokenUsage) -> String {
    let TokenUsage { input_tokens, output_tokens, .. } = usage;
    let below = if subagent_turns == 0 { String::new() } else { format!(" ({subagent_turns} by sub-agents)") };
    let calls = counted(turns.saturating_add(subagent_turns), "model call");
    format!("{calls}{below}, {} in, {output_tokens} out", counted(input_tokens, "token"))
}

/// Returns true if a result is shown only in part.
fn is_long(text: &str) -> bool {
    text.lines().count() > LINES || text.lines().any(|line| line.chars().count() > SHOWN)
}

/// Returns the first lines of a result, and the hint that tells how to see the rest.
fn result(text: &str, is_error: bool, fold: &str) -> String {
    let style = if is_error { WARNING } else { DIM };
    let lines: Vec<_> = text.lines().collect();
    let mut shown = String::new();
    for line in lines.iter().take(LINES) {
        let _ = writeln!(shown, "  {style}{}{style:#}", cut(&one_line(line), SHOWN));
    }
    if lines.len() > LINES {
        let _ = writeln!(shown, "  {DIM}… {}{DIM:#}{fold}", counted(lines.len() - LINES, "more line"));
    } else if !fold.is_empty() {
        let _ = writeln!(shown, "  {DIM}…{DIM:#}{fold}");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookhost::FailureKind;
    use hookhost::contract::{Cause, Rejection, ToolOrigin};
    use serde_json::json;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    fn refused(cause: Cause) -> RejectionReport {
        let mut rejection = Rejection::host(vec!["guard".into()], cause, "uses too much\u{1b}[2J".into());
        rejection.refusal.code = Some("x.y".into());
        RejectionReport::from(&rejection)
    }

    #[test]
    fn the_end_line_counts_the_calls_of_sub_agents_with_their_tokens() {
        let usage = TokenUsage::new(400, 40);
        assert_eq!(used(2, 2, usage), "4 model calls (2 by sub-agents), 400 tokens in, 40 out");
        assert_eq!(used(1, 0, usage), "1 model call, 400 tokens in, 40 out");
    }

    #[test]
    fn a_plan_is_cut_as_arguments_are() {
        let (title, task) = ("t".repeat(100_000), "x".repeat(100_000));
        assert!(plain(&plan(&title, &[task])).len() < 2 * SHOWN + 40);
    }

    #[test]
    fn rejected_failed_timed_out_and_not_approved_read_differently() {
        let texts = [
            Cause::Verdict,
            Cause::Failed(FailureKind::Trap),
            Cause::Failed(FailureKind::Deadline),
            Cause::NotApproved,
        ]
        .map(|cause| plain(&because(&refused(cause))));
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
        let mut shown = OutputState::default();
        let id = "1".to_owned();
        let name = "bash".to_owned();
        let refusal = refused(Cause::Verdict);
        let event = AgentEvent::ToolRejected {
            id: id.clone(),
            name: name.clone(),
            arguments: json!({"command": "x"}),
            refusal,
        };
        assert!(plain(&shown.describe(&event)).starts_with("rejected bash command=x by guard: "));
        let finished = AgentEvent::ToolFinished { id, name, text: "Rejected by guard".into(), is_error: true };
        assert_eq!(shown.describe(&finished), "");
        assert_eq!(plain(&shown.describe(&finished)), "bash answered\n  Rejected by guard\n");
    }

    #[test]
    fn a_result_that_does_not_follow_its_calls_start_is_reported_with_its_tools_name() {
        let finished =
            AgentEvent::ToolFinished { id: "1".into(), name: "bash".into(), text: "x".into(), is_error: false };
        let mut shown = OutputState { last_started: Some(("1".into(), screen::questions())), ..OutputState::default() };
        assert_eq!(plain(&shown.describe(&finished)), "  x\n");
        shown.last_started = Some(("2".into(), screen::questions()));
        assert_eq!(plain(&shown.describe(&finished)), "bash answered\n  x\n");
    }

    #[test]
    fn a_long_result_is_cut() {
        let text = (1..=8).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
        assert_eq!(plain(&result(&text, false, "")), "  1\n  2\n  3\n  4\n  5\n  … 3 more lines\n");
        assert_eq!(cut("äöü", 2), "äö…");
    }

    #[test]
    fn what_is_shown_in_part_can_be_asked_for_by_its_number() {
        let people = ForPeople::folding();
        assert_eq!(people.unfold(None).unwrap_err(), "nothing was shown in part so far");
        let long = "x".repeat(SHOWN + 1);
        let name = || "bash".to_owned();
        let finished =
            |text: &str| AgentEvent::ToolFinished { id: "1".into(), name: name(), text: text.into(), is_error: false };
        let arguments = json!({ "command": long });
        let started = AgentEvent::ToolStarted { id: "1".into(), name: name(), origin: ToolOrigin::Builtin, arguments };
        let after = json!({ "command": format!("timeout 5 {long}") });
        let changed = AgentEvent::ToolChanged {
            id: "1".into(),
            name: name(),
            by: vec!["guard".into()],
            before: json!({ "command": "short" }),
            after,
        };
        let show = |event: &AgentEvent| plain(&people.shown().describe(event));
        assert!(show(&started).ends_with("… (/show 1)\n"));
        assert_eq!(people.unfold(Some(1)).unwrap(), format!("command: {long}"));
        assert!(!show(&finished("short")).contains("/show"));
        assert!(show(&finished(&long)).ends_with("…\n  … (/show 2)\n"));
        assert!(show(&finished("1\n2\n3\n4\n5\n6")).ends_with("  … 1 more line (/show 3)\n"));
        assert_eq!(people.unfold(None).unwrap(), "1\n2\n3\n4\n5\n6");
        assert!(show(&changed).ends_with("… (/show 4)\n"));
        assert!(people.unfold(None).unwrap().ends_with(&format!("+ command: timeout 5 {long}\n")));
        assert_eq!(people.unfold(Some(5)).unwrap_err(), "there is no text 5: 1 to 4 are stored");
        for _ in 0..MAX_KEPT {
            show(&finished(&long));
        }
        assert_eq!(people.unfold(Some(4)).unwrap_err(), "there is no text 4: 5 to 104 are stored");
        assert!(people.unfold(Some(5)).is_ok());
    }
}
