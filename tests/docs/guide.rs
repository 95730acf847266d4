//! Guides as tests read them: their fenced blocks, in order, and whether what a guide shows is what was printed.

use hookhost_tests::User;
use regex_lite::Regex;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests' directory is in the repository").to_owned()
}

/// A page of the repository.
pub(crate) fn page(name: &str) -> String {
    let path = root().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The part of a page below a heading, up to the next one of its level.
pub(crate) fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let begin = page.find(&format!("{heading}\n")).unwrap_or_else(|| panic!("there is no heading {heading:?}"));
    let below = &page[begin + heading.len()..];
    let level = heading.split(' ').next().unwrap_or_default();
    below.split(&format!("\n{level} ")).next().unwrap_or_default()
}

/// A fenced block.
#[derive(Debug)]
pub(crate) struct Block {
    /// The word after the fence.
    pub(crate) language: String,
    /// Its lines.
    pub(crate) text: String,
    /// The file that it is, where the line above it begins with a path in backquotes.
    pub(crate) file: Option<String>,
}

/// The fenced blocks of a page, in order.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    let mut above = "";
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let text: String = lines.by_ref().take_while(|line| *line != "```").flat_map(|line| [line, "\n"]).collect();
            let file = above.strip_prefix('`').and_then(|rest| rest.split_once('`'));
            let file =
                file.filter(|(_, rest)| rest.is_empty() || rest.starts_with(" (")).map(|(file, _)| file.to_owned());
            blocks.push(Block { language: language.to_owned(), text, file });
            above = "";
        } else if !line.trim().is_empty() {
            above = line;
        }
    }
    blocks
}

/// The blocks of one language.
pub(crate) fn blocks_of(page: &str, language: &str) -> Vec<String> {
    blocks(page).into_iter().filter(|block| block.language == language).map(|block| block.text).collect()
}

/// Without what differs from run to run and from machine to machine: identifiers, digests, sizes, times, token counts.
pub(crate) fn normalised(text: &str) -> String {
    let rules = [
        ("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "ID"),
        ("[0-9a-f]{64}", "DIGEST"),
        ("(?m)^(  size +)[0-9]+ bytes", "${1}N bytes"),
        ("[0-9]+ tokens in, [0-9]+ out", "N tokens in, N out"),
        (r#"("(?:fuel|micros|time)": ?)[0-9]+"#, "${1}0"),
        (r"(?m)\s+$", ""),
    ];
    rules.iter().fold(text.to_owned(), |text, (pattern, to)| {
        Regex::new(pattern).expect("a pattern").replace_all(&text, *to).into_owned()
    })
}

/// Fails unless this was printed as it is shown, where a line `…` matches any lines.
#[track_caller]
pub(crate) fn assert_shown(shown: &str, printed: &str) {
    let (shown, printed) = (normalised(shown), normalised(printed));
    let pattern: Vec<_> = shown
        .split('\n')
        .map(|line| if line == "…" { "(?:.*\n)*".to_owned() } else { regex_lite::escape(line) + "\n" })
        .collect();
    let pattern = Regex::new(&format!("^{}$", pattern.concat())).expect("a pattern");
    assert!(pattern.is_match(&format!("{printed}\n")), "the guide shows\n{shown}\n\nand printed is\n{printed}");
}

/// The relative links of a page, outside of its fenced blocks: each a path, an anchor after `#`, or both.
pub(crate) fn links(page: &str) -> Vec<String> {
    let pattern = Regex::new(r"\]\(([^) ]+)\)").expect("a pattern");
    let targets = prose(page)
        .into_iter()
        .flat_map(|(_, line)| pattern.captures_iter(line).map(|found| found[1].to_owned()).collect::<Vec<_>>());
    targets.filter(|target| !target.contains("://")).collect()
}

/// The lines of a page outside of its fenced blocks, with their numbers.
pub(crate) fn prose(page: &str) -> Vec<(usize, &str)> {
    let mut inside = false;
    let mut lines = Vec::new();
    for (index, line) in page.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if !inside {
            lines.push((index + 1, line));
        }
    }
    lines
}

/// The files of the repository whose names end with one of these, by path from its root, in order. Build output, fuzz
/// inputs and version control are left out.
pub(crate) fn files(endings: &[&str]) -> Vec<PathBuf> {
    fn walk(directory: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).expect("a directory of the repository") {
            let entry = entry.expect("an entry");
            let (name, path) = (entry.file_name(), entry.path());
            let name = name.to_str().expect("a name in UTF-8");
            let kind = entry.file_type().expect("a kind");
            if kind.is_dir() && !["target", ".git", "corpus", "artifacts"].contains(&name) {
                walk(&path, endings, found);
            } else if kind.is_file() && endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(path.strip_prefix(root()).expect("a file of the repository").to_owned());
            }
        }
    }
    let mut found = Vec::new();
    walk(&root(), endings, &mut found);
    found.sort();
    found
}

/// Runs the commands of a page as one shell session, in the user's project, beside copies of these plugins. Fails if a
/// command fails. Returns their output.
#[track_caller]
pub(crate) fn run_commands(user: &User, page: &str, plugins: &[&str]) -> String {
    for plugin in plugins {
        let built = hookhost_tests::plugin(plugin);
        let name = built.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        user.write(name, std::fs::read(&built).expect("the plugin"));
    }
    let commands = blocks_of(page, "sh").concat();
    assert!(!commands.is_empty(), "the page has no commands");
    // Its environment is that of a user's command.
    let like = user.command(["--version"]);
    let mut shell = Command::new("sh");
    shell.arg("-ec").arg(&commands).current_dir(user.project()).env_clear();
    shell.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let path = std::env::var("PATH").expect("a PATH");
    shell.env("PATH", format!("{}:{path}", hookhost_tests::hookhost().parent().expect("a directory").display()));
    let output = shell.output().expect("sh can be started");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    printed
}

/// Fails unless each Rust block of a page is, word for word, in a source that is compiled and run.
#[track_caller]
pub(crate) fn assert_compiled(page: &str, source: &str) {
    let blocks = blocks_of(page, "rust");
    assert!(!blocks.is_empty(), "the page has no Rust");
    for block in blocks {
        assert!(source.contains(&block), "this is not in the source that is compiled:\n{block}");
    }
}
