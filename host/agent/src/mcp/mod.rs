//! Servers of the Model Context Protocol, which provide tools. A server is a local program or a remote service.
//!
//! Each server of the section `[mcp]` starts and ends with the run. If a server cannot be started or does not answer, the run continues
//! without this server, and the user gets a notice. No server can end the run. The tools of a server are offered as `mcp__SERVER__TOOL`. A
//! call of such a tool causes the same events as a call of any other tool, and its action is `mcp`.
//!
//! Limits on what a server sends:
//! - 16 MiB and 100 000 values per message, counted while the message is read
//! - 64 MiB of pending messages, for all servers together
//! - 64 MiB per event stream that answers a request
//! - 1 000 blocks per result
//! - [`MAX_TOOLS`] tools
//! - [`MAX_UNANSWERED`] of the server's requests that are not answered yet
//! - a time limit for each answer

mod answer;
mod bounded;
mod http;
mod section;
mod server;
mod tool;
mod unanswered;

pub use bounded::{MAX_PENDING_BYTES, MAX_VALUES};
pub use http::{MAX_MESSAGE, MAX_STREAM};
pub use section::{McpSection, ServerSection};
pub use server::MAX_BLOCKS;
pub use tool::McpTool;
pub use unanswered::MAX_UNANSWERED;

use crate::launcher::Launcher;
use futures_util::future::join_all;
use server::Server;
use std::path::Path;
use std::sync::Arc;

/// Maximum number of tools per server.
pub const MAX_TOOLS: usize = 128;

/// Result of starting the servers of a section.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct StartedServers {
    /// Tools of all servers, ordered by server name. A server runs as long as one of its tools exists.
    pub tools: Vec<McpTool>,
    /// One sentence for each server or tool that is left out.
    pub notices: Vec<String>,
}

/// Reasons why a server is left out or a call fails. People and models read the messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The section does not give exactly one connection to the server, or the name of the server is invalid.
    #[error("[mcp.{server}] {problem}")]
    Section {
        /// Name of the server.
        server: String,
        /// Description of the fault, with advice.
        problem: String,
    },
    /// The server's program cannot be started.
    #[error("the MCP server {server} cannot be started: {command}: {reason}")]
    Start {
        /// Name of the server.
        server: String,
        /// Command of the program.
        command: String,
        /// Reason from the system.
        reason: String,
    },
    /// The server does not follow the protocol, or cannot be reached.
    #[error("the MCP server {server} cannot be used: {reason}")]
    Unusable {
        /// Name of the server.
        server: String,
        /// Description of the fault.
        reason: String,
    },
    /// The server did not answer in time.
    #[error("the MCP server {server} gave no answer within {seconds} s (`{key}` of [mcp.{server}])")]
    Silent {
        /// Name of the server.
        server: String,
        /// Time limit in seconds.
        seconds: u32,
        /// Configuration key of the time limit.
        key: &'static str,
    },
    /// The server has ended.
    #[error("the MCP server {server} has ended{how}: its tools cannot be called any more in this run")]
    Gone {
        /// Name of the server.
        server: String,
        /// Continuation of the message, such as `, with exit code 1, saying …`; empty if unknown.
        how: String,
    },
    /// The server answered a call with a protocol error.
    #[error("the MCP server {server} refused the call: {reason}")]
    Refused {
        /// Name of the server.
        server: String,
        /// The server's own words, shortened.
        reason: String,
    },
}

impl McpSection {
    /// Starts all enabled servers concurrently and asks for their tools. Programs are started by `launcher`. Their
    /// working directory is `workspace`, unless the section gives another directory.
    pub async fn start(&self, workspace: &Path, launcher: &Launcher) -> StartedServers {
        let enabled = self.servers.iter().filter(|(_, section)| section.enabled);
        let starting = enabled.map(|(name, section)| Server::start(name, section, workspace, launcher));
        let mut started = StartedServers::default();
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
