//! The agents' sessions. All calls that name the same session share that session, even if different processes report the calls.

use crate::call_key::digest;
use crate::rules::{Directories, DirectoryRules, real};
use data_encoding::HEXLOWER;
use hookhost::audit::DeliveryKind;
use hookhost::contract::Task;
use hookhost::session::SessionError;
use hookhost::{Host, Session, SessionSpec};
use hookhost_agents::AgentSession;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::OnceCell;

/// Maximum number of open handles. If there are more, the least recently used handle is dropped. This does not end the session,
/// which gets a new handle at its next call.
const MAX_HANDLES: usize = 1000;

/// Time after which an unused handle is dropped.
const HANDLE_TIMEOUT: Duration = Duration::from_secs(3600);

/// The arguments of this number of recent calls of a session are always remembered until the calls have run. At most twice this
/// number of calls are remembered.
const MAX_CALLS: usize = 256;

/// Maximum number of texts per session that are remembered because the model or the user has already read them.
const MAX_MENTIONS: usize = 1024;

/// Maximum size of the deferred tasks of a session, in bytes. The deferred notices have the same maximum.
const MAX_DEFERRED: usize = 1024 * 1024;

/// Maximum number of times in a row that plugins can keep an agent from stopping. Without this limit, a plugin that always has a
/// task would never let the agent stop.
pub const MAX_CONTINUATIONS: u32 = 8;

/// Maximum length of a session identifier that the engine accepts, in bytes.
const MAX_ID: usize = 256;

/// All sessions of this process.
#[derive(Debug, Default)]
pub struct SessionTable {
    handles: Mutex<HashMap<HandleKey, Arc<SessionHandle>>>,
}

/// The key of a handle: the session's identifier, directory and workspace, and the number of its rule set. If the directory or the
/// rule set of a session changes, the session gets another handle.
type HandleKey = (String, PathBuf, PathBuf, u64);

/// A handle of a session.
#[derive(Debug)]
pub struct SessionHandle {
    /// The handle of the session in the engine.
    pub session: Session,
    /// Set after the decision on `session-start`, which an earlier process may have made. Until this cell is set, no event that
    /// plugins can reject is dispatched. All handles of the session share the cell.
    pub(crate) started: Arc<OnceCell<()>>,
    used: Mutex<Instant>,
    /// The data of the session. All handles of the session share it, so it is not lost when the agent changes the directory.
    memory: Arc<Mutex<SessionMemory>>,
    /// The identifier of the main session. Differs from the identifier of `session` if this is the session of a sub-agent.
    root: String,
    /// The projects' configuration files that have been active, each with the root of its project. All handles of the main session
    /// and its sub-agents share these files.
    project_files: Arc<Mutex<BTreeMap<PathBuf, PathBuf>>>,
}

/// The data of a session that the resident host keeps in memory between two calls. The size of the data is limited. Texts and
/// arguments of the agent are stored only as digests.
#[derive(Debug, Default)]
struct SessionMemory {
    /// Digests of the allowed arguments of calls that have not run yet. The key is a digest of the call's number. The first map
    /// contains the latest calls, and the second map contains earlier calls.
    allowed: [HashMap<[u8; 32], [u8; 32]>; 2],
    /// Tasks of plugins that the agent could not accept yet.
    deferred_tasks: Vec<Task>,
    /// Notices for the user that could not be delivered yet.
    deferred_notices: Vec<String>,
    /// Digests of texts that the model or the user has read.
    mentioned: HashSet<[u8; 32]>,
    /// Number of times in a row that the agent was kept from stopping.
    continuations: u32,
}

impl SessionTable {
    /// Returns the handle of an agent's session. Opens a handle if there is none.
    ///
    /// # Errors
    /// If the engine cannot open the session because its directory is not an absolute path.
    pub fn handle(
        &self,
        host: &Host,
        agent: &str,
        named: &AgentSession,
        rules: &DirectoryRules,
    ) -> Result<Arc<SessionHandle>, SessionError> {
        let (top, id) = identifiers(agent, named);
        let key = (id.clone(), named.cwd.clone(), named.workspace.clone(), rules.number);
        let mut handles = self.handles();
        if let Some(handle) = handles.get(&key) {
            *handle.used() = Instant::now();
            return Ok(Arc::clone(handle));
        }
        let mut spec = SessionSpec::new(agent, &workspace(named)).id(id).rules(&rules.rules);
        spec.cwd.clone_from(&named.cwd);
        spec.interactive = named.interactive;
        if named.subagent.is_some() {
            spec = spec.under(top.clone(), 1);
        }
        let session = host.open_session(spec)?;
        let of_session = handles.iter().find(|((known, ..), _)| *known == key.0);
        let shared = of_session.map(|(_, handle)| (Arc::clone(&handle.started), Arc::clone(&handle.memory)));
        let (started, memory) = shared.unwrap_or_default();
        let used = Mutex::new(Instant::now());
        let of_tree = handles.values().find(|handle| handle.root == top);
        let project_files = of_tree.map(|handle| Arc::clone(&handle.project_files)).unwrap_or_default();
        let handle = SessionHandle { session, started, used, memory, root: top, project_files };
        let handle = Arc::new(handle);
        drop_unused(&mut handles);
        handles.insert(key, Arc::clone(&handle));
        Ok(handle)
    }

    /// Drops the handles of a session that has ended.
    pub fn end(&self, id: &str) {
        self.handles().retain(|(known, ..), _| known != id);
    }

    /// Returns the number of open handles.
    pub fn count(&self) -> usize {
        self.handles().len()
    }

    fn handles(&self) -> MutexGuard<'_, HashMap<HandleKey, Arc<SessionHandle>>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn drop_unused(handles: &mut HashMap<HandleKey, Arc<SessionHandle>>) {
    handles.retain(|_, handle| handle.used().elapsed() < HANDLE_TIMEOUT);
    if handles.len() >= MAX_HANDLES
        && let Some(oldest) = handles.iter().min_by_key(|(_, handle)| *handle.used()).map(|(key, _)| key.clone())
    {
        handles.remove(&oldest);
    }
}

/// Returns the identifier of an agent's session, and the identifier of the session to which the event belongs. The two identifiers
/// differ if a sub-agent has sent the event, because a sub-agent has its own session.
pub(crate) fn identifiers(agent: &str, named: &AgentSession) -> (String, String) {
    // An agent that does not name its sessions has one session per project.
    let unnamed = || format!("unnamed in {}", workspace(named).display());
    let top = identifier(agent, &named.id.clone().unwrap_or_else(unnamed));
    let id = named.subagent.as_ref().map_or_else(|| top.clone(), |subagent| identifier(&top, subagent));
    (top, id)
}

/// Returns `AGENT:ID`, or `AGENT:ID:SUBAGENT` for a sub-agent. No session of another agent has the same identifier. If `id`
/// contains a colon, or if the engine does not accept it, its digest is used instead.
fn identifier(agent: &str, id: &str) -> String {
    let plain = format!("{agent}:{id}");
    if plain.len() <= MAX_ID && !id.contains(|character: char| character == ':' || character.is_control()) {
        return plain;
    }
    let digest = HEXLOWER.encode(&Sha256::digest(id));
    let agent: String = agent.chars().take(64).collect();
    format!("{agent}:sha256-{digest}")
}

/// Returns the directories that a session names.
pub(crate) fn directories(session: &AgentSession) -> Directories {
    Directories { cwd: session.cwd.clone(), workspace: session.workspace.clone() }
}

/// Returns the root of the project. This is the directory that the agent names. If the agent names no directory, it is the working
/// directory or the nearest directory above it that contains `.git`. If there is no such directory, it is the working directory.
fn workspace(named: &AgentSession) -> PathBuf {
    if named.workspace != named.cwd {
        return named.workspace.clone();
    }
    let root = named.cwd.ancestors().find(|directory| directory.join(".git").exists());
    root.map_or_else(|| named.cwd.clone(), Path::to_owned)
}

/// Returns true if the session works in the same project, but in a directory to which this file does not apply.
fn is_elsewhere(file: &Path, project: &Path, root: &Path, named: &AgentSession, directory: &Path) -> bool {
    let Some(of_file) = file.parent() else { return false };
    let is_in_project = directory.starts_with(project) && root.starts_with(project);
    is_in_project && !directory.starts_with(of_file) && !named.cwd.starts_with(of_file)
}

/// Returns a digest of arguments. The digest does not depend on the order of the members.
fn arguments_digest(arguments: &Value) -> [u8; 32] {
    let mut sorted = arguments.clone();
    sorted.sort_all_objects();
    digest(&[&sorted.to_string()])
}

impl SessionHandle {
    fn used(&self) -> MutexGuard<'_, Instant> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn memory(&self) -> MutexGuard<'_, SessionMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the agent has reported an event again. `event` is the identifier of the event's record.
    pub(crate) fn note_repeated(&self, point: &str, event: Option<&str>) {
        let note = "the agent reported this event once more, and got the same outcome";
        self.session.note_delivery(event, point, DeliveryKind::Repeated, note);
    }

    /// Remembers the arguments with which a call is allowed to run.
    pub(crate) fn remember_arguments(&self, call: &str, arguments: &Value) {
        let call = digest(&[call]);
        let [latest, before] = &mut self.memory().allowed;
        before.remove(&call);
        if latest.len() >= MAX_CALLS && !latest.contains_key(&call) {
            *before = std::mem::take(latest);
        }
        latest.insert(call, arguments_digest(arguments));
    }

    /// Returns true if a call has run with arguments other than the allowed arguments. Returns false if the allowed arguments are
    /// no longer known.
    pub(crate) fn has_other_arguments(&self, call: &str, arguments: &Value) -> bool {
        let call = digest(&[call]);
        let allowed = self.memory().allowed.iter_mut().find_map(|calls| calls.remove(&call));
        allowed.is_some_and(|allowed| allowed != arguments_digest(arguments))
    }

    /// Remembers the projects' configuration files that are active for an event. `counting` contains these files. A file that was
    /// once active in a session must stay active until the user revokes its approval.
    ///
    /// # Errors
    /// One sentence, if a file is no longer active although the user has not revoked its approval. This happens if the project was
    /// moved, or if a symbolic link has another target now.
    pub(crate) fn check_project_files(
        &self,
        named: &AgentSession,
        counting: &[PathBuf],
        is_revoked: impl Fn(&Path) -> bool,
    ) -> Result<(), String> {
        // Different sessions without a name get the same identifier, so their files must not be compared.
        if named.id.is_none() {
            return Ok(());
        }
        let mut counted = self.project_files.lock().unwrap_or_else(PoisonError::into_inner);
        counted.extend(self.session.project_files());
        let known = counted.clone();
        if counting.iter().all(|file| known.contains_key(file)) && known.len() == counting.len() {
            return Ok(());
        }
        let (root, directory) = (real(&workspace(named)), directories(named).of_rules());
        for (file, project) in &known {
            if counting.contains(file) || is_elsewhere(file, project, &root, named, &directory) {
                continue;
            }
            if is_revoked(file) {
                self.session.forget_project_file(file);
                counted.remove(file);
                continue;
            }
            let file = file.display();
            return Err(format!(
                "the approved rules of {file} were active in this session, but are not active in {}: put the project back, \
                 begin a new session, or revoke the approval with `hookhost trust --revoke {file}`",
                directory.display()
            ));
        }
        self.session.note_project_files(counting, &root);
        let noted = self.session.project_files();
        counted.extend(noted.clone());
        match counting.iter().find(|file| file.to_str().is_some() && !noted.contains_key(*file)) {
            Some(file) => Err(format!(
                "a session remembers the rules of {} projects, and {} would be one more: begin a new session",
                noted.len(),
                file.display()
            )),
            None => Ok(()),
        }
    }

    /// Returns true if a text is mentioned for the first time since the last prompt.
    pub(crate) fn is_first_mention(&self, text: &str) -> bool {
        let mut memory = self.memory();
        if memory.mentioned.len() >= MAX_MENTIONS {
            // Texts are usually forgotten at the next prompt. The number of texts is limited as well, because some agents report no
            // prompts.
            memory.mentioned.clear();
        }
        memory.mentioned.insert(digest(&[text]))
    }

    /// Updates the state of the session because the user has sent a prompt.
    pub(crate) fn note_prompt(&self) {
        let mut memory = self.memory();
        memory.mentioned.clear();
        memory.continuations = 0;
    }

    /// Defers tasks until the agent can accept them. If some tasks would exceed the maximum size, they are dropped and the user
    /// gets a notice.
    pub(crate) fn defer_tasks(&self, tasks: Vec<Task>) {
        let length = |task: &Task| task.prompt.len() + task.title.as_ref().map_or(0, String::len);
        let mut left_out = 0;
        for task in tasks {
            let deferred = &mut self.memory().deferred_tasks;
            let bytes: usize = deferred.iter().map(length).sum();
            if deferred.len() < MAX_CALLS && bytes + length(&task) <= MAX_DEFERRED {
                deferred.push(task);
            } else {
                left_out += 1;
            }
        }
        if left_out > 0 {
            self.defer_notice(format!(
                "{left_out} tasks of plugins are left out: the agent has not taken those before them"
            ));
        }
    }

    /// Takes the deferred tasks.
    pub(crate) fn take_deferred_tasks(&self) -> Vec<Task> {
        std::mem::take(&mut self.memory().deferred_tasks)
    }

    /// Defers a notice until the user can get a message.
    pub(crate) fn defer_notice(&self, text: String) {
        let notices = &mut self.memory().deferred_notices;
        let bytes: usize = notices.iter().map(String::len).sum();
        if notices.len() < MAX_CALLS && bytes + text.len() <= MAX_DEFERRED {
            notices.push(text);
        }
    }

    /// Takes the deferred notices.
    pub(crate) fn take_deferred_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.memory().deferred_notices)
    }

    /// Adds one to the number of times in a row that plugins kept the agent from stopping. Returns false if the agent must now be
    /// allowed to stop.
    pub(crate) fn may_continue(&self) -> bool {
        let mut memory = self.memory();
        memory.continuations += 1;
        memory.continuations <= MAX_CONTINUATIONS
    }
}

#[cfg(test)]
mod tests {
    use super::{SessionHandle, SessionMemory, arguments_digest, identifier};
    use hookhost::{Config, Host, SessionSpec};
    use hookhost_agents::AgentSession;
    use serde_json::json;
    use std::path::{Path, PathBuf};
    use std::sync::{Arc, Mutex};
    use std::time::Instant;

    #[tokio::test]
    async fn a_project_whose_rules_a_session_cannot_remember_is_denied() {
        let host = Host::builder(Config::empty()).build().await.unwrap();
        let session = host.open_session(SessionSpec::new("codex", Path::new("/work"))).unwrap();
        let handle = SessionHandle {
            session,
            started: Arc::default(),
            used: Mutex::new(Instant::now()),
            memory: Arc::<Mutex<SessionMemory>>::default(),
            root: String::new(),
            project_files: Arc::default(),
        };
        let named = AgentSession::new(Some("1".into()), "/work".into());
        let mut files: Vec<PathBuf> = (0..256).map(|number| format!("/work/{number}/hookhost.toml").into()).collect();
        handle.check_project_files(&named, &files, |_| false).unwrap();
        files.push("/work/257/hookhost.toml".into());
        let why = handle.check_project_files(&named, &files, |_| false).unwrap_err();
        assert!(why.contains("256 projects") && why.ends_with("begin a new session"), "{why}");
    }

    #[test]
    fn arguments_are_the_same_in_whatever_order_their_members_are() {
        let text = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let one = arguments_digest(&text(r#"{"a":1,"b":{"c":2,"d":3}}"#));
        assert_eq!(one, arguments_digest(&text(r#"{"b":{"d":3,"c":2},"a":1}"#)));
        assert_ne!(one, arguments_digest(&json!({ "a": 1 })));
    }

    #[test]
    fn sessions_of_two_agents_are_never_the_same_one() {
        assert_eq!(identifier("codex", "thr_1"), "codex:thr_1");
        assert_ne!(identifier("codex", "1"), identifier("claude-code", "1"));
        // The identifier of a sub-agent also differs from the identifier of a session with a similar name.
        for odd in ["a\nb", "a:b", &"x".repeat(300)] {
            let id = identifier("codex", odd);
            assert!(id.starts_with("codex:sha256-") && id.len() < 256 && !id.contains(char::is_control), "{id}");
        }
    }
}
