//! For the tests of an embedding program: rules without wasm, scripted answers, and a log in memory.
//!
//! A test of "deploys are rejected" needs no component, no file and no pool of instances:
//!
//! ```
//! # use hookhost::contract::{Refusal, ToolCallVerdict};
//! # use hookhost::{GateOutcome, NativePlugin, testing};
//! # use serde_json::json;
//! # fn no_deploys() -> NativePlugin {
//! #     NativePlugin::new("no-deploys").before_tool_call(|_, call| match call.name.as_str() {
//! #         "deploy" => Refusal::new("nothing is deployed on a Friday").into(),
//! #         _ => ToolCallVerdict::Allow,
//! #     })
//! # }
//! # async fn deploys_are_rejected() {
//! let session = testing::session(no_deploys()).await;
//! let settled = session.check_tool("deploy", &json!({})).await;
//! assert!(matches!(settled.outcome, GateOutcome::Rejected(_)));
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(deploys_are_rejected());
//! ```
//!
//! [`MemoryLog`](crate::audit::MemoryLog) is a log that a test reads back.

use crate::approval::{Approval, ApprovalRequest, Approver};
use crate::config::Config;
use crate::plugin::NativePlugin;
use crate::{Host, Session};
use futures_util::future::BoxFuture;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A session of the agent `test` in the directory `/work`, under one rule.
///
/// # Panics
/// If the rule cannot be used; the message says why.
#[track_caller]
pub fn session(rule: NativePlugin) -> impl Future<Output = Session> {
    async move {
        let host = Host::builder(Config::empty()).native(rule).build().await;
        let session = host.map_err(|error| error.to_string()).and_then(|host| {
            let directory = std::path::Path::new(if cfg!(windows) { r"C:\work" } else { "/work" });
            host.session("test", directory).map_err(|error| error.to_string())
        });
        session.unwrap_or_else(|error| panic!("{error}"))
    }
}

/// An approver that gives the answers of a list, in order, and remembers what it was asked. Cheap to clone; all clones are
/// the same approver.
///
/// ```
/// use hookhost::approval::Approval;
/// use hookhost::testing::ScriptedApprover;
///
/// let approver = ScriptedApprover::new([Approval::yes(), Approval::no().because("not twice")]);
/// // Host::builder(config).approver(approver.clone().into_arc())
/// assert!(approver.asked().is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct ScriptedApprover {
    script: Arc<Mutex<Script>>,
}

#[derive(Debug, Default)]
struct Script {
    answers: VecDeque<Approval>,
    asked: Vec<ApprovalRequest>,
}

impl ScriptedApprover {
    /// An approver with these answers. A question beyond them is answered with a no that says so.
    pub fn new(answers: impl IntoIterator<Item = Approval>) -> Self {
        let answers = answers.into_iter().collect();
        Self { script: Arc::new(Mutex::new(Script { answers, asked: Vec::new() })) }
    }

    /// For [`HostBuilder::approver`](crate::HostBuilder::approver).
    #[must_use]
    pub fn into_arc(self) -> Arc<dyn Approver> {
        Arc::new(self)
    }

    /// The questions so far, in order.
    #[must_use]
    pub fn asked(&self) -> Vec<ApprovalRequest> {
        self.script().asked.clone()
    }

    /// The answers that nobody has asked for yet.
    #[must_use]
    pub fn left(&self) -> usize {
        self.script().answers.len()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Approver for ScriptedApprover {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        let mut script = self.script();
        script.asked.push(request);
        let number = script.asked.len();
        let answer = script.answers.pop_front();
        let answer = answer.unwrap_or_else(|| Approval::no().because(format!("the script has no answer {number}")));
        Box::pin(async move { answer })
    }
}
