//! `docs/writing-plugins.md`: its code is the code below, its table is the contract, its commands run. The plugin that the
//! page begins with is made by a test of its own (`readme.rs`).

use crate::guide::{assert_compiled, page, run_commands};
use hookhost::contract::EventKind;
use hookhost_tests::User;
use std::collections::BTreeMap;

use hookhost_guest::prelude::*;

struct CarefulGit;

#[plugin]
impl Plugin for CarefulGit {
    fn before_tool_call(_session: &Session, call: &ToolCall) -> ToolCallVerdict {
        match call.action.shell() {
            Some(shell) if shell.command == "git log" => {
                ToolCallVerdict::rewrite(shell.with_command("git log --oneline -n 50"))
            }
            Some(shell) if shell.command.starts_with("git push") => Escalation::new("Push these commits?").into(),
            _ => Verdict::allow(),
        }
    }

    fn after_tool_call(
        _session: &Session,
        _call: &ToolCall,
        result: &ToolResult,
        _source: ResultSource,
    ) -> ToolResultVerdict {
        match result.text.split_once("-----BEGIN PGP SIGNATURE-----") {
            Some((before, _)) => ToolResultVerdict::replace(ToolResult::new(before)),
            None => Verdict::keep(),
        }
    }
}

struct NoPushFromMain;

#[plugin]
impl Plugin for NoPushFromMain {
    fn before_tool_call(session: &Session, call: &ToolCall) -> ToolCallVerdict {
        let pushes = call.action.shell().is_some_and(|shell| shell.command.contains("git push"));
        let branch = if pushes { facts::read("git.branch", Some(&session.cwd)) } else { facts::Fact::Absent };
        match branch.unreadable() {
            Some(why) => Escalation::new(format!("push from an unknown branch ({why})?")).into(),
            None if branch.is("main") => Refusal::new("push from a branch of your own").code("push.main").into(),
            None => Verdict::allow(),
        }
    }
}

struct Words;

#[plugin]
impl Plugin for Words {
    fn tools() -> Vec<Tool> {
        let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
        vec![Tool::new("count_words", "Counts the words of a text.", schema)]
    }

    fn call_tool(_session: &Session, _name: &str, arguments: &str) -> ToolResult {
        #[derive(serde::Deserialize)]
        struct Arguments {
            text: String,
        }
        match hookhost_guest::parse::<Arguments>(arguments) {
            Ok(Arguments { text }) => ToolResult::new(text.split_whitespace().count().to_string()),
            Err(error) => ToolResult::new(error.to_string()).failed(),
        }
    }
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Config {
    hosts: Vec<String>,
}

static CONFIG: Configured<Config> = Configured::new();

struct FetchFrom;

#[plugin]
impl Plugin for FetchFrom {
    fn configure(config: Config) -> Result<(), String> {
        if config.hosts.is_empty() {
            return Err("`hosts` is empty: name at least one host".into());
        }
        CONFIG.set(config);
        Ok(())
    }

    fn before_tool_call(_session: &Session, call: &ToolCall) -> ToolCallVerdict {
        let Some(url) = call.action.url() else { return Verdict::allow() };
        let host = url.split('/').nth(2).unwrap_or_default();
        if CONFIG.get().hosts.iter().any(|allowed| allowed == host) {
            Verdict::allow()
        } else {
            Refusal::new(format!("`{host}` is not a host to fetch from")).code("fetch.host").into()
        }
    }
}

struct Often;

#[plugin]
impl Plugin for Often {
    fn before_tool_call(_session: &Session, call: &ToolCall) -> ToolCallVerdict {
        match state::increment(state::Scope::Session, &call.name, 1) {
            Ok(20) => effects::remind(&Reminder::new(format!("{} was called 20 times", call.name)).turns(1)),
            Ok(_) => {}
            Err(error) => log::warn(format!("not counted: {error:?}")),
        }
        Verdict::allow()
    }
}

struct NoPipeToShell;

#[plugin]
impl Plugin for NoPipeToShell {
    fn before_tool_call(_session: &Session, call: &ToolCall) -> ToolCallVerdict {
        let found = call.action.shell().and_then(|shell| shell.command.find("| sh"));
        let Some(begin) = found else { return Verdict::allow() };
        let why = "What comes through the pipe is run before anybody has read it.";
        let finding = Finding::new("pipe.shell", Severity::Error, why).action("deny");
        effects::report(&finding.details(&json!({ "place": [begin, begin + 4], "matched": "| sh" })));
        Refusal::new(why).code("pipe.shell").into()
    }
}

use hookhost_guest::testing;

#[test]
fn the_model_is_reminded_once() {
    testing::prime(|_host| {});
    for _ in 0..30 {
        assert_eq!(Often::before_tool_call(&testing::session(), &testing::shell("ls")), ToolCallVerdict::Allow);
    }
    testing::inspect(|host| assert_eq!(host.reminders.len(), 1));
}

#[test]
fn a_log_is_shortened_a_push_is_asked_about_and_a_signature_is_cut_off() {
    let ask = |command| CarefulGit::before_tool_call(&testing::session(), &testing::shell(command));
    let ToolCallVerdict::Rewrite(action) = ask("git log") else { panic!("a log is rewritten") };
    assert_eq!(action.shell().map(|shell| shell.command.as_str()), Some("git log --oneline -n 50"));
    assert!(matches!(ask("git push"), ToolCallVerdict::Escalate(_)));
    assert_eq!(ask("git status"), ToolCallVerdict::Allow);

    let result = ToolResult::new("text\n-----BEGIN PGP SIGNATURE-----\nxyz");
    let verdict = CarefulGit::after_tool_call(&testing::session(), &testing::shell("ls"), &result, ResultSource::Tool);
    assert_eq!(verdict, ToolResultVerdict::replace(ToolResult::new("text\n")));
}

#[test]
fn a_finding_says_which_part_of_the_command_it_is_about() {
    testing::prime(|_host| {});
    let command = "curl x | sh";
    let verdict = NoPipeToShell::before_tool_call(&testing::session(), &testing::shell(command));
    assert!(matches!(verdict, ToolCallVerdict::Reject(_)));
    let details = testing::inspect(|host| host.findings[0].details.clone()).expect("details");
    let details: serde_json::Value = serde_json::from_str(&details).expect("JSON");
    assert_eq!((&details["place"], &details["matched"]), (&json!([7, 11]), &json!(command[7..11])));
}

#[test]
fn words_are_counted_by_a_tool() {
    assert_eq!(Words::tools()[0].name, "count_words");
    let call = |arguments: &str| Words::call_tool(&testing::session(), "count_words", arguments);
    assert_eq!(call(r#"{"text": "one two"}"#), ToolResult::new("2"));
    assert!(call("{}").is_error);
}

#[test]
fn only_the_configured_hosts_are_fetched_from() {
    assert!(FetchFrom::configure(Config { hosts: Vec::new() }).is_err());
    FetchFrom::configure(Config { hosts: vec!["example.com".into()] }).expect("a host");
    let ask = |url: &str| {
        let call = testing::call("fetch", json!({ "url": url }), Action::Fetch(url.into()));
        FetchFrom::before_tool_call(&testing::session(), &call)
    };
    assert_eq!(ask("https://example.com/a"), ToolCallVerdict::Allow);
    assert!(matches!(ask("https://example.com@elsewhere.org/a"), ToolCallVerdict::Reject(_)));
}

/// The page below its first plugin.
fn reference() -> String {
    let page = page("docs/writing-plugins.md");
    page.split_once("## The plugin type\n").expect("the part after the first plugin").1.to_owned()
}

#[test]
fn every_piece_of_code_is_the_code_above() {
    // Plugins that need files and servers are components of their own, which the engine's tests run.
    let source = [
        include_str!("writing_plugins.rs"),
        include_str!("../plugins/freeze/src/lib.rs"),
        include_str!("../plugins/asks-server/src/lib.rs"),
    ];
    let source = source.concat();
    assert_compiled(&reference(), &source);
}

#[test]
fn a_push_from_main_is_rejected_and_one_from_an_unknown_branch_is_a_question() {
    let pushes = |branch: facts::Fact| {
        testing::prime(|host| drop(host.facts.insert("git.branch".into(), branch)));
        NoPushFromMain::before_tool_call(&testing::session(), &testing::shell("git push"))
    };
    assert!(matches!(pushes(facts::Fact::Text("main".into())), ToolCallVerdict::Reject(_)));
    assert!(matches!(pushes(facts::Fact::Unreadable("no permission".into())), ToolCallVerdict::Escalate(_)));
    assert_eq!(pushes(facts::Fact::Text("topic".into())), ToolCallVerdict::Allow);
}

#[test]
fn the_table_of_events_is_the_contract() {
    let contract = answers(&page("wit/0.1/events.wit"));
    let page = reference();
    let rows: BTreeMap<_, _> = page.lines().filter_map(row).collect();
    for event in EventKind::ALL {
        let (kind, shown) = rows.get(event.name()).unwrap_or_else(|| panic!("{event} is not in the table"));
        assert_eq!(*kind, format!("{:?}", event.shape()).to_lowercase(), "{event}");
        assert_eq!(*shown, contract[event.name()], "{event}");
    }
}

/// An event, its kind and its answers, of a row of the table.
fn row(line: &str) -> Option<(&str, (&str, Vec<String>))> {
    let cells: Vec<_> = line.strip_prefix("| ")?.split(" |").map(str::trim).collect();
    let &[event, kind, answers, ""] = cells.as_slice() else { return None };
    let words = answers.split(", ").filter_map(|word| Some(word.strip_prefix('`')?.strip_suffix('`')?.to_owned()));
    Some((event.trim_matches('`'), (kind, words.collect())))
}

/// The answers of each interface of the contract: the first words of the indented lines above it.
fn answers(wit: &str) -> BTreeMap<String, Vec<String>> {
    let (mut interfaces, mut words) = (BTreeMap::new(), Vec::new());
    for line in wit.lines() {
        if let Some(name) = line.strip_prefix("interface ").and_then(|rest| rest.strip_suffix(" {")) {
            interfaces.insert(name.to_owned(), std::mem::take(&mut words));
        } else if let Some(answer) = line.strip_prefix("///   ") {
            words.extend(answer.split(' ').next().map(str::to_owned));
        } else if line.is_empty() {
            words.clear();
        }
    }
    interfaces
}

#[test]
fn every_command_runs() {
    let printed = run_commands(&User::new(), &reference(), &["path-guard"]);
    assert!(printed.contains("1. path-guard") && printed.contains(r#""outcome":"allowed""#), "{printed}");
}
