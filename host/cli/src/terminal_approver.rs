//! Asking the person at the terminal: shows what would run, what was changed and by whom, and the questions.

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

/// Interval of checking whether an answer is still waited for.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Keys that follow each other faster are typing, not an answer: a person was in the middle of a line when the question came.
const TYPING_PAUSE: Duration = Duration::from_millis(250);

/// Number of wrong keys that are asked about again; the next one is a no. Few, so that a program that types blindly seldom meets
/// the right one.
const MAX_SLIPS: u32 = 1;

/// Letters of which one means yes: neither `y` nor `n`, which people press out of habit, nor those that are mistaken for others.
const YES_LETTERS: &[u8] = b"abcdefghjkmprstuvwxz";

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

/// One thread reads the keys, as long as an answer is waited for: what is typed later is not for it.
#[derive(Debug, Default)]
struct Keyboard {
    /// Who waits for an answer; it gets nothing where the terminal has ended.
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
            let key = match YesKey::random() {
                Ok(key) => key,
                Err(error) => {
                    return Approval::no()
                        .because(format!("nobody is asked: the system gives no random number, {error}"));
                }
            };
            let Some(_modes) = keyboard::take_keys() else {
                return Approval::no().because("nobody is asked: the terminal gives no single keys");
            };
            // What was typed before the question was seen is no answer to it.
            output::forget_typed();
            let mut answered = read_keys(&self.keyboard);
            let can_be_kept = request.can_be_kept();
            // Relative paths of the agent in this process are those of this directory.
            let workspace = configuration::cwd().ok();
            let deadline = in_words(request.deadline);
            let waits = format!("{DIM}Without an answer within {deadline} it is no.{DIM:#}\n");
            let question = describe(&request, workspace.as_deref());
            screen::ask(&format!("{question}{waits}{}", key.prompt(can_be_kept)));
            let mut asked = Asked { shown: None };
            let mut slips = 0;
            let (approval, typed) = loop {
                let keys = answered.await.ok().flatten();
                match keys.as_deref().map(|keys| key.answer(keys)) {
                    Some(Typed::Yes) => break (Approval::yes(), "yes"),
                    Some(Typed::Always) if can_be_kept => break (Approval::yes_for_session(), "yes, for the session"),
                    Some(Typed::No) => break (Approval::no(), "no"),
                    Some(typed @ (Typed::Always | Typed::Slip)) if slips < MAX_SLIPS => {
                        slips += 1;
                        answered = read_keys(&self.keyboard);
                        let why = match typed {
                            Typed::Always => "A plugin asks, so a yes is for this once.",
                            _ => "That is not the key of this question.",
                        };
                        screen::ask_again(&format!("\n{why}\n{}", key.prompt(can_be_kept)));
                    }
                    Some(Typed::Always) => break (Approval::no().because("no yes for the session can be given"), "no"),
                    Some(Typed::Slip) => {
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

/// The letter that means yes to one question, another one each time. So it is neither the key that a person presses out of habit,
/// nor one that a program can know that writes into the terminal without seeing it.
#[derive(Debug, Clone, Copy)]
struct YesKey(char);

/// Meaning of what was typed at a question.
#[derive(Debug, PartialEq, Eq)]
enum Typed {
    Yes,
    /// Yes, for the rest of the session.
    Always,
    /// Neither a yes nor a no.
    Slip,
    No,
}

impl YesKey {
    fn random() -> Result<Self, impl std::fmt::Display> {
        let letter = |number: u32| YES_LETTERS[number as usize % YES_LETTERS.len()];
        SysRng.try_next_u32().map(|number| Self(char::from(letter(number))))
    }

    /// Reads the keys that were pressed without a pause between them.
    fn answer(self, keys: &str) -> Typed {
        let keys = keys.trim_end_matches(['\r', '\n']);
        let mut pressed = keys.chars();
        match (pressed.next(), pressed.next()) {
            (Some(key), None) if key == self.0 => Typed::Yes,
            (Some(key), None) if key == self.0.to_ascii_uppercase() => Typed::Always,
            // Enter, Ctrl-D, Escape.
            (None | Some('\u{4}' | '\u{1b}'), None) | (Some('n' | 'N'), _) => Typed::No,
            _ => Typed::Slip,
        }
    }

    /// The last line of the question.
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

/// A question that is alone on the screen. If nobody waits for its answer any more, the screen says so.
struct Asked {
    /// The answer, as the screen shows it.
    shown: Option<&'static str>,
}

impl Drop for Asked {
    fn drop(&mut self) {
        match self.shown {
            Some(answer) => screen::answered(&format!("{answer}\n")),
            None => screen::answered(&format!("\n{WARNING}no longer asked:{WARNING:#} the answer is no\n")),
        }
    }
}

fn lock(keyboard: &Mutex<Keyboard>) -> MutexGuard<'_, Keyboard> {
    keyboard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The next keys that are pressed without a pause between them.
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
                // A caller that has given up waiting needs no answer.
                let _ = waiting.send(keys);
            }
        });
    }
    answered
}

/// The keys that are there, and those that follow without a pause; `None` where the terminal has ended. They are read past the
/// buffer of the standard input, which reads more than it gives.
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

/// True if there is something to read within `wait`, also where the terminal has ended.
fn is_typed(wait: Duration) -> bool {
    let input = io::stdin();
    let mut streams = [PollFd::new(&input, PollFlags::IN)];
    let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
    poll(&mut streams, Some(&wait)).is_ok_and(|ready| ready > 0)
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

#[cfg(test)]
mod tests {
    use super::{Typed, YES_LETTERS, YesKey};

    #[test]
    fn one_key_answers_a_question_and_neither_a_habit_nor_typing_does() {
        let key = YesKey('k');
        for (keys, typed) in [
            ("k", Typed::Yes),
            ("k\r", Typed::Yes),
            ("K", Typed::Always),
            ("n", Typed::No),
            ("N\n", Typed::No),
            ("no\n", Typed::No),
            ("\r", Typed::No),
            ("\u{4}", Typed::No),
            ("\u{1b}", Typed::No),
            ("y", Typed::Slip),
            ("yes\n", Typed::Slip),
            ("j", Typed::Slip),
            ("\u{1b}[A", Typed::Slip),
            ("kk", Typed::Slip),
            ("keep going", Typed::Slip),
            (" k", Typed::Slip),
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
