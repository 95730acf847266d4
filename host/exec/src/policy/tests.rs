use super::{NetworkAccess, Places, Policy, SandboxSettings};
use crate::plan::Treatment::{Hidden, Masked, ReadOnly, Writable};
use crate::plan::{Guard, Treatment};
use hookhost_contract::rule::RuleRow;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// A machine in a scratch directory, with a home and a project.
struct Machine {
    root: tempfile::TempDir,
    variables: Vec<(&'static str, PathBuf)>,
    user: u32,
}

impl Machine {
    fn new(files: &[&str]) -> Self {
        let machine = Self { root: tempfile::tempdir().unwrap(), variables: Vec::new(), user: 1000 };
        let own = [
            "home/me/.config/hookhost/keys.toml",
            "home/me/.local/state/hookhost/http.token",
            "home/me/.cache/hookhost/a",
            "work/.git/config",
            "work/.git/hooks/a",
        ];
        for file in own.iter().chain(files) {
            let path = machine.path(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        machine
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(path)
    }

    fn policy(&self, settings: &str, rules: &str) -> Policy {
        #[derive(serde::Deserialize)]
        struct Rules {
            #[serde(default)]
            rule: Vec<RuleRow>,
        }
        let settings: SandboxSettings = toml::from_str(settings).unwrap();
        assert_eq!(settings.mistakes(), [""; 0]);
        let variable = |name: &str| -> Option<OsString> {
            self.variables.iter().find(|(other, _)| *other == name).map(|(_, path)| path.clone().into())
        };
        let places = Places {
            root: self.path(""),
            home: self.path("home/me"),
            config: self.path("home/me/.config/hookhost"),
            state: self.path("home/me/.local/state/hookhost"),
            cache: self.path("home/me/.cache/hookhost"),
            runtime: Some(self.path("run/user/1000")),
            project: self.path("work"),
            directory: self.path("work/inner/deep"),
            programs: vec![self.path("home/me/.cargo/bin/hookhost")],
            user: self.user,
            variable: &variable,
        };
        Policy::new(&places, &settings, &toml::from_str::<Rules>(rules).unwrap().rule)
    }

    /// Returns the guards as pairs of a path below the root and its treatment.
    fn guards(&self, policy: &Policy) -> Vec<(String, Treatment)> {
        let root = self.path("");
        let pair = |guard: &Guard| (guard.path.strip_prefix(&root).unwrap().display().to_string(), guard.treatment);
        policy.guards.iter().map(pair).collect()
    }

    fn treatment(&self, policy: &Policy, path: &str) -> Option<Treatment> {
        self.guards(policy).into_iter().find(|(other, _)| other == path).map(|(_, treatment)| treatment)
    }
}

fn says(policy: &Policy, text: &str) -> bool {
    policy.gaps.iter().any(|gap| gap.sentence.contains(text))
}

#[test]
fn own_files_settings_keys_and_files_that_run_later_are_guarded() {
    let machine = Machine::new(&[
        "home/me/.claude/settings.json",
        "home/me/.claude/settings.local.json",
        "home/me/.bashrc",
        "home/me/.ssh/id_ed25519",
        "home/me/.ssh/id_ed25519.pub",
        "home/me/.ssh/known_hosts",
        "home/me/.cargo/bin/hookhost",
        "etc/claude-code/managed-settings.json",
        "work/.claude/settings.json",
        "work/hookhost.toml",
        "work/inner/.mcp.json",
        "work/other/.mcp.json",
        "work/src/main.rs",
    ]);
    let policy = machine.policy("", "");
    let expected = [
        ("etc/claude-code", ReadOnly),
        ("home/me/.bashrc", ReadOnly),
        ("home/me/.cache/hookhost", ReadOnly),
        ("home/me/.cargo/bin", ReadOnly),
        ("home/me/.cargo/bin/hookhost", ReadOnly),
        ("home/me/.claude/settings.json", ReadOnly),
        ("home/me/.claude/settings.local.json", ReadOnly),
        ("home/me/.config/hookhost", ReadOnly),
        ("home/me/.config/hookhost/keys.toml", Hidden),
        ("home/me/.local/state/hookhost", ReadOnly),
        ("home/me/.local/state/hookhost/http.token", Hidden),
        ("home/me/.ssh/id_ed25519", Hidden),
        ("work/.claude/settings.json", ReadOnly),
        ("work/.git/hooks", ReadOnly),
        ("work/hookhost.toml", ReadOnly),
        ("work/inner/.mcp.json", ReadOnly),
    ];
    assert_eq!(machine.guards(&policy), expected.map(|(path, treatment)| (path.to_owned(), treatment)));
    // What is not there is watched, and so is what later files can match.
    let is_absent = |path: &str| policy.absent.iter().any(|absent| absent.path == machine.path(path));
    for path in [
        "home/me/.codex/config.toml",
        "home/me/.claude/settings*.json",
        "work/.mcp.json",
        "home/me/.profile",
        "home/me/.ssh/id_*",
    ] {
        assert!(is_absent(path), "{path}");
    }
    assert!(!is_absent("home/me/.bashrc") && !is_absent("home/me/.claude.json"));
    let restored: Vec<&Path> = policy.restored.iter().map(|file| file.path.as_path()).collect();
    for path in ["home/me/.claude.json", "home/me/.copilot/config.json", "work/.git/config"] {
        assert!(restored.contains(&machine.path(path).as_path()), "{path}");
    }
    assert!(says(&policy, "settings.json of claude-code is read-only"), "{:?}", policy.gaps);
    assert!(says(&policy, "ssh has no key inside"), "{:?}", policy.gaps);
}

#[test]
fn a_variable_leads_to_the_settings() {
    let mut machine = Machine::new(&[
        "c/config.toml",
        "c/hooks.json",
        "k/.claude.json",
        "k/settings.json",
        "x/goose/config.yaml",
        "amp.json",
    ]);
    machine.variables = vec![
        ("CODEX_HOME", machine.path("c")),
        ("CLAUDE_CONFIG_DIR", machine.path("k")),
        ("XDG_CONFIG_HOME", machine.path("x")),
        ("AMP_SETTINGS_FILE", machine.path("amp.json")),
    ];
    let policy = machine.policy("", "");
    for path in ["c/config.toml", "c/hooks.json", "k/settings.json", "x/goose", "amp.json"] {
        assert_eq!(machine.treatment(&policy, path), Some(ReadOnly), "{path}");
    }
    assert_eq!(machine.treatment(&policy, "k/.claude.json"), None);
    assert!(policy.restored.iter().any(|file| file.path == machine.path("k/.claude.json")));
    // The user may choose that Codex keeps its settings.
    let policy = machine.policy("restore = ['codex']", "");
    assert_eq!(machine.treatment(&policy, "c/config.toml"), None);
    let codex = policy.restored.iter().find(|file| file.path == machine.path("c/config.toml")).unwrap();
    assert!(codex.keys.contains(&"mcp_servers".to_owned()) && codex.format == super::FileFormat::Toml);
}

#[test]
fn a_link_is_guarded_and_so_is_what_it_leads_to() {
    let mut machine = Machine::new(&["home/me/dotfiles/bashrc", "home/me/dotfiles/claude/settings.json"]);
    // Links in directories of root need no guard, except for root.
    machine.user = std::os::unix::fs::MetadataExt::uid(&machine.path("").metadata().unwrap());
    symlink("dotfiles/bashrc", machine.path("home/me/.bashrc")).unwrap();
    symlink("dotfiles/claude", machine.path("home/me/.claude")).unwrap();
    let policy = machine.policy("", "");
    for path in
        ["home/me/.bashrc", "home/me/dotfiles/bashrc", "home/me/.claude", "home/me/dotfiles/claude/settings.json"]
    {
        assert_eq!(machine.treatment(&policy, path), Some(ReadOnly), "{path}");
    }
}

#[test]
fn what_an_agent_installs_for_itself_stays_writable_if_it_is_there() {
    let machine = Machine::new(&["home/me/.config/opencode/opencode.json", "home/me/.config/opencode/node_modules/a"]);
    let policy = machine.policy("", "");
    assert_eq!(machine.treatment(&policy, "home/me/.config/opencode"), Some(ReadOnly));
    assert_eq!(machine.treatment(&policy, "home/me/.config/opencode/node_modules"), Some(Writable));
    assert!(says(&policy, "opencode cannot make ~/.config/opencode/package.json"), "{:?}", policy.gaps);
}

#[test]
fn the_user_opens_files_that_run_later_and_neither_keys_nor_own_files() {
    let machine = Machine::new(&[
        "home/me/.local/bin/x",
        "home/me/.ssh/id_rsa",
        "home/me/.config/goose/config.yaml",
        "home/me/.config/fish/a",
    ]);
    let settings = "write = ['~/.local/bin', '~/.ssh/id_rsa', '~/.config/hookhost', '~/.config/goose/config.yaml', '~/.config/fish/no']";
    let policy = machine.policy(settings, "");
    assert_eq!(machine.treatment(&policy, "home/me/.local/bin"), None);
    assert_eq!(machine.treatment(&policy, "home/me/.config/goose"), Some(ReadOnly));
    assert_eq!(machine.treatment(&policy, "home/me/.config/goose/config.yaml"), Some(Writable));
    assert_eq!(machine.treatment(&policy, "home/me/.ssh/id_rsa"), Some(Hidden));
    assert_eq!(machine.treatment(&policy, "home/me/.config/hookhost"), Some(ReadOnly));
    assert_eq!(machine.treatment(&policy, "home/me/.config/hookhost/keys.toml"), Some(Hidden));
    assert!(says(&policy, "names ~/.ssh/id_rsa, and ~/.ssh/id_rsa stays guarded (key)"), "{:?}", policy.gaps);
    assert!(says(&policy, "names ~/.config/hookhost, and ~/.config/hookhost stays guarded"), "{:?}", policy.gaps);
    assert!(says(&policy, "names ~/.config/fish/no, which does not exist"), "{:?}", policy.gaps);
    assert_eq!(policy.network, NetworkAccess::All);
}

#[test]
fn sockets_that_lead_out_are_masked() {
    let mut machine = Machine::new(&["run/user/1000/hookhost/x", "proc/net/x", "tmp/tmux-1000/x", "run/nscd/x"]);
    let names = [
        "run/user/1000/bus",
        "run/user/1000/hookhost/h.sock",
        "run/docker.sock",
        "run/agent.sock",
        "run/nscd-socket",
        "run/nscd/socket",
    ];
    let sockets: Vec<UnixListener> = names.iter().map(|name| UnixListener::bind(machine.path(name)).unwrap()).collect();
    let line = |name: &&str| format!("0: 00000002 00000000 00010000 0001 01 20371 /{name}\n");
    let table = format!("Num RefCount\n{}{}", names.iter().map(line).collect::<String>(), line(&"run/gone.sock"));
    fs::write(machine.path("proc/net/unix"), table).unwrap();
    machine.variables = vec![("SSH_AUTH_SOCK", machine.path("run/agent.sock"))];
    let policy = machine.policy("", "");
    for (path, treatment) in [
        ("run/user/1000/bus", Some(Masked)),
        ("run/docker.sock", Some(Masked)),
        ("run/nscd-socket", Some(Masked)),
        ("run/agent.sock", None),
        ("run/nscd/socket", None),
        ("run/user/1000/hookhost/h.sock", None),
        ("tmp/tmux-1000", Some(Hidden)),
    ] {
        assert_eq!(machine.treatment(&policy, path), treatment, "{path}");
    }
    let policy = machine.policy("docker = true", "");
    assert_eq!(machine.treatment(&policy, "run/docker.sock"), None);
    assert!(says(&policy, "run/docker.sock leads out"), "{:?}", policy.gaps);
    // A lookup of a name is a message to the one who owns it.
    for network in ["network = 'none'", "network = ['github.com']"] {
        let policy = machine.policy(network, "");
        assert_eq!(machine.treatment(&policy, "run/nscd/socket"), Some(Masked));
        assert_eq!(machine.treatment(&policy, "run/agent.sock"), None);
        assert!(!says(&policy, "ports of this machine"), "{:?}", policy.gaps);
    }
    fs::remove_file(machine.path("proc/net/unix")).unwrap();
    assert!(says(&machine.policy("", ""), "proc/net/unix cannot be read"));
    drop(sockets);
}

#[test]
fn paths_of_rules_without_conditions_are_guarded() {
    let machine = Machine::new(&[
        "work/a/.env",
        "work/.env.example",
        "work/infra/main.tf",
        "work/infra/open/x",
        "work/secret/a",
        "work/secret/public/b",
        "home/me/.aws/credentials",
        "work/[id]/.env",
    ]);
    let rules = r#"
        rule = [
          { id = "no-env", on = ["read", "write"], path = [".ENV*", "!.env.example"], reject = "x" },
          { id = "infra", on = "write", path = ["infra/**", "!infra/open/**"], reject = "x" },
          { id = "secret", on = "read", path = ["secret/", "!secret/public"], reject = "x" },
          { id = "aws", on = "read", path = "~/.aws/**", reject = "x" },
          { id = "asks", on = "write", path = "src/**", ask = "x" },
          { id = "seen", on = "write", path = "a/**", reject = "x", observe = true },
          { id = "when", on = "write", path = "a/**", reject = "x", when = "true" },
          { id = "tool", on = "write", path = "a/**", tool = "t", reject = "x" },
          { id = "all", on = "write", reject = "x" },
          { id = "gone", on = "delete", path = "a/**", reject = "x" },
          { id = "deep", on = "read", path = "~/**/x", reject = "x" },
        ]"#;
    let policy = machine.policy("", rules);
    for (path, treatment) in [
        ("work/a/.env", Some(Hidden)),
        ("work/[id]/.env", Some(Hidden)),
        ("work/.env.example", None),
        ("work/infra", Some(ReadOnly)),
        ("work/infra/open", Some(Writable)),
        ("work/secret", None),
        ("work/secret/a", Some(Hidden)),
        ("work/secret/public/b", None),
        ("home/me/.aws", Some(Hidden)),
        ("work/a", None),
        ("work", None),
    ] {
        assert_eq!(machine.treatment(&policy, path), treatment, "{path}");
    }
    for text in [
        "the rule `no-env` names files anywhere: they are guarded in",
        "the rule `secret` has exceptions in",
        "the rule `when` depends on a condition",
        "the rule `tool` depends on a tool or a text",
        "the rule `all` depends on no path",
        "the rule `gone` is about deletions",
        "the rule `deep` has the path `~/**/x`",
    ] {
        assert!(says(&policy, text), "{text}: {:?}", policy.gaps);
    }
    assert!(!says(&policy, "`asks`") && !says(&policy, "`seen`"));
}

#[test]
fn an_exception_of_a_rule_opens_no_settings() {
    let machine = Machine::new(&[
        "home/me/.config/opencode/plugin/a",
        "home/me/.config/hookhost/plugins/a",
        "home/me/.config/mine/a",
    ]);
    let excepted = r#""!~/.config/opencode/plugin", "!~/.config/hookhost/plugins", "!~/.config/mine""#;
    let rules = format!("rule = [{{ id = 'x', on = 'write', path = ['~/.config/**', {excepted}], reject = 'x' }}]");
    let policy = machine.policy("", &rules);
    let writable: Vec<_> =
        machine.guards(&policy).into_iter().filter(|(_, treatment)| *treatment == Writable).collect();
    assert_eq!(writable, [("home/me/.config/mine".to_owned(), Writable)]);
}

#[test]
fn an_exception_of_a_rule_opens_nothing_of_another_rule() {
    let machine = Machine::new(&["work/infra/open/a", "work/infra/free/a", "work/other/a/b"]);
    symlink("../../other/a", machine.path("work/infra/free/link")).unwrap();
    let rules = r#"rule = [
      { id = "x", on = "write", path = ["infra/**", "!infra/open", "!infra/free/link"], reject = "x" },
      { id = "y", on = "write", path = ["other/**"], reject = "x" },
    ]"#;
    let policy = machine.policy("", rules);
    let writable = |policy: &Policy| -> Vec<String> {
        let guards = machine.guards(policy).into_iter().filter(|(_, treatment)| *treatment == Writable);
        guards.map(|(path, _)| path).collect()
    };
    assert_eq!(writable(&policy), ["work/infra/open"]);
    let policy = machine.policy("", &rules.replace("other/**", "infra/**"));
    assert!(writable(&policy).is_empty());
}

#[test]
fn hooks_that_the_configuration_names_are_guarded() {
    let machine = Machine::new(&["work/.husky/pre-commit", "home/me/hooks/a"]);
    fs::write(machine.path("work/.git/config"), "[core]\n\thooksPath = .husky/_ # husky\n").unwrap();
    fs::write(machine.path("home/me/.gitconfig"), "[core]\n\thooksPath = \"~/hooks\"\n").unwrap();
    let policy = machine.policy("", "");
    assert_eq!(machine.treatment(&policy, "work/.husky"), Some(ReadOnly));
    assert_eq!(machine.treatment(&policy, "home/me/hooks"), Some(ReadOnly));
}

#[test]
fn of_two_guards_of_a_path_the_stricter_one_counts() {
    let machine = Machine::new(&["home/me/.bashrc", "home/me/.ssh/id_rsa", "work/a"]);
    let rules = r#"rule = [
      { id = "x", on = "read", path = "~/.bashrc", reject = "x" },
      { id = "y", on = "write", path = "~/.ssh/id_rsa", reject = "x" },
      { id = "z", on = "write", path = "./a", reject = "x" },
    ]"#;
    let policy = machine.policy("write = ['~//.bashrc', 'a']", rules);
    assert_eq!(machine.treatment(&policy, "home/me/.bashrc"), Some(Hidden));
    assert_eq!(machine.treatment(&policy, "home/me/.ssh/id_rsa"), Some(Hidden));
    assert!(says(&policy, "names ~/.bashrc, and ~/.bashrc stays guarded (rule `x`)"), "{:?}", policy.gaps);
}

#[test]
fn a_rule_does_not_hide_what_hooks_need() {
    let machine = Machine::new(&["home/me/.config/a"]);
    let rules = "rule = [{ id = 'x', on = 'read', path = ['~/.config', '*'], reject = 'x' }, { id = 'y', on = 'write', path = '~/.config/', reject = 'x' }]";
    let policy = machine.policy("", rules);
    assert_eq!(machine.treatment(&policy, "home/me/.config"), Some(ReadOnly));
    assert!(says(&policy, "the rule `x` is about reading ~/.config, which hooks"), "{:?}", policy.gaps);
}

#[test]
fn a_worktree_has_the_hooks_of_its_repository() {
    let machine = Machine::new(&[
        "repo/.git/hooks/a",
        "repo/.git/config",
        "repo/.git/worktrees/work/HEAD",
        "repo/.git/modules/lib/hooks/a",
    ]);
    fs::remove_dir_all(machine.path("work/.git")).unwrap();
    fs::write(machine.path("work/.git"), "gitdir: ../repo/.git/worktrees/work\n").unwrap();
    fs::write(machine.path("repo/.git/worktrees/work/commondir"), "../..\n").unwrap();
    let policy = machine.policy("", "");
    assert_eq!(machine.treatment(&policy, "repo/.git/hooks"), Some(ReadOnly));
    assert_eq!(machine.treatment(&policy, "repo/.git/modules/lib/hooks"), Some(ReadOnly));
    assert!(policy.restored.iter().any(|file| file.path == machine.path("repo/.git/config")));
    fs::remove_file(machine.path("work/.git")).unwrap();
    assert!(says(&machine.policy("", ""), "is no repository of git"));
}

#[test]
fn an_environment_tells_the_places() {
    let variable = |name: &str| Some(OsString::from(if name == "HOME" { "/home/me" } else { return None }));
    let places = Places::of_environment(&variable, Path::new("/work"), Path::new("/work/a"), Vec::new(), 1000).unwrap();
    assert_eq!(places.config, Path::new("/home/me/.config/hookhost"));
    assert_eq!(places.shown(Path::new("/home/me/.bashrc")), "~/.bashrc");
    assert!(Places::of_environment(&|_| None, Path::new("/work"), Path::new("/work"), Vec::new(), 1000).is_none());
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(32))]

    /// Whatever a rule and `write` name, hookhost's own files and keys stay guarded, and what is guarded exists.
    #[test]
    fn own_files_and_keys_stay_guarded(
        paths in proptest::collection::vec("!?(~/|/|\\./|)(\\*\\*|\\*|[.a-z]{0,3}|\\[|\\.\\.|\\.ssh|home|work)(/(\\*\\*|\\*|\\.ssh|a))?/?", 1..4),
        write in "(~/|/|)(\\.ssh|\\.config|home/me|\\.config/hookhost|work|a|\\.local)",
    ) {
        let machine = Machine::new(&["home/me/.ssh/id_rsa", "work/a/.env", "work/b/a"]);
        let row = |on: &str| format!("rule = [{{ id = 'x', on = '{on}', path = {paths:?}, reject = 'x' }}]");
        let write = write.replace("/home/me", &machine.path("home/me").to_string_lossy());
        for on in ["read", "write"] {
            let policy = machine.policy(&format!("write = [{write:?}]"), &row(on));
            let is_hidden = |path: &str| policy.guards.iter().any(|guard| guard.treatment == Hidden && machine.path(path).starts_with(&guard.path));
            for path in ["home/me/.ssh/id_rsa", "home/me/.config/hookhost/keys.toml", "home/me/.local/state/hookhost/http.token"] {
                proptest::prop_assert!(is_hidden(path), "{path}");
            }
            for path in ["home/me/.config/hookhost", "home/me/.local/state/hookhost", "home/me/.cache/hookhost"] {
                let is_guarded = policy.guards.iter().any(|guard| guard.treatment != Writable && machine.path(path).starts_with(&guard.path));
                proptest::prop_assert!(is_guarded, "{path}");
                let is_open = policy.guards.iter().any(|guard| guard.treatment == Writable && guard.path.starts_with(machine.path(path)));
                proptest::prop_assert!(!is_open, "{path}");
            }
            proptest::prop_assert!(policy.guards.iter().all(|guard| guard.path.symlink_metadata().is_ok()));
            proptest::prop_assert!(policy.guards.iter().all(|guard| guard.path.starts_with(machine.path(""))));
        }
    }
}
