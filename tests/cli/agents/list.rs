//! `hookhost agents`: the agents that are here.

use super::{Person, printed};
use serde_json::{Value, json};

#[test]
fn agents_that_are_here_are_listed_with_what_is_known_of_them() {
    let person = Person::without_agent();
    let nobody = person.run(&["agents"]);
    printed(
        &nobody,
        &[
            "No agent is found on this machine: none of their programs is on the PATH.\nhookhost looks for acs, agentgateway, ",
            ".\nTo prepare for an agent that comes later: hookhost on --agent AGENT\n",
        ],
    );
    let person = Person::new("2.1.330");
    let ended = person.run(&["agents"]);
    let program = person.user.path("bin/claude");
    assert_eq!(
        ended.expect(0, &[]).stdout,
        "Claude Code 2.1.330 (claude-code)\n  hook      not installed\n  last call none yet\n  next: hookhost on --agent claude-code\n"
    );
    printed(
        &person.run(&["agents", "--verbose"]),
        &[&format!("  place     {}\n", program.display()), "  Claude Code will ask hookhost before: ", "  Limit: "],
    );
    person.run(&["install", "claude-code"]).expect(0, &[]);
    person.run(&["install", "claude-code", "--project"]).expect(0, &[]);
    let _ = person.run(&["doctor", "--prove"]);
    let payload = json!({
        "call": { "id": "1", "name": "Bash", "arguments": { "command": "ls" } }, "session": { "agent": "claude-code" },
    });
    let file = person.user.write("call.json", payload.to_string());
    person.run(&["dispatch", "before-tool-call", "--payload", &file.to_string_lossy()]).expect(0, &[]);
    let ended = person.run(&["agents"]);
    printed(
        &ended,
        &[
            "  hook      in your settings and this project\n",
            "  tested    on 20",
            ": it denied a forbidden call\n",
            "  last call 20",
            " (before-tool-call)\n",
            "  It will not ask before: files that you name with @.\n",
        ],
    );
    let object: Value = serde_json::from_str(&person.run(&["agents", "--json"]).stdout).unwrap();
    let agent = &object["agents"][0];
    assert_eq!(agent["program"], json!(program));
    assert_eq!(
        (&agent["installed"], &agent["last-event"]["event"]),
        (&json!(["user", "project"]), &json!("before-tool-call"))
    );
    assert!(agent["proven"].is_u64(), "{agent}");
    assert_eq!(agent["unseen"], json!(["files that you name with @"]));
    assert!(!ended.stdout.contains("  next:"), "{ended:#?}");
    // The proof was of the file as it was.
    person.write(&format!("{}\n", person.read()));
    let ended = person.run(&["agents"]);
    printed(&ended, &["settings.json has changed since\n", "  next: hookhost doctor claude-code --prove\n"]);
    let object: Value = serde_json::from_str(&person.run(&["agents", "--json"]).stdout).unwrap();
    assert_eq!(object["agents"][0]["proven"], Value::Null);
}
