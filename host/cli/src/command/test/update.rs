//! Writes actual outcomes into case files. Comments, blank lines and all other keys stay.

use super::case_file::{Case, CaseFile, Step, text};
use super::outcome::{Actual, Mismatch};
use super::run::{CaseResult, StepResult};
use crate::command::record::toml_value;
use crate::exit::CliError;
use anyhow::anyhow;
use hookhost::files::{self, NewFile};
use toml_edit::{DocumentMut, Item, TableLike, Value};

/// Number of keys and indices that lead to a case.
const CASE_DEPTH: usize = 2;

/// Writes the outcomes of the file's cases into the file. Returns the number of changed events.
///
/// # Errors
/// If the file cannot be written, or has changed meanwhile.
pub(super) fn write(file: &CaseFile, results: &[CaseResult]) -> Result<usize, CliError> {
    let shown = file.path.display();
    let failed = |why: &dyn std::fmt::Display| CliError::from(anyhow!("{shown} cannot be updated: {why}"));
    let mut document: DocumentMut = text(&file.path)?.parse().map_err(|error| failed(&error))?;
    let mut changed = 0;
    for (case, result) in file.cases.iter().zip(results) {
        for (step, actual, mismatches) in outdated(case, result) {
            let updated = update(document.as_item_mut(), step, actual, mismatches);
            updated.ok_or_else(|| failed(&"it was changed meanwhile"))?;
            changed += 1;
        }
    }
    if changed > 0 {
        files::replace(&file.path, document.to_string().as_bytes(), NewFile::Usual).map_err(|error| failed(&error))?;
    }
    Ok(changed)
}

/// Returns the events whose expectation is not what came out, or that have no expected outcome.
fn outdated<'a>(
    case: &'a Case,
    result: &'a CaseResult,
) -> impl Iterator<Item = (&'a Step, &'a Actual, &'a [Mismatch])> {
    case.steps.iter().zip(&result.steps).filter_map(|(step, result)| match result {
        StepResult::Compared { actual, mismatches } if !mismatches.is_empty() || step.expected.outcome.is_none() => {
            Some((step, &**actual, mismatches.as_slice()))
        }
        _ => None,
    })
}

/// Returns the table at a path of keys and indices.
fn find<'a>(item: &'a mut Item, path: &[String]) -> Option<&'a mut dyn TableLike> {
    let Some((key, rest)) = path.split_first() else { return item.as_table_like_mut() };
    let next = match key.parse::<usize>() {
        Ok(index) => item.get_mut(index)?,
        Err(_) => item.get_mut(key)?,
    };
    find(next, rest)
}

/// Updates the keys of an event. Returns `None` if the event is not there.
fn update(document: &mut Item, step: &Step, actual: &Actual, mismatches: &[Mismatch]) -> Option<()> {
    if step.expected.outcome.is_none() {
        set(find(document, &step.path)?, "outcome", actual.outcome.name().into());
    }
    for mismatch in mismatches {
        let table = table_of(document, &step.path, mismatch.key)?;
        match mismatch.key {
            "code" => set_or_remove(table, "code", actual.codes().next()),
            "plugin" => set_or_remove(table, "plugin", actual.plugins().next()),
            "result-contains" => set_or_remove(table, "result-contains", actual.result.as_deref()),
            "reason-contains" => set_or_remove(table, "reason-contains", actual.reason.as_deref()),
            key => match toml_value(&mismatch.actual) {
                Some(value) => set(table, key, value),
                None => drop(table.remove(key)),
            },
        }
    }
    Some(())
}

/// Returns the table that has a key of an event. The state and the labels after the last event can be keys of the case.
fn table_of<'a>(document: &'a mut Item, path: &[String], key: &str) -> Option<&'a mut dyn TableLike> {
    let has_key = find(document, path)?.contains_key(key);
    let case = path.get(..CASE_DEPTH).filter(|_| !has_key && key.ends_with("-after"));
    find(document, case.unwrap_or(path))
}

fn set_or_remove(table: &mut dyn TableLike, key: &str, value: Option<&str>) {
    match value {
        Some(value) => set(table, key, value.into()),
        None => drop(table.remove(key)),
    }
}

/// Sets a value. The comment after the old value stays.
fn set(table: &mut dyn TableLike, key: &str, mut value: Value) {
    if let Some(old) = table.get(key).and_then(Item::as_value) {
        *value.decor_mut() = old.decor().clone();
    }
    table.insert(key, Item::Value(value));
}
