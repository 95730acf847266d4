//! pi loads each file in its extension directories.

use super::AGENT;
use crate::agents::own_plugin::{Runtime, file};
use crate::plan::{Context, FilePlan, NotInstallable, Plan, Scope};

const PLUGIN: &str = include_str!("../plugins/pi.ts");

pub(super) fn plan(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let directory = match context.scope {
        Scope::User => context.directory("PI_CODING_AGENT_DIR", ".pi/agent"),
        Scope::Project => context.project.join(".pi"),
        Scope::Managed => {
            return Err(NotInstallable(
                "pi loads no extensions for a whole machine: install it for each user".to_owned(),
            ));
        }
    };
    let path = directory.join("extensions/hookhost.ts");
    let content = file(&AGENT, context, Runtime::Node, "", PLUGIN);
    let plan = Plan::new(vec![FilePlan::Whole { path, content, is_program: false }]);
    Ok(plan.step("Type /reload in pi, or start it again: it loads its extensions when it starts."))
}
