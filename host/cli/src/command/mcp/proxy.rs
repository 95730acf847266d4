//! Runs the proxy in front of an MCP server that is a program, or a service reached over HTTP.

use super::rules::UserRules;
use crate::args::McpArgs;
use crate::command::relayed::{self, client, made_of, soon};
use crate::exit::{CliError, Exit};
use crate::output;
use crate::{configuration, interrupt};
use anyhow::anyhow;
use hookhost::schema::Schema;
use hookhost_client::async_client::AsyncClient;
use hookhost_client::paths::HostPaths;
use hookhost_client::start;
use hookhost_proxy::mcp::http_server::{self, ClientKey, NewJudge, PATH};
use hookhost_proxy::mcp::judge::{Checks, Judge, PolicySource as _};
use hookhost_proxy::mcp::lock::HeldBackStore;
use hookhost_proxy::mcp::proxy;
use hookhost_proxy::mcp::service::Service;
use hookhost_proxy::server_name::ServerName;
use serde_json::Value;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Time in which the server should end after the client has closed the connection.
const FOR_THE_SERVER: Duration = Duration::from_secs(10);

pub(crate) async fn proxy(args: &McpArgs) -> Result<Exit, CliError> {
    if args.program.is_empty() && args.http.is_none() {
        return Err(CliError::usage("name the server's command after `--`, or a service with --http")
            .advise("hookhost mcp --help"));
    }
    let server = server_name(args)?;
    let cancel = CancellationToken::new();
    let _watch = interrupt::watch(cancel.clone(), None)?;
    let new_judge = new_judge(&server)?;
    let proxying = async {
        let Some(address) = &args.http else {
            let judge = Arc::new(new_judge().map_err(|why| anyhow!(why))?);
            let ended = before_program(Arc::clone(&judge), &server, &args.program, &cancel).await;
            judge.end_session().await;
            return ended;
        };
        let key = args.key_variable.as_deref().map(key).transpose()?;
        let headers = args.header_variable.iter().map(|(name, variable)| Ok((name.clone(), self::key(variable)?)));
        let headers = headers.collect::<Result<Vec<_>, CliError>>()?;
        let service = Service::new(address, key.as_deref(), &headers, tell).map_err(CliError::usage)?;
        match args.listen {
            Some(at) => {
                let client_key = args.client_key_variable.as_deref().map(self::key).transpose()?;
                if (key.is_some() || !headers.is_empty()) && client_key.is_none() {
                    let why = "any program of this machine could use the key of the service through this address";
                    return Err(CliError::usage(why).advise("--client-key-variable VARIABLE"));
                }
                listen(service, Box::new(new_judge), at, client_key.as_deref(), &cancel).await
            }
            None => {
                let judge = Arc::new(new_judge().map_err(|why| anyhow!(why))?);
                let proxied = proxy::run(Arc::clone(&judge), client(&cancel)?, service.connect(), FOR_THE_SERVER);
                soon(proxied, &cancel).await;
                // If the proxy was interrupted, the service and the session have not ended yet.
                tokio::join!(service.end(), judge.end_session());
                Ok(Exit::Done)
            }
        }
    };
    let ended = proxying.await;
    if cancel.is_cancelled() { Ok(Exit::Interrupted) } else { ended }
}

async fn before_program(
    judge: Arc<Judge>,
    server: &ServerName,
    command: &[OsString],
    cancel: &CancellationToken,
) -> Result<Exit, CliError> {
    let program = relayed::start(&format!("the MCP server {server}"), command)?;
    program.until_its_end(cancel, |server| Ok(proxy::run(judge, client(cancel)?, server, FOR_THE_SERVER))).await
}

/// Serves clients over HTTP until the proxy is interrupted.
async fn listen(
    service: Service,
    judge: NewJudge,
    at: SocketAddr,
    key: Option<&str>,
    cancel: &CancellationToken,
) -> Result<Exit, CliError> {
    if !at.ip().is_loopback() {
        let why = format!("{at} is reached from other machines: listen at 127.0.0.1 or [::1]");
        return Err(CliError::usage(why));
    }
    let listener = TcpListener::bind(at).await.map_err(|error| anyhow!("the proxy cannot listen at {at}: {error}"))?;
    let at = listener.local_addr().map_err(|error| anyhow!(error))?;
    output::print(&format!("listening at http://{at}{PATH}\n"))?;
    soon(http_server::serve(listener, service, judge, key.map(ClientKey::new), cancel.cancelled()), cancel).await;
    Ok(Exit::Done)
}

/// Prints a notice for the user.
fn tell(text: &str) {
    output::note(&output::notice(text));
}

/// Reads the key in an environment variable.
fn key(variable: &str) -> Result<String, CliError> {
    let key = std::env::var(variable).ok().filter(|key| !key.trim().is_empty());
    let missing = || CliError::usage(format!("the environment variable {variable} has no key: set it"));
    Ok(key.ok_or_else(missing)?.trim().to_owned())
}

/// Returns a function that creates a [`Judge`], which decides on the server's messages. Each judge has its own session, in the working
/// directory.
fn new_judge(server: &ServerName) -> Result<impl Fn() -> Result<Judge, String> + Send + Sync + use<>, CliError> {
    let places = configuration::places()?;
    let cwd = configuration::cwd()?;
    let program = start::program().map_err(|error| CliError::new(Exit::Failed, error))?;
    let resident = Arc::new(AsyncClient::new(HostPaths::below(&places.state), program));
    let rules = Arc::new(UserRules::of(&cwd)?);
    let (server, held_back) = (server.clone(), HeldBackStore::below(&places.state, &rules.lock_file()));
    let checks = Checks { is_unseen: hookhost::is_unseen, fits };
    Ok(move || {
        let (resident, rules, held_back) = (Arc::clone(&resident), Arc::clone(&rules), held_back.clone());
        Judge::new(server.clone(), cwd.clone(), resident, rules, held_back, checks, tell)
    })
}

/// Returns true if the arguments are valid for a tool's schema. If the schema cannot be checked, returns false.
fn fits(schema: &Value, arguments: &Value) -> bool {
    Schema::compile(schema).is_ok_and(|schema| schema.problems(arguments).is_empty())
}

fn server_name(args: &McpArgs) -> Result<ServerName, CliError> {
    match &args.name {
        Some(name) => ServerName::new(name).map_err(CliError::usage),
        None => made_of(&args.program)
            .or_else(|| host_of(args.http.as_deref()?))
            .ok_or_else(|| CliError::usage("the command gives no name for the server: name the server with --name")),
    }
}

/// Makes a server name from the host in an address.
fn host_of(address: &str) -> Option<ServerName> {
    let (_, rest) = address.split_once("://")?;
    ServerName::made_of(rest.split(['/', ':', '?', '#']).next()?)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_server_is_named_after_the_host_of_its_address() {
        let host = super::host_of("https://mcp.example.com:8443/mcp").map(|name| name.to_string());
        assert_eq!(host.as_deref(), Some("mcp-example-com"));
    }
}
