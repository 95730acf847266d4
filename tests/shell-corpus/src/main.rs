//! `shell-corpus --plugins DIRECTORY [--classifier] FILE` judges a table of commands and prints the figures. The exit code is 2 if the
//! table cannot be judged.

use anyhow::{Context as _, Result, bail};
use hookhost_shell_corpus::judged::Cost;
use hookhost_shell_corpus::{judge, table};
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: shell-corpus --plugins DIRECTORY [--classifier] FILE";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("shell-corpus: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<()> {
    let (mut plugins, mut file, mut with_classifier) = (None, None, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--plugins" => plugins = arguments.next().map(PathBuf::from),
            "--classifier" => with_classifier = true,
            other if other.starts_with('-') => bail!("unknown option `{other}`; {USAGE}"),
            other if file.is_none() => file = Some(other.to_owned()),
            other => bail!("`{other}` is a second file; {USAGE}"),
        }
    }
    let (Some(plugins), Some(file)) = (plugins, file) else { bail!("{USAGE}") };
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
    let rows = table::read(&text).with_context(|| file.clone())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("no runtime can be made")?;
    let outcome = runtime.block_on(judge(&rows, &plugins, with_classifier))?;
    println!("{}", outcome.guard);
    let commands = rows.len() as u64;
    println!(
        "fuel {} a command in the mean; natively and as a component the same decisions",
        outcome.guard_cost.fuel / commands
    );
    if let Some((report, cost)) = outcome.classifier {
        let Cost { fuel, questions, question_bytes } = cost;
        println!("\nwith shell-guard-classifier and a model that is always right");
        println!("{}", report.figures);
        println!("fuel {} a command in the mean", fuel / commands);
        println!(
            "{questions} questions to the model for {commands} commands, {} bytes each",
            question_bytes / questions.max(1)
        );
    }
    Ok(())
}
