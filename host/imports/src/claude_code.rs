//! The permission rules of Claude Code: `permissions.deny`, `ask` and `allow` in its settings
//! (code.claude.com/docs/en/permissions). Deny comes before ask, and ask before allow, whichever is narrower. So an `allow` never is an
//! exception of a row.

use crate::command::{self, Ending};
use crate::draft::{ALLOWS, Answer, Decision, Draft, Source};
use crate::import::{Import, Owner, SourceFile, Unreadable};
use crate::path::{self, Slash};
use crate::permission_lists::{ListedRule, parts, rules};
use hookhost_contract::rule::RuleOn;

pub(crate) const SOURCE: Source = Source { name: "claude-code", title: "Claude Code" };

/// The tools that rules about `Edit` are about.
pub(crate) const EDITING: [&str; 4] = ["Edit", "MultiEdit", "NotebookEdit", "Write"];
/// The tools that rules about `Read` are about.
pub(crate) const READING: [&str; 4] = ["Read", "Grep", "Glob", "LS"];

pub(crate) fn read(files: &[SourceFile]) -> Result<Import, Unreadable> {
    let mut import = Import::default();
    for file in files {
        for ListedRule { list, text, at } in rules(file, &mut import)? {
            let written = file.written(at, format!("{list} {text}"));
            let answer = match list.as_str() {
                "deny" => Answer::Reject,
                "ask" => Answer::Ask,
                _ => {
                    import.omit(written, ALLOWS);
                    continue;
                }
            };
            match draft(&text, file.owner) {
                Ok(draft) => draft.add_to(&mut import, SOURCE, &text, &Decision { answer, reason: None }, written),
                Err(why) => import.omit(written, why),
            }
        }
    }
    Ok(import)
}

fn draft(rule: &str, owner: Owner) -> Result<Draft, String> {
    let slash = if owner == Owner::Project { Slash::Project } else { Slash::Unknown };
    match parts(rule) {
        (name, None) if name.contains('(') => Err("its `)` is missing".to_owned()),
        ("Bash", specifier) => of_shell(specifier.unwrap_or_default()),
        ("Edit", None) => Ok(Draft::about_tools(EDITING)),
        ("Read", None) => Ok(Draft::about_tools(READING)),
        ("Agent" | "Task", None) => Ok(Draft::about([RuleOn::Spawn])),
        ("WebFetch", Some(specifier)) => match specifier.strip_prefix("domain:") {
            Some(host) => Ok(Draft::about_host(host)),
            None => Err("a rule about requests compares the host: `domain:NAME`".to_owned()),
        },
        (tool, Some(pattern)) if READING.contains(&tool) => of_path(&RuleOn::Read, tool, pattern, slash),
        (tool, Some(pattern)) if EDITING.contains(&tool) => of_path(&RuleOn::Write, tool, pattern, slash),
        (tool, Some(_)) => Err(format!("no matcher is about the arguments of `{tool}`: compare `arguments` in `when`")),
        (tool, None) => match tool.strip_prefix("mcp__") {
            Some(name) => {
                let (server, tool) = name.split_once("__").unwrap_or((name, "*"));
                Ok(Draft::about_mcp(Some(server), Some(tool)))
            }
            None => Ok(Draft::about_tools([tool])),
        },
    }
}

/// Makes a row from `git push:*`, `git push *`, `git*` or a whole command.
fn of_shell(specifier: &str) -> Result<Draft, String> {
    let words = specifier.strip_suffix(":*").or_else(|| specifier.strip_suffix(" *"));
    match (words, specifier.strip_suffix('*')) {
        (Some(words), _) => command::draft(words, Ending::Words),
        (None, Some(letters)) => command::draft(letters, Ending::Letters),
        (None, None) => command::draft(specifier, Ending::Whole),
    }
}

fn of_path(on: &RuleOn, tool: &str, pattern: &str, slash: Slash) -> Result<Draft, String> {
    let mut draft = path::draft(on, pattern, slash)?;
    if !matches!(tool, "Read" | "Edit") {
        draft.differs(format!("stricter: Claude Code itself compares no paths of `{tool}`"));
    }
    Ok(draft)
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::import::{Import, Owner, SourceFile};
    use hookhost_contract::rule::RuleOn;

    fn import(text: &str, owner: Owner) -> Import {
        read(&[SourceFile::new(".claude/settings.json".into(), owner, text)]).unwrap()
    }

    #[test]
    fn each_kind_of_rule_becomes_the_row_that_says_the_same() {
        for (rule, row) in [
            ("Bash", "shell"),
            ("Bash(*)", "shell"),
            ("Bash(git push:*)", "shell program=git push"),
            ("Bash(npm run test *)", "shell program=npm run test"),
            ("Bash(npm*)", "shell program=npm*"),
            ("Bash(git push --force:*)", "shell program=git push flags=--force"),
            ("Read(./.env)", "read path=.env"),
            ("Edit(/src/**)", "write path=src/**"),
            ("Edit(//etc/**)", "write path=/etc/**"),
            ("Read(~/.ssh/**)", "read path=~/.ssh/**"),
            ("Edit", "Edit MultiEdit NotebookEdit Write"),
            ("WebFetch", "WebFetch"),
            ("WebFetch(domain:example.com)", "web host=example.com"),
            ("mcp__github", "mcp server=github"),
            ("mcp__github__*", "mcp server=github"),
            ("mcp__github__delete_repo", "mcp server=github tool=delete_repo"),
            ("Agent", "spawn"),
        ] {
            let text = format!("{{\"permissions\": {{\"deny\": [\"{rule}\"]}}}}");
            let import = import(&text, Owner::Project);
            let found = import.rows.first().unwrap_or_else(|| panic!("{rule}: {:?}", import.omissions));
            let found = &found.proposal.row;
            let on: Vec<&str> = found.on.iter().map(RuleOn::name).collect();
            let keys: String = found.matchers().map(|(key, values)| format!(" {key}={}", values.join(","))).collect();
            assert_eq!(on.join(" ") + &keys, row, "{rule}");
        }
    }

    #[test]
    fn what_a_row_cannot_say_is_named_with_its_reason() {
        let text = r#"{"permissions": {
            "allow": ["Bash(npm test)"],
            "ask": ["Agent(Explore)", "Bash(make > log)"],
            "deny": ["Edit(/x)", "Skill(deploy)", "WebFetch(x)", "Bash(a"]
        }}"#;
        let import = import(text, Owner::User);
        let named: Vec<String> =
            import.omissions.iter().map(|omission| format!("{} — {}", omission.written, omission.why)).collect();
        let expected = [
            "settings.json:2: allow Bash(npm test) — a rule of hookhost allows nothing",
            "settings.json:3: ask Agent(Explore) — ",
            "Bash(make > log) — a rule compares neither",
            "deny Edit(/x) — `/` is the directory",
            "Skill(deploy) — ",
            "WebFetch(x) — ",
            "Bash(a — its `)`",
        ];
        assert_eq!(named.len(), expected.len(), "{named:?}");
        for (line, part) in named.iter().zip(expected) {
            assert!(line.contains(part), "{line}");
        }
        assert!(import.rows.is_empty());
    }

    #[test]
    fn a_rule_of_two_files_is_one_row_and_ids_stay_unique() {
        let file = |owner| {
            SourceFile::new("s".into(), owner, r#"{"permissions": {"deny": ["Read(.env)"], "ask": ["Read(.env)"]}}"#)
        };
        let import = read(&[file(Owner::User), file(Owner::Project)]).unwrap();
        let ids: Vec<&str> = import.rows.iter().map(|row| row.proposal.row.id.as_str()).collect();
        assert_eq!(ids, ["claude-code.read-env", "claude-code.read-env-2"]);
    }
}
