//! Settings of Cursor's sandbox, `sandbox.json`. Source: <https://cursor.com/docs/reference/sandbox>, read for 3.23: `networkPolicy` limits
//! hosts, `type` must not be `insecure_none`, the other fields add paths, and none denies one. Not tried with the agent.

use super::{Export, Setting, file, guards};
use crate::plan::Treatment;
use crate::policy::{FileFormat, NetworkAccess, Places, Policy};
use hookhost_agents::plan::Scope;

/// Exports a policy.
pub fn export(policy: &Policy, places: &Places<'_>, scope: Scope) -> Export {
    let path = file(places, scope, "", ".cursor", ("sandbox.json", "sandbox.json"));
    let mut export = Export::new("cursor", scope, path, FileFormat::Json);
    for guard in guards(policy, scope) {
        match (guard.treatment, scope) {
            (Treatment::Hidden, Scope::Project) => {
                export.inexact(guard, places, "stays readable and writable: name it in .cursorignore");
            }
            (Treatment::ReadOnly, Scope::Project) => {
                export.inexact(guard, places, "stays writable: Cursor's sandbox has all of the project");
            }
            (Treatment::Hidden, _) => export.inexact(guard, places, "stays readable: Cursor's sandbox denies no path"),
            // Outside of the project, commands write nothing that `additionalReadwritePaths` does not name.
            _ => {}
        }
    }
    export.git_configuration(policy, places);
    if scope == Scope::User {
        export.settings.push(Setting::member(&["type"], "workspace_readwrite"));
        if policy.network != NetworkAccess::All {
            export.settings.push(Setting::member(&["networkPolicy", "default"], "deny"));
        }
        if let NetworkAccess::Hosts(hosts) = &policy.network {
            let hosts = hosts.iter().map(|host| Setting::element(&["networkPolicy", "allow"], host.clone()));
            export.settings.extend(hosts);
        }
        export.note("the `sandbox.json` of a project takes precedence over this file");
        export.note("these settings count for the commands that Cursor runs in its sandbox: choose a run mode with it, and approve no command outside of it");
    }
    export
}
