//! The workflows of the repository: an action of somebody else is named by its commit, CI has the compiler that is promised, and the steps
//! of a release that change something elsewhere can be repeated.

use crate::guide::{files, page};
use hookhost_tests::Ended;
use regex_lite::Regex;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

#[test]
fn every_action_is_named_by_its_commit_and_its_version() {
    let uses = Regex::new(r"uses:\s*(\S+)(.*)").expect("a pattern");
    let pinned = Regex::new(r"^[\w.-]+/[\w./-]+@[0-9a-f]{40}$").expect("a pattern");
    let mut checked = 0;
    for file in files(&[".yml"]).into_iter().filter(|file| file.starts_with(".github/workflows")) {
        for found in uses.captures_iter(&page(&file.to_string_lossy())) {
            let (action, rest) = (&found[1], found[2].trim());
            let is_own = action.starts_with("./");
            assert!(is_own || pinned.is_match(action) && rest.starts_with("# v"), "{}: {action}{rest}", file.display());
            checked += 1;
        }
    }
    assert!(checked >= 2, "only {checked} actions were found");
}

#[test]
fn ci_has_the_oldest_compiler_that_the_crates_support() {
    let manifest = page("Cargo.toml");
    let version = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \"")).expect("the version");
    let version = version.trim_end_matches('"');
    assert!(page(".github/workflows/ci.yml").contains(&format!("RUSTUP_TOOLCHAIN: '{version}'")), "not {version}");
}

/// Returns the commands of a step of the release.
fn commands(step: &str) -> String {
    let workflow = page(".github/workflows/release.yml");
    let (_, rest) = workflow.split_once(&format!("- name: {step}\n")).unwrap_or_else(|| panic!("no step {step:?}"));
    let (_, block) = rest.split_once("run: |\n").expect("its commands");
    let indented = block.lines().map_while(|line| line.strip_prefix("          "));
    indented.flat_map(|line| [line, "\n"]).collect()
}

/// A machine that runs a step of the release. Programs that would reach the network are replaced.
struct Runner {
    directory: TempDir,
}

impl Runner {
    /// Replaces a program by a script of the shell.
    fn with(program: &str, script: &str) -> Self {
        let runner = Self { directory: tempfile::tempdir().expect("a directory") };
        fs::create_dir(runner.path("temporary")).expect("a directory");
        let path = runner.write(&format!("programs/{program}"), &format!("#!/bin/sh\n{script}"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a program");
        runner
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(&path, text).expect("a file");
        path
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Runs commands in a directory as GitHub does it, for a tag `v…`.
    fn run(&self, commands: &str, directory: &str, version: &str) -> Ended {
        let path = std::env::var("PATH").expect("a PATH");
        let mut bash = Command::new("bash");
        bash.args(["-ec", commands]).current_dir(self.path(directory));
        bash.env("PATH", format!("{}:{path}", self.path("programs").display()));
        bash.env("ROOT", self.path(".")).env("RUNNER_TEMP", self.path("temporary")).env("KEY", "the key");
        bash.env("GITHUB_REF_NAME", format!("v{version}")).env("LC_ALL", "C");
        // Git knows nothing of this machine, and finds the tap beside the other directories.
        let tap = format!("url.{}.insteadOf", self.path("tap.git").display());
        bash.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null").env("GIT_CONFIG_COUNT", "1");
        bash.env("GIT_CONFIG_KEY_0", tap).env("GIT_CONFIG_VALUE_0", "git@github.com:hookhost/homebrew-tap.git");
        Ended::of(&mut bash)
    }

    /// Runs commands that must succeed. Returns what they print.
    fn output(&self, commands: &str) -> String {
        let ended = self.run(commands, ".", "0.2.0");
        ended.expect(0, &[]);
        ended.stdout
    }
}

/// Knows the versions in the directory `published`, and adds a line to `calls` for each version that it publishes.
const NPM: &str = r#"
case $1 in
view) version=${2#hookhost@} && [ -e "$ROOT/published/$version" ] && echo "$version" ;;
publish) version=${2#./hookhost-npm-} version=${version%.tgz} && echo "$version $*" >>"$ROOT/calls" && : >"$ROOT/published/$version" ;;
esac
"#;

#[test]
fn npm_gets_each_package_once_and_a_prerelease_does_not_become_the_latest_version() {
    let commands = commands("Publish the programs of each platform, then the launcher that needs them");
    for (version, latest, prefix) in [("0.2.0", "latest", ""), ("0.2.0-rc.1", "next", "next-")] {
        let runner = Runner::with("npm", NPM);
        runner.write("published/0.1.0", "");
        for platform in ["", "-linux-x64", "-darwin-arm64"] {
            runner.write(&format!("packages/hookhost-npm-{version}{platform}.tgz"), "");
        }
        let call = |platform: &str, tag: &str| {
            let published = format!("{version}{platform}");
            format!("{published} publish ./hookhost-npm-{published}.tgz --access public --tag {tag}\n")
        };
        let of_platform = |platform: &str| call(&format!("-{platform}"), &format!("{prefix}{platform}"));
        let (platforms, launcher) = (of_platform("darwin-arm64") + &of_platform("linux-x64"), call("", latest));
        runner.run(&commands, "packages", version).expect(0, &[]);
        assert_eq!(runner.read("calls"), format!("{platforms}{launcher}"));
        // The second run continues where the first one failed.
        fs::remove_file(runner.path(&format!("published/{version}"))).expect("the version");
        runner.run(&commands, "packages", version).expect(0, &[]);
        assert_eq!(runner.read("calls"), format!("{platforms}{launcher}{launcher}"));
    }
}

#[test]
fn the_tap_gets_the_formula_once_the_release_can_be_downloaded() {
    let commands = commands("Put the formula into the tap");
    let runner =
        Runner::with("curl", "for url; do :; done\necho \"$url\" >>\"$ROOT/calls\"\n[ -e \"$ROOT/published\" ]\n");
    let formula =
        "class Hookhost < Formula\n  homepage \"https://h.example\"\n      url \"https://h.example/a.tar.xz\"\nend\n";
    runner.write("packages/hookhost.rb", formula);
    runner.output("git init --quiet --bare --initial-branch=main tap.git");
    let ended = runner.run(&commands, ".", "0.2.0");
    ended.expect(1, &[]);
    assert!(ended.stdout.contains("Publish the draft"), "{ended:#?}");
    runner.write("published", "");
    for _ in 0..2 {
        runner.run(&commands, ".", "0.2.0").expect(0, &[]);
        assert_eq!(runner.output("git -C tap.git log --format=%s main"), "hookhost 0.2.0\n");
        assert_eq!(runner.output("git -C tap.git show main:Formula/hookhost.rb"), formula);
        fs::remove_dir_all(runner.path("tap")).expect("the clone");
    }
    assert_eq!(runner.read("calls"), "https://h.example/a.tar.xz\n".repeat(3));
    let key = fs::metadata(runner.path("temporary/key")).expect("the key");
    assert_eq!(key.permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_digests_of_a_release_are_proposed_once_as_a_change_of_two_files() {
    let commands = commands("Propose the digests of the programs for the marketplace plugin and the action");
    let runner =
        Runner::with("gh", "echo \"$1 $2\" >>\"$ROOT/calls\"\n[ \"$2\" != view ] || grep -q create \"$ROOT/calls\"\n");
    let git = "git -c user.name=a -c user.email=a@example.com";
    runner.write("checkout/agent-plugin/programs", "# programs\n");
    runner.write("checkout/agent-plugin/hook", "newer\n");
    runner.write("checkout/action/check/release", "# release\n");
    runner.output(&format!(
        "git init --quiet --bare --initial-branch=main origin.git; cd checkout; git init --quiet --initial-branch=main
         git add .; {git} commit --quiet -m Start; git remote add origin ../origin.git; git push --quiet origin main"
    ));
    runner.write("built/agent-plugin/programs", "Linux-x86_64 a b\n");
    runner.write("built/agent-plugin/hook", "older\n");
    runner.write("checkout/packages/hookhost-check-0.2.0.txt", "Linux-x86_64 a url\n");
    runner.output("tar -czf checkout/packages/hookhost-agent-plugin-0.2.0.tgz -C built agent-plugin");
    for _ in 0..2 {
        runner.run(&commands, "checkout", "0.2.0").expect(0, &[]);
        let changed = runner.output("git -C origin.git diff main digests-0.2.0 | grep '^[+-]' | sort");
        let expected = ["+Linux-x86_64 a b", "+Linux-x86_64 a url", "-# programs", "-# release"];
        assert_eq!(changed.lines().filter(|line| !line[1..].starts_with(&line[..1])).collect::<Vec<_>>(), expected);
        runner.output("git -C checkout reset --quiet --hard origin/main");
    }
    let calls = ["auth setup-git", "pr view", "pr create", "auth setup-git", "pr view"];
    assert_eq!(runner.read("calls").lines().collect::<Vec<_>>(), calls);
}
