//! What works, and what does not.

use super::layout::{View, bytes, number, time};
use crate::shown_text::{shown, shown_short};
use hookhost_agents::install::check::{Check, CheckState};
use maud::{Markup, html};

/// An agent in the log or in its own transcripts.
pub(crate) struct AgentState {
    pub(crate) agent: String,
    /// Time, record and name of its last event.
    pub(crate) last: Option<(u64, u64, &'static str)>,
    /// Its sessions of the last week without any event in the log, and all its sessions.
    pub(crate) unseen: Option<(u64, u64)>,
}

/// A plugin or an agent that failed.
pub(crate) struct Failed {
    pub(crate) time: u64,
    pub(crate) seq: u64,
    pub(crate) who: String,
    pub(crate) text: String,
}

pub(crate) struct HealthView {
    pub(crate) checks: Vec<Check>,
    pub(crate) agents: Vec<AgentState>,
    /// True while the agents' transcripts are being read.
    pub(crate) is_reading: bool,
    pub(crate) failures: Vec<Failed>,
    pub(crate) records: u64,
    pub(crate) size: u64,
}

impl HealthView {
    pub(crate) fn render(&self) -> View {
        let content = html! {
            div.head { h1 { "Health" } p.facts { span { (number(self.records)) " records, " (bytes(self.size)) } } }
            ul.checks { @for check in &self.checks { li {
                (state(check.state)) " " b { (check.about) } " "
                div { (shown(&check.says)) @if let Some(next) = &check.next { p.quiet { "Next: " (shown(next)) } } }
            } } }
            p.buttons { button type="button" data-post="/health/verify" data-into="verified" { "Verify the log now" } span #verified role="status" {} }
            h2 { "Agents" }
            @if self.agents.is_empty() { p.empty { "No agent is in the newest records." } } @else {
                table {
                    caption.unheard { "Agents, their last events, and sessions without an event" }
                    thead { tr { th scope="col" { "Agent" } th scope="col" { "Last event" } th scope="col" { "Sessions that did not ask" } } }
                    tbody { @for agent in &self.agents { tr {
                        th scope="row" { (shown(&agent.agent)) }
                        td { @match agent.last { Some((at, seq, event)) => { a href={ "/event/" (seq) } { (time(at)) } " " span.quiet { (event) } }, None => span.quiet { "none" } } }
                        td { @match agent.unseen {
                            Some((unseen, all)) if unseen > 0 => { (state(CheckState::Problem)) " " (number(unseen)) " of " (number(all)) " in the last week: " code { "hookhost doctor " (shown(&agent.agent)) } },
                            Some(_) => "none in the last week",
                            None => span.quiet { (if self.is_reading { "being counted" } else { "none known" }) },
                        } }
                    } } }
                }
            }
            h2 { "Failures" }
            @if self.failures.is_empty() { p.empty { "No plugin failed, and every agent got its outcome, in the newest records." } } @else {
                table {
                    caption.unheard { "Failures, the newest first" }
                    thead { tr { th scope="col" { "Time" } th scope="col" { "Who" } th scope="col" { "What" } } }
                    tbody { @for failed in &self.failures { tr {
                        td.when { a href={ "/event/" (failed.seq) } { (time(failed.time)) } }
                        th scope="row" { (shown(&failed.who)) }
                        td { (shown_short(&failed.text)) }
                    } } }
                }
            }
        };
        View { title: "Health", content }
    }
}

pub(crate) fn state(state: CheckState) -> Markup {
    let (word, shape, class) = match state {
        CheckState::Ok => ("good", "✓", "yes"),
        CheckState::Unknown => ("unknown", "?", "none"),
        CheckState::Problem => ("problem", "✕", "no"),
    };
    html! { span class={ "verdict " (class) } { span.shape aria-hidden="true" { (shape) } (word) } }
}
