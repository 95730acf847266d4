//! Settings of Gemini CLI's sandbox. Sources: google-gemini/gemini-cli `sandbox.md` and `configuration.md`, read for
//! 0.61 and 0.70: `tools.sandboxNetworkAccess` switches the network, `tools.sandboxAllowedPaths` adds paths, and no setting denies one.

use super::{Export, Setting, file, guards};
use crate::plan::Treatment;
use crate::policy::{FileFormat, NetworkAccess, Places, Policy};
use hookhost_agents::plan::Scope;

/// Exports a policy.
pub fn export(policy: &Policy, places: &Places<'_>, scope: Scope) -> Export {
    let path = file(places, scope, "", ".gemini", ("settings.json", "settings.json"));
    let mut export = Export::new("gemini-cli", scope, path, FileFormat::Json);
    for guard in guards(policy, scope) {
        match (guard.treatment, scope) {
            (Treatment::Hidden, Scope::Project) => export.inexact(
                guard,
                places,
                "stays readable and writable: the sandbox of Gemini CLI has all of the project",
            ),
            (Treatment::ReadOnly, Scope::Project) => {
                export.inexact(guard, places, "stays writable: the sandbox of Gemini CLI has all of the project");
            }
            (Treatment::Hidden, _) => export.inexact(
                guard,
                places,
                "stays readable with the Seatbelt profiles other than `strict-*`: a container does not have it",
            ),
            // Outside of the project, commands write nothing that `sandboxAllowedPaths` does not name.
            _ => {}
        }
    }
    export.git_configuration(policy, places);
    if scope == Scope::User {
        if policy.network != NetworkAccess::All {
            export.settings.push(Setting::member(&["tools", "sandboxNetworkAccess"], false));
        }
        if matches!(policy.network, NetworkAccess::Hosts(_)) {
            export.note("Gemini CLI has the network or not, so the hosts of `network` are closed, too");
        }
        if policy.network != NetworkAccess::All {
            export.note(
                "on macOS, the network is open in the Seatbelt profiles `*-open`: set SEATBELT_PROFILE=strict-proxied",
            );
        }
        export.note("these settings count while the sandbox of Gemini CLI is on: start it with --sandbox");
    }
    export
}
