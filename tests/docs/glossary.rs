//! `docs/glossary.md`: it has the words of the contract and of the outcomes, each once, in the order of the alphabet.

use crate::guide::page;
use hookhost::contract::{EventKind, OutcomeKind};
use regex_lite::Regex;
use std::collections::BTreeSet;

/// The words of each row of the table, and what they mean.
fn rows(page: &str) -> Vec<(Vec<&str>, &str)> {
    let table = page.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = table.filter_map(|line| {
        let cells: Vec<&str> = line.split(" | ").collect();
        (cells.len() == 3 && cells[0] != "word").then(|| (cells[0].split(", ").collect(), cells[1]))
    });
    cells.collect()
}

#[test]
fn every_kind_of_event_answer_and_outcome_is_in_the_glossary() {
    let glossary = page("docs/glossary.md");
    let rows = rows(&glossary);
    let words: BTreeSet<&str> = rows.iter().flat_map(|(words, _)| words).copied().collect();
    for event in EventKind::ALL {
        let kind = format!("{:?}", event.shape()).to_lowercase();
        assert!(words.contains(kind.as_str()), "the kind {kind} of {event} is not in the glossary");
    }
    let (_, outcome) = rows.iter().find(|(words, _)| words == &["outcome"]).expect("a row for `outcome`");
    for kind in OutcomeKind::ALL {
        assert!(outcome.contains(&format!("*{kind}*")), "the outcome {kind} is not in the glossary");
    }
    let guide = page("docs/writing-plugins.md");
    let answer = Regex::new("`([a-z-]+)`").expect("a pattern");
    let mut answers = BTreeSet::new();
    for line in guide
        .lines()
        .filter(|line| ["gate", "transform", "collect"].iter().any(|kind| line.contains(&format!("` | {kind} | "))))
    {
        let last = line.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
        answers.extend(answer.captures_iter(last).map(|found| found[1].to_owned()));
    }
    assert!(answers.len() >= 10, "{answers:?}");
    for answer in answers {
        assert!(words.contains(answer.as_str()), "the answer `{answer}` is not in the glossary");
    }
}

#[test]
fn each_word_is_in_the_glossary_once_and_in_its_place() {
    let glossary = page("docs/glossary.md");
    let rows = rows(&glossary);
    assert!(rows.len() > 40, "only {} rows were found", rows.len());
    let first: Vec<String> = rows.iter().map(|(words, _)| words[0].to_lowercase()).collect();
    assert!(first.is_sorted(), "{first:?}");
    let mut seen = BTreeSet::new();
    for word in rows.iter().flat_map(|(words, _)| words) {
        assert!(seen.insert(word), "`{word}` has two rows");
    }
}
