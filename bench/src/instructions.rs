//! Counts the instructions and the system calls of an event. A busy machine does not change these counts.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use xtask::{
    Outcome, plugins,
    workspace::{Workspace, output, say},
};

/// The file that stores the number of instructions per event, as lines of `KIND COUNT`.
const NOTED: &str = "bench/instructions.txt";

/// Allowed increase over the stored count, in percent. The count varies because hash maps get a new seed in each process, and because the
/// log's writer thread takes a varying number of records at once.
const TOLERANCE: u64 = 10;

/// Numbers of events of two runs. The difference of the two counts does not include the instructions for starting the process.
const EVENTS: [u64; 2] = [600, 100];

/// Maximum number of system calls of a recorded event, on average.
const MAX_RECORDED: f64 = 2.0;

/// Counts the instructions of an event with valgrind: `[--write]`. The programs are built with the development profile, because CI has
/// already built them with it. So the count can show a change, but it does not show the cost of an installed program.
pub(crate) fn measure(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let write = match arguments {
        [] => false,
        [only] if only == "--write" => true,
        _ => return Err("usage: instructions [--write]".to_owned()),
    };
    if !is_there("valgrind") {
        say("instructions are not counted: valgrind is not there");
        return Ok(());
    }
    let directory = plugins::build(workspace)?;
    let steady = crate::built(workspace, "test", "steady")?;
    let cache = workspace.target.join("tmp").join("steady-cache");
    // This run compiles the plugin for the processor that valgrind emulates. The counted runs read the compiled code from the cache.
    instructions_of(&steady, "hookhost", 1, &directory, &cache)?;
    let mut counts = Vec::new();
    for kind in ["bare", "without-subscribers", "hookhost"] {
        let [many, few] = EVENTS.map(|events| instructions_of(&steady, kind, events, &directory, &cache));
        counts.push((kind, (many? - few?) / (EVENTS[0] - EVENTS[1])));
    }
    let noted = workspace.root.join(NOTED);
    if write {
        let text: String = counts.iter().map(|(kind, count)| format!("{kind} {count}\n")).collect();
        return fs::write(&noted, text).map_err(|error| format!("cannot write {NOTED}: {error}"));
    }
    let text = fs::read_to_string(&noted).map_err(|error| format!("cannot read {NOTED}: {error}"))?;
    let mut more = Vec::new();
    for (kind, count) in counts {
        let line = text.lines().filter_map(|line| line.split_once(' ')).find(|(noted, _)| *noted == kind);
        let noted: u64 = line.and_then(|(_, count)| count.parse().ok()).ok_or_else(|| {
            format!("{NOTED} has no count of {kind}: run `cargo run -p bench -- instructions --write`")
        })?;
        println!("{kind:>9}  {count} instructions an event, {noted} noted");
        if count * 100 > noted * (100 + TOLERANCE) {
            more.push(kind);
        }
    }
    if more.is_empty() {
        return Ok(());
    }
    Err(format!(
        "an event costs more instructions than was noted ({}): make it cheaper, or note the new count with `cargo run -p bench \
         -- instructions --write` and say in the commit what it buys",
        more.join(", ")
    ))
}

fn instructions_of(steady: &Path, kind: &str, events: u64, directory: &Path, cache: &Path) -> Outcome<u64> {
    let mut valgrind = Command::new("valgrind");
    // Make valgrind print only the count, and on standard output.
    valgrind
        .args(["--tool=callgrind", "--log-fd=1", "--callgrind-out-file=/dev/null"])
        .arg(steady)
        .args([kind, &events.to_string()])
        .arg(cache);
    let text = output(valgrind.env(plugins::VARIABLE, directory))?;
    let count = text.lines().find_map(|line| line.split_once("Collected : ")).map(|(_, count)| count.trim().parse());
    count.and_then(Result::ok).ok_or_else(|| format!("valgrind gave no count: {text}"))
}

/// Prints the system calls of 10 000 events in steady state.
pub(crate) fn system_calls(workspace: &Workspace, directory: &Path) -> Outcome {
    if !is_there("strace") {
        say("system calls are not counted: strace is not there");
        return Ok(());
    }
    let steady = crate::built(workspace, "bench", "steady")?;
    for kind in ["hookhost", "recorded", "recorded-at-once"] {
        let count = |events: u64| -> Outcome<Vec<(String, i64)>> {
            let file = std::env::temp_dir().join(format!("hookhost-strace-{}", std::process::id()));
            let mut strace = Command::new("strace");
            strace.args(["-c", "-f", "-o"]).arg(&file).arg(&steady).args([kind, &events.to_string()]);
            strace.env(plugins::VARIABLE, directory);
            output(&mut strace)?;
            let text =
                fs::read_to_string(&file).map_err(|error| format!("cannot read what strace counted: {error}"))?;
            let _ = fs::remove_file(&file);
            Ok(text.lines().filter_map(counted).collect())
        };
        let (few, many) = (count(1_000)?, count(11_000)?);
        say(&format!("system calls of 10 000 events of `steady {kind}`, on all threads"));
        let before = |name: &str| few.iter().find(|(other, _)| other == name).map_or(0, |(_, calls)| *calls);
        let mut calls: Vec<_> = many.iter().map(|(name, calls)| (name, calls - before(name))).collect();
        calls.retain(|(_, calls)| *calls > 0);
        calls.sort_by_key(|(_, calls)| -calls);
        let all: i64 = calls.iter().map(|(_, calls)| calls).sum();
        for (name, calls) in calls {
            println!("{calls:>9}  {name}");
        }
        let each = all as f64 / 10_000.0;
        match kind {
            // Some of the counted calls depend on the time and not on the events: the calls of the thread that ticks each millisecond, and
            // of the threads that it wakes.
            "hookhost" => {
                let word = if each < 0.1 { "met" } else { "**beyond**" };
                println!(
                    "{each:9.4}  for each event; may be: none but those of the clock, a tick a millisecond ({word})"
                );
            }
            _ => {
                let word = if each <= MAX_RECORDED { "met" } else { "**beyond**" };
                println!("{each:9.4}  for each recorded event; may be: {MAX_RECORDED} in the mean ({word})");
                println!(
                    "           (`write` is the record; `statx` and most of `fcntl` ask whether its journal is there and whether \
                     another process waits: docs/decisions/0048-performance.md; the others are SQLite's and the threads')"
                );
            }
        }
    }
    Ok(())
}

/// Parses a line of `strace -c`. The fourth column is the number of calls, and the last column is the name of the system call.
fn counted(line: &str) -> Option<(String, i64)> {
    let columns: Vec<_> = line.split_whitespace().collect();
    let (calls, name) = (columns.get(3)?.parse().ok()?, columns.last()?);
    (*name != "total").then(|| ((*name).to_owned(), calls))
}

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}
