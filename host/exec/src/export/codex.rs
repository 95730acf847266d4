//! A permission profile of Codex. Source: <https://developers.openai.com/codex/permissions>, a beta: a profile `[permissions.NAME]` may extend
//! `:workspace`, and its `filesystem` gives a path `read`, `write` or `deny`; `default_permissions` selects it.
//!
//! Tried with `codex sandbox` of 0.162.0 on Linux: each access holds, also `write` inside of `read`; a path that does not exist cannot be
//! made; the profiles of the user's file and of a trusted project's file are joined; no socket at a path is reachable. 0.131 did not start
//! with a path that does not exist, so only existing ones are named.

use super::{Export, Setting, file, guards, restored};
use crate::plan::Treatment;
use crate::policy::{FileFormat, NetworkAccess, Places, Policy};
use hookhost_agents::plan::Scope;

const PROFILE: &[&str] = &["permissions", "hookhost"];

/// Exports a policy.
pub fn export(policy: &Policy, places: &Places<'_>, scope: Scope) -> Export {
    let path = file(places, scope, "CODEX_HOME", ".codex", ("config.toml", "config.toml"));
    let mut export = Export::new("codex", scope, path, FileFormat::Toml);
    let mut set = |path: &std::path::Path, access: &str| {
        let path = path.to_string_lossy();
        export.settings.push(Setting::member(&[PROFILE, &["filesystem", &path]].concat(), access));
    };
    for guard in guards(policy, scope) {
        match guard.treatment {
            Treatment::ReadOnly => set(&guard.path, "read"),
            Treatment::Hidden => set(&guard.path, "deny"),
            Treatment::Writable => set(&guard.path, "write"),
            // Commands reach no socket while the network is off.
            Treatment::Masked => {}
        }
    }
    restored(policy, scope).for_each(|path| set(path, "read"));
    if export.settings.is_empty() {
        return export;
    }
    export.settings.insert(0, Setting::member(&["default_permissions"], "hookhost"));
    export.settings.insert(1, Setting::member(&[PROFILE, &["extends"]].concat(), ":workspace"));
    export.overriding = &[
        ("sandbox_mode", "`sandbox_mode` makes Codex ignore permission profiles: remove it from the file"),
        (
            "sandbox_workspace_write",
            "`sandbox_workspace_write` does not go together with permission profiles: remove it from the file",
        ),
    ];
    match &policy.network {
        NetworkAccess::All => export.note("commands have no network in this profile: set `network.enabled` of `permissions.hookhost` if they need it"),
        NetworkAccess::None => export.settings.push(Setting::member(&[PROFILE, &["network", "enabled"]].concat(), false)),
        NetworkAccess::Hosts(_) => export.note("commands have no network in this profile: Codex limits hosts only with its own proxy, `features.network_proxy`"),
    }
    export
        .note("the flags --sandbox and --dangerously-bypass-approvals-and-sandbox of Codex make it ignore the profile");
    export.note("permission profiles are a beta of Codex: check the profile with `codex sandbox --permission-profile hookhost` after an update");
    export.note("files that do not exist yet are not named: export again when one appears");
    if scope == Scope::Project {
        export.note("Codex reads this file only in a project that it trusts, and joins it with the user's profile");
    }
    export
}
