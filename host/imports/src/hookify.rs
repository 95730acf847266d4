//! The rules of hookify, a plugin of Claude Code: Markdown files with front matter (anthropics/claude-code, plugins/hookify). Its
//! expressions look for a text anywhere in a command, also where it is only mentioned. A row about the command itself is narrower there,
//! and sees the command in any other spelling.

use crate::command::{self, Ending, joined};
use crate::draft::{Answer, Decision, Draft, Source, command as in_command, list, sample};
use crate::expression::{self, Texts};
use crate::front_matter::{self, FrontMatter};
use crate::import::{Import, SourceFile, Unreadable};
use hookhost_contract::rule::{ExampleTable, OneOrMany, RuleExample, RuleOn};
use shell_reader::is_known_program;

const SOURCE: Source = Source { name: "hookify", title: "hookify" };

const KEYS: [&str; 6] = ["name", "enabled", "event", "pattern", "conditions", "action"];

/// What a rule looks for.
struct Condition<'a> {
    field: &'a str,
    operator: &'a str,
    pattern: &'a str,
}

pub(crate) fn read(files: &[SourceFile]) -> Result<Import, Unreadable> {
    let mut import = Import::default();
    for file in files {
        let matter = front_matter::read(&file.text).map_err(|(at, message)| file.unreadable(at, message))?;
        let text = |name: &str| matter.keys.iter().find(|key| key.name == name).map_or("", |key| key.text);
        let at = matter.keys.first().map_or(0, |key| key.at);
        let written =
            file.written(at, format!("{} (event {}, pattern {})", text("name"), text("event"), text("pattern")));
        let answer = match text("action") {
            "block" => Answer::Reject,
            "ask" => Answer::Ask,
            _ => Answer::Remind,
        };
        match drafts(&matter, answer) {
            Ok(drafts) => {
                for draft in drafts {
                    let decision = Decision { answer, reason: Some(matter.body) };
                    draft.add_to(&mut import, SOURCE, text("name"), &decision, written.clone());
                }
            }
            Err(why) => import.omit(written, why),
        }
    }
    Ok(import)
}

fn drafts(matter: &FrontMatter<'_>, answer: Answer) -> Result<Vec<Draft>, String> {
    let text = |name: &str| matter.keys.iter().find(|key| key.name == name).map_or("", |key| key.text);
    if text("enabled") == "false" {
        return Err("it is switched off".to_owned());
    }
    if let Some(key) = matter.keys.iter().find(|key| !KEYS.contains(&key.name)) {
        return Err(format!("its key `{}` is unknown", key.name));
    }
    let event = text("event");
    let conditions = conditions(matter, event);
    let [condition] = conditions.as_slice() else {
        return Err(match conditions.len() {
            0 => "it has no condition, so hookify never applies it".to_owned(),
            _ => "it has several conditions: combine them in `when`".to_owned(),
        });
    };
    match (event, condition.field) {
        ("bash" | "all", "command") => of_shell(condition),
        ("file" | "all", "file_path") => of_files(condition),
        ("prompt", "user_prompt" | "content" | "prompt") => of_prompt(condition, answer),
        ("file", "new_text" | "content") => of_new_text(condition),
        ("stop", _) => {
            Err("a rule about the end of a task compares no text, so it would never let a task end".to_owned())
        }
        (event, field) => Err(format!("a rule cannot compare `{field}` at the event `{event}`")),
    }
}

fn conditions<'a>(matter: &FrontMatter<'a>, event: &str) -> Vec<Condition<'a>> {
    let mut found = Vec::new();
    for key in &matter.keys {
        for item in &key.items {
            let text = |name: &str| item.iter().find(|(key, _)| *key == name).map_or("", |(_, text)| *text);
            let operator = if text("operator").is_empty() { "regex_match" } else { text("operator") };
            found.push(Condition { field: text("field"), operator, pattern: text("pattern") });
        }
    }
    let pattern = matter.keys.iter().find(|key| key.name == "pattern").map_or("", |key| key.text);
    if found.is_empty() && !pattern.is_empty() {
        let field = match event {
            "bash" => "command",
            "file" => "new_text",
            _ => "content",
        };
        found.push(Condition { field, operator: "regex_match", pattern });
    }
    found
}

impl Condition<'_> {
    fn texts(&self) -> Result<Texts, String> {
        let literal = |is_start, is_end| Ok(Texts { texts: vec![self.pattern.to_owned()], is_start, is_end });
        match self.operator {
            "regex_match" => expression::texts(self.pattern).ok_or_else(|| {
                "its expression is more than literal texts: write it with `matches` in `when`".to_owned()
            }),
            "contains" => literal(false, false),
            "starts_with" => literal(true, false),
            "ends_with" => literal(false, true),
            "equals" => literal(true, true),
            other => Err(format!("a rule has no `{other}`")),
        }
    }
}

fn of_shell(condition: &Condition<'_>) -> Result<Vec<Draft>, String> {
    let found = condition.texts()?;
    let mut drafts = Vec::new();
    for text in &found.texts {
        let mut draft = of_command(&text.replace('*', " "), &found)?;
        draft.differs("narrower: it sees commands, and no text that only mentions one");
        drafts.push(draft);
    }
    Ok(joined(drafts.clone()).map_or(drafts, |draft| vec![draft]))
}

fn of_command(text: &str, found: &Texts) -> Result<Draft, String> {
    let text = text.trim();
    if text.starts_with('-') && !text.contains(' ') {
        let mut draft = Draft::about([RuleOn::Shell]);
        draft.row.flags = list(Some(text));
        draft.stops([format!("git commit {text}")]);
        draft.passes(["git commit".to_owned(), format!("echo '{text}'")]);
        return Ok(draft);
    }
    let program = text.split_whitespace().next().unwrap_or_default();
    if !found.is_start && !is_known_program(program) {
        return Err(format!("it may begin in the middle of a command, because `{program}` is no known program"));
    }
    let ending = match text.chars().last() {
        _ if found.is_start && found.is_end => Ending::Whole,
        Some(last) if !last.is_alphanumeric() && text.contains(' ') => Ending::Letters,
        _ => Ending::Words,
    };
    command::draft(text, ending)
}

fn of_files(condition: &Condition<'_>) -> Result<Vec<Draft>, String> {
    let found = condition.texts()?;
    let mut draft = Draft::about([RuleOn::Write]);
    let mut paths = Vec::new();
    for text in &found.texts {
        if text.contains(['*', '?', '[', '{', '\\']) || (found.is_start && !text.starts_with('/')) {
            return Err("its expression compares parts of a path that a pattern of paths cannot name".to_owned());
        }
        let before = match text {
            _ if found.is_start => "",
            text if text.starts_with('/') => "**",
            text if text.contains('/') => "**/*",
            _ => "*",
        };
        let after = if found.is_end {
            ""
        } else if text.ends_with('/') {
            "**"
        } else {
            "*"
        };
        paths.push(format!("{before}{text}{after}"));
    }
    let files: Vec<String> = paths.iter().map(|path| sample(path)).collect();
    draft.row.path = OneOrMany(paths);
    draft.row.stops.extend(files.iter().map(|file| in_command(format!("echo a > {file}"))));
    draft.stops(files);
    draft.passes(["README", "src/main", "notes"].map(str::to_owned));
    draft.differs(
        "stricter: it also stops commands that write these files, and everything below a directory of this name",
    );
    Ok(vec![draft])
}

fn of_new_text(condition: &Condition<'_>) -> Result<Vec<Draft>, String> {
    let mut draft = of_text(RuleOn::Write, condition)?;
    draft.row.stops = draft.row.text.iter().map(|text| written(format!("a {text} b"))).collect();
    draft.row.passes = vec![written("hello".to_owned())];
    draft.differs("stricter: it also compares the old text, and commands that write a file");
    Ok(vec![draft])
}

/// Returns an example of a row about the text that is written into a file.
fn written(text: String) -> RuleExample {
    let path = Some("notes.txt".to_owned());
    RuleExample::Table(Box::new(ExampleTable { path, text: Some(text), ..ExampleTable::default() }))
}

/// Makes a row about parts of a text, without examples.
fn of_text(on: RuleOn, condition: &Condition<'_>) -> Result<Draft, String> {
    let found = condition.texts()?;
    if found.is_start || found.is_end || found.texts.iter().any(|text| text.contains('*')) {
        return Err("a rule about a text compares parts of it, wherever they are".to_owned());
    }
    let mut draft = Draft::about([on]);
    draft.row.text = OneOrMany(found.texts);
    if condition.operator == "regex_match" {
        draft.differs("narrower: it compares upper and lower case");
    }
    Ok(draft)
}

fn of_prompt(condition: &Condition<'_>, answer: Answer) -> Result<Vec<Draft>, String> {
    let mut draft = of_text(RuleOn::Prompt, condition)?;
    let stops: Vec<String> = draft.row.text.iter().map(|text| format!("please {text} now")).collect();
    draft.stops(stops);
    draft.passes(["hello".to_owned()]);
    if answer != Answer::Remind {
        draft.differs("stricter: hookify itself blocks no prompt");
    }
    if answer == Answer::Ask {
        return Err("nobody can be asked about a prompt".to_owned());
    }
    Ok(vec![draft])
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::import::{Import, Owner, SourceFile};

    fn import(matter: &str) -> Import {
        let text = format!("---\nname: rule\nenabled: true\n{matter}\n---\n\nDo not.\n");
        read(&[SourceFile::new(".claude/hookify.rule.local.md".into(), Owner::Project, &text)]).unwrap()
    }

    #[test]
    fn each_kind_of_rule_becomes_a_row() {
        for (matter, row) in [
            (r"event: bash⏎pattern: rm\s+-rf⏎action: block", "shell program=rm flags=-rf reject"),
            (r"event: bash⏎pattern: (npm|yarn) publish⏎action: ask", "shell program=npm publish,yarn publish ask"),
            ("event: bash⏎pattern: git push.*--force⏎action: block", "shell program=git push flags=--force reject"),
            ("event: bash⏎pattern: --no-verify", "shell flags=--no-verify remind"),
            ("event: bash⏎pattern: dd if=⏎action: block", "shell program=dd args=if=* reject"),
            (
                r"event: file⏎conditions:⏎  - field: file_path⏎    operator: regex_match⏎    pattern: \.env$⏎action: block",
                "write path=*.env reject",
            ),
            (
                "event: file⏎conditions:⏎  - field: file_path⏎    operator: contains⏎    pattern: gen/⏎action: block",
                "write path=**/*gen/** reject",
            ),
            (
                "event: prompt⏎conditions:⏎  - field: user_prompt⏎    operator: contains⏎    pattern: deploy",
                "prompt text=deploy remind",
            ),
            (r"event: file⏎pattern: console\.log⏎action: block", "write text=console.log reject"),
        ] {
            let import = import(&matter.replace('⏎', "\n"));
            let found = import.rows.first().unwrap_or_else(|| panic!("{matter}: {:?}", import.omissions));
            let found = &found.proposal.row;
            let matchers: String =
                found.matchers().map(|(key, values)| format!(" {key}={}", values.join(","))).collect();
            let text = format!("{}{matchers} {}", found.on[0].name(), found.answers()[0].name());
            assert_eq!(text, row, "{matter}");
        }
    }

    #[test]
    fn what_a_row_cannot_say_is_named_with_its_reason() {
        for (matter, part) in [
            ("event: bash\npattern: push --force\naction: block", "no known program"),
            ("event: bash\npattern: rm [a-z]+", "literal texts"),
            ("event: file\npattern: ^import", "wherever"),
            ("event: file\nconditions:\n - field: old_text\n   pattern: x", "cannot compare `old_text`"),
            ("event: stop\npattern: .*", "end of a task"),
            ("event: bash\ncolour: red\npattern: rm", "`colour` is unknown"),
            ("event: bash", "no condition"),
            (
                "event: bash\nconditions:\n - field: command\n   operator: not_contains\n   pattern: rm",
                "no `not_contains`",
            ),
            (
                "event: bash\nconditions:\n - field: command\n   pattern: rm\n - field: command\n   pattern: x",
                "several",
            ),
            ("event: prompt\npattern: ^deploy", "wherever"),
        ] {
            let import = import(matter);
            let why = import.omissions.first().map(|omission| omission.why.clone()).unwrap_or_default();
            assert!(why.contains(part) && import.rows.is_empty(), "{matter}: {why}");
        }
    }
}
