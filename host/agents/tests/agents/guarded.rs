//! The plugins that protect a session guard the files, variables and words that determine an agent's rules. Their table is generated
//! from the adapters.
//!
//! `HOOKHOST_WRITE_GOLDENS=1 cargo test -p hookhost-agents guarded` writes the table and the parts of the rules.

use hookhost_agents::agents;
use hookhost_agents::guarded::{Guarded, HookBypass};
use hookhost_agents::plan::{Context, OnFailure, Scope};
use shell_reader::guarded::Reach;
use shell_reader::path::{Normal, clean};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

const HOME: &str = "/home/me";
const PROJECT: &str = "/work/project";
const TABLE: &str = "shell/reader/guarded.toml";
const RULES: &str = "shell/rules/catalogues/self-defence.toml";

fn guarded() -> &'static [Guarded] {
    static ALL: LazyLock<Vec<Guarded>> = LazyLock::new(agents::guarded);
    &ALL
}

/// The files that `hookhost install` writes, with hooks or with proxies, and the agent that each is of.
fn installed() -> Vec<(&'static str, PathBuf)> {
    let mut files = Vec::new();
    for adapter in agents::all() {
        let name = adapter.agent().name;
        for scope in [Scope::User, Scope::Project, Scope::Managed] {
            let context = Context {
                scope,
                home: Path::new(HOME),
                project: Path::new(PROJECT),
                program: Path::new("/usr/bin/hookhost-hook"),
                on_failure: OnFailure::Deny,
                directories: None,
                variable: &|_| None,
            };
            let plan = adapter.install(&context).map(|plan| plan.files).unwrap_or_default();
            files.extend(plan.iter().map(|file| (name, file.path().to_owned())));
            files.extend(adapter.mcp_servers(&context).map(|file| (name, file.path)));
        }
    }
    files
}

/// Returns the path as it stands in the table: relative to the home or to the project, or absolute.
fn row(path: &Path) -> String {
    let below = path.strip_prefix(HOME).or_else(|_| path.strip_prefix(PROJECT)).unwrap_or(path);
    below.to_string_lossy().into_owned()
}

fn is_covered(guarded: &Guarded, row: &str) -> bool {
    let fits = |pattern: &str| {
        let (base, is_tree) = pattern.strip_suffix("/**").map_or((pattern, false), |base| (base, true));
        let (parts, names): (Vec<_>, Vec<_>) = (base.split('/').collect(), row.split('/').collect());
        let same = |(part, name): (&&str, &&str)| match part.split_once('*') {
            Some((begin, end)) => name.starts_with(begin) && name.ends_with(end.trim_end_matches('*')),
            None => part == name,
        };
        (parts.len() == names.len() || (is_tree && parts.len() < names.len())) && parts.iter().zip(&names).all(same)
    };
    [guarded.files, guarded.in_home, guarded.alone].into_iter().flatten().any(|pattern| fits(pattern))
}

/// Adds `key = [items]`, in as few lines as have room for them.
fn list(text: &mut String, key: &str, items: &[String]) {
    const WIDTH: usize = 140;
    if items.is_empty() {
        return;
    }
    let mut lines = vec![String::new()];
    for item in items {
        let item = format!("{item:?}, ");
        if lines.last().is_none_or(|line| line.len() + item.len() > WIDTH) {
            lines.push(String::new());
        }
        lines.last_mut().expect("a line").push_str(&item);
    }
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).filter(|line| !line.is_empty()).collect();
    match lines[..] {
        [line] => writeln!(text, "{key} = [{}]", line.trim_end_matches(',')),
        _ => writeln!(text, "{key} = [\n  {}\n]", lines.join("\n  ")),
    }
    .expect("text");
}

/// The table of guarded files.
fn table() -> String {
    let mut text = "\
# The files that decide under which rules an agent runs: hookhost's own, and those in which agents name their hooks and proxies.
# shell-guard and path-guard let nothing that an agent asks for write them. The build makes a table of it (`src/guarded.rs` looks a path
# up).
#
# Generated from what the adapters know (`host/agents/src/guarded.rs`, and the files that `hookhost install` writes):
# `HOOKHOST_WRITE_GOLDENS=1 cargo test -p hookhost-agents guarded`.
#
# A path is a row of names, in any case, anywhere: `.claude/settings*.json` is that file of the user, of this project and of any other.
# With a slash in front it is a path from the root. `*` stands for any part of a name. `/**` at the end is the directory with
# everything in it. To remove or move a directory that a path of `files` names takes the file with it. A path of `in-home` is a
# user's: its directories count only where they lie in a home. Those of `alone` may be removed. Those of `outside` count outside of the
# workspace, those of `variables-in` where one of all `variables` is written into them. `variables` lead the owner to other settings; a
# value is the directory that is meant where the variable is not set.
"
    .to_owned();
    let installed = installed();
    for guarded in guarded() {
        writeln!(text, "\n[[owner]]\nname = {:?}\nsource = {:?}", guarded.owner, guarded.source).unwrap();
        let own = |paths: &[&str]| paths.iter().map(|&path| path.to_owned()).collect::<Vec<_>>();
        let (mut files, mut in_home) = (own(guarded.files), own(guarded.in_home));
        let of_agent =
            installed.iter().filter(|(agent, _)| agent.strip_suffix("-mods").unwrap_or(agent) == guarded.owner);
        let further: BTreeSet<String> =
            of_agent.map(|(_, path)| row(path)).filter(|row| !is_covered(guarded, row)).collect();
        for row in further {
            if row.starts_with(".config/") { in_home.push(row) } else { files.push(row) }
        }
        list(&mut text, "files", &files);
        list(&mut text, "in-home", &in_home);
        list(&mut text, "alone", &own(guarded.alone));
        list(&mut text, "outside", &own(guarded.outside));
        list(&mut text, "variables-in", &own(guarded.variables_in));
        if !guarded.variables.is_empty() {
            let variables: Vec<String> =
                guarded.variables.iter().map(|(name, directory)| format!("{name} = {directory:?}")).collect();
            writeln!(text, "variables = {{ {} }}", variables.join(", ")).unwrap();
        }
    }
    text
}

/// The names by which an agent is started.
fn programs(owner: &str) -> Vec<String> {
    let adapter = agents::by_name(owner).map(|adapter| adapter.agent().programs).unwrap_or_default();
    let packages = guarded().iter().filter(|guarded| guarded.owner == owner).flat_map(|guarded| guarded.packages);
    let packages = packages.flat_map(|package| [(*package).to_owned(), format!("{package}@*")]);
    adapter.iter().flat_map(|program| [(*program).to_owned(), format!("{program}@*")]).chain(packages).collect()
}

fn all_programs() -> Vec<String> {
    let mut all: Vec<String> = ["hookhost", "hookhost-hook"].map(str::to_owned).into();
    all.extend(
        guarded().iter().filter(|guarded| guarded.owner != "hookhost").flat_map(|guarded| programs(guarded.owner)),
    );
    all
}

/// The variables that lead an agent, and no other program, elsewhere.
fn variables() -> String {
    let names = guarded().iter().flat_map(|guarded| guarded.variables).map(|(name, _)| *name);
    names.collect::<Vec<_>>().join("|")
}

/// The matches of the rule `self.environment`.
fn of_environment() -> String {
    let variables = variables();
    // Those that lead any program elsewhere are a matter of what follows.
    let of_any = r"HOME|USERPROFILE|XDG_(CONFIG|STATE|CACHE|RUNTIME|DATA)_(HOME|DIR)";
    let mut text = format!(
        "[[rule.match]]\nenvironment = '^HOOKHOST_(CONFIG|STATE|CACHE|RUNTIME)_DIR='\n\
         [[rule.match]]\nprogram = [\"export\", \"declare\", \"typeset\", \"readonly\", \"setx\", \"set\", \"read\", \"printf\", \
         \"tmux\", \"launchctl\", \"systemctl\", \"dbus-update-activation-environment\"]\nword = '^({variables})(=|$)'\n\
         [[rule.match]]\nprogram = [\"unset\"]\nword = '^(HOOKHOST_\\w+|{variables})$'\n"
    );
    for condition in [
        format!("environment = '^(HOOKHOST_\\w+|{of_any}|{variables})='"),
        // Set before, or around it.
        format!(
            "text = '(^|[;&|(\\n]\\s*|\\b(export|declare|typeset|env|set|sudo|doas|run0|systemd-run)\\s[^;&|\"\\x27\\n]*)({of_any}|{variables})='"
        ),
        format!(
            "text = '\\benv\\b[^;&|]*(\\s-[a-zA-Z]*i\\b|\\s-\\s|--ignore-environment|(-u|--unset)[\\s=]*({of_any}|HOOKHOST_\\w+|{variables})\\b)'"
        ),
    ] {
        text.push_str("[[rule.match]]\n");
        list(&mut text, "program", &all_programs());
        writeln!(text, "{condition}").unwrap();
    }
    text
}

/// The matches of the rule `self.agent_hooks`.
fn of_hooks() -> String {
    let mut text = String::new();
    for guarded in guarded() {
        let (mut options, mut operands, mut further) = (Vec::new(), Vec::new(), Vec::new());
        for unhooked in guarded.unhooked {
            match unhooked {
                HookBypass::Option(name) => options.push(*name),
                HookBypass::Operands(words) => operands.push((*words).to_owned()),
                HookBypass::Word(pattern) => further.push(format!("word = '{pattern}'")),
                HookBypass::Words(pattern) => further.push(format!("line = '{}'", pattern.replace('\'', "\\x27"))),
            }
        }
        if !options.is_empty() {
            further.push(format!("any-flags = [{:?}]", options.join("|")));
        }
        if !operands.is_empty() {
            further.push(format!("subcommand = {operands:?}"));
        }
        for condition in further {
            text.push_str("[[rule.match]]\n");
            list(&mut text, "program", &programs(guarded.owner));
            writeln!(text, "{condition}").unwrap();
        }
    }
    text
}

/// The programs of the rules that need no more than these.
fn of_programs() -> String {
    let mut text = String::new();
    list(&mut text, "program", &all_programs());
    text
}

/// The text with what is between the marks of `name` replaced, each time.
fn generated(mut text: String, name: &str, content: &str) -> String {
    let (begin, end) = (format!("# generated: {name}\n"), "# end\n");
    let mut at = 0;
    while let Some(found) = text[at..].find(&begin) {
        let from = at + found + begin.len();
        let to = from + text[from..].find(end).expect("an end");
        text.replace_range(from..to, content);
        at = from + content.len();
    }
    assert!(at > 0, "{RULES} has no part `{name}`");
    text
}

#[test]
fn the_table_and_the_rules_are_those_that_the_adapters_know() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../example-plugins");
    let kept = |file: &str| std::fs::read_to_string(directory.join(file)).unwrap();
    let rules = generated(kept(RULES), "environment", &of_environment());
    let rules = generated(generated(rules, "hooks", &of_hooks()), "programs", &of_programs());
    for (file, expected) in [(TABLE, table()), (RULES, rules)] {
        if std::env::var_os("HOOKHOST_WRITE_GOLDENS").is_some() {
            std::fs::write(directory.join(file), &expected).unwrap();
        }
        assert!(
            kept(file) == expected,
            "example-plugins/{file} is stale: HOOKHOST_WRITE_GOLDENS=1 cargo test -p hookhost-agents guarded"
        );
    }
}

#[test]
fn each_file_that_is_installed_is_in_the_table() {
    let installed = installed();
    for (agent, path) in &installed {
        let path = Normal::Absolute(clean(&path.to_string_lossy()));
        let guarded = shell_reader::guarded::at(&path, Reach::default(), PROJECT);
        assert!(!guarded.is_empty(), "{path:?} of {agent}");
    }
    assert!(installed.len() >= 45, "only {} files are installed", installed.len());
}

#[test]
fn each_variable_that_leads_an_installation_elsewhere_is_in_the_table() {
    for adapter in agents::all() {
        let asked = std::cell::RefCell::new(BTreeSet::new());
        let variable = |name: &str| {
            asked.borrow_mut().insert(name.to_owned());
            None
        };
        for scope in [Scope::User, Scope::Project] {
            let context = Context {
                scope,
                home: Path::new(HOME),
                project: Path::new(PROJECT),
                program: Path::new("/usr/bin/hookhost-hook"),
                on_failure: OnFailure::Deny,
                directories: None,
                variable: &variable,
            };
            let _ = adapter.install(&context);
            let _ = adapter.mcp_servers(&context);
        }
        // Those of the system are in the rule by themselves.
        for name in asked.take().iter().filter(|name| !name.starts_with("XDG_")) {
            assert!(shell_reader::guarded::names_variable(name), "{name} of {}", adapter.agent().name);
        }
    }
}
