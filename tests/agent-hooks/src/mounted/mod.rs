//! A chain of plugins as an interceptor: the kit's own reference host mounts one chain for each script.

mod interceptor;
mod path;

use crate::emissions::Emissions;
use crate::plugin::Component;
use crate::vectors;
use agent_hooks::ctk::{Harness, ReferenceHarness, RunRecord, VectorResult, VectorSetup, run_vector};
use agent_hooks::{AgentContext, Interceptor, Verdict};
use anyhow::{Context as _, Result};
use async_trait::async_trait;
use hookhost::config::{Mode, Settings};
use hookhost::{Config, Host};
use interceptor::Chain;
use serde_json::Value;
use std::sync::Arc;

/// Runs a vector.
///
/// # Errors
/// If a host cannot be made.
pub(crate) async fn run(vector: &Value, component: &Component) -> Result<VectorResult> {
    let mut chains = Vec::new();
    for script in vectors::scripts(vector) {
        // The mounting host is who identifies contexts, and who ignores verdicts where it only evaluates.
        let emissions = Emissions::new(&[script], &[], "none");
        let entry = component.entry(0, Mode::Enforce);
        let host = Host::builder(Config::from_entries(vec![entry], Settings::default())?)
            .engine(&component.engine)
            .capability(Arc::new(emissions))
            .build()
            .await
            .context("the host does not load a script")?;
        chains.push(Chain::new(&host)?);
    }
    let mut mounting = Mounting { host: ReferenceHarness::new(), chains };
    Ok(run_vector(&mut mounting, vector).await)
}

/// The reference host, with chains where the kit would register scripts of its own.
struct Mounting {
    host: ReferenceHarness,
    chains: Vec<Chain>,
}

#[async_trait]
impl Harness for Mounting {
    fn name(&self) -> &str {
        "hookhost"
    }

    fn capabilities(&self) -> Vec<String> {
        self.host.capabilities()
    }

    fn setup(&mut self, mut setup: VectorSetup) {
        let chains = std::mem::take(&mut self.chains);
        let mounted = setup.interceptors.into_iter().zip(chains);
        setup.interceptors = mounted.map(|(kit, chain)| Box::new(Mounted { kit, chain }) as _).collect();
        self.host.setup(setup);
    }

    async fn run(&mut self) -> RunRecord {
        self.host.run().await
    }

    fn teardown(&mut self) {
        self.host.teardown();
    }
}

/// A chain in the place of one of the kit's interceptors, which notes what it is given, and whose verdict is dropped.
struct Mounted {
    kit: Box<dyn Interceptor>,
    chain: Chain,
}

#[async_trait]
impl Interceptor for Mounted {
    async fn intercept(&self, context: &AgentContext) -> Verdict {
        let _ = self.kit.intercept(context).await;
        self.chain.intercept(context).await
    }
}
