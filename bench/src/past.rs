//! Measures how long `hookhost replay --from all` takes for 10 000 calls in transcripts, with the example plugins that judge commands and
//! paths. The reference is a Python program that only parses the same transcripts.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use xtask::{
    Outcome, plugins, programs,
    workspace::{Workspace, output, say},
};

/// Number of calls in the transcripts.
const CALLS: usize = 10_000;

/// Number of calls in one transcript.
const CALLS_PER_TRANSCRIPT: usize = 200;

/// Size of the result of each call in the transcripts, in bytes.
const RESULT: usize = 4096;

/// Maximum time for [`CALLS`] calls.
const BUDGET: Duration = Duration::from_secs(5);

/// Number of measurements. The median counts.
const ROUNDS: usize = 5;

/// The plugins of the example rules.
const PLUGINS: [&str; 2] = ["shell_guard.wasm", "path_guard.wasm"];

/// Commands of an ordinary day. `{}` is a number, so that no two calls are the same.
const COMMANDS: [&str; 10] = [
    "git status --short && git diff --stat HEAD~{}",
    "cargo test --workspace test_{} -- --nocapture 2>&1 | tail -n 40",
    "rg -n 'fn number_{}' src | head",
    "sed -n '{},+40p' src/main.rs",
    "npm run build -- --filter=package-{}",
    "for f in src/*.rs; do wc -l \"$f\"; done | sort -n | tail -{}",
    "curl -s https://example.com/api/{} | jq '.items[] | .name'",
    "python3 -m pytest tests/test_{}.py -x -q",
    "rm -rf target/tmp-{} && mkdir -p target/tmp-{}",
    "git push --force origin branch-{}",
];

/// Measures `[PROGRAM]`, or the program in the form in which it is installed.
pub(crate) fn measure(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let program = match arguments {
        [] => programs::release(workspace)?.hookhost,
        [program] => std::path::absolute(program).map_err(|error| format!("{program}: {error}"))?,
        _ => return Err("usage: past [PROGRAM]".to_owned()),
    };
    let plugins = plugins::build(workspace)?;
    let home = workspace.target.join("bench-past");
    let _ = fs::remove_dir_all(&home);
    let bytes = write_transcripts(&home).map_err(|error| format!("{}: {error}", home.display()))?;
    say(&format!("judging {CALLS} calls in transcripts of {} MB, {ROUNDS} times", bytes >> 20));
    let hookhost = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).current_dir(&home).env_clear().env("HOME", &home).stdin(Stdio::null());
        command.env("HOOKHOST_TEST_PROCESS", std::process::id().to_string());
        command
    };
    for plugin in PLUGINS {
        let plugin = plugins.join(plugin);
        output(&mut hookhost(&["allow", &plugin.to_string_lossy(), "--yes"]))?;
    }
    // The first replay compiles the plugins.
    let summary = output(&mut hookhost(&["replay", "--from", "all"]))?;
    println!("{summary}");
    let judged = median(|| timed(&mut hookhost(&["replay", "--from", "all"])))?;
    let parsed = median(|| timed(&mut parser(&home)))?;
    println!("| what | measured | reference | ratio | budget | |");
    println!("|---|---|---|---|---|---|");
    println!(
        "| {CALLS} past calls, {} plugins | {judged:.2?} | {parsed:.2?} python3, which only parses the transcripts | {:.2} | ≤ {BUDGET:?} | {} |",
        PLUGINS.len(),
        judged.as_secs_f64() / parsed.as_secs_f64(),
        if judged <= BUDGET { "met" } else { "**beyond**" },
    );
    fs::remove_dir_all(&home).map_err(|error| error.to_string())
}

/// Writes transcripts in the format of Claude Code. Returns their size.
fn write_transcripts(home: &Path) -> std::io::Result<usize> {
    let directory = home.join(".claude/projects/-work-app");
    fs::create_dir_all(&directory)?;
    let project = directory_of_project(home)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let result = "a line of output\\n".repeat(RESULT / 17);
    let mut bytes = 0;
    for transcript in 0..CALLS / CALLS_PER_TRANSCRIPT {
        let session = format!("session-{transcript}");
        let mut text = String::new();
        for number in transcript * CALLS_PER_TRANSCRIPT..(transcript + 1) * CALLS_PER_TRANSCRIPT {
            let command = COMMANDS[number % COMMANDS.len()].replace("{}", &number.to_string()).replace('"', "\\\"");
            let common = format!(r#""sessionId":"{session}","cwd":"{}","version":"2.1.330""#, project.display());
            let call = format!(
                r#"{{"type":"tool_use","id":"toolu_{number:024}","name":"Bash","input":{{"command":"{command}"}}}}"#
            );
            let _ = writeln!(
                text,
                r#"{{{common},"type":"assistant","message":{{"role":"assistant","content":[{call}]}}}}"#
            );
            let _ = writeln!(
                text,
                r#"{{{common},"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{number:024}","content":"{result}"}}]}},"at":{now}}}"#
            );
        }
        bytes += text.len();
        fs::write(directory.join(session + ".jsonl"), text)?;
    }
    Ok(bytes)
}

fn directory_of_project(home: &Path) -> std::io::Result<PathBuf> {
    let project = home.join("work/app");
    fs::create_dir_all(&project)?;
    Ok(project)
}

/// The reference: Python parses each line of the transcripts.
fn parser(home: &Path) -> Command {
    let program = "import glob, json, sys\n\
                   for name in glob.glob(sys.argv[1] + '/.claude/projects/*/*.jsonl'):\n    \
                   for line in open(name): json.loads(line)\n";
    let mut command = Command::new("python3");
    command.args(["-c", program]).arg(home);
    command
}

fn timed(command: &mut Command) -> Outcome<Duration> {
    let began = Instant::now();
    output(command)?;
    Ok(began.elapsed())
}

fn median(mut run: impl FnMut() -> Outcome<Duration>) -> Outcome<Duration> {
    let mut times = (0..ROUNDS).map(|_| run()).collect::<Outcome<Vec<_>>>()?;
    times.sort();
    Ok(times[ROUNDS / 2])
}
