//! The parts between `<!-- generated: NAME -->` and `<!-- end -->` are what the adapters say. After a change that is meant,
//! `HOOKHOST_WRITE_GOLDENS=1 cargo test --workspace --test docs agents::` writes them, and a review sees what changed.

use crate::guide::{files, page, root};
use hookhost_adapters::install::{Context, OnFailure, Plan, Scope};
use hookhost_adapters::{Abilities, Adapter, Covered, HookPoint, all};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The page of an agent.
pub(super) fn path_of(adapter: &dyn Adapter) -> String {
    format!("docs/agents/{}.md", adapter.agent().name)
}

/// What has to be in the agent's files, and the variables that say where they are.
fn plan(adapter: &dyn Adapter, scope: Scope) -> (Result<Plan, String>, BTreeSet<String>) {
    let variables = RefCell::new(BTreeSet::new());
    let context = Context {
        scope,
        home: Path::new("~"),
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

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn table(heads: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line =
        |cells: &[String]| format!("| {} |\n", cells.iter().map(|text| cell(text)).collect::<Vec<_>>().join(" | "));
    let heads: Vec<String> = heads.iter().map(|&head| head.to_owned()).collect();
    let mut text = line(&heads) + &"|---".repeat(heads.len()) + "|\n";
    rows.into_iter().for_each(|row| text.push_str(&line(&row)));
    text
}

/// The files of each scope, and what only a person can do.
fn install(adapter: &dyn Adapter) -> String {
    let (user, _) = plan(adapter, Scope::User);
    let user = user.unwrap_or_default();
    let mut text = String::new();
    let scopes = [
        ("you", "`--user`, the default", Scope::User),
        ("a project", "`--project`", Scope::Project),
        ("the machine", "`--managed`", Scope::Managed),
    ];
    if !user.files.is_empty() {
        let rows = scopes.map(|(for_whom, option, scope)| {
            let (plan, variables) = plan(adapter, scope);
            let files = match plan {
                Ok(plan) => {
                    let files = plan.files.iter().map(|file| format!("`{}`", file.path().display()));
                    let mut text = files.collect::<Vec<_>>().join(", ");
                    for variable in variables {
                        let _ = write!(text, "; `{variable}` can name another place");
                    }
                    text
                }
                Err(why) => sentence(&why),
            };
            vec![for_whom.to_owned(), option.to_owned(), files]
        });
        text += &table(&["for", "option", "files"], rows);
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
        text += if text.is_empty() { "What you do:\n\n" } else { "\nWhat only you can do:\n\n" };
        steps.iter().for_each(|step| {
            let _ = writeln!(text, "- {step}");
        });
    }
    text
}

/// The kinds of tools, and what cannot be closed.
fn coverage(adapter: &dyn Adapter) -> String {
    let agent = adapter.agent();
    let rows = agent
        .coverage
        .iter()
        .map(|coverage| vec![coverage.tools.to_owned(), coverage.covered.name().to_owned(), coverage.note.to_owned()]);
    let mut text = table(&["what", "covered", "note"], rows);
    text += "\nWhat hookhost cannot close here:\n\n";
    agent.gaps.iter().for_each(|gap| {
        let _ = writeln!(text, "- {}", sentence(gap));
    });
    let known = match agent.versions {
        ("", _) => "No version was tried.".to_owned(),
        (oldest, "") => format!("The oldest version that is known is {oldest}; no newer one was tried."),
        (oldest, newest) if oldest == newest => format!("The version that was tried is {oldest}."),
        (oldest, newest) => {
            format!("The oldest version that is known is {oldest}, and the newest that was tried {newest}.")
        }
    };
    let _ = writeln!(text, "\n{known}");
    text
}

/// What the agent does with a reply, in words.
fn abilities(can: Abilities) -> String {
    let words = [
        (can.rejects, "refuse"),
        (can.changes && !can.merges, "change the call"),
        (can.changes && can.merges, "change the call, but take no argument out of it"),
        (can.responds, "answer in place of the tool"),
        (can.asks, "have its user asked"),
        (can.replaces, "replace the text or result"),
        (can.approves, "spare its user a question"),
        (can.adds_context, "give its model a text"),
        (can.tells_user, "tell its user"),
        (can.goes_on, "give it another task"),
        (can.stops, "end its run"),
    ];
    let words: Vec<&str> = words.iter().filter(|(can, _)| *can).map(|(_, word)| *word).collect();
    if words.is_empty() { "nothing: it only tells".to_owned() } else { words.join(", ") }
}

fn points(adapter: &dyn Adapter) -> String {
    let row =
        |point: &HookPoint| vec![format!("`{}`", point.name), format!("`{}`", point.event), abilities(point.abilities)];
    let points = adapter.agent().points;
    let of = |installed| points.iter().filter(move |point| point.installed == installed);
    let has_hook = plan(adapter, Scope::User).0.is_ok_and(|plan| !plan.files.is_empty());
    let heads = ["hook point", "event", "what a reply can do"];
    if !has_hook {
        return table(&heads, points.iter().map(row));
    }
    let mut text = table(&heads, of(true).map(row));
    if of(false).next().is_some() {
        text += "\nThese are understood, and `hookhost install` leaves them alone:\n\n";
        text += &table(&heads, of(false).map(row));
    }
    text
}

fn proof(adapter: &dyn Adapter) -> String {
    let agent = adapter.agent();
    let title = agent.title;
    if plan(adapter, Scope::User).0.is_ok_and(|plan| plan.files.is_empty()) {
        return format!(
            "{title} is a service, and calls no hook that could be run alone: the command says so. To see it obey, send it a \
             request that your rules reject.\n"
        );
    }
    let hook = match adapter.canary("", Path::new("/")) {
        Some((point, _)) => format!(
            "The command at the hook point `{point}`, where the agent's file has it as `hookhost install` writes it, is run \
             twice, with the agent's own message about a shell command: one call has to be denied, and one has to pass."
        ),
        None => format!(
            "{title} does not call its hook as a program that could be run alone, so the command looks at its files, and \
             says that the hook is unproven."
        ),
    };
    let agent_run = match adapter.headless("PROMPT") {
        Some(words) => format!(
            "With `--run-agent`, {title} itself makes the call that has to be denied: hookhost runs `{}` in an empty \
             directory. That asks its model, which may cost something, and asks you nothing.",
            words.join(" ")
        ),
        None => format!(
            "No command is known by which {title} runs without a person. To see it obey, have it run `{}`: that call is \
             denied under any rules.",
            hookhost_adapters::canary::DENIED
        ),
    };
    format!("{hook}\n\n{agent_run}\n")
}

/// How an agent can be proven, in a word or two.
fn proven_by(adapter: &dyn Adapter) -> &'static str {
    match (adapter.canary("", Path::new("/")), adapter.headless("")) {
        (Some(_), Some(_)) => "its hook, and the agent itself",
        (Some(_), None) => "its hook",
        (None, Some(_)) => "the agent itself",
        (None, None) => "a call of yours",
    }
}

/// All agents.
fn overview() -> String {
    let rows = all().iter().map(|adapter| {
        let agent = adapter.agent();
        let kinds = |covered| {
            let kinds = agent.coverage.iter().filter(|coverage| coverage.covered == covered);
            kinds.map(|coverage| coverage.tools).collect::<Vec<_>>().join("; ")
        };
        let link = format!("[{}](agents/{}.md)", agent.title, agent.name);
        let proof = proven_by(*adapter).to_owned();
        vec![link, kinds(Covered::Gated), kinds(Covered::Observed), kinds(Covered::Blind), proof]
    });
    table(&["agent", "gated", "observed", "blind", "proven by"], rows)
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
    let parts_of = |adapter: &dyn Adapter| {
        vec![
            ("install", install(adapter)),
            ("coverage", coverage(adapter)),
            ("hook points", points(adapter)),
            ("proof", proof(adapter)),
        ]
    };
    let mut pages: Vec<_> = all().iter().map(|adapter| (path_of(*adapter), parts_of(*adapter))).collect();
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
    assert_eq!(pages, all().iter().map(|adapter| path_of(*adapter)).collect());
    for adapter in all() {
        let title = adapter.agent().title;
        assert!(page(&path_of(*adapter)).starts_with(&format!("# {title}\n")), "{title}");
    }
}
