//! AGENT-HOOKS-0.1: the vectors of its conformance kit, run in two directions.
//!
//! | module | what it is |
//! |---|---|
//! | [`vectors`] | where the vectors are, and what one needs |
//! | `plugin` | the component that answers as a vector's script says |
//! | `emissions` | what was asked about, in which order |
//! | `host` | the agent loop as a host |
//! | `mounted` | a chain of plugins as an interceptor of another host |
//! | [`report`] | the results, by part |

mod emissions;
mod host;
mod mounted;
mod plugin;
pub mod report;
pub mod vectors;

use agent_hooks::ctk_engine::VectorResult;
use anyhow::Result;
use plugin::Component;
use serde_json::Value;
use std::path::Path;

/// The results of one direction.
#[derive(Debug)]
pub struct Direction {
    /// What was tested.
    pub subject: &'static str,
    /// One for each vector.
    pub results: Vec<VectorResult>,
}

/// Runs all vectors, in both directions; `plugins` is the directory of the built components.
///
/// # Errors
/// If the component is missing, or the host does not load it.
pub async fn run(vectors: &[Value], plugins: &Path) -> Result<[Direction; 2]> {
    let component = Component::of(plugins)?;
    let mut loop_results = Vec::new();
    let mut chain_results = Vec::new();
    for vector in vectors {
        loop_results.push(match vectors::not_of_the_loop(vector) {
            Some(why) => vectors::skipped(vector, why),
            None => host::run(vector, &component).await?,
        });
        chain_results.push(match vectors::not_of_the_chain(vector) {
            Some(why) => vectors::skipped(vector, why),
            None => mounted::run(vector, &component).await?,
        });
    }
    Ok([
        Direction { subject: "the agent loop as a host", results: loop_results },
        Direction { subject: "a chain as an interceptor", results: chain_results },
    ])
}
