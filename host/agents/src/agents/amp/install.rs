//! Amp loads each file in its plugin directories that begins with a certain comment.

use super::AGENT;
use crate::agents::own_plugin::{Runtime, file};
use crate::plan::{Context, FilePlan, NotInstallable, Plan, Scope};

const PLUGIN: &str = include_str!("../plugins/amp.ts");

/// Amp loads no file without this line.
const ACKNOWLEDGEMENT: &str = "// @i-know-the-amp-plugin-api-is-wip-and-very-experimental-right-now\n";

pub(super) fn plan(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let directory = match context.scope {
        Scope::User => context.directory("XDG_CONFIG_HOME", ".config").join("amp"),
        Scope::Project => context.project.join(".amp"),
        Scope::Managed => {
            return Err(NotInstallable(
                "Amp loads no plugins for a whole machine: install it for each user".to_owned(),
            ));
        }
    };
    let path = directory.join("plugins/hookhost.ts");
    let content = file(&AGENT, context, Runtime::Node, ACKNOWLEDGEMENT, PLUGIN);
    let plan = Plan::new(vec![FilePlan::Whole { path, content, is_program: false }]);
    Ok(plan
        .step("Run \"plugins: reload\" in Amp's command palette, or start it again.")
        .step("Start `amp -x` with `--plugin-ready-timeout 30`: otherwise it may begin before the plugin is loaded."))
}
