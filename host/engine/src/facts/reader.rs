//! The facts of one event. A fact is read when a plugin asks for it, and at most once.

use super::agent::{AgentContext, AgentProcess};
use super::{cloud, file, flag, git, kube, text, tools};
use crate::contract::{Fact, FactName, Session};
use crate::locked::locked;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Maximum length of a path that a plugin names, in bytes: `PATH_MAX` of Linux.
const MAX_PATH: usize = 4096;

/// Maximum number of facts that are kept for the other plugins of an event. Further facts are read each time.
const MAX_KEPT: usize = 256;

/// Reads the facts of one event.
#[derive(Clone, Debug, Default)]
pub(crate) struct FactReader {
    session: Arc<Session>,
    agent: AgentContext,
    kept: Arc<Mutex<BTreeMap<(FactName, PathBuf), Fact>>>,
}

/// Returns the offset of the local time from UTC. Only rules of a configuration file ask for it.
#[cfg(feature = "config-file")]
fn time_offset() -> Fact {
    Fact::Number(i64::from(jiff::Zoned::now().offset().seconds() / 60))
}

#[cfg(not(feature = "config-file"))]
fn time_offset() -> Fact {
    Fact::Absent
}

impl FactReader {
    /// Creates a reader for an event of the session.
    pub(crate) fn new(session: Arc<Session>, agent: AgentContext) -> Self {
        Self { session, agent, kept: Arc::default() }
    }

    /// Returns a reader that reads all facts anew, for an event about which the plugins are asked once more.
    pub(crate) fn renewed(&self) -> Self {
        Self::new(Arc::clone(&self.session), self.agent.clone())
    }

    /// Returns a fact about the directory or the file `at`, or about the working directory of the session. A relative
    /// path begins in the working directory.
    pub(crate) fn read(&self, name: &FactName, at: Option<&str>) -> Fact {
        if let Some(given) = &self.agent.given {
            return given.facts.get(name).unwrap_or(&given.others).clone();
        }
        let at = at.unwrap_or_default();
        if at.len() > MAX_PATH || at.contains('\0') {
            return Fact::Unreadable("the path is too long, or contains a zero byte".to_owned());
        }
        let key = (name.clone(), Path::new(&self.session.cwd).join(at).components().collect::<PathBuf>());
        if let Some(known) = locked(&self.kept).get(&key) {
            return known.clone();
        }
        let read = self.source(name, &key.1);
        let mut kept = locked(&self.kept);
        if kept.len() < MAX_KEPT {
            kept.insert(key, read.clone());
        }
        read
    }

    /// Returns a variable of this process's environment, which a plugin may read.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let Some(given) = &self.agent.given else { return std::env::var(name).ok() };
        match given.facts.get(&FactName::Variable(name.to_owned())) {
            Some(Fact::Text(value)) => Some(value.clone()),
            _ => None,
        }
    }

    /// Returns the session of the event.
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the agent's process.
    pub(crate) fn process(&self) -> &dyn AgentProcess {
        self.agent.process()
    }

    fn source(&self, name: &FactName, at: &Path) -> Fact {
        let AgentContext { mode, version, tool, .. } = &self.agent;
        let process = self.process();
        text(match name {
            FactName::PathExists => return flag(file::exists(at)),
            FactName::PathIsTracked => return flag(git::is_tracked(at)),
            FactName::ToolReadOnly => return flag(Ok(tool.read_only)),
            FactName::ToolDestructive => return flag(Ok(tool.destructive)),
            FactName::ToolOpenWorld => return flag(Ok(tool.open_world)),
            FactName::TimeOffset => return time_offset(),
            FactName::SessionSandboxed => return flag(process.is_sandboxed()),
            FactName::GitBranch => git::branch(process, at),
            FactName::GitRemote => git::remote(process, at),
            FactName::KubeContext => kube::context(process, at),
            FactName::KubeNamespace => kube::namespace(process, at),
            FactName::AwsProfile => cloud::aws_profile(process, at),
            FactName::AwsAccount => cloud::aws_account(process, at),
            FactName::GcloudProject => cloud::gcloud_project(process, at),
            FactName::TerraformWorkspace => tools::terraform_workspace(process, at),
            FactName::DockerContext => tools::docker_context(process, at),
            FactName::User => process.user(),
            FactName::SessionMode => Ok(mode.map(|mode| mode.name().to_owned())),
            FactName::AgentVersion => Ok(version.clone()),
            FactName::Variable(name) => process.variable(name),
        })
    }
}
