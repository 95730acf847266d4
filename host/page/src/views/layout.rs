//! The frame around a view, and parts that several views have.

use crate::log_rows::{EventRow, Verdict};
use crate::shown_text::{shown, shown_short};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::{DOCTYPE, Markup, html};

/// The views of the menu: path, name.
pub(crate) const MENU: &[(&str, &str)] = &[
    ("/", "Now"),
    ("/approvals", "Approvals"),
    ("/search", "Search"),
    ("/rules", "Rules"),
    ("/health", "Health"),
    ("/report", "Report"),
];

/// What a request without a token gets: a page without any data, whose script asks for the view.
pub(crate) fn shell() -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head("hookhost"))
            body {
                a.skip href="#main" data-skip { "To the content" }
                header {
                    p.brand { span.mark aria-hidden="true" {} "hookhost" }
                    nav aria-label="Views" {
                        @for (path, name) in MENU {
                            a href=(path) { (name) @if *path == "/approvals" { span #waiting hidden {} } }
                        }
                    }
                }
                main #main tabindex="-1" aria-busy="true" { p.quiet { "…" } }
                p #status.status role="status" {}
                noscript { p.notice { "This page needs its script. Without one: hookhost ui --plain" } }
                script src="/passkey.js" {}
                script src="/live.js" {}
                script src="/page.js" {}
            }
        }
    }
}

pub(crate) fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) }
            link rel="icon" href="/icon.svg" type="image/svg+xml";
            link rel="stylesheet" href="/page.css";
        }
    }
}

/// A view: its title, and its content.
pub(crate) struct View {
    pub(crate) title: &'static str,
    pub(crate) content: Markup,
}

impl View {
    /// Returns what the script puts into the frame.
    pub(crate) fn fragment(&self) -> Markup {
        html! { article data-title=(self.title) { (self.content) } }
    }
}

/// One sentence in place of a view.
pub(crate) fn sentence(title: &'static str, text: &str) -> View {
    View { title, content: html! { h1 { (title) } p.notice { (shown(text)) } } }
}

/// A verdict: its word, its shape, and its colour.
pub(crate) fn verdict(verdict: Verdict) -> Markup {
    html! {
        span class={ "verdict " (verdict.class()) } {
            span.shape aria-hidden="true" { (verdict.shape()) }
            (verdict.word())
        }
    }
}

/// A time in the zone of this machine, with the exact time for a program.
pub(crate) fn time(millis: u64) -> Markup {
    let zoned = timestamp(millis).to_zoned(TimeZone::system());
    let today = Timestamp::now().to_zoned(TimeZone::system()).date();
    let short = if zoned.date() == today { zoned.strftime("%H:%M:%S") } else { zoned.strftime("%Y-%m-%d %H:%M") };
    html! { time datetime=(timestamp(millis)) title=(zoned.strftime("%Y-%m-%d %H:%M:%S %Z")) { (short) } }
}

/// A time with date and zone.
pub(crate) fn whole_time(millis: u64) -> Markup {
    let zoned = timestamp(millis).to_zoned(TimeZone::system());
    html! { time datetime=(timestamp(millis)) { (zoned.strftime("%Y-%m-%d %H:%M:%S %Z")) } }
}

fn timestamp(millis: u64) -> Timestamp {
    i64::try_from(millis).ok().and_then(|millis| Timestamp::from_millisecond(millis).ok()).unwrap_or(Timestamp::MAX)
}

/// A list of events.
pub(crate) fn events(caption: &str, rows: &[EventRow], is_live: bool) -> Markup {
    html! {
        table.events {
            caption.unheard { (caption) }
            thead { tr { th scope="col" { "Time" } th scope="col" { "Agent" } th scope="col" { "Decision" } th scope="col" { "What" } } }
            tbody id=[is_live.then_some("rows")] { @for row in rows { (event_row(row)) } }
        }
    }
}

/// One event of a list.
pub(crate) fn event_row(row: &EventRow) -> Markup {
    html! {
        tr id={ "r" (row.seq) } {
            td.when { (time(row.time)) }
            td.agent { (shown_short(&row.agent)) }
            td.decision {
                (verdict(row.verdict))
                @if let Some(why) = row.without_effect { " " span.quiet { (why) } }
            }
            td.what {
                a href={ "/event/" (row.seq) } {
                    span.kind { (row.event) } " "
                    code { (shown_short(&row.subject)) }
                }
                @if !row.rules.is_empty() || row.reason.is_some() {
                    p.why {
                        @for rule in &row.rules { span.rule { (shown_short(rule)) } " " }
                        @if let Some(reason) = &row.reason { (shown_short(reason)) }
                    }
                }
            }
        }
    }
}

/// Formats a number of bytes.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{} kB", count / 1_000),
        1_000_000..1_000_000_000 => format!("{} MB", count / 1_000_000),
        _ => format!("{:.1} GB", count as f64 / 1e9),
    }
}

/// Formats a number of things.
pub(crate) fn counted(count: usize, one: &str, more: &str) -> String {
    format!("{} {}", number(count as u64), if count == 1 { one } else { more })
}

/// Formats a number with spaces between groups of three digits.
pub(crate) fn number(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{bytes, number};

    #[test]
    fn numbers_read_in_groups() {
        assert_eq!([0, 999, 1000, 1_234_567].map(number), ["0", "999", "1\u{202f}000", "1\u{202f}234\u{202f}567"]);
        assert_eq!([5, 1500, 2_000_000, 1_230_000_000].map(bytes), ["5 B", "1 kB", "2 MB", "1.2 GB"]);
    }
}
