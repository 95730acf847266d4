//! A hook program. It reads one message and prints one reply. Its exit code is always a code that agents do not treat as a failed
//! hook.

use crate::hook::{Hook, HookReply};
use hookhost_agents::directories::Directories;
use hookhost_agents::plan::OnFailure;
use hookhost_agents::{Adapter, Reply};
use nix::sys::stat::{SFlag, fstat, stat};
use signal_hook::consts::signal;
use signal_hook::flag;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

/// The exit code that most agents treat as a denial.
const DENIAL_EXIT_CODE: u8 = 2;

/// The signals with which users, timers and terminals ask a process to end. By default, such a signal ends the process immediately.
const TERMINATION_SIGNALS: [i32; 10] = [
    signal::SIGTERM,
    signal::SIGINT,
    signal::SIGHUP,
    signal::SIGQUIT,
    signal::SIGUSR1,
    signal::SIGUSR2,
    signal::SIGALRM,
    signal::SIGVTALRM,
    signal::SIGPROF,
    signal::SIGIO,
];

/// Registers handlers for the signals that ask the process to end. The returned flag is set when such a signal arrives.
pub fn watch_signals() -> &'static AtomicBool {
    static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in TERMINATION_SIGNALS {
            // If no handler can be registered, the signal ends the process at once, as it does by default.
            let _ = flag::register(signal, Arc::clone(&interrupted));
        }
        // A failed allocation or a stack overflow aborts the process with this signal. In that case, the exit code is a denial.
        let _ = flag::register_conditional_shutdown(
            signal::SIGABRT,
            DENIAL_EXIT_CODE.into(),
            Arc::new(AtomicBool::new(true)),
        );
        interrupted
    });
    &INTERRUPTED
}

/// Lets the process continue if it reaches the file size limit or the soft limit of processor time. By default, both limits end the
/// process. With this function, a write that would exceed the file size limit fails with an error instead. The function registers handlers
/// and does not ignore the signals, because child processes would inherit an ignored signal.
pub fn survive_limits() {
    for signal in [signal::SIGXFSZ, signal::SIGXCPU] {
        // If no handler can be registered, the limit ends the process, as it does by default.
        let _ = flag::register(signal, Arc::default());
    }
}

/// Answers the message on the standard input, and returns the exit code with which the process must end now. A signal that asks the
/// process to end, or a panic, leads to a denial. `fixed` are the directories that the command line names.
#[must_use]
pub fn run(adapter: &'static Adapter, point: Option<&str>, on_failure: OnFailure, fixed: Directories) -> u8 {
    // The agent must read only the reply, so a panic prints no message.
    set_hook(Box::new(|_| {}));
    let hook = Hook { adapter, point, on_failure, fixed, interrupted: watch_signals() };
    let answered = catch_unwind(AssertUnwindSafe(|| hook.run(io::stdin().lock())));
    let HookReply { reply, unanswered } = answered.unwrap_or_else(|_| {
        let why = "the hook program failed";
        let answered = catch_unwind(AssertUnwindSafe(|| hook.unanswered(&[], "/".as_ref(), why)));
        answered.unwrap_or_else(|_| HookReply { reply: Reply::exit_2(why), unanswered: None })
    });
    let code = say(&reply);
    // The call is noted last, because the agent then already has the reply if something ends this process while it writes the note.
    let noted = unanswered.map(|call| match hook.paths() {
        Some(paths) => call.note(&paths),
        None => Err(io::Error::other("no directory for it is known")),
    });
    if let Some(Err(error)) = noted {
        let _ = writeln!(io::stderr(), "hookhost could not note this call for the audit log: {error}");
    }
    code
}

/// Prints the reply. Returns the exit code, which means a denial if the reply cannot be printed.
#[must_use]
pub fn say(reply: &Reply) -> u8 {
    let printed = print(&reply.stdout);
    let _ = io::stderr().write_all(reply.stderr.as_bytes());
    match printed {
        Ok(()) => reply.exit,
        Err(error) => {
            let _ = writeln!(io::stderr(), "hookhost could not print its reply: {error}");
            DENIAL_EXIT_CODE
        }
    }
}

fn print(text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut stdout = io::stdout();
    // This check also finds a closed standard output, because Rust opens `/dev/null` for a program that starts without a standard output.
    // The check opens no file, because the process may have no file descriptor left.
    let output = fstat(stdout.as_fd())?;
    let is_device = output.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFCHR.bits();
    if is_device && output.st_rdev == stat("/dev/null")?.st_rdev {
        return Err(io::Error::other("no program reads the standard output"));
    }
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
