//! Lists of rules in JSON, as Claude Code and Cursor have them: `{"permissions": {"deny": ["Read(.env)"]}}`.

use crate::import::{Import, SourceFile, Unreadable};
use jsonc_parser::ast::{Array, Object, Value};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

/// The answers of lists.
const LISTS: [&str; 3] = ["deny", "ask", "allow"];

/// A rule in a list.
#[derive(Debug)]
pub(crate) struct ListedRule {
    /// The name of the list.
    pub(crate) list: String,
    /// The rule: `Bash(git push:*)`.
    pub(crate) text: String,
    /// The byte of the file at which the rule begins.
    pub(crate) at: usize,
}

/// Returns the rules of a file. Other keys of `permissions` are omissions.
pub(crate) fn rules(file: &SourceFile, import: &mut Import) -> Result<Vec<ListedRule>, Unreadable> {
    let parsed = parse_to_ast(&file.text, &CollectOptions::default(), &ParseOptions::default());
    let parsed =
        parsed.map_err(|error| file.unreadable(error.range().start, format!("this is no JSON: {}", error.kind())))?;
    let Some(root) = parsed.value else { return Ok(Vec::new()) };
    let mut rules = Vec::new();
    let root = object(file, &root, "the file")?;
    for permissions in root.properties.iter().filter(|property| property.name.as_str() == "permissions") {
        for property in &object(file, &permissions.value, "`permissions`")?.properties {
            let name = property.name.as_str();
            if LISTS.contains(&name) {
                let array = property.value.as_array().ok_or_else(|| {
                    file.unreadable(property.value.start(), format!("`permissions.{name}` is no list of rules"))
                })?;
                add(file, name, array, &mut rules, import);
            } else {
                let written = file.written(property.start(), format!("permissions.{name}"));
                import.omit(written, "it is a setting of the agent and no rule about calls");
            }
        }
    }
    Ok(rules)
}

fn object<'v, 'a>(file: &SourceFile, value: &'v Value<'a>, what: &str) -> Result<&'v Object<'a>, Unreadable> {
    value.as_object().ok_or_else(|| file.unreadable(value.start(), format!("{what} is no object")))
}

fn add(file: &SourceFile, list: &str, array: &Array<'_>, rules: &mut Vec<ListedRule>, import: &mut Import) {
    for element in &array.elements {
        match element.as_string_lit() {
            Some(text) => {
                rules.push(ListedRule {
                    list: list.to_owned(),
                    text: text.value.trim().to_owned(),
                    at: element.start(),
                });
            }
            None => {
                import
                    .omit(file.written(element.start(), format!("an element of permissions.{list}")), "it is no text");
            }
        }
    }
}

/// Splits a rule into the tool and the text in its parentheses. `*` in the parentheses is the same as no parentheses.
pub(crate) fn parts(rule: &str) -> (&str, Option<&str>) {
    match rule.split_once('(') {
        Some((tool, rest)) => match rest.strip_suffix(')') {
            Some("*" | "**") => (tool, None),
            Some(specifier) => (tool, Some(specifier.trim())),
            None => (rule, None),
        },
        None => (rule, None),
    }
}

#[cfg(test)]
mod tests {
    use super::{parts, rules};
    use crate::import::{Import, Owner, SourceFile};

    fn file(text: &str) -> SourceFile {
        SourceFile::new("settings.json".into(), Owner::User, text)
    }

    #[test]
    fn each_rule_has_its_place_and_other_keys_are_named() {
        let file = file(
            "{\n  // mine\n  \"permissions\": {\n    \"deny\": [\"Bash(rm:*)\",\n      7],\n    \"defaultMode\": \"plan\"\n  }\n}",
        );
        let mut import = Import::default();
        let rules = rules(&file, &mut import).unwrap();
        assert_eq!((rules.len(), rules[0].text.as_str(), rules[0].list.as_str()), (1, "Bash(rm:*)", "deny"));
        assert_eq!(file.written(rules[0].at, "").line, 4);
        let named: Vec<String> = import.omissions.iter().map(|omission| omission.written.to_string()).collect();
        assert_eq!(
            named,
            ["settings.json:5: an element of permissions.deny", "settings.json:6: permissions.defaultMode"]
        );
    }

    #[test]
    fn a_broken_file_has_a_position() {
        for (text, at) in [
            ("{\n \"permissions\": [", "2:"),
            ("[]", "1:1: the file is no object"),
            ("{\"permissions\": {\"deny\": {}}}", "1:26: `permissions.deny` is no list"),
        ] {
            let error = rules(&file(text), &mut Import::default()).unwrap_err().to_string();
            assert!(error.contains(&format!("settings.json:{at}")), "{error}");
        }
        assert!(rules(&file(""), &mut Import::default()).unwrap().is_empty());
    }

    #[test]
    fn the_parts_of_a_rule() {
        assert_eq!(parts("Bash(git (x):*)"), ("Bash", Some("git (x):*")));
        assert_eq!(
            [parts("Bash"), parts("Bash(*)"), parts("Bash(")],
            [("Bash", None), ("Bash", None), ("Bash(", None)]
        );
    }
}
