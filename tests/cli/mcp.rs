//! MCP servers: their tools in a run, and servers that end, hang, answer garbage or list too much.

use crate::hostile;
use hookhost_agent::mcp;
use hookhost_tests::{Ended, Entry, User};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SERVER: &str = env!("CARGO_BIN_EXE_mcp_server");
const BYE: &str = "[[turn]]\ntext = \"Bye.\"\n";

fn call(tool: &str, arguments: &Value) -> String {
    let arguments = arguments.to_string();
    // Inline tables and JSON objects differ in `=` and `:` alone, for these values.
    let arguments = arguments.replace("\":", "\"=");
    format!("[[turn]]\ncall = [{{ tool = \"{tool}\", arguments = {arguments} }}]\n")
}

fn section(mode: &str, more: &str) -> String {
    format!("[mcp.test]\ncommand = {SERVER:?}\nargs = [{mode:?}]\n{more}\n")
}

fn run(user: &User, script: &str) -> Ended {
    user.write("script.toml", script.to_owned() + BYE);
    Ended::of(user.command(["run", "go", "--script", "script.toml"]).env("OPENAI_API_KEY", "sk-hidden"))
}

/// The results of tool calls, from the session: text and whether it is an error.
fn results(user: &User) -> Vec<(String, bool)> {
    let sessions = user.sessions();
    let messages = sessions.iter().flat_map(|session| session["messages"].as_array().into_iter().flatten());
    let result = |message: &Value| {
        (message["role"] == "tool").then(|| {
            (message["text"].as_str().unwrap_or_default().to_owned(), message["is-error"].as_bool().unwrap_or_default())
        })
    };
    messages.filter_map(result).collect()
}

#[test]
fn a_servers_tools_are_called_and_pass_the_events_with_origin_and_action() {
    let user = User::new();
    let guard = json!({
        "before-tool-call": { "when": { "contains": "forbidden" }, "verdict": "reject", "reason": "not {tool}" },
        "after-tool-call": { "when": { "contains": "said" }, "verdict": "replace", "value": "{value}!" },
    });
    user.configure(&(section("good", "") + &Entry::all_events("guard", guard).to_toml()));
    let script = call("mcp__test__say", &json!({ "text": "hello" }))
        + &call("mcp__test__say", &json!({ "text": "forbidden" }))
        + &call("mcp__test__image", &json!({}));
    run(&user, &script).expect(0, &[]);
    let results = results(&user);
    assert_eq!(results[0], ("said hello!".into(), false));
    assert!(results[1].1 && results[1].0.contains("not mcp__test__say"), "{results:?}");
    assert_eq!(results[2], ("[an image, image/png, 4 bytes as base64]".into(), false));
    let records = user.records();
    let asked = records.iter().find(|record| record["event"] == "before-tool-call").unwrap();
    assert_eq!(asked["original"]["origin"], json!({ "mcp": "test" }));
    assert_eq!(asked["original"]["action"], json!({ "mcp": { "server": "test", "tool": "say" } }));
    let image = records.iter().rfind(|record| record["event"] == "after-tool-call").unwrap();
    assert!(image["original"]["tool-result"]["raw"].to_string().contains("AAAA"), "{image}");
}

#[test]
fn a_server_inherits_no_key_and_what_it_started_dies_with_the_run() {
    let user = User::new();
    user.configure(&section("good", "env = { MINE = \"set\" }"));
    let script = call("mcp__test__environment", &json!({ "name": "OPENAI_API_KEY" }))
        + &call("mcp__test__environment", &json!({ "name": "MINE" }))
        + &call("mcp__test__fork", &json!({}));
    user.write("script.toml", script + BYE);
    // Outside, the process numbers are those of the test.
    let mut outside = user.command(["run", "go", "--no-sandbox", "--script", "script.toml"]);
    Ended::of(outside.env("OPENAI_API_KEY", "sk-hidden")).expect(0, &[]);
    let results = results(&user);
    assert_eq!((results[0].0.as_str(), results[1].0.as_str()), ("not there", "set"));
    let child = std::path::Path::new("/proc").join(&results[2].0);
    let patience = Instant::now() + Duration::from_secs(5);
    let runs = || std::fs::read_to_string(child.join("stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while runs() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!runs(), "{} still runs", child.display());
}

#[test]
fn a_server_that_ends_in_a_call_is_reported_and_the_session_continues() {
    let user = User::new();
    user.configure(&section("good", ""));
    let script = call("mcp__test__quit", &json!({})) + &call("mcp__test__say", &json!({ "text": "again" }));
    let ended = run(&user, &script);
    ended.expect(0, &[]);
    let said = "the MCP server test has ended, with exit code 7, saying “I have had enough”: its tools cannot be called \
                any more in this run";
    assert_eq!(results(&user), [(said.to_owned(), true), (said.to_owned(), true)]);
    assert!(ended.stdout.ends_with("Bye.\n"));
}

#[test]
fn a_server_that_cannot_be_used_is_left_out_with_one_sentence() {
    for (section, said) in [
        (
            section("ends", ""),
            "the MCP server test cannot be used: it ended, with exit code 3, saying “no licence was found”",
        ),
        (
            section("silent", "start-seconds = 1"),
            "the MCP server test gave no answer within 1 s (`start-seconds` of [mcp.test])",
        ),
        ("[mcp.test]\ncommand = 'no-such-program-here'\n".into(), "no-such-program-here"),
        ("[mcp.test]\nurl = 'http://127.0.0.1:1/mcp'\n".into(), "the MCP server test cannot be used: "),
        (
            "[mcp.test]\nurl = 'http://127.0.0.1:1/mcp'\nkey-variable = 'NO_SUCH'\n".into(),
            "variable NO_SUCH is not set",
        ),
    ] {
        let user = User::new();
        user.configure(&section);
        let ended = run(&user, "");
        ended.expect(0, &[said, "the run continues without it"]);
        assert_eq!(ended.stdout, "Bye.\n");
    }
}

#[test]
fn garbage_is_skipped_and_ten_thousand_tools_are_cut_off() {
    let user = User::new();
    user.configure(&section("garbage", ""));
    run(&user, &call("mcp__test__say", &json!({ "text": "x" }))).expect(0, &[]);
    assert_eq!(results(&user), [("said x".into(), false)]);

    let user = User::new();
    user.configure(&section("many", ""));
    run(&user, "").expect(0, &["the MCP server test lists more than 128 tools"]);
    user.configure(&section("many", "tools = ['tool-9999']"));
    let listed = user.run(["tools", "--json"]);
    listed.expect(0, &[]);
    assert!(listed.stdout.contains("mcp__test__tool-9999") && !listed.stdout.contains("tool-1"), "{}", listed.stdout);
}

#[test]
fn a_projects_server_does_not_start_before_the_project_is_trusted() {
    let user = User::new();
    let started = user.path("started");
    let section = format!("[mcp.test]\ncommand = {SERVER:?}\nargs = [\"good\", {started:?}]\n");
    user.write("hookhost.toml", &section);
    run(&user, "").expect(0, &["hookhost trust"]);
    assert!(!started.exists(), "it was started");
    user.run(["trust", "--yes"]).expect(0, &[]);
    run(&user, &call("mcp__test__say", &json!({ "text": "now" }))).expect(0, &[]);
    assert!(started.exists());
    // The user's own servers cannot be taken over by a project.
    user.configure(&section);
    let ended = run(&user, "");
    assert_eq!(ended.code, Some(5), "{ended:?}");
}

/// A service on loopback; dropping it ends it.
struct Service(Child, String);

impl Service {
    fn start(mode: &str) -> Self {
        let mut child = Command::new(SERVER).arg(mode).stdout(Stdio::piped()).spawn().expect("the service");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("its address");
        Self(child, line.trim().to_owned())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_service_over_http_is_called_with_its_key_and_the_key_is_written_nowhere() {
    let service = Service::start("http");
    let user = User::new();
    user.configure(&format!("[mcp.test]\nurl = {:?}\nkey-variable = 'TEST_MCP_KEY'\n", service.1));
    user.write("script.toml", call("mcp__test__say", &json!({ "text": "far" })) + BYE);
    let with_key = |key: &str| {
        let mut command = user.command(["run", "go", "--script", "script.toml"]);
        Ended::of(command.env("TEST_MCP_KEY", key))
    };
    let ended = with_key("let-me-in");
    ended.expect(0, &[]);
    assert_eq!(results(&user), [("said far".into(), false)]);
    let wrong = with_key("let-me-out");
    wrong.expect(0, &["the MCP server test cannot be used: "]);
    for key in ["let-me-in", "let-me-out"] {
        assert!(!format!("{ended:?}{wrong:?}{:?}{:?}", user.records(), user.sessions()).contains(key), "{key}");
    }
}

/// The rows of `docs/hostile.md`: how a server misbehaves, and the message about a program and about a service.
fn hostile_rows() -> Vec<[String; 5]> {
    hostile::rows(["MCP server", "what it answers", "at most", "a program", "a service"])
}

#[test]
fn the_page_has_the_bounds_of_what_a_server_answers() {
    let mib = |bytes: usize| format!("{} MiB", bytes >> 20);
    let thousands = |number: usize| format!("{} 000", number / 1_000);
    let found: Vec<_> = hostile_rows().into_iter().map(|[name, _, most, ..]| (name, most)).collect();
    let bound = |name: &str, most: String| (name.to_owned(), most);
    assert_eq!(
        found,
        [
            bound("values", format!("{} values", thousands(mcp::MAX_VALUES))),
            bound("blocks", format!("{} blocks", thousands(mcp::MAX_BLOCKS))),
            bound("large", mib(mcp::MAX_MESSAGE)),
            bound(
                "endless",
                format!("{} of a program, {} of a service", mib(mcp::MAX_PENDING_BYTES), mib(mcp::MAX_MESSAGE))
            ),
            bound("endless-events", mib(mcp::MAX_STREAM)),
            bound("pings", format!("{} requests", thousands(mcp::MAX_UNANSWERED))),
        ]
    );
}

#[test]
fn a_program_that_answers_too_much_is_what_its_row_says_and_is_read_no_further_where_it_has_not_ended_its_message() {
    for [kind, _, _, said, _] in hostile_rows().into_iter().filter(|row| !row[3].is_empty() && row[0] != "pings") {
        let user = User::new();
        // A skipped message is not an answer; that reading stopped is reported, however slow the machine is.
        user.configure(&section("good", if kind == "large" { "call-seconds = 3" } else { "call-seconds = 100" }));
        let script =
            call("mcp__test__flood", &json!({ "kind": kind })) + &call("mcp__test__say", &json!({ "text": "again" }));
        run(&user, &script).expect(0, &[]);
        let results = results(&user);
        assert!(results[0].1 && hostile::says(&said, &results[0].0), "{kind}: {results:?}");
        let goes_on = ["blocks", "large"].contains(&kind.as_str());
        assert_eq!(results[1].0 == "said again", goes_on, "{kind}: {results:?}");
    }
}

#[test]
fn a_service_that_answers_too_much_is_what_its_row_says_and_its_next_answer_counts() {
    for mode in ["http", "http-events"] {
        let service = Service::start(mode);
        let rows = hostile_rows().into_iter().filter(|row| row[0] != "pings");
        let rows: Vec<_> = rows.filter(|row| mode == "http-events" || row[0] != "endless-events").collect();
        let user = User::new();
        user.configure(&format!("[mcp.test]\nurl = {:?}\nkey-variable = 'TEST_MCP_KEY'\n", service.1));
        let flood = |[kind, ..]: &[String; 5]| {
            call("mcp__test__flood", &json!({ "kind": kind })) + &call("mcp__test__say", &json!({ "text": kind }))
        };
        user.write("script.toml", rows.iter().map(flood).collect::<String>() + BYE);
        let mut command = user.command(["run", "go", "--script", "script.toml"]);
        Ended::of(command.env("TEST_MCP_KEY", "let-me-in")).expect(0, &[]);
        let expected = rows.iter().flat_map(|row| [(row[4].clone(), true), (format!("said {}", row[0]), false)]);
        assert_eq!(results(&user), expected.collect::<Vec<_>>(), "{mode}");
    }
}

#[test]
fn a_server_that_asks_and_takes_no_answer_is_what_its_row_says_and_the_others_continue() {
    let service = Service::start("http-events");
    let [_, _, _, program_said, service_said] = hostile_rows().into_iter().find(|row| row[0] == "pings").unwrap();
    let far = format!("[mcp.test]\nurl = {:?}\nkey-variable = 'TEST_MCP_KEY'\ncall-seconds = 100\n", service.1);
    for (section, said) in [(section("good", "call-seconds = 100"), program_said), (far, service_said)] {
        let user = User::new();
        user.configure(&format!("{section}[mcp.other]\ncommand = {SERVER:?}\nargs = ['good']\n"));
        let say = |server: &str| call(&format!("mcp__{server}__say"), &json!({ "text": "again" }));
        let script = call("mcp__test__flood", &json!({ "kind": "pings" })) + &say("test") + &say("other");
        user.write("script.toml", script + BYE);
        let mut command = user.command(["run", "go", "--script", "script.toml"]);
        Ended::of(command.env("TEST_MCP_KEY", "let-me-in")).expect(0, &[]);
        assert_eq!(results(&user), [(said.clone(), true), (said, true), ("said again".into(), false)]);
    }
}

#[test]
fn a_section_that_makes_no_sense_is_refused_before_anything_runs() {
    let user = User::new();
    user.configure("[mcp.test]\ncommand = 'x'\nurl = 'http://y'\n");
    let ended = run(&user, "");
    ended.expect(5, &["[mcp.test] has both `command` and `url`"]);
    user.configure("[mcp.test]\ncomand = 'x'\n");
    run(&user, "").expect(5, &["unknown key `comand`", "did you mean `command`?"]);
}

#[test]
fn a_server_of_a_projects_file_runs_in_that_files_directory_wherever_the_user_is() {
    let user = User::new();
    // Another program under the same relative path, in a directory below.
    for directory in ["", "vendored/"] {
        user.write(&format!("{directory}tools/server.sh"), format!("pwd > \"$OUT\"\nexec {SERVER} good\n"));
    }
    let out = user.project().join("out");
    for (key, expected) in [("", ""), ("cwd = 'tools'\n", "tools")] {
        let script = if key.is_empty() { "tools/server.sh" } else { "server.sh" };
        let text = format!("[mcp.test]\ncommand = 'sh'\nargs = ['{script}']\nenv = {{ OUT = {out:?} }}\n{key}");
        user.write("hookhost.toml", text);
        user.run(["trust", "--yes"]).expect(0, &[]);
        for directory in ["", "vendored"] {
            let ended = Ended::of(user.command(["tools"]).current_dir(user.project().join(directory)));
            ended.expect(0, &[]);
            assert!(ended.stdout.contains("mcp__test__say"), "{ended:?}");
            let ran_in = std::fs::read_to_string(&out).unwrap();
            let project = user.project().canonicalize().unwrap();
            assert_eq!(std::path::Path::new(ran_in.trim()), project.join(expected), "in {directory:?} with {key:?}");
        }
    }
}
