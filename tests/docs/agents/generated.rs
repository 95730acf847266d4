//! The parts between `<!-- generated: NAME -->` and `<!-- end -->` are what the adapters say. After a change that is meant,
//! `HOOKHOST_WRITE_GOLDENS=1 cargo test --workspace --test docs agents::` writes them, and a review sees what changed.

use crate::guide::{files, page, root};
use hookhost::contract::EventKind;
use hookhost_agents::plan::{Context, OnFailure, Plan, Scope};
use hookhost_agents::{Abilities, Adapter, Covered, HookPoint, all};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The page of an agent.
fn path_of(adapter: &Adapter) -> String {
    format!("docs/agents/{}.md", adapter.agent().name)
}

/// The home directory of a user. The pages show it as `~`.
const HOME: &str = "/home/user";

/// What has to be in the agent's files, and the variables that say where they are.
fn plan(adapter: &Adapter, scope: Scope) -> (Result<Plan, String>, BTreeSet<String>) {
    let variables = RefCell::new(BTreeSet::new());
    let context = Context {
        scope,
        home: Path::new(HOME),
        project: Path::new(""),
        program: Path::new("/usr/bin/hookhost-hook"),
        on_failure: OnFailure::Deny,
        directories: None,
        variable: &|name| {
            variables.borrow_mut().insert(name.to_owned());
            None::<PathBuf>
        },
    };
    let plan = adapter.install(&context).map_err(|why| why.to_string());
    (plan, variables.into_inner())
}

fn sentence(text: &str) -> String {
    let mut text = text.trim_end_matches('.').to_owned();
    if let Some(first) = text.get(..1) {
        text.replace_range(..1, &first.to_uppercase());
    }
    text + "."
}

/// Paths that share a directory as one: `directory/{a,b}`.
fn together(paths: &[String]) -> String {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for path in paths {
        let (directory, name) =
            path.rsplit_once('/').map_or(("", path.as_str()), |(directory, name)| (directory, name));
        match groups.last_mut().filter(|(known, _)| known == directory) {
            Some((_, names)) => names.push(name),
            None => groups.push((directory.to_owned(), vec![name])),
        }
    }
    let shown = groups.iter().map(|(directory, names)| {
        let slash = if directory.is_empty() { "" } else { "/" };
        match names.as_slice() {
            [name] => format!("`{directory}{slash}{name}`"),
            names => format!("`{directory}{slash}{{{}}}`", names.join(",")),
        }
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// The files of each scope, and the steps that only a person can do.
fn install(adapter: &Adapter) -> String {
    let (user, _) = plan(adapter, Scope::User);
    let user = user.unwrap_or_default();
    let mut text = String::new();
    if user.files.is_empty() {
        text += "hookhost edits no file of this agent, so do these steps yourself. To remove hookhost, undo them:\n\n";
    } else {
        for (option, scope) in [("user", Scope::User), ("project", Scope::Project), ("managed", Scope::Managed)] {
            let (plan, variables) = plan(adapter, scope);
            let files = match plan {
                Ok(plan) => {
                    let files: Vec<_> = plan.files.iter().map(|file| file.path().display().to_string()).collect();
                    let variables: Vec<_> = variables.iter().map(|variable| format!("`{variable}`")).collect();
                    // Only a user's files are where a variable says.
                    let elsewhere = match variables.as_slice() {
                        variables if variables.is_empty() || option != "user" => String::new(),
                        variables => format!(", or below {}", variables.join(" or ")),
                    };
                    together(&files) + &elsewhere
                }
                Err(why) => sentence(&why),
            };
            let _ = writeln!(text, "- `--{option}`: {files}");
        }
    }
    let (project, _) = plan(adapter, Scope::Project);
    let (managed, _) = plan(adapter, Scope::Managed);
    let further = |label: &str, plan: Result<Plan, String>| {
        let steps = plan.map(|plan| plan.steps).unwrap_or_default().into_iter();
        steps
            .filter(|step| !user.steps.contains(step))
            .map(|step| format!("{label}: {}", sentence(&step)))
            .collect::<Vec<_>>()
    };
    let mut steps: Vec<String> = user.steps.iter().map(|step| sentence(step)).collect();
    steps.extend(further("In a project", project));
    steps.extend(further("On a machine", managed));
    if !steps.is_empty() {
        text += if user.files.is_empty() { "" } else { "\nAfter installing:\n\n" };
        steps.iter().for_each(|step| {
            let _ = writeln!(text, "- {step}");
        });
    }
    text
}

/// The kinds of tools, by how far rules reach them.
fn coverage(adapter: &Adapter) -> String {
    let sentences = adapter.agent().coverage_sentences(true);
    sentences.iter().map(|sentence| format!("- {sentence}\n")).collect()
}

/// The gaps that no adapter can close, and the tested versions.
fn gaps(adapter: &Adapter) -> String {
    let agent = adapter.agent();
    let mut text = String::new();
    agent.gaps.iter().for_each(|gap| {
        let _ = writeln!(text, "- {}", sentence(gap));
    });
    let known = match agent.versions {
        ("", _) => format!("hookhost has not been tested with any version of {}.", agent.title),
        (oldest, "") => {
            format!("Versions: {oldest} and later. hookhost has not been tested with any of these versions.")
        }
        (oldest, newest) if oldest == newest => format!("Supported version: {oldest}."),
        (oldest, newest) => format!("Supported versions: {oldest} to {newest}."),
    };
    let _ = writeln!(text, "\n{known}");
    text
}

/// The parts of a reply that the agent obeys. `docs/agents.md` defines each word.
fn abilities(can: Abilities) -> String {
    let words = [
        (can.rejects, "refuse"),
        (can.changes && !can.merges, "change"),
        (can.changes && can.merges, "merge"),
        (can.responds, "respond"),
        (can.asks, "ask"),
        (can.replaces, "replace"),
        (can.approves, "approve"),
        (can.adds_context, "context"),
        (can.tells_user, "message"),
        (can.goes_on, "new task"),
        (can.stops, "stop"),
    ];
    let words: Vec<&str> = words.iter().filter(|(can, _)| *can).map(|(_, word)| *word).collect();
    words.join(", ")
}

/// The hook points by the replies that they obey, then those that only report.
fn points(adapter: &Adapter) -> String {
    let points = adapter.agent().points;
    let name = |point: &HookPoint| format!("`{}`", point.name);
    let obeying = |installed: bool| {
        let mut groups: Vec<(String, Vec<String>)> = Vec::new();
        for point in points.iter().filter(|point| point.installed == installed) {
            let can = abilities(point.abilities);
            match groups.iter_mut().find(|(known, _)| *known == can) {
                Some((_, names)) => names.push(name(point)),
                None => groups.push((can, vec![name(point)])),
            }
        }
        let groups = groups.iter().filter(|(can, _)| !can.is_empty());
        groups.map(|(can, names)| format!("- {}: {can}\n", names.join(", "))).collect::<String>()
    };
    let has_hook = plan(adapter, Scope::User).0.is_ok_and(|plan| !plan.files.is_empty());
    let reporting = |is_custom: bool| {
        let reporting = points.iter().filter(|point| point.installed || !has_hook);
        let reporting = reporting.filter(|point| abilities(point.abilities).is_empty());
        let of_kind = reporting.filter(|point| (point.event == EventKind::CustomEvent) == is_custom);
        of_kind.map(name).collect::<Vec<_>>().join(", ")
    };
    let mut text = obeying(true);
    for (label, names) in [("Only reported", reporting(false)), ("Custom events", reporting(true))] {
        if !names.is_empty() {
            let _ = writeln!(text, "- {label}: {names}");
        }
    }
    match (has_hook, obeying(false)) {
        (false, others) => others + &text,
        (true, others) if others.is_empty() => text,
        (true, others) => format!("{text}\nhookhost does not install these hook points:\n\n{others}"),
    }
}

fn proof(adapter: &Adapter) -> String {
    if plan(adapter, Scope::User).0.is_ok_and(|plan| plan.files.is_empty()) {
        return "To test the hook, send a request that your rules reject.\n".to_owned();
    }
    let hook = match adapter.canary("", Path::new("/")) {
        Some((point, _)) => format!("`doctor --prove` calls the hook at `{point}`"),
        None => "`doctor --prove` checks only the files".to_owned(),
    };
    match adapter.headless("PROMPT") {
        Some(words) => format!("{hook}. With `--run-agent`, it also starts `{}`.\n", words.join(" ")),
        None => format!(
            "{hook}. No known command runs the agent without a person, so [tell the agent to run the \
             canary](../agents.md#prove-it).\n"
        ),
    }
}

/// All agents, with the steps that hookhost cannot stop.
fn overview() -> String {
    let mut text = String::new();
    for adapter in all() {
        let agent = adapter.agent();
        let kinds = |covered| {
            let kinds = agent.coverage.iter().filter(|coverage| coverage.covered == covered);
            kinds.map(|coverage| coverage.tools).collect::<Vec<_>>().join("; ")
        };
        let _ = write!(text, "- [{}](agents/{}.md)", agent.title, agent.name);
        for (label, kinds) in [("Only seen", kinds(Covered::Observed)), ("Not seen", kinds(Covered::Blind))] {
            if !kinds.is_empty() {
                let _ = write!(text, ". {label}: {kinds}");
            }
        }
        text.push_str(".\n");
    }
    text
}

/// The page with these parts written; every part that the page has is one of them, and the other way round.
fn filled(name: &str, text: &str, parts: &[(&str, String)]) -> String {
    let mut filled = String::new();
    let mut rest = text;
    let mut seen = Vec::new();
    while let Some((before, after)) = rest.split_once("<!-- generated: ") {
        let (part, after) = after.split_once(" -->").unwrap_or_else(|| panic!("{name}: a mark without an end"));
        let (_, after) = after.split_once("<!-- end -->").unwrap_or_else(|| panic!("{name}: {part} has no end"));
        let (_, content) = parts.iter().find(|(known, _)| *known == part).unwrap_or_else(|| panic!("{name}: {part}"));
        let _ = write!(filled, "{before}<!-- generated: {part} -->\n\n{content}\n<!-- end -->");
        seen.push(part);
        rest = after;
    }
    let expected: Vec<&str> = parts.iter().map(|(part, _)| *part).collect();
    assert_eq!(seen, expected, "{name}: the generated parts");
    filled + rest
}

#[test]
// The files of the machine are elsewhere on another system.
#[cfg(target_os = "linux")]
fn the_generated_parts_of_the_pages_are_what_the_adapters_say() {
    let writes = std::env::var_os("HOOKHOST_WRITE_GOLDENS").is_some();
    let parts_of = |adapter: &Adapter| {
        vec![(
            "page",
            format!(
                "## Files\n\n{}\n{}\n## Reach\n\n{}\n## Gaps\n\n{}\n## Hook points\n\nEffects of a reply:\n\n{}",
                install(adapter).replace(HOME, "~"),
                proof(adapter),
                coverage(adapter),
                gaps(adapter),
                points(adapter)
            ),
        )]
    };
    let mut pages: Vec<_> = all().iter().map(|adapter| (path_of(adapter), parts_of(adapter))).collect();
    pages.push(("docs/agents.md".to_owned(), vec![("agents", overview())]));
    let mut wrong = Vec::new();
    for (name, parts) in pages {
        let text = page(&name);
        let filled = filled(&name, &text, &parts);
        if writes {
            std::fs::write(root().join(&name), filled).expect("the page can be written");
        } else if filled != text {
            let line = filled.lines().zip(text.lines()).find(|(filled, kept)| filled != kept);
            wrong.push(format!("{name}: {line:?}"));
        }
    }
    assert!(wrong.is_empty(), "these pages are others now:\n{}", wrong.join("\n"));
}

#[test]
fn every_agent_has_a_page_and_every_page_an_agent() {
    let pages = files(&[".md"]).into_iter().filter(|file| file.starts_with("docs/agents"));
    let pages: BTreeSet<_> = pages.map(|file| file.to_string_lossy().into_owned()).collect();
    assert_eq!(pages, all().iter().map(|adapter| path_of(adapter)).collect());
    for adapter in all() {
        let title = adapter.agent().title;
        let text = page(&path_of(adapter));
        assert!(text.starts_with(&format!("# {title}\n")), "{title}");
        let words = text.split_whitespace().count();
        assert!(words <= 300, "the page of {title} has {words} words");
    }
}
