//! The rules that apply in a directory, and what they would say to a call.

use super::event::Again;
use super::layout::{View, time};
use crate::shown_text::{shown, shown_short};
use hookhost::config::Rule;
use hookhost::contract::rule::RuleExample;
use hookhost_telemetry::last_matches::LastMatch;
use maud::{Markup, html};
use serde_json::Value;

/// A rule in words.
pub(crate) struct RuleEntry {
    pub(crate) id: String,
    /// What the rule is about: its name in the file, and the value.
    pub(crate) matches: Vec<(String, String)>,
    /// The answer: its key, and its text.
    pub(crate) answer: (String, String),
    pub(crate) instead: Option<String>,
    pub(crate) is_observed: bool,
    pub(crate) place: String,
    /// The end of the time in which the rule is off.
    pub(crate) off_until: Option<u64>,
    pub(crate) last: Option<LastMatch>,
    pub(crate) stops: Vec<String>,
    pub(crate) passes: Vec<String>,
}

impl RuleEntry {
    pub(crate) fn new(rule: &Rule, off_until: Option<u64>, last: Option<LastMatch>) -> Self {
        const NO_MATCHERS: &[&str] = &[
            "id", "reject", "ask", "note", "remind", "change", "redact", "label", "instead", "mode", "observe",
            "stops", "passes",
        ];
        let row = serde_json::to_value(&rule.row).unwrap_or_default();
        let fields = row.as_object().cloned().unwrap_or_default();
        let matches = fields.iter().filter(|(key, _)| !NO_MATCHERS.contains(&key.as_str()));
        let key = rule.row.answers().first().map_or("note", |answer| answer.name());
        Self {
            id: rule.row.id.clone(),
            matches: matches.map(|(key, value)| (key.clone(), words(value))).collect(),
            answer: (key.to_owned(), fields.get(key).map(words).unwrap_or_default()),
            instead: rule.row.instead.clone(),
            is_observed: rule.row.observe,
            place: rule.origin.to_string(),
            off_until,
            last,
            stops: rule.row.stops.iter().map(example).collect(),
            passes: rule.row.passes.iter().map(example).collect(),
        }
    }
}

/// Returns the value of a key, without the marks of JSON where it is simple.
fn words(value: &Value) -> String {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match value {
        Value::Array(all) => all.iter().map(plain).collect::<Vec<_>>().join(" · "),
        Value::Object(all) => {
            all.iter().map(|(key, value)| format!("{key} = {}", plain(value))).collect::<Vec<_>>().join(" · ")
        }
        other => plain(other),
    }
}

fn example(example: &RuleExample) -> String {
    match serde_json::to_value(example) {
        Ok(Value::String(text)) => text,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

/// A plugin of the allowlist that is asked.
pub(crate) struct PluginEntry {
    pub(crate) name: String,
    pub(crate) code: String,
    /// The last decision.
    pub(crate) last: Option<LastMatch>,
}

pub(crate) struct RulesView {
    pub(crate) directory: String,
    pub(crate) rules: Vec<RuleEntry>,
    pub(crate) plugins: Vec<PluginEntry>,
    pub(crate) notes: Vec<String>,
    /// The rule that the address names.
    pub(crate) named: Option<String>,
    /// The call that a person tries, and what the rules say to it.
    pub(crate) tried: Option<(String, Result<Again, String>)>,
}

impl RulesView {
    pub(crate) fn render(&self) -> View {
        let tried = self.tried.as_ref().map_or("", |(call, _)| call.as_str());
        let content = html! {
            div.head { h1 { "Rules" } p.facts { span { "in " code { (shown(&self.directory)) } } } }
            @for note in &self.notes { p.notice { (shown(note)) } }
            form.try action="/rules" method="get" {
                label for="try" { "Try it: what would the rules say to this command? Nothing runs, nothing is sent, and nothing is recorded." }
                div.field {
                    input #try type="text" name="try" value=(tried) autocomplete="off" spellcheck="false" placeholder="git push --force";
                    button.primary type="submit" { "Try" }
                }
            }
            @if let Some((_, said)) = &self.tried {
                div.tried role="status" {
                    @match said { Ok(said) => (said.render()), Err(why) => p.notice { (shown(why)) } }
                }
            }
            h2 { "Rules in words" }
            @if self.rules.is_empty() { p.empty { "No rule in words applies here. " code { "hookhost rule \"what the rule should do\"" } " writes one." } }
            @for rule in &self.rules { (entry(rule, self.named.as_deref() == Some(&rule.id))) }
            h2 { "Plugins" }
            @if self.plugins.is_empty() { p.empty { "No plugin is asked here, so every call passes." } }
            @else {
                table {
                    caption.unheard { "The plugins that are asked" }
                    thead { tr { th scope="col" { "Plugin" } th scope="col" { "Last decision" } th scope="col" { "Code" } } }
                    tbody { @for plugin in &self.plugins {
                        tr { th scope="row" { (shown(&plugin.name)) } td { (last(plugin.last)) } td { code.digest { (shown_short(&plugin.code)) } } }
                    } }
                }
            }
        };
        View { title: "Rules", content }
    }
}

fn last(last: Option<LastMatch>) -> Markup {
    html! {
        @match last {
            Some(last) => a href={ "/event/" (last.seq) } { (time(last.time)) },
            None => span.quiet { "not recently" },
        }
    }
}

fn entry(rule: &RuleEntry, is_named: bool) -> Markup {
    html! {
        section.entry id={ "rule-" (rule.id) } class=[is_named.then_some("named")] {
            header {
                h3 { (shown(&rule.id)) }
                p.quiet { "last match " (last(rule.last)) }
            }
            p { span class={ "word " (class(&rule.answer.0)) } { (rule.answer.0) } " " (shown(&rule.answer.1)) }
            @if let Some(instead) = &rule.instead { p.quiet { "instead: " (shown(instead)) } }
            @if rule.is_observed { p.notice { "Only observed: it has no effect." } }
            @if let Some(until) = rule.off_until { p.notice { "Off until " (time(until)) "." } }
            dl { @for (key, value) in &rule.matches { dt { (key) } dd { code { (shown(value)) } } } }
            @if !rule.stops.is_empty() || !rule.passes.is_empty() {
                details {
                    summary { "Examples" }
                    ul.examples {
                        @for example in &rule.stops { li { span.verdict.no { span.shape aria-hidden="true" { "✕" } "stops" } " " code { (shown(example)) } } }
                        @for example in &rule.passes { li { span.verdict.yes { span.shape aria-hidden="true" { "✓" } "passes" } " " code { (shown(example)) } } }
                    }
                }
            }
            p.quiet.code { (shown(&rule.place)) }
        }
    }
}

fn class(answer: &str) -> &'static str {
    match answer {
        "reject" => "no",
        "ask" => "ask",
        "change" | "redact" => "change",
        _ => "none",
    }
}
