//! The life of a program inside, from outside: its start, terminal, signals and end.

use hookhost_agents::ancestry::INSIDE_VARIABLE;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, fstat, stat};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, kill_process};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use crate::channel::{Channel, Order, Report, Start, Target, World, to_memory};
use crate::error::{ExecError, Notice};
use crate::failure::{Failure, Step, kept};
use crate::namespace::map_identities;
use crate::plan::MountPlan;
use crate::services::Services;
use crate::settings::{HELPER_WORD, Settings};
use crate::terminal::Terminal;

/// Programs that gain privileges, of which each one is replaced by a sentence.
const REFUSED_PROGRAMS: [&str; 3] = ["sudo", "doas", "pkexec"];

/// Signals that go on to the program.
const SIGNALS: [i32; 9] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH];

/// Runs a program with its arguments where the plan holds, and waits for its end. Its descriptors, its environment and
/// its place in the shell's job control are those of this process.
///
/// The exit code is that of the program, or 128 and the number of the signal that ended it. When the program ends, all
/// processes that it has started end. When this process ends, the program ends.
///
/// Call it from the main thread of a process that does nothing else: it replaces the handlers of signals for good, and
/// stops the whole process when the program is stopped.
///
/// # Errors
/// [`ExecError`], whose [`exit_code`](ExecError::exit_code) is 126 or 127. The program has not been started then, except
/// with [`ExecError::Lost`]. It never runs with less than Landlock and the filter of system calls, and a
/// [`Notice::Partly`] says if it runs without namespaces.
pub fn run(plan: &MountPlan, command: &[OsString], settings: &mut Settings<'_>) -> Result<ExitCode, ExecError> {
    let (input, output, errors) = (io::stdin(), io::stdout(), io::stderr());
    let descriptors = [input.as_fd(), output.as_fd(), errors.as_fd()];
    run_with(plan, command, settings, &descriptors, &heeded_signals()).map(|(_, code)| ExitCode::from(code))
}

/// The means that enforce a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mechanism {
    Namespaces,
    Landlock,
}

/// Runs a program with the best mechanism that works here.
pub(crate) fn run_with(
    plan: &MountPlan,
    command: &[OsString],
    settings: &mut Settings<'_>,
    descriptors: &[BorrowedFd<'_>; 3],
    signals: &[i32],
) -> Result<(Mechanism, u8), ExecError> {
    if command.is_empty() {
        return Err(ExecError::NoProgram);
    }
    check_descriptors(plan, descriptors)?;
    let mut services = Services::start(settings)?;
    let result = run_served(plan, command, settings, &mut services, descriptors, signals);
    services.finish(settings.notify);
    result
}

fn run_served(
    plan: &MountPlan,
    command: &[OsString],
    settings: &mut Settings<'_>,
    services: &mut Services,
    descriptors: &[BorrowedFd<'_>; 3],
    signals: &[i32],
) -> Result<(Mechanism, u8), ExecError> {
    let program = &command[0];
    let run = Run::start(Mechanism::Namespaces, plan, command, settings, services, descriptors, signals)?;
    let failure = match run.finish(program, None)? {
        End::Code(code) => return Ok((Mechanism::Namespaces, code)),
        End::Failed(failure) => failure,
    };
    if !failure.step.is_ability() {
        return Err(ExecError::Refused(failure.because()));
    }
    let because = failure.because();
    services.use_landlock()?;
    let run = Run::start(Mechanism::Landlock, plan, command, settings, services, descriptors, signals)?;
    match run.finish(program, Some(&because))? {
        End::Code(code) => Ok((Mechanism::Landlock, code)),
        End::Failed(failure) => Err(ExecError::Refused(format!("{because}, and {}", failure.because()))),
    }
}

/// Refuses descriptors through which the program would reach guarded files as outside.
fn check_descriptors(plan: &MountPlan, descriptors: &[BorrowedFd<'_>; 3]) -> Result<(), ExecError> {
    for (name, descriptor) in ["input", "output", "error output"].into_iter().zip(descriptors) {
        let Ok(found) = fstat(descriptor) else { continue };
        if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
            let why = format!("its standard {name} is a directory, through which it would reach guarded files");
            return Err(ExecError::Refused(why));
        }
        let is_it = |path: &Path| stat(path).is_ok_and(|it| (it.st_dev, it.st_ino) == (found.st_dev, found.st_ino));
        if let Some(guarded) = plan.guarded_files().find(|path| is_it(path)) {
            let why = format!("its standard {name} is {}, which is guarded", guarded.display());
            return Err(ExecError::Refused(why));
        }
    }
    Ok(())
}

/// What the supervisor waits for.
#[derive(Clone, Copy)]
enum Source {
    Signals,
    Init,
    Keeper,
    Services,
    /// Keys at the terminal outside.
    Input,
    /// The program's terminal.
    Program,
}

/// The end of a run.
enum End {
    Code(u8),
    Failed(Failure),
}

/// A program that is being started, or runs.
struct Run<'a, 'b> {
    settings: &'a mut Settings<'b>,
    services: &'a mut Services,
    helper: Child,
    keeper: Option<Channel>,
    init: Option<Channel>,
    terminal: Option<Terminal>,
    signals: SignalDelivery<UnixStream, SignalOnly>,
    /// Signals that arrive before the program has started.
    early: Option<Vec<Order>>,
    end: Option<End>,
    not_started: Option<i32>,
}

impl<'a, 'b> Run<'a, 'b> {
    fn start(
        mechanism: Mechanism,
        plan: &MountPlan,
        command: &[OsString],
        settings: &'a mut Settings<'b>,
        services: &'a mut Services,
        descriptors: &[BorrowedFd<'_>; 3],
        signals: &[i32],
    ) -> Result<Self, ExecError> {
        let (read, write) = UnixStream::pair()?;
        let signals = SignalDelivery::with_pipe(read, write, SignalOnly, signals)?;
        let (terminals, terminal) = Terminal::of_descriptors(descriptors)?;
        let runtime = runtime_directory();
        let start = Start {
            directory: plan.directory().to_owned(),
            runtime: runtime.map(kept),
            kept: settings.kept.iter().map(kept).collect(),
            terminals,
            network: services.network(),
        };
        let variables = services.variables();
        let (init, init_socket) = Channel::pair()?;
        let memory;
        let mut passed: Vec<_> = descriptors
            .iter()
            .zip(terminals)
            .filter(|(_, is_terminal)| !is_terminal)
            .map(|(passed, _)| *passed)
            .collect();
        let (keeper, helper) = match mechanism {
            Mechanism::Namespaces => {
                let (keeper, socket) = Channel::pair()?;
                let helper = spawn(settings.helper, "keep", socket, command, variables)?;
                let world = World {
                    plan: plan.clone(),
                    refused_programs: refused_programs().into_iter().map(kept).collect(),
                    network: services.network(),
                };
                // If the helper ends at once, its end is seen below.
                _ = keeper.send(&Order::Keep, &[to_memory(&world)?.as_fd(), init_socket.as_fd()]);
                (Some(keeper), helper)
            }
            Mechanism::Landlock => {
                let helper = spawn(settings.helper, "confine", init_socket, command, variables)?;
                memory = to_memory(plan)?;
                passed.push(memory.as_fd());
                (None, helper)
            }
        };
        if mechanism == Mechanism::Namespaces {
            services.wait_for_watch(settings.notify)?;
        }
        _ = init.send(&Order::Start(start), &passed);
        let early = Some(Vec::new());
        let init = Some(init);
        Ok(Self { settings, services, helper, keeper, init, terminal, signals, early, end: None, not_started: None })
    }

    /// Serves the program until its end. `because` says why there are no namespaces.
    fn finish(mut self, program: &OsString, because: Option<&str>) -> Result<End, ExecError> {
        while self.init.is_some() || self.keeper.is_some() {
            self.step(because)?;
        }
        let has_started = self.early.is_none();
        // Nobody needs to wait for the helper, but a process that lives on must not keep its remains.
        std::thread::spawn(move || self.helper.wait());
        // All processes inside have ended, so what they have written is there.
        if let Some(terminal) = &mut self.terminal {
            while terminal.copy_output() {}
            terminal.release();
        }
        if let Some(errno) = self.not_started {
            return Err(ExecError::not_started(program, errno));
        }
        match self.end {
            // Another mechanism must not run the program a second time.
            Some(End::Failed(failure)) if has_started => Err(ExecError::Ended(failure.because())),
            end => end.ok_or(ExecError::Lost),
        }
    }

    /// Waits for events, and handles them.
    fn step(&mut self, because: Option<&str>) -> Result<(), ExecError> {
        let mut sources = vec![(Source::Signals, self.signals.get_read().as_fd(), PollFlags::IN)];
        sources.extend(self.init.as_ref().map(|init| (Source::Init, init.as_fd(), PollFlags::IN)));
        sources.extend(self.keeper.as_ref().map(|keeper| (Source::Keeper, keeper.as_fd(), PollFlags::IN)));
        sources.extend(self.services.descriptors().map(|served| (Source::Services, served, PollFlags::IN)));
        if let Some(terminal) = &self.terminal {
            sources.extend(terminal.wanted_input().map(|input| (Source::Input, input, PollFlags::IN)));
            sources.extend(terminal.program_end().map(|(program_end, has_unread)| {
                let flags = if has_unread { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
                (Source::Program, program_end, flags)
            }));
        }
        let mut polled: Vec<PollFd<'_>> =
            sources.iter().map(|(_, descriptor, flags)| PollFd::from_borrowed_fd(*descriptor, *flags)).collect();
        match poll(&mut polled, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        let ready: Vec<(Source, PollFlags)> =
            sources.iter().zip(&polled).map(|((source, ..), polled)| (*source, polled.revents())).collect();
        // Output comes first, so that it is there before a stop.
        for (source, events) in ready.into_iter().rev().filter(|(_, events)| !events.is_empty()) {
            match source {
                Source::Program => self.serve_terminal(events),
                Source::Input => self.terminal.iter_mut().for_each(Terminal::read_input),
                Source::Keeper => self.hear_keeper()?,
                Source::Services => self.services.hear(self.settings.notify)?,
                Source::Init => self.hear_init(because)?,
                Source::Signals => {
                    let arrived: Vec<i32> = self.signals.pending().collect();
                    arrived.into_iter().for_each(|number| self.pass_signal(number));
                }
            }
        }
        Ok(())
    }

    fn serve_terminal(&mut self, events: PollFlags) {
        let Some(terminal) = &mut self.terminal else { return };
        terminal.copy_output();
        if events.contains(PollFlags::OUT) {
            terminal.write_unread();
        }
    }

    fn hear_keeper(&mut self) -> io::Result<()> {
        let Some(keeper) = &self.keeper else { return Ok(()) };
        match keeper.receive::<Report>()? {
            Some((Report::Listening, descriptors)) => {
                for socket in descriptors {
                    self.services.serve(socket)?;
                }
            }
            Some((Report::Unshared, _)) => match map_identities(Pid::from_child(&self.helper)) {
                Ok(()) => _ = keeper.send(&Order::Mapped, &[]),
                Err(error) => {
                    self.end = Some(End::Failed(Failure::new(Step::Map, error)));
                    self.keeper = None;
                    self.init = None;
                }
            },
            Some((Report::Failed(failure), _)) => self.end = Some(End::Failed(failure)),
            Some((Report::Replaced { path, ended }, _)) => {
                (self.settings.notify)(&Notice::Replaced { path: path.0, ended });
            }
            Some((Report::ModeRestored(path), _)) => (self.settings.notify)(&Notice::ModeRestored { path: path.0 }),
            Some((Report::Over, _)) | None => self.keeper = None,
            Some(_) => {}
        }
        Ok(())
    }

    fn hear_init(&mut self, because: Option<&str>) -> io::Result<()> {
        let Some(init) = &self.init else { return Ok(()) };
        let Some((report, mut descriptors)) = init.receive::<Report>()? else {
            self.init = None;
            return Ok(());
        };
        match report {
            Report::Terminal => {
                if let (Some(terminal), Some(master)) = (&mut self.terminal, descriptors.pop()) {
                    terminal.connect(master)?;
                }
                _ = init.send(&Order::Go, &[]);
            }
            Report::Restricted { lacks } if because.is_some() || !lacks.is_empty() => {
                (self.settings.notify)(&Notice::Partly { because: because.map(str::to_owned), lacks });
            }
            Report::Started => {
                for order in self.early.take().into_iter().flatten() {
                    _ = init.send(&order, &[]);
                }
            }
            Report::Stopped => self.stop(),
            Report::Exited(code) => self.end = Some(End::Code(code)),
            Report::Killed(signal) => {
                self.end = Some(End::Code(128u8.saturating_add(u8::try_from(signal).unwrap_or(u8::MAX))));
            }
            Report::NotStarted(errno) => self.not_started = Some(errno),
            // After the start, this is the keeper's to say.
            Report::Failed(failure) => _ = self.end.get_or_insert(End::Failed(failure)),
            _ => {}
        }
        Ok(())
    }

    /// Stops this process as the program has stopped, so that the shell sees it.
    fn stop(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            while terminal.copy_output() {}
            terminal.release();
        }
        // It returns when the shell continues this process. The signal for that continues the program.
        _ = kill_process(getpid(), Signal::STOP);
    }

    fn pass_signal(&mut self, number: i32) {
        let target = match number {
            SIGWINCH => {
                if let Some(terminal) = &self.terminal {
                    terminal.resize();
                }
                return;
            }
            SIGCONT => {
                if let Some(terminal) = &mut self.terminal {
                    terminal.take();
                    terminal.resize();
                }
                Target::Group
            }
            SIGINT | SIGQUIT | SIGTSTP => Target::Foreground,
            _ => Target::Program,
        };
        let order = Order::Signal { number, target };
        match (&mut self.early, &self.init) {
            (Some(early), _) => early.push(order),
            (None, Some(init)) => _ = init.send(&order, &[]),
            (None, None) => {}
        }
    }
}

/// Starts the helper with a socket as its standard input. It gets no other descriptor.
fn spawn(
    helper: &Path,
    mode: &str,
    socket: OwnedFd,
    command: &[OsString],
    variables: Vec<(&'static str, OsString)>,
) -> Result<Child, ExecError> {
    Command::new(helper)
        .args([HELPER_WORD, mode, "--"])
        .args(command)
        .env(INSIDE_VARIABLE, "1")
        .envs(variables)
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| ExecError::Helper { path: helper.to_owned(), error })
}

/// The signals that this process does not ignore. What `nohup` has ignored stays ignored.
fn heeded_signals() -> Vec<i32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    SIGNALS.into_iter().filter(|number| ignored.unwrap_or(0) & (1 << (number - 1)) == 0).collect()
}

/// The directory of the user's sockets, if there is one.
fn runtime_directory() -> Option<PathBuf> {
    let directory = PathBuf::from(format!("/run/user/{}", rustix::process::geteuid().as_raw()));
    directory.canonicalize().ok().filter(|directory| directory.is_dir())
}

/// The programs on this machine that would gain privileges. Root has them already.
fn refused_programs() -> Vec<PathBuf> {
    if rustix::process::geteuid().is_root() {
        return Vec::new();
    }
    let usual = ["/usr/bin", "/usr/local/bin", "/run/wrappers/bin"].map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = usual.into_iter().chain(std::env::split_paths(&path).filter(|path| path.is_absolute()));
    let candidates = directories.flat_map(|directory| REFUSED_PROGRAMS.map(|name| directory.join(name)));
    let mut found: Vec<PathBuf> = candidates.filter_map(|path| path.canonicalize().ok()).collect();
    found.sort();
    found.dedup();
    found
}
