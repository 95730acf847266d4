//! `hookhost test`: tries the examples of the rules that apply, asks the rules about the events of case files, and compares the outcomes with
//! those that the files expect.
//!
//! The real components run under their real limits. The store is in memory, and neither a person nor a model is there to answer. Plugins
//! that could write files or send requests are not asked. Their names are reported.

mod case_file;
mod coverage;
mod examples;
mod facts;
mod junit;
mod outcome;
mod report;
mod run;
mod update;
mod watch;

pub(super) use case_file::{StateValue, States};
pub(super) use facts::TIME;
pub(super) use outcome::CaseOutcome;

use crate::args::TestArgs;
use crate::configuration;
use crate::directory_rules::UserConfigurations;
use crate::exit::{CliError, Exit};
use crate::interrupt::Signals;
use crate::loading;
use crate::output::{
    self, Reader, one_line,
    progress::Progress,
    quoted,
    style::{DIM, ERROR, GOOD, NAME, WARNING},
    truncate::counted,
};
use anyhow::anyhow;
use case_file::CaseFile;
use coverage::Coverage;
use examples::TestedRule;
use hookhost::Host;
use hookhost::command::is_rule_file;
use hookhost::config::Config;
use hookhost_resident::ConfigurationSource as _;
use junit::Suite;
use run::{CaseResult, Runner};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;
use watch::WatchedFiles;

/// The directory of the case files, beside a configuration file.
const CASES: &str = "cases";

pub(crate) async fn run(args: &TestArgs) -> Result<Exit, CliError> {
    let cancel = CancellationToken::new();
    Signals::listen()?.cancel_on_first(cancel.clone());
    if args.watch {
        return watch(args, &cancel).await;
    }
    match cancel.run_until_cancelled(test(args)).await {
        Some(ended) => ended,
        None => Err(CliError::new(Exit::Interrupted, anyhow!("interrupted: not all cases were tested"))),
    }
}

/// Tests again after each change. Mistakes in the files are shown, and end nothing.
async fn watch(args: &TestArgs, cancel: &CancellationToken) -> Result<Exit, CliError> {
    loop {
        let files = Plan::watched(args);
        match cancel.run_until_cancelled(test(args)).await {
            None => return Ok(Exit::Interrupted),
            Some(Ok(_)) => {}
            Some(Err(stop)) => stop.print(),
        }
        output::note(&format!("{DIM}waiting for a change of the rules or cases; Ctrl-C ends{DIM:#}\n"));
        if !files.changed(cancel).await {
            return Ok(Exit::Interrupted);
        }
        output::print("\n")?;
    }
}

/// What is to be tested.
struct Plan {
    config: Config,
    /// The directories that can have case files.
    directories: Vec<PathBuf>,
    /// The names of the plugins that are left out.
    not_asked: Vec<String>,
    files: Vec<PathBuf>,
}

impl Plan {
    fn new(args: &TestArgs) -> Result<Self, CliError> {
        if let Some(file) = args.path.as_deref().filter(|path| is_rule_file(path)) {
            let places = configuration::places()?;
            let config = configuration::of_file(file, &places)?;
            configuration::install_rules_plugin(&config, &places)?;
            let directories = config.rules().iter().filter_map(|rule| rule.origin.file.parent());
            let directories = directories.map(Path::to_owned).collect();
            return Ok(Self { config, directories, not_asked: Vec::new(), files: Vec::new() });
        }
        let directory = directory_of_rules(args)?;
        let config = loading::config(&args.configuration, &directory)?;
        let mut files = args.path.iter().filter(|path| path.is_file()).cloned().collect::<Vec<_>>();
        let directories = directories(args, &config);
        for directory in &directories {
            let found = case_files(directory).map_err(|error| {
                CliError::usage(format!("{} cannot be read: {error}", directory.join(CASES).display()))
            })?;
            files.extend(found);
        }
        // A person reads paths of the working directory more easily without it.
        let here = configuration::cwd()?;
        files.iter_mut().for_each(|file| *file = file.strip_prefix(&here).unwrap_or(file).to_owned());
        let (config, not_asked) = config.for_tests();
        Ok(Self { config, directories, not_asked, files })
    }

    /// Returns the files whose change means that the result can be another one.
    fn watched(args: &TestArgs) -> WatchedFiles {
        let directory = directory_of_rules(args).unwrap_or_default();
        let config = configuration::find(args.configuration.config.as_deref(), &directory).ok();
        let config = config.map(|found| found.config);
        let mut files = UserConfigurations.files(&directory, config.as_ref());
        files.extend(args.path.iter().chain(&args.configuration.config).cloned());
        let directories = config.map(|config| directories(args, &config)).unwrap_or_default();
        WatchedFiles::note(files, directories)
    }
}

/// Returns the directory whose rules apply.
fn directory_of_rules(args: &TestArgs) -> Result<PathBuf, CliError> {
    let Some(path) = &args.path else { return configuration::cwd() };
    let missing = |error| CliError::usage(format!("{} cannot be read: {error}", quoted(&path.to_string_lossy())));
    let path = path.canonicalize().map_err(missing)?;
    if path.is_dir() { Ok(path) } else { Ok(path.parent().unwrap_or(&path).to_owned()) }
}

/// Returns the directories that can have case files.
fn directories(args: &TestArgs, config: &Config) -> Vec<PathBuf> {
    if let Some(path) = &args.path {
        return path.canonicalize().into_iter().filter(|path| path.is_dir()).collect();
    }
    let mut directories: Vec<PathBuf> = Vec::new();
    for directory in config.files().iter().filter_map(|file| file.parent()) {
        if !directories.iter().any(|known| known == directory) {
            directories.push(directory.to_owned());
        }
    }
    directories
}

/// Returns the case files below a directory, sorted by name. There are none if the directory has no `cases`.
fn case_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match directory.join(CASES).read_dir() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let mut files: Vec<PathBuf> =
        paths.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect();
    files.sort();
    Ok(files)
}

fn no_cases(directories: &[PathBuf]) -> CliError {
    let places = directories.iter().map(|directory| directory.join(CASES).join("*.toml").display().to_string());
    let places = places.collect::<Vec<_>>().join(" or ");
    let why =
        if places.is_empty() { ", because no hookhost.toml applies here".to_owned() } else { format!(": {places}") };
    let first = directories.first().map_or(Path::new(""), PathBuf::as_path).join(CASES).join("first.toml");
    CliError::usage(format!("there is no case file{why}; hookhost test --help shows one"))
        .advise(format!("hookhost record --last 1d -o {}", quoted(&first.to_string_lossy())))
}

async fn test(args: &TestArgs) -> Result<Exit, CliError> {
    let Plan { config, directories, not_asked, files } = Plan::new(args)?;
    let plugins: Vec<&str> = config.enabled().map(|entry| entry.name.as_str()).collect();
    let files = files.iter().map(|file| CaseFile::read(file, &plugins, args.update)).collect::<Result<Vec<_>, _>>()?;
    let progress = Progress::start("trying examples");
    let rules = TestedRule::all(&config).await?;
    if files.is_empty() && !rules.iter().any(|rule| rule.is_tested_in(&directories)) {
        return Err(no_cases(&directories));
    }
    let mut summary = Summary::of_examples(&config, &rules, not_asked);
    if summary.examples_failed > 0 {
        drop(progress);
        return finish_early(args, &rules, &summary);
    }
    progress.next("compiling rules");
    loading::compile(&config, &progress).await?;
    drop(progress);
    let host = loading::host(config.clone()).await?;
    if args.json {
        print_rules(&rules)?;
    }
    let results = run_all(args, &host, &files).await?;
    summary.count(&results);
    finish(args, &host, &rules, &files, &results, &summary)?;
    let is_fine = |result: &CaseResult| result.is_passed() || (args.update && result.is_complete());
    Ok(if results.iter().flatten().all(is_fine) { Exit::Done } else { Exit::Differs })
}

/// Prints each rule with examples as one JSON object.
fn print_rules(rules: &[TestedRule]) -> Result<(), CliError> {
    for rule in rules {
        let _ = output::print_json_line(&rule.as_json())?;
    }
    Ok(())
}

/// Reports examples that are not as their rules say. Such rules are never in force, so no case runs.
fn finish_early(args: &TestArgs, rules: &[TestedRule], summary: &Summary) -> Result<Exit, CliError> {
    if let Some(file) = &args.junit {
        write_junit(file, &TestedRule::suites(rules))?;
    }
    if args.json {
        print_rules(rules)?;
        let _ = output::print_json_line(&summary.to_json(&Value::Null))?;
    } else {
        let failed = rules.iter().filter(|rule| rule.failed() > 0);
        output::print(&(failed.map(TestedRule::describe).collect::<String>() + &summary.to_text()))?;
    }
    Ok(Exit::Differs)
}

fn write_junit(file: &Path, suites: &[Suite]) -> Result<(), CliError> {
    std::fs::write(file, junit::document(suites))
        .map_err(|error| anyhow!("cannot write {}: {error}", file.display()).into())
}

/// Runs the cases of all files, and prints each result as soon as it is there.
async fn run_all(args: &TestArgs, host: &Host, files: &[CaseFile]) -> Result<Vec<Vec<CaseResult>>, CliError> {
    let runner = Runner::new(host);
    let chosen = args.configuration.config.as_deref();
    let mut reader = Reader::Reads;
    let mut results = Vec::new();
    for file in files {
        if !args.json && reader == Reader::Reads {
            reader = output::print_on(&format!("{NAME}{}{NAME:#}\n", one_line(&file.path.display().to_string())))?;
        }
        let mut of_file = Vec::new();
        for case in &file.cases {
            let result = runner.run(case).await;
            if reader == Reader::Reads {
                reader = match args.json {
                    true => output::print_json_line(&report::as_json(file, case, &result))?,
                    false => output::print_on(&report::describe(file, case, &result, chosen))?,
                };
            }
            of_file.push(result);
        }
        results.push(of_file);
    }
    Ok(results)
}

/// Writes the files that the user wants, and prints the summary.
fn finish(
    args: &TestArgs,
    host: &Host,
    rules: &[TestedRule],
    files: &[CaseFile],
    results: &[Vec<CaseResult>],
    summary: &Summary,
) -> Result<(), CliError> {
    if let Some(file) = &args.junit {
        let of_files = files.iter().zip(results).map(|(file, results)| Suite::of(file, results));
        write_junit(file, &TestedRule::suites(rules).into_iter().chain(of_files).collect::<Vec<_>>())?;
    }
    let coverage = Coverage::new(host, rules, results.iter().flatten());
    if args.json {
        let _ = output::print_json_line(&summary.to_json(&coverage.to_json()))?;
    } else {
        output::print(&summary.to_text())?;
        if args.coverage {
            output::print(&coverage.to_text())?;
        }
    }
    if args.update {
        for (file, results) in files.iter().zip(results) {
            let changed = update::write(file, results)?;
            if changed > 0 {
                output::note(&format!("updated {} in {}\n", counted(changed, "event"), file.path.display()));
            }
        }
    }
    Ok(())
}

/// The numbers of a run.
#[derive(Debug, Default)]
struct Summary {
    passed: usize,
    failed: usize,
    /// Number of the rules' own examples, which are tried when the rules are loaded.
    examples: usize,
    examples_failed: usize,
    not_asked: Vec<String>,
}

impl Summary {
    fn of_examples(config: &Config, rules: &[TestedRule], not_asked: Vec<String>) -> Self {
        let of_rules: usize = rules.iter().map(TestedRule::examples).sum();
        let of_plugins: usize = config.enabled().map(examples::of_plugin).sum();
        let examples_failed = rules.iter().map(TestedRule::failed).sum();
        Self { examples: of_rules + of_plugins, examples_failed, not_asked, ..Self::default() }
    }

    fn count(&mut self, results: &[Vec<CaseResult>]) {
        let (passed, failed): (Vec<_>, Vec<_>) = results.iter().flatten().partition(|result| result.is_passed());
        (self.passed, self.failed) = (passed.len(), failed.len());
    }

    fn to_text(&self) -> String {
        let Self { passed, failed, examples, examples_failed, not_asked } = self;
        let of_examples = counted(*examples, "example");
        if *examples_failed > 0 {
            return format!(
                "{ERROR}{examples_failed}{ERROR:#} of {of_examples} fail, so the rules do not load and no case ran\n"
            );
        }
        let of_cases = counted(passed + failed, "case");
        let of_cases = match (passed, failed) {
            (0, 0) => None,
            (_, 0) => Some(format!("{of_cases}: {GOOD}{passed} passed{GOOD:#}")),
            _ => Some(format!("{of_cases}: {passed} passed, {ERROR}{failed} failed{ERROR:#}")),
        };
        let of_examples = (*examples > 0).then(|| format!("{of_examples} of the rules hold"));
        let mut text = of_cases.into_iter().chain(of_examples).collect::<Vec<_>>().join("; ");
        text.push('\n');
        if !not_asked.is_empty() {
            let names = one_line(&not_asked.join(", "));
            let why = "a test asks no plugin that may write files or send requests";
            let _ = writeln!(text, "{WARNING}not asked:{WARNING:#} {names}; {why}");
        }
        text
    }

    /// Returns the numbers as JSON. `coverage` is `null` if no case ran.
    fn to_json(&self, coverage: &Value) -> Value {
        let Self { passed, failed, examples, examples_failed, not_asked } = self;
        json!({
            "type": "summary",
            "cases": passed + failed,
            "passed": passed,
            "failed": failed,
            "examples": examples,
            "examples-failed": examples_failed,
            "plugins-not-asked": not_asked,
            "coverage": coverage,
        })
    }
}
