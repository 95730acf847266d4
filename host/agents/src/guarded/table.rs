//! Generated from `guarded.toml`: `HOOKHOST_WRITE_GOLDENS=1 cargo test -p hookhost-agents guarded`.

use super::{Owner, Written, WrittenTreatment as Treatment};

/// All owners of guarded files.
#[rustfmt::skip]
pub const OWNERS: &[Owner] = &[
    Owner {
        name: "hookhost",
        files: &["hookhost.toml", "hookhost-mcp.lock"],
        in_home: &[".config/hookhost/**", ".local/state/hookhost/**", "AppData/Roaming/hookhost/**", "AppData/Local/hookhost/**", "Library/Application Support/hookhost/**", ".config/hookhost/keys.toml", "AppData/Roaming/hookhost/keys.toml", "Library/Application Support/hookhost/keys.toml", ".cargo/bin/hookhost*", ".local/bin/hookhost*"],
        alone: &[".cache/hookhost/**", "Library/Caches/hookhost/**", "run/user/*/hookhost/**", "hookhost/keys.toml", "hookhost/trust.json", "hookhost/profile.toml", "hookhost/*.sock", "hookhost.db", "hookhost.db-wal", "hookhost.db-shm", "hookhost.db-journal", "bin/hookhost", "bin/hookhost.exe", "bin/hookhost-hook", "bin/hookhost-hook.exe"],
        variables_in: &[],
        variables: &[("HOOKHOST_CONFIG_DIR", ""), ("HOOKHOST_STATE_DIR", ""), ("HOOKHOST_CACHE_DIR", ""), ("HOOKHOST_RUNTIME_DIR", "")],
        written: &[
        ],
    },
    Owner {
        name: "amp",
        files: &[".amp/plugins/**", ".amp/settings*.json*"],
        in_home: &[".config/amp/plugins/**", ".config/amp/settings*.json*"],
        alone: &[],
        variables_in: &[],
        variables: &[("AMP_SETTINGS_FILE", "")],
        written: &[
        ],
    },
    Owner {
        name: "antigravity",
        files: &[".gemini/config/hooks.json", ".agents/hooks.json"],
        in_home: &[],
        alone: &[],
        variables_in: &[],
        variables: &[],
        written: &[
        ],
    },
    Owner {
        name: "claude-code",
        files: &[".claude/settings*.json", ".claude/hookhost/**", ".claude.json", "/etc/claude-code/**", "/Library/Application Support/ClaudeCode/**", "C:/ProgramData/ClaudeCode/**", "C:/Program Files/ClaudeCode/**", ".mcp.json", ".claude/plugins/cache/hookhost-plugins/**", ".claude/plugins/*.json", ".claude/skills/hookhost/**"],
        in_home: &[],
        alone: &[],
        variables_in: &[],
        variables: &[("CLAUDE_CONFIG_DIR", "~/.claude"), ("CLAUDE_CODE_SIMPLE", ""), ("CLAUDE_CODE_SAFE_MODE", "")],
        written: &[
            Written { file: ".claude.json", treatment: Treatment::Restored, keys: &["mcpServers", "projects.*.mcpServers", "projects.*.enabledMcpjsonServers", "projects.*.disabledMcpjsonServers", "projects.*.enableAllProjectMcpServers"], note: "" },
            Written { file: ".claude/settings.json", treatment: Treatment::ReadOnly, keys: &[], note: "settings changed inside, such as a theme or a permission that is always granted, are not kept" },
        ],
    },
    Owner {
        name: "cline",
        files: &[".cline/hooks/**", ".clinerules/hooks/**"],
        in_home: &["Documents/Cline/Hooks/**"],
        alone: &[],
        variables_in: &[],
        variables: &[("CLINE_DIR", "~/.cline")],
        written: &[
        ],
    },
    Owner {
        name: "codex",
        files: &[".codex/hooks.json", ".codex/config.toml", ".codex/requirements.toml", ".codex/managed_config.toml", ".codex/.env", "/etc/codex/**", ".codex/plugins/cache/hookhost-plugins/**"],
        in_home: &[],
        alone: &[],
        variables_in: &[],
        variables: &[("CODEX_HOME", "~/.codex")],
        written: &[
            Written { file: ".codex/config.toml", treatment: Treatment::ReadOnly, keys: &["hooks", "features", "mcp_servers", "sandbox_mode", "sandbox_workspace_write", "default_permissions", "permissions", "approval_policy", "notify", "profiles", "plugins"], note: "trust in a directory and the choice of a model are not kept" },
        ],
    },
    Owner {
        name: "copilot-cli",
        files: &[".copilot/hooks/**", ".copilot/config.json", ".copilot/settings*.json", ".github/hooks/**", "/etc/github-copilot/**", "C:/ProgramData/GitHub/Copilot/**", ".copilot/mcp-config.json"],
        in_home: &[],
        alone: &[],
        variables_in: &[],
        variables: &[("COPILOT_HOME", "~/.copilot")],
        written: &[
            Written { file: ".copilot/config.json", treatment: Treatment::Restored, keys: &["hooks", "mcpServers", "disableAllHooks"], note: "" },
        ],
    },
    Owner {
        name: "crush",
        files: &["crush.json", ".crush.json"],
        in_home: &[".config/crush/**"],
        alone: &[],
        variables_in: &[],
        variables: &[("CRUSH_GLOBAL_CONFIG", "~/.config/crush")],
        written: &[
            Written { file: ".config/crush/crush.json", treatment: Treatment::ReadOnly, keys: &[], note: "the choice of a model is not kept" },
        ],
    },
    Owner {
        name: "cursor",
        files: &[".cursor/hooks.json", "/etc/cursor/hooks.json", "/Library/Application Support/Cursor/hooks.json", "C:/ProgramData/Cursor/hooks.json", ".cursor/mcp.json"],
        in_home: &[],
        alone: &[],
        variables_in: &[],
        variables: &[],
        written: &[
        ],
    },
    Owner {
        name: "droid",
        files: &[".factory/hooks.json", ".factory/settings*.json", ".factory/mcp.json"],
        in_home: &[],
        alone: &[],
        variables_in: &[],
        variables: &[],
        written: &[
            Written { file: ".factory/settings.json", treatment: Treatment::ReadOnly, keys: &[], note: "settings changed inside are not kept, and a start that writes them was not tried" },
        ],
    },
    Owner {
        name: "gemini-cli",
        files: &[".gemini/settings.json", ".gemini/.env", ".gemini/trustedFolders.json", "/etc/gemini-cli/**", "/Library/Application Support/GeminiCli/**", "C:/ProgramData/gemini-cli/**"],
        in_home: &[],
        alone: &[],
        variables_in: &[],
        variables: &[("GEMINI_CLI_HOME", ""), ("GEMINI_CLI_SYSTEM_SETTINGS_PATH", ""), ("GEMINI_CLI_SYSTEM_DEFAULTS_PATH", ""), ("GEMINI_CLI_TRUSTED_FOLDERS_PATH", "")],
        written: &[
            Written { file: ".gemini/settings.json", treatment: Treatment::ReadOnly, keys: &[], note: "the agent says that it added a setting or a server, and nothing is saved" },
            Written { file: ".gemini/trustedFolders.json", treatment: Treatment::ReadOnly, keys: &[], note: "trust in a directory that is given inside lasts for the run" },
        ],
    },
    Owner {
        name: "goose",
        files: &[".agents/plugins/**"],
        in_home: &[".config/goose/**"],
        alone: &[],
        variables_in: &[],
        variables: &[("GOOSE_PATH_ROOT", "")],
        written: &[
            Written { file: ".config/goose/config.yaml", treatment: Treatment::ReadOnly, keys: &[], note: "the choice of a model is not kept" },
        ],
    },
    Owner {
        name: "grok-build",
        files: &[".grok/hooks/**", ".grok/config.toml"],
        in_home: &[],
        alone: &[],
        variables_in: &[],
        variables: &[],
        written: &[
            Written { file: ".grok/config.toml", treatment: Treatment::ReadOnly, keys: &["hooks", "mcp_servers"], note: "settings changed inside are not kept, and a start that writes them was not tried" },
        ],
    },
    Owner {
        name: "kiro",
        files: &[".kiro/hooks/**", ".kiro/agents/**", ".kiro/settings/mcp.json"],
        in_home: &[],
        alone: &[],
        variables_in: &[],
        variables: &[],
        written: &[
        ],
    },
    Owner {
        name: "opencode",
        files: &["opencode.json", "opencode.jsonc", ".opencode/plugin/**", ".opencode/plugins/**"],
        in_home: &[".config/opencode/**"],
        alone: &[],
        variables_in: &[],
        variables: &[("OPENCODE_CONFIG_DIR", "~/.config/opencode"), ("OPENCODE_CONFIG", ""), ("OPENCODE_CONFIG_CONTENT", "")],
        written: &[
            Written { file: ".config/opencode/node_modules/**", treatment: Treatment::Free, keys: &[], note: "" },
            Written { file: ".config/opencode/package.json", treatment: Treatment::Free, keys: &[], note: "" },
            Written { file: ".config/opencode/bun.lock", treatment: Treatment::Free, keys: &[], note: "" },
            Written { file: ".config/opencode/.gitignore", treatment: Treatment::Free, keys: &[], note: "" },
        ],
    },
    Owner {
        name: "openhands",
        files: &[".openhands/hooks.json"],
        in_home: &[],
        alone: &[],
        variables_in: &[],
        variables: &[],
        written: &[
        ],
    },
    Owner {
        name: "pi",
        files: &[".pi/agent/extensions/**", ".pi/agent/settings.json", ".pi/extensions/**", ".pi/settings.json"],
        in_home: &[],
        alone: &[],
        variables_in: &[],
        variables: &[("PI_CODING_AGENT_DIR", "~/.pi/agent")],
        written: &[
            Written { file: ".pi/agent/settings.json", treatment: Treatment::ReadOnly, keys: &[], note: "settings changed inside are not kept" },
        ],
    },
    Owner {
        name: "qwen-code",
        files: &[".qwen/settings*.json", ".qwen/.env", "/etc/qwen-code/**", "/Library/Application Support/QwenCode/**", "C:/ProgramData/qwen-code/**"],
        in_home: &[],
        alone: &[],
        variables_in: &[],
        variables: &[("QWEN_HOME", "~/.qwen"), ("QWEN_CODE_SYSTEM_SETTINGS_PATH", ""), ("QWEN_CODE_SYSTEM_DEFAULTS_PATH", "")],
        written: &[
            Written { file: ".qwen/settings.json", treatment: Treatment::ReadOnly, keys: &[], note: "settings changed inside are not kept" },
        ],
    },
    Owner {
        name: "windsurf",
        files: &[".codeium/windsurf/hooks.json", ".windsurf/hooks.json", "/etc/windsurf/hooks.json", "/Library/Application Support/Windsurf/hooks.json", "C:/ProgramData/Windsurf/hooks.json", ".codeium/windsurf/mcp_config.json"],
        in_home: &[],
        alone: &[],
        variables_in: &[],
        variables: &[],
        written: &[
        ],
    },
    Owner {
        name: "editors",
        files: &[".zed/settings.json", ".vscode/mcp.json"],
        in_home: &[".config/zed/settings.json", ".config/Code/User/mcp.json", "Library/Application Support/Code/User/mcp.json", "AppData/Roaming/Code/User/mcp.json", "AppData/Roaming/Zed/settings.json"],
        alone: &[],
        variables_in: &[],
        variables: &[],
        written: &[
        ],
    },
    Owner {
        name: "environment",
        files: &[],
        in_home: &[],
        alone: &[".config/environment.d/**", ".pam_environment"],
        variables_in: &[".env", ".envrc", ".bashrc", ".bash_profile", ".bash_login", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".xprofile", ".mise.toml", "mise.toml", ".config/fish/**", "/etc/environment", "/etc/profile", "/etc/profile.d/**"],
        variables: &[],
        written: &[
        ],
    },
];
