//! Answers to requests for permission. The proxy never chooses an option for all further calls, because a rule decides on each call
//! separately.

use crate::jsonrpc::message::{self, Id};
use bytes::Bytes;
use serde_json::{Value, json};

/// The options that the agent offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PermissionOptions(Vec<(String, String)>);

impl PermissionOptions {
    /// Reads the options from the parameters of `session/request_permission`. Skips options that cannot be read.
    pub fn of(params: &Value) -> Self {
        let options = params.get("options").and_then(Value::as_array).into_iter().flatten();
        let text = |option: &Value, key: &str| option.get(key).and_then(Value::as_str).map(str::to_owned);
        Self(options.filter_map(|option| Some((text(option, "optionId")?, text(option, "kind")?))).collect())
    }

    /// Returns the identifier of the option of this kind. Returns `None` if an option of another kind has the same identifier.
    fn of_kind(&self, kind: &str) -> Option<&str> {
        let (id, _) = self.0.iter().find(|(_, known)| known == kind)?;
        let is_clear = self.0.iter().filter(|(known, _)| known == id).all(|(_, known)| known == kind);
        is_clear.then_some(id)
    }

    /// Returns the answer that allows this call. Returns `None` if the agent offers no option that allows only this call.
    pub fn yes(&self, id: &Id) -> Option<Bytes> {
        let option = self.of_kind("allow_once")?;
        Some(message::result(id, &json!({ "outcome": { "outcome": "selected", "optionId": option } })))
    }

    /// Returns the answer that rejects this call. The reason is in `_meta`, for agents that read it there.
    pub fn no(&self, id: &Id, why: &str) -> Bytes {
        let outcome = match self.of_kind("reject_once") {
            Some(option) => json!({ "outcome": "selected", "optionId": option }),
            None => json!({ "outcome": "cancelled" }),
        };
        message::result(id, &json!({ "outcome": outcome, "_meta": { "hookhost": { "reason": why } } }))
    }

    /// Returns the meaning of the editor's answer: the kind of the option, `cancelled`, `unknown` or `error`.
    pub fn meaning(&self, result: Option<&Value>) -> String {
        let outcome = result.and_then(|result| result.get("outcome"));
        let chosen = outcome.and_then(|outcome| outcome.get("optionId")).and_then(Value::as_str);
        let kind = chosen.and_then(|chosen| self.0.iter().find(|(id, _)| id == chosen));
        match kind {
            Some((_, kind)) => kind.clone(),
            None if chosen.is_some() => "unknown".to_owned(),
            None if outcome.is_some() => "cancelled".to_owned(),
            None => "error".to_owned(),
        }
    }
}

/// Returns the answer to a request for permission whose prompt was cancelled.
pub fn cancelled(id: &Id) -> Bytes {
    message::result(id, &json!({ "outcome": { "outcome": "cancelled" } }))
}

#[cfg(test)]
mod tests {
    use super::PermissionOptions;
    use crate::jsonrpc::message::Id;
    use serde_json::{Value, json};

    fn options(kinds: &[(&str, &str)]) -> PermissionOptions {
        let all: Vec<Value> =
            kinds.iter().map(|(id, kind)| json!({ "optionId": id, "name": id, "kind": kind })).collect();
        PermissionOptions::of(&json!({ "options": all }))
    }

    fn outcome(answer: &[u8]) -> Value {
        serde_json::from_slice::<Value>(answer).unwrap()["result"]["outcome"].clone()
    }

    #[test]
    fn only_an_answer_that_counts_once_is_chosen() {
        let id = Id::from(1);
        let all =
            options(&[("aa", "allow_always"), ("a", "allow_once"), ("rr", "reject_always"), ("r", "reject_once")]);
        assert_eq!(outcome(&all.yes(&id).unwrap()), json!({ "outcome": "selected", "optionId": "a" }));
        assert_eq!(outcome(&all.no(&id, "x")), json!({ "outcome": "selected", "optionId": "r" }));
        let always = options(&[("aa", "allow_always"), ("rr", "reject_always")]);
        assert_eq!(always.yes(&id), None);
        assert_eq!(outcome(&always.no(&id, "x")), json!({ "outcome": "cancelled" }));
        // If the options for once and for always have the same identifier, choosing it could allow all further calls.
        assert_eq!(options(&[("a", "allow_once"), ("a", "allow_always")]).yes(&id), None);
    }

    #[test]
    fn what_the_user_has_answered_is_known_by_its_kind() {
        let all = options(&[("a", "allow_once"), ("r", "reject_once")]);
        let of = |outcome: Value| all.meaning(Some(&json!({ "outcome": outcome })));
        assert_eq!(of(json!({ "outcome": "selected", "optionId": "r" })), "reject_once");
        assert_eq!(of(json!({ "outcome": "selected", "optionId": "z" })), "unknown");
        assert_eq!(of(json!({ "outcome": "cancelled" })), "cancelled");
        assert_eq!(all.meaning(None), "error");
    }
}
