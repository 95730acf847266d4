//! A scratch home with guarded files, and users who run programs inside.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io::Read as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The text of every key, which no program inside may read.
pub(crate) const CANARY: &str = "canary-7f31c0";

/// Leaves no user namespace to a program. It exits with 77 if that is not possible here.
pub(crate) const NO_NAMESPACES: [&str; 6] =
    ["unshare", "-Ur", "bash", "-c", "echo 0 > /proc/sys/user/max_user_namespaces || exit 77; exec \"$@\"", "x"];

/// Mounts something over parts of /proc, which the user cannot remove, as a container does. It exits with 77 if that is not
/// possible here.
pub(crate) const MASKED_PROC: [&str; 6] = ["unshare", "-Urm", "bash", "-c", MASKED_PROC_SCRIPT, "x"];
const MASKED_PROC_SCRIPT: &str = "mount -t tmpfs -o ro none /proc/acpi 2> /dev/null || mount -t tmpfs -o ro none /proc/scsi 2> /dev/null || exit 77; mount --bind /dev/null /proc/kcore; exec unshare -U --map-user=1000 --map-group=1000 -m \"$@\"";

/// Tries to write a guarded file and to read a key, and shows that it has run.
pub(crate) const HOSTILE: &str = "echo has run; echo evil > $SETTINGS; mv ~/.claude ~/c2; cat $KEY; kill -9 $VICTIM; prlimit -p $VICTIM -n3; cat /proc/$VICTIM/environ";

/// Maximum time of one program inside.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum time of the setup, which can compile plugins.
const SETUP_TIMEOUT: Duration = Duration::from_secs(300);

/// The user who runs the programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    uid: Option<(u32, u32)>,
    is_made: bool,
}

impl User {
    /// The user who runs the test.
    pub(crate) fn current() -> Self {
        Self { name: "current".to_owned(), uid: None, is_made: false }
    }

    /// An ordinary user, who is removed again. Without root, it is the current user.
    pub(crate) fn ordinary(name: &str) -> Self {
        if !is_root() {
            eprintln!("not root, so no user is made: the current one is used");
            return Self::current();
        }
        let name = format!("hx-{name}-{}", std::process::id());
        let made = Command::new("useradd").args(["--no-create-home", "--shell", "/bin/bash", &name]).status();
        assert!(made.expect("useradd is there").success(), "a user can be made");
        let id = |flag: &str| {
            let output = Command::new("id").args([flag, name.as_str()]).output().expect("id is there");
            String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number")
        };
        let uid = Some((id("-u"), id("-g")));
        Self { name, uid, is_made: true }
    }

    /// The current user, and an ordinary one if the current one is root.
    pub(crate) fn all(name: &str) -> Vec<Self> {
        let ordinary = is_root().then(|| Self::ordinary(name));
        [Self::current()].into_iter().chain(ordinary).collect()
    }

    pub(crate) fn is_root(&self) -> bool {
        self.uid.is_none() && is_root()
    }

    /// The identity of a user that was made.
    pub(crate) fn id(&self) -> Option<u32> {
        self.uid.map(|(uid, _)| uid)
    }

    pub(crate) fn become_it(&self, command: &mut Command) {
        if let Some((uid, gid)) = self.uid {
            command.uid(uid).gid(gid);
        }
    }
}

impl Drop for User {
    fn drop(&mut self) {
        if self.is_made {
            // Another test may change the users at the same time.
            let is_removed = || {
                let removed = Command::new("userdel").arg(&self.name).stderr(Stdio::null()).status();
                removed.is_ok_and(|status| status.success())
            };
            for _ in 0..20 {
                if is_removed() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

/// The example that runs programs inside. Tests lie in the directory `deps`, beside the directory of examples.
pub(crate) fn inside() -> PathBuf {
    let test = std::env::current_exe().expect("the test's program");
    test.parent().and_then(Path::parent).expect("a directory of the build").join("examples/inside")
}

/// What is in a home, and how a program is started inside.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Programs, which are copied into a directory of their own.
    pub(crate) programs: Vec<PathBuf>,
    /// The command line before the program, of which the first word is one of the programs. `PLAN` stands for the plan.
    pub(crate) launch: Vec<&'static str>,
    /// Files that must be as they were, with their text. A path begins at the home.
    pub(crate) files: Vec<(String, String)>,
    /// Sockets at which somebody listens.
    pub(crate) sockets: Vec<&'static str>,
    /// A command that the user runs once the files are there, or nothing.
    pub(crate) setup: Vec<&'static str>,
}

impl Layout {
    /// The home of the tests that give a plan to the example.
    fn planned() -> Self {
        let text = |(index, file): (usize, &str)| (file.to_owned(), text_of(file, index));
        Self {
            programs: vec![inside()],
            launch: vec!["inside", "PLAN", "--"],
            files: FILES.into_iter().enumerate().map(text).collect(),
            sockets: vec!["agent.sock", ".local/state/hookhost/host.sock"],
            setup: Vec::new(),
        }
    }
}

/// The text of a file in the home: a key has the canary.
pub(crate) fn text_of(file: &str, index: usize) -> String {
    let is_key = ["keys.toml", "id_", "token"].iter().any(|part| file.contains(part));
    if is_key { format!("# {CANARY} {index}\n") } else { format!("# {file} {index}\n") }
}

/// A home with files that are guarded, files that are free, sockets and a process outside.
pub(crate) struct World {
    scratch: tempfile::TempDir,
    pub(crate) user: User,
    layout: Layout,
    _abstract_listener: UnixListener,
    listeners: Vec<UnixListener>,
    pub(crate) victim: Child,
    pub(crate) abstract_name: String,
    expected: BTreeMap<PathBuf, State>,
    victim_state: String,
}

/// The content, the file and the mode of a guarded path.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State(Vec<u8>, u64, u32);

/// Guarded paths below the home, with their treatments.
const GUARDS: [(&str, &str); 14] = [
    ("read-only", ".config/hookhost"),
    ("hidden", ".config/hookhost/keys.toml"),
    ("read-only", ".local/state/hookhost"),
    ("read-only", ".local/bin"),
    ("read-only", ".claude/settings.json"),
    ("read-only", ".codex/hooks.json"),
    ("read-only", ".gemini/settings.json"),
    ("read-only", ".bashrc"),
    ("read-only", ".ssh/config"),
    ("hidden", ".ssh/id_ed25519"),
    ("hidden", ".keys"),
    ("read-only", "project/hookhost.toml"),
    ("read-only", "project/.git/hooks"),
    ("masked", "agent.sock"),
];

/// Files that must be as they were.
const FILES: [&str; 13] = [
    ".config/hookhost/hookhost.toml",
    ".config/hookhost/keys.toml",
    ".local/state/hookhost/hookhost.db",
    ".local/bin/hookhost-hook",
    ".claude/settings.json",
    ".codex/hooks.json",
    ".gemini/settings.json",
    ".bashrc",
    ".ssh/config",
    ".ssh/id_ed25519",
    ".keys/token",
    "project/hookhost.toml",
    "project/.git/hooks/pre-commit",
];

impl World {
    pub(crate) fn new(user: User) -> Self {
        Self::with(user, Layout::planned())
    }

    pub(crate) fn with(user: User, layout: Layout) -> Self {
        let scratch = tempfile::Builder::new().prefix("hx").permissions(Permissions::from_mode(0o755)).tempdir();
        let scratch = scratch.expect("a scratch directory");
        let bin = scratch.path().join("bin");
        fs::create_dir(&bin).expect("a directory");
        for program in &layout.programs {
            let copy = bin.join(program.file_name().expect("a name"));
            fs::copy(program, copy).unwrap_or_else(|error| panic!("{} is not built: {error}", program.display()));
        }
        let victim = Command::new("sleep").arg("100000").spawn().expect("sleep is there");
        let abstract_name = format!("hookhost-exec-{}", scratch.path().display());
        let address = SocketAddr::from_abstract_name(&abstract_name).expect("an address");
        let mut world = Self {
            _abstract_listener: UnixListener::bind_addr(&address).expect("a socket"),
            scratch,
            user,
            layout,
            listeners: Vec::new(),
            victim,
            abstract_name,
            expected: BTreeMap::new(),
            victim_state: String::new(),
        };
        world.start_victim();
        world.make();
        world
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.scratch.path().join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.home().join("project")
    }

    /// Makes the home anew.
    fn make(&mut self) {
        let home = self.home();
        _ = fs::remove_dir_all(&home);
        self.listeners.clear();
        fs::create_dir_all(home.join("dotfiles/gemini")).expect("a directory");
        symlink("dotfiles/gemini", home.join(".gemini")).expect("a link");
        for (file, text) in &self.layout.files {
            let path = home.join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(&path, text).expect("a file");
        }
        fs::write(home.join("project/notes.txt"), "free\n").expect("a file");
        fs::write(home.join(".claude/history"), "free\n").expect("a file");
        for socket in &self.layout.sockets {
            self.listeners.push(UnixListener::bind(home.join(socket)).expect("a socket"));
        }
        let plan: String =
            GUARDS.iter().map(|(treatment, path)| format!("{treatment} {}\n", home.join(path).display())).collect();
        fs::write(self.scratch.path().join("plan"), plan).expect("a file");
        if let Some((uid, gid)) = self.user.uid {
            give(&home, uid, gid);
        }
        if !self.layout.setup.is_empty() {
            let mut setup = Command::new(self.bin().join(self.layout.setup[0]));
            setup.args(&self.layout.setup[1..]);
            let output = finish_within(SETUP_TIMEOUT, self.of_user(setup), "setup");
            assert!(output.status.success(), "{}", text(&output));
        }
        let files = self.layout.files.iter().map(|(file, _)| home.join(file));
        let programs = self.layout.programs.iter().map(|program| self.bin().join(program.file_name().expect("a name")));
        let expected = |path: PathBuf| (path.clone(), state(&path).expect("it is there"));
        self.expected = files.chain(programs).map(expected).collect();
    }

    fn start_victim(&mut self) {
        _ = self.victim.kill();
        _ = self.victim.wait();
        let mut command = Command::new("sleep");
        self.user.become_it(command.arg("100000").env("SECRET", CANARY));
        self.victim = command.spawn().expect("sleep is there");
        self.victim_state = process_state(self.victim.id());
    }

    /// The directory of the programs.
    pub(crate) fn bin(&self) -> PathBuf {
        self.scratch.path().join("bin")
    }

    /// The directory that contains everything.
    pub(crate) fn root(&self) -> &Path {
        self.scratch.path()
    }

    /// The command that runs a program inside, in the project.
    pub(crate) fn command(&self, program: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(self.bin().join(self.layout.launch[0]));
        for word in &self.layout.launch[1..] {
            match *word {
                "PLAN" => command.arg(self.scratch.path().join("plan")),
                word => command.arg(word),
            };
        }
        command.args(program);
        self.of_user(command)
    }

    /// Has a command run as the user, in the project, and with the variables of the attacks.
    pub(crate) fn of_user(&self, mut command: Command) -> Command {
        self.user.become_it(&mut command);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("USER", &self.user.name)
            .env("SETTINGS", self.home().join(".claude/settings.json"))
            .env("KEY", self.home().join(".ssh/id_ed25519"))
            .env("VICTIM", self.victim.id().to_string())
            .env("ABSTRACT", &self.abstract_name)
            .env("LC_ALL", "C")
            .current_dir(self.project())
            .stdin(Stdio::null());
        if self.user.is_root()
            && let Some(directory) =
                std::env::var_os("RUSTUP_HOME").or_else(|| std::env::home_dir().map(|home| home.join(".rustup").into()))
        {
            command.env("RUSTUP_HOME", directory);
        }
        command
    }

    /// Gives a path to the user.
    pub(crate) fn give(&self, path: &Path) {
        if let Some((uid, gid)) = self.user.uid {
            give(path, uid, gid);
        }
    }

    /// Adds a line to the plan.
    pub(crate) fn plan_also(&self, line: &str) {
        let plan = self.scratch.path().join("plan");
        let text = fs::read_to_string(&plan).expect("the plan is there");
        fs::write(&plan, format!("{text}{line}\n")).expect("the plan is written");
    }

    /// Runs a script of bash inside.
    pub(crate) fn inside(&self, script: &str) -> Output {
        finish(self.command(&["bash", "-c", script]), script)
    }

    /// Runs a script of bash inside, below a program that removes a feature and then executes its arguments.
    pub(crate) fn inside_below(&self, remover: &[&str], script: &str) -> Output {
        let inside = self.command(&["bash", "-c", script]);
        let mut command = Command::new(remover[0]);
        command.args(&remover[1..]).arg(inside.get_program()).args(inside.get_args());
        for (name, value) in inside.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command.current_dir(self.project()).stdin(Stdio::null());
        self.user.become_it(&mut command);
        finish(command, script)
    }

    /// Runs a script of bash without protection.
    pub(crate) fn outside(&self, script: &str) -> Output {
        let mut command = Command::new("bash");
        self.user.become_it(command.args(["-c", script]));
        let inside = self.command(&["true"]);
        for (name, value) in inside.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command.current_dir(self.project()).stdin(Stdio::null());
        finish(command, script)
    }

    /// Returns what is no longer as it was, and makes it anew.
    pub(crate) fn damage(&mut self) -> Vec<String> {
        let mut damage: Vec<String> = Vec::new();
        for (path, expected) in &self.expected {
            match state(path) {
                Some(found) if found == *expected => {}
                Some(State(text, file, mode)) => {
                    let State(expected_text, expected_file, expected_mode) = expected;
                    let what = [
                        (text != *expected_text, "content"),
                        (file != *expected_file, "file"),
                        (mode != *expected_mode, "mode"),
                    ];
                    let what: Vec<_> = what.into_iter().filter(|(differs, _)| *differs).map(|(_, what)| what).collect();
                    damage.push(format!("{}: another {}", path.display(), what.join(", ")));
                }
                None => damage.push(format!("{} is away", path.display())),
            }
        }
        let found = process_state(self.victim.id());
        if found != self.victim_state {
            damage.push(format!("the process outside was\n{}and is\n{found}", self.victim_state));
            self.start_victim();
        }
        if !damage.is_empty() {
            self.make();
        }
        damage
    }
}

impl Drop for World {
    fn drop(&mut self) {
        _ = self.victim.kill();
        _ = self.victim.wait();
    }
}

/// Gives everything below a directory to a user.
fn give(path: &Path, uid: u32, gid: u32) {
    let metadata = fs::symlink_metadata(path).expect("it is there");
    if metadata.is_symlink() {
        std::os::unix::fs::lchown(path, Some(uid), Some(gid)).expect("root may");
        return;
    }
    chown(path, Some(uid), Some(gid)).expect("root may");
    if metadata.is_dir() {
        for entry in fs::read_dir(path).expect("it can be read").flatten() {
            give(&entry.path(), uid, gid);
        }
    }
}

/// Size from which on a file's times stand for its content: nobody can set the time of the last change of the file's metadata.
const LARGE: u64 = 1 << 20;

fn state(path: &Path) -> Option<State> {
    let metadata = fs::metadata(path).ok()?;
    let content = if metadata.len() < LARGE {
        fs::read(path).ok()?
    } else {
        format!("{:?} {} {}", metadata.modified().ok()?, metadata.ctime(), metadata.ctime_nsec()).into_bytes()
    };
    Some(State(content, metadata.ino(), metadata.mode()))
}

/// What a program inside must not change of a process.
pub(crate) fn process_state(process: u32) -> String {
    let read = |name: &str| fs::read_to_string(format!("/proc/{process}/{name}")).unwrap_or_default();
    let status = read("status");
    let wanted = |line: &&str| ["State:", "Cpus_allowed:", "TracerPid:"].iter().any(|name| line.starts_with(name));
    let status: Vec<_> =
        status.lines().filter(wanted).map(|line| line.replace("R (running)", "S (sleeping)")).collect();
    // Fields 18 and 19 are the priority, and 40 and 41 the scheduling.
    let stat = read("stat");
    let fields: Vec<_> = stat.rsplit_once(") ").map(|(_, rest)| rest.split(' ').collect()).unwrap_or_default();
    let priority: Vec<_> = [15, 16, 37, 38].iter().filter_map(|index| fields.get(*index)).collect();
    format!("{status:?} {priority:?}\n{}", read("limits"))
}

/// Waits for the end of a command, and collects its output.
pub(crate) fn finish(command: Command, name: &str) -> Output {
    finish_within(TIMEOUT, command, name)
}

fn finish_within(limit: Duration, mut command: Command, name: &str) -> Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be started");
    let collect = |mut pipe: Box<dyn std::io::Read + Send>| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            _ = pipe.read_to_end(&mut text);
            text
        })
    };
    let stdout = collect(Box::new(child.stdout.take().expect("a pipe")));
    let stderr = collect(Box::new(child.stderr.take().expect("a pipe")));
    let deadline = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is a child") {
            break status;
        }
        if Instant::now() > deadline {
            _ = child.kill();
            panic!("it does not end: {name}");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    Output { status, stdout: stdout.join().expect("it is read"), stderr: stderr.join().expect("it is read") }
}

/// The output of a command as text, with its errors.
pub(crate) fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Makes a program that refuses system calls and then executes its arguments. `None` if it cannot be made here.
pub(crate) fn refuse_calls(world: &World, names: &[&str]) -> Option<String> {
    let number = |name: &str| match name {
        "landlock_create_ruleset" => libc::SYS_landlock_create_ruleset,
        "unshare" => libc::SYS_unshare,
        other => panic!("no number of {other}"),
    };
    let rules = names.iter().map(|name| {
        let number = number(name);
        // Load the number; if it is this one, return EPERM.
        format!("pack('SCCL', 0x15, 0, 1, {number}), pack('SCCL', 0x06, 0, 0, 0x00050001)")
    });
    let rules: Vec<_> = rules.collect();
    let perl = format!(
        "#!/usr/bin/perl\nmy @f = (pack('SCCL', 0x20, 0, 0, 0), {}, pack('SCCL', 0x06, 0, 0, 0x7fff0000));\nmy $p = join '', @f;\nmy $prog = pack('Sx6P', scalar @f, $p);\nsyscall({}, 38, 1, 0, 0, 0) == 0 or exit 77;\nsyscall({}, 1, 0, $prog) == 0 or exit 77;\nexec @ARGV;\n",
        rules.join(", "),
        libc::SYS_prctl,
        libc::SYS_seccomp,
    );
    let path = world.home().join("refuse-calls");
    fs::write(&path, perl).expect("a file");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    let tried = Command::new(&path).arg("true").status();
    if tried.is_ok_and(|status| status.success()) {
        return path.to_str().map(str::to_owned);
    }
    eprintln!("skipped, because system calls cannot be refused here");
    None
}
