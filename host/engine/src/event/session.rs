//! Events of a session and its prompts.

use super::declare::{event, text_event};
use super::{CollectEvent, Event};
use crate::contract::{Nothing, Session, Task, Usage};
use crate::wire::{Given as _, In};

/// A session opens.
#[derive(Debug)]
pub struct SessionStart;

impl Event for SessionStart {
    type Payload = Nothing;
    type Params<'a> = (In<'a, Session>,);
    type Return = (Vec<Task>,);
    const PARAMETER: Option<&'static str> = None;

    fn params<'a>(session: &'a Session, _: &'a Nothing) -> Self::Params<'a> {
        (session.given(),)
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
