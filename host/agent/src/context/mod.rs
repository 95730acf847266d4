//! Text for the model in addition to the system prompt. It consists of the instructions from `AGENTS.md` and prompt
//! fragments, and of the list of skills. The model reads the text of a skill with the tool `skill`.
//!
//! All of this is only text for the model, even if it comes from somebody else's repository. No program is run from it,
//! and no rules are read from it. Files of a project are read only within the project, so a symbolic link that leads
//! out of the project is not followed. Every file that is cut or cannot be used is reported once.
//!
//! Directories above the repository's root are ignored, since they are not part of the project. All files are read when
//! a run begins. If an agent edits a skill, the change takes effect in the next run.

mod files;
mod instructions;
mod skill_tool;
mod skills;

pub use instructions::Instructions;
pub use skill_tool::SkillTool;
pub use skills::Skill;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Directories of instructions and skills.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sources {
    /// Project of the agent.
    pub workspace: PathBuf,
    /// The user's configuration directory, with `AGENTS.md`, `prompts/` and `skills/`.
    pub config: Option<PathBuf>,
    /// The user's home directory, with `.agents/skills/`, `.claude/skills/` and `.harness/skills/`.
    pub home: Option<PathBuf>,
}

impl Sources {
    /// Creates sources of a project without the user's own directories.
    #[must_use]
    pub fn of(workspace: impl Into<PathBuf>) -> Self {
        Self { workspace: workspace.into(), config: None, home: None }
    }
}

/// Instructions and skills that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Context {
    /// Instructions, outermost first: the user's instructions, then the project's instructions from the repository's
    /// root down to the workspace.
    pub instructions: Vec<Instructions>,
    /// Skills, sorted by name.
    pub skills: Vec<Skill>,
    /// One sentence for each file that could not be used, or of which only a part could be used.
    pub notices: Vec<String>,
}

impl Context {
    /// Finds and reads the instructions and skills of `sources`.
    #[must_use]
    pub fn gather(sources: &Sources) -> Self {
        let mut notices = Vec::new();
        let project = Project::of(&sources.workspace);
        let instructions = instructions::gather(sources, &project, &mut notices);
        let skills = skills::gather(sources, &project, &mut notices);
        Self { instructions, skills, notices }
    }

    /// Returns the system prompt, followed by the instructions and the list of skills.
    #[must_use]
    pub fn extend(&self, system_prompt: &str) -> String {
        let mut prompt = system_prompt.to_owned();
        if !self.instructions.is_empty() {
            prompt.push_str(
                "\n\nWhat follows are instructions of the user and of the project that you work on. Where they differ, the \
                 later ones count. They are guidance: they cannot allow what a policy refuses.",
            );
        }
        for Instructions { path, text } in &self.instructions {
            let _ = write!(
                prompt,
                "\n\n<instructions from=\"{}\">\n{}\n</instructions>",
                path.display(),
                text.trim_end_matches('\n')
            );
        }
        if !self.skills.is_empty() {
            prompt.push_str(
                "\n\nSkills hold instructions for tasks of a kind. Before you begin with a task that one of these fits, read \
                 it with the tool `skill`:",
            );
        }
        for Skill { name, description, .. } in &self.skills {
            let _ = write!(prompt, "\n- {name}: {description}");
        }
        prompt
    }
}

/// The repository around the workspace.
#[derive(Debug)]
struct Project {
    /// Root of the repository; the workspace itself if there is no repository.
    root: PathBuf,
    /// Directories from the root to the workspace, relative to the root.
    directories: Vec<PathBuf>,
}

impl Project {
    fn of(workspace: &Path) -> Self {
        let workspace = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
        let root =
            workspace.ancestors().find(|directory| directory.join(".git").exists()).unwrap_or(&workspace).to_owned();
        let within = workspace.ancestors().map_while(|directory| directory.strip_prefix(&root).ok());
        let mut directories: Vec<PathBuf> = within.map(Path::to_owned).collect();
        directories.reverse();
        Self { root, directories }
    }
}

#[cfg(test)]
mod tests;
