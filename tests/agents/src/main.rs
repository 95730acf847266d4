//! `real-agents [--keep] [--hookhost FILE --hook FILE --plugin FILE | --stand-in FILE] [NAME…]` runs people's own agents offline,
//! against a scripted model. The hook is installed in the same way as by a user.
//!
//! | module | purpose |
//! |---|---|
//! | [`model`] | the scripted model |
//! | [`npm`] | installs agents |
//! | [`confine`] | namespaces |
//! | [`place`] | the directories of a case |
//! | [`process`] | runs an agent |
//! | [`hook`] | the hook under test: installs the hook, and reads the events that the hook received |
//! | [`agents`] | the setup of each agent |
//! | [`run`] | runs an agent in a case, and records what the runs do |
//! | [`cases`] | the checks |
//! | [`report`] | prints a line for each check |
//! | [`picture`] | `real-agents pictures --hookhost FILE --hook FILE --plugin FILE DIRECTORY`: draws what a person sees |
//! | [`mcp`] | `real-agents mcp --hookhost FILE`: runs public MCP servers and the protocol's conformance suite behind the proxy |
//! | [`page`] | `real-agents page --hookhost FILE --hook FILE DIRECTORY`: the page of the resident host in a real browser |

mod agents;
mod cases;
mod confine;
mod hook;
mod mcp;
mod model;
mod npm;
mod page;
mod picture;
mod place;
mod process;
mod report;
mod run;

use agents::RealAgent;
use anyhow::{Context as _, Result, bail};
use hook::{Built, Hook};
use report::{Report, Tally};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Time limit of a case. Some cases run their agent several times.
const CASE_LIMIT: Duration = Duration::from_secs(240);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.split_first() {
        Some((first, rest)) if first == "inside" => inside(rest),
        Some((first, rest)) if first == "pictures" => pictures(rest),
        Some((first, rest)) if first == "inside-pictures" => inside_pictures(rest),
        Some((first, rest)) if first == "mcp" => cache().and_then(|cache| mcp::run(rest, &cache)),
        Some((first, rest)) if first == "page" => cache().and_then(|cache| page::run(rest, &cache)),
        _ => outside(&words),
    };
    match done {
        Ok(exit) => exit,
        Err(error) => {
            eprintln!("real-agents: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// The options of the command line.
struct Options {
    keep: bool,
    hook: Hook,
    cases: Vec<String>,
    agents: Vec<&'static dyn RealAgent>,
}

fn options(words: &[String]) -> Result<Options> {
    let (mut keep, mut cases, mut names) = (false, Vec::new(), Vec::new());
    let (mut stand_in, mut hookhost, mut program, mut plugin) = (None, None, None, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut file = || {
            let file = words.next().with_context(|| format!("{word} needs a file"))?;
            std::path::absolute(file).with_context(|| file.clone())
        };
        match word.as_str() {
            "--keep" => keep = true,
            "--stand-in" => stand_in = Some(file()?),
            "--hookhost" => hookhost = Some(file()?),
            "--hook" => program = Some(file()?),
            "--plugin" => plugin = Some(file()?),
            "--case" => cases.push(words.next().context("--case needs a name")?.clone()),
            name if name.starts_with('-') => bail!("there is no option {name}"),
            name => names.push(name.to_owned()),
        }
    }
    let hook = match (stand_in, hookhost, program, plugin) {
        (Some(program), None, None, None) => Hook::StandIn { program },
        (None, Some(hookhost), Some(program), Some(plugin)) => Hook::Built(Built { hookhost, program, plugin }),
        _ => bail!("what is tested? `--hookhost FILE --hook FILE --plugin FILE`, or `--stand-in FILE`"),
    };
    let known = || agents::all().iter().map(|agent| agent.name()).collect::<Vec<_>>().join(", ");
    let find = |name: &String| {
        let found = agents::all().iter().copied().find(|agent| agent.name() == name);
        found.with_context(|| format!("there is no agent {name} here; there are {}", known()))
    };
    let agents =
        if names.is_empty() { agents::all().to_vec() } else { names.iter().map(find).collect::<Result<_>>()? };
    Ok(Options { keep, hook, cases, agents })
}

/// Installs the agents, and runs each case in namespaces of its own.
fn outside(words: &[String]) -> Result<ExitCode> {
    let options = options(words)?;
    let mut tally = Tally::default();
    let cache = cache()?;
    let confined = confine::Confined::find();
    let work = tempfile::Builder::new().prefix("real-agents-").tempdir()?;
    let node = npm::NODE.install(&cache).map_err(|why| format!("{why:#}"));
    for agent in &options.agents {
        let ready = confined.clone().and_then(|confined| {
            node.clone()?;
            agent.package().install(&cache).map_err(|why| format!("{why:#}"))?;
            Ok(confined)
        });
        match ready {
            Ok(confined) => {
                for case in cases::CASES
                    .iter()
                    .filter(|case| options.cases.is_empty() || options.cases.iter().any(|name| name == case.name))
                {
                    let root = work.path().join(agent.name()).join(case.name);
                    run_case(confined, &options.hook, *agent, case.name, &root, &cache, &mut tally)?;
                }
            }
            Err(why) => tally.add(agent.name(), &Report::skip(why)),
        }
    }
    if options.keep {
        println!("==> the files are in {}", work.keep().display());
    }
    println!("{tally}");
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn pictures(words: &[String]) -> Result<ExitCode> {
    let (directory, rest) = words.split_last().context("in which directory?")?;
    picture::run(options(rest)?.hook.built()?, Path::new(directory), &cache()?)
}

fn inside_pictures(words: &[String]) -> Result<ExitCode> {
    let [root, cache, directory, rest @ ..] = words else { bail!("too few arguments") };
    picture::inside(options(rest)?.hook.built()?, Path::new(root), Path::new(cache), Path::new(directory))
}

/// Returns the directory of installed agents. It is outside the repository, so that a clean checkout does not install them again.
fn cache() -> Result<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = named("HOOKHOST_AGENTS_CACHE")
        .or_else(|| Some(named("XDG_CACHE_HOME")?.join("hookhost-agents")))
        .or_else(|| Some(std::env::home_dir()?.join(".cache/hookhost-agents")));
    std::path::absolute(cache.context("no home directory: set HOOKHOST_AGENTS_CACHE")?).context("HOOKHOST_AGENTS_CACHE")
}

fn run_case(
    confined: confine::Confined,
    hook: &Hook,
    agent: &dyn RealAgent,
    case: &str,
    root: &Path,
    cache: &Path,
    tally: &mut Tally,
) -> Result<()> {
    std::fs::create_dir_all(root)?;
    let mut command = confined.command(&std::env::current_exe()?);
    command.arg("inside").arg(agent.name()).arg(case).arg(root).arg(cache).args(hook.words());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start unshare")?;
    let lines = BufReader::new(child.stdout.take().context("no standard output")?).lines();
    let begun = Instant::now();
    let watch = std::thread::spawn(move || -> Result<std::process::ExitStatus> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if begun.elapsed() > CASE_LIMIT {
                child.kill()?;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    for line in lines {
        let line = line?;
        match Report::parse(&line) {
            Some(report) => tally.add(agent.name(), &report),
            None => println!("{line}"),
        }
    }
    let status = watch.join().ok().context("a thread failed")??;
    if !status.success() {
        tally.add(agent.name(), &Report::fail(format!("the case `{case}` could not be run ({status})"), String::new()));
    }
    Ok(())
}

/// Runs one case, inside the namespaces.
fn inside(words: &[String]) -> Result<ExitCode> {
    let [name, case, root, cache, rest @ ..] = words else { bail!("too few arguments") };
    confine::loopback_up().map_err(anyhow::Error::msg)?;
    let hook = options(rest)?.hook;
    let agent = agents::all().iter().copied().find(|agent| agent.name() == name).context("unknown agent")?;
    let case = cases::CASES.iter().find(|known| known.name == case).context("unknown case")?;
    cases::run(case, agent, &hook, Path::new(root), Path::new(cache))?;
    Ok(ExitCode::SUCCESS)
}
