//! `hookhost check`: checks a repository's own rules, and the hooks that the repository gives to agents. It runs no code of the
//! repository.

mod hooks;
mod rules;
mod sarif;

use crate::args::CheckArgs;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::output::{
    self,
    style::{DIM, ERROR, GOOD, NAME, WARNING},
};
use anyhow::anyhow;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Something that a person should see.
#[derive(Debug)]
struct Finding {
    kind: Kind,
    /// Path of the file, relative to the root of the repository.
    file: PathBuf,
    /// Line, from 1.
    line: usize,
    /// One sentence.
    message: String,
}

/// The kind of a finding. It determines the severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    RulesInvalid,
    PluginChanged,
    PluginMissing,
    HookhostRemoved,
    HooksDisabled,
    HookAdded,
    HookChanged,
    HookRemoved,
    HooksUnreadable,
}

/// Severity, with the words of SARIF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Severity {
    Note,
    Warning,
    Error,
}

impl Kind {
    const ALL: [Self; 9] = [
        Self::RulesInvalid,
        Self::PluginChanged,
        Self::PluginMissing,
        Self::HookhostRemoved,
        Self::HooksDisabled,
        Self::HookAdded,
        Self::HookChanged,
        Self::HookRemoved,
        Self::HooksUnreadable,
    ];

    /// Returns the name, the severity and a description for people.
    const fn details(self) -> (&'static str, Severity, &'static str) {
        use Severity::{Error, Note, Warning};
        match self {
            Self::RulesInvalid => ("rules-invalid", Error, "The rules of the repository cannot be loaded."),
            Self::PluginChanged => ("plugin-changed", Error, "A plugin is not the file that its digest names."),
            Self::PluginMissing => ("plugin-missing", Note, "A plugin is not in the repository."),
            Self::HookhostRemoved => ("hookhost-removed", Error, "An agent no longer asks hookhost."),
            Self::HooksDisabled => ("hooks-disabled", Error, "A setting disables all hooks of an agent."),
            Self::HookAdded => ("hook-added", Warning, "An agent runs a new command by itself."),
            Self::HookChanged => ("hook-changed", Warning, "An agent runs a changed command by itself."),
            Self::HookRemoved => ("hook-removed", Note, "An agent no longer runs a command by itself."),
            Self::HooksUnreadable => ("hooks-unreadable", Warning, "A file that can contain hooks cannot be read."),
        }
    }

    const fn name(self) -> &'static str {
        self.details().0
    }

    const fn severity(self) -> Severity {
        self.details().1
    }

    /// Returns true if the finding is about rules and not about hooks.
    const fn is_about_rules(self) -> bool {
        matches!(self, Self::RulesInvalid | Self::PluginChanged | Self::PluginMissing)
    }
}

pub(crate) async fn run(args: &CheckArgs) -> Result<Exit, CliError> {
    let root = match &args.directory {
        Some(directory) => directory_of(directory)?,
        None => configuration::cwd()?,
    };
    let base = args.base.as_deref().map(directory_of).transpose()?;
    let (rules, mut findings) = rules::check(&root).await;
    let (hooks, of_hooks) = hooks::check(&root, base.as_deref());
    findings.extend(of_hooks);
    if let Some(file) = &args.sarif {
        let text = format!("{:#}\n", sarif::log(&findings));
        std::fs::write(file, text).map_err(|error| anyhow!("cannot write {}: {error}", file.display()))?;
    }
    output::print(&as_text(&findings, &rules, &hooks))?;
    let errors = || findings.iter().filter(|finding| finding.kind.severity() == Severity::Error);
    Ok(match errors().next() {
        None => Exit::Done,
        Some(_) if errors().any(|finding| finding.kind.is_about_rules()) => Exit::NotLoaded,
        Some(_) => Exit::Differs,
    })
}

fn directory_of(path: &Path) -> Result<PathBuf, CliError> {
    let shown = output::quoted(&path.to_string_lossy());
    match path.canonicalize() {
        Ok(directory) if directory.is_dir() => Ok(directory),
        Ok(_) => Err(CliError::usage(format!("{shown} is not a directory: name the root of a checkout"))),
        Err(error) => Err(CliError::usage(format!("{shown} cannot be read: {error}"))),
    }
}

/// Returns the findings for people. `rules` and `hooks` are one sentence each about what was checked.
fn as_text(findings: &[Finding], rules: &str, hooks: &str) -> String {
    let mut text = String::new();
    for (what, about_rules) in [(rules, true), (hooks, false)] {
        let of = || findings.iter().filter(move |finding| finding.kind.is_about_rules() == about_rules);
        let worst = of().map(|finding| finding.kind.severity()).max();
        let mark = match worst {
            Some(Severity::Error) => format!("{ERROR}✗{ERROR:#}"),
            Some(Severity::Warning) => format!("{WARNING}!{WARNING:#}"),
            Some(Severity::Note) | None => format!("{GOOD}✓{GOOD:#}"),
        };
        let _ = writeln!(text, "{mark} {}", output::one_line(what));
        for Finding { kind, file, line, message } in of() {
            let place = output::one_line(&format!("{}:{line}", file.display()));
            let _ = writeln!(text, "    {NAME}{place}{NAME:#}  {DIM}{}{DIM:#}", kind.name());
            let _ = writeln!(text, "      {}", output::printable(message).replace('\n', "\n      "));
        }
    }
    text
}
