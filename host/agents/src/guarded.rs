//! Files, variables and command-line words that determine an agent's rules, in addition to the files that
//! the installer writes ([`plan`](crate::plan)) and the files that name MCP servers ([`mcp_servers`](crate::mcp_servers)).
//!
//! This module is data. The table of guarded files (`example-plugins/shell/reader/guarded.toml`) and parts of the rules
//! about it (`example-plugins/shell/rules/catalogues/self-defence.toml`) are generated from it; a test fails if
//! they are stale.
//!
//! A path is a sequence of names at any depth: `.claude/settings*.json` means that file of the user, of this project
//! and of any other project. A leading slash makes it a path from the root. `*` matches any part of a name. `/**` at
//! the end matches a directory with everything in it.

/// The guarded files, variables and words of one owner.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Guarded {
    /// `hookhost`, the name of an agent, `editors`, or `environment`.
    pub owner: &'static str,
    /// Source of this data.
    pub source: &'static str,
    /// Files that are guarded together with the directories above them.
    pub files: &'static [&'static str],
    /// Files of a user. Their directories are guarded only in a home directory.
    pub in_home: &'static [&'static str],
    /// Files whose directories may be removed.
    pub alone: &'static [&'static str],
    /// Files with common names, which are guarded only outside of the workspace.
    pub outside: &'static [&'static str],
    /// Files that are guarded only against writing one of the variables into them.
    pub variables_in: &'static [&'static str],
    /// Variables that make the owner use other settings or none. Each has the directory below `~` that it replaces;
    /// empty if there is none.
    pub variables: &'static [(&'static str, &'static str)],
    /// Packages that are run by name, such as `claude-code` in `npx @anthropic-ai/claude-code`.
    pub packages: &'static [&'static str],
    /// Ways to start the agent without its hooks, or with others.
    pub unhooked: &'static [HookBypass],
}

/// A way to start an agent without its hooks, or with other hooks than those in its usual files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookBypass {
    /// An option, with or without a value.
    Option(&'static str),
    /// The first operands.
    Operands(&'static str),
    /// A regular expression that matches one word.
    Word(&'static str),
    /// A regular expression that matches the words joined by spaces.
    Words(&'static str),
}

impl Guarded {
    /// No files, variables or words.
    pub(crate) const NONE: Self = Self {
        owner: "",
        source: "",
        files: &[],
        in_home: &[],
        alone: &[],
        outside: &[],
        variables_in: &[],
        variables: &[],
        packages: &[],
        unhooked: &[],
    };
}

/// Hookhost's own files, programs and variables.
pub(crate) const HOOKHOST: Guarded = Guarded {
    owner: "hookhost",
    source: "docs/cli.md, docs/using.md",
    files: &["hookhost.toml", "hookhost-mcp.lock"],
    in_home: &[
        ".config/hookhost/**",
        ".local/state/hookhost/**",
        "AppData/Roaming/hookhost/**",
        "AppData/Local/hookhost/**",
        "Library/Application Support/hookhost/**",
        // The keys, and the programs in their usual installation directories.
        ".config/hookhost/keys.toml",
        "AppData/Roaming/hookhost/keys.toml",
        "Library/Application Support/hookhost/keys.toml",
        ".cargo/bin/hookhost*",
        ".local/bin/hookhost*",
    ],
    alone: &[
        ".cache/hookhost/**",
        "Library/Caches/hookhost/**",
        "run/user/*/hookhost/**",
        "hookhost/keys.toml",
        "hookhost/trust.json",
        "hookhost/*.sock",
        "hookhost.db",
        "hookhost.db-wal",
        "hookhost.db-shm",
        "hookhost.db-journal",
        "bin/hookhost",
        "bin/hookhost.exe",
        "bin/hookhost-hook",
        "bin/hookhost-hook.exe",
    ],
    outside: &[
        "keys.toml",
        "trust.json",
        "run/host.path",
        "run/host.sock",
        "run/host.lock",
        "hookhost-hook",
        "hookhost-hook.exe",
    ],
    variables: &[
        ("HOOKHOST_CONFIG_DIR", ""),
        ("HOOKHOST_STATE_DIR", ""),
        ("HOOKHOST_CACHE_DIR", ""),
        ("HOOKHOST_RUNTIME_DIR", ""),
    ],
    ..Guarded::NONE
};

/// Files of editors that start the proxies.
pub(crate) const EDITORS: Guarded = Guarded {
    owner: "editors",
    source: "docs/acp.md, docs/mcp.md: they start the proxies",
    files: &[".zed/settings.json", ".vscode/mcp.json"],
    in_home: &[
        ".config/zed/settings.json",
        ".config/Code/User/mcp.json",
        "Library/Application Support/Code/User/mcp.json",
        "AppData/Roaming/Code/User/mcp.json",
        "AppData/Roaming/Zed/settings.json",
    ],
    ..Guarded::NONE
};

/// Files that set variables for an agent.
pub(crate) const ENVIRONMENT: Guarded = Guarded {
    owner: "environment",
    source: "files from which a shell, a session or an agent takes its variables",
    alone: &[".config/environment.d/**", ".pam_environment"],
    variables_in: &[
        ".env",
        ".envrc",
        ".bashrc",
        ".bash_profile",
        ".bash_login",
        ".bash_aliases",
        ".profile",
        ".zshrc",
        ".zshenv",
        ".zprofile",
        ".zlogin",
        ".xprofile",
        ".mise.toml",
        "mise.toml",
        ".config/fish/**",
        "/etc/environment",
        "/etc/profile",
        "/etc/profile.d/**",
    ],
    ..Guarded::NONE
};
