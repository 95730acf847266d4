//! Measures many clients of one resident host at once. Each client has a separate session and sends one event after the other. Some clients
//! are proxies, which keep their connections, and the others are hooks, which open a new connection for each event.

use crate::{User, message};
use bench::measure::{median, spoken};
use bench::table::{Row, Table};
use hookhost_agents::Reply;
use hookhost_agents::directories::Directories;
use hookhost_client::frame::{HookRequest, NumberedRequest, Request, Response};
use hookhost_client::paths::{self, HostPaths};
use serde_json::Value;
use std::fmt;
use std::io::{self, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream as AsyncStream};

const CLIENTS: usize = 50;

/// Duration of one turn of the clients. Turns with the resident host alternate with turns with a bare host, which allows every call
/// unchecked.
const TURN: Duration = Duration::from_secs(1);

const TURNS: usize = 5;

const MIN_EACH_SECOND: f64 = 15_000.0;

/// Maximum time that a client waits for an event. It applies to 99 of 100 events.
const MAX_WAIT: Duration = Duration::from_millis(5);

/// The response to an allowed call.
const ALLOWED: Response = Response::Reply(Reply { exit: 0, stdout: String::new(), stderr: String::new() });

pub(crate) fn rows(table: &mut Table, user: &User) {
    let resident = user.serve(&[]);
    user.check();
    // Only records that are added from here on are counted.
    let before = records(user);
    let socket = HostPaths::below(user.home.path()).socket();
    let bare = bare_host(user.home.path().join("bare.sock"), Duration::ZERO);
    let mut settled = 0;
    let mut in_turns = |is_kept: bool| {
        let mut figures = [TurnFigures::default(), TurnFigures::default()];
        let mut busy = Duration::ZERO;
        for turn in 0..TURNS {
            let began = processor_time(resident.child.id());
            figures[0].add(&Clients { user, socket: &socket, is_kept, turn });
            busy += processor_time(resident.child.id()) - began;
            figures[1].add(&Clients { user, socket: &bare, is_kept, turn });
        }
        let events = figures[0].waits.len();
        settled += events;
        let [asked, bare] = figures.map(TurnFigures::summary);
        let each = spoken(busy.div_f64(events as f64));
        let measured = format!("{asked}; {each} of its processors' time an event");
        (measured, asked, bare)
    };
    let processors = thread::available_parallelism().unwrap();
    let what = |how: &str| format!("resident host, {CLIENTS} clients on the same {processors} processors, {how}");
    let [kept, for_each] = ["each keeps its connection", "a connection for each event"].map(what);
    let why = "The clients take their share of the processors.";
    let row = |what| Row { what, component: "no-force-push", log: "on", why };
    let beside = |bare: &WaitSummary| format!("{bare}, of a bare host that answers nothing");

    let (measured, asked, bare) = in_turns(true);
    let is_met = asked.each_second >= MIN_EACH_SECOND && asked.slowest <= MAX_WAIT;
    let budget = "≥ 15 000 a second, 99 of 100 ≤ 5 ms";
    table.beside(&row(&kept), &measured, &beside(&bare), budget, is_met);
    // The processor time that an event needs in addition to the time that it needs with a bare host.
    let more = (1.0 / asked.each_second - 1.0 / bare.each_second).max(0.0);
    let computed = Duration::from_secs_f64(processors.get() as f64 * more);
    let busy = bare_host(user.home.path().join("busy.sock"), computed);
    let mut figures = TurnFigures::default();
    for turn in 0..TURNS {
        figures.add(&Clients { user, socket: &busy, is_kept: true, turn });
    }
    let what = format!("the same clients of a bare host that computes for {} an event", spoken(computed));
    table.plain(&Row { component: "–", log: "–", ..row(&what) }, figures.summary(), "", None);

    let (measured, asked, bare) = in_turns(false);
    table.figures(&row(&for_each), &measured, &beside(&bare), asked.each_second / bare.each_second);
    drop(resident);
    let recorded = records(user) - before;
    assert!(recorded >= settled, "of {settled} events {recorded} are in the log");
}

/// Verifies the log, and returns the number of its records.
fn records(user: &User) -> usize {
    let output = user.home.command(&user.hookhost).args(["audit", "verify", "--json"]).output().unwrap();
    let verified: Value = serde_json::from_slice(&output.stdout).unwrap();
    usize::try_from(verified["records"].as_u64().unwrap()).unwrap()
}

/// Returns a process's processor time, over all its threads: <https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html>.
fn processor_time(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // The second field is the program's name, in brackets.
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let ticks: Vec<u64> = fields.split(' ').skip(11).take(2).map(|ticks| ticks.parse().unwrap()).collect();
    // A second has 100 ticks here, whatever the frequency of the kernel's clock is.
    Duration::from_millis(10 * ticks.iter().sum::<u64>())
}

/// The measurements of all turns.
#[derive(Default)]
struct TurnFigures {
    each_second: Vec<f64>,
    waits: Vec<Duration>,
}

impl TurnFigures {
    fn add(&mut self, clients: &Clients<'_>) {
        let (waits, took) = clients.ask();
        self.each_second.push(waits.len() as f64 / took.as_secs_f64());
        self.waits.extend(waits);
    }

    fn summary(mut self) -> WaitSummary {
        self.waits.sort();
        let at = |share: usize| self.waits[(self.waits.len() - 1) * share / 100];
        WaitSummary { each_second: median(self.each_second), slowest: at(99), median: at(50) }
    }
}

struct WaitSummary {
    each_second: f64,
    /// The 99th percentile of the times that a client waits for an event.
    slowest: Duration,
    median: Duration,
}

impl fmt::Display for WaitSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { each_second, slowest, median } = self;
        let (slowest, median) = (spoken(*slowest), spoken(*median));
        write!(f, "{each_second:.0} events a second; 99 of 100 within {slowest}, median {median}")
    }
}

/// The clients of a turn.
struct Clients<'a> {
    user: &'a User,
    socket: &'a Path,
    is_kept: bool,
    turn: usize,
}

impl Clients<'_> {
    /// Returns the time that a client waited for each event, and the total time of the turn.
    fn ask(&self) -> (Vec<Duration>, Duration) {
        let begin = Barrier::new(CLIENTS + 1);
        thread::scope(|scope| {
            let client = |client| {
                let begin = &begin;
                scope.spawn(move || self.client(client, begin))
            };
            let clients: Vec<_> = (0..CLIENTS).map(client).collect();
            begin.wait();
            let began = Instant::now();
            let waits = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
            (waits, began.elapsed())
        })
    }

    /// Runs one client. It opens its session, and then starts together with all others.
    fn client(&self, client: usize, begin: &Barrier) -> Vec<Duration> {
        let mut stream = self.is_kept.then(|| self.keep());
        let mut ask = |number: u64| {
            let request = self.request(client, number);
            let began = Instant::now();
            match &mut stream {
                Some(stream) => {
                    stream.get_mut().write_all(&NumberedRequest::Hook { number, request }.to_frame()).unwrap();
                    assert_eq!(Response::from_numbered_body(&read(stream).unwrap()), Ok((number, ALLOWED)));
                }
                None => {
                    let mut stream = BufReader::new(UnixStream::connect(self.socket).unwrap());
                    stream.get_mut().write_all(&Request::Hook(request).to_frame()).unwrap();
                    assert_eq!(Response::from_body(&read(&mut stream).unwrap()), Ok(ALLOWED));
                }
            }
            began.elapsed()
        };
        ask(0);
        begin.wait();
        let began = Instant::now();
        (1..).take_while(|_| began.elapsed() < TURN).map(ask).collect()
    }

    /// Opens a connection that the client uses for all of its events.
    fn keep(&self) -> BufReader<UnixStream> {
        let mut stream = UnixStream::connect(self.socket).unwrap();
        stream.write_all(&Request::Keep.to_frame()).unwrap();
        BufReader::new(stream)
    }

    /// Returns the request of a hook with the resident host's directories.
    fn request(&self, client: usize, number: u64) -> HookRequest {
        let Self { user, is_kept, turn, .. } = self;
        let directory = user.home.path();
        let id = format!("{is_kept}-{turn}-{client}-{number}");
        let own = || Some(directory.to_path_buf());
        let directories = Directories { config: own(), state: own(), cache: own(), ..paths::directories() };
        HookRequest {
            agent: "claude-code".into(),
            point: "PreToolUse".into(),
            directory: directory.to_path_buf(),
            variables: directories.variables(),
            message: message(&id, &format!("client-{client}"), directory, "git status").into_bytes(),
        }
    }
}

/// Reads the body of the next frame.
fn read(stream: &mut BufReader<UnixStream>) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut body = vec![0; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut body)?;
    Ok(body)
}

/// Starts a bare host in this process. It reads each request, computes for the time `computes`, and allows the call. Returns the path of
/// its socket.
fn bare_host(socket: PathBuf, computes: Duration) -> PathBuf {
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    listener.set_nonblocking(true).unwrap();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = UnixListener::from_std(listener).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(answer(stream, computes));
            }
        });
    });
    socket
}

/// Serves a connection until the client has closed it.
async fn answer(stream: AsyncStream, computes: Duration) -> io::Result<()> {
    let mut stream = tokio::io::BufReader::new(stream);
    let first = next(&mut stream).await?;
    if Request::from_body(&first).unwrap() != Request::Keep {
        return stream.write_all(&ALLOWED.to_frame()).await;
    }
    loop {
        let NumberedRequest::Hook { number, .. } = NumberedRequest::from_body(&next(&mut stream).await?).unwrap()
        else {
            return Ok(());
        };
        compute(computes);
        stream.write_all(&ALLOWED.to_numbered_frame(number)).await?;
    }
}

/// Computes until the thread has used a processor for this time.
fn compute(time: Duration) {
    let ends = thread_time() + time;
    while thread_time() < ends {
        std::hint::spin_loop();
    }
}

/// Returns this thread's processor time.
fn thread_time() -> Duration {
    nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap().into()
}

async fn next(stream: &mut tokio::io::BufReader<AsyncStream>) -> io::Result<Vec<u8>> {
    let mut body = vec![0; stream.read_u32_le().await? as usize];
    stream.read_exact(&mut body).await?;
    Ok(body)
}
