//! `hookhost install --mcp`: the proxy in the place of an agent's MCP servers.

use super::{Person, printed};
use hookhost_tests::hookhost;
use serde_json::{Value, json};

#[test]
fn the_proxy_takes_the_place_of_each_server_and_gives_it_back() {
    let person = Person::without_agent();
    let file = person.user.path(".claude.json");
    let before = "{\n  \"mcpServers\": {\n    \"my files\": { \"command\": \"npx\", \"args\": [\"-y\", \"x\"] },\n    \"issues\": { \"type\": \"http\", \"url\": \"https://mcp.example.com\" }\n  }\n}\n";
    std::fs::write(&file, before).unwrap();
    let dry = person.run(&["install", "claude-code", "--mcp", "--dry-run"]);
    printed(
        &dry,
        &[
            "✓ my files: hookhost would check its calls\n",
            "? issues: not checked, because it is a service",
            "\"my-files\"",
        ],
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    printed(
        person.run(&["install", "claude-code", "--mcp"]).expect(0, &[]),
        &[
            "✓ my files: hookhost checks its calls from now on\n",
            "  next: restart Claude Code, so that it starts the servers anew\n",
        ],
    );
    let after: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let server = &after["mcpServers"]["my files"];
    assert_eq!(server["command"], hookhost().to_str().unwrap());
    assert_eq!(server["args"], json!(["mcp", "--name", "my-files", "--", "npx", "-y", "x"]));
    printed(&person.run(&["install", "claude-code", "--mcp"]), &["= my files: unchanged\n"]);
    printed(&person.run(&["uninstall", "claude-code", "--mcp"]), &["✓ my files: runs without hookhost again\n"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn what_leads_the_proxy_to_other_rules_is_named_and_a_program_of_its_name_is_no_proxy() {
    let person = Person::without_agent();
    let project = person.user.project();
    std::fs::create_dir_all(project.join(".git")).unwrap();
    let file = project.join(".mcp.json");
    let server = |more: Value| {
        let mut server = json!({ "command": "npx", "args": ["x"] });
        server.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        server
    };
    let fake = json!({ "command": "./tools/hookhost", "args": ["mcp", "--name", "fake", "--", "npx", "x"] });
    let servers = json!({ "mcpServers": {
        "fake": server(fake),
        "rules": server(json!({ "env": { "HOOKHOST_CONFIG_DIR": "evil" } })),
        "home": server(json!({ "env": { "HOME": "evil" } })),
        "own": server(json!({ "env": { "HOME": "${HOME}", "A": "b" } })),
    } });
    std::fs::write(&file, servers.to_string()).unwrap();
    let ended = person.run(&["install", "claude-code", "--mcp", "--project"]);
    printed(
        ended.expect(1, &[]),
        &[
            "rules: not checked, because its variable HOOKHOST_CONFIG_DIR leads hookhost to other rules",
            "home: not checked, because its variable HOME leads",
        ],
    );
    let after: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let program = |name: &str| after["mcpServers"][name]["command"].clone();
    let ours = json!(hookhost().to_str().unwrap());
    assert_eq!((program("fake"), program("own")), (ours.clone(), ours));
    assert_eq!((program("rules"), program("home")), (json!("npx"), json!("npx")));
    // Through a link of a repository no file of the user's is edited.
    std::fs::write(person.user.path("mine.json"), servers.to_string()).unwrap();
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(person.user.path("mine.json"), &file).unwrap();
    person.run(&["install", "claude-code", "--mcp", "--project"]).expect(1, &["outside of"]);
    assert_eq!(std::fs::read_to_string(person.user.path("mine.json")).unwrap(), servers.to_string());
}

#[test]
fn servers_of_the_local_scope_are_behind_the_proxy_too() {
    let person = Person::without_agent();
    let file = person.user.path(".claude.json");
    let local = json!({ "projects": { "/repo": { "mcpServers": { "local": { "command": "npx", "args": ["x"] } } } } });
    std::fs::write(&file, local.to_string()).unwrap();
    printed(&person.run(&["install", "claude-code", "--mcp"]), &["✓ local (in /repo): hookhost checks its calls"]);
    let after: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(after["projects"]["/repo"]["mcpServers"]["local"]["args"][2], "local");
    person.run(&["uninstall", "claude-code", "--mcp"]).expect(0, &[]);
    let back: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(back, local);
}

#[test]
fn a_file_in_toml_is_edited_as_well() {
    let person = Person::without_agent();
    let file = person.user.path(".codex/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let before = "# mine\n[mcp_servers.files]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\n";
    std::fs::write(&file, before).unwrap();
    printed(&person.run(&["install", "codex", "--mcp"]), &["✓ files: hookhost checks its calls"]);
    let after = std::fs::read_to_string(&file).unwrap();
    assert!(after.contains(r#"args = ["mcp", "--name", "files", "--", "npx", "-y", "x"]"#), "{after}");
    printed(&person.run(&["uninstall", "codex", "--mcp"]), &["✓ files: runs without hookhost"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn an_agent_whose_file_is_not_known_is_named_with_the_next_step() {
    let person = Person::without_agent();
    person.run(&["install", "pi", "--mcp"]).expect(1, &["hookhost mcp --name NAME --"]);
}
