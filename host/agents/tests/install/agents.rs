//! Tests the plan of every agent. The plan is installed twice, examined, and uninstalled.

use crate::home::Home;
use hookhost_agents::install::prove::prove;
use hookhost_agents::install::receipt::Installation;
use hookhost_agents::install::{self, configured, doctor, find, uninstall};
use hookhost_agents::plan::{Context, FilePlan, JsonEntry, PROGRAM, Scope};
use hookhost_agents::{Adapter, Reply, all, canary};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Returns a hook that replies in the agent's own format. It denies the call that has to be denied, and gives an empty reply to any other
/// call.
fn obedient(adapter: &Adapter, point: &str, home: &Home) -> String {
    let says = |name: &str, reply: &Reply| {
        for (stream, text) in [("stdout", &reply.stdout), ("stderr", &reply.stderr)] {
            std::fs::write(home.path(&format!("{name}.{stream}")), text).unwrap();
        }
        let at = home.path(name).display().to_string();
        format!("cat '{at}.stdout'; cat '{at}.stderr' >&2; exit {}", reply.exit)
    };
    let no = says("no", &adapter.fail(Some(point), "this is the canary"));
    let yes = says("yes", &adapter.neutral(Some(point)));
    format!(
        "[ \"$1 $2\" = '{} {point}' ] || exit 7\ncase \"$(cat)\" in *'{}'*) {no};; esac\n{yes}",
        adapter.agent().name,
        canary::DENIED
    )
}

#[test]
#[cfg(unix)]
fn every_hook_that_is_a_command_is_run_as_it_is_installed_and_proven_in_its_agents_own_language() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut proven = 0;
    for adapter in all() {
        let name = adapter.agent().name;
        let home = Home::new();
        let project = home.path("project");
        std::fs::create_dir(&project).unwrap();
        let Some((point, _)) = adapter.canary(canary::DENIED, &project) else { continue };
        let write = |script: &str| {
            let program = home.path("bin/hookhost-hook");
            std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        let commands = home.with_context(|context| {
            let of = Installation::new(name, Scope::User, &project);
            let plan = adapter.install(context).unwrap();
            let changes = install::prepare(&plan, &of, adapter.json_dialect(), None).unwrap();
            install::apply(&changes, &home.receipts(), &of, None).unwrap();
            doctor::installed(adapter, context, &mut Vec::new()).remove(0).commands
        });
        let path = std::ffi::OsStr::new("/usr/bin:/bin");
        let shown =
            || prove(adapter, &commands, &project, path, None).unwrap_or_else(|| panic!("{name}: nothing to run"));
        write(&obedient(adapter, point, &home));
        assert!(shown().holds(), "{name}: {:#?}", shown());
        assert!(shown().program_digest.is_some(), "{name}: the program that the files name is not found");
        write("cat > /dev/null");
        assert!(!shown().holds(), "{name}: silence is no proof");
        write("cat > /dev/null; exit 1");
        assert!(!shown().holds(), "{name}: a failure is no proof");
        proven += 1;
    }
    assert!(proven >= 15, "{proven}");
}

/// Writes the files of a repository that contain the agent's hook. Before each command of the hook, the repository runs another command.
fn of_repository(adapter: &Adapter, context: &Context<'_>, trace: &Path) {
    let does = format!("touch '{}'; ", trace.display());
    for file in adapter.install(context).map(|plan| plan.files).unwrap_or_default() {
        let text = match &file {
            FilePlan::Whole { content, .. } => content.clone(),
            FilePlan::Json { entries, .. } => {
                let none = install::json::with_entries("", entries, adapter.json_dialect(), "nobody");
                none.unwrap()
            }
        };
        std::fs::create_dir_all(file.path().parent().unwrap()).unwrap();
        std::fs::write(file.path(), text.replace(PROGRAM, &format!("{does}{PROGRAM}"))).unwrap();
    }
}

#[test]
#[cfg(unix)]
fn nothing_that_a_repository_names_is_run_by_a_look_at_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut looked_at = 0;
    for adapter in all() {
        let name = adapter.agent().name;
        let home = Home::new();
        let (project, trace) = (home.path("project"), home.path("trace"));
        std::fs::create_dir(&project).unwrap();
        // The repository contains its own program with the agent's name, in a directory on the PATH.
        let path = project.join("bin");
        std::fs::create_dir(&path).unwrap();
        for program in adapter.agent().programs.iter().chain([&PROGRAM]) {
            let program = path.join(program);
            std::fs::write(&program, format!("#!/bin/sh\ntouch '{}'\n", trace.display())).unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        home.with_context(|context| {
            let context = Context { scope: Scope::Project, project: &project, ..*context };
            of_repository(adapter, &context, &trace);
            let (path, left_out) = find::searched(path.as_os_str(), &project, context.home);
            assert_eq!(left_out.len(), 1);
            let diagnosis = doctor::examine(adapter, &context, &path, doctor::Selection::ByName);
            let commands: Vec<_> = diagnosis.installed.iter().flat_map(|installed| &installed.commands).collect();
            assert!(commands.iter().all(|command| command.planned.is_none()), "{name}: {commands:#?}");
            let says = diagnosis.checks.iter().any(|check| check.says.contains("so it is not run here"));
            assert_eq!(says, !commands.is_empty(), "{name}");
            looked_at += commands.len();
            let commands: Vec<_> = commands.into_iter().cloned().collect();
            assert_eq!(prove(adapter, &commands, &project, "/usr/bin:/bin".as_ref(), None), None, "{name}");
            // The hook as hookhost writes it starts no program of the repository.
            let plan = adapter.install(&context).map(|plan| plan.files).unwrap_or_default();
            let planned: Vec<_> =
                plan.iter().flat_map(|file| configured::of_value(file.path(), &json_of(file))).collect();
            let planned: Vec<_> = planned
                .into_iter()
                .map(|hook| configured::ConfiguredHook { planned: Some(hook.run.clone()), ..hook })
                .collect();
            assert_eq!(prove(adapter, &planned, &project, &path, None), None, "{name}");
        });
        assert!(!trace.exists(), "{name}");
    }
    assert!(looked_at >= 15, "{looked_at}");
}

/// Returns what a plan writes into a JSON file.
fn json_of(file: &FilePlan) -> serde_json::Value {
    let FilePlan::Json { entries, .. } = file else { return serde_json::Value::Null };
    let elements = entries.iter().filter_map(|entry| match entry {
        JsonEntry::Element { value, .. } => Some(value.clone()),
        JsonEntry::Default { .. } => None,
    });
    elements.collect()
}

/// Returns the files and directories below a directory, with the contents of the files.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            // The state directory of hookhost stays after the hook was uninstalled.
            if path.ends_with("state") {
                continue;
            }
            found.insert(path.clone(), Vec::new());
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    found
}

fn has_elements(file: &FilePlan) -> bool {
    matches!(file, FilePlan::Json { entries, .. } if entries.iter().any(|entry| matches!(entry, JsonEntry::Element { .. })))
}

#[test]
fn every_agents_hook_is_installed_once_found_again_and_taken_out_without_a_trace() {
    let mut plans = 0;
    for adapter in all() {
        let name = adapter.agent().name;
        for scope in [Scope::User, Scope::Project] {
            let home = Home::new();
            let project = home.path("project");
            std::fs::create_dir(&project).unwrap();
            let before = files(&home.path(""));
            home.with_context(|context| {
                let context = Context { scope, project: &project, ..*context };
                let Ok(plan) = adapter.install(&context) else { return };
                // This agent is a service that a person sets up.
                if plan.files.is_empty() {
                    return;
                }
                plans += 1;
                let dialect = adapter.json_dialect();
                let of = Installation::new(name, scope, &project);
                let apply = || {
                    let changes =
                        install::prepare(&plan, &of, dialect, None).unwrap_or_else(|error| panic!("{name}: {error}"));
                    install::apply(&changes, &home.receipts(), &of, None).unwrap();
                    changes.iter().any(install::FileChange::is_needed)
                };
                assert!(apply(), "{name}: the first time something is written");
                assert!(!apply(), "{name}: the second time nothing is");
                let mut unreadable = Vec::new();
                let installed = doctor::installed(adapter, &context, &mut unreadable);
                assert_eq!(unreadable, [], "{name}");
                let here =
                    installed.iter().find(|installed| installed.scope == scope).unwrap_or_else(|| panic!("{name}"));
                assert_eq!((&here.presence.other, &here.presence.missing), (&vec![], &vec![]), "{name}");
                if let Some((point, _)) = adapter.canary("x", &project) {
                    assert!(
                        here.commands.iter().any(|command| command.is_of(name, point)),
                        "{name}: {:?}",
                        here.commands
                    );
                }
                for file in plan.files.iter().filter(|file| has_elements(file)) {
                    assert_ne!(configured::of_file(file, None).unwrap(), [], "{name}: no command of ours is found");
                }
                let receipt = home.receipts().read(&of).unwrap();
                uninstall::apply(&uninstall::prepare(&plan, &of, receipt.as_ref()).unwrap()).unwrap();
                home.receipts().remove(&of).unwrap();
            });
            assert_eq!(files(&home.path("")), before, "{name}");
        }
    }
    assert!(plans >= 10, "{plans}");
}
