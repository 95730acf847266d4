//! `hookhost mcp init`: prints initial rules for a server, made from its list of tools.

use super::rules::lock_file;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::output::{self, style::DIM};
use hookhost_proxy::mcp::lock::{Definitions, HeldBackStore, LockFile};
use hookhost_proxy::server_name::ServerName;
use serde_json::Value;
use std::fmt::Write as _;

/// Prints rules for a server. The rules allow the tools that the server lists now, but ask about each tool that is not marked as read-only.
pub(crate) fn init(server: &str) -> Result<Exit, CliError> {
    let server = ServerName::new(server).map_err(CliError::usage)?;
    let file = lock_file(&configuration::cwd()?)?;
    let lock = LockFile::read(&file).map_err(CliError::not_loaded)?;
    let held = HeldBackStore::below(&configuration::places()?.state, &file);
    let held = held.read(server.as_str()).map_err(CliError::not_loaded)?;
    let mut definitions: Definitions = held.into_iter().map(|(tool, held)| (tool, held.definition)).collect();
    definitions.extend(lock.servers.get(server.as_str()).cloned().unwrap_or_default());
    // A rule cannot name a tool whose name has these characters, so such a tool is left out.
    definitions.retain(|tool, _| {
        !tool.contains(|c: char| matches!(c, '*' | '?' | '[') || c.is_whitespace() || hookhost::is_unseen(c))
    });
    if definitions.is_empty() {
        let why = format!("nothing is known of {server}: start an agent that uses it through the proxy, and try again");
        return Err(CliError::usage(why).advise("hookhost mcp list"));
    }
    let listed: Vec<String> = definitions.keys().map(|tool| text(tool)).collect();
    let only_reads = |definition: &Value| definition.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true));
    let asked: Vec<String> = definitions
        .iter()
        .filter(|(_, definition)| !only_reads(definition))
        .map(|(tool, _)| text(&server.tool(tool)))
        .collect();
    let mut rules = format!(
        "# What the MCP server {server} may be asked. Its tools are those that it lists now.\n\
         [mcp-proxy.servers.{server}]\ntools = [{}]\n",
        listed.join(", ")
    );
    if !asked.is_empty() {
        let _ = write!(
            rules,
            "\n# These do not say that they only read.\n[[rule]]\nid = \"mcp-{server}\"\non = [{}]\nask = \"May {server} do this?\"\n",
            asked.join(", ")
        );
    }
    output::print(&rules)?;
    output::note(&format!("{DIM}add it to your hookhost.toml, and change it as you see fit{DIM:#}\n"));
    Ok(Exit::Done)
}

/// Returns a text as a TOML string. The function writes a JSON string, because the escapes that occur here are the same in TOML.
fn text(text: &str) -> String {
    Value::from(text).to_string()
}
