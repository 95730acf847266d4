//! Events of a session and its prompts.

use super::declare::{event, text_event};
use super::{CollectEvent, Event};
use crate::contract::{Session, Task, Usage};
use crate::session::{self, Settled, TransformOutcome};

/// A session opens.
pub(crate) struct SessionStart;

impl Event for SessionStart {
    type Payload = Nothing;
    type Params<'a> = (&'a Session,);
    type Return = (Vec<Task>,);
    const PARAMETER: Option<&'static str> = None;

    fn params<'a>(session: &'a Session, _: &'a Nothing) -> Self::Params<'a> {
        (session,)
    }
}

impl CollectEvent for SessionStart {
    type Verdict = Vec<Task>;
    fn tasks(tasks: Vec<Task>) -> Vec<Task> {
        tasks
    }
}

event! {
    /// A session ends.
    SessionEnd("usage": Usage) -> ()
}

text_event! {
    /// The user has sent a prompt.
    PromptSubmit("prompt")
}

/// The payload of an event that carries nothing but the session.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

impl session::Session {
    /// Asks `session-start`; call it once, and await it before anything else. The tasks join the agent's queue.
    pub async fn session_start(&self) -> Settled<Vec<Task>> {
        self.dispatch::<SessionStart>(Nothing {}).await
    }

    /// Tells `session-end`, with the session's totals.
    pub async fn session_end(&self, usage: Usage) -> Settled<()> {
        self.dispatch::<SessionEnd>(usage).await
    }

    /// Asks `prompt-submit` about a prompt of the user.
    pub async fn prompt_submit(&self, prompt: String) -> Settled<TransformOutcome<String>> {
        let settled = self.dispatch::<PromptSubmit>(prompt).await;
        if let TransformOutcome::Passed { value } = &settled.outcome {
            self.works_on(value);
        }
        settled
    }
}
