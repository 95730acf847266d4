//! The reference of rules, which `hookhost help rules` prints: its rules load, and its tables are those of the program. After a change that
//! is meant, `HOOKHOST_WRITE_GOLDENS=1 cargo test --workspace --test docs rules::` writes the tables.

use crate::guide::{page, root};
use hookhost::contract::rule::RuleOn;
use hookhost_conditions::vocabulary::{FUNCTIONS, NAMES, VARIABLE};
use hookhost_tests::User;

const PAGE: &str = "docs/rules.md";

fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn code(words: impl IntoIterator<Item = impl ToString>) -> String {
    words.into_iter().map(|word| format!("`{}`", word.to_string())).collect::<Vec<_>>().join(", ")
}

/// The tables of the page, by name.
fn tables() -> [(&'static str, String); 3] {
    let words = RuleOn::WORDS.iter().map(|(word, on)| (format!("`{word}`"), on.clone()));
    let tool = ("the name of a tool".to_owned(), RuleOn::Tool(String::new()));
    let on = words.chain([tool]).map(|(word, on)| {
        let none = if on.matchers().is_empty() { "none".to_owned() } else { code(on.matchers()) };
        row(&[word, none, code(on.answers().iter().map(|answer| answer.name()))])
    });
    let names = NAMES.iter().chain([&VARIABLE]).map(|name| {
        let values = if name.values.is_empty() { String::new() } else { format!(": {}", code(name.values)) };
        row(&[format!("`{}`", name.name), name.kind.described().to_owned(), format!("{}{values}", name.doc)])
    });
    let functions = FUNCTIONS.iter().map(|function| {
        row(&[format!("`{}`", function.call), function.returns.described().to_owned(), function.doc.to_owned()])
    });
    [
        ("on", format!("| `on` | matchers | answers |\n|---|---|---|\n{}", on.collect::<String>())),
        ("names", format!("| name | is | meaning |\n|---|---|---|\n{}", names.collect::<String>())),
        ("functions", format!("| function | returns | meaning |\n|---|---|---|\n{}", functions.collect::<String>())),
    ]
}

#[test]
fn the_tables_of_the_reference_are_those_of_the_program() {
    let text = page(PAGE);
    let mut expected = text.clone();
    for (name, table) in tables() {
        let begin = format!("<!-- generated: {name} -->\n");
        let start = expected.find(&begin).expect("the beginning of the table") + begin.len();
        let end = start + expected[start..].find("<!-- end -->").expect("the end of the table");
        expected.replace_range(start..end, &table);
    }
    if std::env::var_os("HOOKHOST_WRITE_GOLDENS").is_some() {
        std::fs::write(root().join(PAGE), &expected).expect("the page");
    } else {
        assert!(text == expected, "{PAGE} differs from the program: write it with HOOKHOST_WRITE_GOLDENS=1");
    }
}

#[test]
fn every_rule_of_the_reference_loads_with_its_examples() {
    let text = page(PAGE);
    let blocks: Vec<&str> =
        text.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
    assert_eq!(blocks.len(), 6, "the rules were not found");
    let user = User::new();
    let config = user.configure(&blocks.join("\n"));
    std::fs::write(config.with_file_name("team.rules.toml"), "").expect("the further file");
    let ended = user.run(["rule", "list"]);
    ended.expect(0, &[]);
    assert_eq!(ended.stdout.matches("hookhost.toml:").count(), 15, "{ended:#?}");
    user.run(["hooks"]).expect(0, &[]);
}

#[test]
fn the_program_prints_the_reference() {
    let printed = User::new().run(["help", "rules"]);
    printed.expect(0, &[]);
    let page: String =
        page(PAGE).lines().filter(|line| !line.starts_with("<!--")).map(|line| format!("{line}\n")).collect();
    assert_eq!(printed.stdout, page);
}
