//! Compares two commits. The benchmarks of both commits run at the same time and take turns, row by row, so that a disturbance of the
//! machine affects both. If each benchmark measured its whole table at once, minutes would pass in between, and in this time the speed of a
//! shared machine can change more than the commits differ.

mod rows;
mod sources;

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use xtask::{
    Outcome, plugins,
    programs::{self, Programs},
    workspace::{Workspace, say},
};

use rows::{MeasuredRow, RowPairs, RowSource};

/// The parts whose rows can be compared, because they print a table. Each part has the name of its benchmark.
const PARTS: [(&str, &str); 5] =
    [("engine", "budgets"), ("hook", "hook"), ("proxy", "proxy"), ("agent", "agent"), ("tenants", "tenants")];

/// The benchmarks that start no installed program.
const ALONE: [&str; 2] = ["agent", "tenants"];

/// Default number of rounds of the whole table.
const DEFAULT_ROUNDS: usize = 5;

/// The environment variable that makes a benchmark take turns with another process: see `bench/src/turns.rs`.
const TURNS: &str = "HOOKHOST_BENCH_TURNS";

/// The arguments of a comparison.
#[derive(Debug, PartialEq, Eq)]
struct Options<'a> {
    reference: &'a str,
    benchmark: &'a str,
    rounds: usize,
    quick: bool,
}

impl<'a> Options<'a> {
    fn parse(arguments: &'a [String]) -> Outcome<Self> {
        let (mut reference, mut benchmark, mut rounds, mut quick) = (None, PARTS[0].1, DEFAULT_ROUNDS, false);
        let mut words = arguments.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            match word {
                "--compare" => reference = words.next_if(|reference| !reference.starts_with('-')),
                "--only" => {
                    let named = words.next().and_then(|named| PARTS.into_iter().find(|(part, _)| *part == named));
                    let parts = || PARTS.map(|(part, _)| part).join(", ");
                    (_, benchmark) =
                        named.ok_or_else(|| format!("beside `--compare`, `--only` needs one of {}", parts()))?;
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
        Ok(Self { reference, benchmark, rounds, quick })
    }
}

/// Builds both commits, measures, and prints the table.
pub(crate) fn measure(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let options = Options::parse(arguments)?;
    let commit = sources::commit(workspace, options.reference)?;
    let before = sources::check_out(workspace, &commit)?;
    // The other commit is built first, so that in the end the target directory contains the programs of this work tree.
    say(&format!("building {}", options.reference));
    let before = BuiltCommit::of(&before, options.benchmark)?.apart(workspace)?;
    say("building this work tree");
    let now = BuiltCommit::of(workspace, options.benchmark)?;
    let mut rows = RowPairs::default();
    for round in 0..options.rounds {
        say(&format!("round {} of {}", round + 1, options.rounds));
        let mut runners = [before.start(&options)?, now.start(&options)?];
        let [a, b] = &mut runners;
        rows.add(rows::in_turns(&mut [a, b], round, &rows.unpaired())?);
    }
    let name = format!("{} ({})", options.reference, &commit[..commit.len().min(8)]);
    print!("{}", rows.table(&name, "this work tree"));
    Ok(())
}

/// The built files of a commit.
struct BuiltCommit {
    programs: Option<Programs>,
    bench: PathBuf,
    plugins: PathBuf,
    root: PathBuf,
}

impl BuiltCommit {
    fn of(workspace: &Workspace, benchmark: &str) -> Outcome<Self> {
        let plugins = plugins::build(workspace)?;
        let is_alone = ALONE.contains(&benchmark);
        let programs = if is_alone { None } else { Some(programs::release(workspace)?) };
        let bench = crate::built(workspace, "bench", benchmark)?;
        Ok(Self { programs, bench, plugins, root: workspace.root.clone() })
    }

    /// Copies the programs to a directory that no other build writes to.
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

    fn start(&self, options: &Options<'_>) -> Outcome<BenchmarkProcess> {
        let mut command = Command::new(&self.bench);
        if let Some(programs) = &self.programs {
            command.envs(programs.variables());
        }
        command
            .env(plugins::VARIABLE, &self.plugins)
            .env(TURNS, "")
            .current_dir(&self.root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if options.quick {
            command.arg("--quick");
        }
        let failed = || format!("cannot start {}", self.bench.display());
        let mut child = command.spawn().map_err(|error| format!("{}: {error}", failed()))?;
        let (turns, lines) = (child.stdin.take().ok_or_else(failed)?, child.stdout.take().ok_or_else(failed)?);
        Ok(BenchmarkProcess { root: self.root.clone(), child, turns, lines: BufReader::new(lines) })
    }
}

/// A running benchmark that waits for its turn before it measures a row.
struct BenchmarkProcess {
    root: PathBuf,
    child: Child,
    turns: ChildStdin,
    lines: BufReader<ChildStdout>,
}

impl RowSource for BenchmarkProcess {
    fn next(&mut self) -> Outcome<Option<MeasuredRow>> {
        // An error does not matter here: if the benchmark has ended, reading its output also ends.
        let _ = self.turns.write_all(b"\n").and_then(|()| self.turns.flush());
        loop {
            let mut line = String::new();
            let read = self.lines.read_line(&mut line).map_err(|error| format!("cannot read a row: {error}"))?;
            if read == 0 {
                break;
            }
            if let Some(measured) = MeasuredRow::parse(line.trim_end_matches('\n')) {
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

impl Drop for BenchmarkProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_engine_of_a_commit_is_compared_by_default() {
        let expected = Options { reference: "HEAD~1", benchmark: "budgets", rounds: 5, quick: false };
        assert_eq!(Options::parse(&words("--compare HEAD~1")), Ok(expected));
        let expected = Options { reference: "v1", benchmark: "hook", rounds: 2, quick: true };
        assert_eq!(Options::parse(&words("--quick --only hook --compare v1 --rounds 2")), Ok(expected));
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
                "beside `--compare`, `--only` needs one of engine, hook, proxy, agent, tenants",
            ),
            ("--compare x y", "`y` is unknown beside `--compare`"),
        ] {
            assert_eq!(Options::parse(&words(line)), Err(why.to_owned()), "{line}");
        }
    }
}
