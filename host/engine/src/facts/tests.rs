//! Each source, on files in a directory and with variables of a process that does not exist.

use super::{AgentContext, AgentProcess, FactReader};
use crate::contract::{Fact, FactName, Session, SessionMode, ToolHints};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;

/// A process with these variables.
#[derive(Debug, Default)]
struct Variables(BTreeMap<&'static str, String>);

impl AgentProcess for Variables {
    fn variable(&self, name: &str) -> Result<Option<String>, String> {
        Ok(self.0.get(name).cloned())
    }

    fn user(&self) -> Result<Option<String>, String> {
        Ok(Some("ada".to_owned()))
    }

    fn is_sandboxed(&self) -> Result<Option<bool>, String> {
        Err("the process has ended".to_owned())
    }
}

/// A home directory, which is also the working directory.
struct Home(TempDir, BTreeMap<&'static str, String>);

impl Home {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().to_str().unwrap().to_owned();
        Self(directory, [("HOME", home)].into())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Writes what git needs to take the directory for a repository.
    fn repository(&self, worktree: &str, head: &str) -> &Self {
        for name in ["objects", "refs"] {
            fs::create_dir_all(self.path(&format!("{worktree}/.git/{name}"))).unwrap();
        }
        self.write(&format!("{worktree}/.git/HEAD"), head)
    }

    fn set(mut self, name: &'static str, value: &str) -> Self {
        self.1.insert(name, value.to_owned());
        self
    }

    fn reader(&self) -> FactReader {
        let session = Session { cwd: self.0.path().to_str().unwrap().to_owned(), ..Session::default() };
        let process = Some(Arc::new(Variables(self.1.clone())) as Arc<dyn AgentProcess>);
        let tool = ToolHints { destructive: Some(false), ..ToolHints::default() };
        let mode = Some(SessionMode::AcceptEdits);
        FactReader::new(Arc::new(session), AgentContext { mode, version: None, tool, process, given: None })
    }

    fn fact(&self, name: &str) -> Fact {
        self.fact_at(name, None)
    }

    fn fact_at(&self, name: &str, at: Option<&str>) -> Fact {
        self.reader().read(&FactName::from_name(name).unwrap(), at)
    }

    /// Runs git in a directory, without the configuration of the user who runs the tests.
    fn git(&self, at: &str, arguments: &[&str]) -> &Self {
        let set = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"];
        let mut git = Command::new("git");
        git.args(set).args(arguments).current_dir(self.path(at)).env("GIT_CONFIG_GLOBAL", "/dev/null");
        assert!(git.env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap().status.success(), "git {arguments:?}");
        self
    }
}

fn text(text: &str) -> Fact {
    Fact::Text(text.to_owned())
}

#[track_caller]
fn is_unreadable(fact: &Fact, why: &str) {
    assert!(matches!(fact, Fact::Unreadable(reason) if reason.contains(why)), "{fact:?}");
}

#[test]
fn a_branch_is_that_of_the_repository_around_the_directory() {
    let home = Home::new();
    assert_eq!(home.fact("git.branch"), Fact::Absent);
    home.repository("repo", "ref: refs/heads/feature/x\n").write("repo/sub/deep/file", "");
    assert_eq!(home.fact_at("git.branch", Some("repo/sub/deep")), text("feature/x"));
    assert_eq!(home.fact_at("git.branch", Some(home.path("repo").to_str().unwrap())), text("feature/x"));
    symlink(home.path("repo/sub"), home.path("link")).unwrap();
    assert_eq!(home.fact_at("git.branch", Some("link")), text("feature/x"), "around the target of the link");
    assert_eq!(home.fact_at("git.branch", Some("link/..")), text("feature/x"));
    assert_eq!(home.fact("git.branch"), Fact::Absent);
    home.write("repo/.git/HEAD", "0123456789012345678901234567890123456789\n");
    assert_eq!(home.fact_at("git.branch", Some("repo")), Fact::Absent, "detached");
}

#[test]
fn a_bare_repository_and_one_with_a_link_as_its_head_have_a_branch() {
    let home = Home::new();
    home.git(".", &["init", "--bare", "-b", "main", "bare.git"]).git(".", &["init", "-b", "main", "repo"]);
    assert_eq!(home.fact_at("git.branch", Some("bare.git")), text("main"));
    assert_eq!(home.fact_at("git.branch", Some("bare.git/refs")), text("main"), "below");
    assert_eq!(home.fact_at("git.branch", Some("repo/.git")), text("main"), "within `.git`");
    fs::remove_file(home.path("repo/.git/HEAD")).unwrap();
    symlink("refs/heads/main", home.path("repo/.git/HEAD")).unwrap();
    assert_eq!(home.fact_at("git.branch", Some("repo")), text("main"), "of a branch without a commit");
    home.write("repo/.git/refs/heads/main", "0123456789012345678901234567890123456789\n");
    assert_eq!(home.fact_at("git.branch", Some("repo")), text("main"));
}

#[test]
fn a_repository_that_cannot_be_understood_is_unreadable() {
    for (head, why) in [
        ("", "neither a branch nor a commit"),
        ("ref: refs/heads/.invalid\n", "reftable"),
        (&"x".repeat(9000), "too large"),
    ] {
        let home = Home::new();
        home.repository(".", head);
        is_unreadable(&home.fact("git.branch"), why);
    }
    let home = Home::new();
    home.write("repo/.git", "gitdir: ../nowhere\n").write("bad/.git", "hello\n");
    is_unreadable(&home.fact_at("git.branch", Some("repo")), "no repository");
    is_unreadable(&home.fact_at("git.branch", Some("bad")), "names no directory");
    fs::create_dir_all(home.path("repo2/.git/HEAD")).unwrap();
    is_unreadable(&home.fact_at("git.branch", Some("repo2")), "no regular file");
    nix::unistd::mkfifo(&home.path("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    fs::create_dir_all(home.path("repo3/.git")).unwrap();
    symlink(home.path("fifo"), home.path("repo3/.git/HEAD")).unwrap();
    is_unreadable(&home.fact_at("git.branch", Some("repo3")), "no regular file");
}

#[test]
fn the_variable_git_dir_of_the_agent_chooses_the_repository() {
    let home = Home::new();
    home.repository("a", "ref: refs/heads/topic\n").repository("b", "ref: refs/heads/main\n");
    let home = home.set("GIT_DIR", "../b/.git");
    assert_eq!(home.fact_at("git.branch", Some("a")), text("main"));
    is_unreadable(&home.fact_at("git.branch", Some("missing/a")), "GIT_DIR");
    is_unreadable(&home.set("GIT_COMMON_DIR", "x").fact_at("git.branch", Some("a")), "GIT_COMMON_DIR");
}

#[test]
fn a_branch_that_is_another_name_of_a_branch_or_has_no_valid_name_is_unreadable() {
    let home = Home::new();
    home.git(".", &["init", "-q", "-b", "topic"]).git(".", &["commit", "-q", "--allow-empty", "-m", "a"]);
    home.git(".", &["branch", "main"]).git(".", &["pack-refs", "--all"]);
    assert_eq!(home.fact("git.branch"), text("topic"), "packed");
    home.git(".", &["symbolic-ref", "refs/heads/topic", "refs/heads/main"]);
    is_unreadable(&home.fact("git.branch"), "another name of a branch");
    fs::remove_file(home.path(".git/refs/heads/topic")).unwrap();
    symlink("main", home.path(".git/refs/heads/topic")).unwrap();
    is_unreadable(&home.fact("git.branch"), "another name of a branch");
    for name in ["../heads/main", "a//b", "main\nx", "a b", ".x", "a.lock"] {
        home.write(".git/HEAD", &format!("ref: refs/heads/{name}\n"));
        is_unreadable(&home.fact("git.branch"), "no valid name");
    }
}

#[test]
fn the_directory_of_a_worktree_within_git_has_the_branch_of_this_worktree() {
    let home = Home::new();
    home.git(".", &["init", "-q", "-b", "topic", "repo"]).git("repo", &["commit", "-q", "--allow-empty", "-m", "a"]);
    home.git("repo", &["worktree", "add", "-q", "-b", "main", "../tree"]);
    assert_eq!(home.fact_at("git.branch", Some("repo/.git/worktrees/tree")), text("main"));
    assert_eq!(home.fact_at("git.branch", Some("repo/.git/worktrees")), text("topic"));
}

#[test]
fn a_directory_below_too_many_others_is_unreadable() {
    let home = Home::new();
    home.repository(".", "ref: refs/heads/main\n");
    let deep = "a/".repeat(300);
    fs::create_dir_all(home.path(&deep)).unwrap();
    is_unreadable(&home.fact_at("git.branch", Some(&deep)), "deeper than");
}

#[test]
fn a_remote_that_settings_may_lead_elsewhere_is_unreadable() {
    const GOOD: &str = "[remote \"origin\"]\n\turl = https://good.com/x\n";
    let with = |more: &str| {
        let home = Home::new();
        home.repository(".", "ref: refs/heads/main\n").write(".git/config", &format!("{GOOD}{more}"));
        home
    };
    for (more, why) in [
        ("[include]\npath = x\n", "includes other files"),
        ("[includeIf \"gitdir:/\"]\npath = x\n", "includes other files"),
        ("[remote \"origin\"]\npushurl = https://evil.com/x\n", "another address"),
        ("[remote \"origin\"]\nurl = https://evil.com/x\n", "another address"),
        ("[remote.origin]\nurl = https://evil.com/x\n", "another address"),
        ("[remote]\npushDefault = evil\n[remote \"evil\"]\nurl = https://evil.com/x\n", "another address"),
        ("[branch \"main\"]\npushRemote = evil\n", "another address"),
        ("[x]\ny = a\\\nb\n", "several lines"),
    ] {
        is_unreadable(&with(more).fact("git.remote"), why);
    }
    assert_eq!(with("[branch \"topic\"]\npushRemote = evil\n").fact("git.remote"), text("https://good.com/x"));
    let home = with("");
    let key = |key: &str| with("").set("GIT_CONFIG_COUNT", "1").set("GIT_CONFIG_KEY_0", key).fact("git.remote");
    is_unreadable(&key("URL.https://evil.com/.insteadOf"), "GIT_CONFIG_KEY_0");
    assert_eq!(key("http.sslCAInfo"), text("https://good.com/x"));
    is_unreadable(
        &home.set("GIT_CONFIG_PARAMETERS", "'remote.origin.url=x'").fact("git.remote"),
        "GIT_CONFIG_PARAMETERS",
    );
    let old = Home::new();
    old.repository(".", "ref: refs/heads/main\n").write(".git/config", "").write(".git/remotes/origin", "URL: x\n");
    is_unreadable(&old.fact("git.remote"), "old format");
}

#[test]
fn a_remote_is_the_address_that_git_itself_uses() {
    let home = Home::new();
    home.git(".", &["init", "-q", "-b", "main"]).git(".", &["remote", "add", "a/b", "https://good.com/x"]);
    home.git(".", &["config", "branch.main.remote", "a/b"]);
    assert_eq!(home.fact("git.remote"), text("https://good.com/x"), "of a name with a slash");
    home.git(".", &["config", "url.git@evil.com:.insteadOf", "https://good.com/"]);
    assert_eq!(home.fact("git.remote"), text("git@evil.com:x"));
    home.write(".gitconfig", "\u{feff}[url \"ssh://longer.com/\"]\ninsteadOf = https://good.com/x\n");
    assert_eq!(home.fact("git.remote"), text("ssh://longer.com/"), "the longest text counts");
    home.git(".", &["config", "extensions.worktreeConfig", "true"]);
    home.git(".", &["config", "--worktree", "branch.main.remote", "https://other.com/y"]);
    assert_eq!(home.fact("git.remote"), text("https://other.com/y"), "of the worktree");
}

#[test]
fn a_directory_that_git_takes_for_no_repository_has_no_branch_of_its_own() {
    let home = Home::new();
    home.git(".", &["init", "-q", "-b", "main"]);
    home.write("fake/HEAD", "ref: x\n").write("fake/objects/a", "").write("fake/refs/a", "");
    is_unreadable(&home.fact_at("git.branch", Some("fake")), "neither a branch nor a commit");
    home.write("empty/.git/HEAD", "ref: refs/heads/topic\n");
    is_unreadable(&home.fact_at("git.branch", Some("empty")), "no `objects`");
    home.write("head/HEAD", "ref: refs/heads/topic\n").write("head/objects/a", "");
    assert_eq!(home.fact_at("git.branch", Some("head")), text("main"), "git searches above it, too");
}

#[test]
fn what_git_itself_makes_is_read() {
    let home = Home::new();
    home.write("repo/tracked", "").write("repo/sub/tracked-too", "").write("repo/not", "");
    home.git("repo", &["init", "-q", "-b", "main"]);
    home.git("repo", &["remote", "add", "origin", "https://ada:token@example.com/a/b.git"]);
    home.git("repo", &["remote", "add", "up#stream", "git@example.com:c/d.git"]);
    home.git("repo", &["add", "tracked", "sub"]).git("repo", &["commit", "-qm", "a"]);
    assert_eq!(home.fact_at("git.branch", Some("repo")), text("main"));
    assert_eq!(home.fact_at("git.remote", Some("repo")), text("https://example.com/a/b.git"));
    home.git("repo", &["config", "branch.main.remote", "up#stream"]);
    assert_eq!(home.fact_at("git.remote", Some("repo")), text("git@example.com:c/d.git"));
    home.git("repo", &["worktree", "add", "-q", "-b", "topic", "../tree"]);
    assert_eq!(home.fact_at("git.branch", Some("tree")), text("topic"));
    assert_eq!(home.fact_at("git.remote", Some("tree")), text("https://example.com/a/b.git"));
    assert_eq!(home.fact_at("path.is_tracked", Some("tree/sub/tracked-too")), Fact::Flag(true));
    for (format, version) in [("2", "2"), ("4", "4")] {
        home.git("repo", &["update-index", "--index-version", format]);
        for (path, is_tracked) in [
            ("tracked", true),
            ("sub/tracked-too", true),
            ("sub", true),
            ("not", false),
            ("track", false),
            ("s", false),
        ] {
            let path = format!("repo/{path}");
            assert_eq!(home.fact_at("path.is_tracked", Some(&path)), Fact::Flag(is_tracked), "{path} in {version}");
        }
    }
    symlink(home.path("repo/sub"), home.path("repo/link")).unwrap();
    assert_eq!(home.fact_at("path.is_tracked", Some("repo/link/tracked-too")), Fact::Flag(true));
    assert_eq!(home.fact_at("path.is_tracked", Some("outside")), Fact::Absent);
    assert_eq!(home.fact_at("path.is_tracked", Some("repo/missing/file")), Fact::Flag(false));
    home.git("repo", &["update-index", "--split-index"]);
    is_unreadable(&home.fact_at("path.is_tracked", Some("repo/tracked")), "format");
    home.write("repo/.git/index", "DIRC\0\0\0\x02\0\0\0\x09short");
    is_unreadable(&home.fact_at("path.is_tracked", Some("repo/tracked")), "format");
}

#[test]
fn an_index_with_long_names_of_objects_is_read() {
    let home = Home::new();
    home.write("repo/tracked", "").git("repo", &["init", "-q", "--object-format=sha256"]);
    home.git("repo", &["add", "tracked"]);
    assert_eq!(home.fact_at("path.is_tracked", Some("repo/tracked")), Fact::Flag(true));
    assert_eq!(home.fact_at("path.is_tracked", Some("repo/other")), Fact::Flag(false));
}

#[test]
fn the_context_of_kubectl_is_that_of_the_first_file_that_names_one() {
    let home = Home::new();
    assert_eq!(home.fact("kube.context"), Fact::Absent);
    home.write(".kube/config", "contexts:\n- context:\n    namespace: shop\n  name: prod\ncurrent-context: prod\n");
    assert_eq!((home.fact("kube.context"), home.fact("kube.namespace")), (text("prod"), text("shop")));
    let home = home.set("KUBECONFIG", "missing::a:.kube/config");
    home.write("a", "current-context: dev\ncontexts: []\n");
    assert_eq!((home.fact("kube.context"), home.fact("kube.namespace")), (text("dev"), text("default")));
    home.write("a", "\tcurrent-context: dev\n");
    is_unreadable(&home.fact("kube.context"), "tabs");
}

#[test]
fn the_profile_of_aws_has_the_account_of_its_role_or_its_login() {
    let home = Home::new();
    assert_eq!((home.fact("aws.profile"), home.fact("aws.account")), (Fact::Absent, Fact::Absent));
    home.write(".aws/config", "[default]\nsso_account_id = 111\n[profile p]\nrole_arn = arn:aws:iam::222:role/x\n");
    assert_eq!((home.fact("aws.profile"), home.fact("aws.account")), (text("default"), text("111")));
    let home = home.set("AWS_PROFILE", "p");
    assert_eq!((home.fact("aws.profile"), home.fact("aws.account")), (text("p"), text("222")));
    let home = home.set("AWS_ACCESS_KEY_ID", "k");
    is_unreadable(&home.fact("aws.account"), "AWS_ACCESS_KEY_ID");
}

#[test]
fn the_project_of_gcloud_is_that_of_the_active_configuration() {
    let home = Home::new();
    assert_eq!(home.fact("gcloud.project"), Fact::Absent);
    home.write(".config/gcloud/configurations/config_default", "[core]\nproject = a\n");
    assert_eq!(home.fact("gcloud.project"), text("a"));
    home.write(".config/gcloud/configurations/config_b", "[core]\nproject = b\n[compute]\nproject = c\n");
    home.write(".config/gcloud/active_config", "b\n");
    assert_eq!(home.fact("gcloud.project"), text("b"));
    home.write(".config/gcloud/active_config", "../x");
    is_unreadable(&home.fact("gcloud.project"), "invalid name");
    assert_eq!(home.set("CLOUDSDK_CORE_PROJECT", "d").fact("gcloud.project"), text("d"));
}

#[test]
fn the_workspace_of_terraform_is_that_of_its_directory() {
    let home = Home::new();
    home.write("infra/.terraform/environment", "prod\n").write("new/.terraform/x", "");
    assert_eq!(home.fact("terraform.workspace"), Fact::Absent);
    assert_eq!(home.fact_at("terraform.workspace", Some("infra")), text("prod"));
    assert_eq!(home.fact_at("terraform.workspace", Some("new")), text("default"));
    assert_eq!(home.set("TF_WORKSPACE", "w").fact("terraform.workspace"), text("w"));
}

#[test]
fn the_context_of_docker_is_found_in_its_own_order() {
    let home = Home::new();
    assert_eq!(home.fact("docker.context"), Fact::Absent);
    home.write(".docker/config.json", r#"{"auths":{},"currentContext":"prod"}"#);
    assert_eq!(home.fact("docker.context"), text("prod"));
    home.write(".docker/config.json", r#"{"auths":{}}"#);
    assert_eq!(home.fact("docker.context"), text("default"));
    home.write(".docker/config.json", "{");
    is_unreadable(&home.fact("docker.context"), "JSON");
    let home = home.set("DOCKER_CONTEXT", "c");
    assert_eq!(home.fact("docker.context"), text("c"));
    is_unreadable(&home.set("DOCKER_HOST", "tcp://x").fact("docker.context"), "DOCKER_HOST");
}

#[test]
fn the_agents_own_facts_are_those_that_its_sender_knows() {
    let home = Home::new();
    assert_eq!((home.fact("session.mode"), home.fact("agent.version")), (text("accept-edits"), Fact::Absent));
    assert_eq!((home.fact("tool.destructive"), home.fact("tool.open_world")), (Fact::Flag(false), Fact::Absent));
    assert_eq!(home.fact("user"), text("ada"));
    is_unreadable(&home.fact("session.sandboxed"), "has ended");
}

#[test]
fn a_fact_stays_the_same_within_an_event_and_is_read_anew_for_the_next() {
    let home = Home::new();
    home.repository(".", "ref: refs/heads/a\n");
    let reader = home.reader();
    assert_eq!(reader.read(&FactName::GitBranch, None), text("a"));
    home.write(".git/HEAD", "ref: refs/heads/b\n");
    assert_eq!(reader.read(&FactName::GitBranch, Some(".")), text("a"));
    assert_eq!(reader.renewed().read(&FactName::GitBranch, None), text("b"));
}

#[test]
fn a_path_without_bounds_and_a_text_without_bounds_are_unreadable() {
    let home = Home::new();
    is_unreadable(&home.fact_at("git.branch", Some(&"a".repeat(5000))), "too long");
    is_unreadable(&home.fact_at("git.branch", Some("a\0b")), "zero byte");
    home.repository(".", &format!("ref: refs/heads/{}\n", "a".repeat(5000)));
    is_unreadable(&home.fact("git.branch"), "longer than");
}

#[test]
fn a_path_exists_if_anything_is_there_also_a_broken_link() {
    let home = Home::new();
    home.write("a/b", "");
    symlink(home.path("nowhere"), home.path("link")).unwrap();
    for (path, exists) in [("a", true), ("a/b", true), ("link", true), ("c", false), ("a/b/c", false), ("c/d", false)] {
        assert_eq!(home.fact_at("path.exists", Some(path)), Fact::Flag(exists), "{path}");
    }
    is_unreadable(&home.fact_at("path.exists", Some(&"x".repeat(300))), "looked up");
}
