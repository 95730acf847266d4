//! `hookhost test`: asks the rules that apply about the events of case files, and compares the outcomes with those that the files expect.
//!
//! The real components run under their real limits. The store is in memory, and neither a person nor a model is there to answer. Plugins
//! that could write files or send requests are not asked. Their names are reported.

mod case_file;
mod coverage;
mod junit;
mod outcome;
mod report;
mod run;
mod update;
mod watch;

pub(super) use case_file::{StateValue, States};
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
use hookhost::Host;
use hookhost::command::is_rule_file;
use hookhost::config::{Config, Entry};
use hookhost_resident::ConfigurationSource as _;
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
            return Ok(Self { config, not_asked: Vec::new(), files: Vec::new() });
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
        if files.is_empty() {
            return Err(no_cases(&directories));
        }
        // A person reads paths of the working directory more easily without it.
        let here = configuration::cwd()?;
        files.iter_mut().for_each(|file| *file = file.strip_prefix(&here).unwrap_or(file).to_owned());
        let (config, not_asked) = config.for_tests();
        Ok(Self { config, not_asked, files })
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
    let Plan { config, not_asked, files } = Plan::new(args)?;
    let plugins: Vec<&str> = config.enabled().map(|entry| entry.name.as_str()).collect();
    let files = files.iter().map(|file| CaseFile::read(file, &plugins, args.update)).collect::<Result<Vec<_>, _>>()?;
    let examples = config.enabled().map(examples).sum::<usize>() + examples_of_rows(&config);
    {
        let progress = Progress::start("compiling rules");
        loading::compile(&config, &progress).await?;
    }
    let host = loading::host(config.clone()).await?;
    let results = run_all(args, &host, &files).await?;
    let summary = Summary { examples, not_asked, ..Summary::of(&results) };
    finish(args, &host, &files, &results, &summary)?;
    let is_fine = |result: &CaseResult| result.is_passed() || (args.update && result.is_complete());
    Ok(if results.iter().flatten().all(is_fine) { Exit::Done } else { Exit::Differs })
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
    files: &[CaseFile],
    results: &[Vec<CaseResult>],
    summary: &Summary,
) -> Result<(), CliError> {
    if let Some(file) = &args.junit {
        let document = junit::document(files.iter().zip(results.iter().map(Vec::as_slice)));
        std::fs::write(file, document).map_err(|error| anyhow!("cannot write {}: {error}", file.display()))?;
    }
    let coverage = Coverage::new(host, results.iter().flatten());
    if args.json {
        let _ = output::print_json_line(&summary.to_json(&coverage))?;
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
    /// Number of the rules' own examples, which are checked when the rules are loaded.
    examples: usize,
    not_asked: Vec<String>,
}

impl Summary {
    fn of(results: &[Vec<CaseResult>]) -> Self {
        let (passed, failed): (Vec<_>, Vec<_>) = results.iter().flatten().partition(|result| result.is_passed());
        Self { passed: passed.len(), failed: failed.len(), ..Self::default() }
    }

    fn to_text(&self) -> String {
        let Self { passed, failed, examples, not_asked } = self;
        let cases = counted(passed + failed, "case");
        let mut text = match failed {
            0 if *passed == 0 => "no case".to_owned(),
            0 => format!("{cases}: {GOOD}{passed} passed{GOOD:#}"),
            _ => format!("{cases}: {passed} passed, {ERROR}{failed} failed{ERROR:#}"),
        };
        if *examples > 0 {
            let _ = write!(text, "; {} of the rules hold", counted(*examples, "example"));
        }
        text.push('\n');
        if !not_asked.is_empty() {
            let names = one_line(&not_asked.join(", "));
            let why = "a test asks no plugin that may write files or send requests";
            let _ = writeln!(text, "{WARNING}not asked:{WARNING:#} {names}; {why}");
        }
        text
    }

    fn to_json(&self, coverage: &Coverage) -> Value {
        let Self { passed, failed, examples, not_asked } = self;
        json!({
            "type": "summary",
            "cases": passed + failed,
            "passed": passed,
            "failed": failed,
            "examples": examples,
            "plugins-not-asked": not_asked,
            "coverage": coverage.to_json(),
        })
    }
}

/// Returns the number of examples in an entry's own rules. The plugin checks them when it is configured, so they hold if it is loaded.
fn examples(entry: &Entry) -> usize {
    let rules = entry.config.get("custom-rules").and_then(Value::as_array).into_iter().flatten();
    let lists = rules.flat_map(|rule| ["catches", "leaves"].map(|key| rule.get(key)));
    lists.flatten().filter_map(Value::as_array).map(Vec::len).sum()
}

/// Returns the number of examples of the `[[rule]]` tables, which hold for the same reason.
fn examples_of_rows(config: &Config) -> usize {
    config.rules().iter().map(|rule| rule.row.stops.len() + rule.row.passes.len()).sum()
}
