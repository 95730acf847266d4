//! Judges commands in two ways: natively, in this process, and through the component in a host.

use crate::table::{Label, Row};
use anyhow::{Context as _, Result, bail};
use futures_util::future::BoxFuture;
use hookhost::capability::{Model, ModelRequest};
use hookhost::config::{Config, Digest, Entry, ModelGrant, Settings, StateGrant};
use hookhost::contract::{Action, ToolOrigin};
use hookhost::{Decision as HostDecision, Host, Session, SessionSpec};
use hookhost_guest::testing;
use shell_guard_rules::Guard;
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The working directory of each command, which is also the workspace.
const WORKSPACE: &str = "/work/project";

/// The decision about a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The command runs unchanged.
    Allow,
    /// A person is asked.
    Ask,
    /// The command is refused.
    Deny,
    /// This command runs instead.
    Rewrite(String),
}

impl Decision {
    /// Returns true if the command does not run, neither unchanged nor rewritten, unless a person allows it.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(self, Self::Ask | Self::Deny)
    }
}

/// The decision about one command, and the rules that led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The decision.
    pub decision: Decision,
    /// The rules that matched the command, the most important first.
    pub rules: Vec<String>,
}

/// The rules of `shell-guard`, running natively in this process.
#[derive(Debug)]
pub struct Native(Guard);

impl Native {
    /// Loads the rules with the default configuration and without stacks.
    ///
    /// # Errors
    /// If the embedded catalogues do not load.
    pub fn new() -> Result<Self> {
        let config = serde_json::from_value(serde_json::json!({ "stacks": [] }))?;
        Guard::new(config).map(Self).map_err(anyhow::Error::msg)
    }

    /// Judges one command.
    ///
    /// # Errors
    /// If the verdict is one that `shell-guard` never gives.
    pub fn judge(&self, command: &str) -> Result<Judged> {
        use hookhost_guest::prelude::{Action, ToolCallVerdict};
        testing::prime(|_| {});
        let verdict = self.0.verdict(&testing::session(), &testing::shell(command));
        let decision = match verdict {
            None | Some(ToolCallVerdict::Allow) => Decision::Allow,
            Some(ToolCallVerdict::Reject(_)) => Decision::Deny,
            Some(ToolCallVerdict::Escalate(_)) => Decision::Ask,
            Some(ToolCallVerdict::Rewrite(Action::Shell(shell))) => Decision::Rewrite(shell.command),
            Some(other) => bail!("`{command}`: {other:?} is no verdict of shell-guard"),
        };
        let rules = testing::inspect(|host| host.findings.iter().map(|finding| finding.code.clone()).collect());
        Ok(Judged { decision, rules })
    }
}

/// The cost of judging all commands through the component.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// The total units of fuel of all commands.
    pub fuel: u64,
    /// The number of questions to the model.
    pub questions: u64,
    /// The total size of the instructions and inputs of these questions, in bytes.
    pub question_bytes: u64,
}

/// A component that is loaded in a host.
#[derive(Debug)]
pub struct Component {
    session: Session,
    model: Arc<Labels>,
    // The directory of the compiled code, which is removed when this value is dropped.
    _cache: tempfile::TempDir,
}

impl Component {
    /// Loads `shell-guard` from the directory of built plugins.
    ///
    /// # Errors
    /// If the component cannot be read or does not load.
    pub async fn guard(plugins: &Path) -> Result<Self> {
        Self::load(plugins, "shell_guard.wasm", Vec::new()).await
    }

    /// Loads `shell-guard-classifier` with a model that answers each question with the label in the table.
    ///
    /// # Errors
    /// If the component cannot be read or does not load.
    pub async fn classifier(plugins: &Path, rows: &[Row]) -> Result<Self> {
        Self::load(plugins, "shell_guard_classifier.wasm", rows.to_vec()).await
    }

    async fn load(plugins: &Path, file: &str, rows: Vec<Row>) -> Result<Self> {
        let path = plugins.join(file);
        let missing = || format!("cannot read {}: `cargo xtask plugins` builds it", path.display());
        let digest = Digest::of_file(&path).with_context(missing)?;
        let mut entry = Entry::new("shell-guard", &path, digest);
        // The limits are high because only the fuel is measured, and a busy machine may need more time.
        (entry.limits.compute, entry.limits.deadline) = (Some(Duration::from_secs(60)), Some(Duration::from_secs(60)));
        entry.config = serde_json::Map::from_iter([("stacks".to_owned(), serde_json::json!([]))]);
        if file.contains("classifier") {
            let mut grant = ModelGrant::new("labels");
            grant.max_calls = NonZeroU32::MAX;
            entry.grants.model = Some(grant);
            entry.grants.state = Some(StateGrant::default());
        }
        let model = Arc::new(Labels::new(rows));
        let cache = tempfile::tempdir()?;
        let config = Config::from_entries(vec![entry], Settings::default())?;
        let host =
            Host::builder(config).cache(cache.path()).model(Arc::clone(&model) as Arc<dyn Model>).build().await?;
        let session = host.open_session(SessionSpec::new("shell-corpus", Path::new(WORKSPACE)))?;
        Ok(Self { session, model, _cache: cache })
    }

    /// Judges one command, and adds its cost to `cost`.
    ///
    /// # Errors
    /// If the component fails, or if its verdict is one that `shell-guard` never gives.
    pub async fn judge(&self, command: &str, cost: &mut Cost) -> Result<Judged> {
        let arguments = serde_json::json!({ "command": command });
        let call = self.session.tool_call("1", "bash", &arguments, ToolOrigin::Builtin);
        let settled = self.session.before_tool_call(call).await;
        let [call] = settled.record.calls.as_slice() else { bail!("`{command}`: the guard was not called once") };
        if let Some(failure) = &call.failure {
            bail!("`{command}`: the component failed: {failure:?}");
        }
        cost.fuel += call.fuel;
        (cost.questions, cost.question_bytes) = self.model.asked();
        let decision = match settled.outcome {
            HostDecision::Allowed { value } => match value.action {
                Action::Shell(shell) if shell.command != command => Decision::Rewrite(shell.command),
                _ => Decision::Allow,
            },
            HostDecision::Rejected(rejection) if rejection.to_string().starts_with("Rejected: not approved") => {
                Decision::Ask
            }
            HostDecision::Rejected(_) => Decision::Deny,
            other @ HostDecision::Responded { .. } => bail!("`{command}`: {other:?} is no outcome of shell-guard"),
        };
        Ok(Judged { decision, rules: call.findings.iter().map(|finding| finding.code.clone()).collect() })
    }
}

/// A model that is always right, because it answers with the label in the table. No real model can give better figures.
#[derive(Debug)]
struct Labels {
    labels: HashMap<String, Label>,
    questions: AtomicU64,
    bytes: AtomicU64,
}

impl Labels {
    fn new(rows: Vec<Row>) -> Self {
        // The plugin removes blanks around a command before it asks the model.
        let labels = rows.into_iter().map(|row| (row.command.trim().to_owned(), row.label)).collect();
        Self { labels, questions: AtomicU64::new(0), bytes: AtomicU64::new(0) }
    }

    fn asked(&self) -> (u64, u64) {
        (self.questions.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }
}

impl Model for Labels {
    fn complete<'a>(&'a self, _: &'a str, request: ModelRequest) -> BoxFuture<'a, Result<String, String>> {
        self.questions.fetch_add(1, Ordering::Relaxed);
        let bytes = (request.instructions.len() + request.input.len()) as u64;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let kind = match self.labels.get(&request.input) {
            Some(Label::Block) => "deny",
            _ => "allow",
        };
        Box::pin(async move { Ok(format!(r#"{{"kind": "{kind}", "confidence": 1}}"#)) })
    }
}
