//! `hookhost rule explain`: explains a rule in words, a ready rule, or a rule of the plugin shell-guard.

use super::named::Owner;
use crate::args::ExplainArgs;
use crate::command::tools::first_sentence;
use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::nearest::nearest;
use crate::output::{
    self, one_line, quoted,
    style::{CODE, DIM, NAME},
    time,
    wrap::wrapped,
};
use crate::ready;
use anyhow::anyhow;
use hookhost::config::Rule;
use hookhost::contract::rule::{RuleExample, RuleOn};
use hookhost_resident::RulePauses;
use serde_json::json;
use shell_guard_rules::document::{CataloguePage, RulePage, catalogues, files};
use std::io;
use std::path::Path;

pub(super) fn run(args: &ExplainArgs) -> Result<Exit, CliError> {
    let catalogues = catalogues().map_err(|error| anyhow!(error))?;
    if let Some(directory) = &args.write {
        write(directory, &catalogues).map_err(|error| {
            anyhow!("the pages cannot be written to {}: {error}", quoted(&directory.to_string_lossy()))
        })?;
        return Ok(Exit::Done);
    }
    let rules = configuration::rules().map(|(rules, off)| [rules, off].concat())?;
    if let Some(rule) = rules.iter().find(|rule| args.id.as_ref() == Some(&rule.row.id)) {
        match args.json {
            true => output::print_json(&rule.row)?,
            false => output::print(&row_as_text(rule)?)?,
        }
        return Ok(Exit::Done);
    }
    let Some(id) = &args.id else {
        if args.json {
            output::print_json(&json!({ "catalogues": catalogues }))?;
        } else {
            output::print(&catalogues.iter().map(list).collect::<String>())?;
        }
        return Ok(Exit::Done);
    };
    if let Some(ready) = ready::named(id) {
        if args.json {
            output::print_json(&json!({ "name": ready.name, "says": ready.sentence, "text": ready.text }))?;
        } else {
            output::print(&format!("{}{DIM}to put it into force: hookhost rule add {id}{DIM:#}\n", ready.text))?;
        }
        return Ok(Exit::Done);
    }
    match find(&catalogues, &rules, id)? {
        Subject::Catalogue(catalogue) if args.json => output::print_json(catalogue)?,
        Subject::Rule(rule) if args.json => output::print_json(rule)?,
        Subject::Catalogue(catalogue) => {
            let rules: String = catalogue.rules.iter().map(|rule| format!("\n{}", as_text(rule))).collect();
            output::print(&(heading(catalogue) + &rules))?;
        }
        Subject::Rule(rule) => output::print(&as_text(rule))?,
    }
    Ok(Exit::Done)
}

/// The subject of an explanation.
enum Subject<'a> {
    Catalogue(&'a CataloguePage),
    Rule(&'a RulePage),
}

/// Finds a rule by its id. A catalogue is found by its id, or by the part of its id after the `/`.
fn find<'a>(catalogues: &'a [CataloguePage], in_words: &[Rule], id: &str) -> Result<Subject<'a>, CliError> {
    let rules = catalogues.iter().flat_map(|catalogue| &catalogue.rules);
    if let Some(rule) = rules.clone().find(|rule| rule.id == id) {
        return Ok(Subject::Rule(rule));
    }
    if let Some(catalogue) = catalogues.iter().find(|catalogue| catalogue.id == id || catalogue.name() == id) {
        return Ok(Subject::Catalogue(catalogue));
    }
    let names = catalogues.iter().flat_map(|catalogue| [&*catalogue.id, catalogue.name()]);
    let names = names.chain(in_words.iter().map(|rule| rule.row.id.as_str()));
    let error = CliError::usage(format!("there is no rule and no catalogue {}", quoted(id)));
    Err(match nearest(id, rules.map(|rule| &*rule.id).chain(names)) {
        Some(near) => error.advise(format!("hookhost rule explain {near}")),
        None => error.advise("hookhost rule explain"),
    })
}

/// Describes a rule in words: where it is, its answer, its matchers and its examples.
fn row_as_text(rule: &Rule) -> Result<String, CliError> {
    let (places, row) = (configuration::places()?, &rule.row);
    let answers: String = row.answers().into_iter().map(|answer| format!("{}s", answer.name())).collect();
    let observed = if row.observe { ", only observed" } else { "" };
    let owner = Owner::of(rule, &places).name();
    let at = one_line(&rule.origin.to_string());
    let mut text =
        format!("{NAME}{}{NAME:#} {DIM}{answers}{observed}, of the {owner}, at {at}{DIM:#}\n", one_line(&row.id));
    for said in [&row.reject, &row.ask, &row.note, &row.remind].into_iter().flatten() {
        output::sentence(&mut text, said);
    }
    let mut add = |label: &str, value: &str| output::row(&mut text, 8, label, &one_line(value));
    if let Some(pause) = RulePauses::current(&places.state).of(rule) {
        add("off", &format!("until {}", time::local(pause.until)));
    }
    add("instead", row.instead.as_deref().unwrap_or_default());
    add("change", &row.change.as_ref().map_or_else(String::new, |change| json!(change).to_string()));
    add("redact", row.redact.as_deref().unwrap_or_default());
    add("about", &row.on.iter().map(RuleOn::name).collect::<Vec<_>>().join(", "));
    row.matchers().for_each(|(key, values)| add(key, &values.join(", ")));
    add("after", &row.after.join(", "));
    add("within", row.within.as_deref().unwrap_or_default());
    add("when", row.when.as_deref().unwrap_or_default());
    add("unless", row.unless.as_deref().unwrap_or_default());
    for (label, examples) in [("stops", &row.stops), ("passes", &row.passes)] {
        for (at, example) in examples.iter().enumerate() {
            let example = match example {
                RuleExample::Text(text) => text.clone(),
                RuleExample::Table(table) => json!(table).to_string(),
            };
            add(if at == 0 { label } else { "" }, &example);
        }
    }
    Ok(text)
}

/// Writes the Markdown pages. Fails if the directory is not empty, so that no file is replaced.
fn write(directory: &Path, catalogues: &[CataloguePage]) -> io::Result<()> {
    std::fs::create_dir_all(directory)?;
    if directory.read_dir()?.next().is_some() {
        return Err(io::Error::other("the directory is not empty"));
    }
    files(catalogues).iter().try_for_each(|(name, text)| std::fs::write(directory.join(name), text))
}

fn heading(catalogue: &CataloguePage) -> String {
    let CataloguePage { id, version, .. } = catalogue;
    format!("{NAME}{id}{NAME:#} {DIM}{version}, applies {}{DIM:#}\n", catalogue.scope())
}

/// Lists the rules of a catalogue, one line each.
fn list(catalogue: &CataloguePage) -> String {
    let line = |rule: &RulePage| {
        let explanation = first_sentence(&rule.explanation);
        let says = format!("{CODE}{}{CODE:#} {DIM}{}, {}{DIM:#}: {explanation}", rule.id, rule.severity, rule.effect());
        format!("  {}\n", wrapped(&says, 4))
    };
    heading(catalogue) + &catalogue.rules.iter().map(line).collect::<String>()
}

fn as_text(rule: &RulePage) -> String {
    let RulePage { id, severity, labels, explanation, catches, leaves, unless_env, references, .. } = rule;
    let mut text = format!("{NAME}{id}{NAME:#} {DIM}{severity}, {}{DIM:#}\n", rule.effect());
    output::sentence(&mut text, explanation);
    let mut row = |label: &str, value: &str| output::row(&mut text, 8, label, &one_line(value));
    row("labels", &labels.join(", "));
    for (label, commands) in [("catches", catches), ("leaves", leaves)] {
        for (at, command) in commands.iter().enumerate() {
            row(if at == 0 { label } else { "" }, command);
        }
    }
    if let Some(name) = unless_env {
        row("silent", &format!("if the plugin may read the variable {name} and it is 1 or true"));
    }
    references.iter().for_each(|link| row("see", link));
    text
}
