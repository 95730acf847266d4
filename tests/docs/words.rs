//! The words of the repository: phrases and names that have a better one are refused, each with what to say instead.
//! Phrases are looked for in pages, and in the comments, the texts and the names of functions of the code; names in the
//! code itself.

use crate::guide::{files, page, prose};
use regex_lite::Regex;
use std::path::Path;
use std::sync::LazyLock;

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
        r"\bstands?(?: \w+)? (in|there|beside|after|before|between|under|on|above|below|with|at|alone)\b",
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

/// Names that the code does not use, and what to use instead. The patterns respect case.
const NAMES: &[Phrase] = &[
    phrase(r"\w*folders?_\w*|\w*_folders?\w*|\bfolders?\b|\w*Folders?\w*|\bdirs?\b", "directory"),
    phrase(r"\b(un)?hear(s|d|ing)?\b|\bHeard\b", "received, subscribers, replies"),
    phrase(r"\b(PATIENCE|AGAIN|QUIET|REST|OFTEN)\b", "what is measured: a timeout, an interval"),
    phrase(r"\b(MOST(_\w+)?|FARTHEST|FEWEST|LONGEST|SHORTEST|DEEPEST)\b", "MAX_…, MIN_…"),
    phrase(r"\bKEPT_BACK\b|\bKeeper\b|\bmod (keeper|spaces)\b", "FLUSH_DELAY, Flusher, namespaces"),
    phrase(r"\b(Desk|Told|heeds?|Became)\b", "RunContext, LoopEvent, handle, CallStatus"),
    phrase(r"\b(struct|enum) (Written|Kept|Past)\b", "Raw…, or what it is"),
    phrase(
        r"\bmod (allowlist|chain|written|withholding|folders|talk|watching|underline|brief|mend)\b",
        "config, compose, raw, redaction, preopens, repl, watch, snippet, truncate, repair",
    ),
    phrase(r"\b(loggable|unconcerned)\b", "to_record, not_matched"),
    phrase(
        r"\b(Ledger|Due|Beginning|Telling|Streaks?|Recall)\b",
        "PendingEffects, Durability, EventStart, ObserverTasks, …",
    ),
    phrase(
        r"\b(struct|enum) Life\b|\bmod (life|streak|recall|kept)\b",
        "SessionState, failure_count, replay_inputs, …",
    ),
];

/// Files in which phrases are looked for.
struct Kind {
    /// How their names end.
    endings: &'static [&'static str],
    /// Directories and files that are made by programs, or quoted.
    but: &'static [&'static str],
    /// The lines of a file that people wrote as prose, with their numbers.
    prose: fn(&str) -> Vec<(usize, String)>,
    /// The lines of a file that are code, with their numbers: without comments and texts.
    code: fn(&str) -> Vec<(usize, String)>,
    /// Fewer files than this were not all of them.
    at_least: usize,
}

/// The files in which phrases are looked for.
const KINDS: &[Kind] = &[
    Kind { endings: &[".md"], but: &["docs/demo"], prose: of_markdown, code: no_code, at_least: 30 },
    // This file lists the phrases.
    Kind { endings: &[".rs"], but: &["tests/docs/words.rs"], prose: of_rust, code: code_of_rust, at_least: 500 },
    Kind { endings: &[".wit"], but: &[], prose: of_wit, code: no_code, at_least: 3 },
    Kind { endings: &[".toml"], but: &[], prose: of_toml, code: no_code, at_least: 40 },
];

fn no_code(_: &str) -> Vec<(usize, String)> {
    Vec::new()
}

/// What is outside of fenced blocks, inline code and quotations: output is quoted as it is printed.
fn of_markdown(text: &str) -> Vec<(usize, String)> {
    let lines = prose(text).into_iter().filter(|(_, line)| !line.starts_with("> "));
    lines.map(|(number, line)| (number, without_quotations(line))).collect()
}

/// A line without its inline code and its quotations.
fn without_quotations(line: &str) -> String {
    static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new("``[^`].*?``|`[^`]*`").expect("a pattern"));
    static QUOTED: LazyLock<Regex> = LazyLock::new(|| Regex::new("\"[^\"]*\"").expect("a pattern"));
    QUOTED.replace_all(&CODE.replace_all(line, "`…`"), "\"…\"").into_owned()
}

/// Comments, texts, and the names of functions that have three words or more: those of tests are sentences. A shorter one may
/// be the contract's.
fn of_rust(text: &str) -> Vec<(usize, String)> {
    let function = Regex::new(r"\bfn ([a-z0-9]+_[a-z0-9]+_\w+)").expect("a pattern");
    let path = Regex::new(r"[\w.]*/[\w./-]+").expect("a pattern");
    let word = Regex::new(r##"^b?r?#*"[\w-]*"#*$"##).expect("a pattern");
    let mut prose = Vec::new();
    for (number, token) in tokens(text) {
        let lines = (number..).zip(token.text.lines());
        match token.kind {
            TokenKind::Comment => {
                prose.extend(
                    lines.map(|(number, line)| (number, without_quotations(line.trim_start_matches(['/', '!', ' '])))),
                );
            }
            // A text of one word is a key or a name, perhaps another program's.
            TokenKind::Text if word.is_match(token.text) => {}
            TokenKind::Text => {
                prose.extend(lines.map(|(number, line)| (number, path.replace_all(line, "…").into_owned())));
            }
            TokenKind::Code => {
                for (number, line) in lines {
                    let names = function.captures_iter(line).map(|name| name[1].replace('_', " "));
                    prose.extend(names.map(|name| (number, name)));
                }
            }
        }
    }
    prose
}

fn code_of_rust(text: &str) -> Vec<(usize, String)> {
    let code = tokens(text).into_iter().filter(|(_, token)| token.kind == TokenKind::Code);
    code.flat_map(|(number, token)| (number..).zip(token.text.lines().map(str::to_owned).collect::<Vec<_>>())).collect()
}

/// The comments: an interface's names are the contract's.
fn of_wit(text: &str) -> Vec<(usize, String)> {
    let comments = (1..).zip(text.lines()).filter_map(|(number, line)| Some((number, line.split_once("//")?.1)));
    comments.map(|(number, comment)| (number, without_quotations(comment.trim_start_matches('/')))).collect()
}

/// All of it: keys, texts and comments.
fn of_toml(text: &str) -> Vec<(usize, String)> {
    (1..).zip(text.lines()).map(|(number, line)| (number, line.trim_start_matches(['#', ' ']).to_owned())).collect()
}

/// A part of a Rust file.
struct Token<'a> {
    kind: TokenKind,
    text: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenKind {
    Comment,
    Text,
    Code,
}

/// The parts of a Rust file with the numbers of their first lines. As exact as this test needs: it knows comments, texts with
/// their escapes, raw texts, and that a quotation mark can be a character.
fn tokens(text: &str) -> Vec<(usize, Token<'_>)> {
    let begin = Regex::new(r#"//|/\*|b?r#*"|"|'(\\.[^']*|[^'\\\n])'"#).expect("a pattern");
    let (mut tokens, mut at, mut number) = (Vec::new(), 0, 1);
    while at < text.len() {
        let rest = &text[at..];
        let (start, end, kind) = match begin.find(rest) {
            None => (rest.len(), rest.len(), TokenKind::Code),
            Some(found) => {
                let after = &rest[found.end()..];
                let until = |mark: &str| found.end() + after.find(mark).map_or(after.len(), |end| end + mark.len());
                match found.as_str() {
                    "//" => (found.start(), found.end() + after.find('\n').unwrap_or(after.len()), TokenKind::Comment),
                    "/*" => (found.start(), until("*/"), TokenKind::Comment),
                    "\"" => (found.start(), found.end() + length_of_text(after), TokenKind::Text),
                    raw if raw.ends_with('"') => {
                        let hashes = raw.matches('#').count();
                        (found.start(), until(&format!("\"{}", "#".repeat(hashes))), TokenKind::Text)
                    }
                    _ => (found.start(), found.end(), TokenKind::Code),
                }
            }
        };
        for (kind, part) in [(TokenKind::Code, &rest[..start]), (kind, &rest[start..end])] {
            if !part.is_empty() {
                tokens.push((number, Token { kind, text: part }));
                number += part.matches('\n').count();
            }
        }
        at += end;
    }
    tokens
}

/// Bytes up to the end of a text after its opening quotation mark, with the closing one.
fn length_of_text(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The phrases, ready to be searched for in prose.
fn phrases() -> Vec<(Regex, &'static str)> {
    let pattern = |pattern: &str| Regex::new(&format!("(?i){}", pattern.replace(' ', r"\s+"))).expect("a pattern");
    PHRASES.iter().map(|phrase| (pattern(phrase.pattern), phrase.instead)).collect()
}

/// The names, ready to be searched for in code.
fn names() -> Vec<(Regex, &'static str)> {
    NAMES.iter().map(|name| (Regex::new(name.pattern).expect("a pattern"), name.instead)).collect()
}

/// What is to be said otherwise in these lines, a sentence each.
fn found(file: &Path, phrases: &[(Regex, &str)], lines: &[(usize, String)]) -> Vec<String> {
    let mut found = Vec::new();
    // Nearly every file has nearly none of them, and one search is faster than one for each line.
    let all = lines.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n");
    for (pattern, instead) in phrases.iter().filter(|(pattern, _)| pattern.is_match(&all)) {
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
fn no_file_has_a_phrase_or_a_name_that_has_a_better_one() {
    let (phrases, names) = (phrases(), names());
    let mut wrong = Vec::new();
    for Kind { endings, but, prose, code, at_least } in KINDS {
        let mut files = files(endings);
        assert!(files.len() >= *at_least, "only {} files end with {endings:?}", files.len());
        files.retain(|file| !but.iter().any(|left_out| file.starts_with(left_out)));
        for file in &files {
            let text = page(&file.to_string_lossy());
            wrong.extend(found(file, &phrases, &prose(&text)));
            wrong.extend(found(file, &names, &code(&text)));
        }
    }
    wrong.sort();
    assert!(wrong.is_empty(), "{} phrases:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_phrase_is_found_with_its_line_and_its_better_word_also_across_lines() {
    let found = |text: &str| found(Path::new("a.md"), &phrases(), &of_markdown(text));
    assert_eq!(found("A page.\nThe folder of a page."), ["a.md:2: `folder`: say directory"]);
    assert_eq!(found("The run goes\non."), ["a.md:1: `goes on`: say continues, resumes, runs"]);
    assert_eq!(found("Whoever it is."), ["a.md:1: `Whoever`: say name who it is, or anyone who"]);
    assert_eq!(found("A dash stands for text, and a clock stands still."), [""; 0]);
    assert_eq!(found("It prints `a folder` and \"a folder\".\n\n```text\na folder\n```\n> a folder\n"), [""; 0]);
}

#[test]
fn a_phrase_in_a_rust_file_is_found_in_comments_texts_and_names_of_functions_but_not_in_code() {
    let found = |text: &str| {
        let (file, prose, code) = (Path::new("a.rs"), of_rust(text), code_of_rust(text));
        [found(file, &phrases(), &prose), found(file, &names(), &code)].concat()
    };
    for (line, phrase, instead) in [
        ("/// An identifier that is none.", "that is none", "say what it is, or is not"),
        ("//! A line is none of a log.", "is none of", "is not one of"),
        ("// What stands in the file.", "stands in", "is, has, says"),
        ("/* The run goes on. */", "goes on", "continues, resumes, runs"),
        ("let x = \"whoever it is\";", "whoever", "name who it is, or anyone who"),
        ("let x = r#\"a \"folder\" there\"#;", "folder", "directory"),
        ("let x = '\"'; // whoever", "whoever", "name who it is, or anyone who"),
        ("let x = \"\\\"\"; // whoever", "whoever", "name who it is, or anyone who"),
        ("fn the_session_goes_on_later() {}", "goes on", "continues, resumes, runs"),
        ("const MOST_BYTES: usize = 1;", "MOST_BYTES", "MAX_…, MIN_…"),
        ("const PATIENCE: Duration = Duration::ZERO;", "PATIENCE", "what is measured: a timeout, an interval"),
        ("let open_folder = 1;", "open_folder", "directory"),
        ("struct Keeper;", "Keeper", "FLUSH_DELAY, Flusher, namespaces"),
    ] {
        let all = found(&format!("mod a;\n{line}\n"));
        assert!(all.contains(&format!("a.rs:2: `{phrase}`: say {instead}")), "{line}: {all:?}");
    }
    assert_eq!(found("// The run goes\n// on.\n"), ["a.rs:1: `goes on`: say continues, resumes, runs"]);
    assert_eq!(found("let stands = &'a [b'x', '\\'']; // `a folder`, and \"a folder\"\n\"/var/folders\""), [""; 0]);
}

#[test]
fn a_phrase_in_a_wit_or_toml_file_is_found() {
    let wit = "interface folder {\n  /// A folder.\n  x: func(); // whoever\n}\n";
    let expected = ["a.wit:2: `folder`: say directory", "a.wit:3: `whoever`: say name who it is, or anyone who"];
    assert_eq!(found(Path::new("a.wit"), &phrases(), &of_wit(wit)), expected);
    let toml = "# It goes\n# on.\nfolders = [\"x\"]\n";
    let expected = ["a.toml:3: `folders`: say directory", "a.toml:1: `goes on`: say continues, resumes, runs"];
    assert_eq!(found(Path::new("a.toml"), &phrases(), &of_toml(toml)), expected);
}
