//! Judges a table of shell commands with `shell-guard`, both natively and through its component in a host. The results must agree.

pub mod judged;
pub mod report;
pub mod table;

use anyhow::{Result, bail};
use judged::{Component, Cost, Judged, Native};
use report::Report;
use std::path::Path;
use table::Row;

/// The figures of a table, and the cost of judging it.
#[derive(Debug)]
pub struct Outcome {
    /// The figures of `shell-guard`.
    pub guard: Report,
    /// The cost of all commands in the component of `shell-guard`.
    pub guard_cost: Cost,
    /// The figures and the cost of `shell-guard-classifier`, if they were requested.
    pub classifier: Option<(Report, Cost)>,
}

/// Judges each row natively and through the component in `plugins`. If `with_classifier` is true, also judges each row with
/// `shell-guard-classifier` and a model that is always right.
///
/// # Errors
/// If a component fails, or if the native rules and the component differ on a command. The error contains the first such command.
pub async fn judge(rows: &[Row], plugins: &Path, with_classifier: bool) -> Result<Outcome> {
    let (native, component) = (Native::new()?, Component::guard(plugins).await?);
    let (mut guard, mut guard_cost) = (Report::default(), Cost::default());
    for row in rows {
        let judged = component.judge(&row.command, &mut guard_cost).await?;
        agree(&row.command, &native.judge(&row.command)?, &judged)?;
        guard.add(row, &judged);
    }
    let classifier = if with_classifier {
        let component = Component::classifier(plugins, rows).await?;
        let (mut report, mut cost) = (Report::default(), Cost::default());
        for row in rows {
            report.add(row, &component.judge(&row.command, &mut cost).await?);
        }
        Some((report, cost))
    } else {
        None
    };
    Ok(Outcome { guard, guard_cost, classifier })
}

fn agree(command: &str, native: &Judged, component: &Judged) -> Result<()> {
    if native != component {
        bail!("`{command}`: natively it is {native:?}, and as a component {component:?}");
    }
    Ok(())
}
