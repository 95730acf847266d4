//! `hookhost inspect --allowed`: shows the grants in the file's allowlist entry, and the grants that the plugin needs but does not have.

use super::is_http;
use crate::args::InspectArgs;
use crate::configuration::{self, allow_command};
use crate::exit::{CliError, Exit};
use crate::loading;
use crate::output::{
    self, entry, one_line,
    style::{DIM, ERROR, GOOD, NAME, WARNING},
};
use anyhow::anyhow;
use hookhost::command::Inspection;
use hookhost::config::Entry;
use hookhost::contract::EventKind;
use serde_json::json;

pub(super) async fn run(args: &InspectArgs, inspection: &Inspection) -> Result<Exit, CliError> {
    let config = configuration::read(args.config.as_deref(), &configuration::cwd()?)?;
    let allow = |entry| allow_command(&args.wasm, entry, args.config.as_deref());
    let Some(entry) = config.entry_at(&args.wasm) else {
        let message = anyhow!("{} is not on the allowlist, so nothing is granted to it", args.wasm.display());
        return Err(CliError::not_loaded(message).advise(allow(None)));
    };
    let mut given = GrantedPlugin { entry, inspection, missing: missing(entry, inspection), set_up_once: None };
    if given.loads() && inspection.configurable {
        // Only loading the plugin shows whether `configure` runs only once. Loading is safe here because the plugin is allowed.
        given.set_up_once = Some(loading::attempt(entry).await?.is_preinitialised());
    }
    if args.json {
        output::print_json(&given.as_json())?;
    } else {
        output::print(&given.as_text(&allow(Some(entry))))?;
    }
    Ok(if given.loads() { Exit::Done } else { Exit::NotLoaded })
}

struct GrantedPlugin<'a> {
    entry: &'a Entry,
    inspection: &'a Inspection,
    /// Grants that the plugin needs but does not have, as lines of `[plugin.grants]`.
    missing: Vec<&'a str>,
    /// True if `configure` runs only once, and each event starts with the plugin's memory as `configure` left it. `None` if the plugin has
    /// no `configure`, or would not load.
    set_up_once: Option<bool>,
}

fn missing<'a>(entry: &Entry, inspection: &'a Inspection) -> Vec<&'a str> {
    let granted = entry::grants_json(&entry.grants);
    let key = |line: &str| line.split('=').next().unwrap_or(line).trim().to_owned();
    inspection.grants.iter().map(String::as_str).filter(|line| !granted.contains_key(&key(line))).collect()
}

impl GrantedPlugin<'_> {
    fn is_this_file(&self) -> bool {
        self.entry.code.digest() == Some(self.inspection.digest)
    }

    /// Returns true if the plugin would load, as far as can be known without running it.
    fn loads(&self) -> bool {
        self.is_this_file() && self.missing.is_empty() && self.inspection.problem.is_none()
    }

    /// Returns the events that the plugin subscribes to: the exported events, without those that the entry excludes.
    fn subscriptions(&self) -> impl Iterator<Item = EventKind> {
        let admitted = |event: &EventKind| self.entry.events.as_ref().is_none_or(|events| events.contains(event));
        self.inspection.events.iter().copied().filter(admitted)
    }

    fn origin(&self) -> String {
        self.entry.origin.as_ref().map(ToString::to_string).unwrap_or_default()
    }

    fn as_text(&self, allow: &str) -> String {
        let entry = self.entry;
        let origin = self.origin();
        let mut text = format!("{NAME}{}{NAME:#} {DIM}at {}{DIM:#}\n", entry.name, one_line(&origin));
        let mut row = |label: &str, value: &str| output::row(&mut text, 9, label, value);
        row("file", &one_line(&entry.code.to_string()));
        let loads = if let Some(problem) = &self.inspection.problem {
            format!("{ERROR}no{ERROR:#}: it {}", one_line(problem))
        } else if !self.is_this_file() {
            format!("{ERROR}no{ERROR:#}: the file has another digest than its entry: {}", one_line(allow))
        } else if !self.missing.is_empty() {
            format!(
                "{ERROR}no{ERROR:#}: it imports what is not granted; add to [plugin.grants]: {}",
                self.missing.join("; ")
            )
        } else if entry.enabled {
            format!("{GOOD}yes{GOOD:#}")
        } else {
            format!("{WARNING}not enabled{WARNING:#}; `--plugin` adds it")
        };
        row("loads", &loads);
        if self.inspection.optional_grants.iter().any(|line| is_http(line)) && entry.grants.http.is_empty() {
            row("denied", "requests: it imports wasi:http, and `http` grants it no server");
        }
        let on_failure = entry.on_failure.map(|what| format!(", on failure {}", what.name()));
        let stop = entry::stop(entry.stop).map(|what| format!(", {what}"));
        let mode = format!("{}, priority {}", entry.mode.name(), entry.priority);
        row("mode", &(mode + &on_failure.unwrap_or_default() + &stop.unwrap_or_default()));
        row("events", &self.subscriptions().map(EventKind::name).collect::<Vec<_>>().join(", "));
        row("only", &entry::narrowing(entry.actions.as_ref(), entry.tools.as_deref()));
        row(
            "set-up",
            match self.set_up_once {
                None => "",
                Some(true) => "once; each event starts from its result",
                Some(false) => "again for each event, because the result cannot be stored",
            },
        );
        row("limits", &entry::limits(entry));
        row("grants", &one_line(&entry::grants(&entry.grants)));
        text
    }

    fn as_json(&self) -> serde_json::Value {
        let entry = self.entry;
        json!({
            "plugin": entry.name,
            "path": entry.code.path(),
            "allowed-at": self.origin(),
            "loads": self.loads(),
            "enabled": entry.enabled,
            "allowed-digest": entry.code.digest(),
            "digest": self.inspection.digest.to_string(),
            "problem": self.inspection.problem,
            "priority": entry.priority,
            "mode": entry.mode,
            "on-failure": entry.on_failure,
            "stop": entry.stop,
            "events": self.subscriptions().collect::<Vec<_>>(),
            "actions": entry.actions,
            "tools": entry.tools,
            "limits": entry::limits_json(entry),
            "grants": entry::grants_json(&entry.grants),
            "not-granted": self.missing,
            "pre-initialised": self.set_up_once,
        })
    }
}
