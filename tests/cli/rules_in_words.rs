//! `[[rule]]` tables: from the text in a file to the decision about a call.

use hookhost_tests::{Ended, Entry, User, plugin};
use serde_json::{Value, json};

/// Rules with each answer that a call can get.
const RULES: &str = r#"
[[rule]]
id = "push-force"
on = "shell"
program = "git push"
flags = ["--force", "-f"]
reject = "Nobody rewrites shared history"
instead = "push to a new branch"
stops = ["git push -f origin x", "cd a && sudo git push --force"]
passes = ["git push origin topic", "echo 'git push -f'"]

[[rule]]
id = "no-env"
on = ["read", "write"]
path = [".env*", "!.env.example"]
reject = "{path} holds secrets"
stops = [".env", { command = "cat a/.env.local" }]
passes = [".env.example"]

[[rule]]
id = "apply"
on = "shell"
program = "terraform apply"
ask = "Apply to {program}?"
stops = ["terraform apply"]
passes = ["terraform plan"]

[[rule]]
id = "slow"
on = "shell"
program = "make bench"
change = { command = "nice make bench" }

[[rule]]
id = "seen"
on = "shell"
program = "curl"
note = "a request"
"#;

fn user(rules: &str) -> User {
    let user = User::new();
    user.configure(rules);
    user
}

fn judge(user: &User, command: &str) -> Ended {
    user.run(["dispatch", "--shell", command])
}

/// The payload of a call by Claude Code.
fn call(tool: &str, arguments: &Value) -> Value {
    json!({
        "session": { "agent": "claude-code" },
        "call": { "id": "1", "name": tool, "arguments": arguments },
    })
}

#[test]
fn a_rule_is_in_force_as_soon_as_it_is_in_the_file() {
    let user = user(RULES);
    for (command, code) in [
        ("sudo git push origin -f", 3),
        ("bash -c 'git -C sub push --force'", 3),
        ("cat sub/.env", 3),
        ("cat .env.example", 0),
        ("git push", 0),
        ("curl https://example.com", 0),
    ] {
        let ended = judge(&user, command);
        assert_eq!(ended.code, Some(code), "{command}: {ended:#?}");
    }
    let ended = judge(&user, "terraform apply -auto-approve");
    ended.expect(3, &[]);
    assert!(
        ended.stdout.contains("not approved (asked by the configuration): Apply to terraform apply?"),
        "{ended:#?}"
    );
    let ended = judge(&user, "make bench");
    ended.expect(0, &[]);
    assert!(ended.stdout.contains("nice make bench"), "{ended:#?}");
}

#[test]
fn the_model_reads_the_reason_and_what_to_do_instead() {
    let user = user(RULES);
    let (ended, outcome) = user.dispatch("before-tool-call", &call("Bash", &json!({ "command": "git push -f" })));
    ended.expect(3, &[]);
    let text = outcome.to_string();
    assert!(text.contains("Nobody rewrites shared history. Instead: push to a new branch"), "{text}");
    assert!(text.contains(r#""code":"push-force""#), "{text}");
}

#[test]
fn a_file_is_guarded_against_tools_and_commands_alike() {
    let user = user(RULES);
    for (tool, arguments) in [
        ("Read", json!({ "file_path": "/p/.env" })),
        ("Write", json!({ "file_path": "a/.env.local", "content": "x" })),
        ("Bash", json!({ "command": "echo A=1 >> .env" })),
    ] {
        let (ended, outcome) = user.dispatch("before-tool-call", &call(tool, &arguments));
        assert_eq!(ended.code, Some(3), "{tool}: {outcome}");
    }
    let (ended, _) = user.dispatch("before-tool-call", &call("Read", &json!({ "file_path": ".env.example" })));
    ended.expect(0, &[]);
}

#[test]
fn a_question_of_a_rule_is_the_configurations_and_a_plugin_that_may_approve_waives_it() {
    let approver = json!({ "before-tool-call": { "verdict": "approve", "reason": "fine" } });
    let approver = Entry::all_events("approver", approver)
        .to_toml()
        .replace("[plugin.grants]\n", "[plugin.grants]\napprove = true\n");
    let user = user(&format!("{RULES}\n{approver}"));
    judge(&user, "terraform apply").expect(0, &[]);
    judge(&user, "git push -f").expect(3, &[]);
}

#[test]
fn a_plugin_of_a_project_waives_only_what_rules_of_projects_alone_ask() {
    let user = user(
        "[[rule]]\nid = \"mine\"\non = \"shell\"\nprogram = \"make\"\nask = \"Mine?\"\nstops = [\"make\"]\npasses = [\"ls\"]\n",
    );
    let approver = json!({ "before-tool-call": { "verdict": "approve", "reason": "fine" } });
    let approver = Entry::all_events("approver", approver)
        .to_toml()
        .replace("[plugin.grants]\n", "[plugin.grants]\napprove = true\n");
    user.write("hookhost.toml", format!("[[rule]]\nid = \"theirs\"\non = \"shell\"\nask = \"Theirs?\"\n{approver}"));
    judge(&user, "ls").expect(0, &[]);
    user.run(["trust", "--yes"]).expect(0, &["your own rules still ask you"]);
    judge(&user, "ls").expect(0, &[]);
    let ended = judge(&user, "make");
    ended.expect(3, &[]);
    assert!(ended.stdout.contains("Mine?") && ended.stdout.contains("Theirs?"), "{ended:#?}");
}

#[test]
fn a_file_with_ask_says_what_to_write() {
    let user = user("[[ask]]\nactions = [\"shell\"]\nquestion = \"Run this?\"\n");
    judge(&user, "ls").expect(5, &["hookhost.toml:1:3: `[[ask]]` is now `[[rule]]`: give it an `id`"]);
}

#[test]
fn a_failing_example_names_the_place_and_what_was_read() {
    let user = user(&RULES.replace(r#""git push origin topic""#, r#""git push -uf x""#));
    let ended = judge(&user, "ls");
    ended.expect(5, &["hookhost.toml:10:11: `push-force` stops this example: `-f` is one of its `flags`"]);
    assert!(ended.stderr.contains("^^^^^^^^^^^^^^^^"), "{ended:#?}");
    let user = self::user(&RULES.replace("git push -f origin x", "git push origin x"));
    judge(&user, "ls").expect(5, &["hookhost.toml:9:10: `push-force` does not stop this example", "`git push`"]);
}

#[test]
fn hooks_shows_the_rules_in_force_and_doctor_counts_them() {
    let user = user(RULES);
    let ended = user.run(["hooks"]);
    ended.expect(0, &[]);
    assert!(
        ended.stdout.contains("rule    push-force rejects (shell, program git push, flags --force -f): Nobody"),
        "{ended:#?}"
    );
    assert!(user.run(["doctor"]).stdout.contains("in force here: 5 rules, from"), "doctor");
}

#[test]
fn a_mistake_in_a_project_is_found_before_it_is_approved() {
    let user = user(RULES);
    let project = |text: &str| user.write("hookhost.toml", text);
    project(&RULES[..RULES.find("[[rule]]\nid = \"no-env\"").unwrap()]);
    user.run(["trust", "--yes"]).expect(5, &["the id `push-force` is taken"]);
    project("[[rule]]\nid = 'b'\non = 'shell'\nprogram = 'x'\nreject = 'no'\nstops = ['y']\npasses = ['z']");
    user.run(["trust", "--yes"]).expect(5, &["hookhost.toml:6:10: `b` does not stop this example"]);
    user.run(["check"]).expect(5, &[]);
    project("[[rule]]\nid = 'b'\non = 'shell'\nprogram = 'x'\nreject = 'no'\nstops = ['x']\npasses = ['z']");
    user.run(["check"]).expect(0, &[]);
    user.run(["trust", "--yes"]).expect(0, &["rule b rejects (shell, program x): no"]);
    judge(&user, "x").expect(3, &[]);
    judge(&user, "git push -f").expect(3, &[]);
}

#[test]
fn a_rule_that_is_only_observed_is_recorded_and_has_no_effect() {
    let user = user(&RULES.replace("id = \"push-force\"\n", "id = \"push-force\"\nobserve = true\n"));
    let ended = judge(&user, "git push -f");
    ended.expect(0, &[]);
    assert!(ended.stdout.contains("push-force"), "{ended:#?}");
}

#[test]
fn the_plugin_of_the_rules_is_loaded_as_an_image_and_fits_its_size() {
    let user = user(RULES);
    let hooks: Value = serde_json::from_str(&user.run(["hooks", "--json"]).stdout).unwrap();
    let event = hooks["events"].as_array().unwrap().iter().find(|event| event["event"] == "before-tool-call").unwrap();
    assert_eq!(event["chain"][0]["pre-initialised"], true);
    assert_eq!(hooks["rules"].as_array().unwrap().len(), 5);
    let size = std::fs::metadata(plugin("rules")).unwrap().len();
    assert!(size <= 2_000_000, "{size} bytes");
}
