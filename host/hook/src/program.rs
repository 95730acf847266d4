//! A program that is a hook: one message in, one reply out, and an exit code that no agent reads as a hook that failed.

use crate::hook::Hook;
use crate::place::Place;
use hookhost_adapters::install::OnFailure;
use hookhost_adapters::{Adapter, Reply};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

/// The exit code that most agents read as a no.
const NO: u8 = 2;

/// Takes note of signals that ask the process to end, from the first call on. What is returned is set once there was one.
pub fn watch_signals() -> &'static AtomicBool {
    static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP] {
            // Without it the process ends at once on that signal, as it would anyway.
            let _ = signal_hook::flag::register(signal, Arc::clone(&interrupted));
        }
        interrupted
    });
    &INTERRUPTED
}

/// Answers the message on the standard input, and returns the exit code of the process, which is to end now. Signals that ask
/// the process to end, and panics, are a no as well.
#[must_use]
pub fn run(adapter: &'static dyn Adapter, point: Option<&str>, on_failure: OnFailure) -> u8 {
    // What the agent reads is the reply alone.
    set_hook(Box::new(|_| {}));
    let place = Place::of_user();
    let hook = Hook { adapter, point, on_failure, place: place.as_ref(), interrupted: watch_signals() };
    let reply = catch_unwind(AssertUnwindSafe(|| hook.run(io::stdin().lock())));
    let reply = reply.unwrap_or_else(|_| {
        let why = "the hook program failed";
        let reply = catch_unwind(AssertUnwindSafe(|| hook.unanswered(&[], "/".as_ref(), why)));
        reply.unwrap_or_else(|_| Reply::exit_2(why))
    });
    say(&reply)
}

/// Prints the reply at once, and last: half a reply would be read as none. Returns the exit code, which says no where the reply
/// cannot be printed.
#[must_use]
pub fn say(reply: &Reply) -> u8 {
    let printed = printed(&reply.stdout);
    let _ = io::stderr().write_all(reply.stderr.as_bytes());
    match printed {
        Ok(()) => reply.exit,
        Err(error) => {
            let _ = writeln!(io::stderr(), "hookhost could not print its reply: {error}");
            NO
        }
    }
}

fn printed(text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut stdout = io::stdout();
    // So it is, too, where the standard output was closed: Rust opens it for each program that begins without one.
    if is_nowhere(stdout.as_fd())? {
        return Err(io::Error::other("nobody reads the standard output"));
    }
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

fn is_nowhere(output: BorrowedFd<'_>) -> io::Result<bool> {
    let output = File::from(output.try_clone_to_owned()?).metadata()?;
    Ok(output.file_type().is_char_device() && output.rdev() == std::fs::metadata("/dev/null")?.rdev())
}
