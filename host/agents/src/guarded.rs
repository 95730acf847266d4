//! Files, variables and command-line words that determine an agent's rules, in addition to the files that
//! [`install`](crate::plan) writes and the files that name MCP servers ([`mcp_servers`](crate::mcp_servers)).
//!
//! This module is data. The table of guarded files (`example-plugins/shell-syntax/guarded.toml`) and parts of the rules
//! about it (`example-plugins/shell-guard/rules/catalogues/self-defence.toml`) are generated from it; a test fails if
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

const NOTHING: Guarded = Guarded {
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

/// Returns all owners: `hookhost` first, then the agents by name, then `editors` and `environment`.
#[must_use]
pub fn all() -> &'static [Guarded] {
    ALL
}

static ALL: &[Guarded] = &[
    Guarded {
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
        ..NOTHING
    },
    Guarded {
        owner: "amp",
        source: "plugins of the user, and settings",
        files: &[".amp/plugins/**", ".amp/settings*.json*"],
        in_home: &[".config/amp/plugins/**", ".config/amp/settings*.json*"],
        variables: &[("AMP_SETTINGS_FILE", "")],
        unhooked: &[HookBypass::Option("--settings-file")],
        ..NOTHING
    },
    Guarded {
        owner: "antigravity",
        source: "hooks.json of the user, and of a project",
        files: &[".gemini/config/hooks.json", ".agents/hooks.json"],
        ..NOTHING
    },
    Guarded {
        owner: "claude-code",
        source: "https://code.claude.com/docs/en/settings",
        files: &[
            ".claude/settings*.json",
            ".claude/hookhost/**",
            ".claude.json",
            "/etc/claude-code/**",
            "/Library/Application Support/ClaudeCode/**",
            "C:/ProgramData/ClaudeCode/**",
            "C:/Program Files/ClaudeCode/**",
        ],
        // The last two disable the agent's hooks.
        variables: &[("CLAUDE_CONFIG_DIR", "~/.claude"), ("CLAUDE_CODE_SIMPLE", ""), ("CLAUDE_CODE_SAFE_MODE", "")],
        packages: &["claude-code"],
        unhooked: &[
            HookBypass::Option("--bare"),
            HookBypass::Option("--safe-mode"),
            HookBypass::Option("--setting-sources"),
            HookBypass::Word(r#"^(--settings=)?\s*\{[^}]*"disableAllHooks"\s*:\s*true"#),
            // The output of a process substitution is unknown.
            HookBypass::Words(r" --settings[ =]/(dev/fd|proc/[^/ ]+/fd)/"),
        ],
        ..NOTHING
    },
    Guarded {
        owner: "cline",
        source: "hook programs of the user, and of a project",
        files: &[".cline/hooks/**", ".clinerules/hooks/**"],
        in_home: &["Documents/Cline/Hooks/**"],
        variables: &[("CLINE_DIR", "~/.cline")],
        ..NOTHING
    },
    Guarded {
        owner: "codex",
        source: "https://developers.openai.com/codex/hooks",
        files: &[
            ".codex/hooks.json",
            ".codex/config.toml",
            ".codex/requirements.toml",
            ".codex/managed_config.toml",
            ".codex/.env",
            "/etc/codex/**",
        ],
        variables: &[("CODEX_HOME", "~/.codex")],
        unhooked: &[
            HookBypass::Option("--dangerously-bypass-hook-trust"),
            HookBypass::Option("--ignore-user-config"),
            HookBypass::Operands("features disable hooks"),
            HookBypass::Words(r#" --disable[ =](codex_)?hooks\b"#),
            HookBypass::Words(r#"(^| |=)['"]?features\.(codex_)?hooks\s*=\s*['"]?false"#),
        ],
        ..NOTHING
    },
    Guarded {
        owner: "copilot-cli",
        source: "https://docs.github.com/en/copilot/reference/hooks-reference",
        files: &[
            ".copilot/hooks/**",
            ".copilot/config.json",
            ".copilot/settings*.json",
            ".github/hooks/**",
            "/etc/github-copilot/**",
            "C:/ProgramData/GitHub/Copilot/**",
        ],
        variables: &[("COPILOT_HOME", "~/.copilot")],
        unhooked: &[HookBypass::Option("--config-dir")],
        ..NOTHING
    },
    Guarded {
        owner: "crush",
        source: "its configuration, which names its hooks",
        files: &["crush.json", ".crush.json"],
        in_home: &[".config/crush/**"],
        variables: &[("CRUSH_GLOBAL_CONFIG", "~/.config/crush")],
        ..NOTHING
    },
    Guarded {
        owner: "cursor",
        source: "https://cursor.com/docs/hooks",
        files: &[
            ".cursor/hooks.json",
            "/etc/cursor/hooks.json",
            "/Library/Application Support/Cursor/hooks.json",
            "C:/ProgramData/Cursor/hooks.json",
        ],
        ..NOTHING
    },
    Guarded {
        owner: "droid",
        source: "https://docs.factory.ai/cli/configuration/hooks-guide",
        files: &[".factory/hooks.json", ".factory/settings*.json"],
        ..NOTHING
    },
    Guarded {
        owner: "gemini-cli",
        source: "https://github.com/google-gemini/gemini-cli/tree/main/docs/hooks",
        files: &[
            ".gemini/settings.json",
            ".gemini/.env",
            ".gemini/trustedFolders.json",
            "/etc/gemini-cli/**",
            "/Library/Application Support/GeminiCli/**",
            "C:/ProgramData/gemini-cli/**",
        ],
        variables: &[
            ("GEMINI_CLI_HOME", ""),
            ("GEMINI_CLI_SYSTEM_SETTINGS_PATH", ""),
            ("GEMINI_CLI_SYSTEM_DEFAULTS_PATH", ""),
            ("GEMINI_CLI_TRUSTED_FOLDERS_PATH", ""),
        ],
        packages: &["gemini-cli"],
        ..NOTHING
    },
    Guarded {
        owner: "goose",
        source: "plugins of the user, and its configuration",
        files: &[".agents/plugins/**"],
        in_home: &[".config/goose/**"],
        variables: &[("GOOSE_PATH_ROOT", "")],
        ..NOTHING
    },
    Guarded {
        owner: "grok-build",
        source: "hook files of the user, and of a project",
        files: &[".grok/hooks/**", ".grok/config.toml"],
        ..NOTHING
    },
    Guarded {
        owner: "kiro",
        source: "https://kiro.dev/docs/hooks, and the agents of its command line",
        files: &[".kiro/hooks/**", ".kiro/agents/**"],
        ..NOTHING
    },
    Guarded {
        owner: "opencode",
        source: "https://opencode.ai/docs/config, https://opencode.ai/docs/plugins",
        files: &["opencode.json", "opencode.jsonc", ".opencode/plugin/**", ".opencode/plugins/**"],
        in_home: &[".config/opencode/**"],
        variables: &[
            ("OPENCODE_CONFIG_DIR", "~/.config/opencode"),
            ("OPENCODE_CONFIG", ""),
            ("OPENCODE_CONFIG_CONTENT", ""),
        ],
        packages: &["opencode-ai"],
        unhooked: &[HookBypass::Option("--pure")],
        ..NOTHING
    },
    Guarded { owner: "openhands", source: "https://docs.openhands.dev", files: &[".openhands/hooks.json"], ..NOTHING },
    Guarded {
        owner: "pi",
        source: "extensions of the user, and of a project, and its settings",
        files: &[".pi/agent/extensions/**", ".pi/agent/settings.json", ".pi/extensions/**", ".pi/settings.json"],
        variables: &[("PI_CODING_AGENT_DIR", "~/.pi/agent")],
        packages: &["pi-coding-agent"],
        unhooked: &[HookBypass::Option("--no-extensions"), HookBypass::Option("-ne")],
        ..NOTHING
    },
    Guarded {
        owner: "qwen-code",
        source: "settings of the user, of a project and of the machine",
        files: &[
            ".qwen/settings*.json",
            ".qwen/.env",
            "/etc/qwen-code/**",
            "/Library/Application Support/QwenCode/**",
            "C:/ProgramData/qwen-code/**",
        ],
        variables: &[
            ("QWEN_HOME", "~/.qwen"),
            ("QWEN_CODE_SYSTEM_SETTINGS_PATH", ""),
            ("QWEN_CODE_SYSTEM_DEFAULTS_PATH", ""),
        ],
        packages: &["qwen-code"],
        ..NOTHING
    },
    Guarded {
        owner: "windsurf",
        source: "hooks.json of the user, of a project and of the machine",
        files: &[
            ".codeium/windsurf/hooks.json",
            ".windsurf/hooks.json",
            "/etc/windsurf/hooks.json",
            "/Library/Application Support/Windsurf/hooks.json",
            "C:/ProgramData/Windsurf/hooks.json",
        ],
        ..NOTHING
    },
    Guarded {
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
        ..NOTHING
    },
    Guarded {
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
        ..NOTHING
    },
];
