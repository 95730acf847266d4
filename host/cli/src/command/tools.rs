//! `hookhost tools`: lists the tools that a model is offered here, with their origin. The command starts the MCP servers in order to list
//! their tools, and then ends the servers.

use crate::args::ToolsArgs;
use crate::command::run::{interrupted, settings};
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::interrupt;
use crate::loading;
use crate::output::{
    self, one_line,
    style::{DIM, NAME, WARNING},
};
use crate::toolbox;
use hookhost::contract::ToolOrigin;
use hookhost_agent::agent::OfferedTool;
use serde_json::{Value, json};
use std::fmt::Write as _;
use tokio_util::sync::CancellationToken;

pub(crate) async fn run(args: &ToolsArgs) -> Result<Exit, CliError> {
    let directory = configuration::cwd()?;
    let config = loading::config(&args.configuration, &directory)?;
    let section = configuration::agent(&config)?;
    let host = loading::host(config.clone()).await?;
    let cancel = CancellationToken::new();
    let _watch = interrupt::watch(cancel.clone(), None)?;
    let (tools, left_out) = tokio::select! {
        tools = toolbox::tools(&host, &config, &section, &directory, args.configuration.config.as_deref(), false) => tools?,
        () = cancel.cancelled() => return Err(interrupted()),
    };
    let offered = settings(&section, &directory, "", tools.launcher)?.offered(&tools.toolbox);
    if args.json {
        output::print_json(&as_json(&offered, &left_out))?;
    } else {
        for notice in &left_out {
            output::note(&format!("{WARNING}note:{WARNING:#} {}\n", output::printable(notice)));
        }
        output::print(&as_text(&offered))?;
    }
    Ok(Exit::Done)
}

/// Describes the tools, each with its origin.
pub(crate) fn as_text(offered: &[OfferedTool]) -> String {
    let mut text = String::new();
    for OfferedTool { definition, origin, .. } in offered {
        let brought_by = one_line(&brought_by(origin));
        let _ = writeln!(text, "{NAME}{}{NAME:#} {DIM}{brought_by}{DIM:#}", one_line(&definition.name));
        let _ = writeln!(text, "  {}", one_line(&first_sentence(&definition.description)));
    }
    text
}

fn brought_by(origin: &ToolOrigin) -> String {
    match origin {
        ToolOrigin::Builtin => "built in".into(),
        ToolOrigin::Plugin(plugin) => format!("plugin {plugin}"),
        ToolOrigin::Mcp(server) => format!("MCP server {server}"),
        ToolOrigin::External => "the agent's surroundings".into(),
    }
}

/// Returns the first sentence of a description, cut for a list.
pub(super) fn first_sentence(description: &str) -> String {
    let line = description.trim().lines().next().unwrap_or_default();
    line.split_inclusive(". ").next().unwrap_or_default().trim_end().chars().take(200).collect()
}

fn as_json(offered: &[OfferedTool], left_out: &[String]) -> Value {
    let tool = |OfferedTool { definition, origin, .. }: &OfferedTool| {
        json!({
            "name": definition.name,
            "origin": origin,
            "description": definition.description,
            "input-schema": definition.input_schema,
        })
    };
    json!({ "tools": offered.iter().map(tool).collect::<Vec<_>>(), "left-out": left_out })
}
