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
    printed(&dry, &["proxied", "my files", "issues: a service", "\"my-files\""]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    person.run(&["install", "claude-code", "--mcp"]).expect(0, &[]);
    let after: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let server = &after["mcpServers"]["my files"];
    assert_eq!(server["command"], hookhost().to_str().unwrap());
    assert_eq!(server["args"], json!(["mcp", "--name", "my-files", "--", "npx", "-y", "x"]));
    printed(&person.run(&["install", "claude-code", "--mcp"]), &["as it is"]);
    printed(&person.run(&["uninstall", "claude-code", "--mcp"]), &["by itself"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn a_file_in_toml_is_edited_as_well() {
    let person = Person::without_agent();
    let file = person.user.path(".codex/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let before = "# mine\n[mcp_servers.files]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\n";
    std::fs::write(&file, before).unwrap();
    printed(&person.run(&["install", "codex", "--mcp"]), &["proxied", "files"]);
    let after = std::fs::read_to_string(&file).unwrap();
    assert!(after.contains(r#"args = ["mcp", "--name", "files", "--", "npx", "-y", "x"]"#), "{after}");
    printed(&person.run(&["uninstall", "codex", "--mcp"]), &["by itself"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn an_agent_whose_file_is_not_known_is_named_with_the_next_step() {
    let person = Person::without_agent();
    person.run(&["install", "pi", "--mcp"]).expect(1, &["hookhost mcp --name NAME --"]);
}
