//! Why an event was decided as it was: what each plugin answered, by which rule, and what ran.

use super::approvals::{block, folded, pretty};
use super::layout::{View, verdict, whole_time};
use crate::log_rows::{EventRow, Verdict};
use crate::shown_text::{shown, shown_short};
use hookhost::audit::{CallRecord, Line, Record};
use hookhost::config::Mode;
use hookhost::store::RuleTexts;
use hookhost_telemetry::explained::Explained;
use maud::{Markup, html};
use serde_json::Value;

/// What a plugin answered.
pub(crate) struct PluginAnswer {
    pub(crate) plugin: String,
    pub(crate) code: String,
    pub(crate) round: u32,
    pub(crate) is_observed: bool,
    pub(crate) micros: u64,
    /// The kind of answer, such as `reject`.
    pub(crate) word: String,
    /// The rule that the answer names, and the text of the answer.
    pub(crate) rule: Option<String>,
    pub(crate) text: String,
    /// The rule in words as it was at that time.
    pub(crate) rule_then: Option<RuleThen>,
    pub(crate) is_failure: bool,
    /// The findings: code and explanation.
    pub(crate) findings: Vec<(String, String)>,
    pub(crate) labels: Vec<String>,
}

/// A rule in words as it was when an event was decided.
pub(crate) struct RuleThen {
    /// The keys of the rule, one on each line.
    pub(crate) text: String,
    /// False if the text is not exactly what was loaded, because the log masks a part of it.
    pub(crate) is_as_loaded: bool,
}

impl RuleThen {
    /// Finds the rule with this id in the configuration that the plugin had.
    fn find(id: &str, call: &CallRecord, texts: &RuleTexts) -> Option<Self> {
        let kept = texts.read(call.config).ok().flatten()?;
        let config: Value = serde_json::from_str(&kept.text).ok()?;
        let mut rows = config.get("rule")?.as_array()?.iter().filter_map(|rule| rule.get("row")?.as_object());
        let row = rows.find(|row| row.get("id").and_then(Value::as_str) == Some(id))?;
        let text = row.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
        Some(Self { text, is_as_loaded: kept.is_as_loaded })
    }
}

impl PluginAnswer {
    fn new(call: &CallRecord, texts: &RuleTexts) -> Self {
        let verdict = call.verdict.as_ref().and_then(|verdict| serde_json::from_str::<Value>(verdict.get()).ok());
        let (word, rule, text) = match (&call.failure, verdict) {
            (Some(failure), _) => ("failed".to_owned(), None, format!("{}{}", failure.kind.opening(), failure.detail)),
            (None, None) => ("observed it".to_owned(), None, String::new()),
            (None, Some(Value::String(word))) => (word, None, String::new()),
            (None, Some(Value::Object(fields))) if fields.len() == 1 => {
                fields.into_iter().next().map_or_else(Default::default, |(word, value)| {
                    let part = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
                    let text = part("reason").or_else(|| part("question")).unwrap_or_else(|| value.to_string());
                    (word, part("code"), text)
                })
            }
            (None, Some(other)) => ("answered".to_owned(), None, other.to_string()),
        };
        Self {
            rule_then: rule.as_deref().and_then(|id| RuleThen::find(id, call, texts)),
            plugin: call.plugin.clone(),
            code: call.code.to_string(),
            round: call.round,
            is_observed: call.mode == Mode::Observe,
            micros: call.micros,
            word,
            rule,
            text,
            is_failure: call.failure.is_some(),
            findings: call.findings.iter().map(|found| (found.code.clone(), found.explanation.clone())).collect(),
            labels: call.labels.iter().cloned().collect(),
        }
    }
}

pub(crate) struct EventView {
    pub(crate) row: EventRow,
    pub(crate) id: String,
    pub(crate) turn: u32,
    pub(crate) agent: Option<String>,
    pub(crate) cwd: Option<String>,
    pub(crate) answers: Vec<PluginAnswer>,
    /// Plugins that were not asked, because their entries exclude the value.
    pub(crate) not_matched: Vec<String>,
    pub(crate) original: String,
    pub(crate) last: Option<(String, String)>,
    pub(crate) response: Option<String>,
    pub(crate) raw: Option<String>,
    pub(crate) redacted: Vec<String>,
    /// What happened later: the number of the record, its time and a sentence.
    pub(crate) later: Vec<(u64, u64, String)>,
    pub(crate) is_cut: bool,
}

impl EventView {
    pub(crate) fn new(explained: &Explained, texts: &RuleTexts) -> Self {
        let Explained { seq, event, opened, later, .. } = explained;
        Self {
            row: EventRow::new(*seq, event),
            id: event.id.clone(),
            turn: event.turn,
            agent: opened.as_ref().map(|opened| opened.agent.clone()),
            cwd: opened.as_ref().map(|opened| opened.cwd.clone()),
            answers: event.calls.iter().map(|call| PluginAnswer::new(call, texts)).collect(),
            not_matched: event.not_matched.clone(),
            original: pretty(&event.original),
            last: event.last.as_ref().map(|last| (pretty(last), event.changed_by.join(", "))),
            response: event.response.as_ref().map(|response| pretty(response)),
            raw: event.raw.clone(),
            redacted: event.redacted.keys().cloned().collect(),
            later: later.iter().filter_map(sentence).collect(),
            is_cut: explained.is_cut,
        }
    }

    pub(crate) fn render(&self) -> View {
        View { title: "Why", content: self.content() }
    }

    fn content(&self) -> Markup {
        let Self { row, .. } = self;
        html! {
            div.head {
                h1 { span.kind { (row.event) } " " (verdict(row.verdict)) }
                p.facts { span { (whole_time(row.time)) } span { "record " (row.seq) } }
            }
            p.subject { code { (shown_short(&row.subject)) } }
            @if let Some(why) = row.without_effect { p.notice { "This had no effect: " (why) "." } }
            @if let Some(reason) = &row.reason { p.reason { (shown(reason)) } }
            dl {
                dt { "Agent" } dd { (shown(self.agent.as_deref().unwrap_or(&row.agent))) }
                @if let Some(cwd) = &self.cwd { dt { "Directory" } dd { code { (shown(cwd)) } } }
                dt { "Session" } dd { a href={ "/search?q=session:" (encoded(&row.session)) } { (shown(&row.session)) } ", turn " (self.turn) }
                @if !row.rules.is_empty() {
                    dt { "Decided by" }
                    dd { @for rule in &row.rules { a.rule href={ "/rules/" (encoded(rule)) } { (shown(rule)) } " " } }
                }
                dt { "Event" } dd { code { (shown(&self.id)) } }
            }
            h2 { "What each plugin answered" }
            @if self.answers.is_empty() { p.empty { "No plugin was asked." } }
            ol.answers {
                @for answer in &self.answers {
                    li class=[answer.is_failure.then_some("failed")] {
                        p {
                            b { (shown(&answer.plugin)) } " " span class={ "word " (answer_class(&answer.word)) } { (shown_short(&answer.word)) }
                            @if answer.round > 1 { " " span.quiet { "round " (answer.round) } }
                            @if answer.is_observed { " " span.quiet { "only observed" } }
                            " " span.quiet { (answer.micros) " µs" }
                        }
                        @if !answer.text.is_empty() {
                            p { @if let Some(rule) = &answer.rule { span.rule { (shown(rule)) } " " } (shown(&answer.text)) }
                        }
                        @if let Some(rule) = &answer.rule_then {
                            (folded(if rule.is_as_loaded { "The rule at that time" } else { "The rule at that time, as far as the log shows it" }, &rule.text))
                        }
                        @for (code, explanation) in &answer.findings { p.quiet { "found " span.rule { (shown(code)) } " " (shown(explanation)) } }
                        @for label in &answer.labels { p.quiet { "the session got the label " code { (shown(label)) } } }
                        p.quiet { "its code " span.code { (shown(&answer.code)) } }
                    }
                }
            }
            @if !self.not_matched.is_empty() { p.quiet { "Not asked: " (shown(&self.not_matched.join(", "))) } }
            h2 { "What it was about" }
            (block("As the agent sent it", &self.original))
            @if let Some((last, by)) = &self.last { (block(&format!("As {by} changed it"), last)) }
            @if let Some(response) = &self.response { (block("The result that a plugin gave", response)) }
            @if let Some(raw) = &self.raw { (folded("The agent's own message", raw)) }
            @if !self.redacted.is_empty() { p.quiet { "The configuration keeps out of the log: " (shown(&self.redacted.join(", "))) } }
            @if !self.later.is_empty() {
                h2 { "What happened later" }
                ol.later { @for (seq, time, text) in &self.later { li { (super::layout::time(*time)) " " (shown(text)) " " span.quiet { "record " (seq) } } } }
            }
            @if self.is_cut { p.quiet { "Records that belong to this event may be missing here, because the log is long: " code { "hookhost why " (row.seq) } } }
            section.today {
                h2 { "Today" }
                p { "What would the rules of today decide? The plugins get the recorded inputs, and nothing has an effect." }
                p.buttons { button type="button" data-post={ "/event/" (row.seq) "/again" } data-into="again" { "Run again under today's rules" } }
                div #again role="status" {}
            }
        }
    }
}

/// What the rules of today would decide.
pub(crate) struct Again {
    /// The recorded verdict. A call that a person tries has none.
    pub(crate) then: Option<Verdict>,
    pub(crate) now: Option<(Verdict, Vec<String>, Option<String>)>,
    pub(crate) is_same: bool,
    pub(crate) not_replayable: Vec<String>,
}

impl Again {
    pub(crate) fn render(&self) -> Markup {
        html! {
            @match &self.now {
                None => p.notice { "It cannot be judged again: " (shown(&self.not_replayable.join("; "))) },
                Some((now, rules, reason)) => {
                    p {
                        @if self.is_same { "The same: " (verdict(*now)) }
                        @else if let Some(then) = self.then.filter(|then| then != now) { (verdict(then)) " → " (verdict(*now)) }
                        @else { (verdict(*now)) @if self.then.is_some() { ", in another way" } }
                        @for rule in rules { " " span.rule { (shown(rule)) } }
                    }
                    @if !self.is_same && let Some(reason) = reason { p { (shown(reason)) } }
                    @if !self.not_replayable.is_empty() { p.quiet { "Not sure: " (shown(&self.not_replayable.join("; "))) } }
                }
            }
        }
    }
}

fn answer_class(word: &str) -> &'static str {
    match word {
        "reject" | "withhold" | "failed" => "no",
        "escalate" | "ask" => "ask",
        "modify" | "replace" | "respond" => "change",
        _ => "none",
    }
}

/// Says what a later record is, with its number and time.
fn sentence(line: &Line) -> Option<(u64, u64, String)> {
    let record = line.entry().ok()?;
    let text = match &record {
        Record::Approval(answer) => {
            let by = answer.answer.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            let via = answer.answer.via.as_ref().map(|via| format!(" via {via}")).unwrap_or_default();
            let session = if answer.answer.for_session { " for the session" } else { "" };
            let reason = answer.answer.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("{}{session}{by}{via}{reason}", answered(answer.answer.kind))
        }
        Record::Observed(observed) => {
            let plugins: Vec<_> = observed.calls.iter().map(|call| call.plugin.as_str()).collect();
            format!("observed by {}", plugins.join(", "))
        }
        Record::Delivery(delivery) => format!("{}: {}", delivery.what.name().replace('-', " "), delivery.note),
        Record::Event(event) => format!("the plugins were asked again: {}", Verdict::of(event).word()),
        Record::Operator(action) => format!("hookhost: {}", action.action.name()),
        _ => return None,
    };
    Some((line.seq(), record.time(), text))
}

/// Says what became of a question.
pub(crate) fn answered(kind: hookhost::contract::AnswerKind) -> &'static str {
    use hookhost::contract::AnswerKind;
    match kind {
        AnswerKind::Approved => "yes",
        AnswerKind::Denied => "no",
        AnswerKind::NobodyThere => "nobody was there to answer",
        AnswerKind::Panicked => "the program that asked failed",
        AnswerKind::Cancelled => "the agent gave up",
        AnswerKind::TooLate => "nobody answered in time",
        AnswerKind::AskerGone => "the program that asked has ended",
        AnswerKind::HandedOver => "the agent asked its own user",
        _ => "answered",
    }
}

/// Encodes a part of a path or of a query.
pub(crate) fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}
