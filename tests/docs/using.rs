//! The pages for users: their TOML is what the engine reads, their tables have every key, their commands run.

use crate::guide::{blocks_of, page, run_commands, section};
use hookhost::config::{Config, Digest, Entry, Grants, Layer, Limits, ModelGrant, Settings, Source, StateGrant};
use hookhost_agent::config::AgentSection;
use hookhost_agent::mcp::McpSection;
use hookhost_models::section::{ModelLimits, ProviderSection};
use hookhost_tests::User;
use regex_lite::Regex;

/// The pages for users, one after the other.
fn pages() -> String {
    ["using", "configuration", "questions", "audit-log", "run-agent"]
        .map(|name| page(&format!("docs/{name}.md")))
        .concat()
}

fn configs() -> Vec<Config> {
    let source = Source::new("/home/me/.config/hookhost/hookhost.toml", Layer::User);
    let source = source.with_home(Some("/home/me".into()));
    let parse = |text: &String| {
        Config::parse(text, &source, &["agent", "agents", "mcp"]).unwrap_or_else(|error| panic!("{error}\n{text}"))
    };
    blocks_of(&pages(), "toml").iter().map(parse).collect()
}

#[test]
fn every_toml_block_is_a_configuration() {
    let configs = configs();
    assert_eq!(configs.len(), 10);
    let agent = configs.iter().find_map(|config| config.section::<AgentSection>("agent").expect("a section"));
    assert_eq!(agent.expect("a block with [agent]").provider.as_deref(), Some("local"));
    let mcp = configs.iter().find_map(|config| config.section::<McpSection>("mcp").expect("a section"));
    assert_eq!(mcp.expect("a block with [mcp]").check(), Ok(()));
}

#[test]
fn the_limits_that_are_called_defaults_are_the_defaults() {
    let configs = configs();
    let entry = configs.iter().flat_map(Config::entries).find(|entry| entry.grants == Grants::default());
    assert_eq!(entry.expect("an entry without grants").limits, Limits::default());
    let shown = pages();
    for (limit, value) in written_limits(&shown) {
        let text = format!(
            "[[plugin]]\nname = 'x'\npath = 'x'\nsha256 = '{}'\n[plugin.limits]\n{limit} = {value}\n",
            "0".repeat(64)
        );
        let config = Config::parse(&text, &Source::new("/x.toml", Layer::User), &[]).expect("a limit");
        let entry = &config.entries()[0];
        let times = |limits: &Limits| (limits.compute(&entry.grants), limits.deadline(&entry.grants));
        assert_eq!(times(&entry.limits), times(&Limits::default()), "{limit}");
        let mut sizes = entry.limits.clone();
        (sizes.compute, sizes.deadline) = (None, None);
        assert_eq!(sizes, Limits::default(), "{limit}");
    }
}

#[test]
fn the_settings_that_are_called_defaults_are_the_defaults_and_all_of_them() {
    let page = pages();
    let block = blocks_of(&page, "toml").into_iter().find(|text| text.contains("[settings]")).expect("a block");
    let config = Config::parse(&block, &Source::new("/x.toml", Layer::User), &[]).expect("settings");
    assert_eq!(config.settings(), &Settings::default());
    let keys = block.lines().filter_map(|line| line.split_once(" = ")).map(|(key, _)| key.replace('-', "_"));
    let debug = format!("{:?}", Settings::default());
    // Each `key: ` but that of the table itself.
    assert_eq!(keys.filter(|key| debug.contains(&format!(" {key}: "))).count(), debug.matches(": ").count() - 1);
}

#[test]
fn the_rules_that_are_shown_ask() {
    let rules: Vec<_> = configs().iter().flat_map(|config| config.rules().to_vec()).collect();
    let questions: Vec<_> = rules.iter().map(|rule| rule.row.ask.as_deref()).collect();
    assert_eq!(questions, [Some("Run {command}?"), Some("Use {tool} of {server}?"), Some("May the tool {tool} run?")]);
}

/// The lines of the block that shows the defaults.
fn written_limits(page: &str) -> Vec<(String, String)> {
    let block = blocks_of(page, "toml").into_iter().find(|text| text.contains("[plugin.limits]")).expect("a block");
    let lines = block.lines().skip_while(|line| *line != "[plugin.limits]").skip(1);
    let pairs: Vec<_> =
        lines.filter_map(|line| line.split_once(" = ")).map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
    assert_eq!(pairs.len(), 13, "every limit is shown");
    pairs
}

#[test]
fn every_key_of_the_file_is_in_a_table_and_no_other() {
    let mut entry = Entry::new("x", "x", Digest::of_bytes(b""));
    entry.grants.state = Some(StateGrant::default());
    entry.grants.model = Some(ModelGrant::new(""));
    let [settings, agent] = [format!("{:?}", Settings::default()), format!("{:?}", AgentSection::default())];
    let mcp: McpSection = toml::from_str("[x]\ncommand = 'x'").expect("a section");
    let servers = mcp.servers.values().map(|server| format!("{server:?}")).collect::<String>();
    let (provider, limits) = (ProviderSection::default(), ModelLimits::default());
    let debug = format!("{entry:?} {settings} {agent} {servers} {provider:?} {limits:?}");
    let fields = Regex::new(r"(?:\{|,) (\w+): ").expect("a pattern");
    let page = pages();
    for found in fields.captures_iter(&debug) {
        let key = found[1].replace('_', "-");
        let key = match key.as_str() {
            "origin" | "code" | "description" | "judges-rows" => continue,
            "digest" => "sha256",
            key => key,
        };
        assert!(page.contains(&format!("`{key}`")), "`{key}` is not in the guide");
    }
    // Rows that begin with keys in backquotes: each is a key still.
    let first_cells = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    for key in first_cells.flat_map(|cell| cell.split(", ")).map(|key| key.trim_matches('`').replace('-', "_")) {
        let known = key == "sha256" || debug.contains(&format!(" {key}: "));
        assert!(known, "`{key}` is in the guide and is no key");
    }
}

#[test]
fn the_skill_that_is_shown_is_one() {
    let user = User::new();
    let skills = blocks_of(&pages(), "markdown");
    let [skill] = skills.as_slice() else { panic!("{skills:?}") };
    user.write(".agents/skills/release/SKILL.md", skill);
    user.write("script.toml", "[[turn]]\ntext = \"Bye.\"\n");
    let ended = user.run(["run", "go", "--script", "script.toml"]);
    ended.expect(0, &["skills: release\n"]);
    assert!(!ended.stderr.contains("is no skill"), "{ended:?}");
}

#[test]
fn every_command_runs() {
    let user = User::new();
    let printed = run_commands(&user, &pages(), &["path-guard", "shell-guard", "token-budget"]);
    assert!(printed.contains("runs:\n  cargo check --target-dir target-shared && ls\n"), "{printed}");
    assert!(
        printed.contains("\n  git push -f origin main\n  ^^^^^^^") && printed.contains("exit code 3\n"),
        "{printed}"
    );
}

#[test]
fn the_page_names_what_is_hidden_by_default() {
    let page = pages();
    let listed = section(&page, "## What tools start");
    for pattern in hookhost_agent::config::HIDDEN_BY_DEFAULT {
        assert!(listed.contains(&format!("`{pattern}`")), "{pattern}");
    }
}
