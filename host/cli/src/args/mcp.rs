//! The proxy in front of MCP servers, and the definitions of tools that it lets through.

use super::ConfigArgs;
use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::net::SocketAddr;

const EXAMPLES: &str = "\
Examples:
  hookhost mcp -- npx -y @modelcontextprotocol/server-filesystem .
  hookhost mcp --name files -- mcp-server-filesystem .
  hookhost mcp --name issues --http https://mcp.example.com/mcp --key-variable ISSUES_TOKEN
  hookhost mcp --name issues --http https://mcp.example.com/mcp --listen 127.0.0.1:8931
  hookhost mcp list
  hookhost mcp approve files
  hookhost mcp init files >> ~/.config/hookhost/hookhost.toml
  hookhost mcp interceptor --name files

Put this command into the agent's settings in place of the server's own.";

/// Run an MCP server with your rules in front of it
///
/// Your rules are asked about the messages between an agent and the server.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,

    /// The server's name in the names of its tools, in the configuration and in the lock file [default: derived from the
    /// command]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// The address of a service that speaks streamable HTTP, in place of a program
    #[arg(long, value_name = "URL", conflicts_with = "program")]
    pub(crate) http: Option<String>,

    /// The environment variable with the key that is sent to the service as `Authorization: Bearer …`
    #[arg(long, value_name = "VARIABLE", requires = "http")]
    pub(crate) key_variable: Option<String>,

    /// A header for the service, and the environment variable that contains the header's value; can be repeated
    #[arg(long, value_name = "HEADER=VARIABLE", requires = "http", value_parser = header)]
    pub(crate) header_variable: Vec<(String, String)>,

    /// Serve clients over HTTP at this address of this machine, such as 127.0.0.1:0, in place of standard input and output
    #[arg(long, value_name = "ADDRESS", requires = "http", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,

    /// The environment variable with the key that each client must send as `Authorization: Bearer …`
    #[arg(long, value_name = "VARIABLE", requires = "listen")]
    pub(crate) client_key_variable: Option<String>,

    /// The server's program, which speaks MCP on its standard input and output, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) program: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    Approve(ApproveToolsArgs),
    /// Print initial rules, which allow only the tools that the server lists now, and ask about each tool that may do more than read
    Init {
        /// The server
        server: String,
    },
    /// Report rules that match no tool of their server, and rules that name an argument which no matching tool has
    Check,
    Interceptor(InterceptorArgs),
    /// List the servers, each with its approved tools and the tools that are held back
    List {
        /// Only this server
        server: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Approve tool definitions that are held back; first shows the definitions or their changes
#[derive(Debug, Args)]
pub(crate) struct ApproveToolsArgs {
    /// The server
    pub(crate) server: String,

    /// Only these tools of the server [default: all that are held back]
    pub(crate) tools: Vec<String>,

    /// Approve without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// Answer other MCP programs that ask about their messages, on standard input and output (draft of MCP's interceptors)
#[derive(Debug, Args)]
pub(crate) struct InterceptorArgs {
    #[command(flatten)]
    pub(crate) configuration: ConfigArgs,

    /// The server's name in rules
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
}

fn header(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, variable)| !name.is_empty() && !variable.is_empty());
    let (name, variable) = parts.ok_or("write the header, `=` and the variable, such as X-Api-Key=ISSUES_KEY")?;
    Ok((name.to_owned(), variable.to_owned()))
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok()).unwrap_or(8931);
    text.parse().map_err(|_| format!("it is not an IP address with a port: write 127.0.0.1:{port}"))
}
