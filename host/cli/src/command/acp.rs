//! `hookhost acp`: the proxy between an editor and an agent.

use crate::args::AcpArgs;
use crate::command::relayed::{self, client, made_of};
use crate::exit::{CliError, Exit};
use crate::output;
use crate::{configuration, interrupt};
use hookhost_client::async_client::AsyncClient;
use hookhost_client::paths::{self, HostPaths};
use hookhost_client::start;
use hookhost_proxy::acp::proxied_servers::ProxyProgram;
use hookhost_proxy::acp::proxy::Proxy;
use hookhost_proxy::jsonrpc::relay;
use hookhost_proxy::server_name::ServerName;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Time in which the agent should end after its editor has closed the connection.
const FOR_THE_AGENT: Duration = Duration::from_secs(10);

pub(crate) async fn proxy(args: &AcpArgs) -> Result<Exit, CliError> {
    if args.program.is_empty() {
        return Err(CliError::usage("name the agent's command after `--`").advise("hookhost acp --help"));
    }
    let agent = match &args.name {
        Some(name) => ServerName::new(name).map_err(|_| CliError::usage(NAMES))?,
        None => made_of(&args.program)
            .ok_or_else(|| CliError::usage("the command gives no name for the agent: name the agent with --name"))?,
    };
    let cancel = CancellationToken::new();
    let _watch = interrupt::watch(cancel.clone(), None)?;
    let places = configuration::places()?;
    let hookhost = start::program().map_err(|error| CliError::new(Exit::Failed, error))?;
    let program = ProxyProgram { path: hookhost.to_string_lossy().into_owned(), variables: paths::variables() };
    let resident = Arc::new(AsyncClient::new(HostPaths::below(&places.state), hookhost));
    let tell = |text: &str| output::note(&output::notice(text));
    let proxy = Arc::new(Proxy::new(agent.to_string(), configuration::cwd()?, resident, program, tell));
    let started = relayed::start(&format!("the agent {agent}"), &args.program)?;
    let relayed = started
        .until_its_end(&cancel, |server| Ok(relay::run(Arc::clone(&proxy), client(&cancel)?, server, FOR_THE_AGENT)));
    let ended = relayed.await;
    let summary = proxy.finish().await;
    if !summary.is_empty() {
        tell(&summary.to_text(agent.as_str()));
    }
    if cancel.is_cancelled() { Ok(Exit::Interrupted) } else { ended }
}

/// The rule for names, as an error message.
const NAMES: &str = "the name of an agent has 1 to 32 letters, digits, `_` and `-`";
