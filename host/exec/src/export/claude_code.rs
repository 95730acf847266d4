//! Settings of Claude Code's sandbox. Sources: <https://code.claude.com/docs/en/settings> (`sandbox.filesystem`: a path begins with `/` or
//! `~/`; arrays of all files are joined) and <https://code.claude.com/docs/en/sandboxing>, read for 2.1.319. Not tried with the agent.

use super::{Export, Setting, file, guards, restored};
use crate::plan::Treatment;
use crate::policy::{FileFormat, NetworkAccess, Places, Policy};
use hookhost_agents::plan::Scope;

const DENY_WRITE: &[&str] = &["sandbox", "filesystem", "denyWrite"];
const DENY_READ: &[&str] = &["sandbox", "filesystem", "denyRead"];

/// Exports a policy.
pub fn export(policy: &Policy, places: &Places<'_>, scope: Scope) -> Export {
    // The project's other file is shared with other people.
    let path = file(places, scope, "CLAUDE_CONFIG_DIR", ".claude", ("settings.json", "settings.local.json"));
    let mut export = Export::new("claude-code", scope, path, FileFormat::Json);
    for guard in guards(policy, scope) {
        let path = places.shown(&guard.path);
        if path.contains(['*', '?', '[']) {
            export.inexact(guard, places, "looks like a pattern, which `denyWrite` may leave out");
        }
        match guard.treatment {
            Treatment::ReadOnly => export.settings.push(Setting::element(DENY_WRITE, path)),
            Treatment::Hidden => {
                export.settings.push(Setting::element(DENY_READ, path.clone()));
                export.settings.push(Setting::element(DENY_WRITE, path));
            }
            Treatment::Writable => export.inexact(
                guard,
                places,
                "is read-only for commands: in Claude Code, `denyWrite` has no exceptions",
            ),
            // Commands reach no socket at a path unless the user allows it.
            Treatment::Masked => {}
        }
    }
    for path in restored(policy, scope) {
        export.settings.push(Setting::element(DENY_WRITE, places.shown(path)));
    }
    if scope == Scope::User {
        if let NetworkAccess::Hosts(hosts) = &policy.network {
            let hosts =
                hosts.iter().map(|host| Setting::element(&["sandbox", "network", "allowedDomains"], host.clone()));
            export.settings.extend(hosts);
        }
        if policy.network != NetworkAccess::All {
            export.note("Claude Code asks the user about a host that is not allowed, and does not refuse it");
        }
        export.note("these settings count while the sandbox of Claude Code is on: turn it on with /sandbox");
        export.note(
            "the sandbox of Claude Code covers commands: rules guard its file tools, and MCP servers run without it",
        );
        export.note("files that do not exist yet are not named: export again when one appears");
    }
    export
}
