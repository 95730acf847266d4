//! A home directory for tests, and the plan of an agent in this directory.

use hookhost_agents::install::receipt::{Installation, Receipts};
use hookhost_agents::install::uninstall::UndoAction;
use hookhost_agents::install::{self, FileRefusal, uninstall};
use hookhost_agents::plan::{Context, JsonDialect, OnFailure, Plan, Scope};
use hookhost_agents::{Adapter, by_name};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The dialect of the most tolerant agent.
pub(crate) const ANY: JsonDialect = JsonDialect::CommentsAndCommas;

/// The files of a user.
pub(crate) struct Home {
    directory: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(home.path("bin")).unwrap();
        for program in ["hookhost-hook", "hookhost"] {
            fs::write(home.path("bin").join(program), "").unwrap();
        }
        home
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn settings(&self) -> PathBuf {
        self.path(".claude/settings.json")
    }

    pub(crate) fn write(&self, text: &str) {
        fs::create_dir_all(self.path(".claude")).unwrap();
        fs::write(self.settings(), text).unwrap();
    }

    pub(crate) fn read(&self) -> String {
        fs::read_to_string(self.settings()).unwrap()
    }

    pub(crate) fn adapter() -> &'static Adapter {
        by_name("claude-code").unwrap()
    }

    pub(crate) fn with_context<T>(&self, does: impl FnOnce(&Context<'_>) -> T) -> T {
        let (home, program) = (self.path("."), self.path("bin/hookhost-hook"));
        let home: PathBuf = home.components().collect();
        does(&Context {
            scope: Scope::User,
            home: &home,
            project: Path::new("/project"),
            program: &program,
            on_failure: OnFailure::Deny,
            directories: None,
            variable: &|_| None,
        })
    }

    pub(crate) fn plan(&self) -> Plan {
        self.with_context(|context| Self::adapter().install(context).unwrap())
    }

    pub(crate) fn receipts(&self) -> Receipts {
        Receipts::of(&self.path("state"))
    }

    pub(crate) fn installation() -> Installation<'static> {
        Installation::new("claude-code", Scope::User, Path::new("/project"))
    }

    pub(crate) fn install(&self) -> Result<(), FileRefusal> {
        let of = Self::installation();
        let changes = install::prepare(&self.plan(), &of, ANY, self.receipts().read(&of)?.as_ref())?;
        install::apply(&changes, &self.receipts(), &of, Some("2.1.330".to_owned()))
    }

    /// Takes hookhost out, and returns what became of the settings. The skill is a file of hookhost alone, so it always goes.
    pub(crate) fn uninstall(&self) -> Result<Vec<UndoAction>, FileRefusal> {
        let receipt = self.receipts().read(&Self::installation())?;
        let undoings = uninstall::prepare(&self.plan(), &Self::installation(), receipt.as_ref())?;
        uninstall::apply(&undoings)?;
        self.receipts().remove(&Self::installation())?;
        assert!(!self.path(".claude/skills/hookhost/SKILL.md").exists());
        let of_settings = undoings.into_iter().filter(|undoing| !undoing.file.named.ends_with("SKILL.md"));
        Ok(of_settings.map(|undoing| undoing.undo).collect())
    }
}
