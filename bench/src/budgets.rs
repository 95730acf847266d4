//! Measures costs: the table of budgets, system calls, and instructions.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    Outcome,
    checks::with_plugins,
    compare, plugins, programs,
    workspace::{Workspace, output, run, say},
};

/// The file of noted instructions per event, as `KIND COUNT` lines.
const NOTED: &str = "host/engine/benches/instructions.txt";

/// Allowed increase over the noted count, in percent. Hash maps get a new seed in each process, and the log's writer thread takes
/// whatever is ready.
const TOLERANCE: u64 = 10;

/// Numbers of events of two runs: their difference is counted, without the start.
const EVENTS: [u64; 2] = [600, 100];

/// Maximum system calls of a recorded event, on average.
const MAX_RECORDED: f64 = 2.0;

/// The name of a part, and its benchmark.
type Part = (&'static str, &'static str);

/// The parts of the measurements. `--only` measures one alone.
const PARTS: [Part; 7] = [
    ("budgets", "budgets"),
    ("hook", "hook"),
    ("proxy", "proxy"),
    ("agent", "agent"),
    ("tenants", "tenants"),
    ("system-calls", "steady"),
    ("distributions", "event"),
];

/// The parts that start the programs.
const PROCESSES: [&str; 3] = ["budgets", "hook", "proxy"];

/// Prints the tables of budgets (engine, hooks, proxy, the agent's loop, many tenants), the system calls in steady state, and the
/// distributions. The programs are built as they are installed, and the benchmarks with the release profile.
pub(crate) fn budgets(workspace: &Workspace, arguments: &[String]) -> Outcome {
    if arguments.iter().any(|argument| argument == "--compare") {
        return compare::compare(workspace, arguments);
    }
    let (only, arguments) = only(arguments)?;
    let is_wanted = |part: &str| only.is_none_or(|(only, _)| only == part);
    let directory = plugins::build(workspace)?;
    let has_shell = is_wanted("budgets") && !arguments.contains(&"--schemas");
    let guard_for_speed = has_shell.then(|| plugins::guard_for_speed(workspace)).transpose()?;
    let needs_programs = PROCESSES.into_iter().any(is_wanted);
    let programs = if needs_programs { Some(programs::release(workspace)?) } else { None };
    let bench = |name: &str| {
        let mut cargo = workspace.cargo(&["bench", "--workspace", "--bench", name, "--"]);
        with_plugins(&mut cargo, &directory);
        if let Some(guard) = &guard_for_speed {
            cargo.env("HOOKHOST_GUARD_FOR_SPEED", guard);
        }
        if let Some(programs) = &programs {
            cargo.env("HOOKHOST_COMMAND", &programs.hookhost).env("HOOKHOST_HOOK", &programs.hook);
        }
        cargo
    };
    if is_wanted("budgets") {
        run("every budget, beside its reference from the same run", bench("budgets").args(&arguments))?;
    }
    if is_wanted("hook") {
        let engine = programs::engine_alone(workspace)?;
        run("what an agent waits for at each event", bench("hook").env("HOOKHOST_ENGINE_ALONE", engine))?;
    }
    if is_wanted("proxy") {
        run("what the proxy adds to a call of an MCP server", &mut bench("proxy"))?;
    }
    if is_wanted("agent") {
        run("what the agent's loop adds, in the same way", bench("agent").args(&arguments))?;
    }
    if is_wanted("tenants") {
        let quick = arguments.iter().filter(|argument| **argument == "--quick");
        run("ten thousand tenants in one process", bench("tenants").args(quick))?;
    }
    if is_wanted("system-calls") {
        system_calls(&program(workspace, "bench", "steady")?, &directory)?;
    }
    if is_wanted("distributions") {
        run("the distributions", &mut bench("event"))?;
    }
    Ok(())
}

/// Returns the part of `--only`, and the arguments of the benchmarks.
fn only(arguments: &[String]) -> Outcome<(Option<Part>, Vec<&str>)> {
    let (mut only, mut rest) = (None, Vec::new());
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        match argument {
            "--only" => {
                let part = arguments.next().and_then(|named| PARTS.into_iter().find(|(part, _)| *part == named));
                let all = || format!("`--only` needs one of {}", PARTS.map(|(part, _)| part).join(", "));
                only = Some(part.ok_or_else(all)?);
            }
            // `--schemas` measures only the schemas, for a change of the way in which their steps are counted.
            "--quick" | "--schemas" => rest.push(argument),
            other => {
                return Err(format!("`{other}` is unknown: cargo xtask bench [--quick] [--only NAME] [--compare REF]"));
            }
        }
    }
    Ok((only, rest))
}

/// Prints the system calls of 10 000 events in steady state.
fn system_calls(steady: &Path, plugins: &Path) -> Outcome {
    if !is_there("strace") {
        say("system calls are not counted: strace is not there");
        return Ok(());
    }
    for kind in ["hookhost", "recorded", "recorded-at-once"] {
        let count = |events: u64| -> Outcome<Vec<(String, i64)>> {
            let file = std::env::temp_dir().join(format!("hookhost-strace-{}", std::process::id()));
            let mut strace = Command::new("strace");
            strace.args(["-c", "-f", "-o"]).arg(&file).arg(steady).args([kind, &events.to_string()]);
            strace.env("HOOKHOST_PLUGINS", plugins);
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
            // Calls that depend on the clock are still counted: those of the thread that ticks each millisecond, and of threads that it
            // wakes.
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

/// Parses a line of `strace -c`: its fourth column is the number of calls, its last one the name.
fn counted(line: &str) -> Option<(String, i64)> {
    let columns: Vec<_> = line.split_whitespace().collect();
    let (calls, name) = (columns.get(3)?.parse().ok()?, columns.last()?);
    (*name != "total").then(|| ((*name).to_owned(), calls))
}

/// Counts the instructions of an event with valgrind, which counts the same on a busy machine. They are those of the development
/// profile, which CI has built anyway: the figure shows a change and is not for quotation.
pub(crate) fn instructions(workspace: &Workspace, arguments: &[String]) -> Outcome {
    if !is_there("valgrind") {
        say("instructions are not counted: valgrind is not there");
        return Ok(());
    }
    let directory = plugins::build(workspace)?;
    let steady = program(workspace, "test", "steady")?;
    let cache = workspace.target.join("tmp").join("steady-cache");
    // Compiles the code that the counted runs read, for the processor that valgrind emulates.
    instructions_of(&steady, "hookhost", 1, &directory, &cache)?;
    let mut counts = Vec::new();
    for kind in ["bare", "without-subscribers", "hookhost"] {
        let [many, few] = EVENTS.map(|events| instructions_of(&steady, kind, events, &directory, &cache));
        counts.push((kind, (many? - few?) / (EVENTS[0] - EVENTS[1])));
    }
    let noted = workspace.root.join(NOTED);
    if arguments.iter().any(|argument| argument == "--note") {
        let text: String = counts.iter().map(|(kind, count)| format!("{kind} {count}\n")).collect();
        return fs::write(&noted, text).map_err(|error| format!("cannot write {NOTED}: {error}"));
    }
    let text = fs::read_to_string(&noted).map_err(|error| format!("cannot read {NOTED}: {error}"))?;
    let mut more = Vec::new();
    for (kind, count) in counts {
        let line = text.lines().filter_map(|line| line.split_once(' ')).find(|(noted, _)| *noted == kind);
        let noted: u64 = line
            .and_then(|(_, count)| count.parse().ok())
            .ok_or_else(|| format!("{NOTED} has no count of {kind}: run `cargo xtask instructions --note`"))?;
        println!("{kind:>9}  {count} instructions an event, {noted} noted");
        if count * 100 > noted * (100 + TOLERANCE) {
            more.push(kind);
        }
    }
    if more.is_empty() {
        return Ok(());
    }
    Err(format!(
        "an event costs more instructions than was noted ({}): make it cheaper, or note the new count with `cargo xtask \
         instructions --note` and say in the commit what it buys",
        more.join(", ")
    ))
}

fn instructions_of(steady: &Path, kind: &str, events: u64, plugins: &Path, cache: &Path) -> Outcome<u64> {
    let mut valgrind = Command::new("valgrind");
    // Prints only the count, on standard output.
    valgrind
        .args(["--tool=callgrind", "--log-fd=1", "--callgrind-out-file=/dev/null"])
        .arg(steady)
        .args([kind, &events.to_string()])
        .arg(cache);
    let text = output(valgrind.env("HOOKHOST_PLUGINS", plugins))?;
    let count = text.lines().find_map(|line| line.split_once("Collected : ")).map(|(_, count)| count.trim().parse());
    count.and_then(Result::ok).ok_or_else(|| format!("valgrind gave no count: {text}"))
}

/// Builds a benchmark with this cargo command, and returns its program.
pub(crate) fn program(workspace: &Workspace, command: &str, bench: &str) -> Outcome<PathBuf> {
    let mut cargo = workspace.cargo(&[command, "--workspace", "--bench", bench, "--no-run", "--message-format=json"]);
    let messages = output(cargo.stderr(Stdio::inherit()))?;
    let named = format!(r#""name":"{bench}""#);
    let executable = messages.lines().filter(|line| line.contains(&named)).find_map(|line| {
        let (_, rest) = line.split_once(r#""executable":""#)?;
        Some(PathBuf::from(rest.split_once('"')?.0))
    });
    executable.ok_or_else(|| format!("cargo built no `{bench}`"))
}

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

#[cfg(test)]
mod tests {
    use super::only;

    #[test]
    fn one_part_can_be_measured_alone_and_what_is_unknown_is_named() {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(only(&words("--quick")), Ok((None, vec!["--quick"])));
        assert_eq!(
            only(&words("--only system-calls --quick")),
            Ok((Some(("system-calls", "steady")), vec!["--quick"]))
        );
        for line in ["--only", "--only steady", "--only --quick"] {
            let why = only(&words(line)).unwrap_err();
            assert!(why.starts_with("`--only` needs one of budgets, hook,"), "{line}: {why}");
        }
        assert!(only(&words("--quik")).is_err_and(|why| why.starts_with("`--quik` is unknown")));
    }
}
