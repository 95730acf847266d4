//! `hookhost hooks`: shows which plugins are asked about each event, in order, and each plugin's grants and effects.

use crate::args::HooksArgs;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::loading;
use crate::output::{
    self, entry,
    style::{DIM, NAME},
};
use hookhost::config::Entry;
use hookhost::contract::{EventKind, Shape};
use hookhost::{Config, Host, Plugin};
use serde_json::{Value, json};
use std::fmt::Write as _;

pub(crate) async fn run(args: &HooksArgs) -> Result<Exit, CliError> {
    let config = loading::config(&args.configuration, &configuration::cwd()?)?;
    let host = loading::host(config.clone()).await?;
    if args.json {
        output::print_json(&as_json(&host, &config, args.event))?;
    } else {
        output::print(&as_text(&host, &config, args.event))?;
    }
    without_model(&config)?;
    Ok(Exit::Done)
}

/// Warns about plugins whose grant names a model that cannot be used.
fn without_model(config: &Config) -> Result<(), CliError> {
    let models = loading::plugin_models(config)?;
    for entry in config.enabled() {
        if let Some(problem) = entry.grants.model.as_ref().and_then(|model| models.problem(&model.name)) {
            let text = format!("{} is granted a model that it cannot ask: {problem}", entry.name);
            output::note(&output::notice(&text));
        }
    }
    Ok(())
}

/// Returns the given event, or all events.
fn events(only: Option<EventKind>) -> impl Iterator<Item = EventKind> {
    EventKind::ALL.iter().copied().filter(move |event| only.is_none_or(|only| only == *event))
}

fn shape(event: EventKind) -> &'static str {
    match event.shape() {
        Shape::Gate => "gate",
        Shape::Transform => "transform",
        Shape::Collect => "collect",
        Shape::Observe => "observe",
    }
}

/// Describes, for each event or only for `only`, the plugins that receive the event. The host must have loaded this configuration.
pub(crate) fn as_text(host: &Host, config: &Config, only: Option<EventKind>) -> String {
    let mut text = String::new();
    if config.entries().is_empty() && only.is_none() {
        text.push_str("No plugin is on the allowlist, so nothing is checked.\n");
        output::next_step(&mut text, "hookhost on");
        return text;
    }
    let (subscribed, unsubscribed): (Vec<EventKind>, Vec<EventKind>) =
        events(only).partition(|event| host.has_subscriber(*event));
    for event in subscribed {
        let _ = writeln!(text, "{NAME}{event}{NAME:#} {DIM}({}){DIM:#}", shape(event));
        for (place, plugin) in host.chain(event).iter().enumerate() {
            let _ = writeln!(text, "  {}. {}", place + 1, link(plugin, event));
        }
    }
    if !unsubscribed.is_empty() {
        let names: Vec<_> = unsubscribed.iter().map(|event| event.name()).collect();
        let _ = writeln!(text, "{DIM}no plugin: {}{DIM:#}", names.join(", "));
    }
    if only.is_some() {
        return text;
    }
    for plugin in host.plugins() {
        let _ = write!(text, "\n{}", about(&plugin));
        if plugin.name() == Entry::RULES {
            config.rules().iter().for_each(|rule| _ = writeln!(text, "  rule    {}", entry::rule(rule)));
        }
    }
    let disabled: Vec<_> = config.entries().iter().filter(|entry| !entry.enabled).collect();
    if !disabled.is_empty() {
        text.push('\n');
    }
    for entry in disabled {
        let _ = writeln!(text, "{DIM}not enabled:{DIM:#} {} {DIM}({}){DIM:#}", entry.name, entry.code);
    }
    text
}

/// Describes one plugin in the chain of one event.
fn link(plugin: &Plugin, event: EventKind) -> String {
    let entry = plugin.entry();
    let mut words = vec![format!("priority {}", entry.priority), entry.mode.name().to_owned()];
    if matches!(event.shape(), Shape::Gate | Shape::Transform) {
        words.push(format!("on failure {}", plugin.on_failure(event).name()));
        words.extend(entry::stop(entry.stop).map(str::to_owned));
    }
    let narrowing = entry::narrowing(entry.actions.as_ref(), entry.tools.as_deref());
    if !narrowing.is_empty() && is_about_calls(event) {
        words.push(format!("only {narrowing}"));
    }
    format!("{} {DIM}{}{DIM:#}", plugin.name(), words.join(", "))
}

fn is_about_calls(event: EventKind) -> bool {
    matches!(event, EventKind::BeforeTools | EventKind::BeforeToolCall | EventKind::AfterToolCall)
}

fn about(plugin: &Plugin) -> String {
    let entry = plugin.entry();
    let origin = entry.origin.as_ref().map(ToString::to_string).unwrap_or_default();
    let subscriptions = if plugin.events().next().is_none() && plugin.tools().is_empty() {
        "  subscribes to nothing: its entry leaves out all of its events\n"
    } else {
        ""
    };
    let tools = plugin.tools().iter().map(|tool| tool.full_name.as_str()).collect::<Vec<_>>().join(", ");
    let tools = if tools.is_empty() { tools } else { format!("  tools   {tools}\n") };
    let requests = if plugin.is_denied_requests() {
        "  denied  requests: it imports wasi:http, and `http` grants it no server\n"
    } else {
        ""
    };
    format!(
        "{NAME}{}{NAME:#} {DIM}{}, allowed at {origin}{DIM:#}\n{subscriptions}{tools}  limits  {}\n  grants  {}\n{requests}",
        plugin.name(),
        output::one_line(&entry.code.to_string()),
        entry::limits(entry),
        output::one_line(&entry::grants(&entry.grants)),
    )
}

fn as_json(host: &Host, config: &Config, only: Option<EventKind>) -> Value {
    let event = |event: EventKind| {
        let chain: Vec<_> = host.chain(event).iter().map(|plugin| link_json(plugin, event)).collect();
        json!({ "event": event, "shape": shape(event), "chain": chain })
    };
    let disabled = config.entries().iter().filter(|entry| !entry.enabled);
    json!({
        "files": configuration::files(config).collect::<Vec<_>>(),
        "events": events(only).map(event).collect::<Vec<_>>(),
        "not-enabled": disabled.map(|entry| json!({ "plugin": entry.name, "path": entry.code.path() })).collect::<Vec<_>>(),
        "rules": config.rules().iter().map(|rule| &rule.row).collect::<Vec<_>>(),
    })
}

fn link_json(plugin: &Plugin, event: EventKind) -> Value {
    let entry = plugin.entry();
    json!({
        "plugin": plugin.name(),
        "path": entry.code.path(),
        "digest": plugin.code_id(),
        "allowed-at": entry.origin.as_ref().map(ToString::to_string),
        "priority": entry.priority,
        "mode": entry.mode,
        "on-failure": plugin.on_failure(event),
        "stop": entry.stop,
        "actions": entry.actions,
        "tools": entry.tools,
        "limits": entry::limits_json(entry),
        "grants": entry::grants_json(&entry.grants),
        "pre-initialised": plugin.is_preinitialised(),
    })
}
