//! Files that somebody else runs later, outside: the user's shell, the session, git. What is written into one inside would run there.

use super::draft::{Draft, Origin};
use super::restore::{FileFormat, hooks_of};
use crate::plan::Treatment;
use hookhost_agents::guarded;
use std::fs;
use std::path::{Path, PathBuf};

/// Files and directories of the home. The table of guarded files adds those in which variables are set.
const OF_HOME: &[&str] = &[
    ".bash_logout",
    ".kshrc",
    ".zlogout",
    ".inputrc",
    ".xinitrc",
    ".xsession",
    ".xsessionrc",
    ".tmux.conf",
    ".vimrc",
    ".gitconfig",
    ".npmrc",
    ".local/bin",
    "bin",
    ".cargo/bin",
    ".cargo/config.toml",
    ".cargo/config",
    ".config/systemd/user",
    ".local/share/systemd/user",
    ".config/autostart",
    ".config/git",
    ".config/fish",
    ".config/nvim",
    ".config/tmux",
    ".config/direnv",
    ".config/pip",
    ".ssh/config",
    ".ssh/rc",
    ".ssh/environment",
    ".ssh/authorized_keys",
    "Library/LaunchAgents",
];

/// Files and directories of the machine. Only root can write most of them.
const OF_MACHINE: &[&str] = &[
    "/etc/profile",
    "/etc/profile.d",
    "/etc/environment",
    "/etc/bash.bashrc",
    "/etc/bashrc",
    "/etc/zsh",
    "/etc/gitconfig",
    "/etc/ld.so.preload",
    "/etc/systemd",
    "/etc/crontab",
    "/etc/cron.d",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/var/spool/cron",
];

/// Files of a project that a shell, or a tool that manages its variables, runs.
const OF_PROJECT: &[&str] = &[".envrc", ".mise.toml", "mise.toml"];

/// Keys of git's configuration whose values git runs, or that lead to such values. Source: the page `git-config`.
const GIT_KEYS: &[&str] = &[
    "core.hooksPath",
    "core.fsmonitor",
    "core.sshCommand",
    "core.editor",
    "core.pager",
    "core.askPass",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "core.worktree",
    "alias.*",
    "alias.*.*",
    "browser.*.*",
    "credential.helper",
    "credential.*.helper",
    "diff.external",
    "diff.*.command",
    "diff.*.textconv",
    "difftool.*.*",
    "extensions.worktreeConfig",
    "filter.*.*",
    "gc.recentObjectsHook",
    "gpg.program",
    "gpg.*.program",
    "gpg.ssh.defaultKeyCommand",
    "include.path",
    "includeIf.*.path",
    "init.templateDir",
    "interactive.diffFilter",
    "man.*.*",
    "merge.*.driver",
    "mergetool.*.*",
    "pager.*",
    "remote.*.receivepack",
    "remote.*.uploadpack",
    "remote.*.vcs",
    "sendemail.*",
    "sequence.editor",
    "submodule.*.update",
    "trailer.*.command",
    "trailer.*.cmd",
    "uploadpack.packObjectsHook",
];

pub(super) fn add(draft: &mut Draft<'_>) {
    let reason = "runs later, outside";
    let places = draft.places;
    // `~/.env` is no file that a shell runs by itself.
    let of_variables = guarded::owner("environment").map_or(&[][..], |owner| owner.variables_in);
    let of_variables = of_variables.iter().filter(|path| !path.starts_with('/') && **path != ".env");
    for path in OF_HOME.iter().chain(of_variables) {
        let path = path.trim_end_matches("/**");
        if !path.starts_with("Library/") || cfg!(target_os = "macos") {
            draft.add(&places.home.join(path), Treatment::ReadOnly, Origin::LaterRun, reason);
        }
        if let (Some(rest), Some(base)) = (path.strip_prefix(".config/"), places.path_of("XDG_CONFIG_HOME")) {
            draft.add(&base.join(rest), Treatment::ReadOnly, Origin::LaterRun, reason);
        }
    }
    if let Some(directory) = places.path_of("ZDOTDIR") {
        draft.add(&directory.join(".z*"), Treatment::ReadOnly, Origin::LaterRun, reason);
    }
    if places.user == 0 {
        for path in OF_MACHINE {
            draft.add(&places.of_machine(path), Treatment::ReadOnly, Origin::LaterRun, reason);
        }
    }
    for directory in places.of_project() {
        for path in OF_PROJECT {
            draft.add(&directory.join(path), Treatment::ReadOnly, Origin::LaterRun, reason);
        }
    }
    let mut configurations = vec![places.home.join(".gitconfig"), places.home.join(".config/git/config")];
    let directories = git_directories(&places.project);
    if directories.is_empty() {
        let sentence = format!(
            "{} is no repository of git: the hooks of one that is made there later are not guarded",
            places.shown(&places.project)
        );
        draft.gap(&places.project, sentence);
    }
    for directory in directories {
        draft.add(&directory.join("hooks"), Treatment::ReadOnly, Origin::LaterRun, reason);
        for name in ["config", "config.worktree"] {
            configurations.push(directory.join(name));
            let keys = GIT_KEYS.iter().map(|&key| key.to_owned()).collect();
            draft.restore(
                &directory.join(name),
                FileFormat::GitConfig,
                keys,
                "git runs the values of these keys".to_owned(),
            );
        }
    }
    for hooks in configurations.iter().filter_map(|path| hooks_of(&fs::read_to_string(path).ok()?)) {
        // The hooks of husky in `.husky/_` run those in the directory above.
        let hooks = hooks.strip_suffix("/_").unwrap_or(&hooks);
        draft.add(&places.named(hooks), Treatment::ReadOnly, Origin::LaterRun, reason);
    }
    let sentence = "scripts of the project, such as a Makefile, `node_modules/.bin` and `.venv`, and repositories that are cloned inside, \
                    can be changed: read the difference before you run them outside";
    draft.gap(&places.project, sentence.to_owned());
}

/// Returns the directories of git for a project, or for the nearest directory above it that has one: its own, and that of the repository if
/// it is a worktree or a submodule.
fn git_directories(project: &Path) -> Vec<PathBuf> {
    let Some(dot_git) = project.ancestors().map(|directory| directory.join(".git")).find(|path| path.exists()) else {
        return Vec::new();
    };
    if dot_git.is_dir() {
        return vec![dot_git];
    }
    let line = |path: &Path, start: &str| -> Option<PathBuf> {
        let text = fs::read_to_string(path).ok()?;
        Some(path.parent()?.join(text.lines().next()?.strip_prefix(start)?.trim()))
    };
    let Some(own) = line(&dot_git, "gitdir:") else { return Vec::new() };
    let common = line(&own.join("commondir"), "");
    std::iter::once(own).chain(common).filter_map(|path| path.canonicalize().ok()).collect()
}
