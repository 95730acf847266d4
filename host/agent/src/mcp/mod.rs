//! Servers of the Model Context Protocol: programs of the user, and services, that bring tools.
//!
//! Each server of the section `[mcp]` is started with the run and ends with it. A server that
//! cannot be started, or does not answer, is left out with a sentence that says why; nothing that
//! one does ends the run. Its tools are offered as `mcp__SERVER__TOOL` and pass the events of any
//! tool, with the action `mcp`. What a server sends is bounded: 16 MiB and 100 000 values a
//! message, counted as it is read; 64 MiB of all servers' messages that are on their way; 64 MiB of
//! the event stream that answers one request; 1 000 blocks of a result; [`MAX_TOOLS`] tools;
//! [`MAX_UNANSWERED`] requests of its own that have no answer yet; a time limit for each answer.

mod answer;
mod bounded;
mod http;
mod section;
mod server;
mod tool;
mod unanswered;

pub use bounded::{MAX_UNDER_WAY, MAX_VALUES};
pub use http::{MAX_MESSAGE, MAX_STREAM};
pub use section::{McpSection, ServerSection};
pub use server::MAX_BLOCKS;
pub use tool::McpTool;
pub use unanswered::MAX_UNANSWERED;

use futures_util::future::join_all;
use server::Server;
use std::path::Path;
use std::sync::Arc;

/// Most tools of one server that are offered.
pub const MAX_TOOLS: usize = 128;

/// What the servers of a section bring.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Started {
    /// The tools of all servers, by the servers' names; a server runs for as long as one of its tools is there.
    pub tools: Vec<McpTool>,
    /// A sentence for each server and tool that is left out.
    pub notices: Vec<String>,
}

/// Why a server brings nothing, or a call no result. People and models read it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The section does not say how it is reached, or in two ways.
    #[error("[mcp.{server}] {problem}")]
    Section {
        /// The server.
        server: String,
        /// What is wrong, and what to write.
        problem: String,
    },
    /// Its program cannot be started.
    #[error("the MCP server {server} cannot be started: {command}: {reason}")]
    Start {
        /// The server.
        server: String,
        /// The program.
        command: String,
        /// What the system says.
        reason: String,
    },
    /// It does not speak the protocol, or cannot be reached.
    #[error("the MCP server {server} cannot be used: {reason}")]
    Unusable {
        /// The server.
        server: String,
        /// What went wrong.
        reason: String,
    },
    /// It takes too long.
    #[error("the MCP server {server} gave no answer within {seconds} s (`{key}` of [mcp.{server}])")]
    Silent {
        /// The server.
        server: String,
        /// How long it was waited for.
        seconds: u32,
        /// The key that says so.
        key: &'static str,
    },
    /// It was there, and is no longer.
    #[error("the MCP server {server} has ended{how}: its tools cannot be called any more in this run")]
    Gone {
        /// The server.
        server: String,
        /// As `, with exit code 1, saying …`; empty where nothing is known.
        how: String,
    },
    /// It answers a call with an error of the protocol.
    #[error("the MCP server {server} refused the call: {reason}")]
    Refused {
        /// The server.
        server: String,
        /// Its own words, short.
        reason: String,
    },
}

impl McpSection {
    /// Starts all servers that are enabled, at the same time, and asks for their tools. Programs
    /// run in `workspace`, where the section says nothing else, without the environment variables
    /// `hidden`.
    pub async fn start(&self, workspace: &Path, hidden: &[String]) -> Started {
        let enabled = self.servers.iter().filter(|(_, section)| section.enabled);
        let starting = enabled.map(|(name, section)| Server::start(name, section, workspace, hidden));
        let mut started = Started::default();
        for server in join_all(starting).await {
            match server {
                Ok((server, listed)) => {
                    let server = Arc::new(server);
                    started.notices.extend(listed.notices);
                    started.tools.extend(listed.tools.into_iter().map(|tool| McpTool::new(Arc::clone(&server), tool)));
                }
                Err(error) => started.notices.push(format!("{error}; the run continues without it")),
            }
        }
        started
    }
}
