//! The message that a hook hands to a process of its own, and the frames that it gets.

use hookhost_adapters::json::MAX_BYTES;
use hookhost_adapters::message::VARIABLES;
use hookhost_adapters::{Adapter, Message};
use hookhost_hook::connection::Deadline;
use hookhost_hook::frame::Response;
use hookhost_hook::hook::WITHIN;
use hookhost_server::Settler;
use std::io::{self, Write as _};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

/// The name of the database, in the directory of what is remembered.
pub const DATABASE: &str = "hookhost.db";

/// Calls at once: plugins are asked one after another, and beside them an observer may run.
pub const AT_ONCE: NonZeroU32 = NonZeroU32::new(2).unwrap();

/// How long observers may work after the reply.
const FOR_OBSERVERS: Duration = Duration::from_secs(2);

/// A message on the standard input.
#[derive(Clone)]
pub struct Asked {
    adapter: &'static dyn Adapter,
    point: Option<String>,
    directory: PathBuf,
    variables: Vec<(String, String)>,
    message: Vec<u8>,
}

impl Asked {
    /// Reads the message of this agent, in the directory in which its hook was started.
    ///
    /// # Errors
    /// If the message does not come.
    pub fn read(adapter: &'static dyn Adapter, point: Option<&str>, directory: PathBuf) -> io::Result<Self> {
        // One byte more than is read, so that a message that is too long is known as one.
        let message = Deadline::within(WITHIN, None).read_json(&mut io::stdin(), MAX_BYTES + 1);
        let message = message.map_err(io::Error::other)?;
        let variables = VARIABLES.iter().filter_map(|&name| Some((name.to_owned(), std::env::var(name).ok()?)));
        let (point, variables) = (point.map(str::to_owned), variables.collect());
        Ok(Self { adapter, point, directory, variables, message })
    }

    fn message(&self) -> Message<'_> {
        let mut message = Message::new(&self.message, &self.directory);
        message.point = self.point.as_deref();
        message.variables = &self.variables;
        message
    }

    /// Loads the rules of the message. Nothing is settled or recorded.
    ///
    /// # Errors
    /// One sentence, where they cannot be loaded.
    pub async fn prepare(&self, settler: &Settler) -> Result<(), String> {
        settler.prepare(self.adapter, &self.message()).await
    }

    /// Settles the message and says the reply. Then observers and the log get what they have to get.
    ///
    /// # Errors
    /// If the reply cannot be said.
    pub async fn settle(&self, settler: Settler) -> io::Result<()> {
        let host = settler.host().clone();
        let waits = |seconds| {
            // The hook that reads it may have gone: then nobody waits for the answer either.
            let _ = say(&Response::Waiting { seconds });
        };
        let reply = settler.reply(self.adapter, &self.message(), &waits).await;
        let (exit, stdout, stderr) = (reply.exit, reply.stdout.into_bytes(), reply.stderr.into_bytes());
        // Before the agent knows the outcome, so that whatever ends this process then loses nothing. What cannot be written is
        // said on the way; a call is not allowed then.
        let _ = host.flush().await;
        say(&Response::Reply { exit, stdout, stderr })?;
        drop(settler);
        let _ = host.drain(FOR_OBSERVERS).await;
        Ok(())
    }
}

impl std::fmt::Debug for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { adapter, point, directory, .. } = self;
        let name = adapter.agent().name;
        f.debug_struct("Asked").field("agent", &name).field("point", point).field("directory", directory).finish()
    }
}

/// Prints a frame for the hook.
///
/// # Errors
/// If it cannot be printed.
pub fn say(response: &Response) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(&response.to_frame())?;
    stdout.flush()
}
