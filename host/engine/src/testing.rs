//! Helpers for the tests of a product: a host that starts in milliseconds, an approver that follows a script, and a
//! clock that the test sets.
//!
//! This test checks that deploys are refused:
//!
//! ```
//! use hookhost::contract::{Refusal, ToolCall};
//! use serde_json::json;
//!
//! # async fn deploys_are_refused() {
//! let host = hookhost::testing::host(|call: &ToolCall| (call.name == "deploy").then(|| Refusal::new("frozen"))).await;
//! let outcome = host.check("deploy", json!({ "to": "production" })).await;
//! assert_eq!(outcome.to_string(), "Rejected by rule: frozen");
//! # assert_eq!(host.check("build", json!({})).await.to_string(), "Allowed");
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(deploys_are_refused());
//! ```
//!
//! To test all rules of a product, use the product's own builder, and add an approver that takes the place of the
//! users:
//!
//! ```
//! use hookhost::approval::Approval;
//! use hookhost::contract::{Escalation, ToolCall};
//! use hookhost::testing::{self, ScriptedApprover};
//! use hookhost::{Config, Host, HostBuilder};
//! use serde_json::json;
//!
//! fn my_product() -> HostBuilder {
//!     Host::builder(Config::empty())
//!         .rule("asks", |call: &ToolCall| (call.name == "deploy").then(|| Escalation::new("deploy now?")))
//! }
//!
//! # async fn a_deploy_waits_for_a_yes() -> Result<(), hookhost::Error> {
//! let people = ScriptedApprover::new([Approval::yes(), Approval::no()]);
//! let host = testing::start(my_product().approver(people.clone())).await?;
//! assert!(host.check("deploy", json!({})).await.is_allowed());
//! assert!(host.check("deploy", json!({})).await.rejection().is_some());
//! assert_eq!(people.asked()[0].questions[0].escalation.question, "deploy now?");
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(a_deploy_waits_for_a_yes()).unwrap();
//! ```

use crate::approval::{Approval, ApprovalRequest, Approver};
use crate::audit::EventRecord;
use crate::config::Config;
use crate::contract::{Decision, ToolCall, ToolCallVerdict, ToolResult};
use crate::host::{Error, Host, HostBuilder};
use crate::locked::locked;
use crate::session::{AllowedCall, Session, SessionSpec};
use futures_util::future::BoxFuture;
use serde_json::Value;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The workspace of a test's session. The directory need not exist.
const WORKSPACE: &str = "/work";

/// A host with one session. The [module](self) has examples.
#[derive(Debug)]
pub struct TestHost {
    host: Host,
    session: Session,
    clock: Arc<Clock>,
    records: Mutex<Vec<EventRecord>>,
}

/// Returns a host with one rule, named `rule`, which is asked about each tool call.
///
/// # Panics
/// Outside of a tokio runtime.
pub async fn host<V: Into<ToolCallVerdict>>(rule: impl Fn(&ToolCall) -> V + Send + Sync + 'static) -> TestHost {
    match start(Host::builder(Config::empty()).rule("rule", rule)).await {
        Ok(host) => host,
        Err(error) => panic!("the host of a test does not start: {error}"),
    }
}

/// Builds a host with a separate [`Clock`], and opens a session of the agent `test`.
///
/// # Errors
/// As [`HostBuilder::build`].
pub async fn start(builder: HostBuilder) -> Result<TestHost, Error> {
    let clock = Clock::new();
    let host = builder.clock(clock.clone()).build().await?;
    let session = match host.open_session(SessionSpec::new("test", Path::new(WORKSPACE))) {
        Ok(session) => session,
        Err(error) => unreachable!("a session of which only agent and workspace are set opens: {error}"),
    };
    Ok(TestHost { host, session, clock, records: Mutex::default() })
}

impl TestHost {
    /// Checks a call of one of the agent's own tools, like [`Session::check_tool`].
    pub async fn check(&self, name: &str, arguments: Value) -> Decision<AllowedCall, ToolResult> {
        let settled = self.session.check_tool(name, &arguments).await;
        let earlier = settled.earlier.into_iter().map(|(record, _)| record);
        locked(&self.records).extend(earlier.chain([*settled.record]));
        settled.outcome
    }

    /// Returns the records of the calls of [`Self::check`], in order.
    #[must_use]
    pub fn records(&self) -> Vec<EventRecord> {
        locked(&self.records).clone()
    }

    /// Returns the session, which has methods for all other events.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the host.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the clock, which stands still until the test moves it.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// An approver that gives prepared answers in order, and remembers the questions.
#[derive(Debug, Default)]
pub struct ScriptedApprover {
    answers: Mutex<VecDeque<Approval>>,
    asked: Mutex<Vec<ApprovalRequest>>,
}

impl ScriptedApprover {
    /// Creates an approver with these answers. When no answer is left, each further question is answered with no, and
    /// the reason says so.
    #[must_use]
    pub fn new(answers: impl IntoIterator<Item = Approval>) -> Arc<Self> {
        Arc::new(Self { answers: Mutex::new(answers.into_iter().collect()), asked: Mutex::default() })
    }

    /// Returns the requests, in order.
    #[must_use]
    pub fn asked(&self) -> Vec<ApprovalRequest> {
        locked(&self.asked).clone()
    }

    /// Returns the number of answers that are left.
    #[must_use]
    pub fn unused(&self) -> usize {
        locked(&self.answers).len()
    }
}

impl Approver for ScriptedApprover {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        let mut asked = locked(&self.asked);
        asked.push(request);
        let answer = locked(&self.answers).pop_front().unwrap_or_else(|| {
            let (times, given) = (asked.len(), asked.len() - 1);
            Approval::no().because(format!("the script of the test has {given} answers, and it is asked {times} times"))
        });
        Box::pin(std::future::ready(answer))
    }
}

/// A clock that stands still until the test moves it. It starts at the beginning of 2030 (UTC).
#[derive(Debug)]
pub struct Clock(Mutex<SystemTime>);

impl Clock {
    /// From the Unix epoch to the start of 2030.
    const BEGINS: Duration = Duration::from_secs(1_893_456_000);

    /// Creates a clock.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(UNIX_EPOCH + Self::BEGINS)))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        *locked(&self.0) += by;
    }

    /// Sets the clock, forward or back.
    pub fn set(&self, time: SystemTime) {
        *locked(&self.0) = time;
    }
}

impl crate::Clock for Clock {
    fn now(&self) -> SystemTime {
        *locked(&self.0)
    }
}
