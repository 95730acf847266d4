//! Compares two commits: the benchmarks of both run at once and measure row by row, in turns, so that a disturbance of the machine
//! affects both. A whole table takes minutes, in which a shared machine changes by more than a commit does.

mod rows;
mod sources;

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use crate::{
    Outcome, bench,
    checks::with_plugins,
    plugins,
    programs::{self, Programs},
    workspace::{Workspace, say},
};
use rows::{Measured, Rows, Runner};

/// The benchmarks whose rows can be compared, since they print a table.
const PARTS: [&str; 5] = ["budgets", "hook", "proxy", "agent", "tenants"];

/// The benchmarks that start no other program.
const ALONE: [&str; 2] = ["agent", "tenants"];

/// Rounds of the whole table.
const ROUNDS: usize = 5;

/// With this variable, a benchmark measures in turns: see `host/bench-table/src/turns.rs`.
const TURNS: &str = "HOOKHOST_BENCH_TURNS";

/// The arguments of a comparison.
#[derive(Debug, PartialEq, Eq)]
struct Asked<'a> {
    reference: &'a str,
    part: &'a str,
    rounds: usize,
    quick: bool,
}

impl<'a> Asked<'a> {
    fn parse(arguments: &'a [String]) -> Outcome<Self> {
        let (mut reference, mut part, mut rounds, mut quick) = (None, PARTS[0], ROUNDS, false);
        let mut words = arguments.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            match word {
                "--compare" => reference = words.next_if(|reference| !reference.starts_with('-')),
                "--only" => {
                    let named = words.next().and_then(|named| PARTS.into_iter().find(|part| *part == named));
                    part = named
                        .ok_or_else(|| format!("beside `--compare`, `--only` needs one of {}", PARTS.join(", ")))?;
                }
                "--rounds" => {
                    let number = words.next().and_then(|number| number.parse().ok()).filter(|number| *number > 0);
                    rounds = number.ok_or("`--rounds` needs a number from 1 on")?;
                }
                "--quick" => quick = true,
                other => return Err(format!("`{other}` is unknown beside `--compare`")),
            }
        }
        let reference = reference.ok_or("`--compare` needs a commit, such as `--compare HEAD~1`")?;
        Ok(Self { reference, part, rounds, quick })
    }
}

/// Builds both commits, measures, and prints the table.
pub(crate) fn compare(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let asked = Asked::parse(arguments)?;
    let commit = sources::commit(workspace, asked.reference)?;
    let before = sources::check_out(workspace, &commit)?;
    // The other commit first, so that the built programs are those of this work tree in the end.
    say(&format!("building {}", asked.reference));
    let before = Built::of(&before, asked.part)?.apart(workspace)?;
    say("building this work tree");
    let now = Built::of(workspace, asked.part)?;
    let mut rows = Rows::default();
    for round in 0..asked.rounds {
        say(&format!("round {} of {}", round + 1, asked.rounds));
        let mut runners = [before.start(&asked)?, now.start(&asked)?];
        let [a, b] = &mut runners;
        rows.add(rows::in_turns(&mut [a, b], round, &rows.of_one())?);
    }
    let name = format!("{} ({})", asked.reference, &commit[..commit.len().min(8)]);
    print!("{}", rows.table(&name, "this work tree"));
    Ok(())
}

/// The built files of a commit.
struct Built {
    programs: Option<Programs>,
    bench: PathBuf,
    plugins: PathBuf,
    root: PathBuf,
}

impl Built {
    fn of(workspace: &Workspace, part: &str) -> Outcome<Self> {
        let plugins = plugins::build(workspace)?;
        let is_alone = ALONE.contains(&part);
        let programs = if is_alone { None } else { Some(programs::release(workspace)?) };
        let bench = bench::program(workspace, "bench", part)?;
        Ok(Self { programs, bench, plugins, root: workspace.root.clone() })
    }

    /// Copies the programs to a place that no other build writes to.
    fn apart(self, workspace: &Workspace) -> Outcome<Self> {
        let directory = workspace.compared();
        let copied = |program: &PathBuf| {
            let copy = directory.join(program.file_name().unwrap_or_default());
            std::fs::copy(program, &copy).map_err(|error| format!("cannot write {}: {error}", copy.display()))?;
            Ok::<_, String>(copy)
        };
        let programs = match self.programs {
            Some(Programs { hookhost, hook }) => Some(Programs { hookhost: copied(&hookhost)?, hook: copied(&hook)? }),
            None => None,
        };
        Ok(Self { programs, ..self })
    }

    fn start(&self, asked: &Asked<'_>) -> Outcome<Process> {
        let mut command = Command::new(&self.bench);
        with_plugins(&mut command, &self.plugins);
        if let Some(Programs { hookhost, hook }) = &self.programs {
            command.env("HOOKHOST_COMMAND", hookhost).env("HOOKHOST_HOOK", hook);
        }
        command.env(TURNS, "").current_dir(&self.root).stdin(Stdio::piped()).stdout(Stdio::piped());
        if asked.quick {
            command.arg("--quick");
        }
        let failed = || format!("cannot start {}", self.bench.display());
        let mut child = command.spawn().map_err(|error| format!("{}: {error}", failed()))?;
        let (turns, lines) = (child.stdin.take().ok_or_else(failed)?, child.stdout.take().ok_or_else(failed)?);
        Ok(Process { root: self.root.clone(), child, turns, lines: BufReader::new(lines) })
    }
}

/// A benchmark that measures in its turn.
struct Process {
    root: PathBuf,
    child: Child,
    turns: ChildStdin,
    lines: BufReader<ChildStdout>,
}

impl Runner for Process {
    fn next(&mut self) -> Outcome<Option<Measured>> {
        // The benchmark may have ended; then there is nothing to read either.
        let _ = self.turns.write_all(b"\n").and_then(|()| self.turns.flush());
        loop {
            let mut line = String::new();
            let read = self.lines.read_line(&mut line).map_err(|error| format!("cannot read a row: {error}"))?;
            if read == 0 {
                break;
            }
            if let Some(measured) = Measured::parse(line.trim_end_matches('\n')) {
                return Ok(Some(measured));
            }
        }
        let status = self.child.wait().map_err(|error| format!("the benchmark is lost: {error}"))?;
        if status.success() {
            Ok(None)
        } else {
            Err(format!("the benchmark of {} failed: {status}", self.root.display()))
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::Asked;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_commit_is_compared_with_the_budgets_by_default() {
        let asked = words("--compare HEAD~1");
        let expected = Asked { reference: "HEAD~1", part: "budgets", rounds: 5, quick: false };
        assert_eq!(Asked::parse(&asked), Ok(expected));
        let asked = words("--quick --only hook --compare v1 --rounds 2");
        assert_eq!(Asked::parse(&asked), Ok(Asked { reference: "v1", part: "hook", rounds: 2, quick: true }));
    }

    #[test]
    fn a_wrong_argument_is_named_in_a_sentence() {
        for (line, why) in [
            ("--compare", "`--compare` needs a commit, such as `--compare HEAD~1`"),
            ("--compare --only hook", "`--compare` needs a commit, such as `--compare HEAD~1`"),
            ("--compare x --rounds none", "`--rounds` needs a number from 1 on"),
            ("--compare x --rounds 0", "`--rounds` needs a number from 1 on"),
            (
                "--compare x --only distributions",
                "beside `--compare`, `--only` needs one of budgets, hook, proxy, agent, tenants",
            ),
            ("--compare x y", "`y` is unknown beside `--compare`"),
        ] {
            assert_eq!(Asked::parse(&words(line)), Err(why.to_owned()), "{line}");
        }
    }
}
