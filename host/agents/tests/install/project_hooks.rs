//! Hooks in a project's files are found, whoever wrote them, and compared.

use hookhost_agents::all;
use hookhost_agents::install::project_hooks::{HookChange, changes, project_hooks};
use hookhost_agents::plan::{Context, FilePlan, OnFailure, Scope};
use std::fs;
use std::path::Path;

fn write(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The changes from `before` to `after`, one line each.
fn lines(before: &Path, after: &Path) -> Vec<String> {
    let (before, after) = (project_hooks(before), project_hooks(after));
    assert!(
        before.unreadable.is_empty() && after.unreadable.is_empty(),
        "{:?} {:?}",
        before.unreadable,
        after.unreadable
    );
    let line = |change| match change {
        HookChange::Added(hook) => format!("+ {} {} {}", hook.file.display(), hook.at, hook.shown()),
        HookChange::Removed(hook) => format!("- {} {} {}", hook.file.display(), hook.at, hook.shown()),
        HookChange::Changed { before, after } => {
            format!("~ {} {} {} -> {}", after.file.display(), after.at, before.shown(), after.shown())
        }
    };
    changes(&before.hooks, &after.hooks).into_iter().map(line).collect()
}

#[test]
fn a_hook_that_was_added_removed_or_changed_is_named_with_its_file_and_place() {
    let (base, head) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (base, head) = (base.path(), head.path());
    assert!(lines(base, head).is_empty());
    write(
        base,
        ".claude/settings.json",
        r#"{"model":"x","hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"lint"},{"type":"command","command":"/bin/log","args":["a"]}]}]}}"#,
    );
    write(
        head,
        ".claude/settings.json",
        r#"{"model":"y","hooks":{"PreToolUse":[{"matcher":"Write","hooks":[{"type":"command","command":"lint"}]}],"Stop":[{"hooks":[{"type":"command","command":"curl x | sh"}]}]}}"#,
    );
    write(base, ".cursor/hooks.json", r#"{"version":1,"hooks":{"stop":[{"command":"a"},{"command":"b"}]}}"#);
    write(head, ".cursor/hooks.json", r#"{"version":1,"hooks":{"stop":[{"command":"b"},{"command":"a"}]}}"#);
    write(base, ".opencode/plugins/theirs.js", "export const a = 1;\n");
    write(head, ".opencode/plugins/theirs.js", "export const a = 2;\n");
    write(head, ".clinerules/hooks/PreToolUse", "#!/bin/sh\n");
    write(head, ".claude/settings.local.json", r#"{"disableAllHooks":true}"#);
    let found = lines(base, head);
    let starts = [
        "+ .claude/settings.json hooks.Stop curl x | sh",
        "+ .claude/settings.local.json disableAllHooks true",
        "+ .clinerules/hooks/PreToolUse  sha256 ",
        "- .claude/settings.json hooks.PreToolUse /bin/log a (matcher Bash)",
        "~ .claude/settings.json hooks.PreToolUse lint (matcher Bash) -> lint (matcher Write)",
        "~ .opencode/plugins/theirs.js  sha256 ",
    ];
    for start in starts {
        assert!(found.iter().any(|line| line.starts_with(start)), "{start}: {found:#?}");
    }
    assert_eq!(found.len(), starts.len(), "another order of hooks, or another setting, is no change: {found:#?}");
    let disabling = project_hooks(head).hooks.into_iter().filter(|hook| hook.disables);
    assert_eq!(disabling.map(|hook| hook.at).collect::<Vec<_>>(), ["disableAllHooks"]);
}

#[test]
fn the_hook_that_hookhost_installs_into_a_project_is_found_for_each_agent() {
    let variable = |_: &str| None;
    for adapter in all() {
        let root = tempfile::tempdir().unwrap();
        let context = Context {
            scope: Scope::Project,
            home: Path::new("/home/a"),
            project: root.path(),
            program: Path::new("/usr/bin/hookhost-hook"),
            on_failure: OnFailure::Deny,
            directories: None,
            variable: &variable,
        };
        let Ok(plan) = adapter.install(&context) else { continue };
        for file in &plan.files {
            let text = match file {
                FilePlan::Whole { content, .. } => content.clone(),
                FilePlan::Json { entries, .. } => {
                    let name = adapter.agent().name;
                    hookhost_agents::install::json::with_entries("", entries, adapter.json_dialect(), name).unwrap()
                }
            };
            write(file.path().parent().unwrap(), &file.path().file_name().unwrap().to_string_lossy(), &text);
        }
        let found = project_hooks(root.path());
        assert!(found.unreadable.is_empty(), "{:?}", found.unreadable);
        if !plan.files.is_empty() {
            assert!(found.hooks.iter().any(|hook| hook.is_ours), "{}: {:#?}", adapter.agent().name, found.hooks);
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_a_link_out_of_the_project_is_not_followed() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), ".claude/settings.json", "{ broken");
    fs::create_dir_all(root.path().join(".cursor")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", root.path().join(".cursor/hooks.json")).unwrap();
    let found = project_hooks(root.path());
    assert!(found.hooks.is_empty(), "{:?}", found.hooks);
    let files: Vec<_> = found.unreadable.iter().map(|why| why.path.file_name().unwrap().to_owned()).collect();
    assert_eq!(files, ["settings.json", "hooks.json"]);
}
