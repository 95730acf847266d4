//! Finds records by words.
//!
//! A search reads the log from its end. A log with many records gets an index: a separate file, which may be deleted at any time.

mod index;

use crate::log_rows::{EventRow, LogReader, Verdict};
use hookhost::audit::{EventRecord, Line, Record};
use hookhost::store::Log;
use hookhost_telemetry::explained::newest_first;
use hookhost_telemetry::tally::is_proof;
use index::SearchIndex;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Number of events on a page of results.
pub(crate) const PAGE: usize = 50;

/// Time after which a search without the index stops, and says how far it came.
const SCAN_TIMEOUT: Duration = Duration::from_millis(900);

/// Number of records from which on a log gets an index. Up to there, reading all of it is fast enough.
const INDEXED_FROM: u64 = 100_000;

/// Number of records that the index proposes at once.
const PROPOSALS: usize = 200;

/// A search. All words and all fields must match. Whatever a person types is a search: there is no syntax error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SearchQuery {
    /// Words in lower case. Each is the beginning of a word in the record's text.
    pub(crate) words: Vec<String>,
    pub(crate) agent: Option<String>,
    pub(crate) rule: Option<String>,
    pub(crate) decision: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) session: Option<String>,
}

impl SearchQuery {
    pub(crate) fn parse(text: &str) -> Self {
        let mut query = Self::default();
        for word in text.split_whitespace() {
            let field = word.split_once(':').filter(|(_, value)| !value.is_empty());
            let place = match field {
                Some(("agent", _)) => &mut query.agent,
                Some(("rule", _)) => &mut query.rule,
                Some(("decision", _)) => &mut query.decision,
                Some(("event", _)) => &mut query.event,
                Some(("session", _)) => &mut query.session,
                _ => {
                    query.words.push(word.to_lowercase());
                    continue;
                }
            };
            *place = field.map(|(_, value)| value.to_owned());
        }
        query
    }

    /// Returns true if the row and the text of its record match.
    fn fits(&self, row: &EventRow, text: &str) -> bool {
        let is = |wanted: &Option<String>, value: &str| wanted.as_deref().is_none_or(|wanted| wanted == value);
        is(&self.agent, &row.agent)
            && is(&self.event, row.event)
            && self.decision.as_deref().is_none_or(|wanted| is_decision(wanted, row.verdict))
            && self.session.as_deref().is_none_or(|wanted| row.session == wanted)
            && self.rule.as_deref().is_none_or(|wanted| row.rules.iter().any(|rule| rule == wanted))
            && self.words.iter().all(|word| has_word(text, word))
    }

    /// Returns false if the record certainly does not match, without parsing it.
    fn may_fit(&self, line: &Line) -> bool {
        let text = line.text();
        let parts = [&self.agent, &self.rule, &self.session];
        parts.iter().all(|part| part.as_deref().is_none_or(|part| text.contains(part)))
            && self.words.first().is_none_or(|word| contains_in_any_case(text, word))
    }
}

/// Returns true if a word of `text` begins with `word`. Both are in lower case. A word consists of letters and digits; `index::in_words` relies
/// on that.
fn has_word(text: &str, word: &str) -> bool {
    let begins_with_letter = word.chars().next().is_some_and(char::is_alphanumeric);
    text.match_indices(word).any(|(place, _)| {
        !begins_with_letter
            || !text.get(..place).and_then(|before| before.chars().next_back()).is_some_and(char::is_alphanumeric)
    })
}

/// Returns true if a verdict is the one that a person means. The word of a rejection also finds what was withheld.
fn is_decision(wanted: &str, verdict: Verdict) -> bool {
    verdict.word() == wanted || verdict.class() == wanted || (wanted == "denied" && verdict.class() == "no")
}

/// Returns true if `text` contains `word`, which is in lower case. ASCII letters of the text are compared in any case. Other letters need
/// the text in lower case, which costs more, so any text may contain them.
fn contains_in_any_case(text: &str, word: &str) -> bool {
    if !word.is_ascii() || word.contains(['"', '\\', '/']) {
        return true;
    }
    let (text, word) = (text.as_bytes(), word.as_bytes());
    let Some(first) = word.first() else { return true };
    let both = [*first, first.to_ascii_uppercase()];
    let mut rest = text;
    while let Some(place) = rest.iter().position(|byte| both.contains(byte)) {
        let from = rest.get(place..).unwrap_or_default();
        if from.get(..word.len()).is_some_and(|part| part.eq_ignore_ascii_case(word)) {
            return true;
        }
        rest = from.get(1..).unwrap_or_default();
    }
    false
}

/// The result of a search.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) rows: Vec<EventRow>,
    /// The number before which the next page begins.
    pub(crate) next: Option<u64>,
    /// The record at which the search stopped because of its time.
    pub(crate) searched_to: Option<u64>,
    pub(crate) is_indexed: bool,
}

/// The search of a log.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    reader: LogReader,
    is_indexing: Arc<AtomicBool>,
}

impl Search {
    pub(crate) fn new(reader: LogReader) -> Self {
        Self { reader, is_indexing: Arc::default() }
    }

    /// Returns the newest events that match, before the record `before`. Records that the index does not have yet are read.
    pub(crate) fn find(&self, query: &SearchQuery, before: Option<u64>) -> Result<Found, String> {
        let log = self.reader.open()?;
        let last = log.last().map_err(|error| error.to_string())?;
        let mut running = Running::new(query);
        let before = before.unwrap_or(u64::MAX);
        let index = (last >= INDEXED_FROM).then(|| self.index(&log)).transpose();
        // Without the index, the search takes longer, but its result is the same.
        let indexed = match (index, index::expression(query)) {
            (Ok(Some(index)), Some(expression)) => index.last().map(|indexed| (index, indexed, expression)).ok(),
            _ => None,
        };
        let until = indexed.as_ref().map_or(0, |(_, indexed, _)| *indexed);
        if last > until {
            self.index_in_background(last);
        }
        running.scan(&log, before, until)?;
        if let Some((index, indexed, expression)) = indexed {
            running.look_up(&log, &index, &expression, before.min(indexed + 1))?;
        }
        Ok(running.found)
    }

    fn index(&self, log: &Log) -> Result<SearchIndex, String> {
        SearchIndex::open(&SearchIndex::path(&self.reader), log)
    }

    /// Adds to the index what it lacks, in a thread of its own.
    fn index_in_background(&self, last: u64) {
        if last < INDEXED_FROM || self.is_indexing.swap(true, Ordering::AcqRel) {
            return;
        }
        let search = self.clone();
        std::thread::spawn(move || {
            if let Err(error) = search.index_all() {
                tracing::warn!(error, "the log is searched without an index");
            }
            search.is_indexing.store(false, Ordering::Release);
        });
    }

    /// Adds to the index all records that it lacks.
    pub(crate) fn index_all(&self) -> Result<u64, String> {
        let log = self.reader.open()?;
        let mut index = self.index(&log)?;
        while index.add(&log)? {}
        index.last()
    }
}

/// A search that is under way.
struct Running<'a> {
    query: &'a SearchQuery,
    begun: Instant,
    found: Found,
}

impl<'a> Running<'a> {
    fn new(query: &'a SearchQuery) -> Self {
        Self { query, begun: Instant::now(), found: Found::default() }
    }

    /// Compares a record. Breaks if the page is full, or the time is over.
    fn visit(&mut self, line: &Line) -> ControlFlow<()> {
        if self.query.may_fit(line)
            && let Ok(Record::Event(event)) = line.entry()
            && !is_proof(&event.header.session)
        {
            let row = EventRow::new(line.seq(), &event);
            if self.query.fits(&row, &searched_text(&row, &event)) {
                if self.found.rows.len() == PAGE {
                    self.found.next = self.found.rows.last().map(|row| row.seq);
                    return ControlFlow::Break(());
                }
                self.found.rows.push(row);
            }
        }
        if self.begun.elapsed() > SCAN_TIMEOUT {
            (self.found.next, self.found.searched_to) = (Some(line.seq()), Some(line.seq()));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Reads the records before `before` and after `until`, the newest first.
    fn scan(&mut self, log: &Log, before: u64, until: u64) -> Result<(), String> {
        let read =
            newest_first(
                log,
                before,
                |line| {
                    if line.seq() <= until { ControlFlow::Break(()) } else { self.visit(line) }
                },
            );
        read.map_err(|error| error.to_string())
    }

    /// Reads the records that the index proposes.
    fn look_up(&mut self, log: &Log, index: &SearchIndex, expression: &str, mut before: u64) -> Result<(), String> {
        self.found.is_indexed = true;
        while self.found.next.is_none() {
            let proposals = index.candidates(expression, before, PROPOSALS)?;
            for seq in &proposals {
                let line = log.lines_after(seq.saturating_sub(1)).map_err(|error| error.to_string())?.next();
                if let Some(Ok(line)) = line
                    && line.seq() == *seq
                    && self.visit(&line).is_break()
                {
                    return Ok(());
                }
                before = *seq;
            }
            if proposals.len() < PROPOSALS {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Returns the text of a record in which words are searched, in lower case: what the event is about, and what was answered.
pub(crate) fn searched_text(row: &EventRow, event: &EventRecord) -> String {
    let mut text = format!("{} {} {} {}", row.event, row.agent, row.subject, event.original.get());
    for part in row.rules.iter().chain(&row.reason).chain(event.raw.as_ref()) {
        text.push(' ');
        text.push_str(part);
    }
    text.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::{Running, Search, SearchIndex, SearchQuery, contains_in_any_case, has_word, index};
    use crate::log_rows::LogReader;
    use hookhost::store::Log;
    use hookhost::{Config, Host};
    use serde_json::json;
    use std::path::Path;

    #[test]
    fn whatever_a_person_types_is_a_search() {
        let query =
            SearchQuery::parse("rm  -RF agent:codex rule:no-force decision:rejected event: session:codex:1 a:b \"");
        let of = |text: &str| Some(text.to_owned());
        assert_eq!(
            query,
            SearchQuery {
                words: ["rm", "-rf", "event:", "a:b", "\""].map(str::to_owned).to_vec(),
                agent: of("codex"),
                rule: of("no-force"),
                decision: of("rejected"),
                event: None,
                session: of("codex:1"),
            }
        );
        assert_eq!(SearchQuery::parse(" \t"), SearchQuery::default());
    }

    #[test]
    fn letters_are_found_in_any_case() {
        for (text, word, is_in) in [
            ("Git Push", "push", true),
            ("gIT", "git", true),
            ("git", "gitx", false),
            ("", "a", false),
            ("ab", "", true),
            ("aab", "ab", true),
            ("École", "école", true),
        ] {
            assert_eq!(contains_in_any_case(text, word), is_in, "{text} {word}");
        }
    }

    #[test]
    fn a_word_is_found_from_its_beginning() {
        for (text, word, is_in) in [
            ("git push --force", "push", true),
            ("git push --force", "pu", true),
            ("git push --force", "ush", false),
            ("git push --force", "--fo", true),
            ("a_b", "b", true),
            ("ab b", "b", true),
            ("x=école", "éc", true),
        ] {
            assert_eq!(has_word(text, word), is_in, "{text} {word}");
        }
    }

    #[test]
    fn no_text_of_a_person_is_syntax_of_the_index() {
        let expression = |text: &str| index::expression(&SearchQuery::parse(text));
        assert_eq!(
            expression("a\" OR body:x*"),
            Some(r#"body : "a" * AND body : "or" * AND body : "body x" *"#.to_owned())
        );
        assert_eq!(expression("-- \" ("), None);
    }

    /// The numbers that a search finds by reading the log, and by the index.
    fn both(log: &Log, index: &SearchIndex, query: &SearchQuery) -> [(Vec<u64>, Option<u64>); 2] {
        let mut read = Running::new(query);
        read.scan(log, u64::MAX, 0).unwrap();
        let mut looked_up = Running::new(query);
        match index::expression(query) {
            Some(expression) => looked_up.look_up(log, index, &expression, u64::MAX).unwrap(),
            None => looked_up.scan(log, u64::MAX, 0).unwrap(),
        }
        [read, looked_up].map(|done| (done.found.rows.iter().map(|row| row.seq).collect(), done.found.next))
    }

    /// Records these commands, and indexes them.
    async fn indexed(file: &Path, commands: &[String]) -> (Search, Log, SearchIndex) {
        let host = Host::builder(Config::empty()).without_cache().store(file).build().await.unwrap();
        let session = host.session("my-agent", "/work").unwrap();
        for command in commands {
            let _ = session.check_tool("bash", &json!({ "command": command })).await;
        }
        host.flush().await.unwrap();
        let search = Search::new(LogReader::new(file.to_owned()));
        search.index_all().unwrap();
        let log = search.reader.open().unwrap();
        let index = search.index(&log).unwrap();
        (search, log, index)
    }

    #[tokio::test]
    async fn the_index_finds_what_reading_the_log_finds() {
        let directory = tempfile::tempdir().unwrap();
        let commands = ["git push --force", "Résumé \u{202e} \" OR NEAR(", "foo_bar-baz", "日本語 text"];
        let commands: Vec<_> = (0..30).flat_map(|number| commands.map(|text| format!("{text} {number}"))).collect();
        let (search, log, index) = indexed(&directory.path().join("hookhost.db"), &commands).await;
        for text in [
            "push",
            "--force",
            "rÉsumé",
            "\"",
            "near(",
            "foo_b",
            "bar-b",
            "日本",
            "event:before-tool-call 17",
            "agent:other",
            "decision:allowed git",
            "nothing",
            "agent:my-agent",
        ] {
            let [read, looked_up] = both(&log, &index, &SearchQuery::parse(text));
            assert_eq!(looked_up, read, "{text}");
        }
        // An index of another log, and a damaged one, are made anew.
        drop(index);
        std::fs::write(SearchIndex::path(&search.reader), "no database").unwrap();
        assert_eq!(search.index_all().unwrap(), log.last().unwrap());
    }

    #[tokio::test]
    async fn the_index_has_the_words_at_the_end_of_a_long_record() {
        let directory = tempfile::tempdir().unwrap();
        let command = format!("{} lastword", "filler ".repeat(10_000));
        let (_, log, index) = indexed(&directory.path().join("hookhost.db"), &[command, "short".to_owned()]).await;
        let [read, looked_up] = both(&log, &index, &SearchQuery::parse("lastw"));
        assert_eq!((looked_up.0.len(), &looked_up), (1, &read));
    }

    /// Characters in which two notions of a word could differ: letters of later versions of Unicode, marks, numbers, letters for private use,
    /// and characters whose lower case is longer.
    const LETTERS: &[char] = &[
        'a',
        'b',
        'B',
        '1',
        ' ',
        '-',
        '_',
        '"',
        '*',
        ':',
        '\u{0}',
        'é',
        'É',
        'e',
        '\u{301}',
        'ß',
        'İ',
        'K',
        'Σ',
        'ς',
        '日',
        '本',
        'Ⓐ',
        '²',
        '½',
        'ⅷ',
        '\u{e000}',
        '\u{93f}',
        '𞤀',
        '\u{1f600}',
        '\u{202e}',
        '\u{200b}',
        '\u{1e900}',
        '\u{1fbf1}',
    ];

    #[tokio::test]
    async fn the_index_finds_what_reading_the_log_finds_in_any_text() {
        use proptest::strategy::{Strategy as _, ValueTree as _};
        let directory = tempfile::tempdir().unwrap();
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let text = |most| {
            proptest::collection::vec(proptest::sample::select(LETTERS), 1..most)
                .prop_map(|letters| letters.into_iter().collect::<String>())
        };
        let mut next = |most| text(most).new_tree(&mut runner).unwrap().current();
        let commands: Vec<String> = (0..150).map(|_| next(12)).collect();
        let (_, log, index) = indexed(&directory.path().join("hookhost.db"), &commands).await;
        let mut found = 0;
        for command in &commands {
            for query in [next(4), next(3), command.clone()] {
                let [read, looked_up] = both(&log, &index, &SearchQuery::parse(&query));
                assert_eq!(looked_up, read, "{query:?}");
                found += read.0.len();
            }
        }
        assert!(found > 500, "{found}");
    }
}
