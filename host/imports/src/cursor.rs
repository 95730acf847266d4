//! The permissions of Cursor's command-line agent: `permissions.deny` and `allow` in `cli-config.json` and `.cursor/cli.json`
//! (cursor.com/docs/cli/reference/permissions). Its `.cursor/rules` are texts for the model, which nothing enforces.

use crate::command::{self, Ending};
use crate::draft::{ALLOWS, Answer, Decision, Draft, Source};
use crate::import::{Import, SourceFile, Unreadable};
use crate::path::{self, Slash};
use crate::permission_lists::{ListedRule, parts, rules};
use hookhost_contract::rule::RuleOn;

const SOURCE: Source = Source { name: "cursor", title: "Cursor" };

pub(crate) fn read(files: &[SourceFile]) -> Result<Import, Unreadable> {
    let mut import = Import::default();
    for file in files {
        for ListedRule { list, text, at } in rules(file, &mut import)? {
            let written = file.written(at, format!("{list} {text}"));
            if list == "allow" {
                import.omit(written, ALLOWS);
                continue;
            }
            match draft(&text) {
                Ok(draft) => {
                    draft.add_to(
                        &mut import,
                        SOURCE,
                        &text,
                        &Decision { answer: Answer::Reject, reason: None },
                        written,
                    );
                }
                Err(why) => import.omit(written, why),
            }
        }
    }
    Ok(import)
}

fn draft(rule: &str) -> Result<Draft, String> {
    match parts(rule) {
        ("Shell", specifier) => of_shell(specifier.unwrap_or_default()),
        ("Read", pattern) => path::draft(&RuleOn::Read, pattern.unwrap_or("**"), Slash::Root),
        ("Write", pattern) => path::draft(&RuleOn::Write, pattern.unwrap_or("**"), Slash::Root),
        ("WebFetch", host) => Ok(Draft::about_host(host.unwrap_or("*"))),
        ("Mcp", None) => Ok(Draft::about_mcp(None, None)),
        ("Mcp", Some(names)) => {
            let (server, tool) = names.split_once([':', ',']).unwrap_or((names, "*"));
            Ok(Draft::about_mcp(Some(server.trim()), Some(tool.trim())))
        }
        (tool, _) => Err(format!("`{tool}` is none of Cursor's `Shell`, `Read`, `Write`, `WebFetch` and `Mcp`")),
    }
}

/// Makes a row from a program, or from a program and the beginning of its arguments: `curl`, `npm:install*`, `npm install`.
fn of_shell(specifier: &str) -> Result<Draft, String> {
    let text = specifier.replacen(':', " ", 1);
    let (text, ending) = match text.strip_suffix('*') {
        Some(words) if words.ends_with(' ') => (words, Ending::Words),
        Some(letters) => (letters, Ending::Letters),
        None => (text.as_str(), Ending::Words),
    };
    command::draft(text, ending)
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::import::{Owner, SourceFile};

    #[test]
    fn each_kind_of_permission_becomes_a_row_or_is_named() {
        let text = r#"{"version": 1, "permissions": {"allow": ["Shell(ls)"], "deny":
            ["Shell(rm)", "Shell(curl:*)", "Shell(npm:pub*)", "Read(.env*)", "Write(/etc/**)", "WebFetch(*.evil.com)",
             "Mcp(github:delete_*)", "Fly(moon)"]}}"#;
        let import = read(&[SourceFile::new("cli.json".into(), Owner::Project, text)]).unwrap();
        let rows: Vec<String> = import
            .rows
            .iter()
            .map(|imported| {
                let keys = imported.proposal.row.matchers().map(|(key, values)| format!("{key}={}", values.join(",")));
                keys.collect::<Vec<_>>().join(" ")
            })
            .collect();
        assert_eq!(
            rows,
            [
                "program=rm",
                "program=curl",
                "program=npm args=pub*",
                "path=.env*",
                "path=/etc/**",
                "host=*.evil.com",
                "server=github tool=delete_*"
            ]
        );
        let named: Vec<&str> = import.omissions.iter().map(|omission| omission.written.text.as_str()).collect();
        assert_eq!(named, ["allow Shell(ls)", "deny Fly(moon)"]);
    }
}
