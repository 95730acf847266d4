//! The handle of a session.

use super::ids::EventIds;
use super::inner::SessionInner;
use super::notice::{Notice, NoticeKind};
use super::observer_queue::ObserverQueue;
use super::services::Services;
use super::spec::{SessionError, SessionSpec, check_id};
use super::state::{self, Change, SessionCopy};
use crate::audit::{Delivery, DeliveryKind, Header};
use crate::contract;
use crate::event::Schemas;
use crate::locked::locked;
use crate::sandbox::capability::{NoTranscript, Transcript};
use crate::store::LateWrite;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Maximum length of the part of a prompt that is shown with a question, in characters.
const MAX_TASK: usize = 80;

/// A handle of a session of an agent. It has one typed method per event, which asks the plugins that subscribe to the event
/// and returns the outcome.
///
/// Events of one session are decided one at a time, in order of arrival, even if several tasks, several handles, or
/// several processes with the same store send them. Sessions do not wait for each other. A question to a person delays
/// no other event. A session is independent of its handles: opening another handle of a session does not start it
/// again, and dropping a handle does not end it.
///
/// ```
/// use hookhost::contract::{ToolResult, Usage};
/// use hookhost::{Config, Decision, Host, TransformOutcome};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let host = Host::builder(Config::empty()).build().await?;
/// let session = host.session("my-agent", "/work")?;
///
/// let read = match session.check_tool("read_file", &serde_json::json!({ "path": "README.md" })).await.outcome {
///     Decision::Allowed { value: call } => {
///         let text = format!("the text of {}", call.arguments()["path"]);
///         let result = ToolResult { text, is_error: false, raw: None };
///         // Plugins may mask the result before the model reads it.
///         match session.check_result(&call, result).await.outcome {
///             TransformOutcome::Passed { value } => value.text,
///             TransformOutcome::Withheld(rejection) => rejection.to_string(),
///         }
///     }
///     Decision::Responded { response, .. } => response.text,
///     Decision::Rejected(rejection) => rejection.to_string(),
/// };
/// assert_eq!(read, "the text of \"README.md\"");
///
/// let _ = session.session_end(Usage::default()).await;
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
pub struct Session {
    pub(super) shared: Arc<SessionInner>,
}

impl Session {
    pub(crate) fn open(services: Arc<Services>, spec: SessionSpec) -> Result<Self, SessionError> {
        let schemas = Schemas::compile(&spec.tools)
            .map_err(|(tool, error)| SessionError::Schema { tool, problem: error.to_string() })?;
        let id = spec.id.clone().unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
        // The first event reads the row again when its turn comes. It is also read here, because reminders may be
        // needed earlier.
        let row = services.store.session(&id).unwrap_or_default();
        let root = spec.root.clone().or_else(|| state::root_in(&id, &row));
        let root = root.or_else(|| spec.parent.as_deref().map(|parent| services.root_of(parent)));
        let root = root.unwrap_or_else(|| id.clone());
        for id in [&id, &root].into_iter().chain(&spec.parent) {
            check_id(id)?;
        }
        spec.check_directories()?;
        let is_first = services.claim(&id, &root);
        let state = SessionCopy::new(id.clone());
        let rules = spec.rules.clone().unwrap_or_else(|| services.rules.clone());
        let info = contract::Session {
            id: id.clone(),
            agent: spec.agent.clone(),
            turn: 0,
            depth: spec.depth,
            cwd: spec.cwd.to_string_lossy().into_owned(),
            workspace: rules.active().root_of(&spec.workspace).to_string_lossy().into_owned(),
            interactive: spec.interactive,
        };
        let shared = SessionInner {
            rules,
            turn_queue: services.store.turn_queue(&id),
            services,
            spec,
            schemas,
            ids: EventIds::new(&id, is_first),
            id: id.into(),
            root: root.into(),
            info: Mutex::new(Arc::new(info)),
            kept_answers: Mutex::default(),
            state,
            transcript: Mutex::new(Arc::new(NoTranscript)),
            warned: Mutex::default(),
            is_new: is_first && row.version == 0,
            is_ended: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            observers: ObserverQueue::default(),
        };
        shared.state.take_over(&row);
        if row.version == 0 {
            let notices = shared.config().unmatched_tool_patterns(&shared.spec.tools);
            for (plugin, text) in notices {
                let notice = Notice::about(NoticeKind::PatternMatchesNothing, &plugin, text);
                shared.state.change(Change::Notice(notice));
            }
            if shared.root != shared.id {
                shared.state.change(Change::Root(shared.root.to_string()));
                let of_root = shared.services.store.session(&shared.root).unwrap_or_default();
                for (file, project) in state::project_files_in(&shared.root, &of_root) {
                    shared.state.change(Change::Counts(file, project));
                }
            }
        }
        let shared = Arc::new(shared);
        shared.record_opening(&shared.info());
        Ok(Self { shared })
    }

    /// Returns the identifier, which is unique among all sessions.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.shared.id
    }

    /// Returns true if this handle has started a new session. This means that when the handle was opened, the host had
    /// no other handle of the session, and the store had no row for it. In this case, send `session-start` before any
    /// other event.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.shared.is_new
    }

    /// Records that the outcome of the event `of` did not reach the agent unchanged, or that the agent got no outcome.
    /// The record is written in the background, and contains no data of the event. `point` is the hook point at which
    /// this happened, and `note` is a sentence that describes the problem.
    pub fn note_delivery(&self, of: Option<&str>, point: &str, what: DeliveryKind, note: &str) {
        let shared = &self.shared;
        let info = shared.info();
        let header = Header::new(&*shared.id, shared.services.now());
        let (id, point, note) = (of.map(str::to_owned), point.to_owned(), note.to_owned());
        shared.record_soon(&shared.config(), &info, &Delivery { id, header, point, what, note });
    }

    /// Returns the project files that [`Self::note_project_files`] has added, each with the root of its project.
    /// These files have to stay active until the user revokes their approval. A new session inherits the project
    /// files of the session at the root of its tree.
    #[must_use]
    pub fn project_files(&self) -> BTreeMap<PathBuf, PathBuf> {
        self.shared.state.with(|state| state.project_files.clone())
    }

    /// Adds project files that apply to the session. `root` is the root of their project. The files are stored with
    /// the session's next record.
    pub fn note_project_files(&self, files: &[PathBuf], root: &Path) {
        let known = self.project_files();
        for file in files.iter().filter(|file| !known.contains_key(*file) && file.to_str().is_some()) {
            let root = if root.to_str().is_some() { root } else { file.parent().unwrap_or(root) };
            self.shared.state.change(Change::Counts(file.clone(), root.to_owned()));
        }
    }

    /// Removes a project file that no longer has to be active in the session, because the user has revoked its
    /// approval.
    pub fn forget_project_file(&self, file: &Path) {
        self.shared.state.change(Change::CountsNoMore(file.to_owned()));
    }

    /// Sets the number of model calls so far.
    pub fn set_turn(&self, turn: u32) {
        let mut info = locked(&self.shared.info);
        Arc::make_mut(&mut info).turn = turn;
    }

    /// Sets the source of the conversation.
    pub fn set_transcript(&self, transcript: Arc<dyn Transcript>) {
        *locked(&self.shared.transcript) = transcript;
    }

    /// Takes the notices for the user, for example about a tripped plugin, a failure that let an event pass, or a
    /// pattern that matches no tool. Each notice is returned once. Notices of observers that run after the session
    /// was closed are in [`Host::take_notices`](crate::Host::take_notices).
    #[must_use]
    pub fn take_notices(&self) -> Vec<Notice> {
        self.shared.state.take_notices()
    }

    /// Resets a tripped plugin. It is then called for its next event as if it had not failed. Returns true if the
    /// plugin was tripped.
    pub fn reset_failures(&self, plugin: &str) -> bool {
        self.shared.state.reset(plugin)
    }

    /// Stores the start of the prompt on which the agent works. This text is shown with each question to a person.
    pub(crate) fn works_on(&self, prompt: &str) {
        let begins = prompt.trim_start().chars().take(MAX_TASK).collect();
        self.shared.state.change(Change::Task(begins));
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let SessionInner { services, state, id, is_closed, .. } = &*self.shared;
        self.shared.record_end(&self.shared.info());
        services.release(id);
        is_closed.store(true, Ordering::Release);
        services.leave_notices(state.take_notices());
        if state.is_unwritten() {
            let late = LateWrite { session: Some(state.pending_write(Vec::new())), ..LateWrite::default() };
            if let Err(error) = services.store.push(late) {
                tracing::error!(%error, session = &**id, "the state of a session could not be stored");
            }
        }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.id()).finish_non_exhaustive()
    }
}
