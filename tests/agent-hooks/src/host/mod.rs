//! The agent loop as a host: the loop of production, with only the model and the tools of the vector.

mod mock;
mod record;
mod resolver;

use crate::emissions::Emissions;
use crate::plugin::{self, Component};
use crate::vectors;
use agent_hooks::ctk_engine::{RunRecord, VectorResult, assert_vector};
use anyhow::{Context as _, Result};
use hookhost::audit::MemoryLog;
use hookhost::config::{Mode, Settings};
use hookhost::{Config, Host};
use hookhost_agent::agent::{Agent, AgentConfig, RecordingReporter, RunOutcome, Status};
use mock::{Invocations, Model};
use record::Observed;
use resolver::Resolver;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// How long observers may take.
const DRAIN: Duration = Duration::from_secs(10);

/// Runs a vector.
///
/// # Errors
/// If the host or the agent cannot be made.
pub(crate) async fn run(vector: &Value, component: &Component) -> Result<VectorResult> {
    let scripts = vectors::scripts(vector);
    let identity = vectors::identity_provider(vector);
    let mode = if vectors::is_evaluated_only(vector) { Mode::Observe } else { Mode::Enforce };
    let invocations = Invocations::default();
    let tools = mock::toolbox(&vector["scenario"]["tools"], &invocations)?;
    let names: Vec<String> = tools.names().map(str::to_owned).collect();

    let entries = (0..scripts.len()).map(|place| component.entry(place, mode));
    let mut settings = Settings::default();
    settings.require_plugins = true;
    let (log, emissions) = (MemoryLog::new(), Emissions::new(&scripts, &names, identity));
    let resolver = Resolver::of(vector, emissions.clone());
    let mut builder = Host::builder(Config::from_entries(entries.collect(), settings)?)
        .engine(&component.engine)
        .audit(log.clone())
        .capability(Arc::new(emissions.clone()));
    if let Some(resolver) = &resolver {
        builder = builder.approver(Arc::new(resolver.clone()));
    }
    let host = builder.build().await.context("the host does not load the scripts")?;

    let workspace = tempfile::tempdir()?;
    let mut config = AgentConfig::new(workspace.path(), "mock");
    config.max_depth = 0;
    config.interactive = resolver.is_some();
    let model = Arc::new(Model::new(&vector["scenario"]["model_script"]));
    let agent = Agent::builder(host.clone(), model, tools, config).build()?;
    let prompt = vector["scenario"]["input"]["content"].as_str().unwrap_or_default();
    let outcome = agent.run(prompt, &RecordingReporter::default(), &Default::default()).await?;
    host.drain(DRAIN).await?;

    let observed = Observed { log: &log.records(), emissions: &emissions, resolver: resolver.as_ref(), identity, mode };
    let (identities, records) = observed.records(scripts.len());
    let record = RunRecord {
        outcome: word(&outcome).to_owned(),
        final_output: if outcome.status == Status::Success { json!(outcome.text) } else { Value::Null },
        tool_invocations: invocations.all(),
        error: outcome.reason,
        identities,
        records,
        ..RunRecord::default()
    };
    Ok(assert_vector(vector, &recorded(&emissions), &record))
}

/// What the first interceptor was given: of an emission about which it was asked again, what it saw first.
fn recorded(emissions: &Emissions) -> Vec<Value> {
    let first = plugin::name(0);
    emissions.all().iter().filter_map(|emission| emission.as_seen_by(&first).cloned()).collect()
}

fn word(outcome: &RunOutcome) -> &'static str {
    match outcome.status {
        Status::Success => "completed",
        Status::Rejected => "blocked",
        _ => "error",
    }
}
