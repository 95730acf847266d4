//! Checks the keys of a row, without looking at its examples.

use crate::answer::{NAMES, names};
use crate::paths;
use hookhost_conditions::glob::Glob;
use hookhost_conditions::vocabulary;
use hookhost_contract::rule::{MAX_LABEL, MAX_WILDCARDS, Mistake, OneOrMany, RuleOn, RuleRow, is_label};
use std::ops::Range;

/// A mistake in a row.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) key: String,
    pub(crate) part: Option<Range<usize>>,
    pub(crate) message: String,
}

impl Wrong {
    pub(crate) fn at(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), part: None, message: message.into() }
    }

    /// Returns the mistake with the number of its row.
    pub(crate) fn in_row(self, row: usize) -> Mistake {
        let Self { key, part, message } = self;
        Mistake { row, key, part, message }
    }
}

/// Returns all mistakes in the keys of a row.
pub(crate) fn mistakes(row: &RuleRow) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    for (key, values) in row.matchers() {
        for (at, value) in values.iter().enumerate() {
            wrong.extend(mistake(key, value).map(|message| Wrong::at(format!("{key}.{at}"), message)));
        }
        let is_excepted = |value: &String| value.starts_with('!') || values.contains(&format!("!{value}"));
        if values.iter().any(|value| !value.starts_with('!')) && values.iter().all(is_excepted) {
            wrong.push(Wrong::at(key, "the rule can never match, because each pattern is also an exception"));
        }
    }
    for (at, on) in row.on.iter().enumerate() {
        // `*` means every call. There is no key to leave out.
        if let RuleOn::Tool(pattern) = on
            && pattern != "*"
        {
            wrong.extend(pattern_mistake(pattern).map(|message| Wrong::at(format!("on.{at}"), message)));
        }
    }
    wrong.extend(sequence_mistakes(row));
    if let Some(label) = row.label.as_ref().filter(|label| !is_label(label)) {
        let message = format!(
            "`{label}` is no label: a label has 1 to {MAX_LABEL} lowercase letters, digits and `:`, `-`, `_`, `.`, `/`"
        );
        wrong.push(Wrong::at("label", message));
    }
    wrong.extend(change_mistakes(row));
    wrong.extend(row.texts().into_iter().flat_map(|(key, text)| unknown_names(&key, text)));
    wrong
}

/// Returns the arguments that a row about commands changes besides the command: which of them a tool has is known only of a tool by name.
fn change_mistakes(row: &RuleRow) -> Vec<Wrong> {
    let is_of_commands = row.on.iter().all(|on| *on == RuleOn::Shell);
    let keys = row.change.iter().flatten().map(|(key, _)| key).filter(|key| is_of_commands && *key != "command");
    let wrong = keys.map(|key| {
        let advice = match vocabulary::nearest(key, std::iter::once("command")) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "name the tool that has this argument, such as `on = \"Bash\"`".to_owned(),
        };
        let message = format!("a rule about `shell` changes only `command`, and not `{key}`: {advice}");
        Wrong::at(format!("change.{key}"), message)
    });
    wrong.collect()
}

/// Returns the mistakes in `after` and `within` that can be found without the other rows.
fn sequence_mistakes(row: &RuleRow) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    for (at, name) in row.after.iter().enumerate() {
        let key = format!("after.{at}");
        if *name == row.id {
            wrong.push(Wrong::at(&key, "the rule can never match, because it comes only after itself"));
        }
        if row.after.contains(&format!("!{name}")) {
            wrong.push(Wrong::at(
                &key,
                format!("the rule can never match, because it also comes only without `{name}`"),
            ));
        }
    }
    if let Some(within) = row.within.as_ref().filter(|within| vocabulary::seconds(within).is_none()) {
        let message = format!("`{within}` is no time: write a number with a unit, such as `90s`, `10m`, `2h` or `1d`");
        wrong.push(Wrong::at("within", message));
    }
    wrong
}

/// Returns the mistake in a value of a matcher.
fn mistake(key: &str, value: &str) -> Option<String> {
    let pattern = value.strip_prefix('!').unwrap_or(value);
    if pattern.trim().is_empty() {
        return Some("the value is empty: leave it out".to_owned());
    }
    match key {
        "program" => program_mistake(value),
        "flags" if !value.starts_with(['-', '/', '+']) => {
            Some(format!("the rule can never match, because `{value}` is no option: write `--{value}`, or use `args`"))
        }
        "flags" if value.contains('*') => {
            let begin = value.split('*').next().unwrap_or_default();
            Some(format!(
                "`flags` has no wildcards: write `when = 'args.exists(arg, arg.startsWith(\"{begin}\"))'` in place of `{value}`"
            ))
        }
        "flags" | "text" => None,
        "args" if value.starts_with('-') => Some(format!("`{value}` is an option: write it into `flags`")),
        "args" if value.starts_with('!') => Some("`args` has no exceptions: write a second rule".to_owned()),
        "path" => pattern_mistake(pattern).or_else(|| path_mistake(pattern)),
        "host" if pattern.contains(['/', '@']) => {
            Some(format!("the rule can never match, because `{pattern}` is no host: write only the name, or use `url`"))
        }
        "url" if value.starts_with('!') => {
            Some("`url` has no exceptions: use `host`, or write a second rule".to_owned())
        }
        "url" if !pattern.contains("://") && !pattern.starts_with('*') => Some(format!(
            "the rule can never match, because a URL begins with its scheme: write `https://{pattern}` or `*://{pattern}`"
        )),
        _ => pattern_mistake(pattern),
    }
}

fn program_mistake(program: &str) -> Option<String> {
    let name = program.split(' ').next().unwrap_or_default();
    if name == "*" {
        return Some("the pattern matches every program: leave the key out".to_owned());
    }
    if name.contains(['/', '\\']) {
        let file = name.rsplit(['/', '\\']).next().unwrap_or_default();
        return Some(format!("the rule can never match, because a program has no directory here: write `{file}`"));
    }
    let is_middle = name.trim_end_matches('*').contains(['*', '?', '[']);
    is_middle.then(|| "only `*` at the end of the program is a wildcard here".to_owned())
}

fn path_mistake(pattern: &str) -> Option<String> {
    let row = RuleRow { path: OneOrMany(vec![pattern.to_owned()]), ..RuleRow::default() };
    paths::patterns(&row).err()
}

/// Returns the mistake in a glob.
fn pattern_mistake(pattern: &str) -> Option<String> {
    if pattern.chars().all(|c| matches!(c, '*' | '/')) {
        return Some(format!("`{pattern}` matches everything: leave the key out"));
    }
    if let Err(error) = Glob::new(pattern) {
        return Some(format!("`{pattern}` is no pattern: {error}"));
    }
    let wildcards = pattern.matches(['*', '?', '[']).count();
    (wildcards > MAX_WILDCARDS)
        .then(|| format!("the pattern has {wildcards} wildcards, and at most {MAX_WILDCARDS} are possible"))
}

/// Returns the names in the texts of a row that are in the vocabulary of conditions.
pub(crate) fn facts_in_texts(row: &RuleRow) -> Vec<String> {
    let mut facts: Vec<String> = Vec::new();
    for (_, text) in row.texts() {
        let of_text = names(text).map(|(_, name)| name).filter(|name| !NAMES.contains(name));
        facts.extend(of_text.map(str::to_owned));
    }
    facts.sort();
    facts.dedup();
    facts
}

fn unknown_names(key: &str, text: &str) -> Vec<Wrong> {
    let is_known = |name: &str| NAMES.contains(&name) || vocabulary::find(name).is_some();
    let unknown = names(text).filter(|(_, name)| !is_known(name));
    let wrong = unknown.map(|(range, name)| Wrong {
        key: key.to_owned(),
        part: Some(range),
        message: vocabulary::unknown(name),
    });
    wrong.collect()
}

#[cfg(test)]
mod tests {
    use super::{facts_in_texts, mistake, mistakes};
    use hookhost_contract::rule::{OneOrMany, RuleRow};

    #[test]
    fn each_wrong_value_has_a_sentence_that_says_what_to_write() {
        for (key, value, part) in [
            ("program", "*", "leave the key out"),
            ("program", "/usr/bin/git push", "write `git`"),
            ("program", "g*t", "only `*` at the end"),
            ("flags", "force", "write `--force`"),
            ("flags", "-h=prod*", "when = 'args.exists(arg, arg.startsWith(\"-h=prod\"))'"),
            ("args", "-f", "into `flags`"),
            ("args", "!main", "no exceptions"),
            ("args", "[", "is no pattern"),
            ("args", "*", "leave the key out"),
            ("path", "**", "leave the key out"),
            ("path", "a{b,c}", "braces"),
            ("path", "!**/*", "leave the key out"),
            ("host", "https://x.com/a", "is no host"),
            ("url", "!https://x.com/*", "no exceptions"),
            ("url", "x.com/*", "write `https://x.com/*`"),
            ("tool", "***", "leave the key out"),
            ("text", " ", "is empty"),
        ] {
            let message = mistake(key, value).unwrap_or_default();
            assert!(message.contains(part), "{key} {value}: {message}");
        }
        assert!(mistake("server", &"a*".repeat(33)).unwrap().contains("33 wildcards"));
        for (key, value) in [("program", "mkfs*"), ("flags", "-f"), ("path", "!.env.example"), ("host", "!*.x.com")] {
            assert_eq!(mistake(key, value), None, "{key} {value}");
        }
    }

    #[test]
    fn an_unknown_name_in_a_text_is_marked_where_it_is() {
        let row = RuleRow { ask: Some("Push {brnch} of {path}?".into()), ..RuleRow::default() };
        let wrong = mistakes(&row);
        assert_eq!((wrong.len(), &*wrong[0].key, wrong[0].part.clone()), (1, "ask", Some(5..12)));
        let change = serde_json::from_str(r#"{"a":["{x}"]}"#).unwrap();
        let row = RuleRow { change: Some(change), ..RuleRow::default() };
        assert_eq!(mistakes(&row)[0].key, "change.a");
    }

    #[test]
    fn a_rule_about_commands_changes_nothing_but_the_command() {
        let of = |on: &[&str], change: &str| {
            let on = on.iter().map(|on| serde_json::from_value(serde_json::Value::from(*on)).unwrap()).collect();
            let change = serde_json::from_str(change).unwrap();
            let wrong = mistakes(&RuleRow { on: OneOrMany(on), change: Some(change), ..RuleRow::default() });
            wrong.into_iter().map(|wrong| format!("{}: {}", wrong.key, wrong.message)).collect::<Vec<_>>()
        };
        let [wrong] = &of(&["shell"], r#"{"comand":"x"}"#)[..] else { panic!() };
        assert!(wrong.starts_with("change.comand: ") && wrong.ends_with("did you mean `command`?"), "{wrong}");
        let [wrong] = &of(&["shell"], r#"{"command":"x","timeout":5}"#)[..] else { panic!() };
        assert!(wrong.starts_with("change.timeout: ") && wrong.contains("name the tool"), "{wrong}");
        assert!(of(&["shell"], r#"{"command":"x"}"#).is_empty());
        assert!(of(&["shell", "Bash"], r#"{"timeout":5}"#).is_empty());
        assert!(of(&["write"], r#"{"mode":"x"}"#).is_empty());
    }

    #[test]
    fn a_change_may_name_facts() {
        let change = serde_json::from_str(r#"{"a":{"b":["{git.branch} {path}"]},"c":1}"#).unwrap();
        let row = RuleRow { change: Some(change), note: Some("{kube.context}".into()), ..RuleRow::default() };
        assert_eq!(facts_in_texts(&row), ["git.branch", "kube.context"]);
    }
}
