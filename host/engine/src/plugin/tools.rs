//! The tools of a plugin. The tools are listed once, when the plugin is loaded. The model sees them under names that
//! cannot collide.

use super::link::LinkedComponent;
use super::{LoadError, Plugin};
use crate::config::Mode;
use crate::sandbox::{CallLimits, GuestSetup, Handle};
use crate::schema::{self, Schema, SchemaError};
use crate::wire::Answered;
use serde::Serialize;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use wasmtime::component::{ComponentType, Lift};

/// Maximum number of tools of one plugin. Each tool uses a part of the model's context in every request.
pub const MAX_TOOLS: usize = 64;

/// Maximum length of the name that the model sees. The protocols of the providers have this limit.
const MAX_NAME_LEN: usize = 64;

/// Maximum size of a description, in bytes.
const MAX_DESCRIPTION_BYTES: usize = 4 * 1024;

/// The separator between the name of a plugin and the name of its tool.
const SEPARATOR: &str = "__";

/// A tool of a plugin.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct PluginTool {
    /// The name that the model sees, `PLUGIN__TOOL`. Tools of different plugins never have the same full name.
    pub full_name: String,
    /// The plugin's name in the allowlist.
    pub plugin: String,
    /// The name of the tool in the plugin.
    pub name: String,
    /// The description for the model, which says what the tool does and how it is used.
    pub description: String,
    /// A JSON Schema of the arguments object.
    pub input_schema: Value,
}

/// The functions of the interface `tools`. These functions are looked up once, when the plugin is loaded.
#[derive(Clone, Debug)]
pub(super) struct ToolFunctions {
    pub(super) list: Handle,
    pub(super) call: Handle,
}

/// A tool as `tools.list` describes it.
#[derive(ComponentType, Lift, Clone, Debug)]
#[component(record)]
pub(super) struct ToolDeclaration {
    name: String,
    description: String,
    #[component(name = "input-schema")]
    input_schema: String,
}

impl Answered for ToolDeclaration {
    type Wire = Self;

    fn answered(wire: Self) -> Result<Self, String> {
        Ok(wire)
    }
}

impl From<[String; 3]> for ToolDeclaration {
    fn from([name, description, input_schema]: [String; 3]) -> Self {
        Self { name, description, input_schema }
    }
}

impl Plugin {
    /// Returns the plugin's tools. In observe mode, there are no tools, because a plugin in that mode must not change
    /// anything.
    #[must_use]
    pub fn tools(&self) -> &[PluginTool] {
        match self.entry().mode {
            Mode::Enforce => &self.shared.tools,
            Mode::Observe => &[],
        }
    }
}

/// Returns the result of `tools.list`, in an instance whose only capability is the log.
///
/// # Errors
/// Fails if the plugin fails, or if one of its tools cannot be offered.
pub(super) async fn listed(
    linked: &LinkedComponent,
    configure: Option<&Handle>,
) -> Result<Arc<[PluginTool]>, LoadError> {
    let Some(functions) = &linked.surface.tools else { return Ok(Arc::default()) };
    let name = || linked.entry.name.clone();
    let configure = configure.map(|configure| (configure, linked.config.as_str()));
    let setup = GuestSetup::to_configure(Arc::clone(&linked.name));
    let called =
        linked.sandbox.call(&linked.pre, configure, &functions.list, || (), setup, CallLimits::of(&linked.entry)).await;
    let (declared,): (Vec<ToolDeclaration>,) =
        called.answer.map_err(|failure| LoadError::Failed { name: name(), failure })?;
    offered(&linked.name, declared).map(Into::into).map_err(|problem| LoadError::Tools { name: name(), problem })
}

/// Returns the tools with their full names.
///
/// # Errors
/// Returns a description of the first mistake in a tool.
pub(super) fn offered(plugin: &str, declared: Vec<ToolDeclaration>) -> Result<Vec<PluginTool>, String> {
    if declared.is_empty() {
        return Ok(Vec::new());
    }
    check_plugin_name(plugin)?;
    if declared.len() > MAX_TOOLS {
        return Err(format!("it lists {} of them, and {MAX_TOOLS} is the most", declared.len()));
    }
    let mut names = HashSet::new();
    declared
        .into_iter()
        .map(|ToolDeclaration { name, description, input_schema }| {
            let shown: String = name.chars().take(MAX_NAME_LEN).flat_map(char::escape_debug).collect();
            let full_name = format!("{plugin}{SEPARATOR}{name}");
            if name.is_empty() || !name.chars().all(is_of_a_name) || full_name.len() > MAX_NAME_LEN {
                return Err(format!(
                    "the name `{shown}` has to consist of letters, digits, `_` and `-`, and may have {MAX_NAME_LEN} of \
                     them together with `{plugin}{SEPARATOR}`"
                ));
            }
            if !names.insert(name.clone()) {
                return Err(format!("it lists `{name}` twice"));
            }
            if description.len() > MAX_DESCRIPTION_BYTES {
                return Err(format!("the description of `{name}` is longer than {MAX_DESCRIPTION_BYTES} bytes"));
            }
            let input_schema =
                checked_schema(&input_schema).map_err(|why| format!("the input schema of `{name}` {why}"))?;
            Ok(PluginTool { full_name, plugin: plugin.to_owned(), name, description, input_schema })
        })
        .collect()
}

/// Checks that the plugin's name ends at the first separator of a tool's full name. Then tools of two plugins, or of a
/// plugin and an MCP server (`mcp__SERVER__TOOL`), can never have the same full name.
fn check_plugin_name(plugin: &str) -> Result<(), String> {
    let why = if plugin == "mcp" {
        "is what the tools of MCP servers begin with"
    } else if plugin.contains(SEPARATOR) || plugin.ends_with('_') {
        "has `__` in it, or ends with `_`"
    } else if !plugin.chars().all(is_of_a_name) {
        "has a `.` in it, which no tool's name can have"
    } else {
        return Ok(());
    };
    Err(format!("the names of tools begin with the plugin's, and `{plugin}` {why}: give it another `name`"))
}

fn is_of_a_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

fn checked_schema(text: &str) -> Result<Value, String> {
    if text.len() > schema::MAX_BYTES {
        return Err(SchemaError::TooLarge.to_string());
    }
    let schema: Value = serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err("does not have the `type` `object`".into());
    }
    Schema::compile(&schema).map_err(|error| error.to_string())?;
    Ok(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, input_schema: &str) -> ToolDeclaration {
        ToolDeclaration { name: name.into(), description: "d".into(), input_schema: input_schema.into() }
    }

    fn problem(plugin: &str, tools: Vec<ToolDeclaration>) -> String {
        offered(plugin, tools).unwrap_err()
    }

    const OBJECT: &str = r#"{"type":"object"}"#;

    #[test]
    fn a_tool_is_offered_under_its_plugins_name_and_its_own() {
        let tools = offered("text-tools", vec![tool("count", OBJECT), tool("sort__", OBJECT)]).unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool.full_name.as_str()).collect();
        assert_eq!(names, ["text-tools__count", "text-tools__sort__"]);
    }

    #[test]
    fn no_name_of_a_plugin_lets_two_full_names_collide() {
        // `a__b` + `c` would be `a` + `b__c`; `a_` + `b` would be `a` + `_b`; `mcp` + `x__y` is an MCP server's.
        for plugin in ["a__b", "a_", "mcp", "a.b"] {
            assert!(problem(plugin, vec![tool("c", OBJECT)]).contains("give it another `name`"), "{plugin}");
            assert!(offered(plugin, Vec::new()).is_ok(), "{plugin} brings none");
        }
    }

    #[test]
    fn what_cannot_be_offered_is_reported_with_the_tool_and_the_reason() {
        let long = "n".repeat(62);
        for (tools, said) in [
            (vec![tool("", OBJECT)], "the name ``"),
            (vec![tool("a b", OBJECT)], "the name `a b`"),
            (vec![tool(&long, OBJECT)], "may have 64"),
            (vec![tool("a", OBJECT), tool("a", OBJECT)], "`a` twice"),
            (vec![tool("a", "{")], "`a` is not JSON"),
            (vec![tool("a", "{}")], "`a` does not have the `type` `object`"),
            (vec![tool("a", r#"{"type":"object","properties":3}"#)], "`a` is not a JSON Schema"),
            (
                vec![tool("a", &format!(r#"{{"type":"object","title":"{}"}}"#, "x".repeat(40_000)))],
                "is larger than 32768",
            ),
            ((0..65).map(|n| tool(&format!("t{n}"), OBJECT)).collect(), "it lists 65 of them, and 64 is the most"),
        ] {
            let problem = problem("p", tools);
            assert!(problem.contains(said), "{problem}");
        }
    }
}
