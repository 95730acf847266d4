//! The words of the repository: phrases that have a better one are refused, each with what to say instead.

use crate::guide::{files, page, prose};
use regex_lite::Regex;
use std::path::Path;

/// A phrase that is not used, and what to say instead. The pattern ignores case; white space in it is any white space, so
/// that a phrase is found across two words of a line however they are spaced.
struct Phrase {
    pattern: &'static str,
    instead: &'static str,
}

const fn phrase(pattern: &'static str, instead: &'static str) -> Phrase {
    Phrase { pattern, instead }
}

/// The list. A new phrase joins it with the word that is better.
const PHRASES: &[Phrase] = &[
    // One word for one thing.
    phrase(r"\bfolders?\b", "directory"),
    phrase(r"\b(hears?|heard|hearing)\b", "subscribes to, gets, is asked about"),
    phrase(r"\bunheard\b", "without subscribers, missed"),
    phrase(r"\bfirst pass\b|\bnext pass\b|\b(second|third|fourth|fifth) pass\b", "round"),
    phrase(r"\ballowlist/|\bchain/", "config/, compose/"),
    // Verbs that say less than another one.
    phrase(r"\b(goes|go|going|went|gone) on\b", "continues, resumes, runs"),
    phrase(
        r"\bstands?(?: \w+)? (in|there|beside|behind|before|between|under|on|above|below|with|at|alone)\b",
        "is, has, says",
    ),
    phrase(r"\b(what|that|which|it|this|page|file|key|line|text) stood\b|\bstood (in|there|against)\b", "was"),
    phrase(r"\bstand as\b|\b(outcome|end|one|response|rules?|verdict) stands\b", "counts, is final"),
    phrase(r"\b(comes?|came|becomes|became) of (it|them|that|this|a|an|the)\b", "happens to, the outcome of"),
    phrase(r"\bwhat (comes|came|becomes|became) of\b", "what happens to, the outcome of"),
    phrase(r"\bpass(es|ed)? over\b", "skip"),
    phrase(r"\bput away\b|\bputs away\b", "store"),
    phrase(r"\bmend(s|ed|ing)?\b", "fix, repair"),
    phrase(r"\b(and|is|are|that|it) (is|are|was|were) said\b|\b(is|are) said (as|too|of)\b", "is reported"),
    phrase(r"\bthat is told\b|\bis told as well\b", "the user is told, is reported"),
    phrase(r"\bmakes? nothing of\b", "ignores"),
    phrase(r"\bcome(s)? out (as|otherwise|the same)\b", "has the same outcome, has another outcome"),
    // Nouns and pronouns.
    phrase(r"\b(whoever|whomever|whosoever)\b", "name who it is, or anyone who"),
    phrase(r"\b(that|it|which|who|this) (is|are|was|were) none\b", "say what it is, or is not"),
    phrase(r"\bis none of\b|\bare none of\b", "is not one of"),
    phrase(r"\bof its that\b", "its … with"),
    phrase(r"\bthat one (uses?|types?|reads?|has|corrects?)\b", "that you use"),
    // Words that have a plainer one.
    phrase(r"\banew\b", "again"),
    phrase(r"\bin the midst of\b", "in the middle of"),
    phrase(r"[,:;] else (a|an|the|what|it|they|there|nothing|each|by|to)\b", "otherwise"),
    phrase(r"\bthe beginning of (an|its|the) id", "a prefix of the id"),
    phrase(r"\ball the same\b", "nevertheless, still"),
    phrase(r"\bbehind `", "after"),
];

/// Files in which phrases are looked for.
struct Kind {
    /// How their names end.
    endings: &'static [&'static str],
    /// Directories whose files are made by programs, or quoted.
    but: &'static [&'static str],
    /// The lines of a file that people wrote as prose, with their numbers.
    prose: fn(&str) -> Vec<(usize, String)>,
    /// Fewer files than this were not all of them.
    at_least: usize,
}

/// The files in which phrases are looked for. The pages of rules are made from catalogues, whose sentences are the plugin's
/// output.
const KINDS: &[Kind] =
    &[Kind { endings: &[".md"], but: &["docs/rules", "docs/demo"], prose: of_markdown, at_least: 30 }];

/// What is outside of fenced blocks, inline code and quotations: output is quoted as it is printed.
fn of_markdown(text: &str) -> Vec<(usize, String)> {
    let code = Regex::new("``[^`].*?``|`[^`]*`").expect("a pattern");
    let quoted = Regex::new("\"[^\"]*\"").expect("a pattern");
    prose(text)
        .into_iter()
        .filter(|(_, line)| !line.starts_with("> "))
        .map(|(number, line)| (number, quoted.replace_all(&code.replace_all(line, "`…`"), "\"…\"").into_owned()))
        .collect()
}

/// What is to be said otherwise in these lines, a sentence each.
fn found(file: &Path, lines: &[(usize, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for Phrase { pattern, instead } in PHRASES {
        let pattern = Regex::new(&format!("(?i){}", pattern.replace(' ', r"\s+"))).expect("a pattern");
        for (index, (number, line)) in lines.iter().enumerate() {
            // A phrase may be broken over two lines: then it is found in both together, and begins in the first.
            let next = lines.get(index + 1).filter(|(next, _)| *next == number + 1).map_or("", |(_, next)| next.trim());
            let both = format!("{line} {next}");
            for phrase in pattern.find_iter(&both).filter(|phrase| phrase.start() < line.len()) {
                found.push(format!("{}:{number}: `{}`: say {instead}", file.display(), phrase.as_str()));
            }
        }
    }
    found
}

#[test]
fn no_file_has_a_phrase_that_has_a_better_one() {
    let mut wrong = Vec::new();
    for Kind { endings, but, prose, at_least } in KINDS {
        let mut files = files(endings);
        files.retain(|file| !but.iter().any(|directory| file.starts_with(directory)));
        assert!(files.len() >= *at_least, "only {} files end with {endings:?}", files.len());
        wrong.extend(files.iter().flat_map(|file| found(file, &prose(&page(&file.to_string_lossy())))));
    }
    wrong.sort();
    assert!(wrong.is_empty(), "{} phrases:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_phrase_is_found_with_its_line_and_its_better_word_also_across_lines() {
    let found = |text: &str| found(Path::new("a.md"), &of_markdown(text));
    assert_eq!(found("A page.\nThe folder of a page."), ["a.md:2: `folder`: say directory"]);
    assert_eq!(found("The run goes\non."), ["a.md:1: `goes on`: say continues, resumes, runs"]);
    assert_eq!(found("Whoever it is."), ["a.md:1: `Whoever`: say name who it is, or anyone who"]);
    assert_eq!(found("A dash stands for text, and a clock stands still."), [""; 0]);
    assert_eq!(found("It prints `a folder` and \"a folder\".\n\n```text\na folder\n```\n> a folder\n"), [""; 0]);
}
