//! The policies of Gemini CLI: `[[rule]]` tables in TOML (google-gemini/gemini-cli, the page "policy engine"). Of several rules,
//! the one with the highest priority decides, and the user's come before a project's. A row has no priority, so a row is stricter where a
//! milder rule comes first.

use crate::command::{self, Ending, joined};
use crate::draft::{ALLOWS, Answer, Decision, Draft, Source};
use crate::expression::texts;
use crate::import::{Import, Owner, SourceFile, Unreadable, Written};
use hookhost_contract::rule::RuleOn;
use toml_edit::{Document, Item, Table, Value};

const SOURCE: Source = Source { name: "gemini-cli", title: "Gemini CLI" };

/// The tool that runs commands.
const SHELL: &str = "run_shell_command";

/// The keys of a rule that rows have a counterpart for, or that do not matter for a rejection or a question.
const KEYS: [&str; 10] = [
    "toolName",
    "mcpName",
    "commandPrefix",
    "commandRegex",
    "argsPattern",
    "decision",
    "priority",
    "denyMessage",
    "allowRedirection",
    "modes",
];

/// A rule.
struct Policy {
    tools: Vec<String>,
    server: Option<String>,
    prefixes: Vec<String>,
    expression: Option<String>,
    arguments: Option<String>,
    decision: String,
    reason: Option<String>,
    /// The rank of the file's owner, and the priority in the file.
    priority: (u8, i64),
    /// The key that no row can express.
    unknown: Option<String>,
    written: Written,
}

pub(crate) fn read(files: &[SourceFile]) -> Result<Import, Unreadable> {
    let mut import = Import::default();
    let mut policies = Vec::new();
    for file in files {
        policies.extend(of_file(file, &mut import)?);
    }
    for policy in &policies {
        let answer = match policy.decision.as_str() {
            "deny" => Answer::Reject,
            "ask_user" => Answer::Ask,
            "allow" => {
                import.omit(policy.written.clone(), ALLOWS);
                continue;
            }
            other => {
                import.omit(policy.written.clone(), format!("its decision `{other}` is unknown"));
                continue;
            }
        };
        match policy.drafts() {
            Ok(drafts) => {
                for mut draft in drafts {
                    if let Some(milder) = policies.iter().find(|other| other.comes_before(policy)) {
                        draft.differs(format!(
                            "stricter: the rule at line {} decides some of these calls first",
                            milder.written.line
                        ));
                    }
                    let decision = Decision { answer, reason: policy.reason.as_deref() };
                    draft.add_to(&mut import, SOURCE, &policy.name(), &decision, policy.written.clone());
                }
            }
            Err(why) => import.omit(policy.written.clone(), why),
        }
    }
    Ok(import)
}

/// Reads the rules of a file. Other tables are omissions.
fn of_file(file: &SourceFile, import: &mut Import) -> Result<Vec<Policy>, Unreadable> {
    let document = Document::parse(file.text.as_str()).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        file.unreadable(at, error.message())
    })?;
    let mut policies = Vec::new();
    for (key, item) in document.iter() {
        let at = item.span().map_or(0, |span| span.start);
        match item.as_array_of_tables().filter(|_| key == "rule") {
            Some(tables) => policies.extend(tables.iter().map(|table| Policy::of(file, table))),
            None => import.omit(file.written(at, key), "it is no `[[rule]]` table"),
        }
    }
    Ok(policies)
}

impl Policy {
    fn of(file: &SourceFile, table: &Table) -> Self {
        let text = |key: &str| table.get(key).and_then(Item::as_str).map(str::to_owned);
        let list = |key: &str| match table.get(key) {
            Some(Item::Value(Value::Array(values))) => {
                values.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            _ => text(key).into_iter().collect(),
        };
        let is_unknown = |(key, item): &(&str, &Item)| match *key {
            // Without a mode, a rule applies in each of them.
            "modes" => item.as_array().is_none_or(|modes| !modes.is_empty()),
            key => !KEYS.contains(&key),
        };
        let rank = if file.owner == Owner::User { 1 } else { 0 };
        let at = table.span().map_or(0, |span| span.start);
        let keys = table.iter().map(|(key, item)| format!("{key} = {}", item.to_string().trim()));
        Self {
            tools: list("toolName"),
            server: text("mcpName"),
            prefixes: list("commandPrefix"),
            expression: text("commandRegex"),
            arguments: text("argsPattern"),
            decision: text("decision").unwrap_or_default(),
            reason: text("denyMessage"),
            priority: (rank, table.get("priority").and_then(Item::as_integer).unwrap_or(0)),
            unknown: table.iter().find(is_unknown).map(|(key, _)| key.to_owned()),
            written: file.written(at, keys.collect::<Vec<_>>().join(", ")),
        }
    }

    /// Returns the words of the rule for an id.
    fn name(&self) -> String {
        let words = [self.tools.first(), self.server.as_ref(), self.prefixes.first(), self.expression.as_ref()];
        words.into_iter().flatten().filter(|word| *word != SHELL).cloned().collect::<Vec<_>>().join(" ")
    }

    fn is_of_shell(&self) -> bool {
        let names_shell = self.tools.iter().all(|tool| tool == SHELL);
        self.server.is_none()
            && names_shell
            && (!self.tools.is_empty() || !self.prefixes.is_empty() || self.expression.is_some())
    }

    /// Returns true if this rule is milder, decides first, and may be about the same calls.
    fn comes_before(&self, other: &Self) -> bool {
        let rank = |policy: &Self| match policy.decision.as_str() {
            "allow" => 0,
            "ask_user" => 1,
            _ => 2,
        };
        let may_share = || {
            let is_any = |policy: &Self| {
                policy.tools.iter().any(|tool| tool.contains('*'))
                    || (policy.tools.is_empty() && policy.server.is_none())
            };
            let shares_tool = self.tools.iter().any(|tool| other.tools.contains(tool));
            let shares_server =
                self.server.is_some() && (self.server == other.server || self.server.as_deref() == Some("*"));
            match (self.is_of_shell(), other.is_of_shell()) {
                (true, true) if !self.prefixes.is_empty() && !other.prefixes.is_empty() => {
                    self.prefixes.iter().any(|one| {
                        other.prefixes.iter().any(|two| one.starts_with(two.as_str()) || two.starts_with(one.as_str()))
                    })
                }
                (true, true) => true,
                (one, two) if one != two => is_any(self) && !one || is_any(other) && !two,
                _ => shares_tool || shares_server || is_any(self) || is_any(other),
            }
        };
        rank(self) < rank(other) && self.priority > other.priority && may_share()
    }

    fn drafts(&self) -> Result<Vec<Draft>, String> {
        if let Some(key) = &self.unknown {
            return Err(format!("it holds only under its `{key}`, which a rule cannot compare for Gemini CLI"));
        }
        if self.arguments.is_some() {
            return Err("no matcher is about arguments as JSON: write it with `path`, `host`, `program`, or `arguments` in `when`".to_owned());
        }
        if self.is_of_shell() {
            return self.of_shell();
        }
        if !self.prefixes.is_empty() || self.expression.is_some() {
            return Err("its command belongs to a tool other than `run_shell_command`".to_owned());
        }
        if let Some(server) = &self.server {
            let tools = if self.tools.is_empty() { vec!["*"] } else { self.tools.iter().map(String::as_str).collect() };
            return Ok(tools.into_iter().map(|tool| Draft::about_mcp(Some(server), Some(tool))).collect());
        }
        if self.tools.is_empty() {
            return Err("it names no tool".to_owned());
        }
        self.tools.iter().map(|tool| of_tool(tool)).collect()
    }

    fn of_shell(&self) -> Result<Vec<Draft>, String> {
        let mut drafts = Vec::new();
        for prefix in &self.prefixes {
            let ending = if prefix.ends_with('*') { Ending::Letters } else { Ending::Words };
            drafts.push(command::draft(prefix.trim_end_matches('*'), ending)?);
        }
        if let Some(expression) = &self.expression {
            let found =
                texts(expression).ok_or("its expression is more than literal texts, and a rule compares words")?;
            for text in found.texts {
                let mut draft = command::draft(&text.replace('*', " "), Ending::Words)?;
                draft.differs("narrower: the end of the expression is the end of a word");
                drafts.push(draft);
            }
        }
        if drafts.is_empty() {
            drafts.push(Draft::about([RuleOn::Shell]));
        }
        Ok(joined(drafts.clone()).map_or(drafts, |draft| vec![draft]))
    }
}

/// Makes a row about a tool, or about the tools of a server: `mcp_SERVER_TOOL`.
fn of_tool(tool: &str) -> Result<Draft, String> {
    match tool.strip_prefix("mcp_") {
        Some("*") => Ok(Draft::about_mcp(None, None)),
        Some(name) => {
            let (server, tool) = name.split_once('_').ok_or("its name has no tool: `mcp_SERVER_TOOL`")?;
            Ok(Draft::about_mcp(Some(server), Some(tool)))
        }
        None if tool == "*" => Err("a rule about all tools would stop everything that the agent does".to_owned()),
        None => Ok(Draft::about_tools([tool])),
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::import::{Import, Owner, SourceFile};

    fn import(text: &str) -> Import {
        read(&[SourceFile::new("mine.toml".into(), Owner::User, text)]).unwrap()
    }

    fn rule(keys: &str, decision: &str) -> String {
        format!("[[rule]]\n{keys}\ndecision = \"{decision}\"\npriority = 100\n")
    }

    #[test]
    fn each_kind_of_rule_becomes_the_row_that_says_the_same() {
        for (keys, row) in [
            ("toolName = 'run_shell_command'\ncommandPrefix = 'git push'", "shell program=git push"),
            ("commandPrefix = ['npm publish', 'yarn publish']", "shell program=npm publish,yarn publish"),
            ("toolName = 'run_shell_command'\ncommandRegex = 'git (commit|push)'", "shell program=git commit,git push"),
            ("toolName = 'run_shell_command'", "shell"),
            ("toolName = 'write_file'", "write_file"),
            ("mcpName = 'github'", "mcp server=github"),
            ("mcpName = 'github'\ntoolName = 'delete_*'", "mcp server=github tool=delete_*"),
            ("mcpName = '*'", "mcp"),
            ("toolName = 'mcp_github_drop'", "mcp server=github tool=drop"),
            ("toolName = 'mcp_*_drop'", "mcp tool=drop"),
        ] {
            let import = import(&rule(keys, "deny"));
            let found = import.rows.first().unwrap_or_else(|| panic!("{keys}: {:?}", import.omissions));
            let found = &found.proposal.row;
            let matchers: String =
                found.matchers().map(|(key, values)| format!(" {key}={}", values.join(","))).collect();
            assert_eq!(format!("{}{matchers}", found.on[0].name()), row, "{keys}");
        }
    }

    #[test]
    fn a_milder_rule_that_decides_first_makes_the_row_stricter_and_is_named() {
        let deny = rule("toolName = 'run_shell_command'", "deny");
        let first = |prefix: &str, priority: u32| {
            format!("[[rule]]\ncommandPrefix = '{prefix}'\ndecision = 'allow'\npriority = {priority}\n{deny}")
        };
        assert!(import(&first("git", 200)).rows[0].differences[0].contains("the rule at line 1 decides"));
        assert!(import(&first("git", 50)).rows[0].differences.is_empty());
        let other = format!("{}{}", first("git", 200), rule("commandPrefix = 'rm'", "deny"));
        assert!(import(&other).rows[1].differences.is_empty());
    }

    #[test]
    fn what_a_row_cannot_say_is_named_with_its_reason() {
        let text = [
            rule("toolName = 'write_file'\nmodes = ['plan']", "deny"),
            rule("toolName = 'write_file'\nargsPattern = 'env'", "deny"),
            rule("toolName = '*'", "deny"),
            rule("toolName = 'x'\nsubagent = 'y'", "deny"),
            rule("toolName = 'run_shell_command'\ncommandRegex = '[a-z]+'", "ask_user"),
            rule("toolName = 'x'", "perhaps"),
            rule("commandPrefix = 'ls'", "allow"),
            "[[safety_checker]]\nname = 'x'\n".to_owned(),
        ];
        let import = import(&text.concat());
        assert_eq!((import.omissions.len(), import.rows.len()), (text.len(), 0), "{import:?}");
        let unreadable = read(&[SourceFile::new("p.toml".into(), Owner::User, "a = 1\n[[rule]\n")]);
        assert!(unreadable.unwrap_err().to_string().starts_with("p.toml:2:"));
    }
}
