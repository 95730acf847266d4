//! The counts of a period.

use super::layout::{View, number, whole_time};
use crate::shown_text::shown;
use hookhost_telemetry::tally::{Counts, EventTimes, Tally, percentile};
use maud::{Markup, html};

/// The periods of the menu: name in the address, hours, and words.
pub(crate) const PERIODS: &[(&str, u64, &str)] = &[("1d", 24, "a day"), ("7d", 168, "a week"), ("30d", 720, "30 days")];

/// Maximum number of rules and of agents that are listed.
const MAX_ROWS: usize = 20;

pub(crate) struct ReportView {
    pub(crate) period: &'static str,
    pub(crate) since: u64,
    pub(crate) tally: Tally,
    /// True if the period has more records than are counted.
    pub(crate) is_cut: bool,
}

impl ReportView {
    pub(crate) fn render(&self) -> View {
        let Counts { rejected, asked, changed, masked, withheld, events, sandboxed: _ } = self.tally.total;
        let answers = self.tally.answers();
        let content = html! {
            div.head {
                h1 { "Report" }
                p.facts { span { "since " (whole_time(self.since)) } span { (format!("{:.1}", self.tally.active_hours())) " active hours" } }
            }
            nav.periods aria-label="Period" { @for (name, _, words) in PERIODS {
                a href={ "/report?since=" (name) } aria-current=[(*name == self.period).then_some("true")] { (words) }
            } }
            @if self.is_cut { p.notice { "Only the newest records of this period are counted. The whole period: " code { "hookhost report --since " (self.period) } } }
            dl.numbers {
                (figure("events", events, ""))
                (figure("rejected", rejected, "no"))
                (figure("asked", asked, "ask"))
                (figure("changed", changed, "change"))
                (figure("masked", masked, "change"))
                (figure("withheld", withheld, "no"))
            }
            @if asked > 0 {
                p {
                    "Answers: " (answers.yes) " yes, " (answers.no) " no, " (answers.none + answers.open) " without an answer, "
                    (answers.ran + answers.did_not_run) " that the agent asked its user itself"
                    @if let Some(median) = percentile(&answers.waits, 50) { "; " (format!("{:.1}", median as f64 / 1e6)) " s until an answer (median)" } "."
                }
            }
            @if let Some(EventTimes { median, p99 }) = self.tally.times() {
                p { "The rules took " (format!("{:.1}", median as f64 / 1e3)) " ms per event (median), and " (format!("{:.1}", p99 as f64 / 1e3)) " ms at the 99th percentile." }
            }
            @if self.tally.paused > 0 { p.notice { (number(self.tally.paused)) " events passed without any rule, because hookhost was paused." } }
            @if self.tally.observed.events > 0 { p.notice { "Only observed: " (number(self.tally.observed.events)) " events, of which " (number(self.tally.observed.decisions())) " would have been decided otherwise." } }
            (table("Rules", "Rule", self.tally.by_rule.iter().map(|(rule, counts)| (rule.code.as_deref(), rule.by.as_str(), *counts)).collect(), false))
            (table("Agents", "Agent", self.tally.by_agent.iter().map(|(agent, counts)| (None, agent.as_str(), *counts)).collect(), true))
        };
        View { title: "Report", content }
    }
}

fn figure(word: &str, count: u64, class: &str) -> Markup {
    html! { div { dt { (word) } dd class=(if count == 0 { "zero" } else { class }) { (number(count)) } } }
}

/// A table of counts. Each row has the code of a rule, if there is one, and a name.
fn table(title: &str, first: &str, mut rows: Vec<(Option<&str>, &str, Counts)>, with_events: bool) -> Markup {
    rows.sort_by_key(|(code, name, counts)| {
        (std::cmp::Reverse(if with_events { counts.events } else { counts.decisions() }), *name, *code)
    });
    let more = rows.len().saturating_sub(MAX_ROWS);
    rows.truncate(MAX_ROWS);
    html! {
        h2 { (title) }
        @if rows.is_empty() { p.empty { "None." } } @else {
            div.wide tabindex="0" role="group" aria-label=(title) { table.counts {
                caption.unheard { (title) }
                thead { tr {
                    th scope="col" { (first) }
                    @if with_events { th scope="col" { "events" } }
                    @for word in ["rejected", "asked", "changed", "masked"] { th scope="col" { (word) } }
                } }
                tbody { @for (code, name, counts) in &rows { tr {
                    th scope="row" { @match code {
                        Some(code) => { span.rule { (shown(code)) } " " span.quiet { "by " (shown(name)) } },
                        None => (shown(name)),
                    } }
                    @if with_events { td { (number(counts.events)) } }
                    @for count in [counts.rejected, counts.asked, counts.changed, counts.masked + counts.withheld] {
                        td class=[(count == 0).then_some("zero")] { (number(count)) }
                    }
                } } }
            } }
            @if more > 0 { p.quiet { "and " (more) " more" } }
        }
    }
}
