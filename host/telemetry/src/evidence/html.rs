//! The evidence as one page without scripts, for a browser and for paper.

use super::table::time;
use super::{Evidence, Table, TextState};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Columns whose cells are numbers.
const NUMBERS: &[&str] = &[
    "record",
    "first record",
    "last record",
    "calls",
    "rejected",
    "asked",
    "changed",
    "masked",
    "withheld",
    "count",
    "seconds",
];

/// Columns whose cells are times.
const TIMES: &[&str] = &["time", "from", "to", "until"];

/// Columns whose cells are digests and identifiers.
const IDENTIFIERS: &[&str] = &["code", "configuration", "session", "event id"];

pub(super) fn page(evidence: &Evidence) -> String {
    let title = format!("Evidence {} to {}", day(evidence.from), day(evidence.to.saturating_sub(1)));
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (title) }
                style { (PreEscaped(include_str!("page.css"))) }
            }
            body {
                header {
                    p.name { "hookhost" }
                    h1 { (title) }
                    p.made { "Made " (time(evidence.made)) " by hookhost " (evidence.version) }
                }
                main {
                    (summary(evidence))
                    nav aria-label="Parts" {
                        @for table in evidence.tables() {
                            a href={ "#" (table.name) } { (table.title) }
                        }
                        a href="#texts" { "Texts of the rules" }
                    }
                    @for table in evidence.tables() { (section(&table)) }
                    (texts(evidence))
                }
            }
        }
    };
    markup.into_string()
}

fn summary(evidence: &Evidence) -> Markup {
    let chain = &evidence.chain;
    let rejected: u64 = evidence.decisions.iter().map(|count| count.rejected).sum();
    let (state, word) = if chain.is_verified { ("good", "verified") } else { ("bad", "changed") };
    let anchors = chain
        .anchors
        .as_ref()
        .map_or("none checked".to_owned(), |anchors| format!("{} of {}", anchors.found, anchors.of_this_log));
    let figures = [
        ("events", evidence.events.to_string(), ""),
        ("rejections", rejected.to_string(), ""),
        ("answers", evidence.approvals.len().to_string(), ""),
        ("failures", evidence.failures.len().to_string(), if evidence.failures.is_empty() { "" } else { "warn" }),
        ("kinds of gaps", evidence.gaps.len().to_string(), if evidence.gaps.is_empty() { "" } else { "warn" }),
        ("anchors found", anchors, ""),
        ("the log", word.to_owned(), state),
    ];
    html! {
        dl.figures {
            @for (label, figure, class) in figures {
                div class=[(!class.is_empty()).then_some(class)] { dt { (label) } dd { (figure) } }
            }
        }
    }
}

fn section(table: &Table) -> Markup {
    html! {
        section id=(table.name) {
            h2 { (table.title) }
            p.about { (table.about) }
            @if table.rows.is_empty() {
                p.none { "None in this period." }
            } @else if table.header.len() == 1 {
                ul { @for row in &table.rows { @for cell in row { li { (visible(cell)) } } } }
            } @else {
                div.scroll tabindex="0" role="region" aria-label=(table.title) {
                    table class=(table.name) {
                        thead { tr { @for name in &table.header { th scope="col" class=[class(name)] { (name) } } } }
                        tbody {
                            @for row in &table.rows {
                                tr {
                                    @for (name, cell) in table.header.iter().zip(row) {
                                        td class=[class(name)] { (visible(cell)) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn texts(evidence: &Evidence) -> Markup {
    html! {
        section id="texts" {
            h2 { "Texts of the rules" }
            p.about { "The configurations as they were loaded, by the digest by which each record names them." }
            @if evidence.rules.is_empty() {
                p.none { "None in this period." }
            }
            @for rule in &evidence.rules {
                article {
                    h3 { (visible(&rule.rule.plugin)) " " code { (rule.rule.config) } }
                    @match (&rule.text, rule.text_is) {
                        (Some(text), state) => {
                            @if state == TextState::Masked {
                                p.warn { "This text does not have the digest of the log: parts were masked, or somebody changed it." }
                            }
                            pre { (visible(&indented(text))) }
                        }
                        (None, _) => p.none { "No text was kept." }
                    }
                }
            }
        }
    }
}

fn class(name: &str) -> Option<&'static str> {
    if NUMBERS.contains(&name) {
        Some("number")
    } else if IDENTIFIERS.contains(&name) {
        Some("identifier")
    } else if TIMES.contains(&name) {
        Some("time")
    } else {
        None
    }
}

/// Returns JSON with a member per line, or the text itself if it is not JSON.
fn indented(text: &str) -> String {
    let value = serde_json::from_str::<serde_json::Value>(text).ok();
    value.and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or_else(|| text.to_owned())
}

/// Shows characters that would be invisible, or that would turn the text around, by their numbers.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => shown.push('\n'),
            unseen if hookhost::is_unseen(unseen) => shown.push_str(&format!("\\u{{{:x}}}", u32::from(unseen))),
            other => shown.push(other),
        }
    }
    shown
}

fn day(millis: u64) -> String {
    time(millis).chars().take(10).collect()
}
