//! Counts which plugins and rules the cases have reached, and with which verdicts.

use super::examples::TestedRule;
use super::run::CaseResult;
use crate::output::{
    one_line,
    style::{DIM, NAME, WARNING},
    wrap::wrapped,
};
use hookhost::audit::CallRecord;
use hookhost::config::Entry;
use hookhost::contract::EventKind;
use hookhost::{Host, Plugin};
use serde::Serialize;
use serde_json::{Value, json};
use shell_guard_rules::document::catalogues;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The plugin whose rules are known by their codes.
const SHELL_GUARD: &str = "shell-guard";

/// What a plugin answered, in the words of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    Allows,
    Changes,
    Asks,
    Rejects,
    /// Any other answer, such as a response or tasks.
    Other,
    Fails,
}

impl Verdict {
    const ALL: [Self; 6] = [Self::Allows, Self::Changes, Self::Asks, Self::Rejects, Self::Other, Self::Fails];

    fn of(call: &CallRecord) -> Self {
        let verdict = call.verdict.as_deref().map(|verdict| serde_json::from_str(verdict.get()).unwrap_or_default());
        let word = match (&call.failure, &verdict) {
            (Some(_), _) => return Self::Fails,
            (None, Some(Value::String(word))) => word.as_str(),
            (None, Some(Value::Object(fields))) => fields.keys().next().map_or("", String::as_str),
            (None, _) => return Self::Allows,
        };
        match word {
            "allow" | "keep" | "approve" => Self::Allows,
            "modify" | "rewrite" | "replace" => Self::Changes,
            "escalate" => Self::Asks,
            "reject" => Self::Rejects,
            _ => Self::Other,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Allows => "allows",
            Self::Changes => "changes",
            Self::Asks => "asks",
            Self::Rejects => "rejects",
            Self::Other => "other",
            Self::Fails => "fails",
        }
    }
}

/// What the cases have reached.
#[derive(Debug)]
pub(super) struct Coverage {
    /// The verdicts of each plugin on each of its events.
    verdicts: BTreeMap<(String, EventKind), BTreeMap<Verdict, u64>>,
    /// The codes of refusals, questions and findings, by plugin.
    codes: BTreeMap<String, BTreeSet<String>>,
    /// The known codes that no case has reached, by plugin.
    unseen: BTreeMap<String, Vec<String>>,
    /// The rules in words, in the order of the files.
    rules: Vec<RuleCoverage>,
}

/// How much a rule in words was tried.
#[derive(Debug, Serialize)]
struct RuleCoverage {
    id: String,
    examples: usize,
    /// Number of events that the rule matched.
    events: u64,
}

impl Coverage {
    /// Counts the examples of rules, and the calls of plugins in the results.
    pub(super) fn new<'a>(host: &Host, rules: &[TestedRule], results: impl Iterator<Item = &'a CaseResult>) -> Self {
        let plugins = host.plugins();
        let rows = plugins.iter().flat_map(|plugin| plugin.events().map(|event| (plugin.name().to_owned(), event)));
        let mut coverage = Self {
            verdicts: rows.map(|row| (row, BTreeMap::new())).collect(),
            codes: BTreeMap::new(),
            unseen: BTreeMap::new(),
            rules: Vec::new(),
        };
        let mut matches: BTreeMap<String, u64> = BTreeMap::new();
        for (event, call) in results.flat_map(|result| &result.calls) {
            let row = coverage.verdicts.entry((call.plugin.clone(), *event)).or_default();
            *row.entry(Verdict::of(call)).or_default() += 1;
            if call.plugin == Entry::RULES {
                call.findings.iter().for_each(|finding| *matches.entry(finding.code.clone()).or_default() += 1);
            } else {
                coverage.codes.entry(call.plugin.clone()).or_default().extend(codes(call));
            }
        }
        let of_rule = |rule: &TestedRule| RuleCoverage {
            id: rule.id().to_owned(),
            examples: rule.examples(),
            events: matches.get(rule.id()).copied().unwrap_or_default(),
        };
        coverage.rules = rules.iter().map(of_rule).collect();
        for plugin in &plugins {
            let seen = coverage.codes.get(plugin.name());
            let is_unseen = |code: &String| !seen.is_some_and(|seen| seen.contains(code));
            let unseen: Vec<String> = known_codes(plugin).into_iter().filter(is_unseen).collect();
            if !unseen.is_empty() {
                coverage.unseen.insert(plugin.name().to_owned(), unseen);
            }
        }
        coverage
    }

    /// Returns a table with a row for each plugin and event, and the codes of the rules.
    pub(super) fn to_text(&self) -> String {
        if self.verdicts.is_empty() {
            return "no plugin is loaded, so there is no coverage\n".to_owned();
        }
        let width = self.verdicts.keys().map(|(plugin, _)| plugin.len()).max().unwrap_or_default();
        let event_width = self.verdicts.keys().map(|(_, event)| event.name().len()).max().unwrap_or_default();
        let used = |verdict: &Verdict| self.verdicts.values().any(|row| row.contains_key(verdict));
        let usual = [Verdict::Allows, Verdict::Changes, Verdict::Asks, Verdict::Rejects];
        let columns: Vec<Verdict> =
            Verdict::ALL.into_iter().filter(|verdict| usual.contains(verdict) || used(verdict)).collect();
        let title: String = columns.iter().map(|verdict| format!(" {:>8}", verdict.name())).collect();
        let mut text = format!("\n{NAME}{:1$}{NAME:#}{DIM}{title}{DIM:#}\n", "coverage", width + event_width + 4);
        for ((plugin, event), row) in &self.verdicts {
            let _ = write!(text, "  {:width$}  {:event_width$}", one_line(plugin), event.name());
            for verdict in &columns {
                let count = row.get(verdict).map_or_else(|| "-".to_owned(), u64::to_string);
                let _ = write!(text, " {count:>8}");
            }
            text.push_str(if row.is_empty() { "  never asked\n" } else { "\n" });
        }
        text.push_str(&self.rules_in_words());
        for (plugin, codes) in self.codes.iter().filter(|(_, codes)| !codes.is_empty()) {
            let codes = codes.iter().map(|code| one_line(code)).collect::<Vec<_>>().join(", ");
            let says = format!("rules of {} that were reached: {codes}", one_line(plugin));
            let _ = writeln!(text, "{}", wrapped(&says, 0));
        }
        for (plugin, unseen) in &self.unseen {
            let says = format!("{} further rules of {} were never reached", unseen.len(), one_line(plugin));
            let _ = writeln!(text, "{WARNING}{says}{WARNING:#}; --json lists them");
        }
        text
    }

    /// Returns a table of the rules in words, if there are any.
    fn rules_in_words(&self) -> String {
        let Some(width) = self.rules.iter().map(|rule| rule.id.len()).max() else { return String::new() };
        let number = |number: u64| if number == 0 { "-".to_owned() } else { number.to_string() };
        let mut text =
            format!("\n{NAME}{:1$}{NAME:#}{DIM} examples   events{DIM:#}\n", "rules in words", width.max(14) + 2);
        for RuleCoverage { id, examples, events } in &self.rules {
            let (examples, never) = (*examples as u64, *examples == 0 && *events == 0);
            let end = if never { "  never tried" } else { "" };
            let (id, width) = (one_line(id), width.max(14));
            let _ = writeln!(text, "  {id:width$} {:>8} {:>8}{end}", number(examples), number(*events));
        }
        text
    }

    pub(super) fn to_json(&self) -> Value {
        let row = |((plugin, event), row): (&(String, EventKind), &BTreeMap<Verdict, u64>)| json!({ "plugin": plugin, "event": event, "verdicts": row });
        json!({
            "verdicts": self.verdicts.iter().map(row).collect::<Vec<_>>(),
            "codes": self.codes,
            "unseen-codes": self.unseen,
            "rules": self.rules,
        })
    }
}

/// Returns the codes of a call's refusal, question and findings.
fn codes(call: &CallRecord) -> impl Iterator<Item = String> {
    let verdict: Value =
        call.verdict.as_deref().and_then(|verdict| serde_json::from_str(verdict.get()).ok()).unwrap_or_default();
    let said =
        ["reject", "escalate"].into_iter().find_map(|word| Some(verdict.get(word)?.get("code")?.as_str()?.to_owned()));
    said.into_iter().chain(call.findings.iter().map(|finding| finding.code.clone()).collect::<Vec<_>>())
}

/// Returns the codes of the rules that a plugin is known to have.
fn known_codes(plugin: &Plugin) -> Vec<String> {
    if plugin.name() != SHELL_GUARD {
        return Vec::new();
    }
    let catalogues = catalogues().unwrap_or_default();
    catalogues.into_iter().flat_map(|catalogue| catalogue.rules).map(|rule| rule.id).collect()
}
