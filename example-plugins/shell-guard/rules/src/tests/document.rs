//! `docs/rules.md` is what the catalogues say. `BLESS=1 cargo test -p shell-guard-rules` writes it.

use super::registry;
use crate::rules::{Compiled, Embedded, Severity};

fn action(rule: &Compiled) -> &str {
    match rule.rule.action.as_deref() {
        Some("audit") => "is reported",
        Some("deny") => "is denied",
        Some("ask") => "is asked about",
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

fn document() -> String {
    let mut text = String::from(
        "# The rules of shell-guard\n\n\
         Made from `example-plugins/shell-guard/rules/catalogues/` by a test, which also tries every example. How the plugin is configured is\n\
         in its own documentation (`cargo doc -p shell-guard --no-deps --open`). A rule's *severity* is for readers of lists; what becomes\n\
         of a command is its *action*. Commands are judged in a project at `/work/project`.\n\n\
         `hookhost dispatch --shell 'git push -f origin main'` shows what becomes of a command ([cli.md](cli.md#try-a-command)).\n\n\
         Rules of a stack hold where the stack is used. Name the stacks in the config (`stacks = [\"rust\"]`), or grant the plugin the\n\
         workspace (`read-dirs = { \"/workspace\" = \".\" }`), where it tells them by their files. With neither, these rules are silent, and\n\
         the finding `shell-guard.stacks` says so wherever one of them would have matched.\n\n\
         A command that cannot be parsed, is longer than 64 KiB, or multiplies itself beyond what can be gone through is *unreadable*: it is\n\
         asked about (`shell.unreadable`). An event larger than the entry's `limits.input` (1 MiB; an event holds a command twice) does not\n\
         reach the plugin, which counts as a failure: the call is rejected, unless the entry's `on-failure` says otherwise.\n",
    );
    text +=
        &format!("\nTried on the tables in `example-plugins/shell-guard/rules/cases/`. {}\n", super::cases::figures());
    for catalogue in Embedded::read().unwrap().1 {
        let catalogue = catalogue.unwrap();
        let held = match &catalogue.stack {
            Some(stack) => format!("Holds where the stack `{stack}` is used."),
            None => "Holds everywhere.".into(),
        };
        text += &format!("\n## {}\n\n{held} Version {}.\n", catalogue.id, catalogue.version);
        for rule in registry().rules().iter().filter(|rule| rule.catalogue == catalogue.id) {
            let severity = match rule.rule.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Info => "info",
            };
            let list =
                |commands: &[String]| commands.iter().map(|command| code(command)).collect::<Vec<_>>().join(", ");
            text += &format!("\n### {}\n\n{severity}, {}. {}\n\n", rule.rule.id, action(rule), rule.rule.explanation);
            text += &format!("- catches {}\n- leaves {}\n", list(&rule.rule.catches), list(&rule.rule.leaves));
            if let Some(name) = &rule.rule.unless_env {
                text += &format!("- silent where the plugin may see the variable `{name}` and it is `1` or `true`\n");
            }
            text += &rule.rule.references.iter().map(|link| format!("- see <{link}>\n")).collect::<String>();
        }
    }
    text
}

#[test]
fn the_page_of_the_rules_is_what_the_catalogues_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/rules.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, document()).unwrap();
    }
    let page = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        page == document(),
        "docs/rules.md is not what the catalogues say: BLESS=1 cargo test -p shell-guard-rules writes it"
    );
}
