//! A request to the model in a form that is the same for all protocols, and the answer of the scripts.

use serde_json::Value;

/// A script, which is a list of the model's answers.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// The name by which a prompt selects the script: `[script NAME]`.
    pub(crate) name: &'static str,
    /// The answers, in order. After the last answer, the model says that it is done.
    pub(crate) steps: Vec<Step>,
}

/// One answer of the model.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Calls of tools.
    Calls(Vec<Call>),
    /// A text, which ends the agent's turn.
    Text(String),
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    /// The tool's name.
    pub(crate) tool: String,
    /// The arguments of the call, a JSON object.
    pub(crate) arguments: Value,
}

impl Call {
    /// Makes a call of `tool`.
    pub(crate) fn new(tool: &str, arguments: Value) -> Self {
        Self { tool: tool.to_owned(), arguments }
    }
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The user, or the agent in the user's name.
    User,
    /// The model.
    Model,
    /// A tool.
    Tool,
}

/// A message of a conversation.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) role: Role,
    pub(crate) text: String,
    /// True if it contains calls of tools.
    pub(crate) has_calls: bool,
}

/// A request to the model.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The conversation, oldest message first.
    pub(crate) turns: Vec<Turn>,
    /// The tools that the model may call.
    pub(crate) tools: Vec<Offer>,
    /// True if the answer must be a stream.
    pub(crate) streams: bool,
    /// True if the answer must be JSON that fits a schema. Agents send such requests for their own purposes, such as a title for the
    /// session.
    pub(crate) wants_json: bool,
}

/// A tool that the model may call.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) name: String,
    /// The group of the tool in OpenAI's Responses.
    pub(crate) namespace: Option<String>,
    /// True if the tool takes a text in place of a JSON object.
    pub(crate) takes_text: bool,
}

/// The answer to a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) text: Option<String>,
    pub(crate) calls: Vec<(Call, Offer)>,
}

impl Request {
    /// Returns the scripts' answer, the name of the script and the number of the step.
    pub(crate) fn answer(&self, scripts: &[Script]) -> (Answer, Option<(&'static str, usize)>) {
        let text = |text: &str| Answer { text: Some(text.to_owned()), calls: Vec::new() };
        if self.wants_json {
            return (text("{}"), None);
        }
        let Some((script, since)) = self.script(scripts).filter(|_| !self.tools.is_empty()) else {
            return (text("All done."), None);
        };
        let step = self.turns[since..].iter().filter(|turn| turn.role == Role::Model && turn.has_calls).count();
        let answer = match script.steps.get(step) {
            None => text("All done."),
            Some(Step::Text(said)) => text(said),
            Some(Step::Calls(calls)) => self.calls(calls),
        };
        (answer, Some((script.name, step)))
    }

    /// Returns the script that the last prompt names, and the index of that prompt.
    fn script<'a>(&self, scripts: &'a [Script]) -> Option<(&'a Script, usize)> {
        let prompts = self.turns.iter().enumerate().rev().filter(|(_, turn)| turn.role == Role::User);
        prompts.into_iter().find_map(|(number, turn)| {
            let named = scripts.iter().filter_map(|script| {
                turn.text.rfind(&format!("[script {}]", script.name)).map(|place| (place, script))
            });
            named.max_by_key(|(place, _)| *place).map(|(_, script)| (script, number))
        })
    }

    /// Returns an answer with these calls. If a tool is not offered, returns a text that lists the offered tools instead.
    fn calls(&self, calls: &[Call]) -> Answer {
        let mut answer = Answer::default();
        for call in calls {
            match self.tools.iter().find(|offer| offer.name == call.tool) {
                Some(offer) => answer.calls.push((call.clone(), offer.clone())),
                None => {
                    let offered: Vec<_> = self.tools.iter().map(|offer| offer.name.as_str()).collect();
                    answer.text = Some(format!("There is no tool {}, but: {}", call.tool, offered.join(", ")));
                }
            }
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, Offer, Request, Role, Script, Step, Turn};
    use serde_json::json;

    fn turn(role: Role, text: &str, has_calls: bool) -> Turn {
        Turn { role, text: text.to_owned(), has_calls }
    }

    #[test]
    fn the_last_prompt_says_which_script_counts_and_the_calls_after_it_which_step() {
        let call = |command: &str| Step::Calls(vec![Call::new("bash", json!({ "command": command }))]);
        let scripts = [
            Script { name: "main", steps: vec![call("one"), call("two")] },
            Script { name: "more", steps: vec![call("three")] },
        ];
        let offer = Offer { name: "bash".into(), namespace: None, takes_text: false };
        let mut request = Request { turns: Vec::new(), tools: vec![offer], streams: false, wants_json: false };
        let command = |request: &Request| {
            request.answer(&scripts).0.calls.first().map(|(call, _)| call.arguments["command"].clone())
        };
        request.turns.push(turn(Role::User, "[script main] make the files", false));
        assert_eq!(command(&request), Some(json!("one")));
        request.turns.push(turn(Role::Model, "", true));
        request.turns.push(turn(Role::Tool, "[script more]", false));
        assert_eq!(command(&request), Some(json!("two")), "what a tool says is no prompt");
        request.turns.push(turn(Role::Model, "", true));
        assert_eq!(command(&request), None);
        request.turns.push(turn(Role::User, "[script more]", false));
        assert_eq!(command(&request), Some(json!("three")));
        request.tools.clear();
        assert_eq!(command(&request), None, "without tools the model only talks");
    }
}
