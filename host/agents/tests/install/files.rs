//! Tests the contents of a user's files before, during and after an installation.

use crate::home::{ANY, Home};
use hookhost_agents::install::receipt::{Content, Installation};
use hookhost_agents::install::{self, json};
use hookhost_agents::plan::Scope;
use install::uninstall::UndoAction;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

const THEIRS: &str = "{\n    // mine\n    \"model\": \"big\", \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"beep\"}]}]},\n}";

#[test]
fn uninstalling_puts_a_file_back_byte_for_byte_and_removes_one_that_was_not_there() {
    for text in [THEIRS, "", "{}", "{\"a\":1}\r\n", "\u{feff}{\"hooks\":{}}"] {
        let home = Home::new();
        home.write(text);
        home.install().unwrap();
        assert_ne!(home.read(), text);
        assert_eq!(home.uninstall().unwrap(), [UndoAction::Restore(text.as_bytes().to_vec())]);
        assert_eq!(home.read(), text);
    }
    let home = Home::new();
    home.install().unwrap();
    assert_eq!(home.uninstall().unwrap(), [UndoAction::Remove]);
    assert!(!home.path(".claude").exists(), "its directory was made for it");
    assert_eq!(home.uninstall().unwrap(), [UndoAction::Nothing]);
}

#[test]
fn installing_again_changes_nothing_and_keeps_what_was_there_first() {
    let home = Home::new();
    home.write(THEIRS);
    home.install().unwrap();
    let (once, written) = (home.read(), home.settings().metadata().unwrap().ino());
    home.install().unwrap();
    assert_eq!((home.read(), home.settings().metadata().unwrap().ino()), (once, written));
    let receipt = home.receipts().read(&Home::installation()).unwrap().unwrap();
    assert_eq!(receipt.files[0].before, Some(Content::of(THEIRS.as_bytes())));
    assert_eq!(receipt.agent_version.as_deref(), Some("2.1.330"));
    // An entry in another form than the planned form is written again.
    home.write(&home.read().replacen("330", "5", 1));
    home.install().unwrap();
    let receipt = home.receipts().read(&Home::installation()).unwrap().unwrap();
    assert_eq!(receipt.files[0].before, Some(Content::of(THEIRS.as_bytes())));
    assert!(receipt.files[0].changed_between);
}

#[test]
fn of_a_file_that_somebody_changed_only_our_entries_are_taken() {
    let home = Home::new();
    home.write(THEIRS);
    home.install().unwrap();
    home.write(&home.read().replace("// mine", "// mine\n    \"more\": true,"));
    let undone = home.uninstall().unwrap();
    assert!(matches!(undone.as_slice(), [UndoAction::RemoveEntries(_)]), "{undone:?}");
    let expected = json::value(&THEIRS.replace("// mine", "\"more\": true,")).unwrap();
    assert_eq!(json::value(&home.read()).unwrap(), expected);
    assert!(home.read().contains("// mine"));
}

#[test]
fn what_somebody_changed_between_two_installations_is_not_undone() {
    let home = Home::new();
    home.write("{\"model\": \"big\"}");
    home.install().unwrap();
    home.write(&home.read().replace("big", "small"));
    home.install().unwrap();
    assert!(matches!(home.uninstall().unwrap().as_slice(), [UndoAction::RemoveEntries(_)]));
    assert_eq!(json::value(&home.read()).unwrap(), serde_json::json!({ "model": "small" }));
}

#[test]
fn without_a_receipt_our_entries_are_taken_out() {
    let home = Home::new();
    home.write("{\"model\": \"big\"}");
    home.install().unwrap();
    fs::remove_dir_all(home.path("state")).unwrap();
    home.install().unwrap();
    assert!(matches!(home.uninstall().unwrap().as_slice(), [UndoAction::RemoveEntries(_)]));
    assert_eq!(json::value(&home.read()).unwrap(), serde_json::json!({ "model": "big" }));
}

#[test]
fn a_file_that_changes_between_reading_and_writing_stays_and_so_do_the_receipts() {
    let home = Home::new();
    home.write("{}");
    let changes = install::prepare(&home.plan(), &Home::installation(), ANY, None).unwrap();
    home.write("{\"theirs\": 1}");
    let error = install::apply(&changes, &home.receipts(), &Home::installation(), None).unwrap_err();
    assert!(error.to_string().contains("was changed by somebody else meanwhile, so it is left as it is: try again"));
    assert_eq!(home.read(), "{\"theirs\": 1}");
    assert_eq!(home.receipts().read(&Home::installation()).unwrap(), None);
}

#[test]
fn a_broken_file_stays_as_it_is() {
    for (text, why) in [
        ("{\"hooks\": ", "is not valid JSON (line 1"),
        ("[1]", "is not a JSON object"),
        ("{\"hooks\": 7}", "has `hooks`, which is not an object"),
    ] {
        let home = Home::new();
        home.write(text);
        for error in [home.install().unwrap_err(), home.install().unwrap_err()] {
            assert!(
                error.to_string().contains(why) && error.to_string().contains("left as it is: correct it"),
                "{error}"
            );
        }
        assert_eq!(home.read(), text);
        assert!(!home.path("state").exists());
    }
    let home = Home::new();
    fs::create_dir(home.path(".claude")).unwrap();
    fs::write(home.settings(), b"{\"a\": \"\xff\"}").unwrap();
    assert!(home.install().unwrap_err().to_string().contains("is not UTF-8"));
}

#[test]
fn where_one_file_of_several_cannot_be_written_the_others_are_put_back() {
    use hookhost_agents::plan::{FilePlan, JsonEntry, Plan};
    let home = Home::new();
    home.write("{\"a\": 1}");
    let entry =
        || JsonEntry::element(&["hooks", "Stop"], serde_json::json!({ "command": "/bin/hookhost-hook x Stop" }));
    let json = |path| FilePlan::Json { path, entries: vec![entry()] };
    let second = home.path("other.json");
    fs::write(&second, "{}").unwrap();
    let third = home.path("new/made.json");
    let of = Installation::new("x", Scope::User, std::path::Path::new("/project"));
    let plan = Plan::new(vec![json(home.settings()), json(third.clone()), json(second.clone())]);
    let changes = install::prepare(&plan, &of, ANY, None).unwrap();
    fs::write(&second, "{ }").unwrap();
    let error = install::apply(&changes, &home.receipts(), &Home::installation(), None).unwrap_err();
    assert_eq!(error.path, second);
    assert_eq!((home.read().as_str(), fs::read_to_string(&second).unwrap().as_str()), ("{\"a\": 1}", "{ }"));
    assert!(!third.exists() && !home.path("new").exists());
    assert_eq!(home.receipts().read(&Home::installation()).unwrap(), None);
}

#[test]
fn receipts_are_the_users_alone_and_a_foreign_one_is_refused() {
    let home = Home::new();
    home.install().unwrap();
    let directory = home.path("state/installed");
    let file = directory.join("claude-code.user.json");
    assert_eq!(directory.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    for text in ["", "{}", "not json"] {
        fs::write(&file, text).unwrap();
        let error = home.receipts().read(&Home::installation()).unwrap_err();
        assert!(error.to_string().contains("is not a receipt of this version"), "{error}");
        assert!(home.install().is_err(), "what was there before must not be forgotten");
    }
    let bytes = [0, 0xff, b'a'];
    assert_eq!(Content::of(&bytes).bytes().unwrap(), bytes);
}

#[test]
fn a_whole_file_is_written_and_removed_and_one_that_somebody_changed_is_left() {
    use hookhost_agents::plan::{FilePlan, Plan};
    let home = Home::new();
    let path = home.path("hooks/PreToolUse");
    let plan =
        || Plan::new(vec![FilePlan::Whole { path: path.clone(), content: "#!/bin/sh\n".to_owned(), is_program: true }]);
    let of = Home::installation();
    let receipt = || home.receipts().read(&of).unwrap();
    let apply = || {
        let changes = install::prepare(&plan(), &of, ANY, receipt().as_ref())?;
        install::apply(&changes, &home.receipts(), &of, None)
    };
    let undo = || {
        let undoings = install::uninstall::prepare(&plan(), &of, receipt().as_ref()).unwrap();
        install::uninstall::apply(&undoings).unwrap();
        home.receipts().remove(&of).unwrap();
        undoings.into_iter().map(|undoing| undoing.undo).collect::<Vec<_>>()
    };
    apply().unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o100, 0o100);
    assert_eq!(undo(), [UndoAction::Remove]);
    assert!(!path.exists());
    apply().unwrap();
    fs::write(&path, "#!/bin/sh\nmine\n").unwrap();
    assert_eq!(undo(), [UndoAction::Leave]);
    assert!(path.exists());
}

#[test]
fn a_whole_file_that_somebody_else_has_written_is_never_overwritten() {
    use hookhost_agents::plan::{FilePlan, Plan};
    let of = Home::installation();
    for is_program in [true, false] {
        let home = Home::new();
        let path = home.path("hooks/PreToolUse");
        let plan = |content: &str| {
            Plan::new(vec![FilePlan::Whole { path: path.clone(), content: content.to_owned(), is_program }])
        };
        let apply = |content: &str| {
            let receipt = home.receipts().read(&of).unwrap();
            let changes = install::prepare(&plan(content), &of, ANY, receipt.as_ref())?;
            install::apply(&changes, &home.receipts(), &of, None)
        };
        fs::create_dir(home.path("hooks")).unwrap();
        let guard = "#!/bin/sh\n# my guard\nexec /bin/hookhost-hook cline PreToolUse\n";
        fs::write(&path, guard).unwrap();
        let planned = "#!/bin/sh\nexec '/a b/hookhost-hook' cline PreToolUse\n";
        let error = apply(planned).unwrap_err().to_string();
        assert!(error.contains("hookhost has not written it, so it is left as it is"), "{error}");
        let line = "add the line `exec '/a b/hookhost-hook' cline PreToolUse` to it";
        assert_eq!(error.contains(line), is_program, "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), guard);
        // A file belongs to hookhost if it has the planned content or the content of an earlier plan.
        fs::write(&path, planned).unwrap();
        apply(planned).unwrap();
        apply("#!/bin/sh\nexec /new/hookhost-hook cline PreToolUse\n").unwrap();
        fs::write(&path, guard).unwrap();
        apply(planned).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), guard);
    }
}

#[test]
fn no_file_outside_of_a_project_is_changed_through_a_link_of_it() {
    use hookhost_agents::plan::Context;
    use std::os::unix::fs::symlink;
    for (agent, link) in [
        ("cline", ".clinerules/hooks/PreToolUse"),
        ("cline", ".clinerules/hooks"),
        ("claude-code", ".claude/settings.json"),
        ("claude-code", ".claude"),
        ("copilot-cli", ".github"),
    ] {
        let home = Home::new();
        let (project, mine) = (home.path("project"), home.path("mine"));
        let link = project.join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        fs::create_dir(&mine).unwrap();
        fs::write(mine.join("settings.json"), "{}").unwrap();
        let is_file = link.extension().is_some() || link.ends_with("PreToolUse");
        symlink(if is_file { mine.join("settings.json") } else { mine.clone() }, &link).unwrap();
        let adapter = hookhost_agents::by_name(agent).unwrap();
        let of = Installation::new(agent, Scope::Project, &project);
        home.with_context(|context| {
            let plan = adapter.install(&Context { scope: Scope::Project, project: &project, ..*context }).unwrap();
            let error = install::prepare(&plan, &of, adapter.json_dialect(), None).unwrap_err();
            assert!(error.what.contains("a symbolic link leads to "), "{error}");
            let error = install::uninstall::prepare(&plan, &of, None).unwrap_err();
            assert!(error.what.contains("a symbolic link leads to "), "{error}");
        });
        assert_eq!(fs::read_dir(&mine).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(mine.join("settings.json")).unwrap(), "{}");
    }
}

#[test]
fn two_agents_share_a_file_and_one_leaves_the_others_hook_alone() {
    use hookhost_agents::install::uninstall;
    use hookhost_agents::plan::Context;
    let home = Home::new();
    home.write("{\"model\": \"big\"}");
    let mods = hookhost_agents::by_name("claude-code-mods").unwrap();
    let of = Installation::new("claude-code-mods", Scope::User, std::path::Path::new("/project"));
    let plan = home.with_context(|context| mods.install(&Context { ..*context }).unwrap());
    home.install().unwrap();
    let alone = home.read();
    let changes = install::prepare(&plan, &of, mods.json_dialect(), None).unwrap();
    install::apply(&changes, &home.receipts(), &of, None).unwrap();
    assert!(home.read().contains("hookhost@hookhost") && home.read().contains("\"PreToolUse\""));
    let receipt = home.receipts().read(&of).unwrap();
    uninstall::apply(&uninstall::prepare(&plan, &of, receipt.as_ref()).unwrap()).unwrap();
    assert_eq!(json::value(&home.read()).unwrap(), json::value(&alone).unwrap());
    home.uninstall().unwrap();
    assert_eq!(json::value(&home.read()).unwrap(), serde_json::json!({ "model": "big" }));
}

#[test]
fn a_command_of_somebody_else_that_calls_the_hook_stays() {
    let home = Home::new();
    let theirs = "log.sh; /bin/hookhost-hook claude-code Stop";
    home.write(&format!(
        "{{\"hooks\": {{\"Stop\": [{{\"hooks\": [{{\"type\": \"command\", \"command\": \"{theirs}\"}}]}}]}}}}"
    ));
    home.install().unwrap();
    home.install().unwrap();
    let installed = home.read();
    assert_eq!(installed.matches(theirs).count(), 1);
    home.write(&format!("{installed}\n"));
    home.uninstall().unwrap();
    assert!(home.read().contains(theirs) && !home.read().contains("PreToolUse"), "{}", home.read());
}
