//! The properties with which a session is opened.

use crate::active_config::RuleSet;
use crate::contract::{ModelRef, ToolSpec};
use std::path::{Component, Path, PathBuf};

/// Maximum size of a session's identifier, in bytes.
const MAX_ID_BYTES: usize = 256;

/// The properties of a session.
///
/// ```
/// use hookhost::{Config, Host, SessionSpec};
/// use std::path::Path;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let host = Host::builder(Config::empty()).build().await?;
/// let workspace = Path::new("/home/ada/project");
/// let mut spec = SessionSpec::new("my-agent", workspace);
/// spec.cwd = workspace.join("src");
/// spec.interactive = true;
/// let session = host.open_session(spec)?;
///
/// // A sub-agent that the session starts.
/// let below = host.open_session(SessionSpec::new("my-agent", workspace).under(session.id(), 1))?;
///
/// // A relative path is an error: plugins compare paths.
/// assert!(host.open_session(SessionSpec::new("my-agent", Path::new("."))).is_err());
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionSpec {
    /// Identifier, unique among all sessions: 1 to 256 bytes without control characters. If absent, the session gets
    /// a new UUID. The identifier of a known session continues that session, with the state of its plugins.
    pub id: Option<String>,
    /// The agent program, such as `hookhost`.
    pub agent: String,
    /// Working directory: an absolute path without `..`.
    pub cwd: PathBuf,
    /// Root of the project on which the agent works: an absolute path without `..`. If a project's configuration file
    /// in a parent directory applies, rules see the directory of the outermost such file instead.
    pub workspace: PathBuf,
    /// Depth: 0 for the agent to which the user talks, n for a sub-agent n levels down.
    pub depth: u32,
    /// True if a person can be asked.
    pub interactive: bool,
    /// Identifier of the session that started this session.
    pub parent: Option<String>,
    /// Identifier of the session at the root of this session's tree. All sessions of a tree share the state of the
    /// scope `tree`. If absent, the host uses the first of these that is known: the root that the store contains for
    /// this session, the root of the parent, the parent, this session.
    pub root: Option<String>,
    /// The rules of the session. If absent, the session uses the host's own rules.
    pub rules: Option<RuleSet>,
    /// The tools whose parameters are known. If a plugin changes the arguments of a call, the host checks the new
    /// arguments against the schema of the tool.
    pub tools: Vec<ToolSpec>,
    /// The models that a plugin may choose for a request instead of the requested model.
    pub models: Vec<ModelRef>,
}

impl SessionSpec {
    /// Describes a session of the agent program `agent` in `workspace`: not interactive, at depth 0, without known
    /// tools.
    #[must_use]
    pub fn new(agent: &str, workspace: &Path) -> Self {
        Self {
            id: None,
            agent: agent.to_owned(),
            cwd: workspace.to_owned(),
            workspace: workspace.to_owned(),
            depth: 0,
            interactive: false,
            parent: None,
            root: None,
            rules: None,
            tools: Vec::new(),
            models: Vec::new(),
        }
    }

    /// Sets the identifier.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Makes this the session of a sub-agent, `depth` levels down, which the session `parent` starts.
    #[must_use]
    pub fn under(mut self, parent: impl Into<String>, depth: u32) -> Self {
        (self.parent, self.depth) = (Some(parent.into()), depth);
        self
    }

    /// Puts the session in the tree of the session `root`.
    #[must_use]
    pub fn root(mut self, root: impl Into<String>) -> Self {
        self.root = Some(root.into());
        self
    }

    /// Runs the session under these rules, in place of the host's own.
    #[must_use]
    pub fn rules(mut self, rules: &RuleSet) -> Self {
        self.rules = Some(rules.clone());
        self
    }
}

/// The reason why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The session id is invalid. The string contains the first 40 characters of the id, escaped.
    #[error(
        "`{0}` is not a valid session id: an id has 1 to {MAX_ID_BYTES} bytes and no control characters; leave it out to get a fresh one"
    )]
    Id(String),
    /// A directory of the session is not an absolute path. Plugins compare paths, so a relative path would have no
    /// fixed meaning.
    #[error("the {what} `{path}` of the session must be an absolute path and must not contain `..`")]
    NotAbsolute {
        /// `workspace` or `working directory`.
        what: &'static str,
        /// The path.
        path: String,
    },
    /// A tool's schema cannot be used: see [`crate::schema::SchemaError`].
    #[error("the input schema of the tool `{tool}` {problem}")]
    Schema {
        /// The tool.
        tool: String,
        /// The problem, as the end of the sentence "the input schema of the tool …".
        problem: String,
    },
}

impl SessionSpec {
    /// Checks the directories of the session.
    ///
    /// # Errors
    /// If a directory is not an absolute path without `..`.
    pub(super) fn check_directories(&self) -> Result<(), SessionError> {
        for (what, path) in [("workspace", &self.workspace), ("working directory", &self.cwd)] {
            let leads_up = path.components().any(|part| part == Component::ParentDir);
            if !path.is_absolute() || leads_up || path.as_os_str().as_encoded_bytes().contains(&0) {
                let path = path.to_string_lossy().chars().take(200).flat_map(char::escape_debug).collect();
                return Err(SessionError::NotAbsolute { what, path });
            }
        }
        Ok(())
    }
}

/// Checks the identifier of a session.
///
/// # Errors
/// If the identifier is empty, longer than 256 bytes, or contains a control character.
pub(super) fn check_id(id: &str) -> Result<(), SessionError> {
    if id.is_empty() || id.len() > MAX_ID_BYTES || id.contains(char::is_control) {
        return Err(SessionError::Id(id.chars().take(40).flat_map(char::escape_debug).collect()));
    }
    Ok(())
}
