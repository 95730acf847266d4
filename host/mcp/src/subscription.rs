//! Subscriptions of revision 2026-07-28: a request `subscriptions/listen`, whose answer ends them. What is told on one names it.

use bytes::Bytes;
use hookhost_relay::message::{Id, Message};
use serde_json::Value;

/// Where a notification names the request that began its subscription.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Tells a client that its listing of tools has changed, in the revisions before subscriptions.
pub const TOOLS_CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

/// The method that begins a subscription.
pub const LISTEN: &str = "subscriptions/listen";

/// The request that a notification gives up, or a subscription that a server ends by it; `None` where it is another message.
#[must_use]
pub fn cancelled(message: &Message) -> Option<Id> {
    if message.method() != Some("notifications/cancelled") {
        return None;
    }
    message.params().ok()?.value("requestId").as_ref().and_then(Id::of)
}

/// The subscription on which a server agrees with this message to tell when its tools change; `None` where it says something
/// else.
#[must_use]
pub fn agreed(message: &Message) -> Option<Id> {
    if message.method() != Some("notifications/subscriptions/acknowledged") {
        return None;
    }
    let params = message.params().ok()?;
    let tells_changes = params.value("notifications")?.get("toolsListChanged") == Some(&Value::Bool(true));
    let id = params.value("_meta")?.get(SUBSCRIPTION).and_then(Id::of);
    id.filter(|_| tells_changes)
}

/// Tells the client of a subscription that its listing of tools has changed.
#[must_use]
pub fn tools_changed(id: &Id) -> Bytes {
    let params = format!(r#"{{"_meta":{{"{SUBSCRIPTION}":{}}}}}"#, id.to_json());
    Bytes::from(format!(r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{params}}}"#))
}

#[cfg(test)]
mod tests {
    use super::{agreed, tools_changed};
    use hookhost_relay::message::{Id, Message};
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
    fn what_a_subscription_is_told_names_it_as_its_request_did() {
        for (id, said) in [(Id::Number(7), "7"), (Id::Text("7".to_owned()), "\"7\"")] {
            let told = String::from_utf8(tools_changed(&id).to_vec()).unwrap();
            assert!(told.contains(&format!("\"io.modelcontextprotocol/subscriptionId\":{said}")), "{told}");
        }
    }
}
