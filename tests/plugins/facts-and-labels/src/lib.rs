//! Does what a shell command says, and rejects the command with the result: `fact NAME [AT]`, `add LABEL`, `has LABEL`,
//! `added-at LABEL`, `list`. After `add-and-trap LABEL` it traps. Every other command is allowed.

use hookhost_guest::prelude::*;

/// The plugin.
#[derive(Debug)]
pub struct FactsAndLabels;

#[plugin]
impl Plugin for FactsAndLabels {
    fn before_tool_call(_session: &Session, call: &ToolCall) -> ToolCallVerdict {
        let command = call.action.shell().map(|shell| shell.command.as_str()).unwrap_or_default();
        match command.split_whitespace().collect::<Vec<_>>()[..] {
            ["fact", name] => said(&facts::read(name, None)),
            ["fact", name, at] => said(&facts::read(name, Some(at))),
            ["add", label] => {
                labels::add(label);
                said(&labels::list())
            }
            ["added-at", label] => said(&labels::added_at(label)),
            ["has", label] => said(&labels::has(label)),
            ["list"] => said(&labels::list()),
            ["add-and-trap", label] => {
                labels::add(label);
                panic!("as the command says")
            }
            _ => Verdict::allow(),
        }
    }
}

fn said(what: &impl std::fmt::Debug) -> ToolCallVerdict {
    Refusal::new(format!("{what:?}")).into()
}
