//! Checks out the commit to compare with. It is checked out in a work tree below the target directory.

use std::{fs, path::Path, process::Command};

use xtask::{
    Outcome,
    workspace::{Workspace, output, say},
};

/// Paths of the code with which a benchmark takes turns with another benchmark. This commit has the first path, and earlier commits have
/// the second path.
const TURNS: [&str; 2] = ["bench/src/turns.rs", "host/bench-table/src/turns.rs"];

/// Returns the commit that a reference names.
pub(crate) fn commit(workspace: &Workspace, reference: &str) -> Outcome<String> {
    let commit = format!("{reference}^{{commit}}");
    output(&mut git(workspace, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]))
        .map_err(|_| format!("git knows no commit `{reference}` here"))
}

/// Checks out `commit`, and returns its workspace. Existing files that do not differ are not written again, so that cargo does not compile
/// them again.
pub(crate) fn check_out(workspace: &Workspace, commit: &str) -> Outcome<Workspace> {
    let (directory, sources) = (workspace.compared(), workspace.compared_sources());
    let note = directory.join("commit");
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", directory.display());
    fs::create_dir_all(&directory).map_err(failed)?;
    if !(sources.is_dir() && fs::read_to_string(&note).is_ok_and(|noted| noted == commit)) {
        let _ = fs::remove_file(&note);
        say(&format!("the sources of {commit}"));
        if !switch(workspace, &sources, commit) {
            // An error does not matter here: the work tree may be missing or belong to another clone.
            let _ = git(workspace, &["worktree", "remove", "--force"]).arg(&sources).output();
            let _ = fs::remove_dir_all(&sources);
            output(git(workspace, &["worktree", "add", "--quiet", "--force", "--detach"]).arg(&sources).arg(commit))?;
        }
        fs::write(&note, commit).map_err(failed)?;
    }
    if !TURNS.iter().any(|file| sources.join(file).exists()) {
        return Err(format!("the benchmarks of {commit} cannot measure in turns: it is too old to be compared"));
    }
    workspace.other(sources)
}

/// Switches an existing work tree to another commit. Returns true on success.
fn switch(workspace: &Workspace, sources: &Path, commit: &str) -> bool {
    let there = |arguments: &[&str]| output(git(workspace, arguments).current_dir(sources));
    // If the directory itself is not a work tree, git uses the work tree that contains the directory. This work tree belongs to the user
    // and must not change.
    let is_work_tree = there(&["rev-parse", "--show-toplevel"])
        .is_ok_and(|top| sources.canonicalize().is_ok_and(|sources| sources == Path::new(&top)));
    // Discard the files that this program has written in the work tree.
    is_work_tree
        && there(&["checkout", "--quiet", "--force", "--detach", commit]).is_ok()
        && there(&["clean", "-ffdxq"]).is_ok()
}

fn git(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.args(arguments).current_dir(&workspace.root);
    git
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_commit_takes_the_place_of_the_last_one_and_touches_only_what_differs() {
        let root = std::env::temp_dir().join(format!("bench-compare-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        let root = root.canonicalize().unwrap();
        let workspace = Workspace::unlocked(&root);
        let git = |arguments: &[&str]| {
            let identity = ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false"];
            output(git(&workspace, &identity).args(arguments)).unwrap()
        };
        git(&["init", "--quiet"]);
        fs::write(root.join("same"), "same").unwrap();
        git(&["add", "same"]);
        git(&["commit", "--quiet", "--message", "old"]);
        let old = git(&["rev-parse", "HEAD"]);
        fs::create_dir_all(root.join(TURNS[0]).parent().unwrap()).unwrap();
        fs::write(root.join(TURNS[0]), "turns").unwrap();
        let commits = ["one", "two"].map(|text| {
            fs::write(root.join("differs"), text).unwrap();
            git(&["add", "differs", TURNS[0]]);
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
        // Without its link to the clone, the directory is a part of the work tree that contains it.
        fs::remove_file(sources.join(".git")).unwrap();
        fs::write(root.join("differs"), "not committed").unwrap();
        check_out(&workspace, &commits[0]).unwrap();
        assert_eq!(differs(), "one");
        assert_eq!(fs::read_to_string(root.join("differs")).unwrap(), "not committed");
        assert!(check_out(&workspace, &old).is_err_and(|why| why.ends_with("it is too old to be compared")));
        fs::remove_dir_all(root).unwrap();
    }
}
