//! Shows a status line while a model or a tool works. The line contains the name of the model or tool, the time, and the tokens used so
//! far.

use crate::output::{one_line, screen, truncate::cut};
use hookhost_agent::agent::AgentEvent;
use hookhost_models::message::TokenUsage;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Work that takes less time than this gets no status line.
const MIN_SHOWN: Duration = Duration::from_secs(1);

/// Interval at which the status line is rewritten.
const FRAME_INTERVAL: Duration = Duration::from_millis(100);

/// The frames of the animation.
const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// Maximum number of characters of a name in the status line.
const NAME: usize = 30;

/// The work in progress.
#[derive(Debug, Default)]
pub(super) struct Progress {
    model: Option<(String, Instant)>,
    /// Running tools as (call id, name, start), in the order of their start.
    tools: Vec<(String, String, Instant)>,
    used: TokenUsage,
}

impl Progress {
    /// Updates the state after an event of the agent.
    pub(super) fn handle(&mut self, event: &AgentEvent, now: Instant) {
        match event {
            AgentEvent::TurnStarted { model, .. } => self.model = Some((plain(model), now)),
            AgentEvent::Usage { session, .. } => {
                self.used = *session;
                self.model = None;
            }
            AgentEvent::ToolStarted { id, name, .. } => self.tools.push((id.clone(), plain(name), now)),
            AgentEvent::ToolFinished { id, .. } => self.tools.retain(|(call, ..)| call != id),
            AgentEvent::TaskEnded { .. } => {
                self.model = None;
                self.tools.clear();
            }
            _ => {}
        }
    }

    /// Returns the status line if the work has taken longer than [`MIN_SHOWN`].
    fn line(&self, now: Instant) -> Option<String> {
        let (what, since) = match (self.tools.as_slice(), &self.model) {
            ([(_, name, since)], _) => (name.clone(), since),
            ([(_, name, since), others @ ..], _) => (format!("{name} and {} more", others.len()), since),
            ([], Some((model, since))) => (model.clone(), since),
            ([], None) => return None,
        };
        let time = now.saturating_duration_since(*since);
        let frame =
            FRAMES.get(usize::try_from(time.as_millis() / FRAME_INTERVAL.as_millis()).unwrap_or(0) % FRAMES.len())?;
        let TokenUsage { input_tokens, output_tokens, .. } = self.used;
        let time_so_far = in_words(time);
        (time >= MIN_SHOWN)
            .then(|| format!("{frame} {what} {time_so_far}, {input_tokens} tokens in, {output_tokens} out"))
    }
}

/// Returns a name in which each character is one column wide. With such a name, the length of the line is known.
fn plain(name: &str) -> String {
    let name = cut(&one_line(name), NAME);
    name.chars().map(|character| if character.is_ascii() || character == '…' { character } else { '?' }).collect()
}

fn in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// Shows the status line until this value is dropped.
#[derive(Debug)]
pub(crate) struct Spinner {
    /// Dropping this sender ends the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Spinner {
    /// Starts the thread that shows the status line, if there is a terminal.
    pub(super) fn start(progress: Arc<Mutex<Progress>>) -> Option<Self> {
        if !screen::shows_status() {
            return None;
        }
        let (stop, stopped) = channel();
        let thread = std::thread::spawn(move || {
            while stopped.recv_timeout(FRAME_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let line = progress.lock().unwrap_or_else(PoisonError::into_inner).line(Instant::now());
                match line {
                    Some(line) => screen::status(&line),
                    None => screen::no_status(),
                }
            }
            screen::no_status();
        });
        Some(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookhost::contract::ToolOrigin;
    use serde_json::json;

    fn started(id: &str, name: &str) -> AgentEvent {
        AgentEvent::ToolStarted { id: id.into(), name: name.into(), origin: ToolOrigin::Builtin, arguments: json!({}) }
    }

    fn finished(id: &str) -> AgentEvent {
        AgentEvent::ToolFinished { id: id.into(), name: String::new(), text: String::new(), is_error: false }
    }

    #[test]
    fn the_line_says_what_is_under_way_for_how_long_and_what_was_used() {
        let began = Instant::now();
        let at = |seconds: f64| began + Duration::from_secs_f64(seconds);
        let mut progress = Progress::default();
        assert_eq!(progress.line(began), None);
        let (provider, model) = (String::new(), "mö\u{1b}del".to_owned());
        progress.handle(&AgentEvent::TurnStarted { turn: 1, provider: provider.clone(), model: model.clone() }, began);
        assert_eq!(progress.line(at(0.9)), None, "what is short is not shown");
        assert_eq!(progress.line(at(2.1)).unwrap(), "⠙ m??del 2 s, 0 tokens in, 0 out");
        assert_eq!(progress.line(at(125.0)).unwrap(), "⠋ m??del 2 min 5 s, 0 tokens in, 0 out");
        let session = TokenUsage::new(30, 4);
        progress.handle(&AgentEvent::Usage { provider, model, call: session, session }, began);
        assert_eq!(progress.line(at(9.0)), None, "the model has answered");
        progress.handle(&started("1", "bash"), at(1.0));
        progress.handle(&started("2", "agent"), at(2.0));
        assert_eq!(progress.line(at(3.0)).unwrap(), "⠋ bash and 1 more 2 s, 30 tokens in, 4 out");
        progress.handle(&finished("1"), at(4.0));
        assert_eq!(progress.line(at(4.0)).unwrap(), "⠋ agent 2 s, 30 tokens in, 4 out");
        progress.handle(&finished("2"), at(5.0));
        assert_eq!(progress.line(at(9.0)), None);
    }
}
