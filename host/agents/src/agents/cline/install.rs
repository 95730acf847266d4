//! Cline runs the programs in its hook directories, each with the name of its hook point.

use super::AGENT;
use crate::plan::{Context, FilePlan, NotInstallable, Plan, Scope};

pub(super) fn plan(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let directory = match context.scope {
        Scope::User => context.home.join(".cline/hooks"),
        Scope::Project => context.project.join(".clinerules/hooks"),
        Scope::Managed => {
            return Err(NotInstallable(
                "Cline has no hooks for a whole machine: install them for each user".to_owned(),
            ));
        }
    };
    let files = AGENT.points.iter().filter(|point| point.installed).map(|point| FilePlan::Whole {
        path: directory.join(point.name),
        content: format!("#!/bin/sh\n# Written by hookhost.\nexec {}\n", context.command(&AGENT, point.name)),
        is_program: true,
    });
    let plan = Plan::new(files.collect());
    Ok(match context.scope {
        Scope::User => plan.step(
            "For Cline in an editor, copy the files of ~/.cline/hooks to ~/Documents/Cline/Hooks, and turn on \"Enable Hooks\" in its \
             settings.",
        ),
        _ => plan.step("For Cline in an editor, turn on \"Enable Hooks\" in its settings."),
    })
}
