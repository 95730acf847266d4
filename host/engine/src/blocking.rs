//! The host without `async`, for programs and threads that may block.
//!
//! All blocking hosts of the process share a separate tokio runtime. So a call works on a thread of a different
//! runtime, too, but it blocks this thread.
//!
//! ```
//! use hookhost::config::{Config, Entry};
//! use hookhost::{Decision, Host};
//! use serde_json::json;
//!
//! # fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let wasm = std::env::var_os("HOOKHOST_PLUGINS").map_or("../../target/plugins".into(), std::path::PathBuf::from).join("path_guard.wasm");
//! let guard = Entry::from_file("path-guard", wasm)?.with("protected", ["infra/**"]);
//! let host = Host::builder(Config::empty()).plugin(guard).build_blocking()?;
//! let session = host.session("my-agent", "/work")?;
//! let settled = session.check_tool("write_file", &json!({ "path": "infra/main.tf", "content": "" }));
//! assert!(matches!(settled.outcome, Decision::Rejected(_)));
//! # Ok(())
//! # }
//! # example().unwrap();
//! ```

use crate::callback;
use crate::contract::{Decision, ToolResult};
use crate::host::{Error, HostBuilder};
use crate::locked::locked;
use crate::session::{AllowedCall, FinalText, Piece, RecordedOutcome, SessionError, SessionSpec};
use futures_util::FutureExt as _;
use serde_json::Value;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use tokio::runtime::{Builder, Handle, Runtime};

/// Number of threads of the runtime. Two threads are enough, because the computing time of plugins is limited, and
/// because a host has a separate pool for operations on which plugins wait.
const THREADS: usize = 2;

/// A [`Host`](crate::Host) whose calls block. It is cheap to clone, and all clones refer to the same host.
#[derive(Clone, Debug)]
pub struct Host {
    host: crate::Host,
    runtime: &'static Runtime,
}

/// A [`Session`](crate::Session) whose calls block.
#[derive(Clone, Debug)]
pub struct Session {
    session: Arc<crate::Session>,
    runtime: &'static Runtime,
}

/// A [`TextStream`](crate::TextStream) whose calls block.
#[derive(Debug)]
#[must_use = "a stream shows nothing by itself"]
pub struct TextStream {
    stream: crate::TextStream,
    runtime: &'static Runtime,
}

impl HostBuilder {
    /// Builds a host whose calls block.
    ///
    /// # Errors
    /// The errors of [`Self::build`], and an error if the threads of the runtime cannot be started.
    pub fn build_blocking(self) -> Result<Host, Error> {
        let runtime = runtime()?;
        let host = wait(runtime, self.build())?;
        Ok(Host { host, runtime })
    }
}

impl Host {
    /// Returns the async host. Its methods that are not `async` can be called directly.
    #[must_use]
    pub fn host(&self) -> &crate::Host {
        &self.host
    }

    /// Opens a session of the agent program `agent` in the directory `workspace`, an absolute path.
    ///
    /// # Errors
    /// As [`Host::open_session`](crate::Host::open_session).
    pub fn session(&self, agent: &str, workspace: impl AsRef<Path>) -> Result<Session, SessionError> {
        self.open_session(SessionSpec::new(agent, workspace.as_ref()))
    }

    /// Opens a session.
    ///
    /// # Errors
    /// As [`Host::open_session`](crate::Host::open_session).
    pub fn open_session(&self, spec: SessionSpec) -> Result<Session, SessionError> {
        let session = Arc::new(self.host.open_session(spec)?);
        Ok(Session { session, runtime: self.runtime })
    }

    /// Calls an `async` method of the host, and waits for its result.
    pub fn wait<F>(&self, call: impl FnOnce(crate::Host) -> F) -> F::Output
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        wait(self.runtime, call(self.host.clone()))
    }
}

impl Session {
    /// As [`Session::check_tool`](crate::Session::check_tool).
    pub fn check_tool(&self, name: &str, arguments: &Value) -> RecordedOutcome<Decision<AllowedCall, ToolResult>> {
        let (name, arguments) = (name.to_owned(), arguments.clone());
        self.wait(|session| async move { session.check_tool(&name, &arguments).await })
    }

    /// As [`Session::stream`](crate::Session::stream).
    pub fn stream(&self) -> TextStream {
        TextStream { stream: self.session.stream(), runtime: self.runtime }
    }

    /// Returns the async session. Its methods that are not `async` can be called directly.
    #[must_use]
    pub fn session(&self) -> &crate::Session {
        &self.session
    }

    /// Sends an event for which this type has no method, and waits for its outcome. For example:
    /// `session.wait(|session| async move { session.prompt_submit(prompt).await })`.
    pub fn wait<F>(&self, event: impl FnOnce(Arc<crate::Session>) -> F) -> F::Output
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        wait(self.runtime, event(Arc::clone(&self.session)))
    }
}

impl TextStream {
    /// As [`TextStream::push`](crate::TextStream::push).
    pub fn push(&mut self, delta: &str) -> Vec<Piece> {
        let delta = delta.to_owned();
        self.pieces(|mut stream| async move { (stream.push(&delta).await, stream) })
    }

    /// As [`TextStream::flush`](crate::TextStream::flush).
    pub fn flush(&mut self) -> Vec<Piece> {
        self.pieces(|mut stream| async move { (stream.flush().await, stream) })
    }

    /// As [`TextStream::end`](crate::TextStream::end).
    pub fn end(&mut self) -> Vec<Piece> {
        self.pieces(|mut stream| async move { (stream.end().await, stream) })
    }

    /// As [`TextStream::end_untold`](crate::TextStream::end_untold).
    pub fn end_untold(&mut self) -> Vec<Piece> {
        self.pieces(|mut stream| async move { (stream.end_untold().await, stream) })
    }

    fn pieces<F>(&mut self, call: impl FnOnce(crate::TextStream) -> F) -> Vec<Piece>
    where
        F: Future<Output = (Vec<Piece>, crate::TextStream)> + Send + 'static,
    {
        // The future runs on another thread, so it must own the stream.
        let emptied = self.stream.emptied();
        let stream = std::mem::replace(&mut self.stream, emptied);
        let (pieces, stream) = wait(self.runtime, call(stream));
        self.stream = stream;
        pieces
    }

    /// As [`TextStream::finish`](crate::TextStream::finish).
    pub fn finish(self) -> FinalText {
        wait(self.runtime, self.stream.finish())
    }

    /// Returns the async stream. Its methods that are not `async` can be called directly.
    pub fn stream(&self) -> &crate::TextStream {
        &self.stream
    }
}

/// Returns the runtime of all blocking hosts of the process.
fn runtime() -> Result<&'static Runtime, Error> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = locked(&MAKING);
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let runtime = Builder::new_multi_thread().worker_threads(THREADS).thread_name("hookhost").enable_all().build();
    let runtime = runtime.map_err(|error| Error::NoThreads(error.to_string()))?;
    Ok(RUNTIME.get_or_init(|| runtime))
}

/// Runs a future on `runtime`, and blocks this thread until the future is ready.
fn wait<F>(runtime: &Runtime, future: F) -> F::Output
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let future = callback::continued(future);
    let slot = Arc::<Slot<_>>::new((Mutex::new(None), Condvar::new()));
    let filled = Arc::clone(&slot);
    runtime.spawn(async move {
        let output = AssertUnwindSafe(future).catch_unwind().await;
        *locked(&filled.0) = Some(output);
        filled.1.notify_one();
    });
    // The caller may be an approver or a model that runs on this same runtime. In this case the runtime needs a further
    // thread to run the future, because this thread is blocked.
    let is_ours = Handle::try_current().is_ok_and(|current| current.id() == runtime.handle().id());
    if is_ours { tokio::task::block_in_place(|| taken(&slot)) } else { taken(&slot) }
}

/// A slot into which the thread of the runtime puts the output for the waiting thread.
type Slot<T> = (Mutex<Option<std::thread::Result<T>>>, Condvar);

fn taken<T>(slot: &Slot<T>) -> T {
    let mut output = locked(&slot.0);
    loop {
        match output.take() {
            Some(Ok(output)) => return output,
            // The caller's own future panicked, so the panic continues in the caller.
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => output = slot.1.wait(output).unwrap_or_else(PoisonError::into_inner),
        }
    }
}
