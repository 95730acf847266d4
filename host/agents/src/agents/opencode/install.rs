//! OpenCode loads each file in its plugin directories.

use super::AGENT;
use crate::agents::own_plugin::{Runtime, file};
use crate::plan::{Context, FilePlan, NotInstallable, Plan, Scope};

const PLUGIN: &str = include_str!("../plugins/opencode.js");

pub(super) fn plan(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let directory = match context.scope {
        Scope::User => (context.variable)("OPENCODE_CONFIG_DIR")
            .unwrap_or_else(|| context.directory("XDG_CONFIG_HOME", ".config").join("opencode")),
        Scope::Project => context.project.join(".opencode"),
        Scope::Managed => {
            return Err(NotInstallable(
                "OpenCode loads no plugins for a whole machine: install it for each user".to_owned(),
            ));
        }
    };
    let path = directory.join("plugins/hookhost.js");
    let content = file(&AGENT, context, Runtime::Node, "", PLUGIN);
    let files = vec![FilePlan::Whole { path, content, is_program: false }];
    Ok(Plan::new(files).step("Start OpenCode again: it loads its plugins when it starts."))
}
