//! Checks out the commit to compare with, in a work tree below the target directory.

use std::{fs, path::Path, process::Command};

use crate::{
    Outcome,
    workspace::{Workspace, output, say},
};

/// The crate that times and prints the rows.
const TABLE: &str = "host/bench-table/src";

/// Its file for turns.
const TURNS: &str = "turns.rs";

/// Returns the commit that a reference names.
pub(crate) fn commit(workspace: &Workspace, reference: &str) -> Outcome<String> {
    let commit = format!("{reference}^{{commit}}");
    output(&mut git(workspace, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]))
        .map_err(|_| format!("git knows no commit `{reference}` here"))
}

/// Returns the workspace of that commit. Existing files that do not differ stay untouched, so that they are not built again.
pub(crate) fn check_out(workspace: &Workspace, commit: &str) -> Outcome<Workspace> {
    let (directory, sources) = (workspace.compared(), workspace.compared_sources());
    let note = directory.join("commit");
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", directory.display());
    fs::create_dir_all(&directory).map_err(failed)?;
    if !(sources.is_dir() && fs::read_to_string(&note).is_ok_and(|noted| noted == commit)) {
        let _ = fs::remove_file(&note);
        say(&format!("the sources of {commit}"));
        if !switch(workspace, &sources, commit) {
            // This fails for a missing work tree, or one of another clone, which does not matter.
            let _ = git(workspace, &["worktree", "remove", "--force"]).arg(&sources).output();
            let _ = fs::remove_dir_all(&sources);
            output(git(workspace, &["worktree", "add", "--quiet", "--force", "--detach"]).arg(&sources).arg(commit))?;
        }
        fs::write(&note, commit).map_err(failed)?;
    }
    take_turns(&workspace.root.join(TABLE), &sources.join(TABLE))?;
    workspace.other(sources)
}

/// Switches an existing work tree to another commit. Returns true on success.
fn switch(workspace: &Workspace, sources: &Path, commit: &str) -> bool {
    let there = |arguments: &[&str]| output(git(workspace, arguments).current_dir(sources));
    // A directory that is no work tree belongs to the one around it, which is the user's and must not change.
    let is_work_tree = there(&["rev-parse", "--show-toplevel"])
        .is_ok_and(|top| sources.canonicalize().is_ok_and(|sources| sources == Path::new(&top)));
    // Removes the files that this program has written there.
    is_work_tree
        && there(&["checkout", "--quiet", "--force", "--detach", commit]).is_ok()
        && there(&["clean", "-ffdxq"]).is_ok()
}

/// Replaces the crate that times and prints the rows in a commit from before the turns. The measured code stays that of the commit.
fn take_turns(ours: &Path, theirs: &Path) -> Outcome {
    if !theirs.is_dir() {
        return Err(format!("the commit has no {TABLE}, which prints the rows: it is too old to be compared"));
    }
    if theirs.join(TURNS).exists() && !theirs.join(".ours").exists() {
        return Ok(());
    }
    let failed = |error: std::io::Error| format!("cannot give {} its turns: {error}", theirs.display());
    fs::write(theirs.join(".ours"), "").map_err(failed)?;
    for entry in fs::read_dir(ours).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        let (text, copy) = (fs::read(&file).map_err(failed)?, theirs.join(file.file_name().unwrap_or_default()));
        // Equal files stay untouched, so that they are not built again.
        if !fs::read(&copy).is_ok_and(|there| there == text) {
            fs::write(&copy, text).map_err(failed)?;
        }
    }
    Ok(())
}

fn git(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.args(arguments).current_dir(&workspace.root);
    git
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn directories(name: &str) -> (PathBuf, PathBuf) {
        let directory = std::env::temp_dir().join(format!("xtask-compare-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        let (ours, theirs) = (directory.join("ours"), directory.join("theirs"));
        fs::create_dir_all(&ours).unwrap();
        fs::write(ours.join(TURNS), "turns").unwrap();
        fs::write(ours.join("table.rs"), "our table").unwrap();
        (ours, theirs)
    }

    #[test]
    fn another_commit_takes_the_place_of_the_last_one_and_touches_only_what_differs() {
        let (root, _) = directories("checkout");
        let root = root.parent().unwrap().canonicalize().unwrap();
        let workspace = Workspace::of(&root);
        let git = |arguments: &[&str]| {
            let identity = ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false"];
            output(git(&workspace, &identity).args(arguments)).unwrap()
        };
        git(&["init", "--quiet"]);
        fs::create_dir_all(root.join(TABLE)).unwrap();
        fs::write(root.join(TABLE).join(TURNS), "turns").unwrap();
        fs::write(root.join("same"), "same").unwrap();
        let commits = ["one", "two"].map(|text| {
            fs::write(root.join("differs"), text).unwrap();
            git(&["add", "same", "differs", TABLE]);
            git(&["commit", "--quiet", "--message", text]);
            git(&["rev-parse", "HEAD"])
        });
        let sources = workspace.compared_sources();
        let differs = || fs::read_to_string(sources.join("differs")).unwrap();

        assert_eq!(check_out(&workspace, &commits[0]).unwrap().root, sources);
        assert_eq!(differs(), "one");
        let written = || fs::metadata(sources.join("same")).unwrap().modified().unwrap();
        let first_written = written();
        fs::write(sources.join("written"), "by us").unwrap();
        check_out(&workspace, &commits[1]).unwrap();
        assert_eq!(differs(), "two");
        assert!(!sources.join("written").exists());
        assert_eq!(written(), first_written);

        fs::remove_dir_all(&sources).unwrap();
        check_out(&workspace, &commits[1]).unwrap();
        assert_eq!(differs(), "two");
        // Without its link to the clone, it is part of the work tree around it.
        fs::remove_file(sources.join(".git")).unwrap();
        fs::write(root.join("differs"), "not committed").unwrap();
        check_out(&workspace, &commits[0]).unwrap();
        assert_eq!(differs(), "one");
        assert_eq!(fs::read_to_string(root.join("differs")).unwrap(), "not committed");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_commit_without_turns_gets_the_table_of_this_work_tree_each_time() {
        let (ours, theirs) = directories("without");
        fs::create_dir_all(&theirs).unwrap();
        fs::write(theirs.join("table.rs"), "their table").unwrap();
        let table = || fs::read_to_string(theirs.join("table.rs")).unwrap();
        take_turns(&ours, &theirs).unwrap();
        assert_eq!(table(), "our table");
        fs::write(ours.join("table.rs"), "our new table").unwrap();
        take_turns(&ours, &theirs).unwrap();
        assert_eq!(table(), "our new table");
    }

    #[test]
    fn a_commit_that_takes_turns_keeps_its_table_and_one_without_a_table_is_refused() {
        let (ours, theirs) = directories("with");
        let why = take_turns(&ours, &theirs).unwrap_err();
        assert!(why.ends_with("it is too old to be compared"), "{why}");
        fs::create_dir_all(&theirs).unwrap();
        fs::write(theirs.join(TURNS), "their turns").unwrap();
        fs::write(theirs.join("table.rs"), "their table").unwrap();
        take_turns(&ours, &theirs).unwrap();
        assert_eq!(fs::read_to_string(theirs.join("table.rs")).unwrap(), "their table");
    }
}
