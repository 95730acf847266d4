//! `hookhost-hook AGENT [POINT] [--on-failure=deny|allow]`: an agent's message on the standard input, its reply on the
//! standard output. It reads no configuration and loads no plugin: the resident host does.

use hookhost_adapters::install::OnFailure;
use hookhost_adapters::{Reply, all, by_name};
use hookhost_hook::hook::Hook;
use hookhost_hook::place::Place;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The exit code that most agents read as a no.
const NO: u8 = 2;

fn main() -> ExitCode {
    // What the agent reads is the reply alone.
    set_hook(Box::new(|_| {}));
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP] {
        // Without it the process ends at once on that signal, as it would anyway.
        let _ = signal_hook::flag::register(signal, Arc::clone(&interrupted));
    }
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    if arguments.iter().any(|argument| argument == "--version") {
        return say(&Reply::text(format!("hookhost-hook {}\n", env!("CARGO_PKG_VERSION"))));
    }
    let place = Place::of_user();
    let hook = match parsed(&arguments, place.as_ref(), &interrupted) {
        Ok(hook) => hook,
        Err(why) => return say(&Reply::exit_2(&why)),
    };
    let reply = catch_unwind(AssertUnwindSafe(|| hook.run(io::stdin().lock())));
    let reply = reply.unwrap_or_else(|_| {
        let why = "the hook program failed";
        let reply = catch_unwind(AssertUnwindSafe(|| hook.unanswered(&[], "/".as_ref(), why)));
        reply.unwrap_or_else(|_| Reply::exit_2(why))
    });
    say(&reply)
}

fn parsed<'a>(
    arguments: &'a [String],
    place: Option<&'a Place>,
    interrupted: &'a AtomicBool,
) -> Result<Hook<'a>, String> {
    let mut words = Vec::new();
    let mut on_failure = OnFailure::Deny;
    for argument in arguments {
        match argument.as_str() {
            "--on-failure=allow" => on_failure = OnFailure::Allow,
            "--on-failure=deny" => on_failure = OnFailure::Deny,
            option if option.starts_with('-') => {
                return Err(format!("hookhost-hook knows no option {option:?}: `hookhost install` writes its command"));
            }
            word => words.push(word),
        }
    }
    let (agent, point) = match words.as_slice() {
        [agent] => (*agent, None),
        [agent, point] => (*agent, Some(*point)),
        _ => return Err("usage: hookhost-hook AGENT [POINT] [--on-failure=deny|allow]".to_owned()),
    };
    let adapter = by_name(agent).ok_or_else(|| {
        let known: Vec<&str> = all().iter().map(|adapter| adapter.agent().name).collect();
        format!("hookhost knows no agent {agent:?}: it knows {}", known.join(", "))
    })?;
    Ok(Hook { adapter, point, on_failure, place, interrupted })
}

/// Prints the reply at once, and last: half a reply would be read as none. Where it cannot be printed, the exit code says no.
fn say(reply: &Reply) -> ExitCode {
    let printed = printed(&reply.stdout);
    let _ = io::stderr().write_all(reply.stderr.as_bytes());
    match printed {
        Ok(()) => ExitCode::from(reply.exit),
        Err(error) => {
            let _ = writeln!(io::stderr(), "hookhost could not print its reply: {error}");
            ExitCode::from(NO)
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
