//! The proxy between an MCP client and an MCP server.

use crate::jsonrpc::handler::{Handler, NotificationRoute, QuestionContext, RequestDecision, RequestRoute, Side};
use crate::jsonrpc::message::{Id, Message, MessageKind, OutgoingMessage};
use crate::jsonrpc::message_streams::{MessageSink, MessageSource};
use crate::jsonrpc::queue::MessageQueue;
use crate::jsonrpc::relay::{self, RelayEnd, ServerStreams};
use crate::mcp::judge::{ClientCapabilities, ExpectedAnswer, Judge, McpRequest, is_question};
use crate::mcp::operation::Method;
use crate::mcp::revision::KNOWN_REVISIONS;
use crate::mcp::subscription::{self, Subscriptions};
use bytes::Bytes;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::interval;

/// Poll interval for new approvals and changes of the configuration.
const CHANGE_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The notifications that contain the state of a task. The state may contain the result of the task.
const TASK_NOTIFICATIONS: &[&str] = &["notifications/tasks", "notifications/tasks/status"];

/// Runs the proxy until one side ends. Does not end the session of the judge, because that session can last longer than the proxy.
pub async fn run<R, W>(
    judge: Arc<Judge>,
    client: (impl MessageSource, impl MessageSink),
    server: ServerStreams<R, W>,
    patience: Duration,
) -> RelayEnd
where
    R: MessageSource,
    W: MessageSink,
{
    let proxy = Proxy {
        judge,
        client: Mutex::default(),
        tells_changes: AtomicBool::default(),
        listing_changes: AtomicU64::default(),
        subscriptions: Mutex::default(),
    };
    relay::run(Arc::new(proxy), client, server, patience).await
}

/// Handles the messages of a client and a server.
#[derive(Debug)]
struct Proxy {
    judge: Arc<Judge>,
    /// The capabilities that the client sent in `initialize`.
    client: Mutex<ClientCapabilities>,
    /// True if the server sends a notification when its listing changes.
    tells_changes: AtomicBool,
    /// The value of [`Judge::listing_changes`] when the client last got the listing or a notification of a change.
    listing_changes: AtomicU64,
    /// The client's subscriptions.
    subscriptions: Mutex<Subscriptions>,
}

impl Proxy {
    fn client(&self) -> ClientCapabilities {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn subscriptions(&self) -> MutexGuard<'_, Subscriptions> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the user if a side names no protocol revision or an unknown revision, because the messages of that side may have a
    /// form that the proxy does not know.
    fn note_revision(&self, of: Side, said: Option<&Value>) {
        let revision = said.and_then(Value::as_str);
        if revision.is_some_and(|revision| KNOWN_REVISIONS.contains(&revision)) {
            return;
        }
        let named = said.map_or_else(|| "none".to_owned(), |said| said.to_string().chars().take(40).collect());
        let whose = if of == Side::Client { "the client of the MCP server" } else { "the MCP server" };
        self.tell(&format!(
            "{whose} {} names a revision of the protocol that this version of hookhost does not know ({named}): what is new in it \
             passes without rules; known are {}",
            self.judge.server,
            KNOWN_REVISIONS.join(", ")
        ));
    }

    /// Returns the notifications that make the client request the listing again. There is one notification for each subscription to
    /// changes of the tools. If the server sends notifications without a subscription, there is also a notification without a
    /// subscription.
    fn list_changed(&self) -> Vec<Bytes> {
        let all = self.tells_changes.load(Ordering::Relaxed);
        let told = all.then(|| Bytes::from_static(subscription::TOOLS_CHANGED.as_bytes()));
        let subscriptions = self.subscriptions();
        told.into_iter().chain(subscriptions.told_of_tools().map(subscription::tools_changed)).collect()
    }
}

impl Handler for Proxy {
    type ExpectedAnswer = ExpectedAnswer;
    type JudgedRequest = McpRequest;

    fn side_name(&self, side: Side) -> &str {
        match side {
            Side::Client => "client",
            Side::Server => "MCP server",
        }
    }

    fn tell(&self, text: &str) {
        self.judge.tell(text);
    }

    fn no_answer_reason(&self) -> String {
        format!("the MCP server {} has ended before it answered", self.judge.server)
    }

    /// Begins the session early, so that the resident host is already running at the first request.
    async fn start(&self) {
        // An error is ignored, because each event triggers another attempt and reports the reason.
        let _ = self.judge.begin_session().await;
    }

    /// Notifies the client when a new listing could differ from the last listing.
    async fn watch(&self, to_client: &MessageQueue) {
        let mut look = interval(CHANGE_POLL_INTERVAL);
        loop {
            look.tick().await;
            let changes = self.judge.listing_changes();
            if self.listing_changes.swap(changes, Ordering::Relaxed) == changes {
                continue;
            }
            for changed in self.list_changed() {
                to_client.put(changed, None).await;
            }
        }
    }

    fn route_request(&self, from: Side, id: &Id, message: &Message) -> RequestRoute<ExpectedAnswer, McpRequest> {
        let is_of_client = from == Side::Client;
        if is_of_client {
            // The client may use an identifier again only if the cancelled subscription with this identifier is over.
            self.subscriptions().end(id);
        }
        if is_of_client && message.method() == Some("initialize") {
            let params = message.params().unwrap_or_default();
            self.note_revision(from, params.value("protocolVersion").as_ref());
            let client = ClientCapabilities::of_initialize(&params);
            *self.client.lock().unwrap_or_else(PoisonError::into_inner) = client;
        }
        let route = self.judge.route_request(id, message, self.client(), is_of_client);
        if matches!(route, RequestRoute::Forward { expected: ExpectedAnswer::Subscription, .. }) {
            self.subscriptions().begin(id.clone());
        }
        route
    }

    async fn ask(
        &self,
        _from: Side,
        request: &McpRequest,
        context: QuestionContext<'_>,
    ) -> RequestDecision<ExpectedAnswer> {
        self.judge.ask(request, context).await
    }

    fn route_notification(&self, from: Side, method: &str, message: &Message) -> NotificationRoute {
        if Method::of(method).is_some() || method == "tools/list" {
            let why = format!("{method} came as a notification, which gets no answer: it was not passed on");
            return NotificationRoute::Refuse(why);
        }
        if let Some(id) = subscription::cancelled(message) {
            if from == Side::Client {
                self.subscriptions().cancel(&id);
            } else if self.subscriptions().has(&id) {
                return NotificationRoute::End(id);
            }
            return NotificationRoute::Cancel(id);
        }
        if TASK_NOTIFICATIONS.contains(&method) && from == Side::Server {
            NotificationRoute::Judge
        } else {
            NotificationRoute::Forward
        }
    }

    /// Records that the server has agreed to a subscription. This is done after the agreement was forwarded, because the agreement
    /// must be the first message that the client gets on the subscription.
    fn after_forwarding(&self, from: Side, message: &Message) {
        if from == Side::Server
            && let Some(id) = subscription::agreed(message)
        {
            self.subscriptions().agree(&id);
        }
    }

    fn after_end(&self, id: &Id) {
        self.subscriptions().end(id);
    }

    async fn judge_notification(
        &self,
        message: &Message,
        context: QuestionContext<'_>,
    ) -> Result<OutgoingMessage, String> {
        let on_wait = context.on_long_wait();
        let pushed = self.judge.judge_task_notification(message, &on_wait).await;
        pushed.map_err(|why| format!("the state of a task was not passed on: {why}"))
    }

    fn route_answer(&self, expected: ExpectedAnswer, message: &Message) -> Option<ExpectedAnswer> {
        let question = || is_question(message).then_some(ExpectedAnswer::Question);
        match expected {
            ExpectedAnswer::Anything => question(),
            ExpectedAnswer::Subscription => {
                if let MessageKind::Response { id } = &message.kind {
                    self.after_end(id);
                }
                question()
            }
            ExpectedAnswer::Capabilities => {
                let result = message.members.value("result");
                if let Some(result) = &result {
                    self.note_revision(Side::Server, result.get("protocolVersion"));
                }
                let tells = result.as_ref().and_then(|result| result.pointer("/capabilities/tools/listChanged"));
                self.tells_changes.store(tells == Some(&Value::Bool(true)), Ordering::Relaxed);
                question()
            }
            expected => Some(expected),
        }
    }

    async fn judge_answer(
        &self,
        id: &Id,
        expected: &ExpectedAnswer,
        message: &Message,
        context: QuestionContext<'_>,
    ) -> OutgoingMessage {
        let on_wait = context.on_long_wait();
        let answer = self.judge.judge_answer(id, expected, message, &on_wait).await;
        if matches!(expected, ExpectedAnswer::Listing { .. }) {
            self.listing_changes.store(self.judge.listing_changes(), Ordering::Relaxed);
        }
        answer
    }
}
