//! The proxy between a client and a server that both speak lines.

use crate::jsonrpc::handler::{self, Asking, Handler, Notified, Side};
use crate::jsonrpc::lane::Lane;
use crate::jsonrpc::message::{Id, Kind, Message};
use crate::jsonrpc::relay::{self, Ended, Server};
use crate::mcp::judge::{Begun, Client, Decision, Expected, Judge, Request, is_question};
use crate::mcp::operation::Method;
use crate::mcp::subscription::{self, Subscriptions};
use bytes::Bytes;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::interval;

/// Poll interval for new approvals and changes of the configuration.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The protocol revisions that this proxy knows.
const REVISIONS: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// The notifications that carry the state of a task, which may contain its result.
const TASK_STATES: &[&str] = &["notifications/tasks", "notifications/tasks/status"];

/// Runs the proxy until one of both sides ends. The judge's session can last longer.
pub async fn run<R, W>(
    judge: Arc<Judge>,
    client: (impl AsyncRead + Unpin + Send, impl AsyncWrite + Unpin + Send),
    server: Server<R, W>,
    patience: Duration,
) -> Ended
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
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
    client: Mutex<Client>,
    /// True if the server reports changes of its listing.
    tells_changes: AtomicBool,
    /// The number of listing changes when the client last got the listing or was told of a change.
    listing_changes: AtomicU64,
    /// The client's subscriptions.
    subscriptions: Mutex<Subscriptions>,
}

impl Proxy {
    fn client(&self) -> Client {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn subscriptions(&self) -> MutexGuard<'_, Subscriptions> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the user if a side names no protocol revision that this proxy knows, since its messages can differ.
    fn note_revision(&self, of: Side, said: Option<&Value>) {
        let revision = said.and_then(Value::as_str);
        if revision.is_some_and(|revision| REVISIONS.contains(&revision)) {
            return;
        }
        let named = said.map_or_else(|| "none".to_owned(), |said| said.to_string().chars().take(40).collect());
        let whose = if of == Side::Client { "the client of the MCP server" } else { "the MCP server" };
        self.tell(&format!(
            "{whose} {} names a revision of the protocol that this version of hookhost does not know ({named}): what is new in it \
             passes without rules; known are {}",
            self.judge.server,
            REVISIONS.join(", ")
        ));
    }

    /// Returns the notifications that make the client request the listing again, one for each way in which it listens.
    fn list_changed(&self) -> Vec<Bytes> {
        let all = self.tells_changes.load(Ordering::Relaxed);
        let told = all.then(|| Bytes::from_static(subscription::TOOLS_CHANGED.as_bytes()));
        let subscriptions = self.subscriptions();
        told.into_iter().chain(subscriptions.told_of_tools().map(subscription::tools_changed)).collect()
    }
}

impl Handler for Proxy {
    type Expected = Expected;
    type Asked = Request;

    fn name(&self, side: Side) -> &str {
        match side {
            Side::Client => "client",
            Side::Server => "MCP server",
        }
    }

    fn tell(&self, text: &str) {
        self.judge.tell(text);
    }

    fn unanswered(&self) -> String {
        format!("the MCP server {} has ended before it answered", self.judge.server)
    }

    /// Begins the session early, so that the first request finds the resident host running.
    async fn begin(&self) {
        // If this fails, each event tries again and reports the reason.
        let _ = self.judge.begin_session().await;
    }

    /// Tells the client when a listing could differ from the last one.
    async fn watch(&self, to_client: &Lane) {
        let mut look = interval(LOOK_INTERVAL);
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

    fn request(&self, from: Side, id: &Id, message: &Message) -> handler::Begun<Expected, Request> {
        let is_of_client = from == Side::Client;
        if is_of_client {
            // The identifier is free. It may be that of a subscription that the client cancelled long ago.
            self.subscriptions().end(id);
        }
        if is_of_client && message.method() == Some("initialize") {
            let params = message.params().unwrap_or_default();
            self.note_revision(from, params.value("protocolVersion").as_ref());
            let client = Client::of_initialize(&params);
            *self.client.lock().unwrap_or_else(PoisonError::into_inner) = client;
        }
        match self.judge.begin(id, message, self.client(), is_of_client) {
            Begun::Passed(expected) => {
                if matches!(expected, Expected::Subscription) {
                    self.subscriptions().begin(id.clone());
                }
                handler::Begun::Passed { bytes: message.bytes.clone(), expected }
            }
            Begun::Answered(answer) => handler::Begun::answered(answer),
            Begun::Refused { answer, tool, why } => {
                let judge = Arc::clone(&self.judge);
                let note = async move { judge.note_held_back(&[(tool, why.to_owned())], &|_| {}).await };
                handler::Begun::Answered { answer, before: Some(Box::pin(note)) }
            }
            Begun::Asked(request) => handler::Begun::Asked(*request),
        }
    }

    async fn ask(&self, _from: Side, request: &Request, asking: Asking<'_>) -> handler::Decision<Expected> {
        let elicit = |form: Value| -> crate::mcp::judge::Answering<'_> {
            Box::pin(async move { asking.client(Method::Elicit.name(), &form).await })
        };
        let waits = |_: u32| asking.turn.takes_long();
        match self.judge.ask(request, &waits, &elicit).await {
            Decision::Passed { bytes, expected } => handler::Decision::Passed { bytes, expected },
            Decision::Answered(answer) => handler::Decision::Answered(answer),
        }
    }

    fn notification(&self, from: Side, method: &str, message: &Message) -> Notified {
        if Method::of(method).is_some() || method == "tools/list" {
            let why = format!("{method} came as a notification, which nobody answers: it was not passed on");
            return Notified::Refused(why);
        }
        if let Some(id) = subscription::cancelled(message) {
            if from == Side::Client {
                self.subscriptions().cancel(&id);
            } else if self.subscriptions().has(&id) {
                return Notified::Ends(id);
            }
            return Notified::Cancels(id);
        }
        if TASK_STATES.contains(&method) && from == Side::Server { Notified::Judged } else { Notified::Passed }
    }

    /// Marks a subscription as agreed only after the client got the agreement, which must come before all that follows.
    fn passed(&self, from: Side, message: &Message) {
        if from == Side::Server
            && let Some(id) = subscription::agreed(message)
        {
            self.subscriptions().agree(&id);
        }
    }

    fn ended(&self, id: &Id) {
        self.subscriptions().end(id);
    }

    async fn pushed(&self, message: &Message, asking: Asking<'_>) -> Result<Bytes, String> {
        let waits = |_: u32| asking.turn.takes_long();
        let pushed = self.judge.pushed_task(message, &waits).await;
        pushed.map_err(|why| format!("the state of a task was not passed on: {why}"))
    }

    fn answered(&self, expected: Expected, message: &Message) -> Option<Expected> {
        let question = || is_question(message).then_some(Expected::Question);
        match expected {
            Expected::Anything => question(),
            Expected::Subscription => {
                if let Kind::Response { id } = &message.kind {
                    self.ended(id);
                }
                question()
            }
            Expected::Capabilities => {
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

    async fn answer(&self, id: &Id, expected: &Expected, message: &Message, asking: Asking<'_>) -> Bytes {
        let waits = |_: u32| asking.turn.takes_long();
        let answer = self.judge.answer(id, expected, message, &waits).await;
        if matches!(expected, Expected::Listing { .. }) {
            self.listing_changes.store(self.judge.listing_changes(), Ordering::Relaxed);
        }
        answer
    }
}
