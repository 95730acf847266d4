//! `docs/contract.md`: its table has the facts that there are, and the versions are those of the WIT files.

use crate::guide::{page, section};
use hookhost::contract::FactName;
use regex_lite::Regex;

#[test]
fn the_table_of_facts_has_each_fact_once() {
    let page = page("docs/contract.md");
    let quoted = Regex::new("`([^`]+)`").expect("a pattern");
    let names = section(&page, "## Facts").lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let mut listed: Vec<String> = names
        .flat_map(|names| quoted.captures_iter(&format!("`{names}")).map(|name| name[1].to_owned()).collect::<Vec<_>>())
        .collect();
    let variable = FactName::Variable("NAME".to_owned());
    let mut known: Vec<String> = FactName::ALL.iter().chain([&variable]).map(ToString::to_string).collect();
    listed.sort();
    known.sort();
    assert_eq!(listed, known);
}

#[test]
fn the_table_of_versions_has_each_package() {
    let contract = page("docs/contract.md");
    for version in ["0.1", "0.2"] {
        let package = page(&format!("wit/{version}/capabilities.wit"));
        let package =
            package.lines().find_map(|line| line.strip_prefix("package ")?.strip_suffix(';')).expect("a package");
        assert!(contract.contains(&format!("| {version} | `{package}` |")), "{package}");
    }
}
