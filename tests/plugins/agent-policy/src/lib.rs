//! The rules for the tests with real agents, one for each kind of answer to an agent. A word in the call, prompt or result selects the
//! rule.

use hookhost_guest::prelude::*;
use hookhost_guest::state::Scope;

/// The plugin.
#[derive(Debug)]
pub struct AgentPolicy;

/// The word that the plugin masks, and its replacement.
const MASKED: (&str, &str) = ("masked-word", "[word masked]");

#[plugin]
impl Plugin for AgentPolicy {
    fn session_start(_session: &Session) -> Vec<Task> {
        remind("context-at-start");
        Vec::new()
    }

    fn prompt_submit(_session: &Session, prompt: &str) -> TextVerdict {
        if prompt.contains("forbidden-prompt") {
            return denied().into();
        }
        remind("context-at-prompt");
        masked(prompt).map_or_else(TextVerdict::keep, TextVerdict::replace)
    }

    fn before_tool_call(_session: &Session, call: &ToolCall) -> ToolCallVerdict {
        let arguments = call.arguments.as_str();
        if arguments.contains("denied.txt") {
            denied().into()
        } else if arguments.contains("stopped.txt") {
            Refusal::new("stopped-by-policy: this ends the run").stop().into()
        } else if arguments.contains("answered.txt") {
            ToolCallVerdict::respond(ToolResult::new("answer-of-policy"))
        } else if arguments.contains("asked.txt") {
            Escalation::new("asked-by-policy: may the file be written?").into()
        } else if arguments.contains("original") {
            ToolCallVerdict::Modify(arguments.replace("original", "rewritten"))
        } else {
            remind("context-at-call");
            ToolCallVerdict::allow()
        }
    }

    fn after_tool_call(
        _session: &Session,
        _call: &ToolCall,
        tool_result: &ToolResult,
        _source: ResultSource,
    ) -> ToolResultVerdict {
        remind("context-at-result");
        match masked(&tool_result.text) {
            Some(text) => ToolResultVerdict::replace(ToolResult::new(text)),
            None => ToolResultVerdict::keep(),
        }
    }

    fn finalize_content(_session: &Session, content: &str) -> TextVerdict {
        masked(content).map_or_else(TextVerdict::keep, TextVerdict::replace)
    }

    fn queue_empty(_session: &Session, _progress: &Progress) -> CompletionVerdict {
        // Only once in a session. The plugin counts this itself, because some agents do not report that a hook has already made them
        // continue.
        match state::increment(Scope::Session, "went-on", 1) {
            Ok(1) => CompletionVerdict::go_on([Task::new("[script more] one thing more")]),
            _ => CompletionVerdict::allow(),
        }
    }
}

fn denied() -> Refusal {
    Refusal::new("denied-by-policy: the rules of the test forbid this").code("policy.denied")
}

fn masked(text: &str) -> Option<String> {
    text.contains(MASKED.0).then(|| text.replace(MASKED.0, MASKED.1))
}

fn remind(body: &str) {
    effects::remind(&Reminder::new(body).turns(1));
}

#[cfg(test)]
mod tests {
    use super::{AgentPolicy, masked};
    use hookhost_guest::prelude::*;
    use hookhost_guest::testing;

    #[test]
    fn a_word_is_masked_and_a_session_continues_once() {
        assert_eq!(masked("a masked-word"), Some("a [word masked]".into()));
        assert_eq!(masked("a word"), None);
        let session = testing::session();
        let progress = Progress { tasks: 1, turns: 1, input_tokens: 0, output_tokens: 0 };
        assert!(matches!(AgentPolicy::queue_empty(&session, &progress), CompletionVerdict::GoOn(_)));
        assert_eq!(AgentPolicy::queue_empty(&session, &progress), CompletionVerdict::allow());
    }
}
