//! Shows a status line while a model or a tool works. The line contains the name of the model or tool, the time, and the tokens used so
//! far.

use crate::output::progress::{MIN_SHOWN, frame, in_words};
use crate::output::{one_line, truncate::cut};
use hookhost_agent::agent::AgentEvent;
use hookhost_models::message::TokenUsage;
use std::time::Instant;

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
    pub(super) fn line(&self, now: Instant) -> Option<String> {
        let (what, since) = match (self.tools.as_slice(), &self.model) {
            ([(_, name, since)], _) => (name.clone(), since),
            ([(_, name, since), others @ ..], _) => (format!("{name} and {} more", others.len()), since),
            ([], Some((model, since))) => (model.clone(), since),
            ([], None) => return None,
        };
        let time = now.saturating_duration_since(*since);
        let TokenUsage { input_tokens, output_tokens, .. } = self.used;
        let time_so_far = in_words(time);
        (time >= MIN_SHOWN)
            .then(|| format!("{} {what} {time_so_far}, {input_tokens} tokens in, {output_tokens} out", frame(time)))
    }
}

/// Returns a name in which each character is one column wide. With such a name, the length of the line is known.
fn plain(name: &str) -> String {
    let name = cut(&one_line(name), NAME);
    name.chars().map(|character| if character.is_ascii() || character == '…' { character } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookhost::contract::ToolOrigin;
    use serde_json::json;
    use std::time::Duration;

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
