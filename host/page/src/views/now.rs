//! What happens now: the newest events of all agents, and new ones as they come.

use super::layout::{View, counted, events};
use crate::log_rows::EventRow;
use crate::views::approvals::Waiting;
use maud::{Markup, html};

/// Number of events that are shown at first.
pub(crate) const ROWS: usize = 50;

pub(crate) struct NowView {
    pub(crate) rows: Vec<EventRow>,
    pub(crate) sessions: usize,
    pub(crate) waiting: Vec<Waiting>,
    /// Notes about the rules: a pause, a rule that is off, a file that is not approved.
    pub(crate) notes: Vec<String>,
}

impl NowView {
    pub(crate) fn render(&self) -> View {
        View { title: "Now", content: self.content() }
    }

    fn content(&self) -> Markup {
        html! {
            div.head {
                h1 { "Now" }
                p.facts {
                    span { (counted(self.sessions, "open session", "open sessions")) }
                    span #live.live data-more="0" { "not live yet" }
                }
            }
            @for note in &self.notes { p.notice { (note) } }
            @if let Some(first) = self.waiting.first() {
                p.notice.ask {
                    a href="/approvals" {
                        (counted(self.waiting.len(), "question waits", "questions wait"))
                    }
                    " for you: " (crate::shown_text::shown_short(&first.headline))
                }
            }
            @if self.rows.is_empty() {
                p.empty #nothing { "No agent has called hookhost yet. Use an agent, and its events appear here. " code { "hookhost doctor" } " says which agents ask." }
            }
            (events("The newest events, the newest first", &self.rows, true))
            @if let Some(last) = self.rows.last() {
                p { a href={ "/search?q=&before=" (last.seq) } { "Older events" } }
            }
        }
    }
}
