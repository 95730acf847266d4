//! The result of a search. Each search, and each page of it, is a URL.

use super::event::encoded;
use super::layout::{View, counted, events, number};
use crate::log_rows::EventRow;
use maud::html;

pub(crate) struct FoundView {
    pub(crate) query: String,
    pub(crate) rows: Vec<EventRow>,
    /// The number before which the next page begins.
    pub(crate) next: Option<u64>,
    /// The record to which the log was searched, if that took too long to go on.
    pub(crate) searched_to: Option<u64>,
    /// Whether the index has answered, and how long it took.
    pub(crate) is_indexed: bool,
    pub(crate) micros: u128,
}

impl FoundView {
    pub(crate) fn render(&self) -> View {
        let content = html! {
            div.head { h1 { "Search" } }
            form.search action="/search" method="get" role="search" {
                label for="q" { "Words, or " code { "agent:" } " " code { "rule:" } " " code { "decision:" } " " code { "event:" } " " code { "session:" } }
                div.field {
                    input #q type="search" name="q" value=(self.query) autocomplete="off" spellcheck="false" placeholder="rm -rf decision:rejected";
                    button.primary type="submit" { "Search" }
                }
            }
            p.quiet role="status" {
                (counted(self.rows.len(), "event", "events"))
                @if self.next.is_some() { " on this page" }
                ", in " (self.micros / 1000) " ms"
                @if self.is_indexed { " with the index" }
            }
            @if self.rows.is_empty() { p.empty { "No event has all of these words." } } @else { (events("The events that were found, the newest first", &self.rows, false)) }
            @if let Some(seq) = self.searched_to { p.notice { "Only the records from " (number(seq)) " on were searched, because the log is long. More words are found faster." } }
            @if let Some(before) = self.next { p { a href={ "/search?q=" (encoded(&self.query)) "&before=" (before) } { "Older events" } } }
        };
        View { title: "Search", content }
    }
}
