//! Asks the person at the terminal whether a call may run. Shows the call, the changes that plugins made to the call, and the plugins'
//! questions.

use crate::args::{Approve, ApproveArgs};
use crate::configuration;
use crate::output::{
    self, keyboard,
    question::describe,
    screen,
    style::{DIM, NAME, WARNING},
};
use futures_util::future::BoxFuture;
use hookhost::approval::{Approval, ApprovalRequest, Approver};
use rand::{TryRng as _, rngs::SysRng};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// Interval at which the thread that reads keys checks whether an answer is still awaited.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Keys that follow each other faster than this are not an answer, because the person was probably typing a line when the question
/// appeared.
const TYPING_PAUSE: Duration = Duration::from_millis(250);

/// Number of wrong keys after which the question is repeated. The next wrong key means no. The number is small, so that a program that
/// sends random keys seldom finds the right key.
const MAX_SLIPS: u32 = 1;

/// The last line of a question that needs a passkey.
const NO_PROMPT: &str = "A passkey is registered: say yes on the page (hookhost ui). Press n for no: ";

/// Letters that can mean yes. `y` and `n` are excluded because people press them out of habit. Letters that resemble other characters are
/// excluded, too.
const YES_LETTERS: &[u8] = b"abcdefghjkmprstuvwxz";

/// Returns an approver that puts questions to the person at the terminal. Returns `None` if there is no terminal, or if the options say
/// that every question is answered with no.
pub(crate) fn of(args: &ApproveArgs) -> Option<Arc<dyn Approver>> {
    if args.approve == Approve::Ask { changeable(args).0 } else { None }
}

/// Like [`of`], but also returns a switch that turns asking on and off later. The approver is `None` if there is no terminal.
pub(crate) fn changeable(args: &ApproveArgs) -> (Option<Arc<dyn Approver>>, Answering) {
    let is_there = io::stdin().is_terminal() && io::stderr().is_terminal();
    let asks = Arc::new(AtomicBool::new(is_there && args.approve == Approve::Ask));
    let answering = Answering { is_there, asks: Arc::clone(&asks) };
    let terminal = is_there.then(|| {
        Arc::new(Terminal { asks, keyboard: Arc::default(), one: tokio::sync::Mutex::default() }) as Arc<dyn Approver>
    });
    (terminal, answering)
}

/// A switch that turns questions to the person at the terminal on and off.
#[derive(Clone, Debug)]
pub(crate) struct Answering {
    is_there: bool,
    asks: Arc<AtomicBool>,
}

impl Answering {
    /// Returns the current setting.
    pub(crate) fn get(&self) -> Approve {
        if self.is_somebody_there() { Approve::Ask } else { Approve::Deny }
    }

    /// Returns true if there is a person and questions are shown.
    pub(crate) fn is_somebody_there(&self) -> bool {
        self.asks.load(Ordering::Relaxed)
    }

    /// Changes the setting from the next question on. Returns false if there is no person to ask.
    pub(crate) fn set(&self, how: Approve) -> bool {
        let asks = how == Approve::Ask;
        let can = self.is_there || !asks;
        if can {
            self.asks.store(asks, Ordering::Relaxed);
        }
        can
    }
}

/// The terminal of standard input and standard error.
#[derive(Debug)]
struct Terminal {
    asks: Arc<AtomicBool>,
    keyboard: Arc<Mutex<Keyboard>>,
    /// Locked while a question is on the screen. In this way, the questions of parallel agents appear one after the other.
    one: tokio::sync::Mutex<()>,
}

/// The state of the thread that reads keys. The thread reads only while an answer is awaited, because other keys are not meant for the
/// question.
#[derive(Debug, Default)]
struct Keyboard {
    /// The channel for the pressed keys. If the terminal has ended, `None` is sent.
    waiting: Option<oneshot::Sender<Option<String>>>,
    is_read: bool,
}

impl Approver for Terminal {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(async move {
            if !self.asks.load(Ordering::Relaxed) {
                return Approval::no().because("no question is shown: the answer is set to no");
            }
            let _one = self.one.lock().await;
            let key = match YesKey::random() {
                Ok(key) => key,
                Err(error) => {
                    return Approval::no()
                        .because(format!("no question is shown: the system gives no random number, {error}"));
                }
            };
            let Some(_modes) = keyboard::take_keys() else {
                return Approval::no().because("no question is shown: the terminal cannot read single keys");
            };
            // Keys that were pressed before the question was shown are not an answer.
            output::forget_typed();
            let mut answered = read_keys(&self.keyboard);
            let can_be_kept = request.can_be_kept();
            // The agent runs in this process, so its relative paths start at the working directory of the process.
            let workspace = configuration::cwd().ok();
            let deadline = in_words(request.deadline);
            let waits = format!("{DIM}If you do not answer within {deadline}, the answer is no.{DIM:#}\n");
            let question = describe(&request, workspace.as_deref());
            // With a passkey, only a no is given here. The yes comes from the page, and this future is dropped.
            let prompt = if request.needs_passkey { NO_PROMPT.to_owned() } else { key.prompt(can_be_kept) };
            screen::ask(&format!("{question}{waits}{prompt}"));
            let mut asked = QuestionOnScreen { shown: None, needs_passkey: request.needs_passkey };
            let mut slips = 0;
            let (approval, typed) = loop {
                let keys = answered.await.ok().flatten();
                let typed = keys.as_deref().map(|keys| key.answer(keys));
                if request.needs_passkey && typed.as_ref().is_some_and(|typed| *typed != TypedAnswer::No) {
                    answered = read_keys(&self.keyboard);
                    screen::ask_again(&format!("\n{NO_PROMPT}"));
                    continue;
                }
                match typed {
                    Some(TypedAnswer::Yes) => break (Approval::yes(), "yes"),
                    Some(TypedAnswer::Always) if can_be_kept => {
                        break (Approval::yes_for_session(), "yes, for the session");
                    }
                    Some(TypedAnswer::No) => break (Approval::no(), "no"),
                    Some(typed @ (TypedAnswer::Always | TypedAnswer::Slip)) if slips < MAX_SLIPS => {
                        slips += 1;
                        answered = read_keys(&self.keyboard);
                        let why = match typed {
                            TypedAnswer::Always => "A plugin asks, so a yes is valid only this time.",
                            _ => "That is not the key of this question.",
                        };
                        screen::ask_again(&format!("\n{why}\n{}", key.prompt(can_be_kept)));
                    }
                    Some(TypedAnswer::Always) => {
                        break (Approval::no().because("no yes for the session can be given"), "no");
                    }
                    Some(TypedAnswer::Slip) => {
                        break (Approval::no().because("the key of the question was not pressed"), "no");
                    }
                    None => break (Approval::no().because("nobody answered"), "no"),
                }
            };
            asked.shown = Some(typed);
            approval
        })
    }
}

/// The letter that means yes to one question, chosen at random. So a person cannot press it out of habit, and a program that writes to the
/// terminal without reading from it cannot know the letter.
#[derive(Debug, Clone, Copy)]
struct YesKey(char);

/// The meaning of the pressed keys.
#[derive(Debug, PartialEq, Eq)]
enum TypedAnswer {
    Yes,
    /// Yes, for the rest of the session.
    Always,
    /// A key that means neither yes nor no.
    Slip,
    No,
}

impl YesKey {
    fn random() -> Result<Self, impl std::fmt::Display> {
        let letter = |number: u32| YES_LETTERS[number as usize % YES_LETTERS.len()];
        SysRng.try_next_u32().map(|number| Self(char::from(letter(number))))
    }

    /// Interprets keys that were pressed without a pause between them.
    fn answer(self, keys: &str) -> TypedAnswer {
        let keys = keys.trim_end_matches(['\r', '\n']);
        let mut pressed = keys.chars();
        match (pressed.next(), pressed.next()) {
            (Some(key), None) if key == self.0 => TypedAnswer::Yes,
            (Some(key), None) if key == self.0.to_ascii_uppercase() => TypedAnswer::Always,
            // The keys are Enter, Ctrl-D and Escape.
            (None | Some('\u{4}' | '\u{1b}'), None) | (Some('n' | 'N'), _) => TypedAnswer::No,
            _ => TypedAnswer::Slip,
        }
    }

    /// Returns the last line of the question.
    fn prompt(self, can_be_kept: bool) -> String {
        let (yes, always) = (self.0, self.0.to_ascii_uppercase());
        let kept = if can_be_kept {
            format!(", {always} to agree to this same call for the rest of the session")
        } else {
            String::new()
        };
        format!("{NAME}Continue? Press {yes} to agree{kept}, n for no:{NAME:#} ")
    }
}

/// A question on the screen, while no other output is shown. If this value is dropped without an answer, a line on the screen says so.
struct QuestionOnScreen {
    /// The answer as shown on the screen. `None` while there is no answer.
    shown: Option<&'static str>,
    /// True if the answer can come from the page.
    needs_passkey: bool,
}

impl Drop for QuestionOnScreen {
    fn drop(&mut self) {
        match self.shown {
            Some(answer) => screen::answered(&format!("{answer}\n")),
            None if self.needs_passkey => screen::answered("\nanswered on the page, or no longer asked\n"),
            None => screen::answered(&format!("\n{WARNING}no longer asked:{WARNING:#} the answer is no\n")),
        }
    }
}

fn lock(keyboard: &Mutex<Keyboard>) -> MutexGuard<'_, Keyboard> {
    keyboard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the next keys that are pressed without a pause between them.
fn read_keys(keyboard: &Arc<Mutex<Keyboard>>) -> oneshot::Receiver<Option<String>> {
    let (answer, answered) = oneshot::channel();
    let mut state = lock(keyboard);
    state.waiting = Some(answer);
    if !state.is_read {
        state.is_read = true;
        let keyboard = Arc::clone(keyboard);
        std::thread::spawn(move || {
            loop {
                let typed = is_typed(POLL_INTERVAL);
                let mut state = lock(&keyboard);
                if state.waiting.as_ref().is_none_or(oneshot::Sender::is_closed) {
                    state.is_read = false;
                    return;
                }
                if typed {
                    break;
                }
            }
            let keys = pressed();
            let mut state = lock(&keyboard);
            state.is_read = false;
            if let Some(waiting) = state.waiting.take() {
                // An error means that the caller no longer waits, so the keys are not needed.
                let _ = waiting.send(keys);
            }
        });
    }
    answered
}

/// Reads the pressed keys, and the keys that follow without a pause. Returns `None` if the terminal has ended. The function does not use
/// the buffer of standard input, because that buffer reads ahead.
fn pressed() -> Option<String> {
    let mut keys = Vec::new();
    let mut buffer = [0; 256];
    loop {
        match rustix::io::read(io::stdin(), &mut buffer) {
            Ok(length @ 1..) => keys.extend_from_slice(&buffer[..length]),
            Err(rustix::io::Errno::INTR) => {}
            Ok(0) | Err(_) => return None,
        }
        if keys.len() >= buffer.len() || !is_typed(TYPING_PAUSE) {
            return Some(String::from_utf8_lossy(&keys).into_owned());
        }
    }
}

/// Returns true if input arrives within `wait`, or if the terminal has ended.
fn is_typed(wait: Duration) -> bool {
    let input = io::stdin();
    let mut streams = [PollFd::new(&input, PollFlags::IN)];
    let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
    poll(&mut streams, Some(&wait)).is_ok_and(|ready| ready > 0)
}

/// Formats a duration in whole minutes if possible, otherwise in seconds.
fn in_words(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        60.. if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        1.. => format!("{seconds} s"),
        0 => format!("{time:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{TypedAnswer, YES_LETTERS, YesKey};

    #[test]
    fn one_key_answers_a_question_and_neither_a_habit_nor_typing_does() {
        let key = YesKey('k');
        for (keys, typed) in [
            ("k", TypedAnswer::Yes),
            ("k\r", TypedAnswer::Yes),
            ("K", TypedAnswer::Always),
            ("n", TypedAnswer::No),
            ("N\n", TypedAnswer::No),
            ("no\n", TypedAnswer::No),
            ("\r", TypedAnswer::No),
            ("\u{4}", TypedAnswer::No),
            ("\u{1b}", TypedAnswer::No),
            ("y", TypedAnswer::Slip),
            ("yes\n", TypedAnswer::Slip),
            ("j", TypedAnswer::Slip),
            ("\u{1b}[A", TypedAnswer::Slip),
            ("kk", TypedAnswer::Slip),
            ("keep going", TypedAnswer::Slip),
            (" k", TypedAnswer::Slip),
        ] {
            assert_eq!(key.answer(keys), typed, "{keys:?}");
        }
    }

    #[test]
    fn the_key_is_another_one_each_time_and_never_that_of_a_habit() {
        let keys: std::collections::HashSet<_> = (0..500).map(|_| YesKey::random().ok().unwrap().0).collect();
        assert!(keys.len() > YES_LETTERS.len() / 2 && !keys.contains(&'y') && !keys.contains(&'n'), "{keys:?}");
    }
}
