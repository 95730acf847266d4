//! `hookhost inspect`: describes a plugin's file without running any of its code.

use crate::args::InspectArgs;
use crate::configuration::{self, allow_command};
use crate::exit::{CliError, Exit};
use crate::output::{
    self, entry, interfaces, one_line,
    style::{ERROR, GOOD, NAME, WARNING},
};
use anyhow::anyhow;
pub(super) use component_metadata::Metadata;
use hookhost::Config;
use hookhost::command::{Inspection, inspect};
use serde::Serialize;
use serde_json::json;
use std::path::Path;

mod component_metadata;
mod granted;

pub(crate) async fn run(args: &InspectArgs) -> Result<Exit, CliError> {
    let (bytes, inspection) = read(&args.wasm)?;
    if args.allowed {
        return granted::run(args, &inspection).await;
    }
    let metadata = Metadata::of(&bytes);
    let allowed = allowed(args, &inspection);
    if args.json {
        let mut object = json!(inspection);
        if let (Some(object), Ok(path)) = (object.as_object_mut(), std::path::absolute(&args.wasm)) {
            object.insert("path".into(), json!(path));
            object.insert("metadata".into(), json!(metadata));
            object.insert("allowed".into(), json!(allowed));
        }
        output::print_json(&object)?;
    } else {
        output::print(&as_text(args, &inspection, &metadata, &allowed))?;
    }
    Ok(if inspection.problem.is_some() { Exit::NotLoaded } else { Exit::Done })
}

/// Reads a file and inspects it.
pub(super) fn read(wasm: &Path) -> Result<(Vec<u8>, Inspection), CliError> {
    let shown = wasm.display();
    let bytes = hookhost::command::read(wasm).map_err(|error| {
        CliError::not_loaded(match error.kind() {
            std::io::ErrorKind::NotFound => {
                anyhow!("{shown} does not exist; give the path of a plugin's .wasm file, as its build printed it")
            }
            _ => anyhow!("{shown} cannot be read: {error}"),
        })
    })?;
    let inspection = inspect(&bytes).map_err(|problem| CliError::not_loaded(anyhow!("{shown} {problem}")))?;
    Ok((bytes, inspection))
}

/// The state of the file with respect to the allowlist.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Allowed {
    /// `allowed`, `not-enabled`, `other-digest`, `not-on-the-allowlist`, or `unknown` if the allowlist cannot be read.
    state: &'static str,
    name: Option<String>,
    /// File and line of the entry.
    at: Option<String>,
    #[serde(skip)]
    command: Option<String>,
}

fn allowed(args: &InspectArgs, inspection: &Inspection) -> Allowed {
    let config = configuration::cwd().and_then(|cwd| configuration::read(args.config.as_deref(), &cwd));
    let Ok(config) = config else { return Allowed { state: "unknown", name: None, at: None, command: None } };
    let entry = Config::entry_at(&config, &args.wasm);
    let state = match entry {
        None => "not-on-the-allowlist",
        Some(entry) if entry.code.digest() != Some(inspection.digest) => "other-digest",
        Some(entry) if !entry.enabled => "not-enabled",
        Some(_) => "allowed",
    };
    let command = match state {
        "not-on-the-allowlist" | "other-digest" if inspection.problem.is_none() => {
            Some(allow_command(&args.wasm, entry, args.config.as_deref()))
        }
        _ => None,
    };
    let at = entry.and_then(|entry| entry.origin.as_ref()).map(ToString::to_string);
    Allowed { state, name: entry.map(|entry| entry.name.clone()), at, command }
}

/// Returns true if a line of `[plugin.grants]` grants requests.
pub(in crate::command) fn is_http(line: &str) -> bool {
    line.starts_with("http")
}

fn as_text(args: &InspectArgs, inspection: &Inspection, metadata: &Metadata, allowed: &Allowed) -> String {
    let mut text = format!("{NAME}{}{NAME:#}\n", one_line(&args.wasm.to_string_lossy()));
    let mut row = |label: &str, value: &str| output::row(&mut text, 9, label, value);
    if let Some(problem) = &inspection.problem {
        row("problem", &format!("{ERROR}cannot be loaded{ERROR:#}: it {}", one_line(problem)));
    }
    row("allowed", &allowed_in_words(allowed));
    row("digest", &format!("sha256 {}", inspection.digest));
    row("size", &format!("{} bytes", inspection.size));
    row("contract", &inspection.contract.join(", "));
    row("events", &inspection.events.iter().map(|event| event.name()).collect::<Vec<_>>().join(", "));
    row("needs", &inspection.grants.join("; "));
    for optional in &inspection.optional_grants {
        let without = if is_http(optional) { "each request is denied" } else { "the plugin is loaded, too" };
        row("may use", &format!("{optional}: without it {without}"));
    }
    row("set-up", if inspection.configurable { "takes a [plugin.config]" } else { "" });
    row("tools", if inspection.tools { "brings tools" } else { "" });
    row("exports", &one_line(&interfaces::grouped(&inspection.exports)));
    row("imports", &one_line(&interfaces::grouped(&inspection.imports)));
    row(
        "priority",
        &match metadata.priority() {
            Ok(None) => String::new(),
            Ok(Some(priority)) => format!("{priority}, as a proposal: the entry decides"),
            Err(problem) => format!("{WARNING}proposes none that can be used{WARNING:#}: {}", one_line(problem)),
        },
    );
    row(
        "failure",
        &match metadata.on_failure() {
            Ok(None) => String::new(),
            Ok(Some(on_failure)) => {
                format!("{}, as a proposal for `on-failure`: the entry decides", on_failure.name())
            }
            Err(problem) => format!("{WARNING}proposes nothing that can be used{WARNING:#}: {}", one_line(problem)),
        },
    );
    row("stack", &metadata.stack.map(stack_in_words).unwrap_or_default());
    for (label, value) in metadata.rows() {
        row(label, &one_line(&value));
    }
    text
}

fn allowed_in_words(allowed: &Allowed) -> String {
    let Allowed { name, at, command, .. } = allowed;
    let name = name.as_deref().unwrap_or_default();
    let at = at.as_deref().map(one_line).unwrap_or_default();
    let command = command.as_deref().map(|command| format!(": {}", one_line(command))).unwrap_or_default();
    match allowed.state {
        "allowed" => format!("{GOOD}yes{GOOD:#}, as {name}, at {at}"),
        "not-enabled" => format!("{WARNING}not enabled{WARNING:#}: the entry {name}, at {at}; `--plugin` adds it"),
        "other-digest" => format!("{ERROR}no{ERROR:#}, {name}, at {at}, has another digest{command}"),
        "unknown" => "not known: the allowlist cannot be read".to_owned(),
        _ => format!("{WARNING}no{WARNING:#}, not on the allowlist{command}"),
    }
}

/// Stack size in the project template for plugins, in bytes.
const TEMPLATE_STACK: usize = 48 * 1024;

/// Stack size from which a warning is shown, in bytes. Preparing such a stack takes longer than all the work of a small plugin on an event.
/// The limit is several times the template's size, because a plugin that reads deeply nested input needs a larger stack.
const LARGE_STACK: usize = 512 * 1024;

fn stack_in_words(stack: usize) -> String {
    let size = entry::size(stack);
    if stack < LARGE_STACK {
        return size;
    }
    format!(
        "{size}, {WARNING}which is large{WARNING:#}: each event gets a fresh instance, for which all of it is written again; \
         link with `-C link-arg=-zstack-size={TEMPLATE_STACK}` (in .cargo/config.toml)"
    )
}
