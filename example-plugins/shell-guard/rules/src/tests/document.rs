//! The pages in `docs/rules/` are what the catalogues say, a page for each and a list of them.
//! `BLESS=1 cargo test -p shell-guard-rules` writes them.

use super::registry;
use crate::rules::{Catalogue, Compiled, Embedded, Severity};
use std::collections::BTreeMap;
use std::path::Path;

fn action(rule: &Compiled) -> &str {
    match rule.rule.action.as_deref() {
        Some("audit") => "is reported",
        Some("deny") => "is denied",
        Some("ask") => "is asked about",
        Some("hint") => "is hinted at",
        Some(other) => other,
        None if rule.rule.rewrite.is_some() => "is rewritten",
        None => "is reported",
    }
}

fn code(command: &str) -> String {
    let escaped: String = command
        .chars()
        .map(|c| if c.is_control() || c == '\u{202e}' { format!("\\u{{{:x}}}", u32::from(c)) } else { c.to_string() })
        .collect();
    if escaped.contains('`') { format!("`` {escaped} ``") } else { format!("`{escaped}`") }
}

/// The labels of each rule that has some; a loaded rule has none left.
pub(super) fn labels() -> BTreeMap<String, Vec<String>> {
    let (_, mut embedded) = Embedded::read().unwrap();
    let mut labels = BTreeMap::new();
    while embedded.next().transpose().unwrap().is_some() {
        while let Some(rule) = embedded.rule().transpose().unwrap() {
            if !rule.labels.is_empty() {
                labels.insert(rule.id.to_string(), rule.labels);
            }
        }
    }
    labels
}

/// The page of one catalogue.
fn page(catalogue: &Catalogue, labels: &BTreeMap<String, Vec<String>>) -> String {
    let held = match &catalogue.stack {
        Some(stack) => format!("These rules hold where the stack `{stack}` is used."),
        None => "These rules hold everywhere.".into(),
    };
    let mut text = format!(
        "# {}\n\n{held} Version {}. [README.md](README.md) explains the entries.\n",
        catalogue.id, catalogue.version
    );
    for rule in registry().rules().iter().filter(|rule| *rule.catalogue == *catalogue.id) {
        let severity = match rule.rule.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        };
        let list = |commands: &[String]| commands.iter().map(|command| code(command)).collect::<Vec<_>>().join(", ");
        text += &format!("\n## {}\n\n{severity}, {}. {}\n\n", rule.rule.id, action(rule), rule.rule.explanation);
        if let Some(labels) = labels.get(&*rule.rule.id) {
            text += &format!("- labels {}\n", list(labels));
        }
        text += &format!("- catches {}\n- leaves {}\n", list(&rule.rule.catches), list(&rule.rule.leaves));
        if let Some(name) = &rule.rule.unless_env {
            text += &format!("- silent where the plugin may see the variable `{name}` and it is `1` or `true`\n");
        }
        text += &rule.rule.references.iter().map(|link| format!("- see <{link}>\n")).collect::<String>();
    }
    text
}

/// The name of a catalogue's page: what follows the `/` of its id.
fn file_name(catalogue: &Catalogue) -> String {
    format!("{}.md", catalogue.id.rsplit('/').next().unwrap_or(&catalogue.id))
}

/// All pages, by name.
fn pages() -> BTreeMap<String, String> {
    let mut index = format!(
        "# The rules of shell-guard\n\n\
         A test writes these pages from `example-plugins/shell-guard/rules/catalogues/` and tries every example in them. The plugin's own\n\
         documentation says how to configure it (`cargo doc -p shell-guard --no-deps --open`).\n\n\
         Each rule has a *severity*, which sorts lists, and an *action*: what the plugin does with a command that the rule catches. The\n\
         plugin judges commands in a project at `/work/project` here.\n\
         `hookhost dispatch --shell 'git push -f origin main'` shows what it does with a command ([cli.md](../cli.md#try-a-command)).\n\n\
         A rule's *labels* say what kind of harm it is about. `answers` in the plugin's settings names rules by severity, catalogue, label,\n\
         cause or id, and gives them another answer: `answers = {{ \"label:network\" = \"ask\", \"rule:git.reset_hard\" = \"deny\" }}`. The most\n\
         specific key counts. No answer loosens the floor or self-defence. `general.destroying_word` asks about programs that no other rule\n\
         names, by their words; `remove = [\"general.destroying_word\"]` leaves it out.\n\n\
         The rules of a stack hold where the stack is used. Name the stacks in the plugin's settings (`stacks = [\"rust\"]`), or grant the\n\
         plugin the workspace (`read-dirs = {{ \"/workspace\" = \".\" }}`), where it recognises them by their files. With neither, these\n\
         rules are silent, and the finding `shell-guard.stacks` says so wherever one of them would have matched.\n\n\
         A command is *unreadable* if it cannot be parsed, is longer than 64 KiB, or expands beyond what can be searched. The plugin asks\n\
         about it (`shell.unreadable`). An event larger than the entry's `limits.input` (1 MiB; an event holds a command twice) does not\n\
         reach the plugin, and a command of more than 400 000 bytes can use up its fuel. Both count as a failure: the call is rejected,\n\
         unless the entry's `on-failure` says otherwise.\n\n\
         The rules are held to the tables in `example-plugins/shell-guard/rules/cases/`. {} The rules were written with\n\
         these tables in view, so that this figure only shows that nothing got worse.\n\n\
         What a stranger's commands meet is shown by tables that were written without a look at rules or cases, and are judged once\n\
         before anything is learnt from them. On 25 November 2026 four tables, each of 300 harmful and 300 harmless commands by another\n\
         author, gave in this order: recall 94.3 %, 88.7 %, 97.7 % and 98.0 %, false alarms 1.3 %, 0.3 %, 0.7 % and 0.3 %. Before the rules\n\
         that the first one led to, the first two gave: recall 84.7 % and 69.3 %, false alarms 1.3 % and 0.3 %. On 26 November 2026 a fifth\n\
         one gave: recall 94.3 %, false alarms 3.7 %; and a sixth one, after the rules that the fifth led to: 96.7 % and 0.0 %. Most of what\n\
         was missed are rare programs, and secrets or sources that are sent in an unusual way. `cargo run -p bench -- shell-corpus FILE` judges a table of yours\n\
         ([contributing.md](../contributing.md)).\n\n\
         | catalogue | rules | hold |\n|---|---|---|\n",
        super::cases::figures()
    );
    let mut pages = BTreeMap::new();
    let labels = labels();
    for catalogue in Embedded::read().unwrap().1 {
        let catalogue = catalogue.unwrap();
        let name = file_name(&catalogue);
        let rules = registry().rules().iter().filter(|rule| *rule.catalogue == *catalogue.id).count();
        let held = catalogue.stack.as_ref().map_or("everywhere".into(), |stack| format!("where `{stack}` is used"));
        index += &format!("| [{}]({name}) | {rules} | {held} |\n", catalogue.id);
        let other = pages.insert(name, page(&catalogue, &labels));
        assert!(other.is_none(), "two catalogues have the page of {}", catalogue.id);
    }
    pages.insert("README.md".into(), index);
    pages
}

#[test]
fn the_pages_of_the_rules_are_what_the_catalogues_say() {
    let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/rules"));
    let pages = pages();
    if std::env::var_os("BLESS").is_some() {
        let _ = std::fs::remove_dir_all(directory);
        std::fs::create_dir(directory).unwrap();
        for (name, text) in &pages {
            std::fs::write(directory.join(name), text).unwrap();
        }
    }
    let written = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let written: BTreeMap<String, String> = written
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(&path).unwrap()))
        .collect();
    assert_eq!(written.keys().collect::<Vec<_>>(), pages.keys().collect::<Vec<_>>());
    for (name, text) in pages {
        assert!(
            written[&name] == text,
            "docs/rules/{name} is not what the catalogues say: BLESS=1 cargo test -p shell-guard-rules writes it"
        );
    }
}
