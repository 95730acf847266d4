//! Makes a conversation valid for every provider, even if its file lacks messages. After the repair, each call has one
//! result before the next message, and each result has a call.

use hookhost_models::message::{Message, ToolUse};

/// Result of a call whose outcome is unknown.
pub const INTERRUPTED: &str =
    "interrupted: the session ended before this call had its result; it may have been carried out, in part or in whole";

/// Replaces a lost beginning, since providers require a first message in the user's role.
const NO_BEGINNING: &str = "(The beginning of this conversation is lost.)";

/// Returns the repaired conversation, and one sentence for each change. Calls of the last answer may still have no
/// results, because the code that continues the session adds and stores these results.
pub(super) fn repair(messages: Vec<Message>) -> (Vec<Message>, Vec<String>) {
    let mut repaired: Vec<Message> = Vec::with_capacity(messages.len());
    let mut notices = Vec::new();
    let mut open: Vec<ToolUse> = Vec::new();
    for message in messages {
        match &message {
            Message::Tool { call_id, name, .. } => {
                let Some(place) = open.iter().position(|call| call.id == *call_id) else {
                    notices.push(format!(
                        "the session has a result of {}, call `{}`, that answers no call: it is left out",
                        name.escape_debug(),
                        call_id.escape_debug()
                    ));
                    continue;
                };
                open.remove(place);
            }
            Message::User { .. } | Message::Assistant { .. } => {
                for ToolUse { id, name, .. } in open.drain(..) {
                    notices.push(format!(
                        "the session has no result of {}, call `{}`: the model is told that it was interrupted",
                        name.escape_debug(),
                        id.escape_debug()
                    ));
                    let text = INTERRUPTED.to_owned();
                    repaired.push(Message::Tool { call_id: id, name, text, is_error: true });
                }
            }
        }
        if let Message::Assistant { tool_calls, .. } = &message {
            open.clone_from(tool_calls);
            if repaired.is_empty() {
                repaired.push(Message::user(NO_BEGINNING.to_owned()));
            }
        }
        repaired.push(message);
    }
    (repaired, notices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn calls<const N: usize>(ids: [&str; N]) -> Message {
        let call = |id: &str| ToolUse::new(id, "bash", json!({}));
        Message::assistant("", ids.map(call).to_vec())
    }

    fn result(id: &str) -> Message {
        Message::Tool { call_id: id.into(), name: "bash".into(), text: "ok".into(), is_error: false }
    }

    fn user() -> Message {
        Message::user("continue")
    }

    #[test]
    fn a_whole_conversation_is_left_as_it_is() {
        let whole = vec![user(), calls(["a", "b"]), result("b"), result("a"), calls([]), user()];
        assert_eq!(repair(whole.clone()), (whole, Vec::new()));
    }

    #[test]
    fn a_conversation_whose_first_message_is_lost_still_begins_with_its_user() {
        let (repaired, _) = repair(vec![calls(["a"]), result("a")]);
        assert_eq!(repaired, [Message::user(NO_BEGINNING), calls(["a"]), result("a")]);
    }

    #[test]
    fn a_call_in_the_middle_gets_a_result_and_a_result_without_a_call_is_left_out() {
        let (repaired, notices) =
            repair(vec![user(), calls(["a", "b"]), result("a"), result("a"), result("x"), user()]);
        let interrupted =
            Message::Tool { call_id: "b".into(), name: "bash".into(), text: INTERRUPTED.into(), is_error: true };
        assert_eq!(repaired, [user(), calls(["a", "b"]), result("a"), interrupted, user()]);
        assert_eq!(notices.len(), 3, "{notices:?}");
    }

    #[test]
    fn the_calls_of_the_last_answer_stay_open() {
        let (repaired, notices) = repair(vec![user(), calls(["a", "b"]), result("a")]);
        assert_eq!((repaired.len(), notices.len()), (3, 0));
    }
}
