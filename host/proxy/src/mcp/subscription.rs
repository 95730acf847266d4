//! Subscriptions of revision 2026-07-28. A client begins a subscription with the request `subscriptions/listen`, and the answer to
//! this request ends the subscription. Each notification names the subscription to which it belongs.

use crate::jsonrpc::message::{Id, Message, MessageKind};
use crate::jsonrpc::pending_requests::MAX_CANCELLED;
use bytes::Bytes;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};

/// The key in `_meta` whose value is the id of the request that began the subscription.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The notification that the tools have changed, in revisions without subscriptions.
pub const TOOLS_CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

/// The method that begins a subscription.
pub const LISTEN: &str = "subscriptions/listen";

/// The subscriptions of a client.
#[derive(Debug, Default)]
pub struct Subscriptions {
    /// The open subscriptions. The value is true if the server has agreed to report changes of its tools.
    open: HashMap<Id, bool>,
    /// The subscriptions that the client has cancelled, the oldest first. The proxy sends no notifications on them, but the server
    /// may still end them. Their maximum number is the same as the maximum number of cancelled requests.
    cancelled: VecDeque<Id>,
}

impl Subscriptions {
    /// Adds a new subscription.
    pub fn begin(&mut self, id: Id) {
        self.open.insert(id, false);
    }

    /// Records that the server has agreed to report changes of its tools on a subscription.
    pub fn agree(&mut self, id: &Id) {
        if let Some(has_agreed) = self.open.get_mut(id) {
            *has_agreed = true;
        }
    }

    /// Records that the client has cancelled a subscription.
    pub fn cancel(&mut self, id: &Id) {
        if self.open.remove(id).is_none() {
            return;
        }
        self.cancelled.push_back(id.clone());
        if self.cancelled.len() > MAX_CANCELLED {
            self.cancelled.pop_front();
        }
    }

    /// Removes a subscription that has ended.
    pub fn end(&mut self, id: &Id) {
        self.open.remove(id);
        self.cancelled.retain(|cancelled| cancelled != id);
    }

    /// Returns true if the server can end this subscription by a notification.
    pub fn has(&self, id: &Id) -> bool {
        self.open.contains_key(id) || self.cancelled.contains(id)
    }

    /// Returns the subscriptions on which changes of the tools are reported.
    pub fn told_of_tools(&self) -> impl Iterator<Item = &Id> {
        self.open.iter().filter(|(_, has_agreed)| **has_agreed).map(|(id, _)| id)
    }
}

/// Returns the identifier of the request that this notification cancels, or of the subscription that this notification ends.
/// Returns `None` for other messages.
pub fn cancelled(message: &Message) -> Option<Id> {
    let is_it = matches!(&message.kind, MessageKind::Notification { method } if method == "notifications/cancelled");
    if !is_it {
        return None;
    }
    message.params().ok()?.value("requestId").as_ref().and_then(Id::of)
}

/// Returns the identifier of a subscription if the server agrees in this message to report changes of its tools on the
/// subscription. Returns `None` for other messages.
pub fn agreed(message: &Message) -> Option<Id> {
    if message.method() != Some("notifications/subscriptions/acknowledged") {
        return None;
    }
    let params = message.params().ok()?;
    let tells_changes = params.value("notifications")?.get("toolsListChanged") == Some(&Value::Bool(true));
    let id = params.value("_meta")?.get(SUBSCRIPTION).and_then(Id::of);
    id.filter(|_| tells_changes)
}

/// Returns the notification with which a server ends a subscription.
pub fn ended(id: &Id) -> Bytes {
    let id = id.to_json();
    Bytes::from(format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#))
}

/// Returns the notification that reports a change of the tools on this subscription.
pub fn tools_changed(id: &Id) -> Bytes {
    let params = format!(r#"{{"_meta":{{"{SUBSCRIPTION}":{}}}}}"#, id.to_json());
    Bytes::from(format!(r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{params}}}"#))
}

#[cfg(test)]
mod tests {
    use super::{Subscriptions, agreed, cancelled, ended, tools_changed};
    use crate::jsonrpc::message::{Id, Message};
    use serde_json::{Value, json};

    #[test]
    fn a_server_agrees_on_the_subscription_that_it_names() {
        let of = |method: &str, tools: Value| {
            let params = json!({ "notifications": { "toolsListChanged": tools },
                "_meta": { "io.modelcontextprotocol/subscriptionId": "s" } });
            let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
            agreed(&Message::of(message.to_string().into()).unwrap())
        };
        let acknowledged = "notifications/subscriptions/acknowledged";
        assert_eq!(of(acknowledged, json!(true)), Some(Id::Text("s".to_owned())));
        assert_eq!(of(acknowledged, json!(false)), None);
        assert_eq!(of("notifications/message", json!(true)), None);
    }

    #[test]
    fn a_cancelled_subscription_is_told_nothing_and_can_still_be_ended() {
        let (mut subscriptions, id) = (Subscriptions::default(), Id::from(1));
        subscriptions.begin(id.clone());
        subscriptions.agree(&id);
        assert_eq!(subscriptions.told_of_tools().count(), 1);
        subscriptions.cancel(&id);
        subscriptions.agree(&id);
        assert!(subscriptions.told_of_tools().count() == 0 && subscriptions.has(&id));
        subscriptions.end(&id);
        assert!(!subscriptions.has(&id));
        for n in 0..1000 {
            subscriptions.begin(Id::from(n));
            subscriptions.cancel(&Id::from(n));
        }
        assert!(!subscriptions.has(&Id::from(1)) && subscriptions.has(&Id::from(999)));
        assert_eq!(cancelled(&Message::of(ended(&id)).unwrap()), Some(id));
        let request =
            json!({ "jsonrpc": "2.0", "id": 5, "method": "notifications/cancelled", "params": { "requestId": 1 } });
        assert_eq!(
            cancelled(&Message::of(request.to_string().into()).unwrap()),
            None,
            "a message with an id is a request"
        );
    }

    #[test]
    fn what_a_subscription_is_told_names_it_as_its_request_did() {
        for (id, said) in [(Id::from(7), "7"), (Id::Text("7".to_owned()), "\"7\"")] {
            let told = String::from_utf8(tools_changed(&id).to_vec()).unwrap();
            assert!(told.contains(&format!("\"io.modelcontextprotocol/subscriptionId\":{said}")), "{told}");
        }
    }
}
