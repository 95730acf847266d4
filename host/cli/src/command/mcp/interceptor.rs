//! `hookhost mcp interceptor`: serves the chain of plugins as an MCP interceptor on standard input and output.

use crate::args::InterceptorArgs;
use crate::audit_log;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::interrupt;
use crate::loading;
use anyhow::anyhow;
use hookhost_agents::json;
use hookhost_proxy::jsonrpc::lines::{self, Line};
use hookhost_proxy::jsonrpc::standard_streams;
use hookhost_proxy::server_name::ServerName;
use hookhost_standards::interceptor::Interceptors;
use serde_json::Value;
use std::io;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio_util::sync::CancellationToken;

pub(crate) async fn interceptor(args: &InterceptorArgs) -> Result<Exit, CliError> {
    let server = ServerName::new(&args.name).map_err(CliError::usage)?;
    let cwd = configuration::cwd()?;
    let config = loading::config(&args.configuration, &cwd)?;
    for entry in config.enabled().filter(|entry| entry.tools.is_some()) {
        // A response does not contain the name of the tool that it belongs to.
        tracing::warn!(
            "the plugin {} is for some tools only, so it is not asked about responses, which name no tool to an interceptor",
            entry.name
        );
    }
    let host = loading::recording_host(config, None).await?;
    let cancel = CancellationToken::new();
    let _watch = interrupt::watch(cancel.clone(), Some(host.clone()))?;
    let interceptors = Interceptors::new(host.clone(), cwd, server.as_str());
    let ended = tokio::select! {
        ended = serve(&interceptors) => match ended {
            Ok(()) => Ok(Exit::Done),
            Err(error) => Err(anyhow!("the client cannot be read or written: {error}").into()),
        },
        () = cancel.cancelled() => Ok(Exit::Interrupted),
    };
    drop(interceptors);
    audit_log::finish(&host, ended).await
}

/// Answers one request after another until the end of the input.
async fn serve(interceptors: &Interceptors) -> io::Result<()> {
    let (mut input, mut output) = (BufReader::new(standard_streams::input()?), standard_streams::output()?);
    loop {
        let request = match lines::next(&mut input).await? {
            Line::Whole(line) => std::str::from_utf8(&line).ok().and_then(|line| json::value(line).ok()),
            Line::TooLong { .. } => None,
            Line::End => return Ok(()),
        };
        // Unreadable input is answered as an invalid request.
        if let Some(answer) = interceptors.answer(&request.unwrap_or(Value::Null)).await {
            output.write_all(format!("{answer}\n").as_bytes()).await?;
            output.flush().await?;
        }
    }
}
