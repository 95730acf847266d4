//! Rows as settings of an agent: as its own rules, as far as these say exactly the same.
//!
//! Agents compare the beginning of each simple command. A row also finds `git -C dir push`, and looks through more wrappers. So the
//! exported rules stand beside the rows, and do not replace them.

use crate::claude_code::{EDITING, READING};
use crate::command::shape;
use hookhost_contract::rule::{AnswerKey, RuleExample, RuleOn, RuleRow};
use serde_json::{Value, json};

/// The settings of an agent, and what they lack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The settings, in the agent's format.
    pub text: String,
    /// Number of rows that the settings express.
    pub count: usize,
    /// The rows that the settings do not express: the id, and the reason as the second half of a sentence.
    pub omissions: Vec<(String, String)>,
}

/// Writes rows as settings.
type Exporter = fn(&[RuleRow]) -> Export;

/// Returns the agents whose settings can express rows, with the function that writes them.
#[must_use]
pub fn exporters() -> &'static [(&'static str, Exporter)] {
    &[("claude-code", claude_code), ("codex", codex)]
}

/// Writes `permissions.deny` and `permissions.ask`.
fn claude_code(rows: &[RuleRow]) -> Export {
    let (mut deny, mut ask, mut omissions) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        match answer(row).and_then(|answer| Ok((answer, permissions(row)?))) {
            Ok((AnswerKey::Ask, rules)) => ask.extend(rules),
            Ok((_, rules)) => deny.extend(rules),
            Err(why) => omissions.push((row.id.clone(), why.to_owned())),
        }
    }
    let permissions: serde_json::Map<String, Value> = [("deny", deny), ("ask", ask)]
        .into_iter()
        .filter(|(_, rules)| !rules.is_empty())
        .map(|(key, rules)| (key.to_owned(), json!(rules)))
        .collect();
    let text = serde_json::to_string_pretty(&json!({ "permissions": permissions })).unwrap_or_default() + "\n";
    Export { text, count: rows.len() - omissions.len(), omissions }
}

/// Returns the only answer of a row that an agent's settings have, too.
fn answer(row: &RuleRow) -> Result<AnswerKey, &'static str> {
    if row.observe {
        return Err("it is only observed");
    }
    if row.has_conditions() {
        return Err("the agent's rules have no conditions");
    }
    match row.answers().as_slice() {
        [answer @ (AnswerKey::Reject | AnswerKey::Ask)] => Ok(*answer),
        _ => Err("the agent's rules only deny and ask"),
    }
}

/// Returns the permission rules of Claude Code that say the same as a row.
fn permissions(row: &RuleRow) -> Result<Vec<String>, &'static str> {
    let mut rules = Vec::new();
    for on in row.on.iter() {
        let is_bare = row.matchers().next().is_none();
        match on {
            RuleOn::Shell => {
                let of_program = |program: &String| match program.strip_suffix('*') {
                    Some(letters) => format!("Bash({letters}*)"),
                    None => format!("Bash({program}:*)"),
                };
                rules.extend(programs(row)?.iter().map(of_program));
                rules.extend(is_bare.then(|| "Bash".to_owned()));
            }
            RuleOn::Read if row.tool.is_empty() && !is_bare => rules.extend(paths(row, "Read")?),
            RuleOn::Write if row.tool.is_empty() && !is_bare => rules.extend(paths(row, "Edit")?),
            RuleOn::Mcp => rules.extend(tools_of_servers(row)?),
            RuleOn::Tool(name)
                if is_bare
                    && (EDITING.contains(&&**name) || READING.contains(&&**name) || name.starts_with("mcp__")) =>
            {
                rules.push(name.clone());
            }
            RuleOn::Spawn if is_bare => rules.push("Agent".to_owned()),
            RuleOn::Web => return Err("Claude Code's `WebFetch(domain:…)` does not see requests of commands"),
            _ => return Err("Claude Code has no rule about this"),
        }
    }
    Ok(rules)
}

/// Returns the programs of a row that compares nothing else.
fn programs(row: &RuleRow) -> Result<&[String], &'static str> {
    if row.flags.is_empty() && row.args.is_empty() {
        Ok(&row.program)
    } else {
        Err("the agent compares words in their order, and the rule finds options and operands in any order")
    }
}

fn paths(row: &RuleRow, tool: &str) -> Result<Vec<String>, &'static str> {
    if row.path.iter().any(|path| path.starts_with('!')) {
        return Err("Claude Code's rules have no exceptions");
    }
    let rules = row.path.iter().flat_map(|path| match path.as_str() {
        absolute if absolute.starts_with('/') => vec![format!("{tool}(/{absolute})")],
        below if below.trim_end_matches('/').contains('/') => vec![format!("{tool}({below})")],
        name => vec![format!("{tool}({name})"), format!("{tool}(//**/{name})")],
    });
    Ok(rules.collect())
}

fn tools_of_servers(row: &RuleRow) -> Result<Vec<String>, &'static str> {
    let is_glob = |name: &String| name.contains(['?', '[', '!']);
    if row.server.is_empty()
        || row.server.iter().any(|server| is_glob(server) || server.contains('*'))
        || row.tool.iter().any(is_glob)
    {
        return Err("Claude Code's rules about MCP name one server, and have no exceptions");
    }
    let of_server = |server: &String| match row.tool.is_empty() {
        true => vec![format!("mcp__{server}")],
        false => row.tool.iter().map(|tool| format!("mcp__{server}__{tool}")).collect(),
    };
    Ok(row.server.iter().flat_map(of_server).collect())
}

/// Writes `prefix_rule(…)`.
fn codex(rows: &[RuleRow]) -> Export {
    let (mut text, mut omissions) = (String::new(), Vec::new());
    for row in rows {
        match answer(row).and_then(|answer| prefix_rules(row, answer)) {
            Ok(rules) => text.push_str(&rules),
            Err(why) => omissions.push((row.id.clone(), why.to_owned())),
        }
    }
    Export { text, count: rows.len() - omissions.len(), omissions }
}

fn prefix_rules(row: &RuleRow, answer: AnswerKey) -> Result<String, &'static str> {
    if *row.on != [RuleOn::Shell] {
        return Err("Codex has rules about commands only");
    }
    let programs = programs(row)?;
    if programs.is_empty() || programs.iter().any(|program| program.ends_with('*')) {
        return Err("Codex compares whole words, and a rule names at least one");
    }
    let decision = if answer == AnswerKey::Ask { "prompt" } else { "forbidden" };
    let reason = row.reject.as_ref().or(row.ask.as_ref()).map(String::as_str).unwrap_or_default();
    let reason = if reason.contains('{') { String::new() } else { format!("    justification = {},\n", json!(reason)) };
    let rule = |program: &String| {
        let words: Vec<&str> = program.split(' ').collect();
        let (stops, passes) = (examples(&row.stops, program, true), examples(&row.passes, program, false));
        let list = |key: &str, examples: Vec<&str>| {
            if examples.is_empty() { String::new() } else { format!("    {key} = {},\n", json!(examples)) }
        };
        let (stops, passes) = (list("match", stops), list("not_match", passes));
        format!(
            "# {}\nprefix_rule(\n    pattern = {},\n    decision = \"{decision}\",\n{reason}{stops}{passes})\n",
            row.id,
            json!(words)
        )
    };
    Ok(programs.iter().map(rule).collect())
}

/// Returns the examples that Codex reads in the same way: single commands that begin with the program, or do not.
fn examples<'a>(examples: &'a [RuleExample], program: &str, begins: bool) -> Vec<&'a str> {
    let texts = examples.iter().filter_map(|example| match example {
        RuleExample::Text(text) => Some(text.as_str()),
        RuleExample::Table(_) => None,
    });
    let begins_so =
        |text: &str| text.strip_prefix(program).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    texts.filter(|text| shape(text).is_ok() && begins_so(text) == begins).collect()
}

#[cfg(test)]
mod tests {
    use super::{claude_code, codex};
    use hookhost_contract::rule::RuleRow;
    use serde_json::{Value, json};

    fn row(mut keys: Value) -> RuleRow {
        keys["id"] = "r".into();
        serde_json::from_value(keys).unwrap()
    }

    #[test]
    fn a_row_becomes_the_permission_that_says_the_same() {
        for (keys, list, rules) in [
            (
                json!({ "on": "shell", "program": ["git push", "mkfs*"], "reject": "no" }),
                "deny",
                json!(["Bash(git push:*)", "Bash(mkfs*)"]),
            ),
            (json!({ "on": "shell", "ask": "?" }), "ask", json!(["Bash"])),
            (
                json!({ "on": ["read", "write"], "path": "/etc/x", "reject": "no" }),
                "deny",
                json!(["Read(//etc/x)", "Edit(//etc/x)"]),
            ),
            (
                json!({ "on": "read", "path": [".env", "a/b", "~/.ssh/**"], "reject": "no" }),
                "deny",
                json!(["Read(.env)", "Read(//**/.env)", "Read(a/b)", "Read(~/.ssh/**)"]),
            ),
            (json!({ "on": "mcp", "server": "db", "tool": "drop_*", "ask": "?" }), "ask", json!(["mcp__db__drop_*"])),
        ] {
            let export = claude_code(&[row(keys)]);
            let written: Value = serde_json::from_str(&export.text).unwrap();
            assert_eq!((&written["permissions"][list], export.count), (&rules, 1), "{export:?}");
        }
    }

    #[test]
    fn a_row_that_says_more_is_named() {
        for (keys, part) in [
            (json!({ "on": "shell", "program": "git push", "flags": "-f", "reject": "no" }), "any order"),
            (json!({ "on": "web", "host": "x", "reject": "no" }), "requests of commands"),
            (json!({ "on": "read", "path": [".env*", "!.env.example"], "reject": "no" }), "exceptions"),
            (json!({ "on": "mcp", "tool": "drop", "reject": "no" }), "one server"),
            (json!({ "on": "shell", "note": "n" }), "only deny and ask"),
            (json!({ "on": "shell", "reject": "no", "observe": true }), "observed"),
            (json!({ "on": "shell", "reject": "no", "when": "true" }), "conditions"),
        ] {
            let omissions = claude_code(&[row(keys)]).omissions;
            assert!(omissions[0].1.contains(part), "{omissions:?}");
        }
    }

    #[test]
    fn a_rule_of_codex_has_the_examples_that_it_reads_in_the_same_way() {
        let keys = json!({ "on": "shell", "program": "git push", "reject": "nobody",
            "stops": ["git push x", "cd a && git push"], "passes": ["git pull", "echo 'git push'"] });
        let text = codex(&[row(keys)]).text;
        assert!(
            text.contains(
                "pattern = [\"git\",\"push\"],\n    decision = \"forbidden\",\n    justification = \"nobody\""
            ),
            "{text}"
        );
        assert!(
            text.contains("    match = [\"git push x\"],\n    not_match = [\"git pull\",\"echo 'git push'\"],\n)"),
            "{text}"
        );
        let more = json!({ "on": "shell", "program": "mkfs*", "reject": "no" });
        assert!(codex(&[row(more), row(json!({ "on": "read", "reject": "no" }))]).omissions.len() == 2);
    }
}
