//! Asking the person at the terminal: shows what would run, what was changed and by whom, and the questions.

use crate::args::{Approve, ApproveArgs};
use crate::output::{
    self, difference, one_line, printable, screen,
    style::{CHANGED, DIM, NAME, WARNING},
    truncate::words,
};
use futures_util::future::BoxFuture;
use hookhost::approval::{Approval, ApprovalRequest, Approver};
use rand::{TryRng as _, rngs::SysRng};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// Interval of checking whether an answer is still waited for.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How often an answer without the number of the question is taken for a slip; the next one is a no.
const MAX_SLIPS: u32 = 2;

/// The person at the terminal; `None` if there is none, or the answer is to be no.
pub(crate) fn of(args: &ApproveArgs) -> Option<Arc<dyn Approver>> {
    if args.approve == Approve::Ask { changeable(args).0 } else { None }
}

/// The same, where it can change whether they are asked; `None` where there is nobody.
pub(crate) fn changeable(args: &ApproveArgs) -> (Option<Arc<dyn Approver>>, Answering) {
    let is_there = io::stdin().is_terminal() && io::stderr().is_terminal();
    let asks = Arc::new(AtomicBool::new(is_there && args.approve == Approve::Ask));
    let answering = Answering { is_there, asks: Arc::clone(&asks) };
    let terminal = is_there.then(|| {
        Arc::new(Terminal { asks, keyboard: Arc::default(), one: tokio::sync::Mutex::default() }) as Arc<dyn Approver>
    });
    (terminal, answering)
}

/// Whether the person at the terminal is asked.
#[derive(Clone, Debug)]
pub(crate) struct Answering {
    is_there: bool,
    asks: Arc<AtomicBool>,
}

impl Answering {
    /// How the next question is answered.
    pub(crate) fn get(&self) -> Approve {
        if self.is_somebody_there() { Approve::Ask } else { Approve::Deny }
    }

    /// Whether there is somebody to be asked who is asked.
    pub(crate) fn is_somebody_there(&self) -> bool {
        self.asks.load(Ordering::Relaxed)
    }

    /// Changes it from the next question on; not where nobody can be asked.
    pub(crate) fn set(&self, how: Approve) -> bool {
        let asks = how == Approve::Ask;
        let can = self.is_there || !asks;
        if can {
            self.asks.store(asks, Ordering::Relaxed);
        }
        can
    }
}

/// The terminal of the standard input and error.
#[derive(Debug)]
struct Terminal {
    asks: Arc<AtomicBool>,
    keyboard: Arc<Mutex<Keyboard>>,
    /// Held by the question on the screen: agents that run beside each other ask one after the other.
    one: tokio::sync::Mutex<()>,
}

/// One thread reads the answers, as long as one is waited for: what is typed later is not for it.
/// Since the terminal gives whole lines only, a read that finds something to read does not wait.
#[derive(Debug, Default)]
struct Keyboard {
    /// Who waits for a line; it gets nothing where the terminal has ended.
    waiting: Option<oneshot::Sender<Option<String>>>,
    is_read: bool,
}

impl Approver for Terminal {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(async move {
            if !self.asks.load(Ordering::Relaxed) {
                return Approval::no().because("nobody is asked: the answer is set to no");
            }
            let _one = self.one.lock().await;
            let code = match Code::fresh() {
                Ok(code) => code,
                Err(error) => {
                    return Approval::no()
                        .because(format!("nobody is asked: the system gives no random number, {error}"));
                }
            };
            // What was typed before the question was seen is no answer to it.
            output::forget_typed();
            let mut answered = read_line(&self.keyboard);
            let can_be_kept = request.can_be_kept();
            screen::ask(&describe(&request, &code));
            let mut asked = Asked { answered: false };
            let mut slips = 0;
            let approval = loop {
                match answered.await.ok().flatten().map(|line| code.answer(&line)) {
                    Some(Typed::Yes) => break Approval::yes(),
                    Some(Typed::Always) if can_be_kept => break Approval::yes_for_session(),
                    Some(Typed::No) => break Approval::no(),
                    Some(typed @ (Typed::Always | Typed::Slip)) if slips < MAX_SLIPS => {
                        slips += 1;
                        answered = read_line(&self.keyboard);
                        let why = match typed {
                            Typed::Always => "A plugin asks, so a yes is for this once.",
                            _ => "A yes has the number of this question.",
                        };
                        screen::ask_again(&format!("{why}\n{}", code.prompt()));
                    }
                    Some(Typed::Always) => break Approval::no().because("no yes for the session can be given"),
                    Some(Typed::Slip) => {
                        break Approval::no().because("the answers had not the number of the question");
                    }
                    None => break Approval::no().because("nobody answered"),
                }
            };
            asked.answered = true;
            approval
        })
    }
}

/// A number that a yes must repeat: only who sees the screen can say yes. What writes into the
/// terminal, such as a program of the agent that got hold of it, can type and not read.
#[derive(Debug)]
struct Code(String);

/// What was typed at a question.
#[derive(Debug, PartialEq, Eq)]
enum Typed {
    Yes,
    /// Yes, for the rest of the session.
    Always,
    /// Meant as a yes, it seems, and without the number.
    Slip,
    No,
}

impl Code {
    /// Four digits of the system's random numbers, for one question.
    fn fresh() -> Result<Self, impl std::fmt::Display> {
        SysRng.try_next_u32().map(|number| Self(format!("{:04}", number % 10_000)))
    }

    fn answer(&self, line: &str) -> Typed {
        let line = line.trim().to_ascii_lowercase();
        let words = [("yes", Typed::Yes), ("y", Typed::Yes), ("always", Typed::Always), ("a", Typed::Always)];
        let said = words.into_iter().find_map(|(word, typed)| Some((line.strip_prefix(word)?.trim_start(), typed)));
        match said {
            Some((digits, typed)) if digits == self.0 => typed,
            Some((digits, _)) if digits.chars().all(|character| character.is_ascii_digit()) => Typed::Slip,
            None if line == self.0 => Typed::Slip,
            _ => Typed::No,
        }
    }

    /// How a yes is given that is kept.
    fn offer(&self) -> String {
        format!("{DIM}With \"a {}\" you agree to this same call for the rest of the session.{DIM:#}\n", self.0)
    }

    /// What is asked in the end; no is what Enter alone says.
    fn prompt(&self) -> String {
        format!("{NAME}Continue? Type \"y {}\" to agree [N]{NAME:#} ", self.0)
    }
}

/// A question that is alone on the screen. If nobody waits for its answer any more, the screen says so.
struct Asked {
    answered: bool,
}

impl Drop for Asked {
    fn drop(&mut self) {
        if self.answered {
            screen::answered("");
        } else {
            screen::answered(&format!("\n{WARNING}no longer asked:{WARNING:#} the answer is no\n"));
        }
    }
}

fn lock(keyboard: &Mutex<Keyboard>) -> MutexGuard<'_, Keyboard> {
    keyboard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The next line that is typed.
fn read_line(keyboard: &Arc<Mutex<Keyboard>>) -> oneshot::Receiver<Option<String>> {
    let (answer, answered) = oneshot::channel();
    let mut state = lock(keyboard);
    state.waiting = Some(answer);
    if !state.is_read {
        state.is_read = true;
        let keyboard = Arc::clone(keyboard);
        std::thread::spawn(move || {
            loop {
                let typed = is_typed();
                let mut state = lock(&keyboard);
                if state.waiting.as_ref().is_none_or(oneshot::Sender::is_closed) {
                    state.is_read = false;
                    return;
                }
                if typed {
                    break;
                }
            }
            let mut line = String::new();
            let read = io::stdin().read_line(&mut line);
            let line = read.is_ok_and(|length| length > 0).then_some(line);
            let mut state = lock(&keyboard);
            state.is_read = false;
            if let Some(waiting) = state.waiting.take() {
                // A caller that has given up waiting needs no answer.
                let _ = waiting.send(line);
            }
        });
    }
    answered
}

/// Whether there is something to read, or comes within a moment; also where the terminal has ended.
fn is_typed() -> bool {
    let input = io::stdin();
    let mut streams = [PollFd::new(&input, PollFlags::IN)];
    let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(POLL_INTERVAL.subsec_nanos()) };
    poll(&mut streams, Some(&wait)).is_ok_and(|ready| ready > 0)
}

fn describe(request: &ApprovalRequest, code: &Code) -> String {
    let mut text = String::new();
    if let Some(agent) = sub_agent(request) {
        let _ = writeln!(text, "{WARNING}{agent}{WARNING:#}");
    }
    for question in &request.questions {
        let by = one_line(&question.by.to_string());
        let _ = writeln!(text, "{WARNING}{by} asks:{WARNING:#} {}", words(&question.escalation.question));
    }
    let _ = writeln!(text, "{DIM}what would happen ({}):{DIM:#}\n{}", request.event, indented(request.value.get()));
    if !request.changed_by.is_empty() {
        let by = one_line(&request.changed_by.join(", "));
        let parsed = |json: &str| serde_json::from_str(json).unwrap_or(Value::Null);
        let differences = difference::lines(&parsed(request.original.get()), &parsed(request.value.get()), usize::MAX);
        let _ = write!(text, "{CHANGED}changed by {by}{CHANGED:#}:\n{differences}");
    }
    if let Some(response) = &request.response {
        let by = one_line(&response.by);
        let result = indented(response.result.get());
        let _ = writeln!(
            text,
            "{CHANGED}{by} answers in its place{CHANGED:#}: it does not run, and this is its result\n{result}"
        );
    }
    let _ = writeln!(text, "{DIM}Without an answer within {} it is no.{DIM:#}", in_words(request.deadline));
    if request.can_be_kept() {
        text.push_str(&code.offer());
    }
    text.push_str(&code.prompt());
    text
}

/// Which sub-agent asks; nothing where it is the agent that one talks to.
fn sub_agent(request: &ApprovalRequest) -> Option<String> {
    let agent = &request.agent;
    if agent.depth == 0 {
        return None;
    }
    let (session, depth) = (one_line(&request.session), agent.depth);
    let task = agent.task.as_deref().map(|task| format!(", whose task begins “{}”", one_line(task)));
    Some(format!("of the sub-agent {session} (depth {depth}){}:", task.unwrap_or_default()))
}

/// A time as one reads it: whole minutes, or else seconds.
fn in_words(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        60.. if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        1.. => format!("{seconds} s"),
        0 => format!("{time:?}"),
    }
}

/// A record as lines of `key: value`, long texts as they are.
fn indented(json: &str) -> String {
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(json) else {
        return format!("  {}", one_line(json));
    };
    let line = |(key, value): (&String, &Value)| match value {
        Value::String(text) => {
            format!("  {DIM}{}:{DIM:#} {}", one_line(key), printable(text).replace('\n', "\n    "))
        }
        other => format!("  {DIM}{}:{DIM:#} {}", one_line(key), one_line(&other.to_string())),
    };
    fields.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{Code, Typed, describe};
    use hookhost::approval::ApprovalRequest;

    #[test]
    fn a_yes_has_the_number_of_its_question() {
        let code = Code("0042".into());
        for (line, typed) in [
            ("y 0042\n", Typed::Yes),
            ("  Yes 0042 \r\n", Typed::Yes),
            ("y0042\n", Typed::Yes),
            ("a 0042\n", Typed::Always),
            ("Always 0042\n", Typed::Always),
            ("a\n", Typed::Slip),
            ("a 0043\n", Typed::Slip),
            ("and 0042\n", Typed::No),
            ("y\n", Typed::Slip),
            ("YES\n", Typed::Slip),
            ("y 0043\n", Typed::Slip),
            ("y 42\n", Typed::Slip),
            ("0042\n", Typed::Slip),
            ("\n", Typed::No),
            ("n\n", Typed::No),
            ("n 0042\n", Typed::No),
            ("yep 0042\n", Typed::No),
            ("0043\n", Typed::No),
        ] {
            assert_eq!(code.answer(line), typed, "{line:?}");
        }
    }

    #[test]
    fn two_questions_have_different_numbers() {
        let numbers: std::collections::HashSet<_> = (0..100).map(|_| Code::fresh().ok().unwrap().0).collect();
        assert!(numbers.len() > 50 && numbers.iter().all(|number| number.len() == 4), "{numbers:?}");
    }

    #[test]
    fn a_question_shows_the_final_value_what_was_changed_by_whom_and_who_asks() {
        let request = serde_json::from_value(serde_json::json!({
            "id": "1",
            "session": "s\u{1b}7",
            "agent": { "depth": 2, "parent": "p", "task": "Build\nit" },
            "event": "before-tool-call",
            "original": { "name": "bash", "arguments": { "command": "make" } },
            "value": { "name": "bash", "arguments": { "command": "timeout 60 make\u{1b}[2J" } },
            "changed-by": ["bounded-shell"],
            "response": null,
            "questions": [
                { "plugin": "careful", "question": "Really make?\u{1b}[1A" },
                { "configuration": true, "question": "May the tool bash\nrun?" },
            ],
            "deadline-ms": 300_000,
        }));
        let request: ApprovalRequest = request.unwrap();
        let text = anstream::adapter::strip_str(&describe(&request, &Code("4821".into()))).to_string();
        assert_eq!(
            text,
            "of the sub-agent s\u{fffd}7 (depth 2), whose task begins “Build it”:\n\
             careful asks: Really make?\u{fffd}[1A\n\
             the configuration asks: May the tool bash run?\n\
             what would happen (before-tool-call):\n  name: bash\n  arguments: {\"command\":\"timeout 60 make\\u001b[2J\"}\n\
             changed by bounded-shell:\n    - arguments.command: make\n    + arguments.command: timeout 60 make\u{fffd}[2J\n\
             Without an answer within 5 min it is no.\n\
             Continue? Type \"y 4821\" to agree [N] "
        );
    }
}
