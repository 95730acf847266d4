//! Files that somebody else runs later, outside: the user's shell, the session, git. What is written into one inside would run there.

use super::draft::{Draft, Origin};
use super::places::matching;
use super::restore::{FileFormat, hooks_of};
use crate::plan::Treatment;
use hookhost_agents::guarded;
use hookhost_files::{Guard, Links};
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
    ".config/nushell",
    ".config/powershell",
    ".config/plasma-workspace/env",
    ".direnvrc",
    ".emacs",
    ".emacs.d/init.el",
    ".gdbinit",
    ".pdbrc",
    ".vim/plugin",
    ".gradle/init.gradle",
    ".gradle/init.d",
    ".local/lib/python*/site-packages/usercustomize.py",
    ".local/lib/python*/site-packages/sitecustomize.py",
    ".local/share/applications",
    ".ssh/config",
    ".ssh/rc",
    ".ssh/environment",
    ".ssh/authorized_keys",
    ".ssh/authorized_keys2",
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
    "/etc/cron.hourly",
    "/etc/cron.daily",
    "/etc/cron.weekly",
    "/etc/cron.monthly",
    "/etc/ld.so.preload",
    "/etc/sudoers",
    "/etc/sudoers.d",
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
    "imap.tunnel",
    "init.templateDir",
    "instaweb.*",
    "interactive.diffFilter",
    "lfs.*.*",
    "lfs.standalonetransferagent",
    "man.*.*",
    "merge.*.driver",
    "mergetool.*.*",
    "pager.*",
    "protocol.*.allow",
    "protocol.allow",
    "remote.*.receivepack",
    "remote.*.uploadpack",
    "remote.*.vcs",
    "sendemail.*",
    "sequence.editor",
    "submodule.*.update",
    "tar.*.command",
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
        for name in [".zshenv", ".zprofile", ".zshrc", ".zlogin", ".zlogout"] {
            draft.add(&directory.join(name), Treatment::ReadOnly, Origin::LaterRun, reason);
        }
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
    let repository = repository(&places.project);
    if repository.is_none() {
        let project = places.shown(&places.project);
        draft.gap(
            &places.project,
            format!("{project} is no repository of git: the hooks of one that is made there later are not guarded"),
        );
    }
    let root = repository.as_ref().map_or(&places.project, |repository| &repository.root).clone();
    // In a worktree and a submodule, it is a file that names the directory.
    let dot_git = root.join(".git");
    if dot_git.is_file() {
        draft.add(&dot_git, Treatment::ReadOnly, Origin::LaterRun, reason);
    }
    let mut configurations = vec![places.home.join(".gitconfig"), places.home.join(".config/git/config")];
    for directory in repository.into_iter().flat_map(|repository| repository.directories) {
        draft.add(&directory.join("hooks"), Treatment::ReadOnly, Origin::LaterRun, reason);
        // It leads git to another configuration.
        draft.add(&directory.join("commondir"), Treatment::ReadOnly, Origin::LaterRun, reason);
        for name in ["config", "config.worktree"] {
            let keys = GIT_KEYS.iter().map(|&key| key.to_owned()).collect();
            let reason = "git runs the values of these keys".to_owned();
            draft.restore(&directory.join(name), FileFormat::GitConfig, keys, reason);
            configurations.push(directory.join(name));
        }
    }
    for hooks in configurations.iter().filter_map(|path| hooks_of(&text_of(path)?)) {
        // The hooks of husky in `.husky/_` run those in the directory above.
        let hooks = hooks.strip_suffix("/_").unwrap_or(&hooks);
        let place = if hooks.starts_with('~') { places.named(hooks) } else { root.join(hooks) };
        draft.add(&place, Treatment::ReadOnly, Origin::LaterRun, reason);
    }
    let sentence = "scripts of the project, such as a Makefile, `node_modules/.bin` and `.venv`, and repositories that are cloned or made \
                    inside, can be changed: read the difference before you run them, or git in them, outside";
    draft.gap(&places.project, sentence.to_owned());
}

/// Reads a file that anybody may have written, such as a pipe in a project, which is refused.
fn text_of(path: &Path) -> Option<String> {
    const MAX_BYTES: u64 = 1 << 20;
    String::from_utf8(hookhost_files::read(path, Guard::Anybodys, Links::Followed, MAX_BYTES).ok()?).ok()
}

/// A repository of git.
struct Repository {
    /// The directory whose files it has, from which relative paths lead.
    root: PathBuf,
    /// The directories with a configuration and hooks: of a worktree, of the repository, and of its submodules.
    directories: Vec<PathBuf>,
}

/// Returns the repository of a project, which may begin in a directory above it.
fn repository(project: &Path) -> Option<Repository> {
    let root = project.ancestors().find(|directory| directory.join(".git").exists())?;
    let dot_git = root.join(".git");
    let line = |path: &Path, start: &str| -> Option<PathBuf> {
        path.parent()?.join(text_of(path)?.lines().next()?.strip_prefix(start)?.trim()).canonicalize().ok()
    };
    let own = if dot_git.is_dir() { dot_git } else { line(&dot_git, "gitdir:")? };
    let common = line(&own.join("commondir"), "");
    let mut directories: Vec<PathBuf> = std::iter::once(own).chain(common).collect();
    let of_submodules = directories.iter().flat_map(|directory| matching(&directory.join("modules/*")));
    directories.extend(of_submodules.collect::<Vec<_>>());
    Some(Repository { root: root.to_owned(), directories })
}
